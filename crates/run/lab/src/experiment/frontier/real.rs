//! Real graphs: PageRank against an independent computation, the cost of the walks, coverage, and
//! scoped orders on real URLs. Needs the folder of web graphs (`--data`).

use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_graph::walk::{ALPHA, ImpactWalk, Stop, pagerank, pagerank_steps};
use tidewatch_graph::{Csr, Graph, bv};
use tidewatch_math::{Draws, stats};
use tidewatch_policy::Policy;
use tidewatch_policy::frontier::{
    Breadth, Classifier, FishSearch, QueryOrder, Ranked, SharkSearch, Shuffled, Topic, words,
};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Section, Series, Table};
use tidewatch_trace::Trace;

use super::coverage::{self, Run};
use super::witness::Spent;
use crate::engine;
use crate::experiment::Setup;
use crate::import::{ImportArgs, ImportError, Importer};
use crate::words::{Question, Words};
use crate::{LabError, World};

const CNR: &str = "cnr-2000";
const HOLLINS: &str = "hollins_links.txt.gz";
/// Orders that need links only: the graph has neither clicks nor words.
const BY_LINKS: [&str; 12] = [
    "frontier-random",
    "frontier-bfs",
    "indegree",
    "indegree-foreign",
    "pagerank",
    "pagerank-uniform",
    "opic",
    "rank-mass",
    "site-size",
    "spawning-rate",
    "price",
    "omniscient",
];
/// Pages fetched in the coverage run, as a share of all.
const FETCHES: f64 = 0.3;
/// One fetch per host in this time. Hosts are synthetic: five hundred neighbouring pages each.
const HOST_GAP: Span = Span::from_micros(2 * Span::MINUTE.as_micros());
/// Random seeds and pages fetched, as a share of all, in the crawls from few seeds.
const FEW_SEEDS: usize = 20;
const FEW_FETCHES: f64 = 0.02;
/// Steps timed per round, and rounds; the fastest counts.
const STEPS: u32 = 20;
const ROUNDS: u32 = 5;
/// Topics of the scoped crawls of the university's site.
const TOPICS: [&str; 3] = ["library", "dance", "career"];
/// Queries made from the words of its URLs.
const QUERIES: usize = 40;
/// Two solutions of PageRank should agree to this: a thousandth of a page's share at 10⁶ pages.
const AGREEMENT: f64 = 1e-9;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let folder = setup.data.ok_or(LabError::NeedsData {
        experiment: "graph-real",
        folder: "web_graphs, with cnr-2000.graph, cnr-2000.adj.gz and hollins_links.txt.gz",
    })?;
    (setup.say)("reading cnr-2000");
    let graph = Graph::from(read_bv(folder)?);
    let trace = import(&folder.join(format!("{CNR}.adj.gz")))?;
    let mut report = Report::new("Frontier orders on real graphs")
        .lead(
            "A crawl of the Italian CNR domain by the Laboratory for Web Algorithmics, and a crawl \
             of a university with URLs.",
        )
        .fact("cnr-2000", format!("{} pages, {} links", graph.len(), graph.out.links()))
        .fact("seed", setup.seed.to_string());
    (setup.say)("PageRank two ways");
    report = report.section("PageRank and the cost of the walks", |section| {
        walks(section, &graph, &trace);
    });
    drop(graph);
    let (covered, few) = cover(setup, trace)?;
    report = report.section("Coverage of cnr-2000 weighted by PageRank", |section| {
        let curves: Vec<(&str, Vec<&Run>)> =
            BY_LINKS.iter().zip(&covered).map(|(&name, run)| (name, vec![run])).collect();
        section
            .table(coverage_table(&covered))
            .paragraph(explain(&covered))
            .chart(coverage::chart(&curves));
    });
    report = report.section("Crawls of cnr-2000 from few random seeds", |section| {
        section.table(few_table(&few)).paragraph(explain_few(&few));
    });
    (setup.say)("scoped crawls of hollins");
    let scoped = scoped(setup, import(&folder.join(HOLLINS))?)?;
    Ok(report
        .section("Scoped and query orders on real URLs", |section| show_scoped(section, &scoped)))
}

fn read_bv(folder: &Path) -> Result<Csr, LabError> {
    let open = |ending: &str| {
        let path = folder.join(format!("{CNR}.{ending}"));
        std::fs::read(&path).map_err(|error| ImportError::io("read", &path)(error))
    };
    let properties = String::from_utf8_lossy(&open("properties")?).into_owned();
    let properties = bv::Properties::parse(&properties)?;
    Ok(bv::read(&properties, &open("graph")?, bv::Limits::default())?)
}

fn import(path: &Path) -> Result<Trace, LabError> {
    let args = ImportArgs { path: path.to_owned(), ..ImportArgs::default() };
    Ok(Importer::named("web-graph")?.run(&args)?.trace)
}

fn walks(section: &mut Section, graph: &Graph, trace: &Trace) {
    let found = pagerank(graph, ALPHA, Stop::EXACT, &[]).expect("α is a constant below 1");
    let links: Vec<(u32, u32)> = trace.links.iter().map(|l| (l.source, l.page)).collect();
    let other = crate::import::pagerank(graph.len(), &links);
    let n = graph.len() as f64;
    let apart = found.values.iter().zip(&other).map(|(a, b)| (a - b / n).abs());
    let (most, sum) = apart.fold((0.0, 0.0), |(m, s): (f64, f64), d| (m.max(d), s + d));
    let impact: Vec<f64> = (0..graph.len()).map(|i| f64::from(u8::from(i % 100 == 0))).collect();
    let walk = ImpactWalk { omega: 0.5, ..ImpactWalk::new(graph, &impact) };
    let enriched = walk.solve(Stop::EXACT, &[]).expect("impacts are 0 and 1");
    let fixed = |most_steps| Stop { tolerance: -1.0, most_steps };
    let plain = step_time(|steps| {
        pagerank_steps(graph, ALPHA, steps).expect("α is a constant below 1");
    });
    let [rw, rw_eg] = [1.0, 0.5].map(|omega| {
        step_time(|steps| {
            let walk = ImpactWalk { omega, ..walk };
            walk.solve(fixed(steps), &[]).expect("impacts are 0 and 1");
        })
    });
    let per_link = |s: f64| 1e9 * s / f64::from(STEPS) / graph.out.links() as f64;
    let mut table = Table::new([
        Column::text("walk"),
        Column::number("time a step and link").unit("ns"),
        Column::number("relative to PageRank"),
        Column::number("steps to the fixed point"),
        Column::number("last residual"),
    ])
    .caption(format!(
        "Cost of a step on one thread, without set-up: the fastest of {ROUNDS} rounds of {STEPS} steps."
    ));
    let rows = [
        ("PageRank", plain, found.steps, found.residual),
        ("RW", rw, 0, f64::NAN),
        ("RW-EG", rw_eg, enriched.steps, enriched.residual),
    ];
    for (name, time, steps, residual) in rows {
        table.push([
            Cell::text(name),
            Cell::number(per_link(time), 2),
            Cell::number(time / plain, 2),
            if steps > 0 { Cell::count(steps.into()) } else { Cell::missing() },
            if residual.is_nan() { Cell::missing() } else { Cell::text(format!("{residual:.1e}")) },
        ]);
    }
    section.table(table).paragraph(agreement(most, sum));
    let bits = bv::write(&graph.out).bits as f64 / graph.out.links() as f64;
    section.paragraph(format!(
        "A link takes {bits:.2} bits on disk (published file: 2.90, with self-loops) and {:.1} bytes \
         in memory, both directions included.",
        (graph.out.bytes() + graph.r#in.bytes()) as f64 / graph.out.links() as f64
    ));
}

/// PageRank against an independent computation that pushes along a list of links.
fn agreement(most: f64, sum: f64) -> String {
    let verdict = if most <= AGREEMENT { "within" } else { "beyond" };
    format!(
        "PageRank differs from an independent computation by at most {most:.1e} a page, {verdict} \
         the tolerance of {AGREEMENT:.0e}, and by {sum:.1e} in all."
    )
}

/// How far coverage follows from the pages found early, and which orders find less than chance.
fn explain(runs: &[Run]) -> String {
    let known: Vec<f64> = runs.iter().map(|run| run.spent.known as f64).collect();
    let areas: Vec<f64> = runs.iter().map(Run::area).collect();
    let random = &runs[0].spent;
    let is_behind = |run: &Run| run.spent.known < random.known && run.spent.hosts < random.hosts;
    let named = BY_LINKS.iter().zip(runs).filter(|(_, run)| is_behind(run));
    let behind: Vec<&str> = named.map(|(name, _)| *name).collect();
    let behind = if behind.is_empty() { "none".to_owned() } else { behind.join(", ") };
    let area = |wanted: &str| {
        let found = BY_LINKS.iter().zip(&areas).find(|(name, _)| **name == wanted);
        found.map_or(f64::NAN, |(_, area)| 100.0 * area)
    };
    let [all, foreign, chance] = ["indegree", "indegree-foreign", "frontier-random"].map(area);
    let place = |area: f64| if area < chance { "below" } else { "not below" };
    format!(
        "The rank correlation over orders of pages known at 10% with area is {:.2}. Orders that by \
         then know fewer pages on fewer hosts than frontier-random: {behind}. In-degree by all known \
         links covers {all:.1}%, {} frontier-random; by links from other hosts {foreign:.1}%, {}. The \
         web stands still, so fetching a page again shows nothing new; all hosts have the same size, so \
         the number of pages that wait on one tells how much of it was seen, not how large it is.",
        stats::spearman(&known, &areas),
        place(all),
        place(foreign),
    )
}

/// Time of [`STEPS`] steps on one thread, without set-up: the time of twice as many steps minus the
/// time of as many; the fastest round of each.
fn step_time(work: impl Fn(u32) + Sync) -> f64 {
    let time = |steps| {
        let began = Instant::now();
        work(steps);
        began.elapsed().as_secs_f64()
    };
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let measure = || {
        let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| [time(STEPS), time(2 * STEPS)]).collect();
        let [once, twice] =
            [0, 1].map(|i| rounds.iter().map(|round| round[i]).fold(f64::INFINITY, f64::min));
        twice - once
    };
    alone.map_or(f64::NAN, |pool| pool.install(measure))
}

/// A crawl from few seeds: what is covered after half and all of the fetches, as a share of the best that
/// as many fetches can cover.
struct Few {
    name: &'static str,
    covered: [f64; 2],
    spent: Spent,
}

fn cover(setup: &Setup<'_>, mut trace: Trace) -> Result<(Vec<Run>, Vec<Few>), LabError> {
    coverage::weigh_by_pagerank(&mut trace)?;
    let few = from_few_seeds(setup, trace.clone())?;
    coverage::be_polite(&mut trace, HOST_GAP);
    let world = World::new(trace)?;
    let runs = BY_LINKS.par_iter().map(|name| {
        (setup.say)(&format!("coverage of cnr-2000: {name}"));
        coverage::one(&world, name, setup.seed, FETCHES * setup.scale.min(1.0))
    });
    Ok((runs.collect::<Result<_, _>>()?, few))
}

/// Crawls from random pages that have links, without politeness.
fn from_few_seeds(setup: &Setup<'_>, mut trace: Trace) -> Result<Vec<Few>, LabError> {
    let mut linking: Vec<u32> = trace.links.iter().map(|link| link.source).collect();
    linking.sort_unstable();
    linking.dedup();
    Draws::of(setup.seed, "graph-real.seeds", 0).shuffle(&mut linking);
    trace.pages.iter_mut().for_each(|page| page.is_seed = false);
    for &page in linking.iter().take(FEW_SEEDS) {
        trace.pages[page as usize].is_seed = true;
    }
    let mut weights: Vec<f64> = trace.pages.iter().map(|page| page.weight).collect();
    weights.sort_unstable_by(|a, b| b.total_cmp(a));
    let all: f64 = weights.iter().sum();
    let fetches = FEW_FETCHES * weights.len() as f64;
    let best = |part: f64| weights.iter().take((part * fetches) as usize).sum::<f64>() / all;
    let best = [0.5, 1.0].map(best);
    let world = World::new(trace)?;
    let orders = BY_LINKS.par_iter().filter(|name| **name != "omniscient");
    let runs = orders.map(|&name| {
        (setup.say)(&format!("few seeds: {name}"));
        let run = coverage::one(&world, name, setup.seed, FEW_FETCHES)?;
        let covered = [run.at(0.5) / best[0], run.at(1.0) / best[1]];
        Ok(Few { name, covered, spent: run.spent })
    });
    runs.collect()
}

fn few_table(runs: &[Few]) -> Table {
    let mut table = Table::new([
        Column::text("order"),
        Column::number("at 1%").unit("% of ideal").highest(),
        Column::number("at 2%").unit("% of ideal").highest(),
        Column::number("known at 0.2%").unit("pages"),
        Column::number("fetched from at 0.2%").unit("hosts"),
        Column::number("seeds fetched"),
    ])
    .caption(format!(
        "{FEW_SEEDS} random seeds, no politeness. PageRank of the pages fetched, relative to that of the \
         best choice of as many of all pages, by share of the pages fetched."
    ));
    for run in runs {
        table.push([
            Cell::text(run.name),
            Cell::number(100.0 * run.covered[0], 1),
            Cell::number(100.0 * run.covered[1], 1),
            Cell::count(run.spent.known as u64),
            Cell::count(run.spent.hosts as u64),
            Cell::count(run.spent.seeds_fetched as u64),
        ]);
    }
    table
}

/// Which orders find less than chance, and whether the place where a walk begins, and a site's own links,
/// are the reason.
fn explain_few(runs: &[Few]) -> String {
    let of = |name: &str| runs.iter().find(|run| run.name == name);
    let at = |name: &str| of(name).map_or(f64::NAN, |run| 100.0 * run.covered[1]);
    let chance = at("frontier-random");
    let below = runs.iter().filter(|run| 100.0 * run.covered[1] < chance);
    let below: Vec<String> = below
        .map(|run| {
            let Spent { hosts, seeds_fetched, seeds, .. } = run.spent;
            format!("{} ({hosts} hosts, {seeds_fetched} of {seeds} seeds)", run.name)
        })
        .collect();
    let below = if below.is_empty() { "none".to_owned() } else { below.join(", ") };
    let side = |name: &str| {
        let place = if at(name) < chance { "below" } else { "above" };
        format!("{:.1}%, {place} chance", at(name))
    };
    format!(
        "Orders below frontier-random ({chance:.1}%) at 2%, with the hosts they had fetched from at 0.2% \
         and the seeds they ever fetched: {below}. PageRank whose walk begins at every known page \
         reaches {}; the same with a walk that begins at the seeds {}. In-degree by all known links \
         reaches {}, by links from other hosts {}.",
        side("pagerank-uniform"),
        side("pagerank"),
        side("indegree"),
        side("indegree-foreign"),
    )
}

fn coverage_table(runs: &[Run]) -> Table {
    let mut table = Table::new([
        Column::text("order"),
        Column::number("at 10%").unit("% of weight").highest(),
        Column::number("at 50%").unit("% of weight").highest(),
        Column::number("at the end").unit("% of weight").highest(),
        Column::number("area").unit("%").highest(),
        Column::number("known at 10%").unit("pages"),
        Column::number("fetched from at 10%").unit("hosts"),
        Column::number("fetched again").unit("% of choices"),
        Column::number("idle").unit("% of choices"),
        Column::number("time").unit("s"),
    ])
    .caption("Seeds are pages without inlinks; 30% of all pages fetched; one fetch per host in two minutes.");
    for (name, run) in BY_LINKS.iter().zip(runs) {
        let spent = run.spent;
        let share = |part: usize| {
            100.0 * part as f64 / (spent.first + spent.again + spent.idle).max(1) as f64
        };
        table.push([
            Cell::text(*name),
            Cell::number(100.0 * run.at(0.1), 1),
            Cell::number(100.0 * run.at(0.5), 1),
            Cell::number(100.0 * run.at(1.0), 1),
            Cell::number(100.0 * run.area(), 1),
            Cell::count(spent.known as u64),
            Cell::count(spent.hosts as u64),
            Cell::number(share(spent.again), 1),
            Cell::number(share(spent.idle), 1),
            Cell::number(run.wall_s, 1),
        ]);
    }
    table
}

/// On-topic pages found, by fetches made.
struct Scoped {
    order: &'static str,
    topic: &'static str,
    /// Share of on-topic pages found after a quarter, a half and all of the fetches.
    found: [f64; 3],
    curve: Vec<(f64, f64)>,
}

type Make = fn(&str, u64) -> Box<dyn Policy>;

const SCOPED: [(&str, Make); 7] = [
    ("random", |_, seed| Box::new(Ranked::new(Shuffled(seed), seed))),
    ("breadth first", |_, seed| Box::new(Ranked::new(Breadth, seed))),
    ("fish-search", |topic, seed| Box::new(Ranked::new(FishSearch::new(Topic::of(topic)), seed))),
    ("shark-search", |topic, seed| Box::new(Ranked::new(SharkSearch::new(Topic::of(topic)), seed))),
    ("classifier", |topic, seed| {
        Box::new(Ranked::new(Classifier::new(Some(Topic::of(topic))), seed))
    }),
    ("q-overlap", |_, seed| Box::new(Ranked::new(QueryOrder::overlap(), seed))),
    ("q-hybrid", |_, seed| Box::new(Ranked::new(QueryOrder::hybrid(), seed))),
];

/// Fetches half of the pages. For scoped orders a page counts if its URL contains the topic's word,
/// for query orders if it contains all words of a query.
fn scoped(setup: &Setup<'_>, mut trace: Trace) -> Result<Vec<Scoped>, LabError> {
    let asked = questions(&trace);
    let mut jobs = Vec::new();
    for topic in TOPICS.iter().copied().chain(["queries"]) {
        for (order, make) in SCOPED {
            let by_query = order.starts_with("q-");
            let baseline = ["random", "breadth first"].contains(&order);
            if baseline || by_query == (topic == "queries") {
                jobs.push((topic, order, make));
            }
        }
    }
    let clean = trace.pages.iter().map(|page| page.url.clone()).collect::<Vec<_>>();
    let mut all = Vec::new();
    for (topic, order, make) in jobs {
        let wanted: Vec<bool> = clean.iter().map(|url| is_wanted(url, topic, &asked)).collect();
        for (page, is_wanted) in trace.pages.iter_mut().zip(&wanted) {
            page.weight = f64::from(u8::from(*is_wanted));
        }
        let words = Words { questions: asked.clone(), anchors: Vec::new() };
        let world = World::new(trace.clone())?.with_words(words);
        let settings = coverage::from_nothing(&world, 0.5);
        let measures = engine::run(&world, make(topic, setup.seed).as_mut(), &settings)?;
        let run = coverage::judge(&world, &measures);
        let curve = (1..=20).map(|i| f64::from(i) / 20.0);
        all.push(Scoped {
            order,
            topic,
            found: [0.25, 0.5, 1.0].map(|moment| run.at(moment)),
            curve: curve.map(|t| (50.0 * t, 100.0 * run.at(t))).collect(),
        });
    }
    Ok(all)
}

fn is_wanted(url: &str, topic: &str, asked: &[Question]) -> bool {
    let of_page: Vec<u64> = words(url.splitn(4, '/').nth(3).unwrap_or_default()).collect();
    let has = |text: &str| {
        words(text).next().is_some() && words(text).all(|word| of_page.contains(&word))
    };
    if topic == "queries" { asked.iter().any(|q| has(&q.words)) } else { has(topic) }
}

/// Queries for a site without a log: frequent words of its URLs, except the most common ones. A
/// query's count is the number of links to pages with its word.
fn questions(trace: &Trace) -> Vec<Question> {
    let mut links_to = vec![0_u32; trace.pages.len()];
    trace.links.iter().for_each(|l| links_to[l.page as usize] += 1);
    let mut counts: std::collections::BTreeMap<String, (u32, f64)> =
        std::collections::BTreeMap::new();
    for (page, &links) in trace.pages.iter().zip(&links_to) {
        let path = page.url.splitn(4, '/').nth(3).unwrap_or_default().to_lowercase();
        let mut of_page: Vec<&str> = path.split(|c: char| !c.is_ascii_alphabetic()).collect();
        of_page.retain(|word| word.len() > 4 && words(word).next().is_some());
        of_page.sort_unstable();
        of_page.dedup();
        for word in of_page {
            let entry = counts.entry(word.to_owned()).or_default();
            *entry = (entry.0 + 1, entry.1 + f64::from(links));
        }
    }
    // Words in more than 5% of the pages do not discriminate; rare words are not queried.
    let common = trace.pages.len() as u32 / 20;
    let mut words: Vec<(String, f64)> = counts
        .into_iter()
        .filter(|(_, (pages, _))| (8..common).contains(pages))
        .map(|(word, (_, links))| (word, links))
        .collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.truncate(QUERIES);
    words.into_iter().map(|(words, count)| Question { words, count, need: 1.0 }).collect()
}

fn show_scoped(section: &mut Section, all: &[Scoped]) {
    let mut table = Table::new([
        Column::text("topic"),
        Column::text("order"),
        Column::number("at 12.5%").unit("% of relevant pages"),
        Column::number("at 25%").unit("% of relevant pages"),
        Column::number("at 50%").unit("% of relevant pages"),
    ])
    .caption(
        "Relevant pages found by the time that the given share of all pages was fetched. A page is \
         relevant if its URL contains the topic's word or all words of a query.",
    );
    for run in all {
        let mut cells = vec![Cell::text(run.topic), Cell::text(run.order)];
        cells.extend(run.found.map(|found| Cell::number(100.0 * found, 1)));
        table.push(cells);
    }
    section.table(table);
    let x = Axis::new("fetched").unit("% of all pages").from_zero();
    let y = Axis::new("found").unit("% of the topic").from_zero();
    let mut chart = Chart::new(format!("Pages about '{}'", TOPICS[0]), x, y);
    for run in all.iter().filter(|run| run.topic == TOPICS[0]) {
        chart.push(Series::line(run.order, run.curve.clone()));
    }
    section.chart(chart);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_follow_the_figures() {
        assert!(agreement(1e-12, 1e-9).contains("within"));
        assert!(agreement(1e-8, 1e-6).contains("beyond"));
        let run = |known: usize| {
            let spent = Spent { known, hosts: known, ..Default::default() };
            Run { curve: vec![known as f64; 60], clicks: None, spent, wall_s: 0.0 }
        };
        let text = explain(&[run(5), run(9), run(2), run(7)]);
        assert!(text.contains("area is 1.00") && text.contains("random: indegree."), "{text}");
        assert!(text.contains("covers 200.0%, below") && text.contains("700.0%, not below"));
        assert!(explain(&[run(5), run(9)]).contains("random: none."));
    }

    #[test]
    fn what_few_seeds_show_follows_the_figures() {
        let few = |name, covered: f64| {
            let spent = Spent { hosts: 3, seeds: 20, seeds_fetched: 2, ..Spent::default() };
            Few { name, covered: [covered; 2], spent }
        };
        let runs = |uniform: f64| {
            [
                few("frontier-random", 0.5),
                few("indegree", 0.4),
                few("indegree-foreign", 0.6),
                few("pagerank", 0.7),
                few("pagerank-uniform", uniform),
            ]
        };
        let text = explain_few(&runs(0.2));
        assert!(text.contains("pagerank-uniform (3 hosts, 2 of 20 seeds)"), "{text}");
        assert!(text.contains("every known page reaches 20.0%, below chance"), "{text}");
        assert!(text.contains("begins at the seeds 70.0%, above chance"), "{text}");
        assert!(
            text.contains("links reaches 40.0%, below chance, by links from other hosts 60.0%")
        );
        let text = explain_few(&runs(0.8));
        assert!(text.contains("every known page reaches 80.0%, above chance"), "{text}");
        assert!(text.contains("seeds they ever fetched: indegree (3"), "{text}");
    }
}
