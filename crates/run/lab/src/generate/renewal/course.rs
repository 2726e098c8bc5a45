//! How change rates move over time.
//!
//! A page with rate λ and factor f(t) changes like a page of constant rate whose clock runs at speed
//! f(t): changes are drawn in operational time Λ(t) = ∫₀ᵗ f and mapped back. So every law of gaps
//! can stop or drift. Factors are constant within a phase.

use rand_distr::{Distribution, StandardNormal};
use tidewatch_core::Span;
use tidewatch_math::rng::Draws;

use crate::generate::shared::{BadSetting, Checker};

/// Length of a phase of a drifting page.
const PHASE: Span = Span::DAY;

/// The factor by which a page's change rate moves over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Always 1.
    Steady,
    /// 1 until an exponential time of this mean, then 0: the page never changes again.
    Stops {
        /// Mean time until a page stops.
        mean: Span,
    },
    /// Lognormal with mean 1; its logarithm is a stationary autoregression.
    Drifts {
        /// Standard deviation of the logarithm.
        spread: f64,
        /// Time after which the correlation with the present has fallen to 1/e.
        memory: Span,
    },
}

impl Course {
    pub(super) fn check(&self, check: &Checker) -> Result<(), BadSetting> {
        match *self {
            Course::Steady => Ok(()),
            Course::Stops { mean } => check.span("mean time until a page stops", mean),
            Course::Drifts { spread, memory } => {
                check.not_negative("spread of a drift", spread)?;
                check.span("memory of a drift", memory)
            }
        }
    }

    /// The clock of one page over `duration` seconds.
    pub(super) fn clock(&self, duration: f64, draws: &mut Draws) -> Clock {
        let phases = match *self {
            Course::Steady => vec![(duration, 1.0)],
            Course::Stops { mean } => {
                vec![
                    (draws.exponential(mean.seconds().recip()).min(duration), 1.0),
                    (duration, 0.0),
                ]
            }
            Course::Drifts { spread, memory } => {
                let kept = (-PHASE.seconds() / memory.seconds()).exp();
                let fresh = (1.0 - kept * kept).sqrt();
                let mut level: f64 = StandardNormal.sample(draws);
                let count = (duration / PHASE.seconds()).ceil().max(1.0) as usize;
                let phase = |number: usize| {
                    let factor = (spread * level - 0.5 * spread * spread).exp();
                    let step: f64 = StandardNormal.sample(draws);
                    level = kept * level + fresh * step;
                    ((number as f64 * PHASE.seconds()).min(duration), factor)
                };
                (1..=count).map(phase).collect()
            }
        };
        Clock(phases)
    }
}

/// The phases of a page: end in seconds, and factor.
pub(super) struct Clock(Vec<(f64, f64)>);

impl Clock {
    /// Λ at the end: the length of the trace in operational time.
    pub(super) fn total(&self) -> f64 {
        self.passes().map(|(start, end, factor)| factor * (end - start)).sum()
    }

    /// Calendar times of ascending operational ones.
    pub(super) fn calendar(&self, times: Vec<f64>) -> Vec<f64> {
        let mut phases = self.passes().filter(|phase| phase.2 > 0.0);
        let Some(mut now) = phases.next() else { return Vec::new() };
        let mut before = 0.0;
        let map = |time: f64| {
            while time - before > now.2 * (now.1 - now.0) {
                before += now.2 * (now.1 - now.0);
                // After the last phase only rounding is left.
                now = phases.next()?;
            }
            Some(now.0 + (time - before) / now.2)
        };
        times.into_iter().map_while(map).collect()
    }

    /// Start, end and factor of every phase.
    fn passes(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let starts = std::iter::once(0.0).chain(self.0.iter().map(|phase| phase.0));
        starts.zip(&self.0).map(|(start, &(end, factor))| (start, end, factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::moments;

    const DAY: f64 = 86_400.0;

    fn clocks(course: Course) -> impl Iterator<Item = Clock> {
        (0..20_000).map(move |page| course.clock(60.0 * DAY, &mut Draws::new(1, page)))
    }

    #[test]
    fn operational_time_maps_back() {
        let clock = Clock(vec![(10.0, 1.0), (20.0, 0.0), (30.0, 2.0)]);
        assert!((clock.total() - 30.0).abs() < 1e-12);
        let back = clock.calendar(vec![5.0, 12.0, 29.0]);
        assert_eq!(back, [5.0, 21.0, 29.5]);
    }

    #[test]
    fn stopped_pages_stay_silent() {
        let mean = Span::DAY.times(30);
        let totals: Vec<f64> = clocks(Course::Stops { mean }).map(|clock| clock.total()).collect();
        // E min(S, T) = m(1 − e^(−T/m)); five standard errors of a mean below 30 days.
        let expected = 30.0 * DAY * (1.0 - (-2.0_f64).exp());
        let error = 5.0 * 30.0 * DAY / 20_000_f64.sqrt();
        let mean = moments(&totals).mean();
        assert!((mean - expected).abs() < error, "{mean} {expected}");
    }

    #[test]
    fn a_drift_keeps_the_mean_rate() {
        let course = Course::Drifts { spread: 1.0, memory: Span::DAY.times(10) };
        let means: Vec<f64> = clocks(course).map(|clock| clock.total() / (60.0 * DAY)).collect();
        let all = moments(&means);
        let error = 5.0 * (all.variance() / 20_000.0).sqrt();
        assert!((all.mean() - 1.0).abs() < error, "{}", all.mean());
        // Sixty days average over memories of ten, so pages differ less than e − 1 at one moment.
        assert!(all.variance() < 1.0_f64.exp() - 1.0 && all.variance() > 0.1, "{}", all.variance());
    }
}
