//! Who may send requests to an address now?
//!
//! Hosts of several partitions may share an address. The partition that [`place::desk`](crate::place::desk)
//! names for it is its *desk*: the owner of that partition gives the address to one partition at a time, for
//! a *slot* of [`SLOT`]. A partition asks before its first request and again while it goes on; it gives the
//! slot back when it is done.
//!
//! # Why two partitions never use an address within its gap
//!
//! - A slot counts for the partition from *before* it asked, for the desk from *after* it was asked. So it
//!   ends at the partition first, whatever the messages took.
//! - The desk gives the address to another partition only after the slot's end and the gap, or after it was
//!   given back and the gap.
//! - A request that is still under way when its slot ends is aborted.
//! - A desk that has just been opened waits for a slot and the gap: an earlier desk's slots are over then,
//!   since that desk had stopped before this one was opened.
//! - Questions are numbered. A slot is not given back by a message that is older than its last question, and
//!   an answer counts only for the question that is under way.

use std::net::IpAddr;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

use crate::Epoch;

/// How long an address is granted.
pub const SLOT: Span = Span::SECOND.times(10);
/// What the pace of two clocks may differ by, over a slot.
const DRIFT: Span = Span::SECOND.times(2);
/// While a request is under way the slot is prolonged, although others wait, until it has lasted this long.
pub const LONGEST: Span = Span::MINUTE.times(2);
/// A slot is asked for again when less than this is left of it.
const ASK_AGAIN: Span = Span::SECOND.times(5);
/// A desk keeps this many addresses. Beyond that it makes new ones wait.
const MOST_ADDRESSES: usize = 100_000;

/// A question for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The address.
    pub address: IpAddr,
    /// Who asks.
    pub from: Asker,
    /// Counts up within the asker.
    pub number: u64,
    /// What it wants.
    pub wish: Wish,
}

/// One opening of a partition. The next owner is another asker: it may not use the last one's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The partition.
    pub partition: u32,
    /// Its epoch.
    pub epoch: Epoch,
}

/// What a partition wants of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wish {
    /// To use it.
    Use,
    /// To go on: a request is under way.
    GoOn,
    /// To give it back: no request is under way.
    GiveBack,
}

/// The desk's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The address is yours for a slot, counted from before you asked.
    Granted,
    /// Ask again after this time.
    Wait(Span),
}

/// Grants addresses. Belongs to one opening of its partition.
#[derive(Clone, Debug)]
pub struct Desk {
    gap: Span,
    opens: Time,
    slots: FxHashMap<IpAddr, Granted>,
}

#[derive(Clone, Copy, Debug)]
struct Granted {
    to: Asker,
    /// The last question.
    number: u64,
    since: Time,
    /// When another partition may get it.
    free_at: Time,
    /// Another partition asked meanwhile.
    is_wanted: bool,
}

impl Desk {
    /// A desk that has just been opened, with this gap between two requests to an address.
    pub fn new(now: Time, gap: Span) -> Desk {
        Desk { gap, opens: now + SLOT + DRIFT + gap, slots: FxHashMap::default() }
    }

    /// A question came in.
    pub fn ask(&mut self, now: Time, ask: Ask) -> Reply {
        if now < self.opens {
            return Reply::Wait(self.opens.since(now));
        }
        let free_at = now + SLOT + DRIFT + self.gap;
        let Some(slot) = self.slots.get_mut(&ask.address) else {
            return self.grant_new(now, ask, free_at);
        };
        if slot.to == ask.from && now < slot.free_at {
            if ask.wish == Wish::GiveBack {
                let is_last = ask.number >= slot.number;
                slot.free_at = if is_last { now + self.gap } else { slot.free_at };
                return Reply::Granted;
            }
            let must_end = ask.wish == Wish::Use || now.since(slot.since) >= LONGEST;
            if slot.is_wanted && must_end {
                return Reply::Wait(SLOT);
            }
            (slot.free_at, slot.number) = (free_at, slot.number.max(ask.number));
            return Reply::Granted;
        }
        if ask.wish == Wish::GiveBack {
            return Reply::Granted;
        }
        if now < slot.free_at {
            slot.is_wanted = true;
            return Reply::Wait(slot.free_at.since(now));
        }
        *slot = Granted::new(now, ask, free_at);
        Reply::Granted
    }

    fn grant_new(&mut self, now: Time, ask: Ask, free_at: Time) -> Reply {
        if ask.wish == Wish::GiveBack {
            return Reply::Granted;
        }
        if self.slots.len() >= MOST_ADDRESSES {
            self.slots.retain(|_, slot| slot.free_at > now);
            if self.slots.len() >= MOST_ADDRESSES {
                return Reply::Wait(SLOT);
            }
        }
        self.slots.insert(ask.address, Granted::new(now, ask, free_at));
        Reply::Granted
    }
}

impl Granted {
    const fn new(now: Time, ask: Ask, free_at: Time) -> Granted {
        let Ask { from: to, number, .. } = ask;
        Granted { to, number, since: now, free_at, is_wanted: false }
    }
}

/// The slots of a partition, as its owner keeps them. Belongs to one opening of the partition.
#[derive(Clone, Debug)]
pub struct Slots {
    me: Asker,
    next: u64,
    held: FxHashMap<IpAddr, Slot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    until: Time,
    /// The question that is under way, and when it was sent.
    asked: Option<(u64, Time)>,
    /// No question before this time.
    not_before: Time,
}

impl Slots {
    /// A partition that holds no slot.
    pub fn new(me: Asker) -> Slots {
        Slots { me, next: 0, held: FxHashMap::default() }
    }

    /// Until when requests to an address may last; `None` if none may be under way.
    pub fn until(&self, now: Time, address: IpAddr) -> Option<Time> {
        self.held.get(&address).map(|slot| slot.until).filter(|until| *until > now)
    }

    /// What to ask the desk now about an address that is wanted or, if `is_busy`, in use; `None` if
    /// nothing. The question must be sent at once.
    pub fn question(&mut self, now: Time, address: IpAddr, is_busy: bool) -> Option<Ask> {
        let slot = self.held.entry(address).or_default();
        let is_waiting = slot.asked.is_some_and(|(_, asked)| now.since(asked) < ASK_AGAIN);
        if is_waiting || now < slot.not_before || slot.until > now + ASK_AGAIN {
            return None;
        }
        self.next += 1;
        slot.asked = Some((self.next, now));
        let wish = if slot.until > now && is_busy { Wish::GoOn } else { Wish::Use };
        Some(Ask { address, from: self.me, number: self.next, wish })
    }

    /// The desk answered a question.
    pub fn replied(&mut self, now: Time, address: IpAddr, number: u64, reply: Reply) {
        let Some(slot) = self.held.get_mut(&address) else { return };
        let Some((_, asked)) = slot.asked.take_if(|(asked, _)| *asked == number) else { return };
        match reply {
            Reply::Granted => slot.until = asked + SLOT,
            Reply::Wait(wait) => slot.not_before = now + wait.min(SLOT.times(2)),
        }
    }

    /// The address is not needed for now, and no request is under way. Returns what to tell the desk. No
    /// request may begin before the address was asked for again.
    pub fn give_back(&mut self, now: Time, address: IpAddr) -> Option<Ask> {
        let slot = self.held.remove(&address)?;
        self.next += 1;
        let ask = Ask { address, from: self.me, number: self.next, wish: Wish::GiveBack };
        (slot.until > now || slot.asked.is_some()).then_some(ask)
    }

    /// Forgets the slots that have ended.
    pub fn forget(&mut self, now: Time) {
        self.held
            .retain(|_, slot| slot.until > now || slot.asked.is_some() || slot.not_before > now);
    }
}

#[cfg(test)]
mod tests;
