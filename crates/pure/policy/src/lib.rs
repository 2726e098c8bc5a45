//! What is a fetch worth, when is a page due, what is the price?
//!
//! Pure: a policy is told events and asked for choices. It reads no clock, no
//! file and no ambient randomness, so the live crawler and the lab run the very
//! same code, and what one decided the other can replay.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod agenda;
pub mod echo;
pub mod frontier;
pub mod longevity;
pub mod order;
pub mod price;
pub mod refresh;
pub mod registry;
mod rounds;
pub mod saved;

use std::io;

use tidewatch_core::{Event, HostId, PageId, Time};

pub use agenda::{Agenda, Highest};
pub use price::why::{Standing, WhatIf, Why};

/// Decides which page is fetched next.
///
/// The life of a policy: it is told the budget, then everything the crawler
/// learns, in order ([`Policy::learn`]); whenever the budget allows a fetch it
/// is asked for one ([`Policy::choose`]). Between the choice and the outcome
/// other choices may be asked for (the live crawler fetches in parallel), so a
/// page chosen counts as under way until its `Fetched` event comes.
///
/// Same events, same seed, same choices: nothing else may influence it.
pub trait Policy: Send {
    /// Takes note of something that became known.
    fn learn(&mut self, event: &Event<'_>);

    /// The page most worth fetching at `now`, among hosts whose gate is open.
    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice;

    /// Writes all that it knows, so that a crawl can start again without being told its whole
    /// history; piece by piece, because it may be half of what memory holds. `false`, and nothing is
    /// written, where a policy cannot say.
    fn save(&self, _to: &mut dyn io::Write) -> io::Result<bool> {
        Ok(false)
    }

    /// Takes over what a policy of the same name saved. Same choices follow as from the one
    /// that saved. `false` if the bytes make no sense, and then nothing has changed.
    fn load(&mut self, _from: &mut dyn io::Read) -> bool {
        false
    }

    /// All that decides about a page at `now`; `None` for a policy that cannot tell, or a page that
    /// nobody has told it of.
    fn why(&mut self, _page: PageId, _now: Time) -> Option<Why> {
        None
    }

    /// What another budget, in fetches a second, would bring; `None` for a policy that cannot tell.
    fn what_if(&self, _budget: f64) -> Option<WhatIf> {
        None
    }

    /// How things stand: price and freshness; `None` for a policy that has no price.
    fn standing(&self) -> Option<Standing> {
        None
    }
}

/// An answer to "what next?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Fetch this page. Its host's gate must be open.
    Fetch(PageId),
    /// Nothing is worth a fetch now; the allowance for this moment lapses.
    Idle,
}

/// Politeness as a policy sees it: when may a host be fetched from again?
pub trait Gate {
    /// The earliest time at which `host` may be fetched from; not after now if it may now.
    fn opens_at(&self, host: HostId) -> Time;
}

/// A gate that is always open.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysOpen;

impl Gate for AlwaysOpen {
    fn opens_at(&self, _: HostId) -> Time {
        Time::ZERO
    }
}
