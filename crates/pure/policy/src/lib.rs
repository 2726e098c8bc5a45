//! What is a fetch worth, when is a page due, what is the price?
//!
//! Pure: a policy is told events and asked for choices. It reads no clock, no
//! file and no ambient randomness, so the live crawler and the lab run the very
//! same code, and the lab can replay what the crawler decided.
//!
//! To add a policy, write a file that implements [`Policy`] and add a line to
//! [`registry::POLICIES`].

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod agenda;
mod due;
pub mod echo;
pub mod explanation;
pub mod frontier;
pub mod longevity;
mod observed;
pub mod order;
pub mod peers;
pub mod price;
pub mod refresh;
pub mod registry;
mod rounds;
pub mod saved;

use std::io;

use tidewatch_core::{Event, HostId, PageId, Time};

pub use agenda::{Agenda, Highest};
pub use explanation::{Explanation, HintRecord, Standing, WhatIf};
pub use price::demand::DemandCurve;
pub use registry::Setup;

/// Decides which page is fetched next.
///
/// The life of a policy: it is told the budget, then everything the crawler
/// learns, in order ([`Policy::learn`]). Whenever the budget allows a fetch it
/// is asked for one ([`Policy::choose`]). The live crawler fetches in parallel,
/// so it may ask for further choices before the outcome of the first is known; a
/// chosen page is under way until its `Fetched` event comes.
///
/// Same events, same seed, same choices: nothing else may influence it. The
/// methods that take `&self` only look.
pub trait Policy: Send {
    /// Takes note of an event.
    fn learn(&mut self, event: &Event<'_>);

    /// The page most worth fetching at `now`, among pages whose gate is open ([`Gate::is_open`]).
    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice;

    /// Writes the whole state, so that a crawl can restart without its history. The state may be half
    /// of what memory holds, so it is streamed. `false`, and nothing is written, if the policy cannot
    /// be saved.
    fn save(&self, _to: &mut dyn io::Write) -> io::Result<bool> {
        Ok(false)
    }

    /// Takes over the state that a policy of the same name and settings saved, and then makes the same
    /// choices. `false`, and nothing changes, if the bytes make no sense.
    fn load(&mut self, _from: &mut dyn io::Read) -> bool {
        false
    }

    /// What decides about `page` at `now`; `None` if the page is unknown or the policy cannot explain
    /// itself.
    fn why(&self, _page: PageId, _now: Time) -> Option<Explanation> {
        None
    }

    /// What another budget, in fetches per second, would bring; `None` without a price.
    fn what_if(&self, _budget: f64) -> Option<WhatIf> {
        None
    }

    /// What was said last against a page: the chance that a fetch brings nothing of its own. `None` for
    /// policies that do not weigh it, and unknown pages.
    fn doubt(&self, _page: PageId) -> Option<f64> {
        None
    }

    /// What pages brought that were fetched a while ago, since the last call. It is meant for whoever judges
    /// pages: a call changes no choice. Of a long list that nobody takes the rest is dropped.
    fn take_returns(&mut self) -> Vec<Return> {
        Vec::new()
    }

    /// How hints have proved themselves, by host and kind: those tested most, at most `most`. Empty for
    /// policies that do not read them.
    fn hint_records(&self, _most: usize) -> Vec<HintRecord> {
        Vec::new()
    }

    /// Price and freshness; `None` without a price.
    fn standing(&self) -> Option<Standing> {
        None
    }

    /// The budget this policy would spend at each price; `None` without a price.
    ///
    /// Curves of several shards add up. [`DemandCurve::split`] clears their sum at the total budget
    /// and gives each shard the budget at which its own price is the common one.
    fn demand(&self) -> Option<DemandCurve> {
        None
    }
}

/// What a page brought after its first fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Return {
    /// The page.
    pub page: PageId,
    /// Clicks that were expected of it in the time that the log covers, had nothing spoken against it.
    pub expected: f64,
    /// Clicks that came.
    pub clicks: f64,
    /// What the page tells of others like it, from 0 to 1: clicks on pages of equal expectation m have the
    /// variance m(1 + m/a), not m, so that each page counts for 1/(1 + m/a).
    pub weight: f64,
}

/// An answer to "what next?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Fetch this page. Its gate must be open.
    Fetch(PageId),
    /// Nothing is worth a fetch now; the allowance for this moment lapses.
    Idle,
}

/// Politeness as a policy sees it: when may a host be fetched from again, and when a page?
pub trait Gate {
    /// The earliest time at which `host` may be fetched from; not after now if it may now.
    fn opens_at(&self, host: HostId) -> Time;

    /// Hosts that may have opened before the time that [`Gate::opens_at`] gave for them, because a
    /// request ended since the policy was last asked.
    fn reopened(&self) -> &[HostId] {
        &[]
    }

    /// The earliest time at which `page` may be fetched again, whatever its host; not after now if it
    /// may now.
    fn page_opens_at(&self, _page: PageId) -> Time {
        Time::ZERO
    }

    /// Whether `page` of `host` may be fetched at `now`.
    fn is_open(&self, host: HostId, page: PageId, now: Time) -> bool {
        self.opens_at(host) <= now && self.page_opens_at(page) <= now
    }
}

/// A gate that is always open.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysOpen;

impl Gate for AlwaysOpen {
    fn opens_at(&self, _: HostId) -> Time {
        Time::ZERO
    }
}
