//! Feeds logged views and clicks back to the crawl, whether they come from its own search page or
//! from an imported log.

use std::path::Path;
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Interest, Time};
use tidewatch_frontier::tape::Query;
use tidewatch_partition::{CrawlError, Heard, Partition};
use tidewatch_search::clicks::{self, Desk, Entries, Feedback, Mark, Need};
use tidewatch_search::{SearchError, Searcher};

use crate::ServiceError;

/// How often the search log is read.
const READ_EVERY: Duration = Duration::from_secs(2);
/// How often results are ranked by new clicks, which visits every page.
const RANK_EVERY: Duration = Duration::from_secs(10);
/// How often the crawl is told which queries find too little.
const NEEDS_EVERY: Duration = Duration::from_mins(10);
/// How many such queries it is told.
const NEEDS: usize = 1_000;

/// Reads a crawl's search log and tells one of its partitions.
pub(crate) struct ClickReader {
    feedback: Feedback,
    /// Ranks its results by clicks.
    searcher: Option<Searcher>,
    read_at: Instant,
    ranked_at: Instant,
    /// Whether results are ranked by the clicks that the partition knew when it was opened.
    is_ranked: bool,
    needs_told_at: Option<Instant>,
}

impl ClickReader {
    /// Starts where the partition last stopped reading the log of the crawl in `dir`.
    pub(crate) fn open(
        dir: &Path,
        crawl: &Partition,
        searcher: Option<Searcher>,
    ) -> Result<ClickReader, ServiceError> {
        let share = f64::from(crawl.config().client_percent) / 100.0;
        let mark = Mark::of_bytes(&crawl.heard()?);
        let mut known = |url: &str| crawl.store().page_of(url).ok().flatten();
        let log = Desk::log_dir(dir);
        let feedback = Feedback::open(&log, crawl.number(), mark, share, &mut known)?;
        let mut reader = Self::with(feedback, searcher);
        reader.rank(crawl.number());
        Ok(reader)
    }

    /// The same for a log that lies elsewhere.
    pub(crate) fn over(
        entries: Box<dyn Entries>,
        crawl: &Partition,
        searcher: Option<Searcher>,
    ) -> Result<ClickReader, CrawlError> {
        let share = f64::from(crawl.config().client_percent) / 100.0;
        let mark = Mark::of_bytes(&crawl.heard()?);
        Ok(Self::with(Feedback::over(entries, crawl.number(), mark, share), searcher))
    }

    fn with(feedback: Feedback, searcher: Option<Searcher>) -> ClickReader {
        let now = Instant::now();
        let (read_at, ranked_at, is_ranked, needs_told_at) = (now, now, false, None);
        ClickReader { feedback, searcher, read_at, ranked_at, is_ranked, needs_told_at }
    }

    /// Tells the partition about new views and clicks, every [`READ_EVERY`].
    pub(crate) fn turn(&mut self, crawl: &mut Partition, now: Time) -> Result<(), CrawlError> {
        if self.read_at.elapsed() < READ_EVERY {
            return Ok(());
        }
        self.read_at = Instant::now();
        let Ok(heard) = self.read(crawl, now) else { return Ok(()) };
        if !self.is_ranked && self.feedback.is_even() {
            self.rank(crawl.number());
        }
        let is_time = self.needs_told_at.is_none_or(|told| told.elapsed() >= NEEDS_EVERY);
        let needs = if is_time { self.feedback.needs(NEEDS) } else { Vec::new() };
        if heard.rows.is_empty() && needs.is_empty() {
            return Ok(());
        }
        if self.ranked_at.elapsed() >= RANK_EVERY {
            self.rank(crawl.number());
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
            self.needs_told_at = Some(Instant::now());
            let query =
                |need: Need| Query { words: need.words, count: need.count, need: need.need };
            needs.into_iter().map(query).collect()
        });
        crawl.hear(Heard { rows, queries, mark: heard.end.to_bytes().to_vec() })
    }

    /// Ranks results by the clicks known now.
    fn rank(&mut self, partition: u32) {
        if let Some(searcher) = &self.searcher {
            searcher.set_popularity(partition, self.feedback.popularity().clone());
        }
        (self.ranked_at, self.is_ranked) = (Instant::now(), true);
    }

    /// Reads new entries. A page that only the log names becomes known, as by a link.
    fn read(
        &mut self,
        crawl: &mut Partition,
        now: Time,
    ) -> Result<clicks::NewInterest, SearchError> {
        let mut known = |url: &str| {
            let url = CanonicalUrl::parse(url).ok().filter(|url| crawl.owns(url))?;
            if crawl.store().pages() < crawl.config().most_pages() {
                crawl.know(&url, now).ok()?;
            }
            crawl.store().page_of(url.as_str()).ok().flatten()
        };
        self.feedback.read(&mut known)
    }
}
