//! The tape: every input of a [`Frontier`], in order.
//!
//! A frontier reads no clock and draws no ambient randomness, so its inputs determine its state.
//! The crawler writes every input to its store; playing the tape, at the next start or in the lab,
//! restores the same frontier and takes the same decisions again. The tape records decisions too,
//! so that a replay can be checked.

use serde::{Deserialize, Serialize};
use tidewatch_core::{
    Asked, Content, Discovery, Doubted, Event, FetchKind, HostId, Interest, LinkSeen, Observation,
    Outcome, PageId, PageKey, Rate, Reason, Signal, Span, Time,
};

use crate::{
    Answer, Command, Frontier, HostMemo, Limits, Next, Politeness, Revisit, RobotsRead, ServerId,
    SlowLane,
};

/// One input. Page URLs are not on the tape: the store's table of pages has them, by page number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// The next host became known.
    Host,
    /// The next page became known.
    Page {
        /// Its host.
        host: HostId,
        /// When.
        at: Time,
        /// The page whose link named it.
        via: Option<PageId>,
        /// Whether it is watched for new links.
        is_source: bool,
        /// Importance given from outside.
        weight: f64,
    },
    /// A fetch ended, as the policy hears it.
    Fetched(Fetched),
    /// The search log was read.
    Log(Vec<Interest>),
    /// The queries of the search log were read.
    Queries(Vec<Query>),
    /// A hint came in.
    Hint {
        /// The page hinted at.
        page: PageId,
        /// When.
        at: Time,
        /// The kind of hint.
        kind: String,
    },
    /// The budget changed, in fetches per second.
    Budget {
        /// The new one.
        budget: Rate,
        /// When.
        at: Time,
    },
    /// A host's name was resolved.
    Resolved {
        /// The host.
        host: HostId,
        /// Its address's number.
        server: ServerId,
        /// When that expires.
        good_until: Time,
        /// When.
        at: Time,
    },
    /// A host's robots.txt was read.
    Robots {
        /// The host.
        host: HostId,
        /// What it said.
        read: RobotsRead,
        /// When.
        at: Time,
    },
    /// A page request ended, as politeness sees it.
    Left {
        /// The host.
        host: HostId,
        /// How it went.
        answer: Answer,
        /// How long it took.
        took: Span,
        /// When.
        at: Time,
    },
    /// A job ended without a page request.
    GivenUp {
        /// The host.
        host: HostId,
        /// The answer that ended it, if any, and how long it took.
        answer: Option<(Answer, Span)>,
        /// When.
        at: Time,
    },
    /// A host was closed.
    Closed {
        /// The host.
        host: HostId,
        /// Until when.
        until: Time,
    },
    /// [`Frontier::next`] was called and changed the state.
    Asked {
        /// When.
        at: Time,
        /// The decision.
        decided: Option<Command>,
    },
    /// The operator set other rules.
    Rules {
        /// Politeness rules.
        politeness: Politeness,
        /// Concurrency limits.
        limits: Limits,
    },
    /// The crawler restarted: all jobs are lost.
    Resumed {
        /// When.
        at: Time,
    },
    /// The operator set the least time between two requests to a host.
    HostGap {
        /// The host.
        host: HostId,
        /// The time; `None` for the usual one.
        gap: Option<Span>,
    },
    /// The operator set how long pages rest between two fetches.
    Revisit(Revisit),
    /// The policy panicked over an input, and another one took its place
    /// ([`Frontier::fall_back`]).
    FellBack {
        /// The input, which stands for itself: it is not on the tape a second time.
        over: Box<Input>,
        /// What the panic said.
        why: String,
    },
    /// The operator gave slow requests slots of their own.
    SlowLane(SlowLane),
    /// What kept a page from being fetched is gone: it counts as never tried.
    PageReopened {
        /// The page.
        page: PageId,
        /// When.
        at: Time,
    },
    /// What kept a host from being asked is gone: it counts as well.
    HostReopened {
        /// The host.
        host: HostId,
        /// When.
        at: Time,
    },
    /// The doubt about a page changed.
    Doubted(Doubted),
}

/// A query from the search log, owned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// The words.
    pub words: String,
    /// How often it was asked.
    pub count: f64,
    /// Share of the need that the collection leaves unmet.
    pub need: f64,
}

/// A fetch that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fetched {
    /// The page.
    pub page: PageId,
    /// When.
    pub at: Time,
    /// The purpose of the fetch.
    pub kind: FetchKind,
    /// Time of the previous successful fetch.
    pub previous: Option<Time>,
    /// The outcome.
    pub outcome: Came,
}

/// The outcome of a fetch, owned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Came {
    /// A page.
    Content {
        /// Whether a reader would see a difference.
        changed: Option<bool>,
        /// When the server says that it changed.
        last_modified: Option<Time>,
        /// Smallest fragment hashes.
        sketch: Vec<u64>,
        /// Links, in page order.
        links: Vec<LinkSeen>,
        /// The anchor text of each link.
        anchors: Vec<String>,
    },
    /// The page is gone.
    Gone,
    /// The fetch failed and tells nothing about the page.
    Failed(Reason),
}

/// A replayed decision differs from the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tape does not fit: at {at} it says that {then:?} was decided, but the policy now decides \
     {now:?}; it was recorded with another policy or version"
)]
pub struct Diverged {
    at: Time,
    then: Option<Command>,
    now: Option<Command>,
}

/// The URLs of pages, which a tape leaves out.
pub trait Names {
    /// The URL of the next page on the tape.
    fn next_url(&mut self) -> String;
}

impl Input {
    /// When it happened; `None` for inputs without a time.
    pub fn at(&self) -> Option<Time> {
        match *self {
            Input::Page { at, .. }
            | Input::Hint { at, .. }
            | Input::Budget { at, .. }
            | Input::Resolved { at, .. }
            | Input::Robots { at, .. }
            | Input::Left { at, .. }
            | Input::GivenUp { at, .. }
            | Input::Asked { at, .. }
            | Input::Resumed { at }
            | Input::PageReopened { at, .. }
            | Input::HostReopened { at, .. } => Some(at),
            Input::Fetched(ref fetched) => Some(fetched.at),
            Input::Doubted(said) => Some(said.at),
            Input::FellBack { ref over, .. } => over.at(),
            Input::Host
            | Input::Log(_)
            | Input::Queries(_)
            | Input::Closed { .. }
            | Input::HostGap { .. }
            | Input::Rules { .. }
            | Input::Revisit(_)
            | Input::SlowLane(_) => None,
        }
    }
}

impl Frontier<'_> {
    /// Plays one input. A decision is taken again and must come out the same.
    pub fn play(&mut self, input: &Input, names: &mut dyn Names) -> Result<(), Diverged> {
        match *input {
            Input::Host => {
                self.add_host(HostMemo::default());
            }
            Input::Page { host, at, via, is_source, weight } => {
                let (page, url) = (self.next_page(), names.next_url());
                let (key, url) = (PageKey::of(&url), url.as_str());
                let is_held = false;
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
            Input::Fetched(ref fetched) => self.learn_fetched(fetched),
            Input::Log(ref log) => self.learn(&Event::Log(log)),
            Input::Queries(ref queries) => {
                let asked: Vec<Asked<'_>> = queries.iter().map(Query::asked).collect();
                self.learn(&Event::Asked(&asked));
            }
            Input::Hint { page, at, ref kind } => {
                self.learn(&Event::Hinted(Signal { page, at, kind }));
            }
            Input::Budget { budget, at } => self.set_budget(budget, at),
            Input::Resolved { host, server, good_until, at } => {
                self.resolved(host, server, good_until, at);
            }
            Input::Robots { host, read, at } => self.robots_read(host, &read, at),
            Input::Left { host, answer, took, at } => self.fetched(host, answer, took, at),
            Input::GivenUp { host, answer, at } => self.given_up(host, answer, at),
            Input::Closed { host, until } => self.close(host, until),
            Input::Rules { politeness, limits } => self.set_rules(politeness, limits),
            Input::Asked { at, decided } => return self.ask_again(at, decided),
            Input::HostGap { host, gap } => self.set_gap(host, gap),
            Input::Resumed { at } => self.resume(at),
            Input::Revisit(rule) => self.set_revisit(rule),
            Input::SlowLane(lane) => self.set_slow_lane(lane),
            Input::PageReopened { page, at } => self.reopen_page(page, at),
            Input::HostReopened { host, at } => self.reopen_host(host, at),
            Input::Doubted(said) => self.learn(&Event::Doubted(said)),
            Input::FellBack { ref over, .. } => {
                self.silence();
                if !matches!(**over, Input::Asked { .. }) {
                    self.play(over, names)?;
                }
                self.fall_back();
            }
        }
        Ok(())
    }

    /// Gives an input to the policy only, as before a panic: a decision is asked for and not carried
    /// out. The frontier is good for nothing but [`Frontier::fall_back`] afterwards.
    pub fn provoke(&mut self, over: &Input, names: &mut dyn Names) -> Result<(), Diverged> {
        match *over {
            Input::Asked { at, .. } => {
                self.choose_only(at);
                Ok(())
            }
            _ => self.play(over, names),
        }
    }

    fn learn_fetched(&mut self, fetched: &Fetched) {
        let words: Vec<&str>;
        let outcome = match &fetched.outcome {
            Came::Content { changed, last_modified, sketch, links, anchors } => {
                words = anchors.iter().map(String::as_str).collect();
                Outcome::Fetched(Content {
                    changed: *changed,
                    last_modified: *last_modified,
                    sketch,
                    links,
                    anchors: &words,
                })
            }
            Came::Gone => Outcome::Gone,
            Came::Failed(reason) => Outcome::Failed(*reason),
        };
        let Fetched { page, at, kind, previous, .. } = *fetched;
        self.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }

    fn ask_again(&mut self, at: Time, then: Option<Command>) -> Result<(), Diverged> {
        let now = match self.next(at) {
            Next::Do(command) => Some(command),
            Next::Wait(_) => None,
        };
        if now == then { Ok(()) } else { Err(Diverged { at, then, now }) }
    }
}

impl Query {
    fn asked(&self) -> Asked<'_> {
        Asked { words: &self.words, count: self.count, need: self.need }
    }
}
