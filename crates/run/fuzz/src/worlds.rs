//! Random worlds of all magnitudes for every policy of the registry, and random event streams.
//!
//! An input is a seed. A world has up to two dozen pages with weights, clicks and budgets over sixty
//! decades, hosts with and without limits, births, deaths, links, changes, versions and hints. Every policy crawls it in
//! the lab's engine. None may panic, name a page that it does not know or a closed host, give a figure
//! that is no number, or take for ever. A policy that fetches whatever is worth anything may not be
//! idle while such a page is known and open.

use std::time::{Duration, Instant};

use tidewatch_core::{Rate, Span, Time};
use tidewatch_lab::engine::{self, Logged, Measures, Settings};
use tidewatch_lab::{LabError, Start, World};
use tidewatch_math::Draws;
use tidewatch_policy::registry::{Entry, POLICIES};
use tidewatch_policy::{Choice, Setup};
use tidewatch_trace::{
    Change, Count, Host, Signals, Trace, TraceLink, TracePage, TraceSignal, Versions,
};

use crate::streams::{Scale, Stream};

/// Unoptimised code tries one policy in so many; which ones follows from the input.
const STRIDE: usize = if cfg!(debug_assertions) { 8 } else { 1 };
/// No run over so small a world may take longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_PAGES: u64 = 24;
/// A share may exceed one by the rounding of its sums.
const ROUNDING: f64 = 1e-9;
/// Choices in a run, as a power of ten.
const CHOICES: (f64, f64) = (-1.0, 2.6);

/// Policies that are idle only if no page that is known and open is worth a fetch. A copy is worth one
/// if it has weight and changes. Not listed: those that fetch only what is due (interval rules) or only
/// pages never fetched (frontier orders).
const BUSY: [&str; 14] = [
    "random",
    "uniform",
    "proportional",
    "marginalia",
    "cgm",
    "age",
    "embarrassment",
    "harmonic",
    "lambda-crawl",
    "lambda-crawl-binary",
    "whittle",
    "noisy-index",
    "sync-bandits",
    "price",
];

/// Draws of a world.
struct Dice {
    draws: Draws,
    /// Whether all amounts are of everyday size.
    is_sane: bool,
}

impl Dice {
    fn of(input: &[u8], purpose: &str) -> Self {
        let seed = input.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut draws = Draws::of(seed, purpose, 0);
        let is_sane = draws.below(3) == 0;
        Dice { draws, is_sane }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.draws.below(n.max(1))
    }

    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn power(&mut self, (from, to): (f64, f64)) -> f64 {
        10f64.powf(from + (to - from) * self.draws.uniform())
    }

    /// An amount of any magnitude; one in eight is zero, two in eight are of everyday size.
    fn amount(&mut self) -> f64 {
        match self.below(8) {
            0 => 0.0,
            _ if self.is_sane => self.power((-1.0, 1.0)),
            1 | 2 => self.power((-1.0, 1.0)),
            _ => self.power((-30.0, 30.0)),
        }
    }

    fn within(&mut self, span: Span) -> Time {
        Time::from_micros(self.below(span.as_micros()))
    }

    fn after(&mut self, from: Time, end: Time) -> Time {
        from + Span::from_micros(self.below(end.since(from).as_micros() + 1))
    }
}

/// A world of any magnitude.
fn trace(dice: &mut Dice) -> Trace {
    let duration = Span::from_seconds(dice.power((0.0, 9.0))).unwrap_or(Span::DAY);
    let end = Time::ZERO + duration;
    let most_hosts = 1 + dice.below(6) as u32;
    let is_limited = dice.once_in(3);
    let host = |number: u32, dice: &mut Dice| {
        let limit = is_limited && dice.once_in(2);
        let max_rate = limit.then(|| Rate::per_second(dice.power((-9.0, 3.0)))).flatten();
        Host { name: format!("h{number}.test").into(), max_rate }
    };
    let count = if dice.once_in(40) { 0 } else { 1 + dice.below(MOST_PAGES) };
    let (mut pages, mut named): (Vec<TracePage>, u32) = (Vec::new(), 0);
    for id in 0..count {
        // Hosts are numbered in the order in which pages name them.
        let is_new = named < most_hosts && (named == 0 || dice.once_in(3));
        let host = if is_new { named } else { dice.below(u64::from(named)) as u32 };
        named += u32::from(is_new);
        pages.push(page(id, host, duration, dice));
    }
    let hosts = (0..named).map(|number| host(number, dice)).collect();
    let mut trace = Trace { name: "fuzz".into(), duration, pages, hosts, ..Trace::default() };
    if trace.pages.is_empty() {
        return trace;
    }
    trace.links = links(&trace.pages, end, dice);
    let counts = |dice: &mut Dice| {
        let mut rows = Vec::new();
        for _ in 0..dice.below(60) {
            let (page, at) = event(&trace.pages, end, dice);
            rows.push(Count { page, at, count: dice.amount() });
        }
        rows.sort_by_key(|row| (row.page, row.at));
        rows.dedup_by_key(|row| (row.page, row.at));
        rows
    };
    let clicks = (!dice.once_in(3)).then(|| counts(dice));
    let views = dice.once_in(3).then(|| counts(dice));
    (trace.clicks, trace.views) = (clicks, views);
    if dice.once_in(3) {
        trace.versions = Some(versions(&trace.pages, end, dice));
    } else if !dice.once_in(5) {
        let mut rows = Vec::new();
        for _ in 0..dice.below(80) {
            let (page, at) = event(&trace.pages, end, dice);
            rows.push(Change { page, at });
        }
        rows.sort_by_key(|row| (row.page, row.at));
        rows.dedup();
        trace.changes = Some(rows);
    }
    if dice.once_in(2) {
        let mut rows = Vec::new();
        for _ in 0..dice.below(60) {
            let (page, at) = event(&trace.pages, end, dice);
            rows.push(TraceSignal { page, at, kind: dice.below(2) as u32 });
        }
        rows.sort_by_key(|row| (row.at, row.page, row.kind));
        rows.dedup();
        trace.signals = Some(Signals { kinds: vec!["feed".into(), "sitemap".into()], rows });
    }
    trace.arrange();
    trace.check().expect("the world is valid");
    trace
}

fn page(id: u64, host: u32, duration: Span, dice: &mut Dice) -> TracePage {
    let born = if dice.once_in(3) { dice.within(duration) } else { Time::ZERO };
    let end = Time::ZERO + duration;
    let died = dice.once_in(5).then(|| dice.after(born, end));
    let word = ["tide", "goal", "vote", "2024/05"][dice.below(4) as usize];
    TracePage {
        id,
        url: format!("https://h{host}.test/{word}/{id}").into(),
        host,
        born,
        died,
        is_source: dice.once_in(4),
        weight: dice.amount(),
        is_seed: !dice.once_in(4),
    }
}

fn event(pages: &[TracePage], end: Time, dice: &mut Dice) -> (u32, Time) {
    let page = dice.below(pages.len() as u64) as u32;
    (page, dice.after(pages[page as usize].born, end))
}

fn links(pages: &[TracePage], end: Time, dice: &mut Dice) -> Vec<TraceLink> {
    let mut links: Vec<TraceLink> = Vec::new();
    for _ in 0..dice.below(3 * pages.len() as u64 + 1) {
        let source = dice.below(pages.len() as u64) as u32;
        let page = dice.below(pages.len() as u64) as u32;
        if links.iter().any(|link| (link.source, link.page) == (source, page)) {
            continue;
        }
        let born = pages[source as usize].born.max(pages[page as usize].born);
        let appears = dice.after(born, end);
        let disappears = dice.once_in(3).then(|| dice.after(appears, end));
        let position = (!dice.once_in(3)).then(|| dice.below(9) as u32);
        links.push(TraceLink { source, page, appears, disappears, position });
    }
    links
}

/// Every version flips a few of a page's fragments.
fn versions(pages: &[TracePage], end: Time, dice: &mut Dice) -> Versions {
    let mut versions = Versions::default();
    for (number, page) in (0..).zip(pages) {
        let mut times: Vec<Time> = (0..dice.below(8)).map(|_| dice.after(page.born, end)).collect();
        times.sort_unstable();
        times.dedup();
        let mut held: Vec<u64> = Vec::new();
        for at in times {
            let flips: Vec<u64> = (0..8).filter(|_| dice.once_in(3)).collect();
            let (removed, added): (Vec<u64>, Vec<u64>) =
                flips.iter().copied().partition(|fragment| held.contains(fragment));
            held.retain(|fragment| !removed.contains(fragment));
            held.extend(&added);
            versions.push(number, at, &added, &removed);
        }
    }
    versions
}

/// Conditions of any magnitude; one in a hundred is refused.
fn settings(trace: &Trace, dice: &mut Dice) -> Settings {
    let seconds = trace.duration.seconds();
    let budget = match dice.below(200) {
        0 => 0.0,
        1 => 1e300,
        _ => dice.power(CHOICES) / seconds,
    };
    let budget = Rate::per_second(budget).unwrap_or(Rate::ZERO);
    let pushes = 1.0 + 100.0 * dice.draws.uniform();
    let span = |seconds: f64| Span::from_seconds(seconds).unwrap_or(Span::SECOND);
    let is_slow = dice.once_in(8);
    Settings {
        measure_last: dice.once_in(3).then(|| span(seconds * 0.5)),
        log_push: span(seconds / pushes),
        logged: if dice.once_in(3) { Logged::Known } else { Logged::Held },
        start: if dice.once_in(3) { Start::Cold } else { Start::Warm },
        reveal: dice.once_in(8),
        sketch_len: dice.below(9) as usize,
        last_modified: dice.once_in(3),
        fetch_time: if is_slow { span(seconds / 50.0) } else { Span::ZERO },
        robots_time: dice.once_in(8).then_some(Span::ZERO),
        ..Settings::new(budget)
    }
}

/// Lets every policy crawl the world of an input.
pub(crate) fn world(input: &[u8]) {
    let mut dice = Dice::of(input, "fuzz.world");
    let trace = trace(&mut dice);
    let settings = settings(&trace, &mut dice);
    let first = dice.below(STRIDE as u64) as usize;
    let seed = dice.below(1 << 20);
    let world = World::new(trace).expect("URLs differ");
    let must_work = has_a_page(&world, &settings);
    for entry in POLICIES.iter().skip(first).step_by(STRIDE) {
        let is_busy = BUSY.contains(&entry.name) && must_work;
        crawl(entry, &world, &settings, seed, is_busy);
    }
}

/// Whether a page that any policy may fetch at any time is known from the start.
fn has_a_page(world: &World, settings: &Settings) -> bool {
    let trace = world.trace();
    let is_open = |page: &TracePage| trace.hosts[page.host as usize].max_rate.is_none();
    let is_there = |page: &TracePage| page.born == Time::ZERO && page.died.is_none();
    let is_known = |page: &TracePage| page.is_seed || settings.start == Start::Warm;
    // Something is worth a fetch: it matters and changes.
    let changes = |page: usize| world.changes_of(page as u32) > 0;
    let pages = trace.pages.iter().enumerate();
    let all_open = trace.pages.iter().all(is_open);
    all_open
        && settings.fetch_time == Span::ZERO
        && settings.robots_time.is_none()
        && pages.clone().any(|(number, page)| {
            let is_copy = !page.is_source && is_there(page) && is_known(page);
            is_copy && page.weight > 0.0 && changes(number)
        })
}

fn crawl(entry: &Entry, world: &World, settings: &Settings, seed: u64, is_busy: bool) {
    let name = entry.name;
    let mut policy = (entry.make)(Setup { seed, logs_all: settings.logged == Logged::Known });
    let begun = Instant::now();
    let measures = match engine::run(world, policy.as_mut(), settings) {
        Ok(measures) => measures,
        Err(LabError::Budget { .. } | LabError::Window { .. } | LabError::LogPush) => return,
        Err(error) => panic!("{name}: {error}"),
    };
    assert!(begun.elapsed() < PATIENCE, "{name} took {:?}", begun.elapsed());
    check(name, &measures);
    let end = Time::ZERO + world.trace().duration;
    if let Some(standing) = policy.standing() {
        assert!(standing.price.is_finite() && standing.price >= 0.0, "{name}: {standing:?}");
    }
    let _ = policy.why(tidewatch_core::PageId(0), end);
    if is_busy {
        assert_eq!(measures.idle, 0, "{name} is idle, with {:?} fetches", measures.fetches);
    }
}

fn check(name: &str, measures: &Measures) {
    let amounts = [
        measures.profit_per_s,
        measures.served_per_s,
        measures.served_in_parts_per_s,
        measures.age_s,
    ];
    for amount in amounts.into_iter().flatten() {
        assert!(amount.is_finite() && amount >= 0.0, "{name}: {measures:?}");
    }
    for share in
        [measures.freshness, measures.fragment_staleness, measures.coverage].into_iter().flatten()
    {
        assert!((-ROUNDING..=1.0 + ROUNDING).contains(&share), "{name}: {measures:?}");
    }
}

/// Tells every policy a random stream of events.
pub(crate) fn stream(input: &[u8]) {
    const STEPS: u32 = 150;
    let mut dice = Dice::of(input, "fuzz.stream");
    let scale = if dice.once_in(4) {
        Scale { magnitude: (-2.0, 2.0), gap: (0.0, 3.5), budget: (-3.5, -1.0) }
    } else {
        Scale { magnitude: (-30.0, 30.0), gap: (-6.0, 10.0), budget: (-30.0, 30.0) }
    };
    let first = dice.below(STRIDE as u64) as usize;
    let seed = dice.below(1 << 40);
    for entry in POLICIES.iter().skip(first).step_by(STRIDE) {
        let mut policy = (entry.make)(Setup::seeded(seed));
        let mut stream = Stream::new(seed, scale);
        stream.begin(policy.as_mut());
        for _ in 0..STEPS {
            let known = stream.pages() + 1;
            if let Choice::Fetch(page) = stream.step(policy.as_mut()) {
                assert!(page.0 < known, "{} chose an unknown page", entry.name);
            }
        }
        let last = tidewatch_core::PageId(stream.pages() - 1);
        assert!(policy.why(last, stream.now()).is_some(), "{}", entry.name);
        if let Some(standing) = policy.standing() {
            assert!(standing.price.is_finite() && standing.price >= 0.0, "{standing:?}");
        }
    }
}
