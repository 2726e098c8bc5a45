//! A web on which every assumption of the closed forms holds.

use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen, Observation,
    Outcome, PageId, PageKey, Rate, Span, Time,
};
use tidewatch_math::Draws;
use tidewatch_policy::echo::Terms;
use tidewatch_policy::{Choice, Gate, Policy};

pub(crate) const DAY: f64 = 86_400.0;
const HOUR: f64 = 3600.0;
pub(crate) const HOSTS: usize = 60;

/// Copies that change by Poisson laws, and sources that show new pages at even gaps, whose clicks
/// come just as expected.
pub(crate) struct Web {
    pages: Vec<Page>,
    draws: Draws,
    now: f64,
    next_log: f64,
    /// Seconds for which the first so many hosts are closed after a fetch.
    slow: (usize, f64),
    opens: [Time; HOSTS],
}

struct Gates<'a>(&'a [Time; HOSTS]);

impl Gate for Gates<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        self.0[host.index()]
    }
}

struct Page {
    kind: Kind,
    fetched: Option<f64>,
    /// Fetches since the count was last taken.
    fetches: u64,
}

enum Kind {
    Copy { weight: f64, rate: f64 },
    Source { terms: Terms, shown_until: f64 },
    New { born: f64, terms: Terms },
}

impl Web {
    pub(crate) fn new(seed: u64) -> Self {
        let (pages, draws) = (Vec::new(), Draws::of(seed, "policy.web", 0));
        let (slow, opens) = ((0, 0.0), [Time::ZERO; HOSTS]);
        Web { pages, draws, now: 0.0, next_log: HOUR, slow, opens }
    }

    /// The first so many hosts may be fetched from only once in so many seconds.
    pub(crate) fn slow_down(&mut self, hosts: usize, gap: f64) {
        self.slow = (hosts, gap);
    }

    pub(crate) fn copy(&mut self, weight: f64, rate: f64) -> PageKey {
        self.add(Kind::Copy { weight, rate })
    }

    pub(crate) fn source(&mut self, terms: Terms) -> PageKey {
        self.add(Kind::Source { terms, shown_until: 0.0 })
    }

    fn add(&mut self, kind: Kind) -> PageKey {
        self.pages.push(Page { kind, fetched: Some(0.0), fetches: 0 });
        PageKey::of(&url(self.pages.len() - 1))
    }

    pub(crate) fn now(&self) -> Time {
        at(self.now)
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Tells policies the budget and what is there at the beginning.
    pub(crate) fn begin(&self, policies: &mut [&mut dyn Policy], budget: f64) {
        let rate = Rate::per_second(budget).unwrap();
        policies.iter_mut().for_each(|policy| policy.learn(&Event::Budget(rate)));
        for id in 0..self.pages.len() {
            let weight = match self.pages[id].kind {
                Kind::Copy { weight, .. } => weight,
                _ => 1.0,
            };
            let is_source = matches!(self.pages[id].kind, Kind::Source { .. });
            discover(policies, id, 0.0, (None, is_source, true), weight);
            let held = observe(id, 0.0, FetchKind::Refresh, None, Content::default());
            policies.iter_mut().for_each(|policy| policy.learn(&Event::Held(held)));
        }
    }

    /// Goes on for so many seconds with one fetch every 1/budget. All policies are told the same and
    /// must choose the same.
    pub(crate) fn run(&mut self, policies: &mut [&mut dyn Policy], budget: f64, seconds: f64) {
        let (from, fetches) = (self.now, (seconds * budget).round() as u64);
        for i in 1..=fetches {
            self.now = from + i as f64 / budget;
            if self.now >= self.next_log {
                self.log(policies);
            }
            let now = at(self.now);
            let gates = Gates(&self.opens);
            let mut choices = policies.iter_mut().map(|policy| policy.choose(now, &gates));
            let choice = choices.next().unwrap();
            assert!(choices.all(|other| other == choice), "choices differ at {now}");
            if let Choice::Fetch(page) = choice {
                self.fetch(policies, page.index());
            }
        }
    }

    /// Fetches of each of the first pages since this was asked last.
    pub(crate) fn counts(&mut self, pages: usize) -> Vec<u64> {
        self.pages[..pages].iter_mut().map(|page| std::mem::take(&mut page.fetches)).collect()
    }

    fn fetch(&mut self, policies: &mut [&mut dyn Policy], id: usize) {
        let now = self.now;
        self.pages[id].fetches += 1;
        let (slow, gap) = self.slow;
        if host(id).index() < slow {
            assert!(self.opens[host(id).index()] <= at(now), "a host is not open yet");
            self.opens[host(id).index()] = at(now + gap);
        }
        let before = self.pages[id].fetched.replace(now);
        let is_new = |page: usize| LinkSeen { page: PageId(page as u32), is_new: true };
        let (mut links, mut changed, mut fetch) = (Vec::new(), Some(true), FetchKind::Source);
        let known = self.pages.len();
        match &mut self.pages[id].kind {
            Kind::Copy { rate, .. } => {
                let gap = now - before.unwrap_or(now);
                changed = Some(self.draws.uniform() < -(-*rate * gap).exp_m1());
                fetch = FetchKind::Refresh;
            }
            Kind::Source { terms, shown_until } => {
                let terms = *terms;
                let births = (*shown_until * terms.arrivals) as u64 + 1..;
                let births = births.map(|i| i as f64 / terms.arrivals).take_while(|t| *t <= now);
                let births: Vec<f64> = births.collect();
                *shown_until = now;
                let page =
                    |born| Page { kind: Kind::New { born, terms }, fetched: None, fetches: 0 };
                self.pages.extend(births.into_iter().map(page));
                links.extend((known..self.pages.len()).map(is_new));
            }
            // What is new never changes.
            Kind::New { .. } => (changed, fetch) = (before.map(|_| false), FetchKind::New),
        }
        for page in known..self.pages.len() {
            // Its copy never changes, so it is not for refreshing.
            discover(policies, page, now, (Some(PageId(id as u32)), false, false), 0.0);
        }
        let content = Content { changed, links: &links, ..Content::default() };
        let seen = observe(id, now, fetch, before, content);
        policies.iter_mut().for_each(|policy| policy.learn(&Event::Fetched(seen)));
    }

    /// Tells the clicks of the last hour on new pages, fetched or not.
    fn log(&mut self, policies: &mut [&mut dyn Policy]) {
        let (from, to) = (self.next_log - HOUR, self.next_log);
        self.next_log += HOUR;
        let mut rows = Vec::new();
        for (id, page) in self.pages.iter().enumerate() {
            if let Kind::New { born, terms } = page.kind {
                let clicks = clicks(terms).map(|age| born + age);
                let clicks = clicks.skip_while(|at| *at < from).take_while(|at| *at < to);
                let (page, count, kind) = (PageId(id as u32), 1.0, InterestKind::Click);
                rows.extend(clicks.map(|click| Interest { page, at: at(click), count, kind }));
            }
        }
        policies.iter_mut().for_each(|policy| policy.learn(&Event::Log(&rows)));
    }
}

/// Ages at which a page is clicked: the quantiles of its law.
fn clicks(terms: Terms) -> impl Iterator<Item = f64> {
    let all = terms.profit as u32;
    (0..all).map(move |i| -(1.0 - (f64::from(i) + 0.5) / terms.profit).ln() / terms.decay)
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds(seconds).unwrap()
}

/// All hosts have pages of every kind.
pub(crate) fn host(id: usize) -> HostId {
    HostId((id % HOSTS) as u32)
}

fn url(id: usize) -> String {
    format!("https://host-{}.test/page-{id}", host(id).0)
}

fn discover(
    policies: &mut [&mut dyn Policy],
    id: usize,
    now: f64,
    (via, is_source, is_held): (Option<PageId>, bool, bool),
    weight: f64,
) {
    let (page, host, url) = (PageId(id as u32), host(id), url(id));
    let (key, at) = (PageKey::of(&url), at(now));
    let found = Discovery { page, host, key, url: &url, at, via, is_source, is_held, weight };
    policies.iter_mut().for_each(|policy| policy.learn(&Event::Discovered(found)));
}

fn observe(
    id: usize,
    now: f64,
    kind: FetchKind,
    before: Option<f64>,
    content: Content<'_>,
) -> Observation<'_> {
    let (page, previous) = (PageId(id as u32), before.map(at));
    Observation { page, at: at(now), kind, previous, outcome: Outcome::Fetched(content) }
}
