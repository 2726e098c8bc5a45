//! What `why` says of any page, at any moment, agrees with what the scheduler does next.

use std::collections::BTreeMap;

use tidewatch_core::{PageId, Rate, Span, Time};
use tidewatch_frontier::audit::{Lie, Statements};
use tidewatch_frontier::{Frontier, Politeness, Revisit, Unused};
use tidewatch_lab::engine::{Onlooker, run_watched};
use tidewatch_lab::generate::echo::{EchoConfig, generate as echo};
use tidewatch_lab::generate::renewal;
use tidewatch_lab::{Settings, Start, World};
use tidewatch_policy::Setup;
use tidewatch_policy::registry::{self, Entry};
use tidewatch_trace::Trace;

/// The least share of questions about which statements must be firm. Prices are found anew every half
/// hour, before the first question after it, and whenever a young crawl has doubled: statements then say
/// that they are outdated. With ten minutes or less between questions that is one in three and some.
const FIRM: f64 = 0.5;

/// The seed of the worlds.
const SEED: u64 = 12;

/// A world by name, made from a seed.
type Named = (&'static str, fn(u64) -> Trace);

/// Compares statements with deeds, and notes when pages are fetched.
#[derive(Default)]
struct Auditor {
    said: Option<Statements>,
    lies: Vec<Lie>,
    checked: usize,
    outdated: usize,
    fetched: BTreeMap<PageId, Vec<Time>>,
    now: Time,
    under_way: Vec<PageId>,
}

impl Onlooker for Auditor {
    fn before(&mut self, frontier: &Frontier<'_>, now: Time) {
        (self.now, self.under_way) = (now, frontier.under_way().collect());
        let said = Statements::of(frontier, now);
        self.outdated += usize::from(said.are_outdated());
        self.said = Some(said);
    }

    fn after(&mut self, frontier: &Frontier<'_>) {
        let said = self.said.take().unwrap();
        self.lies.extend(said.check(frontier).err());
        self.checked += 1;
        for page in frontier.under_way().filter(|page| !self.under_way.contains(page)) {
            self.fetched.entry(page).or_default().push(self.now);
        }
    }
}

/// A few pages that change, some of them gone before the end.
fn copies(seed: u64) -> Trace {
    let config = renewal::Config {
        pages: 24,
        hosts: 3,
        duration: Span::DAY.times(4),
        ..renewal::Config::poisson()
    };
    let mut trace = renewal::generate(&config, seed).trace;
    for page in trace.pages.iter_mut().step_by(7) {
        page.died = Some(Time::ZERO + Span::DAY.times(2));
    }
    let Trace { pages, changes, .. } = &mut trace;
    let lives = |page: u32, at: Time| pages[page as usize].died.is_none_or(|died| at < died);
    changes.as_mut().unwrap().retain(|change| lives(change.page, change.at));
    trace
}

/// A few news sites with clicks.
fn news(seed: u64) -> Trace {
    let mut trace = echo(&EchoConfig { scale: 0.002, ..EchoConfig::default() }, seed).trace;
    trace.duration = trace.duration.min(Span::DAY.times(4));
    trace
}

fn settings(per_day: f64) -> Settings {
    let mut settings = Settings::new(Rate::per_second(per_day / 86_400.0).unwrap());
    // As live: fetches take a while, hosts are left alone, unused budget is kept for a moment.
    settings.fetch_time = Span::SECOND.times(3);
    settings.politeness = Politeness { least_gap: Span::MINUTE, ..Politeness::default() };
    settings.unused = Unused::Lapse;
    settings
}

fn audit(entry: &Entry, trace: Trace, settings: &Settings) -> Auditor {
    let (world, mut auditor) = (World::new(trace).unwrap(), Auditor::default());
    let mut policy = (entry.make)(Setup::seeded(3));
    run_watched(&world, policy.as_mut(), settings, &mut auditor).unwrap();
    auditor
}

#[test]
fn why_agrees_with_what_the_scheduler_does() {
    let mut lies = Vec::new();
    for entry in registry::POLICIES {
        let worlds: [Named; 2] = [("copies", copies), ("news", news)];
        for (name, world) in worlds {
            for (revisit, start, per_day) in [
                (Revisit::NONE, Start::Warm, 150.0),
                (Revisit::default(), Start::Cold, 300.0),
                (Revisit::ONCE, Start::Cold, 600.0),
            ] {
                let settings = Settings { revisit, start, ..settings(per_day) };
                let auditor = audit(entry, world(SEED), &settings);
                assert!(auditor.checked > 100, "{}", auditor.checked);
                let (many, of) = (auditor.lies.len(), auditor.checked);
                let firm = 1.0 - auditor.outdated as f64 / of as f64;
                assert!(firm >= FIRM, "{} {name} {per_day}: {firm}", entry.name);
                if let Some(lie) = auditor.lies.first() {
                    lies.push(format!("{} {name} {per_day}: {many} of {of}: {lie}", entry.name));
                }
                check_rests(entry, &auditor, &revisit);
            }
        }
    }
    assert!(lies.is_empty(), "{}", lies.join("\n"));
}

/// No policy fetches a page again before its rest is over.
fn check_rests(entry: &Entry, auditor: &Auditor, revisit: &Revisit) {
    let gaps = auditor.fetched.values().flat_map(|at| at.windows(2));
    let least = gaps.map(|pair| pair[1].since(pair[0])).min().unwrap_or(Span::FOREVER);
    assert!(least >= revisit.least, "{}: again after {least}", entry.name);
}
