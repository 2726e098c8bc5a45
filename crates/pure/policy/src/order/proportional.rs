//! Proportional: pages visited in proportion to how often they were seen to
//! change, as Frontera's Aduana does and as intuition (wrongly) suggests `[CGM03]`.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Span, Time};

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Choice, Gate, Policy};

/// The gap assumed before a page was ever revisited: it enters the estimate
/// (changes + 1)/time as one day of watching.
const PRIOR_WATCH: Span = Span::DAY;

/// The proportional baseline.
///
/// Shares are kept by stride scheduling: a page visited at virtual time v is
/// next due at v + 1/rate, and the smallest virtual time is served first.
/// Whatever the budget, visits end up in the ratio of the rates.
pub struct Proportional {
    pages: Vec<Known>,
    agenda: DueQueue<u64>,
    /// Virtual time of the latest choice, in microseconds of watching.
    now_virtual: u64,
}

struct Known {
    host: HostId,
    changes: u32,
    watched: Span,
    is_gone: bool,
}

impl Known {
    /// The gap 1/rate, with rate = (changes + 1)/time.
    fn stride(&self) -> u64 {
        let watched = self.watched + PRIOR_WATCH;
        (watched.as_micros() / (u64::from(self.changes) + 1)).max(1)
    }
}

impl Proportional {
    /// A policy that knows nothing yet.
    pub fn new() -> Self {
        Proportional { pages: Vec::new(), agenda: DueQueue::default(), now_virtual: 0 }
    }

    fn enqueue(&mut self, page: PageId) {
        let known = &self.pages[page.index()];
        let due = self.now_virtual.saturating_add(known.stride());
        self.agenda.put(due, known.host, page);
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let Outcome::Fetched(content) = seen.outcome else { return };
        let known = &mut self.pages[seen.page.index()];
        known.watched = known.watched + seen.gap().unwrap_or(Span::ZERO);
        known.changes += u32::from(content.changed == Some(true));
    }
}

impl Default for Proportional {
    fn default() -> Self {
        Self::new()
    }
}

impl Policy for Proportional {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let (host, watched) = (found.host, Span::ZERO);
                self.pages.push(Known { host, changes: 0, watched, is_gone: false });
                // Never fetched: due at once.
                self.agenda.put(self.now_virtual, found.host, found.page);
            }
            Event::Fetched(seen) if seen.outcome == Outcome::Gone => {
                self.pages[seen.page.index()].is_gone = true;
            }
            Event::Fetched(seen) => {
                self.pages[seen.page.index()].is_gone = false;
                self.note(seen);
                self.enqueue(seen.page);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let Some((due, page)) = self.agenda.take_if(now, gate, |_| true) else {
            return Choice::Idle;
        };
        // A host that was closed may be late; virtual time never runs back.
        self.now_virtual = self.now_virtual.max(due);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "visits are in proportion to the change rate; the score is changes a day";
        let known = self.pages.get(page.index())?;
        let score = Span::DAY.seconds() / Span::from_micros(known.stride()).seconds();
        let due = if known.is_gone { Due::Never } else { Due::InTurn };
        let explanation = Explanation::new(page, RULE, Merit::Score(score), due);
        Some(Explanation { is_gone: known.is_gone, sooner: &[Lever::Changes], ..explanation })
    }
}
