//! Rules of other crawlers and newer policies against `price`, on worlds of every kind.
//!
//! Each world has one budget, about the middle one of the experiment that introduced it, and one
//! measure: that of its paper. A policy's score is a share of the best score on that world, so that
//! worlds can be compared. Ranks and worst cases over the worlds tell which policy can be left alone
//! with an unknown web.

use std::path::Path;

use rayon::prelude::*;
use tidewatch_core::{FetchKind, Rate, Span};
use tidewatch_math::rng::Draws;
use tidewatch_policy::{Setup as Making, registry};
use tidewatch_report::{Cell, Column, Report, Table};
use tidewatch_trace::{Signals, Trace, TraceSignal};

use super::Setup;
use crate::engine::{self, Logged, Measures, Settings};
use crate::generate::kinds::{self, GeneratorOptions};
use crate::import::{ImportArgs, Importer, Join, Moment};
use crate::{LabError, World};

/// Baselines, other crawlers' rules, policies of papers, `price`.
const POLICIES: [&str; 22] = [
    "uniform",
    "proportional",
    "nutch-adaptive",
    "storm-adaptive",
    "common-crawl",
    "marginalia",
    "tiers",
    "bfs",
    "cgm",
    "age",
    "harmonic",
    "embarrassment",
    "lambda-crawl",
    "lambda-crawl-binary",
    "whittle",
    "noisy-index",
    "sync-bandits",
    "curve-fit",
    "echo-newpages",
    "echo-schedule",
    "echo-greedy",
    "price",
];
const PRICE: &str = "price";
/// Price shall lose no more than this share of the best score on any world.
const TOLERANCE: f64 = 0.03;
/// Share of its changes that a hinted page announces, and empty hints as a share of all changes.
const RECALL: f64 = 0.7;
const EMPTY: f64 = 0.3;
/// Start of the recorded terms of service, Unix seconds.
const TERMS_FROM: i64 = 1_764_288_000;

/// What counts on a world.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    /// Clicks on pages from their first fetch on, as a share of those on pages fetched at birth.
    Profit,
    /// Weighted share of time that copies are up to date.
    Freshness,
    /// Weighted share of the content of copies that is up to date.
    Fragments,
    /// Clicks that meet an up-to-date part of a copy, a second.
    Served,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Measure::Profit => "profit",
            Measure::Freshness => "freshness",
            Measure::Fragments => "fresh fragments",
            Measure::Served => "clicks served",
        }
    }

    fn of(self, run: &Measures) -> f64 {
        let value = match self {
            Measure::Profit => run.profit_per_s,
            Measure::Freshness => run.freshness,
            Measure::Fragments => run.fragment_staleness.map(|stale| 1.0 - stale),
            Measure::Served => run.served_in_parts_per_s,
        };
        value.unwrap_or(f64::NAN)
    }
}

/// How a world is made, and its budget.
struct Plan {
    name: &'static str,
    measure: Measure,
    make: Make,
    budget: Budget,
    /// Where clicks count, the log also tells those on pages never fetched, as in `[LOSS13]`.
    logged: Logged,
}

enum Make {
    /// A generator and the share of its full size at scale 1.
    Generated(&'static str, f64),
    /// The same, with hints of change.
    Hinted(&'static str, f64),
    /// A format, its folder among the data sets, and days.
    Recorded(&'static str, &'static str, u64),
}

impl Make {
    /// Share of the full size at scale 1.
    fn size(&self) -> f64 {
        match self {
            Make::Generated(_, size) | Make::Hinted(_, size) => *size,
            Make::Recorded(..) => 1.0,
        }
    }
}

enum Budget {
    /// Fetches per page and day.
    PagesADay(f64),
    /// Fetches per page born after the start.
    NewPages(f64),
    /// Fetches a second on a web of full size.
    FullSize(f64),
}

const fn plan(name: &'static str, measure: Measure, make: Make, budget: Budget) -> Plan {
    let logged = match measure {
        Measure::Profit => Logged::Known,
        _ => Logged::Held,
    };
    Plan { name, measure, make, budget, logged }
}

use Budget::{FullSize, NewPages, PagesADay};
use Make::{Generated, Hinted, Recorded};
use Measure::{Fragments, Freshness, Profit, Served};

const GENERATED: [Plan; 9] = [
    plan("ephemeral news", Profit, Generated("echo", 0.05), NewPages(0.44)),
    plan("news, popular hosts", Profit, Generated("echo-hosts", 0.05), NewPages(0.44)),
    plan("renewal laws", Freshness, Generated("renewal", 0.2), PagesADay(0.14)),
    plan("stopping pages", Freshness, Generated("renewal-stopping", 0.2), PagesADay(0.14)),
    plan("drifting rates", Freshness, Generated("renewal-drifting", 0.2), PagesADay(0.05)),
    plan("fast pages", Freshness, Generated("renewal-fast", 0.5), PagesADay(1.0)),
    plan("hinted changes", Freshness, Hinted("renewal", 0.2), PagesADay(0.14)),
    plan("longevity", Fragments, Generated("longevity", 0.3), PagesADay(0.2)),
    plan("mixed", Served, Generated("mixed", 0.3), FullSize(0.03)),
];

const RECORDED: [Plan; 4] = [
    plan(
        "news hubs",
        Profit,
        Recorded("de-news-hubs", "de_news_hubs_hourly_2022", 14),
        NewPages(0.44),
    ),
    plan("link aggregator", Profit, Recorded("hn-frontpage", "hn_frontpage", 30), NewPages(0.5)),
    plan("documentation", Freshness, Recorded("mdn-site", "mdn_site", 365), PagesADay(0.02)),
    plan("terms of service", Fragments, Recorded("ota-terms", "ota_terms", 120), PagesADay(0.1)),
];

/// Scores of one world: `[policy]`, means over the seeds.
struct Scored {
    plan: &'static Plan,
    pages: usize,
    budget: f64,
    scores: Vec<f64>,
    runs: Vec<Measures>,
}

impl Scored {
    fn best(&self) -> f64 {
        self.scores.iter().copied().fold(f64::MIN, f64::max)
    }

    /// Share of the best.
    fn share(&self, policy: usize) -> f64 {
        self.scores[policy] / self.best()
    }

    /// 1 for the best; policies with equal scores share the better rank.
    fn rank(&self, policy: usize) -> usize {
        1 + self.scores.iter().filter(|score| **score > self.scores[policy]).count()
    }

    fn winner(&self) -> usize {
        (0..POLICIES.len()).find(|&policy| self.rank(policy) == 1).unwrap_or(0)
    }
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let plans = GENERATED.iter().chain(setup.data.map_or(&[][..], |_| &RECORDED[..]));
    let plans: Vec<&'static Plan> = plans.collect();
    let worlds = plans.par_iter().map(|plan| score(setup, plan));
    let worlds: Vec<Scored> = worlds.collect::<Result<_, LabError>>()?;
    let mut report = Report::new("Price against other crawlers' rules and newer policies")
        .lead(format!(
            "{} policies on {} worlds. Each figure is a share of the best score on that world; every \
             policy is told the same and nothing else.",
            POLICIES.len(),
            worlds.len()
        ))
        .fact("seed", setup.seed.to_string())
        .fact("repetitions on generated worlds", setup.repeat.to_string());
    if setup.data.is_none() {
        report = report.fact("recorded worlds", "none; --data names the folder of the data sets");
    }
    let order = order(&worlds);
    Ok(report
        .section("Worlds", |section| {
            section.table(world_table(&worlds));
        })
        .section("Share of the best", |section| {
            section.table(share_table(&worlds, &order)).note(verdict(&worlds));
        })
        .section("Where price is not within 3% of the best", |section| {
            section.table(loss_table(&worlds)).note(
                "Fetches by kind as shares of the budget, and those that found the page gone. A \
                 policy that spends otherwise than the winner loses by its split; one that spends \
                 alike loses by its choice of pages.",
            );
        }))
}

fn score(setup: &Setup<'_>, plan: &'static Plan) -> Result<Scored, LabError> {
    let repeat = if matches!(plan.make, Recorded(..)) { 1 } else { setup.repeat.max(1) };
    let seeds: Vec<u64> = setup.seeds().take(repeat as usize).collect();
    let mut scores = vec![0.0; POLICIES.len()];
    let (mut pages, mut budget, mut kept) = (0, 0.0, Vec::new());
    for &seed in &seeds {
        let world = World::new(make(setup, plan, seed)?)?;
        let settings = conditions(setup, plan, &world);
        (pages, budget) = (world.len(), settings.budget.as_per_second());
        let bound = match plan.measure {
            Measure::Profit => engine::bounds(&world, &settings)?.profit_per_s.unwrap_or(1.0),
            _ => 1.0,
        };
        let runs: Vec<Measures> = POLICIES
            .par_iter()
            .map(|name| {
                (setup.say)(&format!("{}, seed {seed}: {name}", plan.name));
                crawl(name, &world, &settings, seed)
            })
            .collect::<Result<_, LabError>>()?;
        for (score, run) in scores.iter_mut().zip(&runs) {
            *score += plan.measure.of(run) / bound / f64::from(repeat);
        }
        kept = runs;
    }
    // Only the figures of the tables are kept.
    kept.iter_mut().for_each(|run| run.first_fetches = Vec::new());
    Ok(Scored { plan, pages, budget, scores, runs: kept })
}

fn crawl(name: &str, world: &World, settings: &Settings, seed: u64) -> Result<Measures, LabError> {
    let entry = registry::find(name).ok_or_else(|| LabError::UnknownPolicy {
        name: name.to_owned(),
        known: POLICIES.join(", "),
    })?;
    let logs_all = settings.logged == Logged::Known;
    let mut policy = (entry.make)(Making { seed, logs_all });
    engine::run(world, policy.as_mut(), settings)
}

/// The second half of the run is measured.
fn conditions(setup: &Setup<'_>, plan: &Plan, world: &World) -> Settings {
    let duration = world.trace().duration;
    let new = world.births().len() as f64;
    let per_second = match plan.budget {
        PagesADay(rate) => rate * (world.len() as f64 - new) / Span::DAY.seconds(),
        NewPages(share) => share * new / duration.seconds(),
        FullSize(rate) => rate * setup.scale * plan.make.size(),
    };
    let half = Span::from_micros(duration.as_micros() / 2);
    let budget = Rate::per_second(per_second).unwrap_or(Rate::ZERO);
    Settings { measure_last: Some(half), logged: plan.logged, ..Settings::new(budget) }
}

fn make(setup: &Setup<'_>, plan: &Plan, seed: u64) -> Result<Trace, LabError> {
    match plan.make {
        Generated(kind, size) => generate(kind, size * setup.scale, seed),
        Hinted(kind, size) => Ok(hinted(generate(kind, size * setup.scale, seed)?, seed)),
        Recorded(format, folder, days) => {
            let data = setup.data.unwrap_or(Path::new("."));
            recorded(data, format, folder, days)
        }
    }
}

fn generate(kind: &'static str, scale: f64, seed: u64) -> Result<Trace, LabError> {
    let generator = kinds::find(kind).ok_or_else(|| LabError::UnknownPolicy {
        name: kind.to_owned(),
        known: kinds::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
    })?;
    Ok((generator.make)(&GeneratorOptions { seed, scale })?.trace)
}

/// Hints at a share of the changes, and as many empty ones as [`EMPTY`] says, at random times.
fn hinted(mut trace: Trace, seed: u64) -> Trace {
    let mut draws = Draws::of(seed, "peers.hints", 0);
    let mut rows = Vec::new();
    let changes = trace.changes.as_deref().unwrap_or_default();
    for change in changes {
        if draws.chance(RECALL) {
            rows.push(TraceSignal { page: change.page, at: change.at, kind: 0 });
        }
        if draws.chance(EMPTY) {
            let at = Span::from_seconds(draws.uniform() * trace.duration.seconds());
            let at = tidewatch_core::Time::ZERO + at.unwrap_or(Span::ZERO);
            rows.push(TraceSignal { page: change.page, at, kind: 0 });
        }
    }
    rows.sort_by_key(|row| (row.at, row.page));
    rows.dedup();
    trace.signals = Some(Signals { kinds: vec!["feed".into()], rows });
    trace
}

fn recorded(data: &Path, format: &str, folder: &str, days: u64) -> Result<Trace, LabError> {
    let is_news = format == "de-news-hubs";
    let args = ImportArgs {
        path: data.join(folder),
        from: (format == "ota-terms").then(|| Moment::from_unix_seconds(TERMS_FROM)).flatten(),
        length: (days > 0).then(|| Span::DAY.times(days)),
        clicks: is_news.then(|| data.join("globo_clicks")),
        join: is_news.then_some(Join::Rank),
        ..ImportArgs::default()
    };
    Ok(Importer::named(format)?.run(&args)?.trace)
}

/// Policies by mean rank.
fn order(worlds: &[Scored]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..POLICIES.len()).collect();
    order.sort_by(|&a, &b| mean_rank(worlds, a).total_cmp(&mean_rank(worlds, b)));
    order
}

fn mean_rank(worlds: &[Scored], policy: usize) -> f64 {
    let ranks: usize = worlds.iter().map(|world| world.rank(policy)).sum();
    ranks as f64 / worlds.len().max(1) as f64
}

/// The lowest share of the best over all worlds.
fn worst(worlds: &[Scored], policy: usize) -> f64 {
    worlds.iter().map(|world| world.share(policy)).fold(f64::INFINITY, f64::min)
}

fn world_table(worlds: &[Scored]) -> Table {
    let mut table = Table::new([
        Column::text("world"),
        Column::text("measure"),
        Column::number("pages"),
        Column::number("fetches/s"),
        Column::text("best policy"),
        Column::number("its score"),
    ])
    .caption("Profit is a share of what fetching every page at its birth would earn.");
    for world in worlds {
        table.push([
            Cell::text(world.plan.name),
            Cell::text(world.plan.measure.name()),
            Cell::number(world.pages as f64, 0),
            Cell::significant(world.budget, 3),
            Cell::text(POLICIES[world.winner()]),
            Cell::significant(world.best(), 4),
        ]);
    }
    table
}

fn share_table(worlds: &[Scored], order: &[usize]) -> Table {
    let mut columns = vec![Column::text("policy")];
    columns.extend(worlds.iter().map(|world| Column::number(world.plan.name).highest()));
    columns.push(Column::number("mean rank").lowest());
    columns.push(Column::number("worst").highest());
    let mut table = Table::new(columns)
        .caption("Share of the best score on each world. Policies are sorted by mean rank.");
    for &policy in order {
        let mut cells = vec![Cell::text(POLICIES[policy])];
        cells.extend(worlds.iter().map(|world| Cell::number(world.share(policy), 3)));
        cells.push(Cell::number(mean_rank(worlds, policy), 1));
        cells.push(Cell::number(worst(worlds, policy), 3));
        table.push(cells);
    }
    table
}

fn price() -> usize {
    POLICIES.iter().position(|name| *name == PRICE).unwrap_or(0)
}

/// Whether price is within the tolerance of the best everywhere, and where not.
fn verdict(worlds: &[Scored]) -> String {
    let price = price();
    let losses: Vec<String> = worlds
        .iter()
        .filter(|world| world.share(price) < 1.0 - TOLERANCE)
        .map(|world| {
            let loss = 100.0 * (1.0 - world.share(price));
            format!("{} ({loss:.1}% behind {})", world.plan.name, POLICIES[world.winner()])
        })
        .collect();
    let worst = worst(worlds, price);
    let others = (0..POLICIES.len()).filter(|&policy| policy != price);
    let (rival, safest) = others
        .map(|policy| (policy, self::worst(worlds, policy)))
        .fold((0, f64::MIN), |best, next| if next.1 > best.1 { next } else { best });
    let rival = format!("The best worst case of the others is {safest:.3} ({}).", POLICIES[rival]);
    if losses.is_empty() {
        format!(
            "Price is within 3% of the best on all {} worlds; its worst case is {worst:.3}. {rival}",
            worlds.len()
        )
    } else {
        format!(
            "Price is within 3% of the best on {} of {} worlds; its worst case is {worst:.3}. It is not on: \
             {}. {rival}",
            worlds.len() - losses.len(),
            worlds.len(),
            losses.join(", ")
        )
    }
}

/// How price and the winner spend the budget where price loses.
fn loss_table(worlds: &[Scored]) -> Table {
    let mut columns = vec![Column::text("world"), Column::text("policy"), Column::number("share")];
    columns.extend(FetchKind::ALL.map(|kind| Column::number(kind.name())));
    columns.extend(["idle", "gone", "coverage"].map(Column::number));
    let mut table = Table::new(columns);
    let price = price();
    for world in worlds.iter().filter(|world| world.share(price) < 1.0 - TOLERANCE) {
        for policy in [world.winner(), price] {
            let run = &world.runs[policy];
            let all = (run.fetches.iter().sum::<u64>() + run.idle).max(1) as f64;
            let part = |count: u64| Cell::number(count as f64 / all, 3);
            let mut cells = vec![
                Cell::text(world.plan.name),
                Cell::text(POLICIES[policy]),
                Cell::number(world.share(policy), 3),
            ];
            cells.extend(FetchKind::ALL.map(|kind| part(run.fetches[kind as usize])));
            cells.extend([part(run.idle), part(run.gone), Cell::maybe(run.coverage, 3)]);
            table.push(cells);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(scores: &[(&str, f64)]) -> Scored {
        let score = |name: &&str| scores.iter().find(|row| row.0 == *name).map_or(0.5, |row| row.1);
        Scored {
            plan: &GENERATED[0],
            pages: 1,
            budget: 1.0,
            scores: POLICIES.iter().map(score).collect(),
            runs: vec![Measures::default(); POLICIES.len()],
        }
    }

    #[test]
    fn the_verdict_follows_the_scores() {
        let good = [scored(&[("price", 0.99), ("cgm", 1.0)]), scored(&[("price", 2.0)])];
        let text = verdict(&good);
        assert!(text.contains("on all 2 worlds") && text.contains("0.990"), "{text}");
        let bad = [scored(&[("price", 0.9), ("cgm", 1.0)]), scored(&[("price", 2.0)])];
        let text = verdict(&bad);
        assert!(text.contains("on 1 of 2 worlds") && text.contains("10.0% behind cgm"), "{text}");
        assert_eq!((bad[0].rank(price()), bad[1].rank(price())), (2, 1));
        assert_eq!((loss_table(&bad).len(), loss_table(&good).len()), (2, 0));
    }

    #[test]
    fn a_tiny_run_gives_every_table() {
        let text = run(&Setup::small(1, 1, 0.05)).unwrap().to_text(300);
        assert!(text.contains("mean rank") && text.contains("common-crawl"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }

    #[test]
    fn every_policy_is_registered() {
        assert!(POLICIES.iter().all(|name| registry::find(name).is_some()));
    }
}
