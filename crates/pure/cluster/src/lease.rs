//! Is this node alive in the eyes of the others, and which of them are?
//!
//! A node renews its own key every few seconds, by compare-and-set from the revision of its last renewal. It
//! may act until [`GIVE_UP_AFTER`] after it *sent* the last renewal that arrived. A node whose key has
//! stood still for [`CLAIM_AFTER`] is *buried*: another node writes [`Member::Dead`] over that very
//! revision. Only then are its partitions free.
//!
//! # Why a buried node no longer acts
//!
//! ```text
//!  the node's clock:     sent b ├────────── 30 s ──────────┤ gives up
//!  the key:                 └▶ b ──────────────────────────────────────────▶ Dead
//!  another node's clock:        └▶ saw b ├──────────────── 45 s ───────────┤ wrote Dead over b
//! ```
//!
//! The write succeeds only if `b` is still there. So `b` was the node's last renewal that arrived, and the
//! 30 s began before the 45 s did. What clocks show does not matter, nor whether the watcher heard
//! everything: a newer renewal makes the write fail. What must hold is the pace: 30 of the one's seconds are
//! over before 45 of the other's.
//!
//! A buried node learns of it from a renewal that is refused, or from its own clock before. It comes back
//! under a new name.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

use crate::{HomeId, NodeId};

/// Time between two renewals.
pub const RENEW_EVERY: Span = Span::SECOND.times(3);
/// A node stops acting this long after it sent the last renewal that arrived. Longer than the broker takes
/// to elect a leader.
pub const GIVE_UP_AFTER: Span = Span::SECOND.times(30);
/// A node is buried when its key has stood still for this long.
pub const CLAIM_AFTER: Span = Span::SECOND.times(45);
/// The same for an earlier node of one's own directory. Its process is gone, for the directory was locked;
/// the wait is for the case that somebody copied the directory.
pub const OWN_CLAIM_AFTER: Span = Span::SECOND.times(8);
/// A renewal without an answer is sent again after this time.
const AGAIN_AFTER: Span = Span::SECOND.times(6);
/// Renewals whose sending time is remembered: more than can be sent in [`GIVE_UP_AFTER`].
const REMEMBERED: usize = 32;
/// Nodes that are remembered. Beyond that the one longest silent is forgotten.
const MOST_NODES: usize = 20_000;

/// What a node says of itself, every few seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Renewal {
    /// The directory that the node uses.
    pub home: HomeId,
    /// Counts up; never the same twice.
    pub serial: u64,
    /// Whether the node wants to leave: it takes no partitions and gives away what it has.
    pub is_leaving: bool,
    /// Fetches per second of the partitions that it owns.
    pub loads: Vec<(u32, f32)>,
}

/// The value of a node's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Member {
    /// Renewed by the node itself.
    Alive(Renewal),
    /// Buried by another node, or left. Final: no node of this name will act again.
    Dead,
}

/// A node's own lease.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Serial numbers and when each was sent, oldest first.
    sent: VecDeque<(u64, Time)>,
    serial: u64,
    /// The newest revision of the own key that is known.
    revision: u64,
    next_send: Time,
    good_until: Time,
    /// Whether it was good when last looked at.
    was_good: bool,
}

impl Lease {
    /// A lease that was never renewed. The first renewal is due at once.
    pub fn new(now: Time) -> Lease {
        Lease {
            sent: VecDeque::new(),
            serial: 0,
            revision: 0,
            next_send: now,
            good_until: Time::ZERO,
            was_good: false,
        }
    }

    /// The serial number of a renewal to be sent now, and the revision that the key must have; `None` if
    /// none is due.
    pub fn renew(&mut self, now: Time) -> Option<(u64, u64)> {
        if now < self.next_send {
            return None;
        }
        self.serial += 1;
        self.sent.push_back((self.serial, now));
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
        self.next_send = now + AGAIN_AFTER;
        Some((self.serial, self.revision))
    }

    /// Sends the next renewal at once, because it has news.
    pub fn hurry(&mut self, now: Time) {
        self.next_send = self.next_send.min(now);
    }

    /// When the next renewal is due.
    pub const fn next_send(&self) -> Time {
        self.next_send
    }

    /// A renewal has arrived at the broker under this revision, by its answer or because it was seen.
    pub fn arrived(&mut self, serial: u64, revision: u64) {
        self.revision = self.revision.max(revision);
        let Some((_, sent)) = self.sent.iter().find(|(number, _)| *number == serial) else {
            return;
        };
        self.good_until = self.good_until.max(*sent + GIVE_UP_AFTER);
        if serial == self.serial {
            self.next_send = self.next_send.min(*sent + RENEW_EVERY);
        }
    }

    /// A renewal failed, or its end is unknown. It is tried again soon.
    pub fn failed(&mut self, now: Time) {
        self.next_send = self.next_send.min(now + Span::SECOND);
    }

    /// Whether the node may act.
    pub fn is_good(&self, now: Time) -> bool {
        now < self.good_until
    }

    /// Notes whether the lease is good; tells if that has changed.
    pub(crate) fn change(&mut self, now: Time) -> Option<Change> {
        let is_good = self.is_good(now);
        match (std::mem::replace(&mut self.was_good, is_good), is_good) {
            (false, true) => Some(Change::Gained),
            (true, false) => Some(Change::Lost),
            _ => None,
        }
    }

    /// When the lease ends unless it is renewed; `None` if it has ended.
    pub fn ends(&self, now: Time) -> Option<Time> {
        Some(self.good_until).filter(|end| *end > now)
    }
}

/// A turn of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Gained,
    Lost,
}

/// What a node knows of the others.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    seen: BTreeMap<NodeId, Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    revision: u64,
    /// When this revision was seen first, or a burial was tried last.
    since: Time,
    /// `None` if the key is not there.
    member: Option<Member>,
}

impl Neighbours {
    /// A node's key was seen with this value.
    pub fn see(&mut self, now: Time, node: NodeId, revision: u64, member: Member) {
        if self.seen.get(&node).is_some_and(|seen| seen.revision >= revision) {
            return;
        }
        self.seen.insert(node, Seen { revision, since: now, member: Some(member) });
        if self.seen.len() > MOST_NODES {
            let oldest = self.seen.iter().min_by_key(|(_, seen)| seen.since).map(|(node, _)| *node);
            oldest.map(|node| self.seen.remove(&node));
        }
    }

    /// A claim names a node. If its key was never seen, it counts as standing still from now on.
    pub fn mention(&mut self, now: Time, node: NodeId) {
        self.seen.entry(node).or_insert(Seen { revision: 0, since: now, member: None });
    }

    /// Begins to count anew for all nodes. Called when one's own lease was interrupted: then the broker
    /// was out of reach, probably for the others as well.
    pub fn begin_anew(&mut self, now: Time) {
        self.seen.values_mut().for_each(|seen| seen.since = seen.since.max(now));
    }

    /// Nodes whose keys have stood still for too long, with the revisions to bury them at. `own` is one's
    /// own directory. Each is named again only after some time.
    pub fn to_bury(&mut self, now: Time, own: HomeId) -> Vec<(NodeId, u64)> {
        let mut silent = Vec::new();
        for (node, seen) in &mut self.seen {
            let patience = match &seen.member {
                Some(Member::Dead) => continue,
                Some(Member::Alive(renewal)) if renewal.home == own => OWN_CLAIM_AFTER,
                _ => CLAIM_AFTER,
            };
            if now.since(seen.since) >= patience {
                silent.push((*node, seen.revision));
                seen.since = (now + RENEW_EVERY) - patience;
            }
        }
        silent
    }

    /// Whether a node is buried.
    pub fn is_dead(&self, node: NodeId) -> bool {
        self.seen.get(&node).is_some_and(|seen| seen.member == Some(Member::Dead))
    }

    /// The nodes that are alive, as far as was heard, with their renewals.
    pub fn alive(&self) -> impl Iterator<Item = (NodeId, &Renewal)> {
        self.seen.iter().filter_map(|(node, seen)| match &seen.member {
            Some(Member::Alive(renewal)) => Some((*node, renewal)),
            _ => None,
        })
    }

    /// Forgets nodes that were buried a day ago.
    pub fn forget(&mut self, now: Time) {
        let is_old = |seen: &Seen| now.since(seen.since) > Span::DAY;
        self.seen.retain(|_, seen| seen.member != Some(Member::Dead) || !is_old(seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn renewal(serial: u64) -> Member {
        Member::Alive(Renewal { home: HomeId(1), serial, is_leaving: false, loads: Vec::new() })
    }

    #[test]
    fn a_lease_counts_from_the_sending_and_a_late_answer_does_not_prolong_it() {
        let mut lease = Lease::new(at(100));
        assert!(!lease.is_good(at(100)));
        assert_eq!(lease.renew(at(100)), Some((1, 0)), "due at once");
        assert_eq!(lease.renew(at(102)), None);
        lease.arrived(1, 40);
        assert_eq!(lease.change(at(120)), Some(Change::Gained));
        assert!(lease.is_good(at(129)) && !lease.is_good(at(130)));
        assert_eq!(lease.change(at(131)), Some(Change::Lost));
        // An answer that took 31 s says nothing any more, and an unknown number neither.
        lease.arrived(1, 40);
        lease.arrived(77, 41);
        assert_eq!(lease.change(at(131)), None);
        assert_eq!(lease.renew(at(131)), Some((2, 41)), "from the newest revision");
    }

    #[test]
    fn a_renewal_is_sent_again_soon_if_it_failed_and_later_if_nobody_answers() {
        let mut lease = Lease::new(at(0));
        assert!(lease.renew(at(0)).is_some());
        assert_eq!(lease.next_send(), at(6));
        lease.failed(at(1));
        assert_eq!(lease.next_send(), at(2));
        assert_eq!(lease.renew(at(2)), Some((2, 0)));
        lease.arrived(2, 9);
        assert_eq!(lease.next_send(), at(5));
    }

    #[test]
    fn a_node_is_buried_at_the_revision_that_stood_still() {
        let (mut neighbours, node, own) = (Neighbours::default(), NodeId(7), HomeId(2));
        neighbours.see(at(10), node, 5, renewal(1));
        assert!(neighbours.to_bury(at(54), own).is_empty());
        assert_eq!(neighbours.to_bury(at(55), own), [(node, 5)]);
        assert!(neighbours.to_bury(at(56), own).is_empty(), "once at a time");
        assert_eq!(neighbours.to_bury(at(58), own), [(node, 5)]);
        // Alive until the burial is written: an older revision changes nothing, a newer one does.
        assert_eq!(neighbours.alive().count(), 1);
        neighbours.see(at(59), node, 4, renewal(0));
        assert_eq!(neighbours.to_bury(at(61), own), [(node, 5)]);
        neighbours.see(at(62), node, 6, renewal(2));
        assert!(neighbours.to_bury(at(106), own).is_empty());
        neighbours.see(at(106), node, 7, Member::Dead);
        assert!(neighbours.is_dead(node) && neighbours.alive().count() == 0);
        assert!(neighbours.to_bury(at(999), own).is_empty());
        neighbours.forget(at(100_000));
        assert!(!neighbours.is_dead(node));
    }

    #[test]
    fn a_node_of_ones_own_directory_waits_less_and_an_unheard_one_as_long_as_others() {
        let mut neighbours = Neighbours::default();
        neighbours.see(at(0), NodeId(7), 5, renewal(1));
        neighbours.mention(at(0), NodeId(8));
        assert_eq!(neighbours.to_bury(at(8), HomeId(1)), [(NodeId(7), 5)]);
        neighbours.see(at(8), NodeId(7), 6, Member::Dead);
        assert!(neighbours.to_bury(at(44), HomeId(1)).is_empty());
        assert_eq!(neighbours.to_bury(at(45), HomeId(1)), [(NodeId(8), 0)]);
    }

    #[test]
    fn after_an_interruption_everybody_gets_their_time_again() {
        let (mut neighbours, own) = (Neighbours::default(), HomeId(2));
        neighbours.see(at(0), NodeId(7), 5, renewal(1));
        neighbours.begin_anew(at(100));
        assert!(neighbours.to_bury(at(144), own).is_empty());
        assert_eq!(neighbours.to_bury(at(145), own).len(), 1);
    }

    proptest! {
        /// Whatever the delays, and with clocks whose pace differs by a fifth, the node's lease is over
        /// before anybody sends its burial. Times are microseconds of a clock that nobody has.
        #[test]
        fn the_owner_has_given_up_before_others_claim(
            sent in 0u64..100_000_000,
            to_broker in 0u64..90_000_000,
            to_watcher in 0u64..90_000_000,
            patience in 0u64..90_000_000,
            owners in 0.92f64..1.1, watchers in 0.9f64..1.08,
        ) {
            let clock = |real: u64, pace: f64| Time::from_micros((real as f64 * pace) as u64);
            let mut lease = Lease::new(clock(sent, owners));
            let (serial, _) = lease.renew(clock(sent, owners)).expect("due");
            lease.arrived(serial, 1);
            let mut neighbours = Neighbours::default();
            let seen = sent + to_broker + to_watcher;
            neighbours.see(clock(seen, watchers), NodeId(1), 1, renewal(serial));
            let then = seen + patience;
            if !neighbours.to_bury(clock(then, watchers), HomeId(2)).is_empty() {
                prop_assert!(!lease.is_good(clock(then, owners)));
            }
        }
    }
}
