//! What the demo's crawler knows, and what it tells its policy.
//!
//! Life of a page: a seed or a link makes it known (`Discovered`), the policy
//! chooses it, a [`Job`] is made of it, and what comes back is told in turn
//! (`Fetched`). A redirect makes its target known and ends the page under its
//! old address; so every request is one fetch, and circles end by themselves,
//! since no address is known twice.
//!
//! Invariant: of one host at most one job is under way.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, LinkSeen, Observation, Outcome, PageId,
    PageKey, Rate, Span, Time,
};
use tidewatch_policy::{Choice, Gate, Policy};
use tidewatch_web::Names;

use super::job::{Done, Found, Job};
use super::links::links;
use super::robots::Robots;
use super::tally::Tally;

/// The crawler's state, apart from what is under way.
pub(super) struct Crawler {
    policy: Box<dyn Policy>,
    names: Names,
    /// Simulated seconds per real second.
    speed: f64,
    /// Least real time between two requests to a host.
    gap: Duration,
    pages: Vec<Known>,
    by_key: HashMap<PageKey, PageId>,
    hosts: Vec<Host>,
    by_name: HashMap<Box<str>, HostId>,
    pub(super) tally: Tally,
}

struct Known {
    url: CanonicalUrl,
    host: HostId,
    via: Option<PageId>,
    is_source: bool,
    copy: Option<Kept>,
}

struct Kept {
    at: Time,
    hash: u64,
    etag: Option<String>,
    links: Vec<PageId>,
}

struct Host {
    is_busy: bool,
    opens: Time,
    robots: Option<Robots>,
}

/// What the loop has to know of a fetch that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// There is a new or confirmed copy.
    Held,
    /// The page is gone.
    Gone,
    /// Nothing was learnt about the page.
    Nothing,
}

/// The gates of all hosts at one moment.
struct Gates<'c> {
    hosts: &'c [Host],
    now: Time,
    gap: Span,
}

impl Gate for Gates<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        match self.hosts.get(host.index()) {
            // Nobody knows when a fetch will end: ask again after a gap.
            Some(host) if host.is_busy => self.now + self.gap,
            Some(host) => host.opens,
            None => Time::ZERO,
        }
    }
}

impl Crawler {
    pub(super) fn new(
        mut policy: Box<dyn Policy>,
        names: Names,
        budget: Rate,
        speed: f64,
        gap: Duration,
    ) -> Self {
        policy.learn(&Event::Budget(budget));
        Crawler {
            policy,
            names,
            speed,
            gap,
            pages: Vec::new(),
            by_key: HashMap::new(),
            hosts: Vec::new(),
            by_name: HashMap::new(),
            tally: Tally::default(),
        }
    }

    /// Hosts known, and pages known and held.
    pub(super) fn sizes(&self) -> [usize; 3] {
        let held = self.pages.iter().filter(|page| page.copy.is_some()).count();
        [self.hosts.len(), self.pages.len(), held]
    }

    /// The address that a page is known by.
    pub(super) fn url(&self, page: PageId) -> &CanonicalUrl {
        &self.pages[page.index()].url
    }

    /// Makes a page known that the operator names.
    pub(super) fn seed(&mut self, url: &CanonicalUrl, at: Time, is_source: bool, weight: f64) {
        self.discover(url, at, None, is_source, weight);
    }

    /// Passes the search log on.
    pub(super) fn read_log(&mut self, log: &[Interest]) {
        self.policy.learn(&Event::Log(log));
    }

    /// The next fetch, if something is worth one now.
    pub(super) fn choose(&mut self, now: Time) -> Option<Job> {
        let gates = Gates { hosts: &self.hosts, now, gap: self.simulated(self.gap) };
        let Choice::Fetch(page) = self.policy.choose(now, &gates) else {
            self.tally.idle += 1;
            return None;
        };
        let known = &self.pages[page.index()];
        let address = self.names.resolve(known.url.host())?;
        let host = &mut self.hosts[known.host.index()];
        if host.is_busy || host.opens > now {
            // A defect of the policy, and a visible one: it is asked again next time.
            self.tally.impolite += 1;
            return None;
        }
        host.is_busy = true;
        Some(Job {
            page,
            url: known.url.clone(),
            address,
            etag: known.copy.as_ref().and_then(|copy| copy.etag.clone()),
            needs_robots: host.robots.is_none(),
            gap: self.gap,
        })
    }

    /// Takes in what came of a job.
    pub(super) fn settle(&mut self, done: Done, now: Time) -> Ended {
        let kind = self.kind(done.page);
        self.tally.count(&done, kind);
        self.leave_host(&done, now);
        let previous = self.pages[done.page.index()].copy.as_ref().map(|copy| copy.at);
        let seen = |outcome| Observation { page: done.page, at: now, kind, previous, outcome };
        match done.found {
            Found::Content { html, etag } => {
                self.take_copy(done.page, &html, etag, kind, now);
                Ended::Held
            }
            Found::Same => {
                self.confirm_copy(done.page, kind, now);
                Ended::Held
            }
            Found::Moved(to) => {
                // The new address has the merit of whoever showed the old one.
                let via = self.pages[done.page.index()].via;
                let is_source = self.pages[done.page.index()].is_source;
                self.discover(&to, now, via, is_source, 1.0);
                self.policy.learn(&Event::Fetched(seen(Outcome::Gone)));
                Ended::Nothing
            }
            Found::Gone => {
                self.policy.learn(&Event::Fetched(seen(Outcome::Gone)));
                self.pages[done.page.index()].copy = None;
                Ended::Gone
            }
            Found::Disallowed => {
                self.policy.learn(&Event::Fetched(seen(Outcome::Gone)));
                Ended::Nothing
            }
            Found::Failed(reason) => {
                self.policy.learn(&Event::Fetched(seen(Outcome::Failed(reason))));
                Ended::Nothing
            }
        }
    }

    fn simulated(&self, real: Duration) -> Span {
        Span::from_seconds(real.as_secs_f64() * self.speed).unwrap_or(Span::FOREVER)
    }

    fn leave_host(&mut self, done: &Done, now: Time) {
        let gap = self.simulated(self.gap);
        let host = self.pages[done.page.index()].host;
        let host = &mut self.hosts[host.index()];
        host.is_busy = false;
        if let Some(robots) = &done.robots {
            host.robots = Some(robots.clone());
        }
        let asked = host.robots.as_ref().map_or(Span::ZERO, |robots| robots.delay);
        let wait = done.retry_after_s.and_then(Span::from_seconds).unwrap_or_default();
        host.opens = now + gap.max(asked).max(wait);
    }

    fn kind(&self, page: PageId) -> FetchKind {
        let known = &self.pages[page.index()];
        let is_shown = known.via.is_some_and(|via| self.pages[via.index()].is_source);
        match (known.copy.is_some(), known.is_source) {
            (true, true) => FetchKind::Source,
            (true, false) => FetchKind::Refresh,
            (false, false) if is_shown => FetchKind::New,
            (false, _) => FetchKind::Frontier,
        }
    }

    fn take_copy(
        &mut self,
        page: PageId,
        html: &str,
        etag: Option<String>,
        kind: FetchKind,
        now: Time,
    ) {
        let shown = self.reveal(page, html, now);
        let mut hasher = DefaultHasher::new();
        html.hash(&mut hasher);
        let hash = hasher.finish();
        let links = shown.iter().map(|link| link.page).collect();
        let old = self.pages[page.index()].copy.replace(Kept { at: now, hash, etag, links });
        let changed = old.as_ref().map(|old| old.hash != hash);
        let content = Content { changed, links: &shown, ..Content::default() };
        let previous = old.map(|old| old.at);
        let outcome = Outcome::Fetched(content);
        self.policy.learn(&Event::Fetched(Observation { page, at: now, kind, previous, outcome }));
    }

    fn confirm_copy(&mut self, page: PageId, kind: FetchKind, now: Time) {
        let Some(copy) = &mut self.pages[page.index()].copy else { return };
        let previous = Some(std::mem::replace(&mut copy.at, now));
        let shown: Vec<LinkSeen> =
            copy.links.iter().map(|&page| LinkSeen { page, is_new: false }).collect();
        let content = Content { changed: Some(false), links: &shown, ..Content::default() };
        let outcome = Outcome::Fetched(content);
        self.policy.learn(&Event::Fetched(Observation { page, at: now, kind, previous, outcome }));
    }

    /// Makes the links of a page known, except where `robots.txt` forbids or no host is known.
    fn reveal(&mut self, page: PageId, html: &str, now: Time) -> Vec<LinkSeen> {
        let mut shown = Vec::new();
        for url in links(html, &self.pages[page.index()].url) {
            if self.is_disallowed(&url) {
                self.tally.disallowed_links += 1;
                continue;
            }
            let known = self.by_key.get(&PageKey::of(url.as_str())).copied();
            let is_new = known.is_none();
            let found = known.or_else(|| self.discover(&url, now, Some(page), false, 1.0));
            shown.extend(found.map(|page| LinkSeen { page, is_new }));
        }
        shown
    }

    fn is_disallowed(&self, url: &CanonicalUrl) -> bool {
        let host = self.by_name.get(url.host()).map(|host| &self.hosts[host.index()]);
        let robots = host.and_then(|host| host.robots.as_ref());
        robots.is_some_and(|robots| !robots.allows(url.path_and_query()))
    }

    /// Makes a page known unless it is already; `None` for hosts without an address.
    fn discover(
        &mut self,
        url: &CanonicalUrl,
        at: Time,
        via: Option<PageId>,
        is_source: bool,
        weight: f64,
    ) -> Option<PageId> {
        let key = PageKey::of(url.as_str());
        if let Some(&page) = self.by_key.get(&key) {
            return Some(page);
        }
        self.names.resolve(url.host())?;
        let host = self.host(url.host());
        let page = PageId(self.pages.len() as u32);
        self.by_key.insert(key, page);
        self.pages.push(Known { url: url.clone(), host, via, is_source, copy: None });
        let url = url.as_str();
        let found = Discovery { page, host, key, url, at, via, is_source, is_held: false, weight };
        self.policy.learn(&Event::Discovered(found));
        Some(page)
    }

    fn host(&mut self, name: &str) -> HostId {
        if let Some(&host) = self.by_name.get(name) {
            return host;
        }
        let host = HostId(self.hosts.len() as u32);
        self.hosts.push(Host { is_busy: false, opens: Time::ZERO, robots: None });
        self.by_name.insert(name.into(), host);
        host
    }
}
