//! Laws of the gaps between changes, parametrised by the rate, and stationary renewal processes.
//!
//! Seen from an arbitrary moment, the next event of a renewal process comes after the *residual* of the
//! gap in progress, which has density λ·Ḡ(t), where Ḡ(t) is the probability that a gap exceeds t and
//! 1/λ the mean gap. Starting each page with a residual makes the process stationary: the expected
//! number of changes in any window of length t is exactly λt, as [WSY02] assumes when it averages
//! staleness over time. (An ordinary start would have too many changes near the origin for laws of
//! high variance, and too few for regular ones.)
//!
//! The gaps themselves are [`RenewalGap`]'s.

use tidewatch_math::rng::Draws;
use tidewatch_math::sample::RenewalGap;

/// Distribution of the gaps between changes, apart from their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapLaw {
    /// Exponential gaps, Ḡ(t) = e^(−λt).
    Poisson,
    /// Ḡ(t) = e^(−(t/s)^k) with s = 1/(λ·Γ(1 + 1/k)). Shape k < 1: bursts and
    /// long silences; k = 1: Poisson; k > 1: regular.
    Weibull {
        /// k ≥ 0.05.
        shape: f64,
    },
    /// Ḡ(t) = (s/t)^a for t ≥ s, with s = (a − 1)/(aλ).
    ///
    /// For a ≤ 1 the mean gap is infinite: there is no change rate, no residual law and no stationary
    /// start, and changes become rarer over time (about t^a in t). Then λ only sets the scale, by the
    /// median gap ln 2/λ of a Poisson page, and the first gap is drawn like any other. Facts exclude
    /// such pages.
    Pareto {
        /// a > 0; a mean exists for a > 1, a variance for a > 2.
        shape: f64,
    },
    /// Possible update times, each used with its own probability [WSY02, quasi-deterministic case];
    /// see [`UpdateSlots`].
    Quasi {
        /// Possible update times per period, at least one.
        slots: u32,
        /// Mean probability that one is used, in (0, 1].
        chance: f64,
    },
}

/// Possible update times of one page, repeated every period.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateSlots {
    /// Length of a period, seconds. Chosen so that Σ chances/period is the page's rate.
    pub period: f64,
    /// Possible update times from the start of a period, ascending, in seconds; uniform in the period,
    /// so that the origin of the trace is not special.
    pub times: Vec<f64>,
    /// The probability of each.
    pub chances: Vec<f64>,
}

/// The true process of a page, known to oracles and tests only.
#[derive(Clone, Debug, PartialEq)]
pub struct PageLaw {
    /// Long-run changes per second.
    pub rate: f64,
    /// The law of its gaps.
    pub law: GapLaw,
    /// Its timetable, under [`GapLaw::Quasi`] with a rate above zero.
    pub timetable: Option<UpdateSlots>,
}

impl GapLaw {
    /// A short name, as in the `law` column of `tidewatch allocate`.
    pub const fn name(self) -> &'static str {
        match self {
            GapLaw::Poisson => "poisson",
            GapLaw::Weibull { .. } => "weibull",
            GapLaw::Pareto { .. } => "pareto",
            GapLaw::Quasi { .. } => "quasi",
        }
    }

    /// Whether gaps have a finite mean.
    pub fn has_mean(self) -> bool {
        !matches!(self, GapLaw::Pareto { shape } if shape <= 1.0)
    }

    /// The law of gaps at a change rate; `None` for a timetable and for a law without a mean.
    pub fn gaps(self, rate: f64) -> Option<RenewalGap> {
        let mean = 1.0 / rate;
        match self {
            GapLaw::Poisson => RenewalGap::exponential(mean).ok(),
            GapLaw::Weibull { shape } => RenewalGap::weibull(mean, shape).ok(),
            GapLaw::Pareto { shape } => RenewalGap::pareto(mean, shape).ok(),
            GapLaw::Quasi { .. } => None,
        }
    }
}

/// A Pareto gap of shape at most one: s·U^(−1/a), with median ln 2/rate.
fn gap_without_mean(rate: f64, shape: f64, draws: &mut Draws) -> f64 {
    let scale = std::f64::consts::LN_2 / rate * (-1.0 / shape).exp2();
    scale * draws.uniform_open().powf(-1.0 / shape)
}

impl PageLaw {
    /// The law of a page; a timetable, where it has one, comes from `draws`.
    pub(super) fn new(rate: f64, law: GapLaw, draws: &mut Draws) -> Self {
        let timetable = match law {
            GapLaw::Quasi { slots, chance } if rate > 0.0 => {
                Some(UpdateSlots::draw(rate, slots, chance, draws))
            }
            _ => None,
        };
        PageLaw { rate, law, timetable }
    }

    /// Times of change in [0, `duration`) seconds, ascending.
    pub(super) fn changes(&self, duration: f64, draws: &mut Draws) -> Vec<f64> {
        if self.rate <= 0.0 {
            return Vec::new();
        }
        if let Some(timetable) = &self.timetable {
            return timetable.changes(duration, draws);
        }
        match (self.law.gaps(self.rate), self.law) {
            (Some(gaps), _) => {
                let first = gaps.first(draws);
                collect(first, duration, || gaps.sample(draws))
            }
            (None, GapLaw::Pareto { shape }) => {
                let mut gap = || gap_without_mean(self.rate, shape, draws);
                collect(gap(), duration, gap)
            }
            (None, _) => Vec::new(),
        }
    }
}

/// Times from `first` on, separated by gaps, before `duration`.
fn collect(first: f64, duration: f64, mut gap: impl FnMut() -> f64) -> Vec<f64> {
    let mut at = first;
    let mut times = Vec::new();
    while at < duration {
        times.push(at);
        at += gap();
    }
    times
}

impl UpdateSlots {
    /// Probabilities are uniform around `chance`, as wide as [0, 1] allows.
    fn draw(rate: f64, slots: u32, chance: f64, draws: &mut Draws) -> Self {
        let reach = chance.min(1.0 - chance);
        let chances: Vec<f64> =
            (0..slots).map(|_| chance + reach * (2.0 * draws.uniform_open() - 1.0)).collect();
        let period = chances.iter().sum::<f64>() / rate;
        let mut times: Vec<f64> = (0..slots).map(|_| draws.uniform() * period).collect();
        times.sort_unstable_by(f64::total_cmp);
        UpdateSlots { period, times, chances }
    }

    fn changes(&self, duration: f64, draws: &mut Draws) -> Vec<f64> {
        let periods = (duration / self.period).ceil() as u64;
        let mut changes = Vec::new();
        for period in 0..periods {
            let start = period as f64 * self.period;
            for (time, &chance) in self.times.iter().zip(&self.chances) {
                let at = start + time;
                if draws.chance(chance) && at < duration {
                    changes.push(at);
                }
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::{mean, testing::assert_follows};

    const RATE: f64 = 0.25;

    #[test]
    fn first_and_later_changes_follow_their_laws() {
        for law in [
            GapLaw::Poisson,
            GapLaw::Weibull { shape: 0.6 },
            GapLaw::Weibull { shape: 3.0 },
            GapLaw::Pareto { shape: 1.5 },
        ] {
            let (page, gaps) =
                (PageLaw { rate: RATE, law, timetable: None }, law.gaps(RATE).unwrap());
            assert!((gaps.mean() * RATE - 1.0).abs() < 1e-12);
            // First changes of many pages, given that they come within the window.
            let window = 8.0 / RATE;
            let first = |item| page.changes(window, &mut Draws::new(11, item)).first().copied();
            let firsts: Vec<f64> = (0..5000).filter_map(first).collect();
            assert_follows(&firsts, |t| gaps.first_cdf(t) / gaps.first_cdf(window));
            // Gaps of one page over a long time, which cuts off hardly any.
            let changes = page.changes(5000.0 / RATE, &mut Draws::new(12, 0));
            let later: Vec<f64> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert_follows(&later, |t| 1.0 - gaps.survival(t));
        }
    }

    #[test]
    fn a_timetable_keeps_its_rate_and_its_slots() {
        let law =
            PageLaw::new(RATE, GapLaw::Quasi { slots: 5, chance: 0.4 }, &mut Draws::new(2, 0));
        let timetable = law.timetable.clone().unwrap();
        assert!((timetable.chances.iter().sum::<f64>() / timetable.period - RATE).abs() < 1e-12);
        let changes = law.changes(1e5 * timetable.period, &mut Draws::new(2, 1));
        for at in &changes {
            let phase = at % timetable.period;
            let near = timetable.times.iter().map(|t| (t - phase).abs()).fold(f64::MAX, f64::min);
            assert!(near < 1e-6 * timetable.period, "{at} is at no slot");
        }
        let per_slot = changes.len() as f64 / 5e5;
        // Five standard deviations of a mean of 5·10⁵ yes-or-no draws.
        assert!((per_slot - mean(&timetable.chances)).abs() < 5.0 * 0.5 / 5e5_f64.sqrt());
    }

    #[test]
    fn nothing_changes_at_rate_zero() {
        for law in [
            GapLaw::Poisson,
            GapLaw::Pareto { shape: 1.2 },
            GapLaw::Quasi { slots: 3, chance: 0.5 },
        ] {
            let page = PageLaw::new(0.0, law, &mut Draws::new(1, 1));
            assert!(page.changes(1e9, &mut Draws::new(1, 2)).is_empty());
        }
    }

    #[test]
    fn without_a_mean_the_law_is_anchored_at_the_median() {
        let law = GapLaw::Pareto { shape: 0.7 };
        assert!(!law.has_mean() && law.gaps(RATE).is_none());
        let mut draws = Draws::new(13, 0);
        let gaps: Vec<f64> = (0..5000).map(|_| gap_without_mean(RATE, 0.7, &mut draws)).collect();
        let median = std::f64::consts::LN_2 / RATE;
        assert_follows(&gaps, |t| 1.0 - 0.5 * (median / t).powf(0.7));
        let page = PageLaw { rate: RATE, law, timetable: None };
        assert!(!page.changes(100.0 / RATE, &mut Draws::new(13, 1)).is_empty());
    }
}
