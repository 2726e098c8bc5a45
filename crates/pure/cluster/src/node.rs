//! What does this node own, claim, hand over, checkpoint?
//!
//! # The life of a partition at a node
//!
//! ```text
//!  Claiming ──won──▶ Fencing ──manifest written──▶ Opening ──opened──▶ Open ──▶ Draining ──▶ Releasing
//!     ▲                 │                             │                 │           │            │
//!     └──── placement   └──────── lease lost, or another node has claimed: Close ───┴────────────┘
//! ```
//!
//! **Claiming**: a compare-and-set on the claim that was seen. Its revision is the partition's new
//! [`Epoch`]. Nothing else makes a node an owner: a read that names this node may be old.
//!
//! **Fencing**: the manifest of the last checkpoint is read and written back with the new epoch, again by
//! compare-and-set. From then on no earlier owner can put a checkpoint, and the one that was read is the
//! last.
//!
//! **Opening**: the caller opens the partition, from its own disk if that has the epoch of the last owner,
//! else from the checkpoint.
//!
//! **Draining** and **Releasing**: the caller stops, checkpoints, and the claim is given to the next home.
//!
//! # Invariants
//!
//! - [`Node::may_act`] names a partition only while the lease is good and after its claim and fence
//!   succeeded *within the present term of the lease*. When the lease ends, everything is closed and every
//!   answer that is still to come is void, since it may be about a claim that others have taken meanwhile.
//! - A request whose answer is unknown is never taken for done or not done. The watch tells, and a claim
//!   that turns out to be one's own is claimed again.

mod command;

use std::collections::{BTreeMap, VecDeque};

use tidewatch_core::{Span, Time};

use crate::lease::{Change, Lease, Member, Neighbours, RENEW_EVERY, Renewal};
use crate::place::{favourite, place};
use crate::{Epoch, HomeId, NodeId, Seat};

pub use command::{Answer, Claim, Command, Line, Manifest, Owner, RequestId};

/// A node that starts waits this long before its first claim, so that nodes which start together share.
pub const SETTLE: Span = RENEW_EVERY.times(2);
/// Time between two looks at the placement.
const PLACE_EVERY: Span = Span::SECOND.times(5);
/// Partitions that a node claims and opens at once.
const OPENING_AT_ONCE: usize = 8;
/// Partitions that a node hands over at once; the others crawl on.
pub const MOVING_AT_ONCE: usize = 2;
/// Time between two tries to write a manifest or claim.
const AGAIN_AFTER: Span = Span::SECOND;
/// A manifest that nobody has read by then is read again.
const READ_AGAIN_AFTER: Span = Span::SECOND.times(10);
/// Once faults have stopped, every partition is claimed within this time, apart from the time that the
/// caller takes to open partitions: the broker's leader is back, the last owner's key has stood still, and
/// a few rounds of placement and claims have passed.
pub const OWNED_WITHIN: Span = Span::MINUTE.times(3);

/// A claim as it was last seen.
#[derive(Clone, Copy, Debug, Default)]
struct SeenClaim {
    revision: u64,
    claim: Claim,
}

#[derive(Clone, Debug)]
struct Held {
    epoch: Epoch,
    phase: Phase,
    /// Revision of the manifest that this node wrote last.
    fence: u64,
    manifest: Manifest,
    /// A checkpoint that is still to be written.
    pending: Option<Manifest>,
    /// The request that writes a manifest, and what it writes.
    writing: Option<(RequestId, Manifest)>,
    /// When to read the manifest again, after a write with an unclear end.
    read_at: Option<Time>,
    /// For whom it is given up.
    to: Option<HomeId>,
    /// An operator gives or has given it to that home, or to this one if it is not given up.
    is_given: bool,
    /// The caller has stopped it.
    is_drained: bool,
}

impl Held {
    fn release(&self) -> Claim {
        Claim { owner: None, to: self.to, is_given: self.is_given }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Fencing,
    Opening,
    Open,
    Draining,
    Releasing,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Renewal(u64),
    Burial(NodeId),
    Claim(Seat),
    Release(Seat),
    Manifest(u32),
}

/// The membership of one node: its lease, its neighbours, and what it holds.
pub struct Node {
    me: Owner,
    partitions: u32,
    lease: Lease,
    neighbours: Neighbours,
    claims: BTreeMap<Seat, SeenClaim>,
    held: BTreeMap<Seat, Held>,
    asked: BTreeMap<RequestId, Asked>,
    claiming: BTreeMap<Seat, RequestId>,
    /// Partitions that the operator gives to a home.
    gifts: BTreeMap<u32, HomeId>,
    /// The last load that was heard of every partition. It stays when the partition moves: until the next
    /// owner has measured it, the placement must not take it for idle.
    loads: BTreeMap<u32, f32>,
    commands: VecDeque<Command>,
    next_request: u64,
    next_place: Time,
    is_leaving: bool,
    has_left: bool,
    last: Time,
}

impl Node {
    /// A node that has just started, in a cluster of this many partitions.
    pub fn new(now: Time, me: NodeId, home: HomeId, partitions: u32) -> Node {
        Node {
            me: Owner { node: me, home },
            partitions,
            lease: Lease::new(now),
            neighbours: Neighbours::default(),
            claims: BTreeMap::new(),
            held: BTreeMap::new(),
            asked: BTreeMap::new(),
            claiming: BTreeMap::new(),
            gifts: BTreeMap::new(),
            loads: BTreeMap::new(),
            commands: VecDeque::new(),
            next_request: 0,
            next_place: now + SETTLE,
            is_leaving: false,
            has_left: false,
            last: now,
        }
    }

    /// What to do next; `None` until the next event.
    pub fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The node's name now. It changes when the node was buried and goes on.
    pub const fn me(&self) -> NodeId {
        self.me.node
    }

    /// The epoch under which this node acts for a seat now; `None` if it may not. Ask right before
    /// every fetch, publication and checkpoint.
    pub fn may_act(&self, now: Time, seat: Seat) -> Option<Epoch> {
        let held = self.held.get(&seat).filter(|_| self.lease.is_good(now))?;
        matches!(held.phase, Phase::Open | Phase::Draining).then_some(held.epoch)
    }

    /// When the node must stop acting unless its lease is renewed before.
    pub fn lease_ends(&self, now: Time) -> Option<Time> {
        self.lease.ends(now)
    }

    /// The seats that this node holds, in whatever phase, with their epochs.
    pub fn held(&self) -> impl Iterator<Item = (Seat, Epoch)> {
        self.held.iter().map(|(seat, held)| (*seat, held.epoch))
    }

    /// The manifest of a partition that this node holds, as it was accepted last.
    pub fn accepted_manifest(&self, partition: u32) -> Option<&Manifest> {
        self.held.get(&Seat::Partition(partition)).map(|held| &held.manifest)
    }

    /// The owner of a seat, as far as this node has heard, and its epoch. For routing only.
    pub fn owner_of(&self, seat: Seat) -> Option<(Owner, Epoch)> {
        let seen = self.claims.get(&seat)?;
        Some((seen.claim.owner?, Epoch(seen.revision)))
    }

    /// Nodes that are alive, as far as this one can tell, itself included once it was heard.
    pub fn members(&self) -> impl Iterator<Item = (NodeId, &Renewal)> {
        self.neighbours.alive()
    }

    /// Whether a node is buried, as far as this one has heard: then it never acts again.
    pub fn is_dead(&self, node: NodeId) -> bool {
        self.neighbours.is_dead(node)
    }

    /// Notes the load of a partition that this node owns, in fetches per second. It should be the mean of
    /// minutes, many times what a hand-over takes: partitions move when loads differ.
    pub fn set_load(&mut self, partition: u32, fetches_per_second: f32) {
        self.loads.insert(partition, fetches_per_second);
    }

    /// Leaves the cluster: hands over everything, two partitions at a time.
    pub fn leave(&mut self, now: Time) {
        self.is_leaving = true;
        self.lease.hurry(now);
        (self.next_place, self.last) = (now, self.last.max(now));
    }

    /// Gives a partition of this node to another home, where it stays whatever the loads are.
    pub fn give(&mut self, now: Time, partition: u32, to: HomeId) {
        match self.held.get_mut(&Seat::Partition(partition)) {
            Some(held) if held.phase == Phase::Draining => {
                (held.to, held.is_given) = (Some(to), true);
            }
            Some(_) => drop(self.gifts.insert(partition, to)),
            None => {}
        }
        self.next_place = now;
    }

    /// Time has passed. Returns when to call again at the latest.
    pub fn tick(&mut self, now: Time) -> Time {
        let now = self.begin(now);
        self.renew(now);
        if self.lease.is_good(now) {
            self.read_again(now);
            if now >= self.next_place {
                self.next_place = now + PLACE_EVERY;
                self.neighbours.forget(now);
                self.bury(now);
                self.arrange(now);
            }
        }
        let ends = self.lease.ends(now).unwrap_or(Time::NEVER);
        let reads = self.held.values().filter_map(|held| held.read_at).min();
        let place = if ends == Time::NEVER { Time::NEVER } else { self.next_place };
        self.lease.next_send().min(ends).min(place).min(reads.unwrap_or(Time::NEVER))
    }

    fn renew(&mut self, now: Time) {
        if self.has_left {
            return;
        }
        let Some((serial, expected)) = self.lease.renew(now) else { return };
        let loads = self.loads.iter();
        let loads = loads.filter(|(part, _)| self.held.contains_key(&Seat::Partition(**part)));
        let loads = loads.map(|(part, load)| (*part, *load)).collect();
        let (home, is_leaving) = (self.me.home, self.is_leaving);
        let member = Member::Alive(Renewal { home, serial, is_leaving, loads });
        let request = self.ask(Asked::Renewal(serial));
        let node = self.me.node;
        self.commands.push_back(Command::Member { request, node, expected, member });
    }

    fn bury(&mut self, now: Time) {
        for (node, expected) in self.neighbours.to_bury(now, self.me.home) {
            if node != self.me.node {
                let (request, member) = (self.ask(Asked::Burial(node)), Member::Dead);
                self.commands.push_back(Command::Member { request, node, expected, member });
            }
        }
    }

    /// A node's key was seen with this value. Values may come late and in any order.
    pub fn member_seen(&mut self, now: Time, revision: u64, node: NodeId, member: Member) {
        let now = self.begin(now);
        if node == self.me.node {
            match &member {
                Member::Alive(own) => self.lease.arrived(own.serial, revision),
                Member::Dead => return self.be_reborn(now),
            }
        } else if let Member::Alive(other) = &member {
            let known = other.loads.iter().filter(|(part, _)| *part < self.partitions);
            self.loads.extend(known.copied());
        }
        self.neighbours.see(now, node, revision, member);
        self.begin(now);
    }

    /// This node was buried: it gives up everything and goes on under a new name.
    fn be_reborn(&mut self, now: Time) {
        self.lose_all();
        self.asked.clear();
        self.neighbours.see(now, self.me.node, u64::MAX, Member::Dead);
        self.me.node = NodeId(self.me.node.0.wrapping_add(1));
        self.lease = Lease::new(now);
        self.next_place = now + SETTLE;
    }

    /// A claim was seen with this value. Values may come late and in any order.
    pub fn claim_seen(&mut self, now: Time, revision: u64, seat: Seat, claim: Claim) {
        let now = self.begin(now);
        self.note_claim(now, seat, revision, claim);
        let is_other = claim.owner.is_none_or(|owner| owner != self.me);
        if is_other && self.held.get(&seat).is_some_and(|held| revision > held.epoch.0) {
            self.close(seat);
        }
    }

    fn note_claim(&mut self, now: Time, seat: Seat, revision: u64, claim: Claim) {
        let seen = self.claims.entry(seat).or_default();
        if seen.revision < revision {
            *seen = SeenClaim { revision, claim };
            if let Some(owner) = claim.owner {
                self.neighbours.mention(now, owner.node);
            }
        }
    }

    /// A request was answered.
    pub fn answered(&mut self, now: Time, request: RequestId, answer: Answer) {
        let now = self.begin(now);
        let Some(asked) = self.asked.remove(&request) else { return };
        match asked {
            Asked::Renewal(serial) => {
                match answer {
                    Answer::Done(revision) => self.lease.arrived(serial, revision),
                    Answer::Refused | Answer::Unknown => self.lease.failed(now),
                }
                self.begin(now);
            }
            Asked::Burial(node) => {
                if let Answer::Done(revision) = answer {
                    self.neighbours.see(now, node, revision, Member::Dead);
                    self.next_place = now;
                }
            }
            Asked::Claim(seat) => {
                self.claiming.remove(&seat);
                if let Answer::Done(revision) = answer {
                    self.won(now, seat, Epoch(revision));
                }
            }
            Asked::Release(seat) => self.released(now, seat, answer),
            Asked::Manifest(partition) => self.manifest_put(now, partition, request, answer),
        }
    }

    /// A claim of this node succeeded.
    fn won(&mut self, now: Time, seat: Seat, epoch: Epoch) {
        let claim = self.claim_of_mine(seat);
        self.note_claim(now, seat, epoch.0, claim);
        if self.claims.get(&seat).is_some_and(|seen| seen.revision > epoch.0) {
            return;
        }
        let (phase, read_at) = match seat {
            Seat::Partition(partition) => {
                self.commands.push_back(Command::ReadManifest { partition });
                (Phase::Fencing, Some(now + READ_AGAIN_AFTER))
            }
            Seat::Price => {
                self.commands.push_back(Command::PriceWon { epoch });
                (Phase::Open, None)
            }
        };
        let held = Held {
            epoch,
            phase,
            fence: 0,
            manifest: Manifest::default(),
            pending: None,
            writing: None,
            read_at,
            to: None,
            is_given: claim.is_given,
            is_drained: false,
        };
        self.held.insert(seat, held);
    }

    /// A partition's manifest was read: its revision and value, `None` if there is none.
    pub fn manifest_read(&mut self, now: Time, partition: u32, read: Option<(u64, Manifest)>) {
        self.begin(now);
        let seat = Seat::Partition(partition);
        let Some(held) = self.held.get_mut(&seat).filter(|held| held.writing.is_none()) else {
            return;
        };
        let (revision, found) = read.unwrap_or_default();
        if found.epoch > held.epoch {
            return self.close(seat);
        }
        held.read_at = None;
        if held.phase == Phase::Fencing {
            let written = found.taken_over(held.epoch, self.me.home);
            held.manifest = found;
            return self.write(partition, revision, written);
        }
        // A checkpoint ended unclearly. A read may be old, but what it shows was accepted once.
        held.fence = held.fence.max(revision);
        match held.pending.take() {
            Some(pending) if pending == found => self.accepted(partition, revision, found),
            Some(pending) => {
                let fence = held.fence;
                self.write(partition, fence, pending);
            }
            None => {}
        }
    }

    /// The caller has opened a partition: it may act.
    pub fn opened(&mut self, now: Time, partition: u32) {
        self.begin(now);
        if let Some(held) = self.held.get_mut(&Seat::Partition(partition))
            && held.phase == Phase::Opening
        {
            held.phase = Phase::Open;
        }
    }

    /// The caller has uploaded a checkpoint that has taken in its links up to `position`. It is written
    /// through the fence; [`Command::Checkpointed`] tells when it was accepted. Checkpoints must be handed in
    /// in the order in which they were taken; one whose position is behind the last is ignored.
    pub fn checkpoint(&mut self, now: Time, partition: u32, position: u64, object: String) {
        self.begin(now);
        let Some(held) = self.held.get_mut(&Seat::Partition(partition)) else { return };
        let newest = held.pending.as_ref().or(held.writing.as_ref().map(|(_, manifest)| manifest));
        if position < newest.unwrap_or(&held.manifest).position {
            // An upload that was overtaken by a later one. Its links may be deleted already.
            return;
        }
        let object = Some(object);
        held.pending = Some(Manifest { position, object, ..held.manifest.clone() });
        self.write_pending(partition);
    }

    /// The caller has stopped a partition after [`Command::Drain`], and handed in its last checkpoint.
    pub fn drained(&mut self, now: Time, partition: u32) {
        self.begin(now);
        if let Some(held) = self.held.get_mut(&Seat::Partition(partition))
            && held.phase == Phase::Draining
        {
            held.is_drained = true;
            self.release_if_ready(partition);
        }
    }

    /// Looks at the lease before anything else.
    fn begin(&mut self, now: Time) -> Time {
        self.last = self.last.max(now);
        match self.lease.change(self.last) {
            Some(Change::Lost) => self.lose_all(),
            Some(Change::Gained) => {
                self.neighbours.begin_anew(self.last);
                self.next_place = self.next_place.max(self.last);
            }
            None => {}
        }
        self.last
    }

    /// The lease has ended: closes everything and forgets what was asked.
    fn lose_all(&mut self) {
        self.asked.retain(|_, asked| matches!(asked, Asked::Renewal(_)));
        self.claiming.clear();
        self.held
            .keys()
            .copied()
            .collect::<Vec<Seat>>()
            .into_iter()
            .for_each(|seat| self.close(seat));
    }

    fn close(&mut self, seat: Seat) {
        let Some(held) = self.held.remove(&seat) else { return };
        if let Seat::Partition(partition) = seat {
            self.gifts.remove(&partition);
        }
        self.commands.push_back(match seat {
            Seat::Price => Command::PriceLost,
            // The caller knows nothing of it yet.
            Seat::Partition(_) if held.phase == Phase::Fencing => return,
            Seat::Partition(partition) => Command::Close { partition },
        });
    }

    fn ask(&mut self, asked: Asked) -> RequestId {
        self.next_request += 1;
        let request = RequestId(self.next_request);
        self.asked.insert(request, asked);
        request
    }

    fn write(&mut self, partition: u32, expected: u64, manifest: Manifest) {
        let request = self.ask(Asked::Manifest(partition));
        if let Some(held) = self.held.get_mut(&Seat::Partition(partition)) {
            held.writing = Some((request, manifest.clone()));
            self.commands.push_back(Command::PutManifest {
                request,
                partition,
                expected,
                manifest,
            });
        }
    }

    /// Writes the checkpoint that waits, unless another write is under way or has to be cleared up.
    fn write_pending(&mut self, partition: u32) {
        let Some(held) = self.held.get_mut(&Seat::Partition(partition)) else { return };
        if held.writing.is_none()
            && held.read_at.is_none()
            && let Some(pending) = held.pending.take()
        {
            let fence = held.fence;
            self.write(partition, fence, pending);
        }
    }

    fn manifest_put(&mut self, now: Time, partition: u32, request: RequestId, answer: Answer) {
        let Some(held) = self.held.get_mut(&Seat::Partition(partition)) else { return };
        let Some((_, written)) = held.writing.take_if(|(writing, _)| *writing == request) else {
            return;
        };
        let Answer::Done(revision) = answer else {
            held.read_at = Some(now + AGAIN_AFTER);
            // A newer checkpoint makes this one needless.
            if held.phase != Phase::Fencing && held.pending.is_none() {
                held.pending = Some(written);
            }
            return;
        };
        held.fence = revision;
        if held.phase != Phase::Fencing {
            return self.accepted(partition, revision, written);
        }
        held.phase = Phase::Opening;
        let before = std::mem::replace(&mut held.manifest, written);
        let (epoch, local) = (held.epoch, before.line(self.me.home));
        let restore = Some(before).filter(|before| before.object.is_some());
        self.commands.push_back(Command::Open { partition, epoch, local, restore });
    }

    fn accepted(&mut self, partition: u32, revision: u64, manifest: Manifest) {
        let Some(held) = self.held.get_mut(&Seat::Partition(partition)) else { return };
        held.fence = revision;
        let position = manifest.position;
        held.manifest = manifest;
        self.commands.push_back(Command::Checkpointed { partition, position });
        self.write_pending(partition);
        self.release_if_ready(partition);
    }

    fn read_again(&mut self, now: Time) {
        for (seat, held) in &mut self.held {
            if let Seat::Partition(partition) = *seat
                && held.read_at.is_some_and(|at| at <= now)
            {
                held.read_at = Some(now + READ_AGAIN_AFTER);
                self.commands.push_back(Command::ReadManifest { partition });
            }
        }
    }

    fn release_if_ready(&mut self, partition: u32) {
        let seat = Seat::Partition(partition);
        let Some(held) = self.held.get_mut(&seat) else { return };
        let is_written = held.pending.is_none() && held.writing.is_none();
        let is_ready = held.is_drained && is_written && held.phase == Phase::Draining;
        if is_ready {
            held.phase = Phase::Releasing;
            let (expected, claim) = (held.epoch.0, held.release());
            let request = self.ask(Asked::Release(seat));
            self.commands.push_back(Command::Claim { request, seat, expected, claim });
        }
    }

    /// Whatever the answer, this node no longer acts. An unclear end shows in the watch: a claim that
    /// still names this node is claimed again.
    fn released(&mut self, now: Time, seat: Seat, answer: Answer) {
        let Some(held) = self.held.remove(&seat) else { return };
        if let Answer::Done(revision) = answer {
            self.note_claim(now, seat, revision, held.release());
        }
        self.next_place = now;
    }

    /// Compares what is with what should be.
    fn arrange(&mut self, now: Time) {
        let load = |part: u32| self.loads.get(&part).map_or(0.0, |load| f64::from(*load));
        let loads: Vec<f64> = (0..self.partitions).map(load).collect();
        let stays = |(_, renewal): (_, &Renewal)| (!renewal.is_leaving).then_some(renewal.home);
        let mut homes: Vec<HomeId> = self.neighbours.alive().filter_map(stays).collect();
        homes.sort();
        homes.dedup();
        let current: Vec<Option<HomeId>> =
            (0..self.partitions).map(|part| self.home_of(Seat::Partition(part))).collect();
        let is_given = |part| {
            let seen = self.claims.get(&Seat::Partition(part));
            seen.is_some_and(|seen| seen.claim.is_given)
        };
        let given: Vec<bool> = (0..self.partitions).map(is_given).collect();
        let wanted = place(&homes, &loads, &current, &given);
        self.hand_over(&wanted);
        self.claim_mine(&wanted, &homes);
        if self.is_leaving && self.held.is_empty() && self.claiming.is_empty() && !self.has_left {
            self.has_left = true;
            self.commands.push_back(Command::Left);
        }
        self.last = self.last.max(now);
    }

    /// The home where a seat is, or is on its way to. If the home is alive, a dead node's seats stay
    /// there: a node that starts again goes on with what is in its directory.
    fn home_of(&self, seat: Seat) -> Option<HomeId> {
        let claim = self.claims.get(&seat)?.claim;
        claim.owner.map(|owner| owner.home).or(claim.to)
    }

    /// The claim by which this node takes a seat.
    fn claim_of_mine(&self, seat: Seat) -> Claim {
        let seen = self.claims.get(&seat).copied().unwrap_or_default();
        let is_given = seen.claim.is_given && self.home_of(seat) == Some(self.me.home);
        Claim { owner: Some(self.me), to: None, is_given }
    }

    /// Whether an owner's seats may be claimed.
    fn is_free(&self, owner: Owner) -> bool {
        owner == self.me || self.neighbours.is_dead(owner.node)
    }

    /// Gives away what should be elsewhere, a few at a time.
    fn hand_over(&mut self, wanted: &[Option<HomeId>]) {
        let is_moving = |held: &&Held| matches!(held.phase, Phase::Draining | Phase::Releasing);
        let mut free = MOVING_AT_ONCE.saturating_sub(self.held.values().filter(is_moving).count());
        for (seat, held) in &mut self.held {
            let Seat::Partition(partition) = *seat else { continue };
            let gift = self.gifts.get(&partition).copied();
            let to = gift.or_else(|| wanted.get(partition as usize).copied().flatten());
            let goes = to != Some(self.me.home) && (to.is_some() || self.is_leaving);
            if held.phase == Phase::Open && goes && free > 0 {
                (held.phase, held.to, held.is_given) = (Phase::Draining, to, gift.is_some());
                self.gifts.remove(&partition);
                self.commands.push_back(Command::Drain { partition });
                free -= 1;
            }
        }
        if self.is_leaving && self.held.contains_key(&Seat::Price) {
            self.release_price();
        }
    }

    fn release_price(&mut self) {
        let Some(held) = self.held.get_mut(&Seat::Price) else { return };
        if held.phase == Phase::Open {
            held.phase = Phase::Releasing;
            self.commands.push_back(Command::PriceLost);
            let (expected, claim) = (held.epoch.0, Claim::default());
            let request = self.ask(Asked::Release(Seat::Price));
            self.commands.push_back(Command::Claim { request, seat: Seat::Price, expected, claim });
        }
    }

    /// Claims what should be here and is free, a few at a time.
    fn claim_mine(&mut self, wanted: &[Option<HomeId>], homes: &[HomeId]) {
        let is_opening = |held: &&Held| matches!(held.phase, Phase::Fencing | Phase::Opening);
        let busy = self.held.values().filter(is_opening).count() + self.claiming.len();
        let mut free = OPENING_AT_ONCE.saturating_sub(busy);
        let me = self.me.home;
        let price = self.home_of(Seat::Price).filter(|home| homes.contains(home));
        let price = price.or_else(|| favourite(homes, u32::MAX));
        let mut seats = vec![(Seat::Price, price == Some(me) && !self.is_leaving)];
        seats.extend((0..).zip(wanted).map(|(n, to)| (Seat::Partition(n), *to == Some(me))));
        for (seat, is_wanted) in seats {
            if free == 0 || self.held.contains_key(&seat) || self.claiming.contains_key(&seat) {
                continue;
            }
            let seen = self.claims.get(&seat).copied().unwrap_or_default();
            let is_free = seen.claim.owner.is_none_or(|owner| self.is_free(owner));
            let is_mine = seen.claim.owner == Some(self.me);
            if is_free && (is_wanted || is_mine) {
                let request = self.ask(Asked::Claim(seat));
                self.claiming.insert(seat, request);
                let claim = self.claim_of_mine(seat);
                let expected = seen.revision;
                self.commands.push_back(Command::Claim { request, seat, expected, claim });
                free -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
