//! Expected clicks of a page by its score.
//!
//! A page of standardised score x gets Λ expected clicks,
//! ```text
//! Λ = v/(1 + v/A),   v = e^(m + s·x),
//! ```
//! a lognormal that saturates at the audience A. Two published figures determine m and s: the share of
//! pages ever clicked, mean of 1 − e^(−Λ), and the clicks per second on pages of the measured time. The
//! equations are solved on the drawn scores: the sample mean of a heavy tail varies so much that
//! webs of different seeds would otherwise differ twofold in clicks.

use rayon::prelude::*;
use tidewatch_math::roots::{Stop, solve};

use super::config::EchoConfig;
use super::publish::Birth;

/// Bounds of the spread s: from nearly equal pages to a few with all clicks.
const SPREADS: (f64, f64) = (0.01, 20.0);
/// Bounds of the level m, wide enough for any audience and number of pages.
const LEVELS: (f64, f64) = (-400.0, 100.0);
/// Far below the Poisson noise of the clicks themselves (10⁻³ at full scale).
const PRECISION: f64 = 1e-5;
/// Block size of parallel sums; fixed, so that sums do not depend on threads.
const CHUNK: usize = 8192;

/// Maps a score to popularity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Popularity {
    level: f64,
    spread: f64,
    audience: f64,
}

impl Popularity {
    /// Expected clicks of a page over its whole life.
    pub(super) fn clicks(&self, score: f64) -> f64 {
        // v/(1 + v/A) in the form that cannot overflow.
        1.0 / ((-(self.level + self.spread * score)).exp() + 1.0 / self.audience)
    }

    /// Solves for level and spread.
    pub(super) fn calibrate(config: &EchoConfig, births: &[&Birth]) -> Popularity {
        let pages: Vec<(f64, f64)> =
            births.iter().map(|birth| (birth.score, counted(config, birth))).collect();
        let measured_from = (config.duration.seconds() - config.measured.seconds()).max(0.0);
        let measured: Vec<(f64, f64)> = births
            .iter()
            .zip(&pages)
            .filter(|(birth, _)| birth.at >= measured_from)
            .map(|(_, &page)| page)
            .collect();
        let seconds = config.duration.seconds() - measured_from;
        let clicks = config.profit_per_second * config.scale * seconds;
        let at_spread = |spread: f64| Popularity {
            level: root(LEVELS, |level| {
                let law = Popularity { level, spread, audience: config.audience };
                total(&measured, |(score, counted)| counted * law.clicks(score)) / clicks - 1.0
            }),
            spread,
            audience: config.audience,
        };
        let spread = root(SPREADS, |spread| {
            let law = at_spread(spread);
            let clicked = |(score, counted): (f64, f64)| -(-counted * law.clicks(score)).exp_m1();
            total(&pages, clicked) / pages.len().max(1) as f64 - config.clicked_share
        });
        at_spread(spread)
    }
}

/// The root within a bracket, or the nearest end if there is none: a web too small to meet the
/// figures gets the nearest law, and its facts show the difference.
fn root(bracket: (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    let stop = Stop { absolute: PRECISION, ..Stop::default() };
    match solve(&f, bracket, stop) {
        Ok(root) => root.x,
        Err(_) if f(bracket.0).abs() < f(bracket.1).abs() => bracket.0,
        Err(_) => bracket.1,
    }
}

/// A sum that is the same on any number of threads.
fn total(pages: &[(f64, f64)], f: impl Fn((f64, f64)) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> =
        pages.par_chunks(CHUNK).map(|chunk| chunk.iter().map(|&page| f(page)).sum()).collect();
    sums.iter().sum()
}

/// Time over which a lasting page gets its Λ clicks evenly; \[LOSS13\] §3.1 observed pages for two
/// weeks.
pub(super) const LASTING_S: f64 = 14.0 * 86_400.0;

/// The part of a page's Λ that falls before the clicks end.
///
/// Interest awakes after an exponential time of mean r and then lasts one of mean τ: with
/// remaining time T the part is 1 − (τe^(−T/τ) − re^(−T/r))/(τ − r). A lasting page has T/14 days.
pub(super) fn counted(config: &EchoConfig, birth: &Birth) -> f64 {
    let left = config.horizon() - birth.at;
    if birth.decay.is_infinite() {
        return left / LASTING_S;
    }
    let rise = 3600.0 * config.rise_hours;
    // Equal means would divide by zero; a relative nudge of 10⁻⁶ changes the part by less.
    let decay =
        if (birth.decay / rise - 1.0).abs() < 1e-6 { birth.decay * 1.000_001 } else { birth.decay };
    let slow = decay * (-left / decay).exp();
    let fast = if rise > 0.0 { rise * (-left / rise).exp() } else { 0.0 };
    1.0 - (slow - fast) / (decay - rise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(score: f64, at: f64) -> Birth {
        Birth { at, category: 0, second: None, topic: 0, score, liking: 0.0, decay: 36_000.0 }
    }

    #[test]
    fn both_figures_are_met_on_the_drawn_scores() {
        use rand_distr::{Distribution, StandardNormal};
        use tidewatch_math::rng::Draws;
        let config = EchoConfig { scale: 0.1, ..EchoConfig::default() };
        let births: Vec<Birth> = (0..41_500)
            .map(|item| {
                let score = StandardNormal.sample(&mut Draws::new(3, item));
                page(score, item as f64 / 41_500.0 * config.duration.seconds())
            })
            .collect();
        let births: Vec<&Birth> = births.iter().collect();
        let law = Popularity::calibrate(&config, &births);
        let clicks = |birth: &Birth| law.clicks(birth.score) * counted(&config, birth);
        let clicked: f64 = births.iter().map(|birth| 1.0 - (-clicks(birth)).exp()).sum();
        assert!((clicked / 41_500.0 - 0.2).abs() < 1e-4, "{clicked}");
        let last = births.iter().filter(|birth| birth.at >= 14.0 * 86_400.0);
        let profit: f64 = last.map(|birth| clicks(birth)).sum::<f64>() / 604_800.0;
        assert!((profit / 0.072 - 1.0).abs() < 1e-3, "{profit}");
    }

    #[test]
    fn the_counted_part_agrees_with_quadrature() {
        let config = EchoConfig::default();
        let mut birth = page(0.0, config.horizon() - 50_000.0);
        birth.decay = 20_000.0;
        let (rise, decay) = (3600.0, birth.decay);
        // Density of the sum of two exponentials, by the midpoint rule.
        let density = |t: f64| ((-t / decay).exp() - (-t / rise).exp()) / (decay - rise);
        let sum: f64 = (0..50_000).map(|second| density(f64::from(second) + 0.5)).sum();
        assert!((counted(&config, &birth) - sum).abs() < 1e-6);
        birth.decay = 3600.0;
        let x = 50_000.0_f64 / 3600.0;
        let gamma = 1.0 - (1.0 + x) * (-x).exp();
        assert!((counted(&config, &birth) - gamma).abs() < 1e-6);
    }

    #[test]
    fn impossible_figures_give_the_nearest_law() {
        let config = EchoConfig { scale: 1e-6, ..EchoConfig::default() };
        let birth = page(0.0, config.duration.seconds() - 1.0);
        let law = Popularity::calibrate(&config, &[&birth]);
        assert!(law.clicks(0.0).is_finite());
        assert!(Popularity::calibrate(&config, &[]).clicks(5.0).is_finite());
    }
}
