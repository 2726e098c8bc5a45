//! What a crawler learns: discoveries, outcomes of fetches, clicks and hints.
//!
//! These are the only facts a policy gets. The live crawler makes them from the network and its
//! logs, the lab from a trace; a policy cannot tell which. They borrow what they carry, so an event
//! costs no allocation.

use serde::{Deserialize, Serialize};

use crate::{HostId, PageId, PageKey, Rate, Reason, Span, Time};

/// What a fetch was for. One budget pays for all four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FetchKind {
    /// A page in the collection, fetched again for its content.
    Refresh,
    /// A content source, fetched again for its links.
    Source,
    /// A page that a source revealed, fetched for the first time.
    New,
    /// Any other page, fetched for the first time.
    Frontier,
}

impl FetchKind {
    /// Every kind, in the order in which reports list them.
    pub const ALL: [FetchKind; 4] =
        [FetchKind::Refresh, FetchKind::Source, FetchKind::New, FetchKind::Frontier];

    /// The name used in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FetchKind::Refresh => "refresh",
            FetchKind::Source => "source",
            FetchKind::New => "new",
            FetchKind::Frontier => "frontier",
        }
    }
}

/// A page became known to the crawler.
#[derive(Clone, Copy, Debug)]
pub struct Discovery<'a> {
    /// The page.
    pub page: PageId,
    /// The host that serves it.
    pub host: HostId,
    /// Its identity across crawls.
    pub key: PageKey,
    /// Its canonical URL.
    pub url: &'a str,
    /// When it became known.
    pub at: Time,
    /// The page whose links revealed it; `None` for a seed.
    pub via: Option<PageId>,
    /// Whether the crawler watches it for new links.
    pub is_source: bool,
    /// Whether a copy is already in the collection; then a `Held` event follows.
    pub is_held: bool,
    /// Importance given from outside (0 = worthless); 1 where nothing is known.
    pub weight: f64,
}

/// A link shown by a page that was just fetched, in page order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSeen {
    /// Where it leads.
    pub page: PageId,
    /// Whether this very fetch made the page known.
    pub is_new: bool,
}

/// What came back from a fetch. A failure is an outcome, not an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome<'a> {
    /// The page is there.
    Fetched(Content<'a>),
    /// The page is gone for good (404, 410).
    Gone,
    /// No statement about the page, such as after a time-out or a server error.
    Failed(Reason),
}

/// What a successful fetch showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Content<'a> {
    /// Whether a reader would see a difference from the copy held;
    /// `None` on a first fetch.
    pub changed: Option<bool>,
    /// `Last-Modified`, where the server sends it.
    pub last_modified: Option<Time>,
    /// The smallest fragment hashes of the page, ascending; empty where unknown.
    pub sketch: &'a [u64],
    /// The links it shows now.
    pub links: &'a [LinkSeen],
    /// Anchor texts of those links, in the same order; empty where unknown.
    pub anchors: &'a [&'a str],
}

/// One fetch and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The page fetched.
    pub page: PageId,
    /// When.
    pub at: Time,
    /// What for.
    pub kind: FetchKind,
    /// When the page was last fetched with success.
    pub previous: Option<Time>,
    /// What came back.
    pub outcome: Outcome<'a>,
}

impl Observation<'_> {
    /// Time since the last successful fetch; `None` on a first fetch.
    pub fn gap(&self) -> Option<Span> {
        self.previous.map(|then| self.at.since(then))
    }
}

/// Users' interest in a page, from the search log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interest {
    /// The page that was shown or clicked.
    pub page: PageId,
    /// When it happened; the log is read later.
    pub at: Time,
    /// How often.
    pub count: f64,
    /// Shown or clicked.
    pub kind: InterestKind,
}

/// How a user showed interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InterestKind {
    /// The page stood in a list of results.
    View,
    /// A user followed the result.
    Click,
}

/// A query from the search log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked<'a> {
    /// The words of the query, separated by blanks.
    pub words: &'a str,
    /// How often it was asked.
    pub count: f64,
    /// Share of the need that the collection leaves unmet, from 0 to 1.
    pub need: f64,
}

/// A hint from outside that a page may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal<'a> {
    /// The page hinted at.
    pub page: PageId,
    /// When the hint came.
    pub at: Time,
    /// Which kind: `sitemap`, `feed`, `indexnow`, `websub`, ….
    pub kind: &'a str,
}

/// How much speaks against a page: it may repeat another one, or lie in a trap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubted {
    /// The page.
    pub page: PageId,
    /// When this became known.
    pub at: Time,
    /// Probability that a fetch of the page brings nothing of its own.
    pub doubt: f64,
}

/// Everything that a policy may be told, in the order in which it became known.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A page became known. Precedes every other event that names the page.
    Discovered(Discovery<'a>),
    /// A copy that was in the collection when the crawl began.
    Held(Observation<'a>),
    /// A fetch ended.
    Fetched(Observation<'a>),
    /// New views and clicks in the search log.
    Log(&'a [Interest]),
    /// New queries in the search log.
    Asked(&'a [Asked<'a>]),
    /// A hint came in.
    Hinted(Signal<'a>),
    /// The budget in fetches per second. Comes before the first choice and whenever it changes.
    Budget(Rate),
    /// A page may bring nothing of its own. Replaces what was said of it before; 0 if nothing ever was.
    Doubted(Doubted),
}
