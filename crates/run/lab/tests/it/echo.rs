//! ECHO's policies on generated webs and on broken ones.

use tidewatch_core::{Rate, Span, Time};
use tidewatch_lab::engine::{bounds, run};
use tidewatch_lab::generate::echo::{EchoConfig, generate};
use tidewatch_lab::{Measures, Settings, World, policies};
use tidewatch_trace::{Trace, TraceLink};

const SEED: u64 = 3;
const SCALE: f64 = 0.02;
/// Profits are sums of whole clicks divided by the window; only rounding may differ.
const ROUNDING: f64 = 1e-9;
/// Share of the bound that fifty times the published budget must reach: sources are visited every few
/// minutes then, and a page loses few clicks before its first fetch.
const NEARLY_ALL: f64 = 0.98;
const ECHO: [&str; 9] = [
    "echo-newpages",
    "echo-schedule",
    "echo-greedy",
    "fixed-quota",
    "frequency",
    "echo-rhythm",
    "echo-newpages-literal",
    "echo-schedule-literal",
    "echo-greedy-literal",
];

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
            let key = |link: &TraceLink| (link.source, link.page);
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

/// Without a first look a source that showed nothing yet keeps the pessimistic profit, and most are
/// never visited again.
#[test]
fn every_source_has_a_first_look() {
    let world = World::new(small()).unwrap();
    // Three weeks of 0.05 fetches a second are thirty for each source.
    let whole = Settings { measure_last: None, ..settings(0.05) };
    let unseen = |name: &str| {
        let visits = measures(&world, name, &whole).source_visits;
        visits.iter().filter(|&&visits| visits == 0).count()
    };
    for name in ["echo-newpages", "echo-schedule", "echo-greedy", "fixed-quota"] {
        assert_eq!(unseen(name), 0, "{name}");
    }
    for name in ["echo-newpages-literal", "echo-schedule-literal"] {
        assert!(unseen(name) > 0, "{name}");
    }
}
