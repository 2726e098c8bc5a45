//! The memory of frontier and policy stays within what the settings declare.
//!
//! In full: `TIDEWATCH_PAGES=4194305 cargo test --release -p tidewatch-partition --test it memory --
//! --nocapture`.

use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, LinkSeen, Observation, Outcome, PageId, PageKey,
    Rate, Span, Time,
};
use tidewatch_frontier::{Frontier, HostMemo, Limits, Next, Politeness};
use tidewatch_partition::Config;
use tidewatch_policy::{Setup, registry};
use tidewatch_testing::living::size;
use tidewatch_testing::memory::extra_kib;

const TEST: &str = "memory::the_memory_of_a_page_is_within_its_declared_cap";
const PAGES_A_HOST: u32 = 1_000;
/// Links of a page.
const LINKS: u32 = 30;

fn learn_pages(frontier: &mut Frontier<'_>, pages: u32) {
    for number in 0..pages {
        if number % PAGES_A_HOST == 0 {
            frontier.add_host(HostMemo::default());
        }
        let url = format!("http://host{}.example/section/{number}", number / PAGES_A_HOST);
        frontier.learn(&Event::Discovered(Discovery {
            page: PageId(number),
            host: HostId(number / PAGES_A_HOST),
            key: PageKey::of(&url),
            url: &url,
            at: Time::ZERO,
            via: number.checked_sub(1).map(PageId),
            is_source: number % PAGES_A_HOST == 0,
            is_held: false,
            weight: 1.0,
        }));
    }
}

/// Tells of a visit to every page.
fn fetch_all(frontier: &mut Frontier<'_>, pages: u32, previous: Option<Time>, at: Time) {
    for page in 0..pages {
        let sketch: Vec<u64> = (0..8).map(|item| u64::from(page) << 32 | item).collect();
        let to = |link: u32| PageId((page.wrapping_mul(2_654_435_761) ^ (link * 7_919)) % pages);
        let links: Vec<LinkSeen> =
            (0..LINKS).map(|link| LinkSeen { page: to(link), is_new: false }).collect();
        let anchors = vec!["a page"; links.len()];
        let (links, anchors) = (links.as_slice(), anchors.as_slice());
        let changed = previous.map(|_| page % 3 == 0);
        let content = Content { changed, last_modified: None, sketch: &sketch, links, anchors };
        let kind = if previous.is_some() { FetchKind::Refresh } else { FetchKind::Frontier };
        let (page, outcome) = (PageId(page), Outcome::Fetched(content));
        frontier.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }
}

#[test]
fn the_memory_of_a_page_is_within_its_declared_cap() {
    // One more than a power of two: a vector that has just doubled is the worst case.
    let pages = size("TIDEWATCH_PAGES", (1 << 16) + 1) as u32;
    let policy = || (registry::find("price").unwrap().make)(Setup::seeded(1));
    let budget = Rate::per_second(1_000.0).unwrap();
    let mut over = Vec::new();
    for visits in [0, 1, 2] {
        let name = format!("{visits} visits");
        let work = |()| {
            let (rules, limits) = (Politeness::CRAWL_DELAY_ONLY, Limits::NONE);
            let mut frontier = Frontier::new(policy(), rules, limits, budget, Time::ZERO);
            learn_pages(&mut frontier, pages);
            let mut last = None;
            for visit in 1..=visits {
                let at = Time::ZERO + Span::HOUR.times(visit);
                fetch_all(&mut frontier, pages, last, at);
                last = Some(at);
            }
            let now = Time::ZERO + Span::DAY;
            let asked = (0..1_000).filter(|_| matches!(frontier.next(now), Next::Do(_))).count();
            assert!(asked > 0 || visits > 0);
        };
        let Some(kib) = extra_kib(TEST, &name, || (), work) else { continue };
        let config = Config::default();
        let declared = (config.pages_mb << 20) as f64 / f64::from(config.most_pages());
        let measured = (kib << 10) as f64 / f64::from(pages);
        eprintln!("{name}: {measured:.0} bytes a page, {declared:.0} declared");
        if measured > declared {
            over.push(format!("{name}: {measured:.0} bytes a page, {declared:.0} declared"));
        }
    }
    assert!(over.is_empty(), "{over:?}");
}
