//! Learns from visits at which hours a host changes.
//!
//! The intensity of hour h of the week is φ(h) ∝ e^(θ·f(h)), of mean one. The features f are sines and
//! cosines of the hour of the day, up to the fourth harmonic, and the seven days. θ has a normal prior
//! about zero, the flat week, with covariance D². Each visit updates it as in a dynamic generalised
//! linear model `[WHM85]`:
//! ```text
//! x = e^θ₀·rate·∫φ             changes expected in a gap
//! a = ∂x/∂θ
//! s = 1/(eˣ − 1) or −1         score of a visit that saw a change, or none
//! i = 1/(eˣ − 1)               information of such a visit
//! s = (n − x)/v,  i = 1/v      both for a visit that counts n changes;  v = x + x²/k
//! J ← J + i·aaᵀ,   η ← η + a·(s + i·aᵀθ)
//! m = (J + D⁻²)⁻¹η             mean of θ
//! ```
//! θ₀ absorbs an error common to all rates, which must not look like a rhythm. J and η fade, so that
//! without visits θ returns to the prior.
//!
//! **Is there a rhythm at all?** Many hosts have none, and fetches placed by noise are placed badly. The
//! Bayes factor of a rhythm over a flat week is e^(½ηᵀm)/√det(1 + DJD), divided by the same with θ₀
//! alone. With even prior odds it gives the probability p of a rhythm, and the estimate is θ = p·m.
//!
//! Visits a whole day apart say nothing about hours, and visits nearly a day apart say little. The
//! update keeps all of it; distributing their changes over hours by the current estimate (expectation
//! maximisation) would take years to converge.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tidewatch_math::linear::Cholesky;
use tidewatch_math::sample::{HOUR, HOURS, Rhythm, WEEK};

/// Harmonics of the day: 24, 12, 8 and 6 hours. Finer ones would need more visits than hosts get.
const HARMONICS: usize = 4;
const DAYS: usize = 7;
const SIZE: usize = 1 + 2 * HARMONICS + DAYS;
/// Prior standard deviations: of θ₀; of the 24-hour wave (shorter waves in proportion to their
/// length); of a day of the week. Under this prior the busiest hour of a typical host has two to
/// thirty times the changes of the quietest.
const LEVEL_SPREAD: f64 = 0.5;
const WAVE_SPREAD: f64 = 0.7;
const DAY_SPREAD: f64 = 0.3;
/// Each component of θ is clamped to this many prior standard deviations.
const MOST_SPREADS: f64 = 4.0;
/// Components of θ below this move no fetch by more than minutes.
const FLAT: f64 = 0.01;
/// Time constant of forgetting, seconds: hosts change their habits.
const MEMORY: f64 = 52.0 * WEEK;
/// k: shape of the gamma overdispersion of counts, because links come in batches.
const HEAP_SHAPE: f64 = 4.0;
/// A count is capped at its expectation plus this many standard deviations.
const MOST_DEVIATIONS: f64 = 3.0;

type Vector = [f64; SIZE];

/// f(h).
static FEATURES: LazyLock<[Vector; HOURS]> = LazyLock::new(|| std::array::from_fn(features));

fn features(hour: usize) -> Vector {
    let mut f = [0.0; SIZE];
    f[0] = 1.0;
    let angle = TAU * ((hour % 24) as f64 + 0.5) / 24.0;
    for wave in 0..HARMONICS {
        (f[1 + 2 * wave], f[2 + 2 * wave]) = (angle * (wave + 1) as f64).sin_cos();
    }
    f[1 + 2 * HARMONICS + hour / 24] = 1.0;
    f
}

/// Prior standard deviation of a component of θ.
fn first_spread(part: usize) -> f64 {
    match part {
        0 => LEVEL_SPREAD,
        part if part <= 2 * HARMONICS => WAVE_SPREAD / part.div_ceil(2) as f64,
        _ => DAY_SPREAD,
    }
}

/// The changes that a visit saw since the previous one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangesSeen {
    /// Whether there was any.
    Changed(bool),
    /// How many there were.
    Count(f64),
}

impl ChangesSeen {
    /// The least number of changes that happened.
    pub(super) fn changes(self) -> u8 {
        match self {
            ChangesSeen::Changed(changed) => changed.into(),
            ChangesSeen::Count(n) => n as u8,
        }
    }

    /// Score and information of the visit, where x changes were expected.
    fn score(self, x: f64) -> (f64, f64) {
        match self {
            ChangesSeen::Changed(changed) => {
                let odds = x.exp_m1().recip();
                (if changed { odds } else { -1.0 }, odds)
            }
            ChangesSeen::Count(n) => {
                let variance = x + x * x / HEAP_SHAPE;
                let most = x + MOST_DEVIATIONS * variance.sqrt();
                ((n.min(most.max(1.0)) - x) / variance, variance.recip())
            }
        }
    }
}

/// The weekly rhythm of one host, as far as visits have shown it. Times are seconds; hour zero begins
/// at time zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Habit {
    /// J and η.
    known: [Vector; SIZE],
    says: Vector,
    /// The estimate of θ, and φ there.
    theta: Vector,
    rhythm: Rhythm,
    /// Mean of f over the week, weighted by φ.
    centre: Vector,
    /// Time up to which J and η have faded.
    until: f64,
}

impl Default for Habit {
    fn default() -> Self {
        let mut habit = Habit {
            known: [[0.0; SIZE]; SIZE],
            says: [0.0; SIZE],
            theta: [0.0; SIZE],
            rhythm: Rhythm::flat(),
            centre: [0.0; SIZE],
            until: 0.0,
        };
        habit.draw();
        habit
    }
}

impl Habit {
    /// The estimated rhythm φ.
    pub fn rhythm(&self) -> &Rhythm {
        &self.rhythm
    }

    /// Whether the estimate is a flat week.
    pub fn is_flat(&self) -> bool {
        self.theta[1..].iter().all(|part| part.abs() < FLAT)
    }

    /// Learns from two successive visits, at `from` and `to`, to a page with `rate` changes a second on
    /// average. Ignores gaps of more than a week, which say nothing about hours.
    pub fn note(&mut self, from: f64, to: f64, rate: f64, seen: ChangesSeen) {
        let is_sound = from < to && to - from <= WEEK && rate > 0.0 && rate.is_finite();
        if !is_sound || matches!(seen, ChangesSeen::Count(n) if !(n >= 0.0 && n.is_finite())) {
            return;
        }
        self.fade(to);
        let (x, slope) = self.expected(from, to, rate);
        let (score, information) = seen.score(x);
        // Nothing can be learnt where no change, or an unbounded number, was expected.
        if x > 0.0 && score.is_finite() && information.is_finite() {
            let pull = score + information * dot(&slope, &self.theta);
            for (k, row) in self.known.iter_mut().enumerate() {
                let informed = information * slope[k];
                row.iter_mut().zip(&slope).for_each(|(entry, slope)| *entry += informed * slope);
                self.says[k] += slope[k] * pull;
            }
            self.believe();
        }
    }

    /// x and a.
    fn expected(&self, from: f64, to: f64, rate: f64) -> (f64, Vector) {
        let rate = rate * self.theta[0].exp();
        let (mut x, mut slope) = (0.0, [0.0; SIZE]);
        for_each_hour(from, to, |hour, seconds| {
            let part = rate * self.rhythm.levels()[hour] * seconds;
            x += part;
            for (k, f) in FEATURES[hour].iter().enumerate() {
                slope[k] += part * f;
            }
        });
        // φ has mean one: a rise in some hours lowers all others.
        for (k, slope) in slope.iter_mut().enumerate().skip(1) {
            *slope -= x * self.centre[k];
        }
        (x, slope)
    }

    fn fade(&mut self, now: f64) {
        let kept = (-(now - self.until).max(0.0) / MEMORY).exp();
        self.until = self.until.max(now);
        self.known.as_flattened_mut().iter_mut().for_each(|entry| *entry *= kept);
        self.says.iter_mut().for_each(|entry| *entry *= kept);
    }

    /// Recomputes θ and φ from J and η.
    fn believe(&mut self) {
        let (mean, evidence) = self.posterior();
        let (level, unrhythmic) = self.level_alone();
        let chance = (1.0 + (unrhythmic - evidence).exp()).recip();
        for (k, mean) in mean.iter().enumerate() {
            let flat = if k == 0 { (1.0 - chance) * level } else { 0.0 };
            let most = MOST_SPREADS * first_spread(k);
            self.theta[k] = (chance * mean + flat).clamp(-most, most);
        }
        self.draw();
    }

    /// m, and the log evidence of a rhythm.
    fn posterior(&self) -> (Vector, f64) {
        let d: Vector = std::array::from_fn(first_spread);
        let scaled: [Vector; SIZE] = std::array::from_fn(|j| {
            std::array::from_fn(|k| f64::from(u8::from(j == k)) + d[j] * self.known[j][k] * d[k])
        });
        let factor = Cholesky::of(&scaled, 1.0);
        let solved = factor.solve(std::array::from_fn(|k| d[k] * self.says[k]));
        let mean: Vector = std::array::from_fn(|k| d[k] * solved[k]);
        (mean, 0.5 * dot(&self.says, &mean) - 0.5 * factor.ln_det())
    }

    /// The same for θ₀ alone, in a week without rhythm.
    fn level_alone(&self) -> (f64, f64) {
        let known = self.known[0][0] + LEVEL_SPREAD.powi(-2);
        let mean = self.says[0] / known;
        (mean, 0.5 * self.says[0] * mean - 0.5 * (known * LEVEL_SPREAD.powi(2)).ln())
    }

    /// Recomputes φ from θ.
    fn draw(&mut self) {
        let levels =
            std::array::from_fn(|hour| (dot(&FEATURES[hour], &self.theta) - self.theta[0]).exp());
        // Finite and positive, since θ is bounded; a flat week otherwise.
        self.rhythm = Rhythm::new(&levels).unwrap_or_else(|_| Rhythm::flat());
        self.centre = [0.0; SIZE];
        for (level, f) in self.rhythm.levels().iter().zip(FEATURES.iter()) {
            for (centre, f) in self.centre.iter_mut().zip(f) {
                *centre += level * f / HOURS as f64;
            }
        }
    }
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The hour of the week at a time, from 0 to 167.
pub(super) fn hour_of(at: f64) -> usize {
    ((at.rem_euclid(WEEK) / HOUR) as usize).min(HOURS - 1)
}

/// Calls `visit` with each hour of the week that the span touches, and the seconds of the span in it.
/// The span must not be longer than a week.
fn for_each_hour(from: f64, to: f64, mut visit: impl FnMut(usize, f64)) {
    let mut start = from;
    // A week touches 169 hours at most; the bound also ends steps that rounding has stopped.
    for _ in 0..=HOURS + 1 {
        let next = ((start / HOUR).floor() + 1.0) * HOUR;
        let end = next.min(to);
        visit(hour_of(start), end - start);
        if end >= to {
            return;
        }
        start = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;
    use tidewatch_math::special::normal_quantile;

    const DAY: f64 = 86_400.0;
    /// χ²/n of 180 has a standard deviation of 0.105: four of them, and as much for the approximation
    /// of the likelihood.
    const CALIBRATION: f64 = 0.84;

    /// Levels of mean one, exponentials of zero.
    const ROUNDING: f64 = 1e-12;
    /// Central differences with a step of 10⁻⁴ err by the third derivative over 6·10⁸.
    const DIFFERENCES: f64 = 1e-6;
    /// 169 differences of times of 10⁹ s, each rounded to 10⁻⁷ s.
    const SPAN: f64 = 1e-5;

    /// Busiest at three in the morning, `swing` times the quietest hour, and half as busy at weekends.
    fn week(swing: f64) -> Rhythm {
        Rhythm::new(&std::array::from_fn(|hour| {
            let wave = (TAU * ((hour % 24) as f64 - 3.0) / 24.0).cos();
            (if hour / 24 >= 5 { 0.5 } else { 1.0 }) * (0.5 * swing.ln() * wave).exp()
        }))
        .unwrap()
    }

    /// Mean absolute distance of the levels.
    fn distance(a: &Rhythm, b: &Rhythm) -> f64 {
        let gaps = a.levels().iter().zip(b.levels()).map(|(a, b)| (a - b).abs());
        gaps.sum::<f64>() / HOURS as f64
    }

    /// A hundred pages that change every two days, visited about every `gap` seconds for some weeks.
    fn learn(truth: &Rhythm, gap: f64, weeks: f64, rate_error: f64) -> Habit {
        let (end, rate) = (weeks * WEEK, 0.5 / DAY);
        let mut visits = Vec::new();
        for page in 0..100 {
            let mut draws = Draws::of(9, "habit.visits", page);
            let changes: Vec<f64> =
                truth.arrivals(rate, 0.0, end, Draws::of(9, "habit", page)).unwrap().collect();
            let mut at = draws.uniform() * gap;
            loop {
                let next = at + gap * (0.5 + draws.uniform());
                if next >= end {
                    break;
                }
                let changed = changes.iter().any(|&change| change > at && change <= next);
                visits.push((at, next, changed));
                at = next;
            }
        }
        visits.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut habit = Habit::default();
        for (from, to, changed) in visits {
            habit.note(from, to, rate_error * rate, ChangesSeen::Changed(changed));
        }
        habit
    }

    /// Also from visits a day apart, and where all given rates are wrong by a half. The estimate of a
    /// swing of ten is closer to it than a swing of five is.
    #[test]
    fn the_hours_are_found() {
        let truth = week(10.0);
        let least = distance(&truth, &week(5.0));
        for (days, rate_error) in [(0.25, 1.0), (1.0, 1.0), (1.0, 1.5)] {
            let habit = learn(&truth, days * DAY, 8.0, rate_error);
            let found = distance(habit.rhythm(), &truth);
            assert!(found < least, "{days} {rate_error}: {found} of {least}");
        }
    }

    /// The evidence is against a rhythm that is not there, and outweighs the noise.
    #[test]
    fn no_rhythm_stays_flat() {
        for (days, rate_error) in [(0.25, 1.0), (1.0, 1.0), (1.0, 1.5)] {
            let habit = learn(&Rhythm::flat(), days * DAY, 8.0, rate_error);
            let found = distance(habit.rhythm(), &Rhythm::flat());
            assert!(found < FLAT, "{days} {rate_error}: {found}");
        }
        assert!(distance(Habit::default().rhythm(), &Rhythm::flat()) < ROUNDING);
    }

    /// For truths drawn from the prior, the errors of m have the posterior's covariance.
    #[test]
    fn the_posterior_is_calibrated() {
        let (mut squares, mut all) = (0.0, 0.0);
        for host in 0..20 {
            let mut draws = Draws::of(host, "habit.truth", 0);
            let theta: Vector =
                std::array::from_fn(|k| normal_quantile(draws.uniform_open()) * first_spread(k));
            let level = |hour: usize| (dot(&FEATURES[hour], &theta) - theta[0]).exp();
            let truth = Rhythm::new(&std::array::from_fn(level)).unwrap();
            let habit = learn(&truth, 0.5 * DAY, 4.0, (-theta[0]).exp());
            let mean = habit.posterior().0;
            for k in 0..=2 * HARMONICS {
                squares += (mean[k] - theta[k]).powi(2) / variance(&habit, k);
                all += 1.0;
            }
        }
        let ratio: f64 = squares / all;
        assert!((ratio - 1.0).abs() < CALIBRATION, "{ratio}");
    }

    /// Variance of a part of θ, by (J + D⁻²)⁻¹.
    fn variance(habit: &Habit, part: usize) -> f64 {
        let mut precision = habit.known;
        (0..SIZE).for_each(|k| precision[k][k] += first_spread(k).powi(-2));
        let unit = std::array::from_fn(|k| f64::from(u8::from(k == part)));
        Cholesky::of(&precision, f64::MIN_POSITIVE).solve(unit)[part]
    }

    #[test]
    fn hostile_visits_are_left_out() {
        let mut habit = Habit::default();
        habit.note(f64::NAN, 1.0, 1.0, ChangesSeen::Changed(true));
        habit.note(0.0, f64::INFINITY, 1.0, ChangesSeen::Changed(true));
        habit.note(5.0, 0.0, 1.0, ChangesSeen::Changed(true));
        habit.note(0.0, 2.0 * WEEK, 1.0, ChangesSeen::Changed(true));
        habit.note(0.0, 5.0, f64::INFINITY, ChangesSeen::Changed(true));
        habit.note(0.0, 5.0, 1.0, ChangesSeen::Count(f64::NAN));
        assert!(distance(habit.rhythm(), &Rhythm::flat()) < ROUNDING);
        for step in 0..1000 {
            let from = 7200.0 * f64::from(step);
            let seen =
                if step % 2 == 0 { ChangesSeen::Count(1e300) } else { ChangesSeen::Changed(true) };
            habit.note(from, from + 3600.0, [1e-12, 1e12][step as usize % 2], seen);
            habit.note(from, from + 1.0, 1e-300, ChangesSeen::Changed(true));
        }
        assert!(habit.rhythm().levels().iter().all(|level| level.is_finite() && *level > 0.0));
    }

    proptest! {
        /// a is the derivative of x, by differences.
        #[test]
        fn slope_matches_the_expected_value(from in 0.0..1e6_f64, gap in 60.0..6e5_f64, seed: u64) {
            let (mut draws, mut habit) = (Draws::of(seed, "habit.slope", 0), Habit::default());
            for theta in &mut habit.theta {
                *theta = 0.5 * normal_quantile(draws.uniform_open());
            }
            habit.draw();
            let (x, slope) = habit.expected(from, from + gap, 1e-5);
            for (k, slope) in slope.into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut other = habit.clone();
                    other.theta[k] += by;
                    other.draw();
                    other.expected(from, from + gap, 1e-5).0
                };
                let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                prop_assert!((slope - difference).abs() < DIFFERENCES * x, "{k} {slope} {difference}");
            }
        }

        /// The parts of a span add up to it.
        #[test]
        fn hours_cover_the_span(from in -1e7..1e9_f64, share in 0.0001..1.0_f64) {
            let to = from + share * WEEK;
            let mut total = 0.0;
            for_each_hour(from, to, |_, seconds| total += seconds);
            prop_assert!((total - (to - from)).abs() < SPAN, "{total}");
        }
    }
}
