//! Index of a trace: pages by host and path, rows by page.

use std::collections::HashMap;
use std::ops::Range;

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_trace::{Trace, TraceLink};

use crate::error::WebError;

/// The trace with URLs as they are served: canonical `http` URLs without a port. Clients that map URLs
/// to pages need this one.
pub fn over_http(mut trace: Trace) -> Result<Trace, WebError> {
    for page in &mut trace.pages {
        let refuse = |why: String| WebError::Url { page: page.id, url: page.url.to_string(), why };
        let url = CanonicalUrl::parse(&page.url).map_err(|e| refuse(format!("is refused: {e}")))?;
        let plain = format!("http://{}{}", url.host(), url.path_and_query());
        page.url = plain.into_boxed_str();
    }
    Ok(trace)
}

/// Lookup tables of a trace.
#[derive(Debug)]
pub(super) struct Index {
    names: HashMap<Box<str>, u32>,
    names_in_order: Vec<(Box<str>, u32)>,
    /// Per host: pages by path and query.
    paths: Vec<HashMap<Box<str>, u32>>,
    /// Per host: pages by birth.
    births: Vec<Vec<u32>>,
    links: Vec<u32>,
    /// Whether a link leads to each page.
    is_linked: Vec<bool>,
    changes: Vec<u32>,
    versions: Vec<u32>,
}

impl Index {
    /// Indexes a trace that has passed [`Trace::check`].
    pub(super) fn new(trace: &Trace) -> Result<Self, WebError> {
        let pages = trace.pages.len();
        let changes = trace.changes.as_deref().unwrap_or_default();
        let versions = trace.versions.as_ref().map_or(&[][..], |v| &v.rows);
        let mut index = Index {
            names: HashMap::new(),
            names_in_order: Vec::new(),
            paths: vec![HashMap::new(); trace.hosts.len()],
            births: vec![Vec::new(); trace.hosts.len()],
            links: starts(pages, trace.links.iter().map(|l| l.source)),
            is_linked: vec![false; pages],
            changes: starts(pages, changes.iter().map(|c| c.page)),
            versions: starts(pages, versions.iter().map(|v| v.page)),
        };
        for (page, number) in trace.pages.iter().zip(0..) {
            index.add(page, number)?;
        }
        trace.links.iter().for_each(|link| index.is_linked[link.page as usize] = true);
        index.names_in_order.sort_by_key(|(_, host)| *host);
        for births in &mut index.births {
            births.sort_by_key(|&page| (trace.pages[page as usize].born, page));
        }
        Ok(index)
    }

    fn add(&mut self, page: &tidewatch_trace::TracePage, number: u32) -> Result<(), WebError> {
        let refuse = |why: &str| WebError::Url {
            page: page.id,
            url: page.url.to_string(),
            why: why.to_owned(),
        };
        let rest = page.url.strip_prefix("http://").ok_or_else(|| refuse("is not http"))?;
        let (name, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        match self.names.get(name) {
            None => {
                self.names.insert(name.into(), page.host);
                self.names_in_order.push((name.into(), page.host));
            }
            Some(&host) if host != page.host => {
                return Err(refuse("names a host that another page's row calls differently"));
            }
            Some(_) => {}
        }
        if self.paths[page.host as usize].insert(path.into(), number).is_some() {
            return Err(refuse("is the address of two pages once it is in normal form"));
        }
        self.births[page.host as usize].push(number);
        Ok(())
    }

    pub(super) fn host(&self, name: &str) -> Option<u32> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.bytes().any(|b| b.is_ascii_uppercase()) {
            return self.names.get(name.to_ascii_lowercase().as_str()).copied();
        }
        self.names.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.names_in_order.iter().map(|(name, host)| (&**name, *host))
    }

    /// The name of a host as in its URLs; empty for a host without pages.
    pub(super) fn name_of(&self, host: u32) -> &str {
        let first = self.names_in_order.partition_point(|(_, h)| *h < host);
        self.names_in_order.get(first).map_or("", |(name, _)| name)
    }

    pub(super) fn page(&self, host: u32, path: &str) -> Option<u32> {
        self.paths.get(host as usize)?.get(path).copied()
    }

    /// Pages of a host that were born by `now`, by birth.
    pub(super) fn born(&self, trace: &Trace, host: u32, now: Time) -> &[u32] {
        let births = &self.births[host as usize];
        &births[..births.partition_point(|&page| trace.pages[page as usize].born <= now)]
    }

    pub(super) fn is_linked(&self, page: u32) -> bool {
        self.is_linked[page as usize]
    }

    pub(super) fn links<'t>(&self, trace: &'t Trace, page: u32) -> &'t [TraceLink] {
        &trace.links[rows(&self.links, page)]
    }

    /// Number of changes of a page by `now`, and time of the last.
    pub(super) fn changes(&self, trace: &Trace, page: u32, now: Time) -> (usize, Option<Time>) {
        let table = trace.changes.as_deref().unwrap_or_default();
        let own = &table[rows(&self.changes, page)];
        let past = own.partition_point(|change| change.at <= now);
        (past, own[..past].last().map(|change| change.at))
    }

    /// The versions of a page by `now`.
    pub(super) fn versions<'t>(
        &self,
        trace: &'t Trace,
        page: u32,
        now: Time,
    ) -> &'t [tidewatch_trace::Version] {
        let Some(versions) = &trace.versions else { return &[] };
        let own = &versions.rows[rows(&self.versions, page)];
        &own[..own.partition_point(|version| version.at <= now)]
    }
}

/// Offsets of each page's rows in a table sorted by page, plus the end.
fn starts(pages: usize, rows: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut starts = vec![0u32; pages + 1];
    rows.for_each(|page| starts[page as usize + 1] += 1);
    for i in 0..pages {
        starts[i + 1] += starts[i];
    }
    starts
}

fn rows(starts: &[u32], page: u32) -> Range<usize> {
    starts[page as usize] as usize..starts[page as usize + 1] as usize
}
