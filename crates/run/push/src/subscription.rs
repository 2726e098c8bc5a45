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
/// Shortest lease. A hub that grants less is asked again no sooner.
const LEAST_LEASE_S: u64 = 3_600;
/// Longest lease. Asking again after it makes up for a hub that has lost the subscription.
const LONGEST_LEASE_S: u64 = 30 * 86_400;
/// First and longest delay before a hub is asked again.
const RETRY_S: u64 = 60;
const LONGEST_RETRY_S: u64 = 86_400;
/// Most requests to end a subscription, if the hub verifies none of them.
const MOST_LEAVINGS: u32 = 5;
/// Most requests to begin or renew one, if the hub verifies none of them.
const MOST_ASKINGS: u32 = 8;
/// A hub that has verified none of them is asked again after this time, if the page still names it.
const GIVEN_UP_S: u64 = 30 * 86_400;

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

    /// Whether it can be forgotten: it is not wanted, and has ended or was asked to end often enough; or it
    /// was given up long ago.
    pub(crate) const fn is_over(&self, now: u64) -> bool {
        if self.is_wanted {
            return self.is_given_up(now) && self.asked_until + GIVEN_UP_S <= now;
        }
        self.active_until <= now || self.attempts >= MOST_LEAVINGS && self.asked_until <= now
    }

    /// Whether it is wanted, and the hub has verified none of enough requests.
    pub(crate) const fn is_given_up(&self, now: u64) -> bool {
        let is_unverified = self.attempts >= MOST_ASKINGS && self.asked_until <= now;
        self.is_wanted && is_unverified && self.active_until <= now
    }

    /// Since when a request to the hub is due; `None` if none is.
    pub(crate) const fn due(&self, now: u64) -> Option<u64> {
        let most = if self.is_wanted { MOST_ASKINGS } else { MOST_LEAVINGS };
        if self.next > now || self.attempts >= most || self.is_over(now) {
            return None;
        }
        Some(self.next)
    }

    /// The request to send to the hub now, if one is due. It counts as sent from here on, because a hub may
    /// verify before it answers.
    pub(crate) fn ask(&mut self, now: u64) -> Option<Mode> {
        self.due(now)?;
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
                let lease = lease.unwrap_or(WANTED_LEASE_S).clamp(LEAST_LEASE_S, LONGEST_LEASE_S);
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
        let verify = |one: &mut Subscription, mode, at| one.verify(mode, TOPIC, Some(10_000), at);
        assert_eq!(verify(&mut one, Mode::Subscribe, now), Verified::Refused, "nobody asked");
        assert_eq!(one.ask(now), Some(Mode::Subscribe));
        assert!(!one.is_active(now), "not verified yet");
        let foreign = one.verify(Mode::Subscribe, "http://b.example/", Some(100), now);
        assert_eq!(foreign, Verified::Refused);
        assert_eq!(verify(&mut one, Mode::Unsubscribe, now), Verified::Refused, "it is wanted");
        assert_eq!(verify(&mut one, Mode::Subscribe, now), Verified::Kept);
        assert!(one.is_active(now + 9_999) && !one.is_active(now + 10_000));
        assert_eq!(one.ask(now + 7_999), None);
        assert_eq!(one.ask(now + 8_000), Some(Mode::Subscribe), "renewed before the lease ends");
        assert_eq!(verify(&mut one, Mode::Subscribe, now + 8_001), Verified::Kept);
        assert!(one.is_active(now + 18_000));
        one.leave();
        assert!(!one.is_active(now + 8_002));
        assert_eq!(verify(&mut one, Mode::Subscribe, now + 8_002), Verified::Refused);
        assert_eq!(one.ask(now + 8_002), Some(Mode::Unsubscribe));
        assert_eq!(verify(&mut one, Mode::Unsubscribe, now + 8_003), Verified::Ended);
    }

    #[test]
    fn a_silent_hub_is_asked_less_and_less_often_and_then_no_more() {
        let mut one = new();
        let asked = (0..GIVEN_UP_S).step_by(60).filter(|now| one.ask(*now).is_some());
        let asked: Vec<u64> = asked.collect();
        assert_eq!(asked[..5], [0, 60, 180, 420, 900]);
        assert_eq!(asked.len(), MOST_ASKINGS as usize);
        let last = asked[asked.len() - 1];
        assert!(one.is_given_up(last + TO_VERIFY_S) && !one.is_over(last + TO_VERIFY_S));
        let late = one.verify(Mode::Subscribe, TOPIC, None, last + TO_VERIFY_S + 1);
        assert_eq!(late, Verified::Refused);
        assert!(one.is_over(last + TO_VERIFY_S + GIVEN_UP_S), "then a page may name it again");
    }

    #[test]
    fn a_hub_that_grants_a_second_is_asked_again_after_most_of_an_hour() {
        let mut one = new();
        one.ask(0);
        assert_eq!(one.verify(Mode::Subscribe, TOPIC, Some(1), 0), Verified::Kept);
        assert_eq!((one.due(2_879), one.due(2_880)), (None, Some(2_880)));
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
