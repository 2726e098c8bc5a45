//! Real graphs: PageRank against an independent computation, the cost of the walks, coverage, and
//! scoped orders on real URLs. Needs the folder of web graphs (`--data`).

use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_graph::walk::{ALPHA, ImpactWalk, Stop, pagerank, pagerank_steps};
use tidewatch_graph::{Csr, Graph, bv};
use tidewatch_math::stats;
use tidewatch_policy::Policy;
use tidewatch_policy::frontier::{
    Breadth, Classifier, FishSearch, QueryOrder, Ranked, SharkSearch, Shuffled, Topic, words,
};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Section, Series, Table};
use tidewatch_trace::Trace;

use super::coverage::{self, Run};
use crate::engine;
use crate::experiment::Setup;
use crate::import::{ImportArgs, ImportError, Importer};
use crate::words::{Question, Words};
use crate::{LabError, World};

const CNR: &str = "cnr-2000";
const HOLLINS: &str = "hollins_links.txt.gz";
/// Orders that need links only: the graph has neither clicks nor words.
const BY_LINKS: [&str; 9] = [
    "frontier-random",
    "frontier-bfs",
    "indegree",
    "pagerank",
    "opic",
    "rank-mass",
    "site-size",
    "spawning-rate",
    "omniscient",
];
/// Pages fetched in the coverage run, as a share of all.
const FETCHES: f64 = 0.3;
/// One fetch per host in this time. Hosts are synthetic: five hundred neighbouring pages each.
const HOST_GAP: Span = Span::from_micros(2 * Span::MINUTE.as_micros());
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
    let covered = cover(setup, trace)?;
    report = report.section("Coverage of cnr-2000 weighted by PageRank", |section| {
        let curves: Vec<(&str, Vec<&Run>)> =
            BY_LINKS.iter().zip(&covered).map(|(&name, run)| (name, vec![run])).collect();
        section
            .table(coverage_table(&covered))
            .paragraph(explain(&covered))
            .chart(coverage::chart(&curves));
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
    format!(
        "The rank correlation over orders of pages known at 10% with area is {:.2}. Orders that by \
         then know fewer pages on fewer hosts than frontier-random: {behind}. The web stands still, \
         so fetching a page again shows nothing new; all hosts have the same size.",
        stats::spearman(&known, &areas)
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

fn cover(setup: &Setup<'_>, mut trace: Trace) -> Result<Vec<Run>, LabError> {
    coverage::weigh_by_pagerank(&mut trace)?;
    coverage::be_polite(&mut trace, HOST_GAP);
    let world = World::new(trace)?;
    let runs = BY_LINKS.par_iter().map(|name| {
        (setup.say)(&format!("coverage of cnr-2000: {name}"));
        coverage::one(&world, name, setup.seed, FETCHES * setup.scale.min(1.0))
    });
    runs.collect()
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
            let spent = super::super::witness::Spent { known, hosts: known, ..Default::default() };
            Run { curve: vec![known as f64; 60], clicks: None, spent, wall_s: 0.0 }
        };
        let text = explain(&[run(5), run(9), run(2), run(7)]);
        assert!(text.contains("area is 1.00") && text.contains("random: indegree."), "{text}");
        assert!(explain(&[run(5), run(9)]).contains("random: none."));
    }
}
