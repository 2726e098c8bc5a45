//! The trace in memory: plain vectors, sorted, every reference an index.

use tidewatch_core::{Rate, Span, Time};

use crate::truth::Truth;

/// A web over time: pages, links, changes, clicks and views.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// A short name.
    pub name: String,
    /// Length of a simulation. Clicks and views may come later: they count towards the profit of
    /// earlier fetches.
    pub duration: Span,
    /// Wall-clock time of the origin, RFC 3339.
    pub start: Option<String>,
    /// Its origin.
    pub note: Option<String>,
    /// Every page, by ascending `id`.
    pub pages: Vec<TracePage>,
    /// Every host that a page names, in the order in which `pages` names them.
    pub hosts: Vec<Host>,
    /// Links, by (source, appears, page).
    pub links: Vec<TraceLink>,
    /// Clicks, by (page, at); `None` where the trace has no such table.
    pub clicks: Option<Vec<Count>>,
    /// Views, by (page, at).
    pub views: Option<Vec<Count>>,
    /// Binary changes, by (page, at).
    pub changes: Option<Vec<Change>>,
    /// Contents over time.
    pub versions: Option<Versions>,
    /// Hints of change.
    pub signals: Option<Signals>,
    /// What pages really are, by page; pages without a row have content of their own.
    pub truth: Option<Vec<Truth>>,
}

impl Trace {
    /// The latest time in any table.
    pub fn latest(&self) -> Time {
        let pages = self.pages.iter().map(|p| p.died.unwrap_or(p.born));
        let links = self.links.iter().map(|l| l.disappears.unwrap_or(l.appears));
        let counts = self.clicks.iter().chain(&self.views).flatten().map(|row| row.at);
        let changes = self.changes.iter().flatten().map(|row| row.at);
        let versions = self.versions.iter().flat_map(|v| &v.rows).map(|row| row.at);
        let signals = self.signals.iter().flat_map(|s| &s.rows).map(|row| row.at);
        let all = pages.chain(links).chain(counts).chain(changes).chain(versions).chain(signals);
        all.max().unwrap_or(Time::ZERO)
    }
}

/// A page of the trace. Its index in [`Trace::pages`] is its number everywhere else.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePage {
    /// The id in the file.
    pub id: u64,
    /// Its URL, as in the file.
    pub url: Box<str>,
    /// Index into [`Trace::hosts`].
    pub host: u32,
    /// Time of birth.
    pub born: Time,
    /// Time of death, if any.
    pub died: Option<Time>,
    /// Whether crawlers watch it for new links.
    pub is_source: bool,
    /// Importance; 1 where the file gives none.
    pub weight: f64,
    /// Known from its birth without a link (`seed` column). Without that column: sources and pages
    /// without inlinks.
    pub is_seed: bool,
}

impl TracePage {
    /// A page of weight 1 that never dies, neither a source nor a seed.
    pub fn new(id: u64, url: impl Into<Box<str>>, host: u32, born: Time) -> TracePage {
        let (died, is_source, weight, is_seed) = (None, false, 1.0, false);
        TracePage { id, url: url.into(), host, born, died, is_source, weight, is_seed }
    }
}

/// A host and its rate limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: Box<str>,
    /// Fetches per second at most; `None` = no limit.
    pub max_rate: Option<Rate>,
}

/// A link that a page shows for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLink {
    /// The page that shows it.
    pub source: u32,
    /// The target.
    pub page: u32,
    /// Shown from this time on…
    pub appears: Time,
    /// …and no longer from this time on.
    pub disappears: Option<Time>,
    /// Place among the links of the source when it appears, 0 at the top; `None` where the order of
    /// links is unknown.
    pub position: Option<u32>,
}

/// Clicks or views of a page at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The page.
    pub page: u32,
    /// When.
    pub at: Time,
    /// How many.
    pub count: f64,
}

/// A change of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The page.
    pub page: u32,
    /// When.
    pub at: Time,
}

/// Contents of pages as sets of fragment hashes, stored as differences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Versions {
    /// One row per version, by (page, at).
    pub rows: Vec<Version>,
    /// Fragment hashes that rows refer to.
    pub fragments: Vec<u64>,
}

/// One version of a page, as the difference to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The page.
    pub page: u32,
    /// Its time.
    pub at: Time,
    /// Start of its fragments in [`Versions::fragments`]: first those added…
    pub start: u64,
    /// …(their number)…
    pub added: u32,
    /// …then those removed (their number).
    pub removed: u32,
}

impl Versions {
    /// Appends a version. Rows must come in order of (page, at).
    pub fn push(&mut self, page: u32, at: Time, added: &[u64], removed: &[u64]) {
        let start = self.fragments.len() as u64;
        self.fragments.extend_from_slice(added);
        self.fragments.extend_from_slice(removed);
        let (added, removed) = (added.len() as u32, removed.len() as u32);
        self.rows.push(Version { page, at, start, added, removed });
    }

    /// The fragments that a version adds.
    pub fn added(&self, version: &Version) -> &[u64] {
        let start = version.start as usize;
        &self.fragments[start..start + version.added as usize]
    }

    /// The fragments that a version removes.
    pub fn removed(&self, version: &Version) -> &[u64] {
        let start = version.start as usize + version.added as usize;
        &self.fragments[start..start + version.removed as usize]
    }
}

/// Hints of change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// Names of the kinds that rows refer to, ascending.
    pub kinds: Vec<Box<str>>,
    /// One row per hint, by (at, page, kind).
    pub rows: Vec<TraceSignal>,
}

/// One hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSignal {
    /// The page hinted at.
    pub page: u32,
    /// When.
    pub at: Time,
    /// Index into [`Signals::kinds`].
    pub kind: u32,
}
