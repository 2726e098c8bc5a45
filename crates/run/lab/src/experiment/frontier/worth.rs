//! What a policy thinks of every page of the frontier in the static setting: the fetched pages, their
//! links and their clicks are told as events, and the policy explains what a fetch of each page is worth.

use tidewatch_core::{
    Asked, Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen,
    Observation, Outcome, PageId, PageKey, Rate, Span, Time,
};
use tidewatch_policy::explanation::Merit;
use tidewatch_policy::{Gate, Policy};

use super::setting::{Kind, Setting};

/// Clicks on the fetched pages come within this time, before the frontier is judged.
const WATCHED: Span = Span::DAY.times(3);
/// Between a fetch and the log that tells of its clicks, and from then until the policy has learnt.
const SOON: Span = Span::HOUR.times(12);
const LEARNT: Span = Span::DAY.times(2);

/// No host may be fetched from: the policy is asked, but not obeyed.
struct Closed;

impl Gate for Closed {
    fn opens_at(&self, _: HostId) -> Time {
        Time::NEVER
    }
}

/// A policy and the numbers that its pages have.
struct Audience<'a> {
    policy: &'a mut dyn Policy,
    setting: &'a Setting,
    ids: Vec<Option<PageId>>,
    hosts: Vec<&'a str>,
    known: u32,
    now: Time,
}

/// What `policy` thinks each node is worth. It is told the impact of fetched pages as clicks and, if
/// `is_trained`, then that of the training frontier, fetched after that.
pub(super) fn worths(
    policy: &mut dyn Policy,
    setting: &Setting,
    kind: Kind,
    is_trained: bool,
) -> Vec<f64> {
    let nodes = setting.graph.len();
    let ids = vec![None; nodes];
    let mut told = Audience { policy, setting, ids, hosts: Vec::new(), known: 0, now: Time::ZERO };
    let budget = nodes as f64 / Span::WEEK.seconds();
    told.policy.learn(&Event::Budget(Rate::per_second(budget).unwrap_or(Rate::ZERO)));
    let asked = setting.queries.iter();
    let asked: Vec<Asked<'_>> =
        asked.map(|(words, count)| Asked { words, count: *count, need: 1.0 }).collect();
    told.policy.learn(&Event::Asked(&asked));
    let fetched: Vec<u32> =
        (0..nodes as u32).filter(|&node| !setting.is_frontier[node as usize]).collect();
    fetched.iter().for_each(|&node| {
        told.discover(node, None);
    });
    fetched.iter().for_each(|&node| told.hold(node));
    told.wait(WATCHED);
    let known = setting.known_impact(kind);
    told.log(&fetched, &known, Time::ZERO + WATCHED);
    if is_trained {
        for &node in &setting.training {
            told.fetch(node);
        }
        let at = told.now + Span::HOUR;
        told.wait(SOON);
        // The impact of all is over the same time.
        let part = SOON.seconds() / WATCHED.seconds();
        let early: Vec<f64> = setting.impact(kind).iter().map(|impact| part * impact).collect();
        told.log(&setting.training, &early, at);
        told.wait(LEARNT);
    }
    (0..nodes).map(|node| told.worth(node)).collect()
}

impl Audience<'_> {
    fn discover(&mut self, node: u32, via: Option<PageId>) -> PageId {
        let url = &*self.setting.urls[node as usize];
        let name = url.split('/').nth(2).unwrap_or_default();
        let host = self.hosts.iter().position(|host| *host == name).unwrap_or_else(|| {
            self.hosts.push(name);
            self.hosts.len() - 1
        });
        let page = PageId(self.known);
        self.known += 1;
        self.ids[node as usize] = Some(page);
        self.policy.learn(&Event::Discovered(Discovery {
            page,
            host: HostId(host as u32),
            key: PageKey::of(url),
            url,
            at: self.now,
            via,
            is_source: false,
            is_held: !self.setting.is_frontier[node as usize],
            weight: 1.0,
        }));
        page
    }

    /// Tells of a fetched page and its links.
    fn hold(&mut self, node: u32) {
        let page = self.ids[node as usize].unwrap_or_default();
        let targets = self.setting.graph.out.of(node);
        let links: Vec<LinkSeen> = targets
            .iter()
            .map(|&to| match self.ids[to as usize] {
                Some(page) => LinkSeen { page, is_new: false },
                None => LinkSeen { page: self.discover(to, Some(page)), is_new: true },
            })
            .collect();
        let content = Content { links: &links, ..Content::default() };
        self.policy.learn(&Event::Held(self.observe(page, content)));
    }

    /// Tells of a fetch of a page of the frontier, whose links stay unknown as they do to the other methods.
    fn fetch(&mut self, node: u32) {
        if let Some(page) = self.ids[node as usize] {
            self.policy.learn(&Event::Fetched(self.observe(page, Content::default())));
        }
    }

    fn observe<'c>(&self, page: PageId, content: Content<'c>) -> Observation<'c> {
        let outcome = Outcome::Fetched(content);
        Observation { page, at: self.now, kind: FetchKind::Frontier, previous: None, outcome }
    }

    fn wait(&mut self, span: Span) {
        self.now = self.now + span;
        self.policy.choose(self.now, &Closed);
    }

    fn log(&mut self, nodes: &[u32], impact: &[f64], at: Time) {
        let row = |&node: &u32| {
            let (page, count) = (self.ids[node as usize]?, impact[node as usize]);
            (count > 0.0).then_some(Interest { page, at, count, kind: InterestKind::Click })
        };
        let rows: Vec<Interest> = nodes.iter().filter_map(row).collect();
        self.policy.learn(&Event::Log(&rows));
        self.wait(Span::HOUR);
    }

    fn worth(&self, node: usize) -> f64 {
        let why = self.ids[node].and_then(|page| self.policy.why(page, self.now));
        match why.map(|why| why.merit) {
            Some(Merit::Clicks { worth: Some(worth), .. }) => worth,
            _ => 0.0,
        }
    }
}
