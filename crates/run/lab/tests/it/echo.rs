//! ECHO's policies and its search for sources, on generated webs and on broken ones.

use std::collections::BTreeSet;

use tidewatch_core::{Event, PageId, Rate, Span, Time};
use tidewatch_lab::engine::{bounds, run};
use tidewatch_lab::generate::echo::{EchoConfig, generate};
use tidewatch_lab::{Measures, Settings, World, policies};
use tidewatch_policy::echo::sources::{Finder, Settings as Finding};
use tidewatch_policy::order::BreadthFirst;
use tidewatch_policy::{Choice, Gate, Policy};
use tidewatch_trace::{Link, Trace};

const SEED: u64 = 3;
const SCALE: f64 = 0.02;
/// Profits are sums of whole clicks divided by the window; only rounding may differ.
const ROUNDING: f64 = 1e-9;
/// Share of the bound that fifty times the published budget must reach: sources are visited every few
/// minutes then, and a page loses few clicks before its first fetch.
const NEARLY_ALL: f64 = 0.98;
const ECHO: [&str; 6] =
    ["echo-newpages", "echo-schedule", "echo-greedy", "fixed-quota", "frequency", "echo-rhythm"];

fn small() -> Trace {
    generate(&EchoConfig { scale: SCALE, ..EchoConfig::default() }, SEED).trace
}

fn settings(budget: f64) -> Settings {
    let budget = Rate::per_second(budget * SCALE).unwrap();
    Settings { measure_last: Some(Span::WEEK), ..Settings::new(budget) }
}

fn measures(world: &World, name: &str, settings: &Settings) -> Measures {
    let mut policy = policies::find(name).unwrap().make(world, SEED);
    run(world, policy.as_mut(), settings).unwrap()
}

fn bound(world: &World, settings: &Settings) -> f64 {
    bounds(world, settings).unwrap().profit_per_s.unwrap()
}

#[test]
fn breadth_first_approaches_the_bound_as_the_budget_grows() {
    let world = World::new(small()).unwrap();
    let bound = bound(&world, &settings(1.0));
    let profit = |budget| measures(&world, "bfs", &settings(budget)).profit_per_s.unwrap();
    let shares = [0.1, 1.0, 50.0].map(|budget| profit(budget) / bound);
    assert!(shares[0] < shares[1] && shares[1] < shares[2], "{shares:?}");
    assert!(shares[2] > NEARLY_ALL && shares[2] <= 1.0 + ROUNDING, "{shares:?}");
}

type Breaking = fn(&mut Trace);

/// Every policy earns something where there is something to earn, never more than there is, and
/// accounts for every allowance.
#[test]
fn every_policy_copes_with_webs_that_lack_something() {
    let (whole, settings) = (small(), settings(0.1));
    let broken: [(&str, bool, Breaking); 4] = [
        ("no clicks", false, |trace| trace.clicks = Some(Vec::new())),
        ("no links", false, |trace| trace.links.clear()),
        ("one source with everything", true, |trace| {
            trace.links.iter_mut().for_each(|link| link.source = 0);
            let key = |link: &Link| (link.source, link.page);
            trace.links.sort_by_key(key);
            trace.links.dedup_by_key(|link| key(link));
        }),
        ("sources that vanish", true, |trace| {
            let half = Time::ZERO + Span::DAY.times(10);
            let mut dies = vec![false; trace.pages.len()];
            for (i, page) in
                trace.pages.iter_mut().enumerate().filter(|(i, p)| p.is_source && i % 2 == 0)
            {
                page.died = Some(half);
                dies[i] = true;
            }
            trace.links.retain(|link| !dies[link.source as usize] || link.appears < half);
            for link in trace.links.iter_mut().filter(|link| dies[link.source as usize]) {
                link.disappears = Some(link.disappears.unwrap_or(half).min(half));
            }
        }),
    ];
    let turn = |at: Time| (at.seconds() * settings.budget.as_per_second()).ceil() as u64;
    for (what, can_earn, break_it) in broken {
        let mut trace = whole.clone();
        break_it(&mut trace);
        trace.arrange();
        let world = World::new(trace).unwrap();
        let (from, until) = settings.window(&world).unwrap();
        let bound = bound(&world, &settings);
        assert_eq!(bound > 0.0, can_earn, "{what}: the bound is {bound}");
        for name in ECHO {
            let measures = measures(&world, name, &settings);
            let earned = measures.profit_per_s.unwrap();
            assert_eq!(earned > 0.0, can_earn, "{name} with {what}: {earned}");
            assert!(earned <= bound + ROUNDING, "{name} with {what}: {earned} of {bound}");
            let allowances = measures.fetches.iter().sum::<u64>() + measures.idle;
            assert_eq!(allowances, turn(until) - turn(from), "{name} with {what}");
        }
    }
}

/// Looks at main pages when the finder asks, and otherwise does what breadth-first does.
struct Looking {
    finder: Finder,
    order: BreadthFirst,
    look_at: Vec<PageId>,
    reviewed: Option<Time>,
}

impl Policy for Looking {
    fn learn(&mut self, event: &Event<'_>) {
        self.finder.learn(event);
        self.order.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if self.reviewed.is_none_or(|at| now.since(at) >= Span::HOUR.times(6)) {
            self.reviewed = Some(now);
            self.look_at = self.finder.review(now).look_at;
        }
        self.look_at.pop().map_or_else(|| self.order.choose(now, gate), Choice::Fetch)
    }
}

#[test]
fn sources_are_found_one_hop_from_main_pages() {
    // The procedure has to find what the generator calls sources: main pages link to them, and are all
    // that is known at the start.
    let mut trace = small();
    let is_main = |url: &str| url.matches('/').count() == 3 && url.ends_with('/');
    let mains: Vec<u32> =
        (0..trace.pages.len() as u32).filter(|&p| is_main(&trace.pages[p as usize].url)).collect();
    let sources: BTreeSet<u32> =
        (0..trace.pages.len() as u32).filter(|&p| trace.pages[p as usize].is_source).collect();
    for &main in &mains {
        let host = trace.pages[main as usize].host;
        let own = sources.iter().filter(|&&s| s != main && trace.pages[s as usize].host == host);
        let link = |&page: &u32| Link { source: main, page, appears: Time::ZERO, disappears: None };
        trace.links.extend(own.map(link).collect::<Vec<_>>());
    }
    trace.links.sort_by_key(|link| (link.source, link.appears, link.page));
    let urls: Vec<String> = trace.pages.iter().map(|page| page.url.to_string()).collect();
    let world = World::new(trace).unwrap();
    let mut policy = Looking {
        finder: Finder::new(Finding::default(), Time::ZERO),
        order: BreadthFirst::new(SEED),
        look_at: Vec::new(),
        reviewed: None,
    };
    let known = Known::default();
    let mut told = Told { policy: &mut policy, known };
    run(&world, &mut told, &settings(0.5)).unwrap();
    let known = told.known;
    let found: BTreeSet<&str> =
        policy.finder.sources().map(|page| known.urls[page.index()].as_str()).collect();
    // A source that shows little may yield nothing new for weeks, because others show it first, and is
    // rightly retired. Those that show five links a day and more must all be there.
    let busy = 5.0 * world.trace().duration.seconds() / Span::DAY.seconds();
    for &source in &sources {
        let links = world.trace().links.iter().filter(|link| link.source == source).count();
        let url = urls[source as usize].as_str();
        assert!(links as f64 <= busy || found.contains(url), "{url} with {links} links is missing");
    }
}

/// Notes the URLs that a policy is told, by its own numbers.
#[derive(Default)]
struct Known {
    urls: Vec<String>,
}

struct Told<'p> {
    policy: &'p mut Looking,
    known: Known,
}

impl Policy for Told<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        if let Event::Discovered(found) = event {
            self.known.urls.push(found.url.to_owned());
        }
        self.policy.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.policy.choose(now, gate)
    }
}
