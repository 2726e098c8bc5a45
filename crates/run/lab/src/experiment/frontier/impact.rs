//! Search impact of the first 1 to 10% of the frontier by method `[TTKN15, figs. 3–8]`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rayon::prelude::*;
use tidewatch_core::Time;
use tidewatch_graph::walk::ALPHA;
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::frontier::calibrate::{Isotonic, LogLinear};
use tidewatch_policy::frontier::tune::share_of_ideal;
use tidewatch_report::{Axis, Cell, Chart, Column, Point, Report, Section, Series, Table};
use tidewatch_trace::{Count, Trace};

use super::methods::{
    self, BASELINES, CONTENDERS, METHODS, ML, OMEGAS, PRICE, PRICE_TRAINED, RANDOM, RW, RW_EG,
    SINGLE,
};
use super::setting::{Kind, Setting};
use super::told::{self, Halves};
use crate::LabError;
use crate::experiment::{Setup, against, cell, signed};
use crate::generate::graph;
use crate::import::{ImportArgs, ImportError, Importer};

/// Shares of the frontier that are chosen.
const SHARES: [f64; 4] = [0.01, 0.02, 0.05, 0.1];
/// Price is to reach the best single order, less this.
const NEARLY: f64 = 0.03;
/// Groups of test pages by expected clicks, to check the calibration.
const GROUPS: usize = 5;

/// A corpus; two of them are the paper's.
struct Corpus {
    name: &'static str,
    /// β and the shares on which ω is tuned, as in the paper.
    beta: f64,
    tuned_at: [f64; 2],
    /// Index into [`SHARES`] at which methods are compared.
    judged_at: usize,
    published: &'static str,
}

/// The paper's corpora and their generators.
const CORPORA: [(Corpus, fn() -> graph::Config); 2] =
    [(ENCYCLOPEDIA, graph::Config::wikipedia), (SKEWED, graph::Config::web_crawl)];

const ENCYCLOPEDIA: Corpus = Corpus {
    name: "encyclopedia",
    beta: 1.0,
    tuned_at: [0.05, 0.1],
    judged_at: 3,
    published: "Published: Random reaches about 20% of the ideal, Q-Overlap and Q-Hybrid lead \
                    below 5% of the frontier, RW-EG leads above 6% with 60–70%; best ω 0.1 for \
                    clicks and 0.2 for views; ML beats both walks.",
};

const SKEWED: Corpus = Corpus {
    name: "skewed web",
    beta: 0.0,
    tuned_at: [0.01, 0.02],
    judged_at: 1,
    published: "Published (up to 2% of the frontier): Random finds nearly nothing, Q-* lead \
                    only in the first 0.2%, RW-EG reaches 60–70% and leads the best baseline by \
                    5–10%; best ω 0.9 for clicks and 0.8 for views; ML does not beat the walks.",
};

const SITE: Corpus = Corpus {
    name: "documentation site",
    beta: 0.0,
    tuned_at: [0.05, 0.1],
    judged_at: 3,
    published: "A site's links, and the views of its pages as its owner published them. A random half \
                of the pages is fetched and its views are known; the frontier is the pages of the other \
                half that it links to.",
};
/// Views of the most viewed page: the data has shares of it.
const MOST_VIEWS: f64 = 1e4;

/// Results of one seed for one kind of impact.
#[derive(Clone)]
struct Run {
    /// Share of the ideal by method and share of the frontier.
    shares: Vec<[f64; SHARES.len()]>,
    /// Click-through rate and PageRank (mean 1) of the choice, by method.
    quality: Vec<(f64, f64)>,
    omega: f64,
    by_omega: Vec<f64>,
    steps: u32,
    residual: f64,
    told: Halves,
    calibration: Vec<Group>,
    /// Dispersion and slope of the log-linear calibration.
    law: Option<(f64, f64)>,
}

/// Test pages of about the same expected clicks.
#[derive(Clone, Copy, Default)]
struct Group {
    expected: f64,
    low: f64,
    high: f64,
    found: f64,
}

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let mut report = Report::new("Search impact of pages never fetched before")
        .lead(
            "Clicks and views of the pages that each method chooses from the frontier, as a share of \
             the best possible choice. Pages present at the start are fetched and their clicks are \
             known; later pages that they link to are the frontier. ω is tuned and the learned \
             methods are trained on 65% of the frontier; all figures are for the other 35%. The last \
             two rows are references, not methods: linked takes pages that a page with impact links \
             to, in random order; informed takes the pages that will have any impact, in random order.",
        )
        .fact("repetitions", setup.repeat.to_string());
    for (corpus, config) in &CORPORA {
        let seeds: Vec<u64> = setup.seeds().collect();
        let runs: Vec<[Run; 2]> = seeds
            .par_iter()
            .map(|&seed| {
                (setup.say)(&format!("{} of seed {seed}", corpus.name));
                one_web(setup, corpus, *config, seed)
            })
            .collect::<Result<_, _>>()?;
        report = report.section(capital(corpus.name), |section| show(section, corpus, &runs));
    }
    Ok(report)
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// The same on a real site with the views of its pages.
pub(in crate::experiment) fn run_real(setup: &Setup<'_>) -> Result<Report, LabError> {
    let folder = setup.data.ok_or(LabError::NeedsData {
        experiment: "impact-real",
        folder: "mdn_site, with popularities.json of the same site (page paths and shares of views)",
    })?;
    let args = ImportArgs { path: folder.to_owned(), ..ImportArgs::default() };
    let mut trace = Importer::named("mdn-site")?.run(&args)?.trace;
    let viewed = add_views(&mut trace, &folder.join("popularities.json"))?;
    let seeds: Vec<u64> = setup.seeds().collect();
    let runs: Vec<[Run; 2]> = seeds
        .par_iter()
        .map(|&seed| {
            (setup.say)(&format!("split {seed}"));
            let run = one_kind(&Setting::halves(&trace, seed), &SITE, Kind::Views, seed)?;
            Ok::<_, LabError>([run.clone(), run])
        })
        .collect::<Result<_, _>>()?;
    Ok(Report::new("Search impact on a real site with real views")
        .lead(SITE.published)
        .fact("pages", trace.pages.len().to_string())
        .fact("links", trace.links.len().to_string())
        .fact("pages with views", viewed.to_string())
        .fact("repetitions", setup.repeat.to_string())
        .section("Documentation site", |section| {
            section.table(shares_table(&SITE, &runs, 1, Kind::Views));
            section.paragraph(price_verdict(&runs, 1)).table(quality_table(&SITE, &runs));
        }))
}

/// Sets the views of every page from a JSON object of paths and shares. Returns how many pages have some.
fn add_views(trace: &mut Trace, path: &Path) -> Result<usize, LabError> {
    let text = std::fs::read(path).map_err(|error| ImportError::io("read", path)(error))?;
    let shares: BTreeMap<String, f64> = serde_json::from_slice(&text)
        .map_err(|error| ImportError::io("read", path)(std::io::Error::other(error)))?;
    let shares = by_page(shares);
    let mut rows = Vec::new();
    for (number, page) in (0..).zip(&mut trace.pages) {
        page.born = Time::ZERO;
        let path = page.url.splitn(4, '/').nth(3).unwrap_or_default().to_lowercase();
        let share = shares.get(&format!("/{path}")).copied().unwrap_or(0.0);
        if share > 0.0 && share.is_finite() {
            rows.push(Count { page: number, at: Time::ZERO, count: MOST_VIEWS * share });
        }
    }
    let viewed = rows.len();
    trace.clicks = Some(rows.clone());
    trace.views = Some(rows);
    Ok(viewed)
}

/// Shares by path in lower case: a page is viewed under paths that differ in case, and has their sum.
fn by_page(shares: BTreeMap<String, f64>) -> HashMap<String, f64> {
    let mut pages = HashMap::new();
    for (path, share) in shares {
        *pages.entry(path.to_lowercase()).or_default() += share;
    }
    pages
}

fn one_web(
    setup: &Setup<'_>,
    corpus: &Corpus,
    config: fn() -> graph::Config,
    seed: u64,
) -> Result<[Run; 2], LabError> {
    let config = graph::Config { scale: setup.scale, ..config() };
    let setting = Setting::generate(&config, seed)?;
    let [clicks, views] = Kind::BOTH.map(|kind| one_kind(&setting, corpus, kind, seed));
    Ok([clicks?, views?])
}

fn one_kind(setting: &Setting, corpus: &Corpus, kind: Kind, seed: u64) -> Result<Run, LabError> {
    let scored = methods::score(setting, kind, corpus.beta, &corpus.tuned_at, seed)?;
    let on_test = |values: &[f64]| -> Vec<f64> {
        setting.test.iter().map(|&node| values[node as usize]).collect()
    };
    let truth = on_test(setting.impact(kind));
    let shares = scored.scores.iter().map(|scores| {
        let scores = on_test(scores);
        SHARES.map(|share| share_of_ideal(&scores, &truth, share))
    });
    let quality = scored.scores.iter().map(|s| quality(setting, s, &scored.pagerank, corpus));
    let rw_eg = &scored.scores[RW_EG];
    let (calibration, law) = calibrate(setting, rw_eg, kind);
    Ok(Run {
        shares: shares.collect(),
        quality: quality.collect(),
        omega: scored.omega,
        by_omega: scored.by_omega,
        steps: scored.steps,
        residual: scored.residual,
        told: told::count(setting, kind, &scored.by_virtual),
        calibration,
        law,
    })
}

/// Clicks per view and mean PageRank of the first pages of the test frontier.
fn quality(setting: &Setting, scores: &[f64], pagerank: &[f64], corpus: &Corpus) -> (f64, f64) {
    let mut order = setting.test.clone();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    let count = (order.len() as f64 * SHARES[corpus.judged_at]).round() as usize;
    let chosen = &order[..count.clamp(1.min(order.len()), order.len())];
    let sum = |of: &[f64]| chosen.iter().map(|&node| of[node as usize]).sum::<f64>();
    let views = sum(setting.impact(Kind::Views));
    let clicks = sum(setting.impact(Kind::Clicks));
    let rank = sum(pagerank) * pagerank.len() as f64 / chosen.len().max(1) as f64;
    (if views > 0.0 { clicks / views } else { 0.0 }, rank)
}

/// Expected against found clicks on the test frontier, by groups of rising expectation.
fn calibrate(setting: &Setting, scores: &[f64], kind: Kind) -> (Vec<Group>, Option<(f64, f64)>) {
    // The score above the minimum that every page has, in units of that minimum.
    let excess = |score: f64| score * scores.len() as f64 / (1.0 - ALPHA) - 1.0;
    let pair = |&node: &u32| (excess(scores[node as usize]), setting.impact(kind)[node as usize]);
    let known: Vec<(f64, f64)> = setting.training.iter().map(pair).collect();
    let Some(fit) = Isotonic::fit(&known) else { return (Vec::new(), None) };
    let mut test: Vec<(f64, f64)> = setting.test.iter().map(pair).collect();
    test.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = test.len().div_ceil(GROUPS).max(1);
    let groups = test.chunks(size).map(|group| {
        let mut sums = Group::default();
        for &(score, found) in group {
            let expected = fit.expect(score);
            sums.expected += expected.clicks;
            sums.low += expected.low;
            sums.high += expected.high;
            sums.found += found;
        }
        let n = group.len() as f64;
        Group {
            expected: sums.expected / n,
            low: sums.low / n,
            high: sums.high / n,
            found: sums.found / n,
        }
    });
    (groups.collect(), LogLinear::fit(&known).map(|law| (law.dispersion, law.slope())))
}

fn show(section: &mut Section, corpus: &Corpus, runs: &[[Run; 2]]) {
    section.paragraph(corpus.published);
    for (i, kind) in Kind::BOTH.iter().enumerate() {
        section.table(shares_table(corpus, runs, i, *kind));
    }
    section.paragraph(verdict(corpus, runs)).paragraph(findings(corpus, runs));
    section.paragraph(format!("{} {}", price_verdict(runs, 0), price_verdict(runs, 1)));
    section.table(told::table(|pick| of(runs, |run| pick(&run[0].told))));
    section.paragraph(told_by_links(runs));
    section.chart(shares_chart(runs)).table(quality_table(corpus, runs));
    section.chart(omega_chart(corpus, runs)).table(calibration_table(runs));
    let steps = of(runs, |run| f64::from(run[0].steps)).mean;
    let residual = runs.iter().map(|run| run[0].residual).fold(0.0, f64::max);
    section.note(format!(
        "RW-EG took {steps:.0} steps on average; the largest residual is {residual:.1e}."
    ));
}

fn of(runs: &[[Run; 2]], value: impl Fn(&[Run; 2]) -> f64) -> Estimate {
    runs.iter().map(value).collect::<Moments>().estimate()
}

fn shares_table(corpus: &Corpus, runs: &[[Run; 2]], i: usize, kind: Kind) -> Table {
    let mut columns = vec![Column::text("method")];
    for share in SHARES {
        columns.push(Column::number(format!("at {:.0}%", share * 100.0)).unit("%").highest());
    }
    let omega = of(runs, |run| run[i].omega);
    let mut table = Table::new(columns).caption(format!(
        "Percent of the ideal {} impact on the {}, by share of the frontier chosen. \
         RW-EG with ω = {:.2} on average, chosen by the 0.632+ bootstrap.",
        kind.name(),
        corpus.name,
        omega.mean,
    ));
    for (m, name) in METHODS.iter().enumerate() {
        let mut cells = vec![Cell::text(*name)];
        for s in 0..SHARES.len() {
            cells.push(cell(&of(runs, |run| 100.0 * run[i].shares[m][s]), 1));
        }
        table.push(cells);
    }
    table
}

/// RW-EG against the best baseline where the paper compares them, seed by seed.
fn verdict(corpus: &Corpus, runs: &[[Run; 2]]) -> String {
    let at = corpus.judged_at;
    let one = |i: usize| {
        let mean = |m: usize| of(runs, |run| 100.0 * run[i].shares[m][at]).mean;
        let best = BASELINES.max_by(|&a, &b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
        let lead = of(runs, |run| 100.0 * (run[i].shares[RW_EG][at] - run[i].shares[best][at]));
        format!(
            "RW-EG reaches {:.1}% of the ideal {} impact and is {} the best baseline, {} ({} points)",
            mean(RW_EG),
            Kind::BOTH[i].name(),
            against(&lead),
            METHODS[best],
            signed(&lead, 1),
        )
    };
    format!("At {:.0}% of the frontier, {}; {}.", SHARES[at] * 100.0, one(0), one(1))
}

/// Price against the best single order at each share: before it has seen a page of the frontier, and after.
/// The interval over webs decides.
fn price_verdict(runs: &[[Run; 2]], i: usize) -> String {
    let at_share = |s: usize| {
        let mean = |m: usize| of(runs, |run| 100.0 * run[i].shares[m][s]).mean;
        let best = SINGLE.max_by(|&a, &b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
        let leads = [PRICE, PRICE_TRAINED].map(|m| {
            let lead = of(runs, |run| 100.0 * (run[i].shares[m][s] - run[i].shares[best][s]));
            let within = match lead.interval() {
                (low, _) if low >= -100.0 * NEARLY => "within",
                (_, high) if high < -100.0 * NEARLY => "not within",
                _ => "perhaps within",
            };
            format!("{} ({within} {:.0})", signed(&lead, 1), 100.0 * NEARLY)
        });
        let [before, after] = leads;
        format!("{:.0}%: {before}, trained {after}, against {}", 100.0 * SHARES[s], METHODS[best])
    };
    let all: Vec<String> = (0..SHARES.len()).map(at_share).collect();
    let kind = Kind::BOTH[i].name();
    format!(
        "Price against the best single order, in points of {kind} impact, at {}.",
        all.join("; ")
    )
}

/// The other published claims, for clicks.
fn findings(corpus: &Corpus, runs: &[[Run; 2]]) -> String {
    let at = corpus.judged_at;
    let mean = |m: usize, s: usize| of(runs, |run| 100.0 * run[0].shares[m][s]).mean;
    let leader = |s: usize| {
        let best = CONTENDERS.max_by(|&a, &b| mean(a, s).total_cmp(&mean(b, s))).unwrap_or(0);
        format!("{} at {:.0}%", METHODS[best], 100.0 * SHARES[s])
    };
    let compared = |a: usize, b: usize| {
        let lead = of(runs, |run| 100.0 * (run[0].shares[a][at] - run[0].shares[b][at]));
        format!("{} is {} {} ({} points)", METHODS[a], against(&lead), METHODS[b], signed(&lead, 1))
    };
    let walk = if mean(RW, at) > mean(RW_EG, at) { RW } else { RW_EG };
    let leaders: Vec<String> = (0..SHARES.len()).map(leader).collect();
    format!(
        "For clicks, random reaches {:.1}% of the ideal at {:.0}% of the frontier; {}; {}. The \
         leading method is {}. The mean tuned ω is {:.2} for clicks and {:.2} for views.",
        mean(RANDOM, at),
        100.0 * SHARES[at],
        compared(RW_EG, RW),
        compared(ML, walk),
        leaders.join(", "),
        of(runs, |run| run[0].omega).mean,
        of(runs, |run| run[1].omega).mean,
    )
}

/// Which clicks links can point at, and whether virtual links add to that.
fn told_by_links(runs: &[[Run; 2]]) -> String {
    let unseen = of(runs, |run| run[0].told[0].iter().map(|half| half.impact).sum());
    let lead = of(runs, |run| run[0].told[1][1].mean - run[0].told[1][0].mean);
    format!(
        "{:.0}% of the clicks fall on pages without a clicked predecessor. Among pages with one, \
         the upper half by virtual links is {} the lower half ({} clicks a page).",
        100.0 * unseen.mean,
        against(&lead),
        signed(&lead, 2),
    )
}

fn shares_chart(runs: &[[Run; 2]]) -> Chart {
    let x = Axis::new("share of the frontier chosen").unit("%").from_zero();
    let y = Axis::new("click impact").unit("% of ideal").from_zero();
    let mut chart = Chart::new("Click impact of the choice", x, y);
    for (m, name) in METHODS.iter().enumerate() {
        let points = SHARES.iter().enumerate().map(|(s, share)| {
            Point::new(100.0 * share, of(runs, |run| 100.0 * run[0].shares[m][s]).mean)
        });
        chart.push(Series::curve(*name, points));
    }
    chart
}

fn quality_table(corpus: &Corpus, runs: &[[Run; 2]]) -> Table {
    let mut table = Table::new([
        Column::text("method"),
        Column::number("clicks per view").highest(),
        Column::number("mean PageRank").highest(),
    ])
    .caption(format!(
        "Click-through rate and PageRank (1 = mean of all pages) of the first {:.0}%, chosen for clicks.",
        SHARES[corpus.judged_at] * 100.0
    ));
    for (m, name) in METHODS.iter().enumerate() {
        let [through, rank] =
            [of(runs, |run| run[0].quality[m].0), of(runs, |run| run[0].quality[m].1)];
        table.push([Cell::text(*name), cell(&through, 3), cell(&rank, 2)]);
    }
    table
}

fn omega_chart(corpus: &Corpus, runs: &[[Run; 2]]) -> Chart {
    let [low, high] = corpus.tuned_at.map(|share| 100.0 * share);
    let x = Axis::new("ω, share of real links");
    let y = Axis::new("expected share of the ideal").unit("%").from_zero();
    let mut chart = Chart::new("Tuning of RW-EG", x, y).caption(format!(
        "0.632+ bootstrap on the training frontier, mean of {low:.0}% and {high:.0}%."
    ));
    for (i, kind) in Kind::BOTH.iter().enumerate() {
        let points = OMEGAS.iter().enumerate().map(|(o, &omega)| {
            let reached = |run: &[Run; 2]| run[i].by_omega.get(o).copied().unwrap_or(f64::NAN);
            Point::new(omega, of(runs, |run| 100.0 * reached(run)).mean)
        });
        chart.push(Series::curve(format!("{} impact", kind.name()), points));
    }
    chart
}

fn calibration_table(runs: &[[Run; 2]]) -> Table {
    let mut table = Table::new([
        Column::text("test pages by score"),
        Column::number("expected").unit("clicks"),
        Column::number("low").unit("clicks"),
        Column::number("high").unit("clicks"),
        Column::number("found").unit("clicks"),
    ]);
    for group in 0..GROUPS {
        let figure = |value: fn(&Group) -> f64| {
            of(runs, |run| run[0].calibration.get(group).map_or(f64::NAN, value)).mean
        };
        table.push([
            Cell::text(["lowest fifth", "second", "third", "fourth", "highest fifth"][group]),
            Cell::number(figure(|g| g.expected), 3),
            Cell::number(figure(|g| g.low), 3),
            Cell::number(figure(|g| g.high), 3),
            Cell::number(figure(|g| g.found), 3),
        ]);
    }
    let law = |pick: fn((f64, f64)) -> f64| of(runs, |run| run[0].law.map_or(f64::NAN, pick)).mean;
    table.caption(format!(
        "RW-EG's score as expected clicks in a week: isotonic regression on the training frontier, \
         judged on the rest. Poisson regression: clicks ∝ (score above the minimum)^{:.2}, with \
         overdispersion {:.0}.",
        law(|l| l.1),
        law(|l| l.0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_run_is_sound() {
        let setup = Setup::small(1, 2, 0.08);
        for (corpus, config) in &CORPORA {
            let [clicks, views] = one_web(&setup, corpus, *config, 1).unwrap();
            for run in [&clicks, &views] {
                assert!(run.shares.iter().flatten().all(|s| (0.0..=1.0).contains(s)));
                assert!(run.residual < 1e-10);
            }
            // Known clicks beat chance even on a small web.
            let at = SHARES.len() - 1;
            assert!(clicks.shares[RW_EG][at] > clicks.shares[0][at]);
        }
        let text = run(&setup).unwrap().to_text(100);
        assert!(text.contains("rw-eg") && text.contains("Skewed web"), "{text}");
    }

    /// The same page under three paths, in whatever order: every run sees the same views.
    #[test]
    fn views_of_a_page_add_up_whatever_the_case_of_its_path() {
        let shares = [("/docs/Web", 0.5), ("/docs/web", 0.25), ("/Docs/Web", 0.125), ("/x", 1.0)];
        let shares = shares.map(|(path, share)| (path.to_owned(), share));
        let pages = by_page(shares.into());
        assert_eq!(pages, HashMap::from([("/docs/web".to_owned(), 0.875), ("/x".to_owned(), 1.0)]));
    }

    /// Runs in which RW-EG reaches `rw_eg` and everything else a half, give or take `noise`.
    fn runs(rw_eg: f64, noise: f64) -> Vec<[Run; 2]> {
        let one = |sign: f64| {
            let mut shares = vec![[0.5; SHARES.len()]; METHODS.len()];
            shares[RW_EG] = [rw_eg + sign * noise; SHARES.len()];
            let mut told = Halves::default();
            told[1][1].mean = rw_eg - 0.5 + sign * noise;
            let (quality, by_omega, calibration) = (Vec::new(), Vec::new(), Vec::new());
            let (omega, steps, residual, law) = (0.5, 1, 0.0, None);
            Run { shares, quality, omega, by_omega, steps, residual, told, calibration, law }
        };
        [-1.0, 0.0, 1.0].map(|sign| [one(sign), one(sign)]).into()
    }

    #[test]
    fn price_is_judged_by_the_best_single_order() {
        // RW-EG is ahead of price by 20 points, or by 2.
        let text = price_verdict(&runs(0.7, 0.0), 0);
        assert!(text.contains("(not within 3), against rw-eg"), "{text}");
        // Three webs differ too much to tell.
        let text = price_verdict(&runs(0.7, 0.3), 0);
        assert!(text.contains("(perhaps within 3), against rw-eg"), "{text}");
        let text = price_verdict(&runs(0.52, 0.0), 1);
        assert!(text.contains("(within 3), against rw-eg") && text.contains("view"), "{text}");
    }

    #[test]
    fn findings_follow_the_figures() {
        let text = |rw_eg, noise| {
            let runs = runs(rw_eg, noise);
            let of_corpus = |f: fn(&Corpus, &[[Run; 2]]) -> String| f(&ENCYCLOPEDIA, &runs);
            [of_corpus(verdict), of_corpus(findings), told_by_links(&runs)].join("\n")
        };
        let better = text(0.7, 0.01);
        assert_eq!(better.matches("ahead of").count(), 4, "{better}");
        assert!(
            better.contains("rw-eg at 1%") && better.contains("ml is behind rw-eg"),
            "{better}"
        );
        let worse = text(0.3, 0.01);
        assert_eq!(worse.matches("behind").count(), 4, "{worse}");
        let unclear = text(0.51, 0.2);
        assert_eq!(unclear.matches("not distinguishable from").count(), 5, "{unclear}");
    }
}
