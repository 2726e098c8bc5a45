//! Which requests may begin, so that slow hosts never hold all the slots.
//!
//! A request is *young* at first and counts against [`Limits::requests`](super::Limits). When it takes
//! longer than requests usually do, and at the latest after [`SlowLane::after`], it is *slow* and counts
//! against [`SlowLane::requests`] instead, so its slot is free for another. A host is [`Speed::Quick`] or
//! [`Speed::Slow`] by its last answer:
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

/// The least time after which a request is slow, as a part of [`SlowLane::after`].
const SOONEST: u64 = 10;

/// Room for requests that take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowLane {
    /// A request is slow after this time, or sooner where requests usually take less.
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

/// How long a request usually takes, estimated as TCP does for its retransmission timer
/// [RFC 6298 §2], in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Usual {
    mean: u64,
    deviation: u64,
}

impl Usual {
    /// Counts a request that ended after `took`.
    const fn see(&mut self, took: u64) {
        if self.mean == 0 && self.deviation == 0 {
            (self.mean, self.deviation) = (took, took / 2);
        } else {
            self.deviation = (3 * self.deviation + self.mean.abs_diff(took)) / 4;
            self.mean = (7 * self.mean + took) / 8;
        }
    }

    /// Few requests take longer than this.
    const fn most(self) -> u64 {
        self.mean + 4 * self.deviation
    }
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
    usual: Usual,
}

impl Slots {
    pub(super) const fn new(lane: SlowLane) -> Slots {
        let usual = Usual { mean: 0, deviation: 0 };
        Slots { lane, young: VecDeque::new(), first: 0, counts: [0; 3], slow: 0, usual }
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

    /// When a young request becomes slow. At the earliest after [`SOONEST`] of the lane's time: below
    /// that, a busy machine of ours would make good hosts look slow.
    fn after(&self) -> Span {
        match self.usual.most() {
            0 => self.lane.after,
            _ if self.lane.requests == 0 => self.lane.after,
            usual => {
                let most = self.lane.after.as_micros();
                Span::from_micros(usual.clamp(most / SOONEST, most))
            }
        }
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

    /// Counts a request that was answered after `took`. A slow one counts as just slow, so that few of
    /// them do not make up for many quick ones.
    pub(super) fn answered(&mut self, took: Span) {
        self.usual.see(took.min(self.lane.after).as_micros());
    }

    /// Moves requests that have become slow to their lane.
    pub(super) fn age(&mut self, now: Time) {
        let after = self.after();
        while let Some(young) = self.young.front() {
            if !young.is_over {
                if young.began + after > now {
                    return;
                }
                self.counts[young.speed as usize] -= 1;
                self.slow += 1;
            }
            self.young.pop_front();
            self.first += 1;
        }
    }

    /// What [`Slots::has_room`] needs to know of the slots as they will be at `now`, without a copy of all
    /// requests.
    pub(super) fn aged(&self, now: Time) -> Slots {
        let (mut aged, after) =
            (Slots { usual: self.usual, ..Slots::new(self.lane) }, self.after());
        (aged.counts, aged.slow) = (self.counts, self.slow);
        let is_past = |young: &&Young| young.is_over || young.began + after <= now;
        for young in self.young.iter().take_while(is_past).filter(|young| !young.is_over) {
            aged.counts[young.speed as usize] -= 1;
            aged.slow += 1;
        }
        aged
    }

    /// The next time at which a young slot becomes free without a report.
    pub(super) fn frees_at(&self) -> Time {
        self.young.front().map_or(Time::NEVER, |young| young.began + self.after())
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
        assert_eq!((slots.aged(at(499)).young(), slots.aged(at(500)).slow), (4, 4));
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
        let aged = slots.aged(at(600));
        assert_eq!((aged.under_way(), aged.slow), (1, 1));
        slots.age(at(600));
        assert_eq!((slots.under_way(), slots.slow), (1, 1));
        slots.end(first, at(700));
        assert_eq!((slots.under_way(), slots.young.len()), (0, 0));
    }

    /// Where hosts answer at once, one that does not gives its slot back soon.
    #[test]
    fn what_is_slow_depends_on_what_is_usual() {
        let mut slots = slots(16);
        let patience = |slots: &mut Slots, took: u64| {
            (0..100).for_each(|_| slots.answered(Span::from_micros(took)));
            let slot = slots.begin(Speed::Unknown, at(0));
            let patience = slots.frees_at().since(at(0));
            slots.end(slot, at(1));
            slots.age(at(2));
            patience.as_micros()
        };
        // A steady answer leaves no doubt; the bounds are a tenth of half a second and half a second.
        assert_eq!(patience(&mut slots, 1_000), 50_000);
        let steady = patience(&mut slots, 200_000);
        assert!((200_000..210_000).contains(&steady), "{steady}");
        assert_eq!(patience(&mut slots, 499_999), 500_000);
        assert_eq!(patience(&mut slots, u64::MAX), 500_000);
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
