//! Marginalia's recrawl: host after host, skipping pages with the share that proved unchanged.
//!
//! A pass visits every host in turn. On a host, known pages come first; of those visited so far a share
//! was unchanged, and the next one is skipped with that probability, within bounds: not at all up to 25
//! visits, at most ½ up to 1,000 pages, ½ to ¾ up to 10,000, ¾ to 0.99 beyond. After 20 failures the rest
//! of the host's known pages waits for the next pass. New pages of the host follow; those of other hosts wait
//! for their host's turn. Pages that are gone are forgotten.

use tidewatch_core::{Event, HostId, Outcome, PageId, PageKey, Reason, Time};
use tidewatch_math::rng::{Draws, purpose};

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Choice, Gate, Policy};

const SKIP: u64 = purpose("marginalia.skip");
const PLACE: u64 = purpose("marginalia.place");
/// Failures on a host after which its known pages wait for the next pass.
const MOST_FAILURES: u32 = 20;

/// The policy.
pub struct Marginalia {
    seed: u64,
    pages: Vec<Known>,
    hosts: Vec<Tally>,
    /// By pass, place of the host, and whether the page is new.
    agenda: DueQueue<(u64, u64, bool)>,
    /// Pass and place of the host of the latest choice.
    position: (u64, u64),
}

struct Known {
    host: HostId,
    key: PageKey,
    is_fetched: bool,
    is_gone: bool,
}

/// Visits to the known pages of a host in a pass.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    pass: u64,
    recrawled: u32,
    retained: u32,
    skipped: u32,
    failures: u32,
}

impl Tally {
    /// The probability to skip the next page.
    fn skip(&self) -> f64 {
        if self.failures > MOST_FAILURES {
            return 1.0;
        }
        let share = f64::from(self.retained) / f64::from(self.recrawled.max(1));
        match (self.skipped.saturating_add(self.recrawled), self.recrawled) {
            (10_001.., _) => share.clamp(0.75, 0.99),
            (1_001.., _) => share.clamp(0.5, 0.75),
            (_, 26..) => share.clamp(0.0, 0.5),
            _ => 0.0,
        }
    }
}

impl Marginalia {
    /// Skips and the order of hosts follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let (pages, hosts) = (Vec::new(), Vec::new());
        Marginalia { seed, pages, hosts, agenda: DueQueue::default(), position: (0, 0) }
    }

    fn place(&self, host: HostId) -> u64 {
        Draws::keyed(self.seed, PLACE, u64::from(host.0)).at(0)
    }

    fn enqueue(&mut self, page: PageId, pass: u64) {
        let known = &self.pages[page.index()];
        let key = (pass, self.place(known.host), !known.is_fetched);
        self.agenda.put(key, known.host, page);
    }

    fn tally(&mut self, host: HostId, pass: u64) -> &mut Tally {
        if self.hosts.len() <= host.index() {
            self.hosts.resize(host.index() + 1, Tally::default());
        }
        let tally = &mut self.hosts[host.index()];
        if tally.pass < pass {
            *tally = Tally { pass, ..Tally::default() };
        }
        tally
    }
}

impl Policy for Marginalia {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let (host, is_fetched) = (found.host, found.is_held);
                self.pages.push(Known { host, key: found.key, is_fetched, is_gone: false });
                let (pass, place) = self.position;
                let is_past = self.place(host) < place;
                self.enqueue(found.page, pass + u64::from(is_past));
            }
            Event::Fetched(seen) => {
                let pass = self.position.0;
                let known = &mut self.pages[seen.page.index()];
                let (host, was_fetched) = (known.host, known.is_fetched);
                known.is_gone = seen.outcome == Outcome::Gone;
                let (unchanged, failed) = match seen.outcome {
                    Outcome::Gone => return,
                    // An interruption of ours is no visit.
                    Outcome::Failed(Reason::OwnStop) => return self.enqueue(seen.page, pass),
                    Outcome::Failed(_) => (false, true),
                    Outcome::Fetched(content) => {
                        known.is_fetched = true;
                        (content.changed == Some(false), false)
                    }
                };
                if was_fetched {
                    let tally = self.tally(host, pass);
                    tally.recrawled += 1;
                    tally.retained += u32::from(unchanged);
                    tally.failures += u32::from(failed);
                }
                self.enqueue(seen.page, pass + 1);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        // After one look at every page none is skipped: the budget would lapse.
        let mut looks = self.agenda.len();
        while let Some(((pass, place, is_new), page)) = self.agenda.take_if(now, gate, |_| true) {
            self.position = self.position.max((pass, place));
            let known = &self.pages[page.index()];
            let (host, key) = (known.host, known.key);
            let chance = Draws::keyed(self.seed, SKIP, key.0).uniform_at(pass);
            let tally = self.tally(host, pass);
            if is_new || looks == 0 || chance >= tally.skip() {
                return Choice::Fetch(page);
            }
            looks -= 1;
            tally.skipped += 1;
            self.enqueue(page, pass + 1);
        }
        Choice::Idle
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "hosts take turns; known pages are skipped with the share of the host's \
                            pages that were unchanged";
        let is_gone = self.pages.get(page.index())?.is_gone;
        let due = if is_gone { Due::Never } else { Due::InTurn };
        let explanation = Explanation::new(page, RULE, Merit::Turn, due);
        Some(Explanation { is_gone, sooner: &[Lever::Changes], ..explanation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "bounds and ratios of small integers are exact")]
    fn skips_are_bounded_as_marginalia_bounds_them() {
        let skip = |recrawled, retained, skipped, failures| {
            Tally { pass: 0, recrawled, retained, skipped, failures }.skip()
        };
        assert_eq!([skip(25, 25, 0, 0), skip(26, 26, 0, 0), skip(40, 10, 0, 0)], [0.0, 0.5, 0.25]);
        assert_eq!([skip(600, 600, 401, 0), skip(600, 0, 401, 0)], [0.75, 0.5]);
        assert_eq!([skip(5000, 5000, 5001, 0), skip(5000, 0, 5001, 0)], [0.99, 0.75]);
        assert_eq!(skip(30, 0, 0, 21), 1.0);
    }
}
