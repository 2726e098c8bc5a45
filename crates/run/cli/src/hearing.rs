//! What searchers did comes back to the crawl: from its own search page, or from a log that was
//! imported. Heard whether the crawl listens to anybody or not.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Interest, Time};
use tidewatch_frontier::tape::Query;
use tidewatch_partition::{Config, Crawl, CrawlError, Heard};
use tidewatch_search::clicks::{self, Desk, Feedback, Mark, Need};
use tidewatch_search::{SearchError, Searcher};

/// How often the search log is read.
const HEAR_EVERY: Duration = Duration::from_secs(2);
/// How often results are ranked by new clicks, which costs a look at every page.
const RANK_EVERY: Duration = Duration::from_secs(10);
/// How often queries in need are told anew.
const NEEDS_EVERY: Duration = Duration::from_mins(10);
/// Queries in need that are told.
const NEEDS: usize = 1_000;

/// Reads a crawl's search log and tells the crawl.
pub(crate) struct Hearing {
    feedback: Feedback,
    /// Who ranks by clicks.
    searcher: Option<Searcher>,
    heard: Instant,
    ranked: Instant,
    told_needs: Option<Instant>,
    /// Pages that the crawl may know.
    most_pages: u32,
}

impl Hearing {
    /// From where the crawl has heard up to.
    pub(crate) fn open(
        dir: &Path,
        config: &Config,
        crawl: &Crawl,
        searcher: Option<Searcher>,
    ) -> Result<Hearing> {
        let share = f64::from(config.client_percent) / 100.0;
        let mark = Mark::of_bytes(&crawl.heard()?);
        let mut known = |url: &str| crawl.store().page_of(url).ok().flatten();
        let feedback = Feedback::open(&Desk::log_dir(dir), mark, share, &mut known)?;
        if let Some(searcher) = &searcher {
            searcher.set_popularity(feedback.popularity().clone());
        }
        let (now, most_pages) = (Instant::now(), config.most_pages());
        Ok(Hearing { feedback, searcher, heard: now, ranked: now, told_needs: None, most_pages })
    }

    /// Tells the crawl what searchers did since the last time.
    pub(crate) fn turn(&mut self, crawl: &mut Crawl, now: Time) -> Result<(), CrawlError> {
        if self.heard.elapsed() < HEAR_EVERY {
            return Ok(());
        }
        self.heard = Instant::now();
        let Ok(heard) = self.read(crawl, now) else { return Ok(()) };
        let is_time = self.told_needs.is_none_or(|told| told.elapsed() >= NEEDS_EVERY);
        let needs = if is_time { self.feedback.needs(NEEDS) } else { Vec::new() };
        if heard.rows.is_empty() && needs.is_empty() {
            return Ok(());
        }
        if let Some(searcher) = &self.searcher
            && self.ranked.elapsed() >= RANK_EVERY
        {
            searcher.set_popularity(self.feedback.popularity().clone());
            self.ranked = Instant::now();
        }
        let pages = crawl.store().pages();
        let rows = heard.rows.iter().filter(|row| row.page.0 < pages).map(|row| Interest {
            page: row.page,
            at: crawl.time(row.unix_micros),
            count: row.count,
            kind: row.kind,
        });
        let rows = rows.collect();
        let queries = (!needs.is_empty()).then(|| {
            self.told_needs = Some(Instant::now());
            let query =
                |need: Need| Query { words: need.words, count: need.count, need: need.need };
            needs.into_iter().map(query).collect()
        });
        crawl.hear(Heard { rows, queries, mark: heard.end.to_bytes().to_vec() })
    }

    /// Reads the log on. Pages that only the log knows become known, as a link to them would do.
    fn read(&mut self, crawl: &mut Crawl, now: Time) -> Result<clicks::Heard, SearchError> {
        let mut known = |url: &str| {
            let url = CanonicalUrl::parse(url).ok()?;
            if crawl.store().pages() < self.most_pages {
                crawl.know(&url, now).ok()?;
            }
            crawl.store().page_of(url.as_str()).ok().flatten()
        };
        self.feedback.read(&mut known)
    }
}
