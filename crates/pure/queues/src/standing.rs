//! Why a URL is given out when it is.

use tidewatch_core::{PageId, Rate, Time};
use tidewatch_policy::explanation::Explanation;
use tidewatch_policy::{Policy, WhatIf};

use crate::urls::time_of;
use crate::{Queues, State};

/// How a URL stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What becomes of it.
    pub state: State,
    /// From when its date lets it be given out. A policy does not ask.
    pub due: Time,
    /// When the lease on it ends, if somebody holds it.
    pub held_until: Option<Time>,
    /// Until when its queue is blocked, if it is.
    pub blocked_until: Option<Time>,
    /// Whether its queue has as many done URLs as it may have.
    pub is_full: bool,
    /// From when its queue may give out URLs.
    pub opens: Time,
    /// Whether anything is given out.
    pub is_active: bool,
}

impl Queues {
    /// How a URL stands; `None` if it is not known.
    pub fn standing(&self, page: PageId, now: Time) -> Option<Standing> {
        let (queue, state) = self.state(page).filter(|(_, state)| *state != State::Dropped)?;
        let (url, queue) = (self.urls.get(page)?, self.queues.get(queue.index())?);
        Some(Standing {
            state,
            due: time_of(url.due),
            held_until: self.held_until(page),
            blocked_until: queue.is_blocked(now).then(|| queue.blocked_until()),
            is_full: queue.is_full(),
            opens: queue.opens_at(self.gap),
            is_active: self.is_active,
        })
    }

    /// What the policy says of a URL; `None` without a policy, or if it cannot explain itself.
    pub fn explain(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.policy()?.why(page, now.max(self.now))
    }

    /// What another budget would bring; `None` without a policy that has a price.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        self.policy().and_then(|policy: &dyn Policy| policy.what_if(budget.as_per_second()))
    }

    /// The budget of the policy; `None` without one.
    pub fn budget(&self) -> Option<Rate> {
        self.managed.as_ref().map(crate::managed::Managed::budget)
    }
}
