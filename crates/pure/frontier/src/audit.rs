//! Do explanations agree with what the scheduler does next?
//!
//! [`Statements::of`] asks [`Frontier::why`] about every page before a question, and
//! [`Statements::check`] compares the answers with what came of it. Meant for tests and simulations:
//! the cost grows with pages times questions.

use std::collections::BTreeSet;

use tidewatch_core::{FetchKind, PageId, Time};
use tidewatch_policy::Explanation;

use crate::Frontier;

/// What was said of every page that the policy can explain, just before a question.
#[derive(Debug)]
pub struct Statements {
    at: Time,
    idled: u64,
    under_way: BTreeSet<PageId>,
    said: Vec<Explanation>,
}

/// An explanation that was wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Lie {
    /// The policy chose a page that `why` had called not due.
    #[error("page {} was chosen at {at}, against {said:?}", said.page.0)]
    Chosen {
        /// When.
        at: Time,
        /// What was said of it.
        said: Box<Explanation>,
    },
    /// A page was chosen before its time although another one was due.
    #[error("a page was chosen before its time at {at}, by {said:?}, although {due:?}")]
    OutOfTurn {
        /// When.
        at: Time,
        /// What was said of the page chosen.
        said: Box<Explanation>,
        /// What was said of the one due.
        due: Box<Explanation>,
    },
    /// The policy had no page although one was said to be next.
    #[error("nothing was chosen at {at}, against {said:?}")]
    Idle {
        /// When.
        at: Time,
        /// What was said of the page that was not chosen.
        said: Box<Explanation>,
    },
}

impl Statements {
    /// Asks about every page at `now`.
    pub fn of(frontier: &Frontier<'_>, now: Time) -> Statements {
        let pages = (0..frontier.next_page().0).map(PageId);
        Statements {
            at: now,
            idled: frontier.idled(),
            under_way: frontier.under_way().collect(),
            said: pages.filter_map(|page| frontier.why(page, now)).collect(),
        }
    }

    /// Whether any of them says that it is outdated.
    pub fn are_outdated(&self) -> bool {
        self.said.iter().any(|said| said.is_outdated)
    }

    /// Compares with what [`Frontier::next`] has done at the same time.
    pub fn check(&self, frontier: &Frontier<'_>) -> Result<(), Lie> {
        let at = self.at;
        let chosen: BTreeSet<PageId> =
            frontier.under_way().filter(|page| !self.under_way.contains(page)).collect();
        for said in self.said.iter().filter(|said| chosen.contains(&said.page)) {
            if !said.allows(at) {
                return Err(Lie::Chosen { at, said: Box::new(said.clone()) });
            }
            // A copy may be a probe, which is drawn at random, whatever is due.
            let is_early = said.due.time().is_some_and(|due| due > at);
            let is_spare = is_early && said.kind != Some(FetchKind::Refresh);
            if let Some(due) = self.said.iter().find(|other| is_spare && other.is_due(at)) {
                let (said, due) = (Box::new(said.clone()), Box::new(due.clone()));
                return Err(Lie::OutOfTurn { at, said, due });
            }
        }
        if chosen.is_empty()
            && frontier.idled() > self.idled
            && let Some(said) = self.said.iter().find(|said| said.is_next(at))
        {
            return Err(Lie::Idle { at, said: Box::new(said.clone()) });
        }
        Ok(())
    }
}
