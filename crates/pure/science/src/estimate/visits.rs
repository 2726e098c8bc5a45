//! The visits to one page: the one input of all estimators.

use super::Counts;

/// One visit after the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Time since the visit before; positive and finite.
    pub gap: f64,
    /// Whether the page had changed in that time.
    pub changed: bool,
    /// If it had and a date for it is known: time from the last change to this visit, in [0, gap].
    pub age: Option<f64>,
}

/// The visits to one page, in order, cleaned of what cannot be.
///
/// Life: [`Visits::record`] is called once a visit with what the log says; the first only starts
/// the clock. Sums for the O(1) estimators are kept along the way.
///
/// Clocks disagree and servers lie, so a row is taken only as far as it makes sense:
/// * a visit not after the one before it (or at no time at all) is ignored;
/// * `changed` is what the crawler itself saw and always counts;
/// * the date of a change is kept only if it lies after the previous visit and not after this one.
///   A date in the future, a date before the previous visit although the content changed since, and
///   a date on a page that did not change are all dropped; the visit still counts, undated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visits {
    usable: Vec<Visit>,
    counts: Counts,
    last_at: Option<f64>,
}

impl Visits {
    /// No visit yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A visit at time `at`, whether it saw a change since the visit before, and the date of the
    /// last change as the server gave it.
    pub fn record(&mut self, at: f64, changed: bool, last_modified: Option<f64>) {
        let Some(previous) = self.last_at else {
            self.last_at = Some(at).filter(|at| at.is_finite());
            return;
        };
        let gap = at - previous;
        if !(gap > 0.0 && gap.is_finite()) {
            return;
        }
        self.last_at = Some(at);
        let credible = |date: &f64| changed && previous < *date && *date <= at;
        let age = last_modified.filter(credible).map(|date| at - date);
        self.push(Visit { gap, changed, age });
    }

    /// A visit given by its gap. One that cannot be (see [`Visit`]) is ignored.
    pub fn push(&mut self, visit: Visit) {
        if !(visit.gap > 0.0 && visit.gap.is_finite()) {
            return;
        }
        let age = visit.age.filter(|age| visit.changed && (0.0..=visit.gap).contains(age));
        let visit = Visit { age, ..visit };
        self.counts.add(&visit);
        self.usable.push(visit);
    }

    /// The usable visits.
    pub fn visits(&self) -> &[Visit] {
        &self.usable
    }

    /// Their sums.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl FromIterator<Visit> for Visits {
    fn from_iter<I: IntoIterator<Item = Visit>>(visits: I) -> Self {
        let mut all = Self::new();
        visits.into_iter().for_each(|visit| all.push(visit));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_visit_only_starts_the_clock() {
        let mut visits = Visits::new();
        visits.record(f64::NAN, true, None);
        visits.record(5.0, true, Some(1.0));
        assert!(visits.visits().is_empty());
        visits.record(9.0, true, Some(8.0));
        assert_eq!(visits.visits(), [Visit { gap: 4.0, changed: true, age: Some(1.0) }]);
    }

    #[test]
    fn impossible_dates_are_dropped_and_the_change_is_kept() {
        let mut visits = Visits::new();
        visits.record(10.0, false, None);
        visits.record(20.0, true, Some(21.0)); // in the future
        visits.record(30.0, true, Some(20.0)); // not after the previous visit
        visits.record(40.0, true, Some(f64::NAN));
        visits.record(50.0, false, Some(45.0)); // dated but unchanged
        visits.record(60.0, true, Some(60.0)); // just now
        let ages: Vec<_> = visits.visits().iter().map(|v| v.age).collect();
        assert_eq!(ages, [None, None, None, None, Some(0.0)]);
        assert_eq!(visits.counts().changes(), 4);
    }

    #[test]
    fn a_clock_that_runs_backwards_is_ignored() {
        let mut visits = Visits::new();
        for at in [100.0, 50.0, 100.0, f64::INFINITY, 130.0] {
            visits.record(at, true, None);
        }
        assert_eq!(visits.visits(), [Visit { gap: 30.0, changed: true, age: None }]);
    }
}
