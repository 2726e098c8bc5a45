//! Simulated people who search the crawl's own index.
//!
//! For every click in the web's trace, somebody searches at that time for a few words of the page's
//! title and clicks the page if it is among the first results. A page that the crawl has not fetched
//! cannot be found or clicked: what the crawl learns depends on what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tidewatch_core::PageKey;
use tidewatch_lab::World;
use tidewatch_math::rng::Draws;
use tidewatch_search::clicks::Desk;
use tidewatch_search::{PageRef, Query, SearchError, Searcher};
use tidewatch_web::{Accelerated, Site, WebClock as _};

/// Results that a person reads.
const LOOKED_AT: usize = 10;
/// Words of a title in a query.
const WORDS: usize = 3;
/// Enough people that no one's clicks weigh much.
const PEOPLE: u64 = 5_000;
/// Most clicks made for one row of the trace.
const MOST_AT_ONCE: u64 = 20;
/// Pause between two looks at the clock.
const PAUSE: Duration = Duration::from_millis(20);

/// What they did.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Searches.
    pub(super) asked: AtomicU64,
    /// Searches that showed the page wanted, which was then clicked.
    pub(super) clicked: AtomicU64,
}

/// The thread in which they search; dropping it ends it.
pub(super) struct Searchers {
    pub(super) done: Arc<Done>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Searchers {
    pub(super) fn begin(
        world: Arc<World>,
        site: Arc<Site>,
        clock: Accelerated,
        searcher: Searcher,
        desk: Arc<Desk>,
        seed: u64,
    ) -> Result<Searchers> {
        let (done, stop) = (Arc::new(Done::default()), Arc::new(AtomicBool::new(false)));
        let crowd = Crowd {
            world,
            site,
            searcher,
            desk,
            draws: Draws::of(seed, "demo.searchers", 0),
            rows: 0,
            done: Arc::clone(&done),
        };
        let flag = Arc::clone(&stop);
        let run = move || crowd.run(clock, &flag);
        let thread = std::thread::Builder::new().name("searchers".into()).spawn(run);
        Ok(Searchers { done, stop, thread: Some(thread.context("cannot start the searchers")?) })
    }
}

impl Drop for Searchers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whatever went wrong there, the demo's figures stand.
            let _ = thread.join();
        }
    }
}

struct Crowd {
    world: Arc<World>,
    site: Arc<Site>,
    searcher: Searcher,
    desk: Arc<Desk>,
    draws: Draws,
    /// Rows of the trace's clicks that are over.
    rows: usize,
    done: Arc<Done>,
}

impl Crowd {
    fn run(mut self, clock: Accelerated, stop: &AtomicBool) {
        let world = Arc::clone(&self.world);
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            let due: Vec<(u32, f64)> = world
                .clicks_by_time(self.rows)
                .take_while(|row| row.at <= now)
                .map(|row| (row.page, row.count))
                .collect();
            self.rows += due.len();
            for (page, count) in due {
                if self.want(page, count).is_err() || stop.load(Ordering::Relaxed) {
                    return;
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// `count` people want a page; a fraction of one is a chance.
    fn want(&mut self, page: u32, count: f64) -> Result<(), SearchError> {
        let people = count.floor() as u64 + u64::from(self.draws.uniform() < count.fract());
        let title = self.site.title(page);
        for _ in 0..people.min(MOST_AT_ONCE) {
            let client = self.draws.below(PEOPLE);
            self.search(&title, page, client)?;
        }
        Ok(())
    }

    fn search(&mut self, title: &str, wanted: u32, client: u64) -> Result<(), SearchError> {
        let words: Vec<&str> = title.split(' ').collect();
        let first = self.draws.below(words.len().saturating_sub(WORDS - 1).max(1) as u64) as usize;
        let query = words[first..(first + WORDS).min(words.len())].join(" ");
        let now_ms = now_ms();
        let found = self.searcher.search(&Query::read(&query), 0, LOOKED_AT, now_ms / 1_000)?;
        let pages: Vec<PageRef> = found.hits.iter().map(|hit| hit.page).collect();
        let links = self.desk.show(&query, 1, &pages, client, now_ms)?;
        self.done.asked.fetch_add(1, Ordering::Relaxed);
        let is_wanted = |url: &str| self.world.page_of(PageKey::of(url)) == Some(wanted);
        let place = found.hits.iter().position(|hit| is_wanted(&hit.url));
        if let Some(link) = place.and_then(|place| links.get(place)) {
            let clicked = self.desk.click(link, client, now_ms)?;
            self.done.clicked.fetch_add(u64::from(clicked.is_ok()), Ordering::Relaxed);
        }
        Ok(())
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
