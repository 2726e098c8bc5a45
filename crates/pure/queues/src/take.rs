//! Giving out URLs.

use tidewatch_core::{HostId, PageId, Span};

use crate::managed::{Managed, QueueGate, Round};
use crate::tape::Want;
use crate::urls::State;
use crate::{MOST_TAKEN, Queues};

/// Queues that one question passes over at most because enough of their URLs are held.
const MOST_PASSED: usize = 1000;

impl Queues {
    /// Gives out URLs now.
    pub(crate) fn take(&mut self, want: &Want) -> Vec<PageId> {
        if !self.is_active {
            return Vec::new();
        }
        match self.managed.take() {
            Some(mut managed) => {
                let taken = self.take_managed(&mut managed, want);
                self.managed = Some(managed);
                taken
            }
            None => self.take_strictly(want),
        }
    }

    /// What the policy chooses, as far as the budget allows.
    fn take_managed(&mut self, managed: &mut Managed, want: &Want) -> Vec<PageId> {
        let (mut taken, mut round) = (Vec::new(), Round::new(want));
        while taken.len() < MOST_TAKEN && managed.may_spend(self.now) {
            let gate = QueueGate { queues: self, round: &round };
            let Some(page) = managed.choose(self.now, &gate) else { break };
            let Some((queue, State::Waiting)) = self.state(page) else {
                managed.came_to_nothing(page, self.now);
                break;
            };
            managed.spend(self.now);
            round.note(queue);
            self.give(page, want.lease);
            taken.push(page);
        }
        taken
    }

    /// Gives out exactly these URLs.
    pub(crate) fn follow(&mut self, pages: &[PageId], lease: Span) {
        for &page in pages {
            self.give(page, lease);
        }
    }

    fn take_strictly(&mut self, want: &Want) -> Vec<PageId> {
        let (mut taken, mut served, mut passed) = (Vec::new(), 0, 0);
        while served < want.queues && passed < MOST_PASSED && taken.len() < MOST_TAKEN {
            let Some(queue) = self.first_queue(want) else { break };
            let held = self.queues.get(queue.index()).map_or(0, |queue| queue.counts().held);
            if held >= want.urls {
                passed += 1;
                let now = self.now;
                // A microsecond later, so that this question does not meet it again.
                self.change(queue, |queue, _| queue.pass(now + Span::from_micros(1)));
            } else {
                self.take_from(queue, want, &mut taken);
                served += 1;
            }
            if want.queue.is_some() {
                break;
            }
        }
        taken
    }

    /// The wanted queue that has been open longest with something to give.
    fn first_queue(&mut self, want: &Want) -> Option<HostId> {
        if let Some(queue) = want.queue {
            let state = self.queues.get_mut(queue.index())?;
            let is_wanted = want.crawl.is_none_or(|crawl| crawl == state.crawl);
            let opens = state.opens_at(self.gap);
            return (is_wanted && opens <= self.now).then_some(queue);
        }
        let first = match want.crawl {
            Some(crawl) => self.crawls.get(crawl.0 as usize)?.first(self.now),
            None => self.crawls.iter().filter_map(|crawl| crawl.first(self.now)).min(),
        };
        first.map(|(_, queue)| queue)
    }

    fn take_from(&mut self, queue: HostId, want: &Want, taken: &mut Vec<PageId>) {
        let room = (MOST_TAKEN - taken.len()).min(want.urls as usize);
        for _ in 0..room {
            let (now, state) = (self.now, self.queues.get_mut(queue.index()));
            let Some(page) = state.and_then(|state| state.pop(now, &self.urls)) else { break };
            self.give(page, want.lease);
            taken.push(page);
        }
    }

    /// Begins the lease on a URL that waits.
    fn give(&mut self, page: PageId, lease: Span) {
        let Some(queue) = self.urls.get(page).map(|url| url.queue) else { return };
        let now = self.now;
        if self.moves(page, State::Held, None) {
            self.leases.begin(page, now + lease);
            if self.queues.get(queue.index()).is_some_and(|queue| !queue.gives_at(now)) {
                self.change(queue, |queue, _| queue.gave(now));
            }
        }
    }
}
