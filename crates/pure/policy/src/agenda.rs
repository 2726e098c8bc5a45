//! Pages waiting to be fetched, smallest key first, hosts' gates respected.
//!
//! The life of an entry: pushed under its host with a key (a due time, a place
//! in a queue, a negated value), popped when it is the smallest among the
//! hosts that are open. A host found closed is parked until its gate opens, so
//! one slow host costs nothing while others have work. A host with a request
//! under way is parked until that ends: the gate names it. A page fetched too
//! recently rests until its own gate opens, and then waits as before.
//!
//! Invariant: every host with entries is either parked or has an entry in
//! `ready` whose key is its smallest. `ready` may hold outdated entries as
//! well; they are dropped when they come up.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Time};

use crate::Gate;

/// A key that puts the highest value first. Not for NaN, which a value never is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Highest(pub f64);

impl Ord for Highest {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Highest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Highest {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Highest {}

/// Outdated entries that `ready` may hold beyond twice the number of hosts.
const OUTDATED: usize = 1 << 10;

/// A queue of pages by key with politeness built in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "K: Ord + Serialize + for<'a> Deserialize<'a>")]
pub struct Agenda<K> {
    hosts: Vec<Queue<K>>,
    ready: BinaryHeap<Reverse<(K, HostId)>>,
    parked: BinaryHeap<Reverse<(Time, HostId)>>,
    /// Pages that came up before their gate opens, by when it does.
    resting: BinaryHeap<Reverse<(Time, K, HostId, PageId)>>,
    /// Entries in all of them.
    len: usize,
    /// Whether no gate was asked since it was loaded; their rules may have changed meanwhile.
    #[serde(skip, default = "yes")]
    is_loaded: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "K: Ord + Serialize + for<'a> Deserialize<'a>")]
struct Queue<K> {
    pages: BinaryHeap<Reverse<(K, PageId)>>,
    /// Until when the host is parked; `None` if it is not.
    parked: Option<Time>,
}

impl<K: Ord + Copy> Default for Agenda<K> {
    fn default() -> Self {
        Agenda {
            hosts: Vec::new(),
            ready: BinaryHeap::new(),
            parked: BinaryHeap::new(),
            resting: BinaryHeap::new(),
            len: 0,
            is_loaded: false,
        }
    }
}

impl<K: Ord + Copy> Agenda<K> {
    /// Entries waiting, those of parked hosts and resting pages included.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a page. The caller makes sure that a page is in once.
    pub fn push(&mut self, key: K, host: HostId, page: PageId) {
        self.len += 1;
        self.enqueue(key, host, page);
    }

    fn enqueue(&mut self, key: K, host: HostId, page: PageId) {
        while self.hosts.len() <= host.index() {
            self.hosts.push(Queue { pages: BinaryHeap::new(), parked: None });
        }
        let queue = &mut self.hosts[host.index()];
        queue.pages.push(Reverse((key, page)));
        if queue.parked.is_none() && queue.smallest() == Some(key) {
            self.ready.push(Reverse((key, host)));
        }
        if self.ready.len() > 2 * self.hosts.len() + OUTDATED {
            self.list_anew();
        }
    }

    /// Rebuilds `ready` with one entry per open host. A host gets another entry with each smaller key,
    /// and outdated ones are only dropped when they come up.
    fn list_anew(&mut self) {
        let open = self.hosts.iter().enumerate().filter(|(_, queue)| queue.parked.is_none());
        self.ready = open
            .filter_map(|(host, queue)| Some(Reverse((queue.smallest()?, HostId(host as u32)))))
            .collect();
    }

    /// Takes the entry with the smallest key among open hosts and pages, if its key is `wanted`.
    pub fn pop_if(
        &mut self,
        now: Time,
        gate: &dyn Gate,
        wanted: impl Fn(K) -> bool,
    ) -> Option<(K, PageId)> {
        if std::mem::take(&mut self.is_loaded) {
            self.ask_anew();
        }
        self.unpark(now, gate);
        self.wake(now, gate);
        while let Some(&Reverse((key, host))) = self.ready.peek() {
            let queue = &mut self.hosts[host.index()];
            if queue.parked.is_some() || queue.smallest() != Some(key) {
                self.ready.pop();
                continue;
            }
            if !wanted(key) {
                return None;
            }
            self.ready.pop();
            let opens = gate.opens_at(host);
            if opens > now {
                queue.parked = Some(opens);
                self.parked.push(Reverse((opens, host)));
                continue;
            }
            let Reverse((key, page)) = queue.pages.pop()?;
            if let Some(next) = queue.smallest() {
                self.ready.push(Reverse((next, host)));
            }
            let opens = gate.page_opens_at(page);
            if opens > now {
                self.resting.push(Reverse((opens, key, host, page)));
                continue;
            }
            self.len -= 1;
            return Some((key, page));
        }
        None
    }

    /// Lists all hosts and queues all pages, so that each is asked about when it comes up: after a restart
    /// gates may open sooner than they were to.
    fn ask_anew(&mut self) {
        self.parked.clear();
        self.hosts.iter_mut().for_each(|queue| queue.parked = None);
        for Reverse((_, key, host, page)) in std::mem::take(&mut self.resting) {
            self.hosts[host.index()].pages.push(Reverse((key, page)));
        }
        self.list_anew();
    }

    /// Takes the entry with the smallest key among open hosts and pages.
    pub fn pop(&mut self, now: Time, gate: &dyn Gate) -> Option<(K, PageId)> {
        self.pop_if(now, gate, |_| true)
    }

    /// Lists hosts again whose time has come or whose request has ended.
    fn unpark(&mut self, now: Time, gate: &dyn Gate) {
        for &host in gate.reopened() {
            if self.hosts.get(host.index()).is_some_and(|queue| queue.parked.is_some()) {
                self.list(host);
            }
        }
        while let Some(&Reverse((opens, host))) = self.parked.peek().filter(|next| next.0.0 <= now)
        {
            self.parked.pop();
            // A host that reopened early may be parked again by now.
            if self.hosts[host.index()].parked == Some(opens) {
                self.list(host);
            }
        }
    }

    fn list(&mut self, host: HostId) {
        let queue = &mut self.hosts[host.index()];
        queue.parked = None;
        if let Some(key) = queue.smallest() {
            self.ready.push(Reverse((key, host)));
        }
    }

    /// Queues pages again whose gate is open now. The gate is asked about the page that rests shortest,
    /// because its rule may have changed since.
    fn wake(&mut self, now: Time, gate: &dyn Gate) {
        while let Some(&Reverse((opens, key, host, page))) = self.resting.peek() {
            if opens > now && gate.page_opens_at(page) > now {
                return;
            }
            self.resting.pop();
            self.enqueue(key, host, page);
        }
    }
}

impl<K: Ord + Copy> Queue<K> {
    fn smallest(&self) -> Option<K> {
        self.pages.peek().map(|Reverse((key, _))| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlwaysOpen;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use tidewatch_core::Span;

    /// Gates by table; what a politeness keeper would answer.
    struct Table(Vec<Time>);

    impl Gate for Table {
        fn opens_at(&self, host: HostId) -> Time {
            self.0.get(host.index()).copied().unwrap_or(Time::ZERO)
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::SECOND.times(seconds)
    }

    #[test]
    fn closed_host_waits_and_comes_back() {
        let mut agenda = Agenda::default();
        agenda.push(1, HostId(0), PageId(10));
        agenda.push(2, HostId(1), PageId(20));
        let gate = Table(vec![at(5)]);
        assert_eq!(agenda.pop(at(1), &gate), Some((2, PageId(20))));
        assert_eq!(agenda.pop(at(2), &gate), None);
        assert_eq!(agenda.pop(at(5), &gate), Some((1, PageId(10))));
        assert!(agenda.is_empty());
    }

    #[test]
    fn unwanted_key_stays() {
        let mut agenda = Agenda::default();
        agenda.push(9, HostId(0), PageId(1));
        assert_eq!(agenda.pop_if(at(0), &AlwaysOpen, |k| k < 9), None);
        assert_eq!(agenda.len(), 1);
        assert_eq!(agenda.pop(at(0), &AlwaysOpen), Some((9, PageId(1))));
    }

    /// One host and two pages, which open at times of their own.
    struct Pages(Time, [Time; 2]);

    impl Gate for Pages {
        fn opens_at(&self, _: HostId) -> Time {
            self.0
        }

        fn page_opens_at(&self, page: PageId) -> Time {
            self.1[page.index()]
        }
    }

    /// A run that fetches every page once is followed by one that visits pages again: what was never to
    /// open does.
    #[test]
    fn a_loaded_agenda_asks_about_everything_again() {
        let mut agenda = Agenda::default();
        agenda.push(1, HostId(0), PageId(0));
        agenda.push(2, HostId(0), PageId(1));
        assert_eq!(agenda.pop(at(0), &Pages(at(0), [Time::NEVER; 2])), None);
        let saved = postcard::to_stdvec(&agenda).unwrap();
        let mut rested: Agenda<i32> = postcard::from_bytes(&saved).unwrap();
        assert_eq!(rested.pop(at(1), &Pages(at(0), [at(9), at(1)])), Some((2, PageId(1))));

        assert_eq!(rested.pop(at(2), &Pages(Time::NEVER, [at(0); 2])), None);
        let saved = postcard::to_stdvec(&rested).unwrap();
        let mut parked: Agenda<i32> = postcard::from_bytes(&saved).unwrap();
        assert_eq!(parked.pop(at(3), &Pages(at(3), [at(3); 2])), Some((1, PageId(0))));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u8, u8),
        Pop,
        Wait(u8),
        Close(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (any::<u8>(), 0u8..5).prop_map(|(k, h)| Step::Push(k, h)),
            3 => Just(Step::Pop),
            1 => (0u8..4).prop_map(Step::Wait),
            1 => (0u8..9).prop_map(Step::Close),
        ]
    }

    proptest! {
        /// Against a sorted set scanned in full: the same page or none, always.
        /// A host closes only after one of its pages was taken, as in a crawl.
        #[test]
        fn agrees_with_a_full_scan(steps in proptest::collection::vec(step(), 0..200)) {
            let mut agenda = Agenda::default();
            let mut model: BTreeSet<(u8, PageId, HostId)> = BTreeSet::new();
            let mut gate = Table(vec![Time::ZERO; 5]);
            let (mut now, mut next, mut closing) = (at(0), 0u32, 0u8);
            for step in steps {
                match step {
                    Step::Push(key, host) => {
                        let (page, host) = (PageId(next), HostId(host.into()));
                        next += 1;
                        agenda.push(key, host, page);
                        model.insert((key, page, host));
                    }
                    Step::Wait(s) => now = now + Span::SECOND.times(s.into()),
                    Step::Close(s) => closing = s,
                    Step::Pop => {
                        let open = |h: &HostId| gate.opens_at(*h) <= now;
                        let best = model.iter().filter(|(_, _, h)| open(h)).map(|e| e.0).min();
                        let got = agenda.pop(now, &gate);
                        prop_assert_eq!(got.map(|(k, _)| k), best);
                        if let Some((_, page)) = got {
                            let entry = *model.iter().find(|e| e.1 == page).unwrap();
                            prop_assert!(open(&entry.2));
                            model.remove(&entry);
                            gate.0[entry.2.index()] = now + Span::SECOND.times(closing.into());
                        }
                    }
                }
                prop_assert_eq!(agenda.len(), model.len());
            }
        }
    }
}
