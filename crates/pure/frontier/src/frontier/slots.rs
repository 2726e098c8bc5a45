//! Which requests may begin, so that slow hosts never hold all the slots.
//!
//! A request is *young* at first and counts against [`Limits::requests`](super::Limits). After
//! [`SlowLane::after`] it is *slow* and counts against [`SlowLane::requests`] instead, so its slot
//! is free for another. A host is [`Speed::Quick`] or [`Speed::Slow`] by its last answer:
//!
//! | host | may have |
//! |---|---|
//! | quick | every young slot |
//! | unknown | three quarters of them, shared with slow hosts, while the slow lane has room |
//! | slow | a quarter of them, while the slow lane has room |
//!
//! So hosts that answer quickly always find a slot, and a new host soon shows whether it does. At
//! no time are more than `requests + lane.requests` under way.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

/// Room for requests that take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowLane {
    /// A request is slow after this time.
    pub after: Span,
    /// Most slow requests under way.
    pub requests: usize,
}

impl SlowLane {
    /// No request counts as slow: all share the same slots.
    pub const NONE: SlowLane = SlowLane { after: Span::FOREVER, requests: 0 };
}

impl Default for SlowLane {
    fn default() -> Self {
        SlowLane { after: Span::from_micros(250_000), requests: 1_024 }
    }
}

/// How long a host took to answer last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Speed {
    /// It was not asked yet.
    #[default]
    Unknown,
    /// Less than [`SlowLane::after`].
    Quick,
    /// Longer, or it did not answer.
    Slow,
}

/// A request under way, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slot(u64);

/// A request that was young when this was last looked at.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Young {
    began: Time,
    speed: Speed,
    is_over: bool,
}

/// The requests under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slots {
    lane: SlowLane,
    /// In the order in which they began; the first is number `first`.
    young: VecDeque<Young>,
    first: u64,
    /// How many of them are not over, by speed.
    counts: [usize; 3],
    slow: usize,
}

impl Slots {
    pub(super) const fn new(lane: SlowLane) -> Slots {
        Slots { lane, young: VecDeque::new(), first: 0, counts: [0; 3], slow: 0 }
    }

    pub(super) const fn lane(&self) -> SlowLane {
        self.lane
    }

    /// Sets another lane. Requests under way stay what they are.
    pub(super) const fn set_lane(&mut self, lane: SlowLane) {
        self.lane = lane;
    }

    /// Requests under way.
    pub(super) fn under_way(&self) -> usize {
        self.young() + self.slow
    }

    fn young(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Begins a request to a host of that speed.
    pub(super) fn begin(&mut self, speed: Speed, now: Time) -> Slot {
        self.counts[speed as usize] += 1;
        self.young.push_back(Young { began: now, speed, is_over: false });
        Slot(self.first + self.young.len() as u64 - 1)
    }

    /// Ends a request.
    pub(super) fn end(&mut self, slot: Slot, now: Time) {
        self.age(now);
        match slot.0.checked_sub(self.first) {
            None => self.slow -= 1,
            Some(place) => {
                let young = &mut self.young[place as usize];
                young.is_over = true;
                self.counts[young.speed as usize] -= 1;
            }
        }
    }

    /// Moves requests that have become slow to their lane.
    pub(super) fn age(&mut self, now: Time) {
        while let Some(young) = self.young.front() {
            if !young.is_over {
                if young.began + self.lane.after > now {
                    return;
                }
                self.counts[young.speed as usize] -= 1;
                self.slow += 1;
            }
            self.young.pop_front();
            self.first += 1;
        }
    }

    /// The next time at which a young slot becomes free without a report.
    pub(super) fn frees_at(&self) -> Time {
        self.young.front().map_or(Time::NEVER, |young| young.began + self.lane.after)
    }

    /// Whether a request to a host of that speed may begin. Call [`Slots::age`] first.
    pub(super) fn has_room(&self, speed: Speed, requests: usize) -> bool {
        let (young, lane) = (self.young(), self.lane.requests);
        if young >= requests || young + self.slow >= requests.saturating_add(lane) {
            return false;
        }
        let of = |speed: Speed| self.counts[speed as usize];
        match speed {
            _ if lane == 0 => true,
            Speed::Quick => true,
            Speed::Unknown => {
                let unproven = of(Speed::Unknown) + of(Speed::Slow);
                self.slow < lane && unproven < requests.div_ceil(4).saturating_mul(3)
            }
            Speed::Slow => self.slow < lane && of(Speed::Slow) < requests.div_ceil(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: usize = 8;

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn slots(requests: usize) -> Slots {
        Slots::new(SlowLane { after: Span::from_micros(500_000), requests })
    }

    #[test]
    fn new_hosts_never_take_every_slot_and_quick_ones_can() {
        let mut slots = slots(16);
        for _ in 0..6 {
            assert!(slots.has_room(Speed::Unknown, REQUESTS));
            slots.begin(Speed::Unknown, at(0));
        }
        assert!(!slots.has_room(Speed::Unknown, REQUESTS) && !slots.has_room(Speed::Slow, 4));
        for _ in 0..2 {
            assert!(slots.has_room(Speed::Quick, REQUESTS));
            slots.begin(Speed::Quick, at(0));
        }
        assert!(!slots.has_room(Speed::Quick, REQUESTS));
        assert_eq!(slots.frees_at(), at(500));
    }

    #[test]
    fn a_slow_request_frees_its_slot_until_the_lane_is_full() {
        let mut slots = slots(3);
        let held: Vec<Slot> = (0..4).map(|_| slots.begin(Speed::Unknown, at(0))).collect();
        slots.age(at(500));
        assert_eq!((slots.young(), slots.slow), (0, 4));
        assert!(
            !slots.has_room(Speed::Unknown, REQUESTS) && slots.has_room(Speed::Quick, REQUESTS)
        );
        for (slot, left) in held.into_iter().zip([3, 2, 1, 0]) {
            slots.end(slot, at(600));
            assert_eq!(slots.under_way(), left);
        }
        assert!(slots.has_room(Speed::Slow, REQUESTS));
    }

    #[test]
    fn a_request_that_ends_in_time_is_never_slow() {
        let mut slots = slots(3);
        let (first, second) = (slots.begin(Speed::Quick, at(0)), slots.begin(Speed::Quick, at(1)));
        slots.end(second, at(2));
        slots.age(at(600));
        assert_eq!((slots.under_way(), slots.slow), (1, 1));
        slots.end(first, at(700));
        assert_eq!((slots.under_way(), slots.young.len()), (0, 0));
    }

    #[test]
    fn without_a_lane_all_share_the_same_slots() {
        let mut slots = Slots::new(SlowLane::NONE);
        for _ in 0..REQUESTS {
            assert!(slots.has_room(Speed::Unknown, REQUESTS));
            slots.begin(Speed::Unknown, at(0));
        }
        slots.age(at(1_000_000));
        assert!(!slots.has_room(Speed::Quick, REQUESTS));
    }
}
