//! Pages and hosts of a trace, built in order of ids.

use std::collections::{HashMap, HashSet};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageKey, Time};
use tidewatch_trace::{Host, Trace, TracePage};

/// Domain of invented URLs; RFC 2606 reserves it, so no crawler can reach it.
pub(super) const MADE_UP: &str = "invalid";

/// Pages and hosts so far.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) list: Vec<TracePage>,
    hosts: Vec<Host>,
    by_name: HashMap<Box<str>, u32>,
}

impl Pages {
    /// Appends a page born at the origin, without links, for the caller to amend. Ids must ascend.
    pub(super) fn push(&mut self, id: u64, url: &CanonicalUrl) -> &mut TracePage {
        let host = self.host(url.host());
        self.list.push(TracePage::new(id, url.as_str(), host, Time::ZERO));
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    fn host(&mut self, name: &str) -> u32 {
        if let Some(&host) = self.by_name.get(name) {
            return host;
        }
        let host = self.hosts.len() as u32;
        self.hosts.push(Host { name: name.into(), max_rate: None });
        self.by_name.insert(name.into(), host);
        host
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn into_trace(self, trace: &mut Trace) {
        trace.pages = self.list;
        trace.hosts = self.hosts;
    }
}

/// Makes URLs unique, as a trace requires: a data set may have several pages with one URL, or pages
/// without any.
#[derive(Default)]
pub(super) struct Addresses {
    taken: HashSet<PageKey>,
    /// Pages with an invented URL.
    pub(super) made_up: u64,
    /// Pages whose URL another page had.
    pub(super) shared: u64,
}

impl Addresses {
    /// The canonical form of `url`; with `?page=ID` or `&page=ID` if an earlier page has it;
    /// `https://HOST.invalid/ID` if it is not a valid URL.
    pub(super) fn give(&mut self, url: &str, host: &str, id: u64) -> CanonicalUrl {
        let Ok(canonical) = CanonicalUrl::parse(url) else {
            self.made_up += 1;
            return self.free(&made_up(host, id), id);
        };
        if self.taken.insert(PageKey::of(canonical.as_str())) {
            return canonical;
        }
        self.shared += 1;
        let joiner = if canonical.as_str().contains('?') { '&' } else { '?' };
        let marked = CanonicalUrl::parse(&format!("{}{joiner}page={id}", canonical.as_str()));
        self.free(&marked.unwrap_or_else(|_| made_up(host, id)), id)
    }

    /// An unused URL; only a hostile file could contain it.
    fn free(&mut self, url: &CanonicalUrl, id: u64) -> CanonicalUrl {
        let mut url = url.clone();
        let mut attempt = 0;
        while !self.taken.insert(PageKey::of(url.as_str())) {
            url = made_up(&format!("again{attempt}"), id);
            attempt += 1;
        }
        url
    }
}

/// An invented URL.
pub(super) fn made_up(host: &str, id: u64) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("https://{host}.{MADE_UP}/{id}"))
        .expect("hosts are literals of letters, digits and dots")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_gets_its_own_address() {
        let mut addresses = Addresses::default();
        let mut give = |url, id| addresses.give(url, "terms", id).into_string();
        assert_eq!(give("HTTP://A.example#x", 1), "http://a.example/");
        assert_eq!(give("http://a.example/", 2), "http://a.example/?page=2");
        assert_eq!(give("http://a.example/?q=1", 3), "http://a.example/?q=1");
        assert_eq!(give("http://a.example/?q=1#b", 4), "http://a.example/?q=1&page=4");
        assert_eq!(give("", 5), "https://terms.invalid/5");
        assert_eq!(give("mailto:a@b.example", 6), "https://terms.invalid/6");
        assert_eq!(give("http://a.example/?page=7", 7), "http://a.example/?page=7");
        assert_eq!(give("http://a.example/", 7), "https://again0.invalid/7");
        assert_eq!((addresses.made_up, addresses.shared), (2, 3));
    }
}
