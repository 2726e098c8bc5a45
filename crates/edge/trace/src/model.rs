//! The trace in memory: plain vectors, sorted, every reference an index.

use tidewatch_core::{Rate, Span, Time};

/// A web over time: which pages exist, what links to them, how they change and
/// how much users care.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// A short name.
    pub name: String,
    /// How long the simulation runs. Clicks and views may lie beyond: they
    /// count towards the profit of fetches made within.
    pub duration: Span,
    /// Wall-clock time of the origin, RFC 3339.
    pub start: Option<String>,
    /// Where it comes from.
    pub note: Option<String>,
    /// Every page, by ascending `id`.
    pub pages: Vec<Page>,
    /// Every host that a page names, in the order in which `pages` names them.
    pub hosts: Vec<Host>,
    /// Links, by (source, appears, page).
    pub links: Vec<Link>,
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
}

impl Trace {
    /// The latest time that any table mentions.
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
pub struct Page {
    /// The id in the file.
    pub id: u64,
    /// Its URL, as in the file.
    pub url: Box<str>,
    /// Index into [`Trace::hosts`].
    pub host: u32,
    /// When it came into being.
    pub born: Time,
    /// When it went away, if it did.
    pub died: Option<Time>,
    /// Whether crawlers watch it for new links.
    pub is_source: bool,
    /// Importance; 1 where the file gives none.
    pub weight: f64,
    /// Known without a link from its birth on (`seed` column). Where the file
    /// has no such column: sources, and pages that no link leads to.
    pub is_seed: bool,
}

/// A host and how often it may be fetched from.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: Box<str>,
    /// Fetches per second at most; `None` = no limit.
    pub max_rate: Option<Rate>,
}

/// A link shown by one page to another for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The page that shows it.
    pub source: u32,
    /// Where it leads.
    pub page: u32,
    /// Shown from this time on…
    pub appears: Time,
    /// …and no longer from this time on.
    pub disappears: Option<Time>,
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

/// A page changed.
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

/// One version of a page: what it adds to and removes from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The page.
    pub page: u32,
    /// When it was put up.
    pub at: Time,
    /// Where its fragments begin in [`Versions::fragments`]: first those added…
    pub start: u64,
    /// …so many of them…
    pub added: u32,
    /// …then so many removed.
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
    pub rows: Vec<Signal>,
}

/// One hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The page hinted at.
    pub page: u32,
    /// When.
    pub at: Time,
    /// Index into [`Signals::kinds`].
    pub kind: u32,
}
