//! Three tiers by the time since the last change, as price monitors keep them.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Span, Time};

use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Agenda, Choice, Gate, Policy};

/// Time since the last change up to which a page is in a tier, and the tier's interval.
const TIERS: [(Span, Span); 3] =
    [(Span::DAY, Span::HOUR), (Span::WEEK, Span::HOUR.times(6)), (Span::FOREVER, Span::DAY)];

/// Fetches a page every hour if it changed within a day, every six hours if within a week, and every
/// day otherwise. What was due first comes first; without a due page it is idle.
#[derive(Default)]
pub struct Tiers {
    pages: Vec<Known>,
    agenda: Agenda<Time>,
}

struct Known {
    host: HostId,
    /// When it was last seen to have changed, or became known.
    changed: Time,
    /// `None` once it is gone.
    due: Option<Time>,
}

/// The interval of a page `since` its last change.
fn interval(since: Span) -> Span {
    let tier = TIERS.iter().find(|(until, _)| since <= *until);
    tier.map_or(Span::DAY, |(_, interval)| *interval)
}

impl Tiers {
    fn settle(&mut self, seen: &Observation<'_>) {
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Gone => {
                known.due = None;
                return;
            }
            Outcome::Fetched(content) if content.changed == Some(true) => known.changed = seen.at,
            Outcome::Fetched(_) | Outcome::Failed(_) => {}
        }
        let due = seen.at + interval(seen.at.since(known.changed));
        known.due = Some(due);
        self.agenda.push(due, known.host, seen.page);
    }
}

impl Policy for Tiers {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let (host, at) = (found.host, found.at);
                self.pages.push(Known { host, changed: at, due: Some(at) });
                if !found.is_held {
                    self.agenda.push(at, host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            Event::Log(_) | Event::Asked(_) | Event::Hinted(_) | Event::Budget(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let due = self.agenda.pop_if(now, gate, |due| due <= now);
        due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        const RULE: &str = "its interval is an hour, six hours or a day by its last change";
        let known = self.pages.get(page.index())?;
        let merit = Merit::Every(interval(now.since(known.changed)));
        let explanation =
            Explanation::new(page, RULE, merit, known.due.map_or(Due::Never, Due::At));
        let is_gone = known.due.is_none();
        Some(Explanation { is_gone, sooner: &[Lever::Changes], ..explanation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_follows_from_the_last_change() {
        assert_eq!(interval(Span::HOUR), Span::HOUR);
        assert_eq!(interval(Span::DAY.times(2)), Span::HOUR.times(6));
        assert_eq!(interval(Span::DAY.times(8)), Span::DAY);
    }
}
