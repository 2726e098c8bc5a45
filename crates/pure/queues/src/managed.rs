//! The managed order: a policy chooses, and learns from what fetchers bring back.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen, Observation,
    Outcome, PageId, PageKey, Rate, Reason, Signal, Span, Time,
};
use tidewatch_policy::explanation::Merit;
use tidewatch_policy::{Choice, Gate, Policy};

use crate::tape::{Facts, News, Want};
use crate::urls::State;
use crate::{CrawlId, Queues};

/// Unspent budget stays good for so long: fetchers ask for many URLs at once, and then not for a while.
const GRACE: Span = Span::MINUTE;

/// A queue that is closed for longer is looked at again after so long. A policy may have several lists of
/// pages and look at one of them when it is told that a queue has opened early.
const LOOK: Span = Span::MINUTE;
/// So is a page that is done, of which there may be many: it may get a date.
const DONE_LOOK: Span = Span::HOUR;

/// A policy and what it must be told of the past.
#[derive(Serialize, Deserialize)]
pub(crate) struct Managed {
    #[serde(skip)]
    policy: Option<Box<dyn Policy>>,
    pages: Vec<Past>,
    budget: Rate,
    /// When the next URL may be given out.
    next: Time,
    /// The latest time that the policy was told.
    heard: Time,
    /// Queues whose rules changed since the policy was last asked.
    reopened: Vec<HostId>,
}

/// What is remembered of a page.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Past {
    fetched: Option<Time>,
    digest: Option<u64>,
    is_source: bool,
    is_from_source: bool,
}

impl fmt::Debug for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").field("pages", &self.pages.len()).finish_non_exhaustive()
    }
}

impl Managed {
    pub(crate) fn new(policy: Box<dyn Policy>) -> Self {
        Managed {
            policy: Some(policy),
            pages: Vec::new(),
            budget: Rate::ZERO,
            next: Time::ZERO,
            heard: Time::ZERO,
            reopened: Vec::new(),
        }
    }

    pub(crate) fn policy(&self) -> Option<&dyn Policy> {
        self.policy.as_deref()
    }

    pub(crate) fn set_policy(&mut self, policy: Box<dyn Policy>) {
        self.policy = Some(policy);
    }

    pub(crate) const fn budget(&self) -> Rate {
        self.budget
    }

    fn learn(&mut self, event: &Event<'_>) {
        if let Some(policy) = &mut self.policy {
            policy.learn(event);
        }
    }

    pub(crate) fn set_budget(&mut self, budget: Rate, now: Time) {
        self.budget = budget;
        self.next = self.next.min(now + budget.gap());
        self.learn(&Event::Budget(budget));
    }

    /// Whether the budget allows another URL.
    pub(crate) fn may_spend(&self, now: Time) -> bool {
        self.next <= now
    }

    pub(crate) fn spend(&mut self, now: Time) {
        self.next = self.next.max(now - GRACE) + self.budget.gap();
    }

    /// A queue may have opened early.
    pub(crate) fn reopened(&mut self, queue: HostId) {
        self.reopened.push(queue);
    }

    pub(crate) fn choose(&mut self, now: Time, gate: &QueueGate<'_>) -> Option<PageId> {
        self.heard = self.heard.max(now);
        let reopened = std::mem::take(&mut self.reopened);
        let gate = Reopened { gate, reopened: &reopened };
        match self.policy.as_mut()?.choose(now, &gate) {
            Choice::Fetch(page) => Some(page),
            Choice::Idle => None,
        }
    }

    pub(crate) fn discovered(
        &mut self,
        page: PageId,
        host: HostId,
        url: &str,
        facts: Option<&Facts>,
        at: Time,
    ) {
        let via = facts.and_then(|facts| facts.via).filter(|via| *via < page);
        let past = Past {
            is_source: facts.is_some_and(|facts| facts.is_source),
            is_from_source: via.is_some_and(|via| self.pages[via.index()].is_source),
            ..Past::default()
        };
        self.pages.push(past);
        let (key, is_source, is_held) = (PageKey::of(url), past.is_source, false);
        let weight = facts.and_then(|facts| facts.weight).unwrap_or(1.0);
        self.learn(&Event::Discovered(Discovery {
            page,
            host,
            key,
            url,
            at,
            via,
            is_source,
            is_held,
            weight,
        }));
    }

    /// What was said of a page, new or not.
    pub(crate) fn put(&mut self, page: PageId, news: News, facts: Option<&Facts>, at: Time) {
        if let News::Fetched(due) = news {
            self.fetched(page, due, facts.unwrap_or(&Facts::default()), at);
        }
        let Some(facts) = facts else { return };
        if let Some(count) = facts.clicks {
            // They came before they were told. The policy counts a log as complete until the time that it
            // was told last, and what came later waits for the next one.
            let at = Time::from_micros(at.min(self.heard).as_micros().saturating_sub(1));
            let kind = InterestKind::Click;
            self.learn(&Event::Log(&[Interest { page, at, count, kind }]));
        }
        if let Some(kind) = &facts.hint {
            self.learn(&Event::Hinted(Signal { page, at, kind }));
        }
    }

    fn fetched(&mut self, page: PageId, due: Time, facts: &Facts, at: Time) {
        self.heard = self.heard.max(at);
        let Some(past) = self.pages.get_mut(page.index()) else { return };
        let (kind, previous) = (past.kind(), past.fetched);
        let links: Vec<LinkSeen> =
            facts.links.iter().map(|&page| LinkSeen { page, is_new: false }).collect();
        let outcome = match facts.status {
            None if due == Time::NEVER && facts.changed.is_none() && facts.digest.is_none() => {
                Outcome::Gone
            }
            None | Some(200..=399) => {
                let differs = facts.digest.zip(past.digest).map(|(new, old)| new != old);
                let changed = previous.and(facts.changed.or(differs));
                past.fetched = Some(at);
                past.digest = facts.digest.or(past.digest);
                Outcome::Fetched(Content { changed, links: &links, ..Content::default() })
            }
            Some(404 | 410) => Outcome::Gone,
            Some(status) => Outcome::Failed(reason(status)),
        };
        self.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }

    /// A page that was given out did not come back.
    pub(crate) fn came_to_nothing(&mut self, page: PageId, at: Time) {
        let past = self.pages.get(page.index()).copied().unwrap_or_default();
        let outcome = Outcome::Failed(Reason::OwnStop);
        let (kind, previous) = (past.kind(), past.fetched);
        self.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }

    /// A page is no longer known.
    pub(crate) fn dropped(&mut self, page: PageId, at: Time) {
        let past = self.pages.get(page.index()).copied().unwrap_or_default();
        let (kind, previous, outcome) = (past.kind(), past.fetched, Outcome::Gone);
        self.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }
}

impl Past {
    fn kind(&self) -> FetchKind {
        match self {
            Past { is_source: true, .. } => FetchKind::Source,
            Past { fetched: Some(_), .. } => FetchKind::Refresh,
            Past { is_from_source: true, .. } => FetchKind::New,
            _ => FetchKind::Frontier,
        }
    }
}

const fn reason(status: u16) -> Reason {
    match status {
        503 => Reason::Unavailable,
        500..=599 => Reason::ServerError,
        429 => Reason::TooManyRequests,
        401 | 403 | 451 => Reason::Forbidden,
        _ => Reason::ClientError,
    }
}

/// One question for URLs: how many each queue gave.
pub(crate) struct Round {
    crawl: Option<CrawlId>,
    queue: Option<HostId>,
    queues: u32,
    urls: u32,
    gave: FxHashMap<HostId, u32>,
}

impl Round {
    pub(crate) fn new(want: &Want) -> Self {
        let Want { crawl, queue, queues, urls, .. } = *want;
        Round { crawl, queue, queues, urls, gave: FxHashMap::default() }
    }

    pub(crate) fn note(&mut self, queue: HostId) {
        *self.gave.entry(queue).or_default() += 1;
    }
}

/// Queues as a policy sees them during one question.
pub(crate) struct QueueGate<'q> {
    pub(crate) queues: &'q Queues,
    pub(crate) round: &'q Round,
}

impl QueueGate<'_> {
    /// Whether this question may not be answered from a queue that is open for others.
    fn is_shut(&self, queue: HostId, crawl: CrawlId, held: u32) -> bool {
        let round = self.round;
        let is_unwanted = round.crawl.is_some_and(|wanted| wanted != crawl)
            || round.queue.is_some_and(|wanted| wanted != queue);
        let is_out = match round.gave.get(&queue) {
            Some(&gave) => gave >= round.urls,
            None => round.gave.len() >= round.queues as usize || held >= round.urls,
        };
        is_unwanted || is_out
    }
}

/// A gate and the queues that may have opened before their time.
struct Reopened<'g> {
    gate: &'g QueueGate<'g>,
    reopened: &'g [HostId],
}

impl Gate for Reopened<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        let QueueGate { queues, round } = self.gate;
        let Some(queue) = queues.queues.get(host.index()) else { return Time::NEVER };
        let opens = queue.opens_at(queues.gap);
        let is_in_use = round.gave.contains_key(&host) && opens < Time::NEVER;
        if queue.is_dropped() {
            return Time::NEVER;
        }
        if opens > queues.now && !is_in_use {
            return opens.min(queues.now + LOOK);
        }
        if self.gate.is_shut(host, queue.crawl, queue.counts().held) {
            // Open again for the next question, which comes later.
            return queues.now + Span::from_micros(1);
        }
        Time::ZERO
    }

    fn reopened(&self) -> &[HostId] {
        self.reopened
    }

    fn page_opens_at(&self, page: PageId) -> Time {
        let queues = self.gate.queues;
        match queues.state(page) {
            Some((_, State::Waiting)) => Time::ZERO,
            Some((_, State::Held)) => queues.held_until(page).unwrap_or(Time::NEVER),
            Some((_, State::Done)) => queues.now + DONE_LOOK,
            Some((_, State::Dropped)) | None => Time::NEVER,
        }
    }
}

/// What a policy says of a page that it chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// What the fetch brings, in clicks.
    pub worth: f64,
    /// What the marginal fetch brings.
    pub price: f64,
}

impl Queues {
    /// What the policy says of a page; `None` without a price, or if nothing is known of the page.
    pub fn worth(&self, page: PageId) -> Option<Worth> {
        let why = self.policy()?.why(page, self.now)?;
        match why.merit {
            Merit::Clicks { worth: Some(worth), price, .. } => Some(Worth { worth, price }),
            _ => None,
        }
    }
}
