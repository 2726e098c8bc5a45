//! Row order and ids tell policies nothing; a declared position does.

use std::sync::{Arc, Mutex};

use tidewatch_core::{Event, Outcome, PageId, Rate, Time};
use tidewatch_lab::engine::run;
use tidewatch_lab::generate::{echo, graph};
use tidewatch_lab::{Measures, Settings, Start, World, policies};
use tidewatch_math::Draws;
use tidewatch_policy::{Choice, Gate, Policy};
use tidewatch_trace::{Trace, TraceLink, TracePage};

use crate::worlds::{at, page, trace};

/// Sums over pages in another order differ by a few roundings.
const ROUNDING: f64 = 1e-9;

/// The same web with its pages, and so all tables, in a random order and under other ids.
fn shuffled(trace: &Trace, seed: u64) -> Trace {
    let mut order: Vec<u32> = (0..trace.pages.len() as u32).collect();
    let draws = Draws::of(seed, "lab.test.order", 0);
    order.sort_by_key(|&page| draws.at(u64::from(page)));
    let mut place = vec![0; order.len()];
    (0..).zip(&order).for_each(|(new, &old): (u32, &u32)| place[old as usize] = new);
    let moved = |page: &mut u32| *page = place[*page as usize];
    let mut trace = trace.clone();
    let pages = order
        .iter()
        .zip(0..)
        .map(|(&old, id)| TracePage { id, ..trace.pages[old as usize].clone() });
    trace.pages = pages.collect();
    trace.links.iter_mut().for_each(|link| {
        moved(&mut link.source);
        moved(&mut link.page);
    });
    trace.clicks.iter_mut().flatten().for_each(|row| moved(&mut row.page));
    trace.views.iter_mut().flatten().for_each(|row| moved(&mut row.page));
    trace.changes.iter_mut().flatten().for_each(|row| moved(&mut row.page));
    trace.arrange();
    trace.check().unwrap();
    trace
}

fn measures(trace: Trace, policy: &str, start: Start) -> Measures {
    let world = World::new(trace).unwrap();
    let budget = world.len() as f64 / world.trace().duration.seconds();
    let settings = Settings { start, ..Settings::new(Rate::per_second(budget).unwrap()) };
    let mut made = policies::own(policy, 1).unwrap();
    run(&world, made.as_mut(), &settings).unwrap()
}

fn assert_same(policy: &str, one: &Measures, other: &Measures) {
    assert_eq!((one.fetches, one.idle), (other.fetches, other.idle), "{policy}");
    for measure in
        [|m: &Measures| m.profit_per_s, |m: &Measures| m.coverage, |m: &Measures| m.freshness]
    {
        match (measure(one), measure(other)) {
            (Some(one), Some(other)) => {
                assert!((one - other).abs() <= ROUNDING * one.abs(), "{policy}: {one} {other}");
            }
            (one, other) => assert_eq!(one, other, "{policy}"),
        }
    }
}

#[test]
fn shuffled_rows_give_the_same_results() {
    let config = echo::EchoConfig { scale: 0.002, ..Default::default() };
    let news = echo::generate(&config, 3).trace;
    let mut unordered = news.clone();
    unordered.links.iter_mut().for_each(|link| link.position = None);
    let config = graph::Config { scale: 0.002, ..graph::Config::web_crawl() };
    let web = graph::generate(&config, 3).trace;
    for (web, start) in [(news, Start::Warm), (unordered, Start::Warm), (web, Start::Cold)] {
        for policy in
            ["price", "echo-newpages", "cgm", "indegree", "frontier-bfs", "bfs", "uniform"]
        {
            let plain = measures(web.clone(), policy, start);
            assert!(plain.fetches.iter().sum::<u64>() > 50, "{policy}: {:?}", plain.fetches);
            assert_same(policy, &plain, &measures(shuffled(&web, 1), policy, start));
        }
    }
}

/// Fetches the first page once and keeps the URLs that it shows, from top to bottom.
struct Reader {
    urls: Vec<String>,
    shown: Arc<Mutex<Vec<String>>>,
    source: Option<PageId>,
}

impl Policy for Reader {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.urls.push(found.url.to_owned());
                self.source = self.source.or(found.is_source.then_some(found.page));
            }
            Event::Fetched(seen) => {
                let Outcome::Fetched(content) = seen.outcome else { return };
                let urls = content.links.iter().map(|link| self.urls[link.page.index()].clone());
                *self.shown.lock().unwrap() = urls.collect();
            }
            _ => {}
        }
    }

    fn choose(&mut self, _: Time, _: &dyn Gate) -> Choice {
        self.source.take().map_or(Choice::Idle, Choice::Fetch)
    }
}

/// The links of a source as a crawler sees them, as the numbers of pages.
fn shown(positions: [Option<u32>; 4]) -> Vec<String> {
    let pages = (0..5).map(|id| TracePage { is_source: id == 0, ..page(id, 0.0) }).collect();
    let link = |(page, position): (u32, Option<u32>)| TraceLink {
        source: 0,
        page,
        appears: at(f64::from(page) / 100.0),
        disappears: None,
        position,
    };
    let trace = Trace { links: (1..).zip(positions).map(link).collect(), ..trace(100, pages) };
    let shown = Arc::new(Mutex::new(Vec::new()));
    let mut reader = Reader { urls: Vec::new(), shown: Arc::clone(&shown), source: None };
    let settings = Settings::new(Rate::per_second(1.0).unwrap());
    run(&World::new(trace).unwrap(), &mut reader, &settings).unwrap();
    let urls = shown.lock().unwrap().clone();
    urls.iter().map(|url| url.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn links_are_shown_by_position_and_the_latest_first_among_equals() {
    assert_eq!(shown([Some(2), Some(0), Some(1), Some(0)]), ["4", "2", "3", "1"]);
    // Without a position the order is that of hashes, whichever came first.
    let (hashed, again) = (shown([None; 4]), shown([None; 4]));
    assert_eq!(hashed, again);
    assert_eq!(shown([None, Some(9), None, None])[0], "2");
}
