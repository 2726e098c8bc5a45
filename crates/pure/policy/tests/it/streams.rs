//! Random event streams: a small web that fails, moves, hints and is clicked, drawn from a seed.

use tidewatch_core::{
    Asked, Content, Discovery, Doubted, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen,
    Observation, Outcome, PageId, PageKey, Rate, Signal, Span, Time,
};
use tidewatch_math::Draws;
use tidewatch_policy::{Choice, Gate, Policy};

const HOSTS: u32 = 12;
const WORDS: [&str; 6] = ["tide", "goal", "vote", "rain", "opera", "index"];

/// How large the numbers of a stream are.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// Weights and counts are 10^x for x uniform in this range.
    pub(crate) magnitude: (f64, f64),
    /// Seconds between choices, likewise.
    pub(crate) gap: (f64, f64),
    /// Budgets in fetches a second, likewise.
    pub(crate) budget: (f64, f64),
}

struct Page {
    host: HostId,
    is_source: bool,
    is_held: bool,
    fetched: Option<Time>,
    version: u64,
}

/// The web and how far the stream has come.
pub(crate) struct Stream {
    draws: Draws,
    scale: Scale,
    pages: Vec<Page>,
    now: Time,
    opens: Vec<Time>,
}

struct Gates<'a>(&'a [Time]);

impl Gate for Gates<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        self.0[host.index()]
    }
}

impl Stream {
    pub(crate) fn new(seed: u64, scale: Scale) -> Self {
        let draws = Draws::of(seed, "policy.streams", 0);
        let opens = vec![Time::ZERO; HOSTS as usize];
        Stream { draws, scale, pages: Vec::new(), now: Time::ZERO, opens }
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    fn power(&mut self, (from, to): (f64, f64)) -> f64 {
        10f64.powf(from + (to - from) * self.draws.uniform())
    }

    fn any_page(&mut self) -> PageId {
        PageId(self.draws.below(self.pages.len() as u64) as u32)
    }

    pub(crate) fn begin(&mut self, policy: &mut dyn Policy) {
        self.set_budget(policy);
        for page in 0..40u32 {
            let is_held = page % 3 != 0;
            self.discover(policy, None, page % 5 == 0, is_held);
            if is_held {
                let (page, at) = (PageId(page), self.now);
                let outcome = Outcome::Fetched(Content::default());
                let kind = FetchKind::Refresh;
                let held = Observation { page, at, kind, previous: None, outcome };
                policy.learn(&Event::Held(held));
                self.pages[page.index()].fetched = Some(at);
            }
        }
    }

    fn set_budget(&mut self, policy: &mut dyn Policy) {
        let budget = self.power(self.scale.budget);
        policy.learn(&Event::Budget(Rate::per_second(budget).unwrap()));
    }

    fn discover(
        &mut self,
        policy: &mut dyn Policy,
        via: Option<PageId>,
        is_source: bool,
        is_held: bool,
    ) -> PageId {
        let page = PageId(self.pages.len() as u32);
        let host = HostId(self.draws.below(u64::from(HOSTS)) as u32);
        let word = WORDS[self.draws.below(6) as usize];
        let url = format!("https://h{}.test/{word}/{}", host.0, page.0);
        let weight = self.power(self.scale.magnitude);
        let key = PageKey::of(&url);
        let at = self.now;
        let found = Discovery { page, host, key, url: &url, at, via, is_source, is_held, weight };
        policy.learn(&Event::Discovered(found));
        self.pages.push(Page { host, is_source, is_held, fetched: None, version: 0 });
        page
    }

    /// One choice and its outcome, with whatever else happens meanwhile.
    pub(crate) fn step(&mut self, policy: &mut dyn Policy) -> Choice {
        let gap = self.power(self.scale.gap);
        self.now = self.now + Span::from_seconds(gap).unwrap();
        match self.draws.below(40) {
            0 => self.log(policy),
            1 => {
                let (page, at) = (self.any_page(), self.now);
                let kind = ["sitemap", "feed"][self.draws.below(2) as usize];
                policy.learn(&Event::Hinted(Signal { page, at, kind }));
            }
            2 => {
                let (count, need) = (self.power(self.scale.magnitude), self.draws.uniform());
                let words = WORDS[self.draws.below(6) as usize];
                policy.learn(&Event::Asked(&[Asked { words, count, need }]));
            }
            3 if self.draws.below(8) == 0 => self.set_budget(policy),
            4 => _ = self.discover(policy, None, false, false),
            5 => {
                let (page, at, doubt) = (self.any_page(), self.now, self.draws.uniform());
                policy.learn(&Event::Doubted(Doubted { page, at, doubt }));
            }
            _ => {}
        }
        let choice = policy.choose(self.now, &Gates(&self.opens));
        if let Choice::Fetch(page) = choice {
            self.fetch(policy, page);
        }
        choice
    }

    fn log(&mut self, policy: &mut dyn Policy) {
        let mut rows = Vec::new();
        for _ in 0..self.draws.below(20) {
            let page = self.any_page();
            let count = self.power(self.scale.magnitude);
            let is_click = self.draws.below(3) > 0;
            let kind = if is_click { InterestKind::Click } else { InterestKind::View };
            if self.pages[page.index()].fetched.is_some() {
                rows.push(Interest { page, at: self.now, count, kind });
            }
        }
        policy.learn(&Event::Log(&rows));
    }

    fn fetch(&mut self, policy: &mut dyn Policy, page: PageId) {
        let host = self.pages[page.index()].host;
        if host.0 < 3 {
            let closed = self.power(self.scale.gap) * 4.0;
            self.opens[host.index()] = self.now + Span::from_seconds(closed).unwrap();
        }
        let previous = self.pages[page.index()].fetched;
        let (is_source, is_held) =
            (self.pages[page.index()].is_source, self.pages[page.index()].is_held);
        let kind = match (previous, is_source) {
            (Some(_), true) => FetchKind::Source,
            (Some(_), false) => FetchKind::Refresh,
            (None, _) if is_held => FetchKind::Refresh,
            (None, _) => FetchKind::Frontier,
        };
        let outcome = self.draws.below(60);
        let mut links = Vec::new();
        if outcome >= 6 {
            for _ in 0..self.draws.below(if is_source { 4 } else { 3 }) {
                if self.pages.len() < 3000 && self.draws.below(2) == 0 {
                    let is_source = self.draws.below(30) == 0;
                    let new = self.discover(policy, Some(page), is_source, false);
                    links.push(LinkSeen { page: new, is_new: true });
                } else {
                    links.push(LinkSeen { page: self.any_page(), is_new: false });
                }
            }
        }
        let changed = previous.map(|_| self.draws.below(3) == 0);
        let state = &mut self.pages[page.index()];
        state.version += u64::from(changed == Some(true));
        let version = state.version;
        let mut sketch: Vec<u64> = (0..8)
            .map(|item| if item < 3 { version } else { 99 } + 1000 * u64::from(page.0) + item)
            .map(|item| Draws::of(item, "policy.streams.sketch", 0).word())
            .collect();
        sketch.sort_unstable();
        let anchors: Vec<&str> =
            links.iter().map(|link| WORDS[link.page.index() % WORDS.len()]).collect();
        let has_sketch = page.0.is_multiple_of(2);
        let sketch = if has_sketch { &sketch[..] } else { &[] };
        let last_modified = changed.filter(|_| page.0.is_multiple_of(7)).map(|_| self.now);
        let content = Content { changed, last_modified, sketch, links: &links, anchors: &anchors };
        let outcome = match outcome {
            0 => Outcome::Gone,
            1..=3 => Outcome::Failed(tidewatch_core::Reason::ServerError),
            4 | 5 => Outcome::Failed(tidewatch_core::Reason::Redirect),
            _ => Outcome::Fetched(content),
        };
        if matches!(outcome, Outcome::Fetched(_)) {
            self.pages[page.index()].fetched = Some(self.now);
        }
        let seen = Observation { page, at: self.now, kind, previous, outcome };
        policy.learn(&Event::Fetched(seen));
    }
}
