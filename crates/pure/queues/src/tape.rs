//! The tape: every input of [`Queues`](crate::Queues), in order.
//!
//! URLs are not on the tape: whoever keeps it has a table of them, by number.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Rate, Span, Time};

use crate::Print;

/// A crawl: dense, counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CrawlId(pub u32);

/// One input. Its numbers must be ones that [`Queues`](crate::Queues) gave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// The next crawl became known.
    Crawl {
        /// Its name.
        name: Box<str>,
    },
    /// The next queue became known.
    Queue {
        /// Its crawl.
        crawl: CrawlId,
        /// Its key.
        key: Box<str>,
    },
    /// A URL was put.
    Put {
        /// When.
        at: Time,
        /// Where.
        queue: HostId,
        /// The URL's hash.
        print: Print,
        /// What was said of it.
        news: News,
        /// What a policy may learn; boxed, as few URLs bring any.
        facts: Option<Box<Facts>>,
    },
    /// Somebody asked for URLs.
    Take {
        /// When.
        at: Time,
        /// For which.
        want: Want,
        /// What was given out.
        taken: Vec<PageId>,
    },
    /// The least time between two answers from a queue was set.
    Gap {
        /// When.
        at: Time,
        /// The queue; `None` for all that have no gap of their own.
        queue: Option<HostId>,
        /// The time.
        gap: Span,
    },
    /// A queue was closed.
    Block {
        /// When.
        at: Time,
        /// The queue.
        queue: HostId,
        /// Until when.
        until: Time,
    },
    /// The number of done URLs after which a queue is closed was set.
    Limit {
        /// When.
        at: Time,
        /// The queue.
        queue: HostId,
        /// The number; 0 for none.
        limit: u32,
    },
    /// Everything was stopped or started.
    Active {
        /// When.
        at: Time,
        /// Whether URLs are given out.
        is_active: bool,
    },
    /// A queue was dropped.
    DropQueue {
        /// When.
        at: Time,
        /// The queue.
        queue: HostId,
    },
    /// A crawl was dropped.
    DropCrawl {
        /// When.
        at: Time,
        /// The crawl.
        crawl: CrawlId,
    },
    /// Old URLs were dropped: one part of the work.
    Purge {
        /// When.
        at: Time,
        /// Of which crawl.
        crawl: CrawlId,
        /// Of which queue; `None` for all.
        queue: Option<HostId>,
        /// Put before this time.
        before: Time,
        /// The first URL to look at.
        from: PageId,
        /// Most URLs to drop.
        most: u32,
    },
    /// Time passed. Every input ends the leases that are over, this one does nothing else.
    Tick {
        /// When.
        at: Time,
    },
    /// The budget of the managed order was set, in URLs per second.
    Budget {
        /// When.
        at: Time,
        /// The new one.
        budget: Rate,
    },
}

/// What was said of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// It exists.
    Discovered,
    /// It was fetched and is due again at this time; [`Time::NEVER`] if it is done.
    Fetched(Time),
}

/// What a policy may learn from a URL that was put.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Importance.
    pub weight: Option<f64>,
    /// Clicks since it was last put.
    pub clicks: Option<f64>,
    /// Whether it is watched for new links.
    pub is_source: bool,
    /// The page that revealed it.
    pub via: Option<PageId>,
    /// The kind of a hint that it may have changed.
    pub hint: Option<Box<str>>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Whether its content changed.
    pub changed: Option<bool>,
    /// A hash of its content.
    pub digest: Option<u64>,
    /// Pages that it links to.
    pub links: Vec<PageId>,
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// Of which crawl; `None` for any.
    pub crawl: Option<CrawlId>,
    /// Of which queue; `None` for any.
    pub queue: Option<HostId>,
    /// From at most this many queues.
    pub queues: u32,
    /// At most this many URLs of each.
    pub urls: u32,
    /// For how long.
    pub lease: Span,
}

impl Input {
    /// When it happened; `None` for inputs without a time.
    pub fn at(&self) -> Option<Time> {
        match *self {
            Input::Crawl { .. } | Input::Queue { .. } => None,
            Input::Put { at, .. }
            | Input::Take { at, .. }
            | Input::Gap { at, .. }
            | Input::Block { at, .. }
            | Input::Limit { at, .. }
            | Input::Active { at, .. }
            | Input::DropQueue { at, .. }
            | Input::DropCrawl { at, .. }
            | Input::Purge { at, .. }
            | Input::Tick { at }
            | Input::Budget { at, .. } => Some(at),
        }
    }
}
