//! Sums over the visits of a page, and the estimators that need no more.

use super::likelihood::Likelihood;
use super::{RateEstimate, TAIL, Visit, Z_95};
use tidewatch_math::special::{gamma_p_inv, gamma_q_inv};

/// Shortest gap taken to stand for very uneven ones, as a share of their mean.
const SHORTEST: f64 = 0.05;

/// All that the O(1) estimators remember of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    visits: u64,
    changes: u64,
    /// Sum of all gaps.
    watched: f64,
    /// Changes with a date.
    dated: u64,
    /// Changes told of one by one.
    told: f64,
    /// Time surely without a change: unchanged gaps, and the ages of dated changes.
    quiet: f64,
    /// Sum of the gaps that ended in a change without a date.
    undated_gaps: f64,
    /// Sum of their squares.
    undated_squares: f64,
}

impl Counts {
    /// Takes in one visit.
    pub fn add(&mut self, visit: &Visit) {
        self.visits += 1;
        self.watched += visit.gap;
        match (visit.changed, visit.age) {
            (false, _) => self.quiet += visit.gap,
            (true, Some(age)) => {
                self.dated += 1;
                self.quiet += age;
            }
            (true, None) => {
                self.undated_gaps += visit.gap;
                self.undated_squares += visit.gap * visit.gap;
            }
        }
        self.changes += u64::from(visit.changed);
    }

    /// From the sums that a page record keeps: visits after the first, how many saw a change, the
    /// time watched and the part of it in gaps that ended in a change, which are taken to be equal.
    /// `None` if they contradict one another.
    pub fn from_sums(visits: u64, changes: u64, watched: f64, changed: f64) -> Option<Self> {
        let sound =
            changes <= visits && changed >= 0.0 && changed <= watched && watched.is_finite();
        let squares = if changes == 0 { 0.0 } else { changed * changed / changes as f64 };
        sound.then_some(Self {
            visits,
            changes,
            watched,
            dated: 0,
            told: 0.0,
            quiet: watched - changed,
            undated_gaps: changed,
            undated_squares: squares,
        })
    }

    /// The same, and `changes` of which others told, within a `time` in which each would have been told
    /// of. Both count in the likelihood, λᵏe^(−λt), and not among what visits saw.
    #[must_use]
    pub fn and_told(self, changes: f64, time: f64) -> Self {
        Self { told: self.told + changes, quiet: self.quiet + time, ..self }
    }

    /// Visits after the first.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// Visits that saw a change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Time between the first visit and the last.
    pub fn watched(&self) -> f64 {
        self.watched
    }

    /// X/Σgaps `[CGM03e]`: changes seen over time watched. Several changes between two visits
    /// count once, so its mean is (1 − e^(−r))/r of the truth for r changes a gap.
    ///
    /// Interval: Wilson's for the share of visits that see a change. It is about that share, and
    /// shares the bias.
    pub fn naive(&self) -> Option<RateEstimate> {
        let (n, x) = self.sample()?;
        let per_time = n / self.watched;
        let (low, rest) = wilson(x / n, (n - x) / n, n);
        Some(RateEstimate::new(x / self.watched, low * per_time, (1.0 - rest) * per_time))
    }

    /// −ln((n − X + ½)/(n + ½))/I with I the mean gap `[CGM03e]`. Meant for equal gaps.
    ///
    /// Everything changed: ln(2n + 1)/I. Interval: Wilson's for the share p of visits that see a
    /// change, through p ↦ −ln(1 − p)/I.
    pub fn bias_reduced(&self) -> Option<RateEstimate> {
        let (n, x) = self.sample()?;
        let gap = self.watched / n;
        // (n − x + ½)/(n + ½) = 1 − x/(n + ½), and ln_1p keeps small shares exact.
        let rate_of = |share: f64| -(-share).ln_1p() / gap;
        let (low, rest) = wilson(x / n, (n - x) / n, n);
        Some(RateEstimate::new(rate_of(x / (n + 0.5)), rate_of(low), -rest.ln() / gap))
    }

    /// p·X/(n − X + 1) with p = n/Σgaps the visit rate `[APT20, LLN with α = 1]`: for exponential
    /// gaps a visit sees a change with chance θ = λ/(λ + p).
    ///
    /// Everything changed: p·n. Interval: Wilson's for θ, through θ ↦ pθ/(1 − θ).
    pub fn long_run(&self) -> Option<RateEstimate> {
        let (n, x) = self.sample()?;
        let p = n / self.watched;
        let (low, high) = from_odds(p, wilson(x / n, (n - x) / n, n));
        Some(RateEstimate::new(p * x / (n - x + 1.0), low, high))
    }

    /// X′/T `[CGM03e]`: T the time surely without a change (unchanged gaps, and from each dated
    /// change to its visit), X′ = (X − 1) − X/(N·ln(1 − X/N)), N − 1 if everything changed.
    ///
    /// X/T is the likelihood's maximum when every change is dated, X′/X corrects its bias. Changes
    /// without a date enter the likelihood as such (by mean and variance of their gaps), so that with no
    /// date at all this is a bias-corrected maximum likelihood. When T = 0, because the server dates
    /// every answer with the moment it gives it, dates say nothing and are not used.
    ///
    /// Interval: Garwood's exact one for X Poisson events, as if seen in the time that makes X/T the
    /// likelihood's maximum.
    pub fn last_modified(&self) -> Option<RateEstimate> {
        let (n, x) = self.sample()?;
        if x == 0.0 {
            return Some(RateEstimate::new(0.0, 0.0, -TAIL.ln() / self.quiet));
        }
        if self.quiet == 0.0 {
            return self.bias_reduced();
        }
        let peak = self.score().root();
        let corrected = if x == n { n - 1.0 } else { (x - 1.0) - x / (n * (-x / n).ln_1p()) };
        let per_event = peak / x;
        let (low, high) = (gamma_p_inv(x, TAIL), gamma_q_inv(x + 1.0, TAIL));
        Some(RateEstimate::new(corrected * per_event, low * per_event, high * per_event))
    }

    /// The score equation of these sums. Undated changes are taken to follow two gaps, half of them
    /// each, that have the mean and variance of the true ones (the shorter at least [`SHORTEST`] of
    /// the mean): exact for equal gaps, and right to second order in their spread for others.
    pub(super) fn score(&self) -> Likelihood<impl Iterator<Item = (f64, f64)> + Clone + use<>> {
        let n = (self.changes - self.dated) as f64;
        let mean = if n > 0.0 { self.undated_gaps / n } else { 0.0 };
        let variance = if n > 0.0 { self.undated_squares / n - mean * mean } else { 0.0 };
        let spread = variance.max(0.0).sqrt().min((1.0 - SHORTEST) * mean);
        let gaps = [(mean - spread, 0.5 * n), (mean + spread, 0.5 * n)];
        let gaps = gaps.into_iter().take(if n > 0.0 { 2 } else { 0 });
        Likelihood { events: self.dated as f64 + self.told, quiet: self.quiet, gaps }
    }

    /// n and X as numbers, when there is anything to go by.
    fn sample(&self) -> Option<(f64, f64)> {
        (self.visits > 0 && self.watched > 0.0).then_some((self.visits as f64, self.changes as f64))
    }
}

/// Wilson's 95 % interval for a chance seen as the share `p` = 1 − `q` of `n` trials: its lower
/// end, and one less its upper end, both without cancellation. 0 where `p` or `q` is.
///
/// With centre c and spread s the ends are (c ∓ s)/(1 + z²/n), and (c − s)(c + s) = p²(1 + z²/n).
pub(super) fn wilson(p: f64, q: f64, n: f64) -> (f64, f64) {
    let z2 = Z_95 * Z_95 / n;
    let spread = (z2 * (p * q + 0.25 * z2)).sqrt();
    let end = |share: f64| share * share / (share + 0.5 * z2 + spread);
    (end(p), end(q))
}

/// The interval of λ from that of θ = λ/(λ + p), the chance that a visit sees a change.
pub(super) fn from_odds(visit_rate: f64, (low, rest): (f64, f64)) -> (f64, f64) {
    (visit_rate * low / (1.0 - low), visit_rate * (1.0 - rest) / rest)
}
