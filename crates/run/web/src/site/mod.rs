//! The reply of a URL at a time.
//!
//! A [`Site`] is immutable: [`Site::reply`] is a pure function of request and time. It looks up the host
//! by name and the path among the host's pages; other paths may be a file of the host (`robots.txt`,
//! `sitemap.xml`, `feed.xml`), an old URL that redirects, a trap, or not found.

mod files;
mod index;
mod page;
mod redirect;
mod reply;
mod search;

use tidewatch_core::Time;
use tidewatch_trace::{Trace, Truth, TruthClass};

use crate::date::Date;
use crate::error::WebError;
use crate::habits::{HostHabits, WebHabits};
use index::Index;
pub use index::over_http;
pub use reply::{PageRequest, Reply, SENT_ON_TITLE, Served, WALL_TITLE};

/// Start of `Date` if the trace has none: 2026-01-01T00:00:00Z.
const DEFAULT_START: Date = Date(1_767_225_600);

/// A web that computes replies.
#[derive(Debug)]
pub struct Site {
    trace: Trace,
    index: Index,
    seed: u64,
    habits: WebHabits,
    hosts: Vec<HostHabits>,
    start: Date,
}

impl Site {
    /// Prepares a trace for serving. Its URLs become `http` ([`over_http`]).
    pub fn new(trace: Trace, seed: u64, habits: WebHabits) -> Result<Self, WebError> {
        trace.check()?;
        let trace = over_http(trace)?;
        let index = Index::new(&trace)?;
        let start = match &trace.start {
            None => DEFAULT_START,
            Some(text) => Date::from_rfc3339(text).ok_or_else(|| WebError::Start(text.clone()))?,
        };
        let hosts = trace.hosts.iter().zip(0..).map(|(host, number)| {
            let mut own = habits.host(seed, number);
            if let Some(rate) = host.max_rate {
                // A rate limit of the trace becomes a Crawl-delay.
                own.has_robots = true;
                let gap = rate.gap().seconds().ceil().min(86_400.0) as u64;
                own.crawl_delay_s = Some(gap.max(own.crawl_delay_s.unwrap_or(1)));
            }
            own
        });
        Ok(Site { hosts: hosts.collect(), trace, index, seed, habits, start })
    }

    /// The trace that is served, its URLs as they are served.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The host of that name (without port, any case).
    pub fn host(&self, name: &str) -> Option<u32> {
        self.index.host(name)
    }

    /// Every name that is served, with its host, in the order of hosts.
    pub fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.index.names()
    }

    /// The page of the trace at that path and query of a host.
    pub fn page(&self, host: u32, path: &str) -> Option<u32> {
        self.index.page(host, path)
    }

    /// The title of a page of the trace: that of the page whose content it shows.
    pub fn title(&self, page: u32) -> String {
        match self.truth(page) {
            Some(Truth { class: TruthClass::Missing, .. }) => "No such page".to_owned(),
            Some(Truth { same_as: Some(same), .. }) => self.title(same),
            _ => crate::text::title(self.seed, page),
        }
    }

    /// What the trace says that a page really is.
    fn truth(&self, page: u32) -> Option<Truth> {
        let rows = self.trace.truth.as_deref().unwrap_or_default();
        rows.binary_search_by_key(&page, |row| row.page).ok().map(|row| rows[row])
    }

    /// The page whose text a page shows.
    fn shows(&self, page: u32) -> u32 {
        self.truth(page).and_then(|truth| truth.same_as).unwrap_or(page)
    }

    /// The canonical address that a page declares: its own, unless it repeats another page.
    fn canonical(&self, page: u32) -> Option<&str> {
        let repeats = self.truth(page).and_then(|truth| Some((truth.same_as?, truth.is_declared)));
        match repeats {
            Some((same, true)) => Some(self.url(same)),
            Some((_, false)) => None,
            None => Some(self.url(page)),
        }
    }

    /// Whether the host's `robots.txt` allows this path.
    pub fn allows(&self, host: u32, path: &str) -> bool {
        !(self.hosts[host as usize].has_private && path.starts_with(files::PRIVATE))
    }

    /// Whether the pages of a host are stuffed with keywords.
    pub fn is_stuffed(&self, host: u32) -> bool {
        self.habits.is_stuffed(self.seed, host)
    }

    /// The `Crawl-delay` of a host, in seconds of the trace's time.
    pub fn crawl_delay_s(&self, host: u32) -> Option<u64> {
        self.hosts[host as usize].crawl_delay_s
    }

    /// The delay of a host's replies, in real time.
    pub fn delay(&self, host: u32) -> std::time::Duration {
        self.hosts[host as usize].delay
    }

    /// The reply to `asked` at `now`.
    pub fn reply(&self, asked: &PageRequest<'_>, now: Time) -> Reply {
        let Some(name) = asked.host else {
            return self.dated(Reply::error(400, "A request must name a host."), now);
        };
        let Some(host) = self.host(name) else {
            return self.misdirected(now);
        };
        if !matches!(asked.method, "GET" | "HEAD") {
            return self.dated(Reply::method_not_allowed(), now);
        }
        let reply = match self.habits.outage(self.seed, host, now) {
            Some(until) => Reply::unavailable(until.since(now)),
            None => match self.habits.wall(self.seed, host, now) {
                Some(wall) => Reply::wall(wall, asked.path),
                None => self.find(host, asked, now),
            },
        };
        self.dated(reply.for_method(asked.method), now)
    }

    /// The reply at `now` for an unknown host.
    pub(crate) fn misdirected(&self, now: Time) -> Reply {
        self.dated(Reply::misdirected(), now)
    }

    fn find(&self, host: u32, asked: &PageRequest<'_>, now: Time) -> Reply {
        if let Some(page) = self.page(host, asked.path) {
            return self.page_reply(page, asked, now);
        }
        self.file_reply(host, asked.path, now)
            .or_else(|| self.search_reply(host, asked.path, now))
            .or_else(|| self.redirect_reply(host, asked.path))
            .unwrap_or_else(Reply::not_found)
    }

    fn dated(&self, mut reply: Reply, now: Time) -> Reply {
        reply.header("date", self.date(now).http());
        reply
    }

    /// The calendar's date at a time of the trace, to the second.
    fn date(&self, at: Time) -> Date {
        Date(self.start.0.saturating_add_unsigned(at.as_micros() / 1_000_000))
    }

    fn url(&self, page: u32) -> &str {
        &self.trace.pages[page as usize].url
    }

    fn is_there(&self, page: u32, now: Time) -> bool {
        let row = &self.trace.pages[page as usize];
        row.born <= now && row.died.is_none_or(|died| died > now)
    }
}
