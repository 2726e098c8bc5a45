//! The life of a subscription to a topic at a hub (WebSub, §5).
//!
//! We *ask* the hub for it. The hub *verifies* with a challenge that the request was ours, and grants a
//! lease. Before the lease ends we ask again. When the page no longer names the hub, we *leave*: we ask the
//! hub to end the subscription, and it verifies that too. Requests that are not verified in time are repeated
//! with growing delays.
//!
//! No clock: times are seconds of Unix time, given by the caller.

use serde::{Deserialize, Serialize};

/// A hub has this long to verify after it was asked.
const TO_VERIFY_S: u64 = 600;
/// Lease that we ask for. The hub decides.
pub(crate) const WANTED_LEASE_S: u64 = 10 * 86_400;
/// Longest lease. Asking again after it makes up for a hub that has lost the subscription.
const LONGEST_LEASE_S: u64 = 30 * 86_400;
/// First and longest delay before a hub is asked again.
const RETRY_S: u64 = 60;
const LONGEST_RETRY_S: u64 = 86_400;
/// Most requests to end a subscription, if the hub verifies none of them.
const MOST_LEAVINGS: u32 = 5;

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// The page that named the hub.
    page: String,
    topic: String,
    hub: String,
    /// The last part of its callback, which nobody can guess.
    id: String,
    secret: String,
    is_wanted: bool,
    /// The lease ends then; 0 before the first.
    active_until: u64,
    /// The hub may verify our last request until then.
    asked_until: u64,
    next: u64,
    attempts: u32,
}

/// The kind of request that we send and the hub verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Subscribe,
    Unsubscribe,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Mode::Subscribe => "subscribe",
            Mode::Unsubscribe => "unsubscribe",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Mode> {
        [Mode::Subscribe, Mode::Unsubscribe].into_iter().find(|mode| mode.name() == name)
    }
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// It goes on.
    Kept,
    /// It has ended.
    Ended,
    /// We made no such request.
    Refused,
}

impl Subscription {
    /// A subscription whose first request is due at once.
    pub(crate) fn new(page: &str, topic: &str, hub: &str, id: String, secret: String) -> Self {
        Subscription {
            page: page.to_owned(),
            topic: topic.to_owned(),
            hub: hub.to_owned(),
            id,
            secret,
            is_wanted: true,
            active_until: 0,
            asked_until: 0,
            next: 0,
            attempts: 0,
        }
    }

    pub(crate) fn page(&self) -> &str {
        &self.page
    }

    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    pub(crate) fn hub(&self) -> &str {
        &self.hub
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// When the lease ends; 0 without one.
    pub(crate) const fn active_until(&self) -> u64 {
        self.active_until
    }

    /// Whether deliveries are taken.
    pub(crate) const fn is_active(&self, now: u64) -> bool {
        self.is_wanted && self.active_until > now
    }

    /// Whether it can be forgotten: it is not wanted, and has ended or was asked to end often enough.
    pub(crate) const fn is_over(&self, now: u64) -> bool {
        let is_given_up = self.attempts >= MOST_LEAVINGS && self.asked_until <= now;
        !self.is_wanted && (self.active_until <= now || is_given_up)
    }

    /// The request to send to the hub now, if one is due. It counts as sent from here on, because a hub may
    /// verify before it answers.
    pub(crate) fn ask(&mut self, now: u64) -> Option<Mode> {
        let is_enough = !self.is_wanted && self.attempts >= MOST_LEAVINGS;
        if self.next > now || is_enough || self.is_over(now) {
            return None;
        }
        let delay = (RETRY_S << self.attempts.min(16)).min(LONGEST_RETRY_S);
        self.attempts += 1;
        self.asked_until = now + TO_VERIFY_S;
        self.next = now + delay;
        Some(if self.is_wanted { Mode::Subscribe } else { Mode::Unsubscribe })
    }

    /// The page no longer names the hub.
    pub(crate) fn leave(&mut self) {
        if self.is_wanted {
            (self.is_wanted, self.next, self.attempts) = (false, 0, 0);
        }
    }

    /// The page names the hub again.
    pub(crate) fn want(&mut self) {
        if !self.is_wanted {
            (self.is_wanted, self.next, self.attempts) = (true, 0, 0);
        }
    }

    /// The hub verifies a request.
    pub(crate) fn verify(
        &mut self,
        mode: Mode,
        topic: &str,
        lease: Option<u64>,
        now: u64,
    ) -> Verified {
        if topic != self.topic || self.asked_until < now {
            return Verified::Refused;
        }
        match (mode, self.is_wanted) {
            (Mode::Subscribe, true) => {
                let lease = lease.unwrap_or(WANTED_LEASE_S).clamp(1, LONGEST_LEASE_S);
                self.active_until = now + lease;
                self.next = now + lease - lease / 5;
                self.attempts = 0;
                Verified::Kept
            }
            (Mode::Unsubscribe, false) => Verified::Ended,
            _ => Verified::Refused,
        }
    }

    /// The hub denies it; we ask again after a day. `false` for another topic.
    pub(crate) fn deny(&mut self, topic: &str, now: u64) -> bool {
        if topic != self.topic {
            return false;
        }
        self.active_until = 0;
        self.next = now + LONGEST_RETRY_S;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: &str = "http://a.example/feed";

    fn new() -> Subscription {
        Subscription::new(TOPIC, TOPIC, "http://hub.example/", "id".into(), "secret".into())
    }

    #[test]
    fn a_subscription_is_verified_renewed_and_left() {
        let (mut one, now) = (new(), 1_000);
        let verify = |one: &mut Subscription, mode, at| one.verify(mode, TOPIC, Some(100), at);
        assert_eq!(verify(&mut one, Mode::Subscribe, now), Verified::Refused, "nobody asked");
        assert_eq!(one.ask(now), Some(Mode::Subscribe));
        assert!(!one.is_active(now), "not verified yet");
        let foreign = one.verify(Mode::Subscribe, "http://b.example/", Some(100), now);
        assert_eq!(foreign, Verified::Refused);
        assert_eq!(verify(&mut one, Mode::Unsubscribe, now), Verified::Refused, "it is wanted");
        assert_eq!(verify(&mut one, Mode::Subscribe, now), Verified::Kept);
        assert!(one.is_active(now + 99) && !one.is_active(now + 100));
        assert_eq!(one.ask(now + 79), None);
        assert_eq!(one.ask(now + 80), Some(Mode::Subscribe), "renewed before the lease ends");
        assert_eq!(verify(&mut one, Mode::Subscribe, now + 81), Verified::Kept);
        assert!(one.is_active(now + 180));
        one.leave();
        assert!(!one.is_active(now + 82));
        assert_eq!(verify(&mut one, Mode::Subscribe, now + 82), Verified::Refused);
        assert_eq!(one.ask(now + 82), Some(Mode::Unsubscribe));
        assert_eq!(verify(&mut one, Mode::Unsubscribe, now + 83), Verified::Ended);
    }

    #[test]
    fn a_silent_hub_is_asked_less_and_less_often() {
        let (mut one, mut now, mut delays) = (new(), 0, Vec::new());
        while delays.len() < 14 {
            assert_eq!(one.ask(now), Some(Mode::Subscribe));
            let asked = now;
            while one.ask(now).is_none() && now < asked + 2 * LONGEST_RETRY_S {
                now += 60;
                if one.next <= now {
                    break;
                }
            }
            delays.push(now - asked);
        }
        assert_eq!(delays[..4], [60, 120, 240, 480]);
        assert_eq!(delays[13], LONGEST_RETRY_S);
        assert_eq!(one.verify(Mode::Subscribe, TOPIC, None, now + TO_VERIFY_S), Verified::Refused);
    }

    #[test]
    fn leases_are_bounded_and_a_hub_that_never_confirms_is_left_all_the_same() {
        let mut one = new();
        one.ask(0);
        assert_eq!(one.verify(Mode::Subscribe, TOPIC, Some(u64::MAX), 0), Verified::Kept);
        assert_eq!(one.active_until(), LONGEST_LEASE_S);
        one.leave();
        let asked = (0..LONGEST_LEASE_S).step_by(60).filter(|now| one.ask(*now).is_some());
        assert_eq!(asked.count(), MOST_LEAVINGS as usize);
        assert!(one.is_over(LONGEST_LEASE_S / 2));
    }

    #[test]
    fn a_denied_subscription_rests_for_a_day() {
        let mut one = new();
        one.ask(0);
        assert!(!one.deny("http://b.example/", 10) && one.deny(TOPIC, 10));
        assert_eq!(one.ask(9 + LONGEST_RETRY_S), None);
        assert_eq!(one.ask(10 + LONGEST_RETRY_S), Some(Mode::Subscribe));
    }
}
