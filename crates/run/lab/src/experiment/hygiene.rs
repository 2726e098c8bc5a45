//! What it gains to tell waste from what is worth fetching, and what it costs where there is no waste.
//!
//! One policy, `price`, crawls an unclean web and the same web without anything unclean, at one budget:
//! with nothing done about waste, with fixed filters, with rules that are learnt while crawling, and with an
//! operator besides who labels four hosts of link farms and four good ones.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Cell, Column, Report, Table};
use tidewatch_trace::TruthClass;

use super::{Setup, cell};
use crate::engine::{self, Cleaning, DoubtBin, Measures, Mirrors, Settings, Waste};
use crate::generate::unclean::{self, UncleanConfig};
use crate::{LabError, World, policies};

/// Fetches a second at scale 1: nine for ten articles that appear.
const BUDGET: f64 = 0.02;
/// What is done about waste.
const ARMS: [(&str, Cleaning); 4] = [
    ("nothing", Cleaning::Nothing),
    ("filters", Cleaning::Filters),
    ("learnt rules", Cleaning::Rules),
    ("learnt rules, 4 + 4 labels", Cleaning::Labelled(4)),
];
/// The one of [`ARMS`] that is under test.
const LEARNT: usize = 2;
/// Traps, as the aim counts them.
const TRAPS: [TruthClass; 4] =
    [TruthClass::Calendar, TruthClass::Facet, TruthClass::Session, TruthClass::Maze];

/// Aims for mirrors: share of those named that are, share of those fetched that are named.
const PRECISION: f64 = 0.95;
const RECALL: f64 = 0.85;

/// Aims: renamed pages recognised unfetched, contents lost, fetches in traps, good pages left aside, loss
/// of profit on a clean web.
const RECOGNISED: f64 = 0.9;
const LOST: f64 = 0.005;
const IN_TRAPS: f64 = 0.02;
const LEFT: f64 = 0.01;
const CLEAN_LOSS: f64 = 0.005;

/// Runs of one arm over every web, and of the same arm over the clean webs.
struct Runs {
    unclean: Vec<Measures>,
    clean: Vec<Measures>,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let unclean = webs(setup, &UncleanConfig::default())?;
    let clean = webs(setup, &UncleanConfig::clean())?;
    let crawl = |cleaning: Cleaning| -> Result<Runs, LabError> {
        let all = |webs: &[(u64, World)]| {
            webs.par_iter()
                .map(|(seed, world)| {
                    (setup.say)(&format!("{cleaning:?}, seed {seed}"));
                    let mut policy = policies::find("price")?.make(world, *seed);
                    engine::run(world, policy.as_mut(), &conditions(setup, cleaning))
                })
                .collect::<Result<Vec<Measures>, LabError>>()
        };
        Ok(Runs { unclean: all(&unclean)?, clean: all(&clean)? })
    };
    let runs = ARMS.map(|(_, cleaning)| crawl(cleaning));
    let runs = runs.into_iter().collect::<Result<Vec<Runs>, LabError>>()?;
    let learnt = &runs[LEARNT].unclean;
    Ok(Report::new("What is not worth fetching")
        .lead(verdict(&runs))
        .fact("webs", format!("{} of scale {}", setup.repeat, setup.scale))
        .fact("budget", format!("{BUDGET} fetches/s at scale 1; the last week is measured"))
        .section("Profit", |section| {
            section.table(profits(&runs));
        })
        .section("Fetches that brought nothing of their own", |section| {
            section.table(wasted(&runs));
        })
        .section("What became of the pages that links led to", |section| {
            section.table(fates(learnt)).table(losses(&runs)).note(onset(learnt));
        })
        .section("Calibration", |section| {
            let (first, last) = (|waste: &Waste| waste.bins.clone(), |w: &Waste| w.decided.clone());
            section.table(reliability(learnt, last)).note(
                "The doubt by which the price decided last, when the page was first fetched or at the \
                 end, and the share of such pages that had nothing of their own: waste by their class, \
                 or the content of a page already known. Merged pages do not count. Clicks are those of \
                 the pages fetched: q means that a share q of the clicks that the price would expect \
                 without it does not come, whatever the class.",
            );
            section.table(reliability(learnt, first)).note(
                "The same when a link first led to the page. A visit of a source may show dozens of URLs of \
                 a kind never seen before, of which nothing is known until the first was fetched.",
            );
        })
        .section("Mirrors", |section| {
            section.table(mirrors(learnt)).note(
                "Pairs of hosts of all webs. Recall counts pairs of which twenty pages each were \
                 fetched; nothing can be said about the others.",
            );
        }))
}

fn webs(setup: &Setup<'_>, config: &UncleanConfig) -> Result<Vec<(u64, World)>, LabError> {
    let config = UncleanConfig { scale: setup.scale, ..config.clone() };
    config.check()?;
    let web = |seed| Ok((seed, World::new(unclean::generate(&config, seed).trace)?));
    setup.seeds().map(web).collect()
}

fn conditions(setup: &Setup<'_>, cleaning: Cleaning) -> Settings {
    let budget = Rate::per_second(BUDGET * setup.scale).unwrap_or(Rate::ZERO);
    Settings { measure_last: Some(Span::WEEK), cleaning, ..Settings::new(budget) }
}

fn mean(runs: &[Measures], of: impl Fn(&Measures) -> f64) -> Estimate {
    runs.iter().map(of).collect::<Moments>().estimate()
}

fn profit(run: &Measures) -> f64 {
    run.profit_per_s.unwrap_or(f64::NAN)
}

/// Mean ratio of profits, web by web.
fn ratio(runs: &[Measures], than: &[Measures]) -> Estimate {
    let pairs = runs.iter().zip(than);
    pairs.map(|(one, other)| profit(one) / profit(other)).collect::<Moments>().estimate()
}

fn profits(runs: &[Runs]) -> Table {
    let mut table = Table::new([
        Column::text("against waste"),
        Column::number("unclean web").unit("clicks/s").highest(),
        Column::number("× nothing"),
        Column::number("clean web").unit("clicks/s"),
        Column::number("× nothing"),
    ])
    .caption("Clicks still to come on pages when first fetched; × is the mean ratio, web by web.");
    for ((name, _), arm) in ARMS.iter().zip(runs) {
        table.push([
            Cell::text(*name),
            cell(&mean(&arm.unclean, profit), 4),
            cell(&ratio(&arm.unclean, &runs[0].unclean), 4),
            cell(&mean(&arm.clean, profit), 4),
            cell(&ratio(&arm.clean, &runs[0].clean), 4),
        ]);
    }
    table
}

/// Share of the fetches in the window that some classes wasted.
fn share(run: &Measures, classes: &[TruthClass]) -> f64 {
    let all = run.fetches.iter().sum::<u64>().max(1);
    Waste::sum(&run.waste.fetches, classes) as f64 / all as f64
}

fn wasted(runs: &[Runs]) -> Table {
    let mut columns = vec![Column::text("class")];
    columns.extend(ARMS.map(|(name, _)| Column::number(name).unit("%")));
    let mut table = Table::new(columns).caption(
        "Share of all fetches. Class own: pages of which another address had been fetched before.",
    );
    let mut row = |name: &str, classes: &[TruthClass]| {
        let cells =
            runs.iter().map(|arm| cell(&mean(&arm.unclean, |r| 100.0 * share(r, classes)), 2));
        table.push(std::iter::once(Cell::text(name)).chain(cells));
    };
    TruthClass::ALL.iter().for_each(|class| row(class.name(), &[*class]));
    row("traps: calendar, facet, session, maze", &TRAPS);
    row("all", TruthClass::ALL);
    table
}

fn fates(runs: &[Measures]) -> Table {
    let mut table = Table::new([
        Column::text("class"),
        Column::number("met"),
        Column::number("merged unfetched"),
        Column::number("left in doubt"),
        Column::number("fetched"),
        Column::number("recognised unfetched").unit("%"),
        Column::number("with rules on the host").unit("%"),
    ])
    .caption(
        "Learnt rules; pages of all webs that a link led to when their content was known under another \
         address, or that have none. Class own: all others, recognised wrongly. Last column: of those met \
         after the first right merge on their host.",
    );
    for &class in TruthClass::ALL {
        let sum = |of: fn(&Waste) -> &engine::ByClass| {
            runs.iter().map(|run| of(&run.waste)[class as usize]).sum::<u64>()
        };
        let counts = [sum(|w| &w.met), sum(|w| &w.merged), sum(|w| &w.left), sum(|w| &w.fetched)];
        let mut cells = vec![Cell::text(class.name())];
        cells.extend(counts.map(|count| Cell::number(count as f64, 0)));
        cells.push(Cell::number(100.0 * recognised(runs, class), 1));
        let late = sum(|w| &w.late_recognised) as f64 / sum(|w| &w.late) as f64;
        cells.push(Cell::number(100.0 * late, 1));
        table.push(cells);
    }
    table
}

/// Share of the pages of a class that were merged or left aside without a fetch.
fn recognised(runs: &[Measures], class: TruthClass) -> f64 {
    let sum = |of: fn(&Waste, usize) -> u64| -> u64 {
        runs.iter().map(|run| of(&run.waste, class as usize)).sum()
    };
    sum(|waste, class| waste.merged[class] + waste.left[class]) as f64
        / sum(|waste, class| waste.met[class]).max(1) as f64
}

/// Shares of the good pages met: lost by a wrong merge, left in doubt.
fn lost(runs: &[Measures]) -> [f64; 2] {
    let own = TruthClass::Own as usize;
    let sum = |of: fn(&Waste) -> u64| runs.iter().map(|run| of(&run.waste)).sum::<u64>() as f64;
    let met = runs.iter().map(|run| run.waste.met[own]).sum::<u64>().max(1) as f64;
    let left = runs.iter().map(|run| run.waste.left[own]).sum::<u64>() as f64;
    [sum(|waste| waste.lost) / met, left / met]
}

fn losses(runs: &[Runs]) -> Table {
    let mut table = Table::new([
        Column::text("against waste"),
        Column::number("lost, unclean").unit("%"),
        Column::number("left in doubt").unit("%"),
        Column::number("their clicks").unit("% of profit"),
        Column::number("lost, clean").unit("%"),
        Column::number("left in doubt").unit("%"),
    ])
    .caption(
        "Good pages that a link led to: merged with a page of other content and never known, or left \
         with a doubt of a half or more.",
    );
    for ((name, _), arm) in ARMS.iter().zip(runs) {
        let clicks = mean(&arm.unclean, |run| {
            let lost = run.waste.lost_clicks + run.waste.left_clicks;
            let all: f64 = run.first_fetches.iter().map(|fetch| fetch.profit).sum();
            100.0 * lost / all
        });
        let [of_unclean, of_clean] = [lost(&arm.unclean), lost(&arm.clean)];
        let mut cells = vec![Cell::text(*name)];
        cells.extend(of_unclean.map(|share| Cell::number(100.0 * share, 3)));
        cells.push(cell(&clicks, 3));
        cells.extend(of_clean.map(|share| Cell::number(100.0 * share, 3)));
        table.push(cells);
    }
    table
}

fn onset(runs: &[Measures]) -> String {
    let mut fetches: Vec<u64> =
        runs.iter().flat_map(|run| run.waste.before_first_merge.iter().copied()).collect();
    fetches.sort_unstable();
    let at = |share: f64| fetches.get((share * fetches.len() as f64) as usize).copied();
    match (at(0.5), at(0.9)) {
        (Some(median), Some(late)) => format!(
            "The first right merge on a host came after {median} fetches from it in the median, after \
             {late} at nine hosts in ten ({} hosts).",
            fetches.len()
        ),
        _ => "No page was rightly merged.".to_owned(),
    }
}

fn reliability(runs: &[Measures], which: fn(&Waste) -> Vec<DoubtBin>) -> Table {
    let mut table = Table::new([
        Column::number("mean doubt"),
        Column::number("share of waste"),
        Column::number("pages"),
        Column::text("most of the waste"),
        Column::number("clicks expected"),
        Column::number("came"),
        Column::number("share missing"),
    ]);
    let mut bins: Vec<DoubtBin> = runs.iter().flat_map(|run| which(&run.waste)).collect();
    bins.sort_by(|a, b| a.doubt.total_cmp(&b.doubt));
    for group in bins.chunk_by(|a, b| bin_of(a.doubt) == bin_of(b.doubt)) {
        let pages: u64 = group.iter().map(|bin| bin.pages).sum();
        let weighted = |of: fn(&DoubtBin) -> f64| {
            group.iter().map(|bin| of(bin) * bin.pages as f64).sum::<f64>() / pages as f64
        };
        let expected: f64 = group.iter().map(|bin| bin.expected).sum();
        let came: f64 = group.iter().map(|bin| bin.came).sum();
        table.push([
            Cell::number(weighted(|bin| bin.doubt), 3),
            Cell::number(weighted(|bin| bin.waste), 3),
            Cell::number(pages as f64, 0),
            Cell::text(most_waste(group)),
            Cell::number(expected, 0),
            Cell::number(came, 0),
            Cell::number(1.0 - came / expected, 3),
        ]);
    }
    table
}

/// The class that most of the waste is of, and its share of it.
fn most_waste(bins: &[DoubtBin]) -> String {
    let of_class = |class: TruthClass| bins.iter().map(|bin| bin.classes[class as usize]).sum();
    let counts = TruthClass::ALL.iter().map(|&class| (of_class(class), class));
    let all: u64 = counts.clone().map(|(count, _): (u64, _)| count).sum();
    match counts.max_by_key(|(count, _)| *count) {
        Some((most, class)) if most > 0 => {
            format!("{} {:.0}%", class.name(), 100.0 * most as f64 / all as f64)
        }
        _ => String::new(),
    }
}

fn mirrors(runs: &[Measures]) -> Table {
    let sum = all_mirrors(runs);
    let mut table = Table::new([
        Column::number("mirrors touched"),
        Column::number("fetched"),
        Column::number("named"),
        Column::number("rightly"),
        Column::number("precision"),
        Column::number("recall"),
    ]);
    let counts = [sum.touched, sum.fetched, sum.named, sum.right].map(Cell::count);
    let shares = [sum.precision(), sum.recall()].map(|share| Cell::number(share, 3));
    table.push(counts.into_iter().chain(shares));
    table
}

fn all_mirrors(runs: &[Measures]) -> Mirrors {
    runs.iter().map(|run| run.waste.mirrors).fold(Mirrors::default(), Mirrors::and)
}

fn bin_of(doubt: f64) -> usize {
    engine::DOUBT_BINS.iter().position(|&end| doubt <= end).unwrap_or(0)
}

/// Whether an aim is met: the figure, and the bar that it must not exceed.
fn aim(what: &str, figure: f64, bar: f64) -> String {
    let met = if figure <= bar { "met" } else { "missed" };
    format!("{what} {:.2}% (aim {:.1}%: {met})", 100.0 * figure, 100.0 * bar)
}

fn verdict(runs: &[Runs]) -> String {
    let learnt = &runs[LEARNT];
    let [lost, left] = lost(&learnt.unclean);
    let gain = ratio(&learnt.unclean, &runs[0].unclean).mean - 1.0;
    let clean = 1.0 - ratio(&learnt.clean, &runs[0].clean).mean;
    let pairs = all_mirrors(&learnt.unclean);
    let renamed = 1.0 - recognised(&learnt.unclean, TruthClass::Renamed);
    format!(
        "Learnt rules change the profit by {:+.1}% on unclean webs. {}.",
        100.0 * gain,
        [
            aim("Renamed pages not recognised before a fetch:", renamed, 1.0 - RECOGNISED),
            aim("contents lost:", lost, LOST),
            aim("good pages left in doubt:", left, LEFT),
            aim(
                "fetches in traps:",
                mean(&learnt.unclean, |run| share(run, &TRAPS)).mean,
                IN_TRAPS
            ),
            aim("loss of profit on clean webs:", clean, CLEAN_LOSS),
            aim("pairs wrongly named mirrors:", 1.0 - pairs.precision(), 1.0 - PRECISION),
            aim("mirrors missed:", 1.0 - pairs.recall(), 1.0 - RECALL),
        ]
        .join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_met_or_missed() {
        assert_eq!(aim("lost", 0.004, 0.005), "lost 0.40% (aim 0.5%: met)");
        assert_eq!(aim("lost", 0.02, 0.005), "lost 2.00% (aim 0.5%: missed)");
    }

    #[test]
    fn a_tiny_web_gives_every_table() {
        let text = run(&Setup::small(1, 1, 0.03)).unwrap().to_text(200);
        for part in ["Profit", "traps: calendar", "recognised unfetched", "mean doubt"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
