//! A page that was out of bounds and no longer is.

use std::collections::BTreeMap;

use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, LinkSeen, Observation, Outcome, PageId, PageKey,
    Rate, Reason, Span, Time,
};
use tidewatch_policy::{AlwaysOpen, Choice, Policy, Setup, registry};

/// Page 0 is a source and shows all others.
const PAGES: u32 = 12;
/// Time between two choices.
const PACE: Span = Span::MINUTE.times(10);
/// Choices before the pages are let in, and afterwards: every page could be fetched 80 times.
const BARRED: u32 = 200;
const OPEN: u32 = 1_000;
/// The page that fails and is let in.
const CHOSEN: PageId = PageId(5);
/// A page that waits twice among `PAGES` gets 2 · 12/13 times its visits; half of that gain is the limit.
const MOST_RATIO: f64 = 1.42;

struct Web {
    policy: Box<dyn Policy>,
    now: Time,
    /// The last visit of each page, and how many there were.
    visits: BTreeMap<PageId, Time>,
    counts: [u32; PAGES as usize],
}

impl Web {
    fn new(mut policy: Box<dyn Policy>) -> Web {
        policy.learn(&Event::Budget(Rate::per_second(1.0 / PACE.seconds()).unwrap()));
        let mut web =
            Web { policy, now: Time::ZERO, visits: BTreeMap::new(), counts: [0; PAGES as usize] };
        web.discover(PageId(0), None);
        web
    }

    fn discover(&mut self, page: PageId, via: Option<PageId>) {
        let url = format!("https://h{}.test/{}", page.0 % 3, page.0);
        let (host, key, at) = (HostId(page.0 % 3), PageKey::of(&url), self.now);
        let (is_source, is_held, weight) = (via.is_none(), false, 1.0);
        let found = Discovery { page, host, key, url: &url, at, via, is_source, is_held, weight };
        self.policy.learn(&Event::Discovered(found));
    }

    /// Makes choices; pages that `is_barred` names are told to be gone, as a crawl does with pages that
    /// its scope or robots.txt leaves out.
    fn run(&mut self, choices: u32, is_barred: impl Fn(PageId) -> bool) {
        for _ in 0..choices {
            self.now = self.now + PACE;
            let Choice::Fetch(page) = self.policy.choose(self.now, &AlwaysOpen) else { continue };
            if is_barred(page) {
                self.tell(page, Outcome::Gone);
            } else {
                self.fetch(page);
            }
        }
    }

    /// Goes on until `page` is chosen, which then ends with `outcome`.
    fn tell_next(&mut self, page: PageId, outcome: Outcome<'_>) {
        for _ in 0..OPEN {
            self.now = self.now + PACE;
            match self.policy.choose(self.now, &AlwaysOpen) {
                Choice::Fetch(chosen) if chosen == page => return self.tell(page, outcome),
                Choice::Fetch(chosen) => self.fetch(chosen),
                Choice::Idle => {}
            }
        }
    }

    fn fetch(&mut self, page: PageId) {
        let mut links = Vec::new();
        if page == PageId(0) {
            let is_new = !self.visits.contains_key(&page);
            links.extend((1..PAGES).map(|page| LinkSeen { page: PageId(page), is_new }));
        }
        for link in links.iter().filter(|link| link.is_new) {
            self.discover(link.page, Some(page));
        }
        let changed = self.visits.contains_key(&page).then_some(true);
        let anchors = vec![""; links.len()];
        let content = Content { changed, links: &links, anchors: &anchors, ..Content::default() };
        self.tell(page, Outcome::Fetched(content));
        self.visits.insert(page, self.now);
        self.counts[page.index()] += 1;
    }

    fn tell(&mut self, page: PageId, outcome: Outcome<'_>) {
        let previous = self.visits.get(&page).copied();
        let kind = match (previous, page) {
            (None, PageId(0)) => FetchKind::Frontier,
            (None, _) => FetchKind::New,
            (Some(_), PageId(0)) => FetchKind::Source,
            (Some(_), _) => FetchKind::Refresh,
        };
        let seen = Observation { page, at: self.now, kind, previous, outcome };
        self.policy.learn(&Event::Fetched(seen));
    }
}

/// A page that failed waits to be tried again. If it is let in meanwhile, it must not wait twice, or it
/// would be visited twice as often for good.
#[test]
fn a_reopened_page_waits_once() {
    let mut failures = Vec::new();
    for entry in registry::POLICIES {
        let visits = |is_reopened: bool| {
            let mut web = Web::new((entry.make)(Setup::seeded(5)));
            web.run(BARRED, |_| false);
            web.tell_next(CHOSEN, Outcome::Failed(Reason::NoAddress));
            if is_reopened {
                web.tell(CHOSEN, Outcome::Failed(Reason::OwnStop));
            }
            web.run(OPEN, |_| false);
            web.counts[CHOSEN.index()]
        };
        let (usual, reopened) = (visits(false), visits(true));
        if f64::from(reopened) > MOST_RATIO * f64::from(usual) + 1.0 {
            failures.push(format!("{}: {reopened} visits instead of {usual}", entry.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Pages barred before their first fetch, and a source barred from the start, are fetched once they are
/// let in, which a policy hears as an interruption of ours.
#[test]
fn every_policy_tries_a_reopened_page_again() {
    let mut failures = Vec::new();
    for entry in registry::POLICIES {
        let mut web = Web::new((entry.make)(Setup::seeded(5)));
        let is_barred = |page: PageId| page.0.is_multiple_of(3) && page.0 > 0;
        web.run(BARRED, is_barred);
        for page in (1..PAGES).map(PageId).filter(|page| is_barred(*page)) {
            web.tell(page, Outcome::Failed(Reason::OwnStop));
        }
        web.run(OPEN, |_| false);
        let missing: Vec<u32> =
            (0..PAGES).filter(|page| !web.visits.contains_key(&PageId(*page))).collect();
        if !missing.is_empty() {
            failures.push(format!("{}: pages {missing:?}", entry.name));
        }

        let mut web = Web::new((entry.make)(Setup::seeded(6)));
        web.run(20, |_| true);
        web.tell(PageId(0), Outcome::Failed(Reason::OwnStop));
        web.run(OPEN, |_| false);
        if web.visits.len() < PAGES as usize {
            failures.push(format!("{}: {} pages from the source", entry.name, web.visits.len()));
        }
    }
    assert!(failures.is_empty(), "never fetched:\n{}", failures.join("\n"));
}
