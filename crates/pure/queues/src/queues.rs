//! The state machine: inputs in, effects out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Span, Time};
use tidewatch_policy::Policy;

use crate::agenda::Crawl;
use crate::figures::Figures;
use crate::leases::Leases;
use crate::managed::Managed;
use crate::queue::Queue;
use crate::tape::{CrawlId, Facts, Input, News};
use crate::urls::{Print, State, Urls, second, second_after};

/// The gap of queues that have none of their own.
const USUAL_GAP: Span = Span::SECOND;

/// Crawls, queues, URLs and leases. The crate's docs tell what is promised.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::struct_field_names, reason = "queues are what it is about")]
pub struct Queues {
    pub(crate) now: Time,
    pub(crate) is_active: bool,
    pub(crate) gap: Span,
    pub(crate) crawls: Vec<Crawl>,
    pub(crate) names: BTreeMap<Box<str>, CrawlId>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) urls: Urls,
    pub(crate) leases: Leases,
    pub(crate) managed: Option<Managed>,
}

/// What an input led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing that the input does not say.
    None,
    /// A URL was put.
    Put {
        /// Its number.
        page: PageId,
        /// Whether it was not known.
        is_new: bool,
    },
    /// URLs were given out, those of a queue together.
    Taken(Vec<PageId>),
    /// Queues were dropped with all their URLs.
    Dropped {
        /// The queues.
        queues: Vec<HostId>,
        /// How many URLs.
        urls: u64,
    },
    /// URLs were dropped.
    Purged {
        /// Which.
        pages: Vec<PageId>,
        /// Where to go on; `None` if all have been looked at.
        next: Option<PageId>,
    },
}

/// How a replay treats decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// They are taken again and must come out the same.
    Decide,
    /// They are taken from the tape, as another order took them.
    Follow,
}

/// A replayed decision differs from the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tape does not fit: at {at} it says that {then} URLs were given out, and now other ones \
     are ({now}); it was recorded with another order or version"
)]
pub struct Diverged {
    at: Time,
    then: usize,
    now: usize,
}

impl Default for Queues {
    fn default() -> Self {
        Queues {
            now: Time::ZERO,
            is_active: true,
            gap: USUAL_GAP,
            crawls: Vec::new(),
            names: BTreeMap::new(),
            queues: Vec::new(),
            urls: Urls::default(),
            leases: Leases::default(),
            managed: None,
        }
    }
}

impl Queues {
    /// With a policy that chooses.
    pub fn managed_by(policy: Box<dyn Policy>) -> Self {
        Queues { managed: Some(Managed::new(policy)), ..Queues::default() }
    }

    /// The policy, if one chooses.
    pub fn policy(&self) -> Option<&dyn Policy> {
        self.managed.as_ref().and_then(Managed::policy)
    }

    /// Completes queues that were deserialised.
    pub fn complete(&mut self, policy: Option<Box<dyn Policy>>) {
        let Queues { urls, queues, managed, .. } = self;
        urls.index_anew(|url| {
            let is_dropped = queues.get(url.queue.index()).is_none_or(Queue::is_dropped);
            url.state != State::Dropped && !is_dropped
        });
        if let (Some(managed), Some(policy)) = (managed, policy) {
            managed.set_policy(policy);
        }
    }

    /// Whether leases are over at `now` that no input has ended yet.
    pub fn has_ended_leases(&self, now: Time) -> bool {
        self.leases.first_end().is_some_and(|end| end <= now)
    }

    /// Ends the leases that are over at `now`.
    fn age(&mut self, now: Time) {
        while let Some(page) = self.leases.ended(now) {
            if self.moves(page, State::Waiting, None)
                && let Some(managed) = &mut self.managed
            {
                managed.came_to_nothing(page, now);
            }
        }
    }

    /// Applies an input. `url` is the URL of [`Input::Put`]; only a policy wants it.
    pub fn apply(&mut self, input: &Input, url: &str) -> Effect {
        self.play(input, url, None).unwrap_or(Effect::None)
    }

    /// Applies an input from a tape.
    pub fn replay(&mut self, input: &Input, url: &str, how: Replay) -> Result<(), Diverged> {
        self.play(input, url, Some(how)).map(|_| ())
    }

    fn play(&mut self, input: &Input, url: &str, how: Option<Replay>) -> Result<Effect, Diverged> {
        if let Some(at) = input.at() {
            self.now = self.now.max(at);
            self.age(self.now);
        }
        Ok(match *input {
            Input::Crawl { ref name } => self.add_crawl(name),
            Input::Queue { crawl, ref key } => self.add_queue(crawl, key),
            Input::Put { queue, print, news, ref facts, .. } => {
                self.put(queue, print, news, facts.as_deref(), url)
            }
            Input::Take { at, ref want, ref taken } => match how {
                None => Effect::Taken(self.take(want)),
                Some(Replay::Follow) => {
                    self.follow(taken, want.lease);
                    Effect::None
                }
                Some(Replay::Decide) => {
                    let now = self.take(want);
                    if now != *taken {
                        return Err(Diverged { at, then: taken.len(), now: now.len() });
                    }
                    Effect::None
                }
            },
            Input::Gap { queue: None, gap, .. } => self.set_usual_gap(gap),
            Input::Gap { queue: Some(queue), gap, .. } => {
                self.rule(queue, |queue| queue.set_gap(gap))
            }
            Input::Block { queue, until, .. } => self.rule(queue, |queue| queue.block(until)),
            Input::Limit { queue, limit, .. } => self.rule(queue, |queue| queue.set_limit(limit)),
            Input::Active { is_active, .. } => {
                self.is_active = is_active;
                Effect::None
            }
            Input::DropQueue { queue, .. } => {
                let urls = self.drop_queue(queue);
                Effect::Dropped { queues: vec![queue], urls }
            }
            Input::DropCrawl { crawl, .. } => self.drop_crawl(crawl),
            Input::Purge { crawl, queue, before, from, most, .. } => {
                self.purge(crawl, queue, second(before), from, most)
            }
            Input::Tick { .. } => Effect::None,
            Input::Budget { at, budget } => {
                if let Some(managed) = &mut self.managed {
                    managed.set_budget(budget, at);
                }
                Effect::None
            }
        })
    }

    fn add_crawl(&mut self, name: &str) -> Effect {
        self.names.insert(name.into(), self.next_crawl());
        self.crawls.push(Crawl::new(name.into()));
        Effect::None
    }

    fn add_queue(&mut self, crawl: CrawlId, key: &str) -> Effect {
        let queue = self.next_queue();
        if let Some(of) = self.crawls.get_mut(crawl.0 as usize) {
            of.queues.insert(key.into(), queue);
            self.queues.push(Queue::new(queue, crawl, key.into()));
            of.figures.add(Figures { queues: 1, ..Figures::default() });
        }
        Effect::None
    }

    fn put(
        &mut self,
        queue: HostId,
        print: Print,
        news: News,
        facts: Option<&Facts>,
        url: &str,
    ) -> Effect {
        let now = self.now;
        let (page, is_new) = match self.urls.find(print) {
            Some(page) => (page, false),
            None => (self.add_url(queue, print), true),
        };
        if let (true, Some(managed)) = (is_new, &mut self.managed) {
            managed.discovered(page, queue, url, facts, now);
        }
        if let News::Fetched(due) = news {
            self.leases.end(page);
            let due = (due < Time::NEVER).then(|| second_after(due));
            self.moves(page, due.map_or(State::Done, |_| State::Waiting), due);
        }
        if let Some(managed) = &mut self.managed {
            managed.put(page, news, facts, now);
        }
        Effect::Put { page, is_new }
    }

    fn add_url(&mut self, queue: HostId, print: Print) -> PageId {
        let put = second(self.now);
        let page = self.urls.add(queue, print, put);
        self.change(queue, |queue, urls| {
            queue.enter(State::Waiting);
            queue.push(page, put, urls);
        });
        page
    }

    /// Moves a URL from its state to another, with another due time if one is given. `false` if it was
    /// dropped.
    pub(crate) fn moves(&mut self, page: PageId, to: State, due: Option<u32>) -> bool {
        let Some(url) = self.urls.get_mut(page) else { return false };
        let (queue, from) = (url.queue, url.state);
        let is_dropped = self.queues.get(queue.index()).is_none_or(Queue::is_dropped);
        if is_dropped || from == State::Dropped {
            return false;
        }
        url.state = to;
        let had = url.due;
        url.due = due.unwrap_or(had);
        let due = url.due;
        let has_entry = from == State::Waiting && due == had;
        self.change(queue, |queue, urls| {
            queue.leave(from);
            queue.enter(to);
            if to == State::Waiting && !has_entry {
                queue.push(page, due, urls);
            }
        });
        true
    }

    /// Changes a queue, and with it the sums and the place in the order. A queue that is no longer full may
    /// open early.
    pub(crate) fn change(&mut self, queue: HostId, change: impl FnOnce(&mut Queue, &Urls)) {
        let Some(state) = self.queues.get_mut(queue.index()) else { return };
        let Some(crawl) = self.crawls.get_mut(state.crawl.0 as usize) else { return };
        let (before, was_full) = (Figures::of(state), state.is_full());
        change(state, &self.urls);
        crawl.figures.subtract(before);
        crawl.figures.add(Figures::of(state));
        let to = state.place(self.gap, &self.urls);
        let from = state.list(to);
        crawl.place(queue, from, to);
        let is_reopened = was_full && !state.is_full() && !state.is_dropped();
        if let Some(managed) = self.managed.as_mut().filter(|_| is_reopened) {
            managed.reopened(queue);
        }
    }

    /// Sets a rule of a queue, which may open it early.
    fn rule(&mut self, queue: HostId, set: impl FnOnce(&mut Queue)) -> Effect {
        self.change(queue, |queue, _| set(queue));
        if let Some(managed) = &mut self.managed {
            managed.reopened(queue);
        }
        Effect::None
    }

    fn set_usual_gap(&mut self, gap: Span) -> Effect {
        self.gap = gap;
        for queue in 0..self.queues.len() as u32 {
            self.rule(HostId(queue), |_| ());
        }
        Effect::None
    }

    fn drop_queue(&mut self, queue: HostId) -> u64 {
        let mut urls = 0;
        self.change(queue, |queue, _| {
            let counts = queue.drop_all();
            urls = u64::from(counts.waiting) + u64::from(counts.held) + u64::from(counts.done);
        });
        if let Some(state) = self.queues.get(queue.index())
            && let Some(crawl) = self.crawls.get_mut(state.crawl.0 as usize)
        {
            crawl.queues.remove(&state.key);
        }
        urls
    }

    fn drop_crawl(&mut self, id: CrawlId) -> Effect {
        let Some(crawl) = self.crawls.get(id.0 as usize) else { return Effect::None };
        let queues: Vec<HostId> = crawl.queues.values().copied().collect();
        self.names.remove(&crawl.name);
        let urls = queues.iter().map(|&queue| self.drop_queue(queue)).sum();
        self.crawls[id.0 as usize].clear();
        Effect::Dropped { queues, urls }
    }

    fn purge(
        &mut self,
        crawl: CrawlId,
        queue: Option<HostId>,
        before: u32,
        from: PageId,
        most: u32,
    ) -> Effect {
        let is_of = |of: HostId| match queue {
            Some(queue) => of == queue,
            None => self.queues.get(of.index()).is_some_and(|state| state.crawl == crawl),
        };
        let is_old = |page: PageId| {
            let alive =
                self.state(page).filter(|(of, state)| *state != State::Dropped && is_of(*of));
            alive.is_some()
        };
        let old = self.urls.from(from).filter(|(page, url)| url.put < before && is_old(*page));
        let pages: Vec<PageId> = old.map(|(page, _)| page).take(most as usize).collect();
        for &page in &pages {
            self.leases.end(page);
            self.moves(page, State::Dropped, None);
            self.urls.forget(page);
            if let Some(managed) = &mut self.managed {
                managed.dropped(page, self.now);
            }
        }
        let next = pages.last().filter(|_| pages.len() == most as usize);
        Effect::Purged { next: next.map(|page| PageId(page.0 + 1)), pages }
    }
}
