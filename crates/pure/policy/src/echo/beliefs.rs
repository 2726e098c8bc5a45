//! What is believed of sources, from visits to them and the search log: shared by every policy that
//! watches sources.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Interest, LinkSeen, PageId, Span, Time};

use super::arrivals::{Arrivals, Pace};
use super::clicks::Ledger;
use super::curve::ProfitCurve;
use super::profit::{Assumed, HORIZON, Pooling, Profits};

/// Which links count as new when λ is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counting {
    /// Links to pages that nobody knew before: what a visit adds. Sources that repeat one another
    /// share their links, and Σλᵢ is the rate at which pages are really found.
    Discoveries,
    /// Links that this source had not shown before, known from elsewhere or not.
    Links,
}

/// Assumed age of a page that is found after a long time: lists show the latest links, and half of all
/// links leave a list within some six hours (`[DEN22]`: 4.6 on front pages, 26 on sections).
const USUAL_AGE: Span = Span::HOUR.times(3);

/// Shortest time between two updates from the log. An update touches everything, and a live crawl reads
/// the log every other second.
const REFIT_EVERY: Span = Span::MINUTE.times(10);

/// Profits, arrivals and the clicks behind them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Beliefs {
    counting: Counting,
    logs_all: bool,
    sources: Vec<Source>,
    profits: Profits,
    arrivals: Arrivals,
    /// Clicks on new pages.
    pub ledger: Ledger,
    /// When beliefs were last updated from the log.
    refitted: Option<Time>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Source {
    /// Last visit, good or not.
    last: Option<Time>,
    /// What it showed at the last good visit, sorted.
    shown: Vec<PageId>,
}

impl Beliefs {
    /// No sources yet. For the settings see [`super::Settings`].
    pub fn new(memory: usize, pace: Pace, counting: Counting, pooling: Pooling) -> Self {
        Beliefs {
            counting,
            logs_all: false,
            sources: Vec::new(),
            profits: Profits::new(pooling, Assumed::PESSIMISTIC),
            arrivals: Arrivals::new(memory, pace),
            ledger: Ledger::new(HORIZON),
            refitted: None,
        }
    }

    /// The same, with another assumption about sources never seen.
    pub fn assuming(self, assumed: Assumed) -> Self {
        Beliefs { profits: Profits::new(self.profits.pooling(), assumed), ..self }
    }

    /// The same; `logs_all` says whether the log also has the clicks of pages never fetched.
    pub fn with_log_of_all(self, logs_all: bool) -> Self {
        Beliefs { logs_all, ..self }
    }

    /// Adds the next source, on a host.
    pub fn add_source(&mut self, host: u32) {
        self.sources.push(Source::default());
        self.profits.add_source(host);
        self.arrivals.add_source(host);
    }

    /// A source revealed a page. Returns its likely birth, some time after the last visit; `None` on a
    /// first visit, which shows old pages.
    pub fn found(&mut self, source: usize, page: PageId, at: Time) -> Option<Time> {
        let before = self.sources[source].last?;
        let half = Span::from_micros(at.since(before).as_micros() / 2);
        let born = at - half.min(USUAL_AGE);
        self.ledger.expect(page, born);
        if self.logs_all {
            self.ledger.open(page, born);
        }
        Some(born)
    }

    /// The last visit to a source, good or not.
    pub fn last(&self, source: usize) -> Option<Time> {
        self.sources[source].last
    }

    /// A visit to a source ended; `links` is `None` if it failed.
    pub fn visited(&mut self, source: usize, at: Time, links: Option<&[LinkSeen]>) {
        let is_first = self.sources[source].last.is_none();
        self.sources[source].last = Some(at);
        if let Some(links) = links {
            self.note_links(source, at, links, is_first);
        }
    }

    /// Counts the new links of a visit. A first visit has none: its links are old.
    fn note_links(&mut self, source: usize, at: Time, links: &[LinkSeen], is_first: bool) {
        let mut shown = std::mem::take(&mut self.sources[source].shown);
        let mut found = 0;
        for link in links.iter().filter(|_| !is_first) {
            let is_here_new = shown.binary_search(&link.page).is_err()
                && self.ledger.follows(link.page)
                && !self.profits.has(source, link.page);
            if is_here_new {
                self.profits.add_page(source, link.page, link.is_new);
            }
            found += u32::from(match self.counting {
                Counting::Discoveries => link.is_new,
                Counting::Links => is_here_new,
            });
        }
        self.arrivals.visit(source, at, found);
        shown.clear();
        shown.extend(links.iter().map(|link| link.page));
        shown.sort_unstable();
        self.sources[source].shown = shown;
    }

    /// Takes in a part of the log that is complete until `now`.
    pub fn take_log(&mut self, rows: &[Interest], now: Time) {
        self.ledger.push(rows, now);
        if self.refitted.is_none_or(|before| now.since(before) >= REFIT_EVERY) {
            self.refitted = Some(now);
            self.profits.refit(&mut self.ledger, now);
        }
    }

    /// Profit and decay of a source's pages.
    pub fn curve(&self, source: usize) -> ProfitCurve {
        self.profits.curve(source)
    }

    /// New links a second.
    pub fn arrivals(&self, source: usize, now: Time) -> f64 {
        self.arrivals.rate(source, now)
    }
}
