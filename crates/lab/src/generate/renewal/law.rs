//! Laws of the gaps between changes, all told by one rate, and how a page
//! changes under them from a stationary start.
//!
//! A renewal process looked at from an arbitrary moment does not wait a whole
//! gap for its next event: it waits the *residual* of the gap in progress,
//! which has density λ·Ḡ(t) with Ḡ the chance that a gap exceeds t and 1/λ the
//! mean gap. Starting each page with a residual makes the process stationary:
//! the expected number of changes in any window of length t is exactly λt, no
//! matter where the window lies, which is what [WSY02] assumes when it averages
//! staleness over time. (An ordinary start would crowd changes at the origin
//! for laws of high variance, and keep them away for regular ones.)
//!
//! A residual is a uniform fraction of a length-biased gap, since the moment
//! we look is likelier to fall into a long gap and lies anywhere within it.

use rand_distr::{Distribution, Gamma};
use tidewatch_math::rng::Draws;

/// How the gaps between a page's changes are distributed, besides their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Exponential gaps, Ḡ(t) = e^(−λt).
    Poisson,
    /// Ḡ(t) = e^(−(t/s)^k) with s = 1/(λ·Γ(1 + 1/k)). Shape k < 1: bursts and
    /// long silences; k = 1: Poisson; k > 1: regular.
    Weibull {
        /// k > 0.
        shape: f64,
    },
    /// Ḡ(t) = (s/t)^a for t ≥ s, with s = (a − 1)/(aλ).
    ///
    /// For a ≤ 1 the mean gap is infinite: there is no change rate, no
    /// residual law and no stationary start, and the page changes ever more
    /// rarely (about t^a times in t). Then λ only sets the scale, through the
    /// median gap ln 2/λ that a Poisson page of that rate would have, and the
    /// first gap is drawn like any other. Facts leave such pages out.
    Pareto {
        /// a > 0; a mean exists for a > 1, a variance for a > 2.
        shape: f64,
    },
    /// A timetable of possible update times, each taken with its own chance
    /// [WSY02, quasi-deterministic case]; see [`Timetable`].
    Quasi {
        /// Possible update times a period, at least one.
        slots: u32,
        /// Mean chance that one is taken, in (0, 1].
        chance: f64,
    },
}

/// Possible update times of one page, over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    /// Length of a period, seconds. Chosen so that Σ chances/period is the page's rate.
    pub period: f64,
    /// Possible update times from the start of a period, ascending, seconds. Uniform in the
    /// period, so the trace's origin is at no special place of the timetable.
    pub times: Vec<f64>,
    /// The chance that each is taken.
    pub chances: Vec<f64>,
}

/// What truly drives a page: hidden from policies, known to oracles and tests.
#[derive(Clone, Debug, PartialEq)]
pub struct PageLaw {
    /// Changes per second in the long run.
    pub rate: f64,
    /// The law of its gaps.
    pub law: Law,
    /// Its timetable, under [`Law::Quasi`] with a rate above zero.
    pub timetable: Option<Timetable>,
}

impl Law {
    /// A short name, as in the `law` column of `tidewatch allocate`.
    pub const fn name(self) -> &'static str {
        match self {
            Law::Poisson => "poisson",
            Law::Weibull { .. } => "weibull",
            Law::Pareto { .. } => "pareto",
            Law::Quasi { .. } => "quasi",
        }
    }

    /// Whether gaps have a mean, so that there is a rate to speak of.
    pub fn has_mean(self) -> bool {
        !matches!(self, Law::Pareto { shape } if shape <= 1.0)
    }

    /// The scale s at a change rate; for Poisson the mean gap.
    pub fn scale(self, rate: f64) -> f64 {
        match self {
            Law::Poisson | Law::Quasi { .. } => 1.0 / rate,
            Law::Weibull { shape } => 1.0 / (rate * gamma_of_one_plus(1.0 / shape)),
            Law::Pareto { shape } if shape > 1.0 => (shape - 1.0) / (shape * rate),
            // Median s·2^(1/a) = ln 2/λ.
            Law::Pareto { shape } => std::f64::consts::LN_2 / rate * (-1.0 / shape).exp2(),
        }
    }

    /// One gap, seconds, by inversion of Ḡ.
    fn gap(self, rate: f64, draws: &mut Draws) -> f64 {
        let scale = self.scale(rate);
        match self {
            Law::Poisson | Law::Quasi { .. } => draws.exponential(rate),
            Law::Weibull { shape } => scale * draws.exponential(1.0).powf(1.0 / shape),
            Law::Pareto { shape } => scale * draws.uniform_open().powf(-1.0 / shape),
        }
    }

    /// Time to the first change from an arbitrary moment, seconds.
    ///
    /// Length-biased gaps: for Weibull (t/s)^k is gamma with shape 1 + 1/k; for
    /// Pareto they are Pareto again with shape a − 1.
    fn residual(self, rate: f64, draws: &mut Draws) -> f64 {
        let scale = self.scale(rate);
        match self {
            Law::Poisson | Law::Quasi { .. } => draws.exponential(rate),
            Law::Weibull { shape } => {
                let long = Gamma::new(1.0 + 1.0 / shape, 1.0).map_or(1.0, |law| law.sample(draws));
                draws.uniform() * scale * long.powf(1.0 / shape)
            }
            Law::Pareto { shape } if shape > 1.0 => {
                draws.uniform() * scale * draws.uniform_open().powf(-1.0 / (shape - 1.0))
            }
            Law::Pareto { .. } => self.gap(rate, draws),
        }
    }
}

impl PageLaw {
    /// The law of a page; a timetable, where it has one, comes from `draws`.
    pub(super) fn new(rate: f64, law: Law, draws: &mut Draws) -> Self {
        let timetable = match law {
            Law::Quasi { slots, chance } if rate > 0.0 => {
                Some(Timetable::draw(rate, slots, chance, draws))
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
        let mut at = self.law.residual(self.rate, draws);
        let mut changes = Vec::new();
        while at < duration {
            changes.push(at);
            at += self.law.gap(self.rate, draws);
        }
        changes
    }
}

impl Timetable {
    /// Chances are uniform around `chance`, as widely as [0, 1] lets them.
    fn draw(rate: f64, slots: u32, chance: f64, draws: &mut Draws) -> Self {
        let reach = chance.min(1.0 - chance);
        let chances: Vec<f64> =
            (0..slots).map(|_| chance + reach * (2.0 * draws.uniform_open() - 1.0)).collect();
        let period = chances.iter().sum::<f64>() / rate;
        let mut times: Vec<f64> = (0..slots).map(|_| draws.uniform() * period).collect();
        times.sort_unstable_by(f64::total_cmp);
        Timetable { period, times, chances }
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

/// Γ(1 + x) for x > 0: Stirling's series beyond 10, stepped down by Γ(z + 1) = zΓ(z).
/// Relative error below 10⁻¹³ where the result is finite.
fn gamma_of_one_plus(x: f64) -> f64 {
    const FAR: f64 = 10.0;
    let (mut z, mut product) = (x + 1.0, 1.0);
    while z < FAR {
        product *= z;
        z += 1.0;
    }
    let inverse = 1.0 / (z * z);
    let tail = (1.0 / 12.0
        - inverse
            * (1.0 / 360.0
                - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse / 1188.0))))
        / z;
    let ln = (z - 0.5) * z.ln() - z + 0.5 * std::f64::consts::TAU.ln() + tail;
    ln.exp() / product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::{mean, testing::assert_follows};

    const RATE: f64 = 0.25;
    const SAMPLE: usize = 20_000;

    fn sample(mut one: impl FnMut(&mut Draws) -> f64) -> Vec<f64> {
        let mut draws = Draws::new(11, 0);
        (0..SAMPLE).map(|_| one(&mut draws)).collect()
    }

    #[test]
    fn gamma_at_known_places() {
        let root_pi = std::f64::consts::PI.sqrt();
        for (x, want) in
            [(1.0, 1.0), (4.0, 24.0), (0.5, root_pi / 2.0), (2.5, 15.0 / 8.0 * root_pi)]
        {
            // A handful of roundings of ln and exp.
            assert!((gamma_of_one_plus(x) / want - 1.0).abs() < 1e-13, "Γ(1 + {x})");
        }
    }

    #[test]
    fn gaps_follow_their_laws() {
        for shape in [0.6, 1.0, 2.5] {
            let law = Law::Weibull { shape };
            let s = law.scale(RATE);
            assert_follows(sample(|d| law.gap(RATE, d)), |t| 1.0 - (-(t / s).powf(shape)).exp());
        }
        for shape in [0.8, 1.5, 3.0] {
            let law = Law::Pareto { shape };
            let s = law.scale(RATE);
            assert_follows(sample(|d| law.gap(RATE, d)), |t| 1.0 - (s / t).powf(shape));
        }
    }

    #[test]
    fn one_over_rate_is_the_mean_gap() {
        // ∫ Ḡ by the trapezoid rule in u = ln t, where every integrand here is smooth but for
        // Pareto's corner at s; the step makes its error below the tolerance.
        for law in
            [Law::Weibull { shape: 0.6 }, Law::Weibull { shape: 3.0 }, Law::Pareto { shape: 1.5 }]
        {
            let s = law.scale(RATE);
            let tail = |t: f64| match law {
                Law::Weibull { shape } => (-(t / s).powf(shape)).exp(),
                Law::Pareto { shape } => (s / t).powf(shape).min(1.0),
                _ => unreachable!("not in the list"),
            };
            let step = 1e-3;
            let mean: f64 = (-30_000..60_000)
                .map(|i| (f64::from(i) * step).exp())
                .map(|t| tail(t) * t * step)
                .sum();
            assert!((mean * RATE - 1.0).abs() < 1e-5, "{law:?}: {mean}");
        }
    }

    #[test]
    fn residuals_follow_the_integrated_tail() {
        // Pareto, closed form of λ∫₀ʳ Ḡ: λr below s, then 1 − λs/(a − 1)·(s/r)^(a−1).
        let shape = 1.5;
        let law = Law::Pareto { shape };
        let s = law.scale(RATE);
        assert_follows(sample(|d| law.residual(RATE, d)), |r| {
            if r < s {
                RATE * r
            } else {
                1.0 - RATE * s / (shape - 1.0) * (s / r).powf(shape - 1.0)
            }
        });
        // Weibull with k = ½, closed form: Ḡ = e^(−√(t/s)), λs = ½, ∫ gives (1 + y)e^(−y), y = √(r/s).
        let law = Law::Weibull { shape: 0.5 };
        let s = law.scale(RATE);
        assert!((RATE * s - 0.5).abs() < 1e-12);
        assert_follows(sample(|d| law.residual(RATE, d)), |r| {
            let y = (r / s).sqrt();
            1.0 - (1.0 + y) * (-y).exp()
        });
        let exponential = |t: f64| 1.0 - (-RATE * t).exp();
        assert_follows(sample(|d| Law::Weibull { shape: 1.0 }.residual(RATE, d)), exponential);
    }

    #[test]
    fn a_timetable_keeps_its_rate_and_its_slots() {
        let law = PageLaw::new(RATE, Law::Quasi { slots: 5, chance: 0.4 }, &mut Draws::new(2, 0));
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
        for law in [Law::Poisson, Law::Pareto { shape: 1.2 }, Law::Quasi { slots: 3, chance: 0.5 }]
        {
            let page = PageLaw::new(0.0, law, &mut Draws::new(1, 1));
            assert!(page.changes(1e9, &mut Draws::new(1, 2)).is_empty());
        }
    }

    #[test]
    fn without_a_mean_the_median_is_poissons() {
        let law = Law::Pareto { shape: 0.7 };
        assert!(!law.has_mean());
        let s = law.scale(RATE);
        assert!(((s / (std::f64::consts::LN_2 / RATE)).powf(0.7) - 0.5).abs() < 1e-12);
    }
}
