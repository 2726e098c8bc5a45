//! Shared by generators: checks of settings, hosts of heavy-tailed sizes, statistics of samples.

use rayon::prelude::*;
use tidewatch_core::{Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::ZipfRanks;
use tidewatch_math::{Moments, stats};
use tidewatch_trace::Host;

use super::Fact;

/// Most pages or links of a generated web: page numbers have 32 bits, and a larger trace would not
/// fit an ordinary machine.
pub(super) const MOST_ITEMS: f64 = 1e9;

/// A setting outside its domain.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("cannot generate a {generator} web: {setting} is {value}, must be {wanted}")]
pub struct BadSetting {
    /// The generator.
    pub generator: &'static str,
    /// The setting's name.
    pub setting: &'static str,
    /// Its value.
    pub value: f64,
    /// The allowed values.
    pub wanted: &'static str,
}

/// Checks the settings of one generator one by one.
pub(super) struct Checker(pub(super) &'static str);

impl Checker {
    fn need(
        &self,
        ok: bool,
        setting: &'static str,
        value: f64,
        wanted: &'static str,
    ) -> Result<(), BadSetting> {
        if ok { Ok(()) } else { Err(BadSetting { generator: self.0, setting, value, wanted }) }
    }

    /// From 1 to [`MOST_ITEMS`].
    pub(super) fn count(&self, setting: &'static str, value: f64) -> Result<(), BadSetting> {
        self.need((1.0..=MOST_ITEMS).contains(&value), setting, value, "a number from 1 to 10⁹")
    }

    /// A probability or share.
    pub(super) fn share(&self, setting: &'static str, value: f64) -> Result<(), BadSetting> {
        self.need((0.0..=1.0).contains(&value), setting, value, "a number from 0 to 1")
    }

    /// Finite and above zero.
    pub(super) fn positive(&self, setting: &'static str, value: f64) -> Result<(), BadSetting> {
        let ok = value.is_finite() && value > 0.0;
        self.need(ok, setting, value, "a finite number above 0")
    }

    /// Finite and not below zero.
    pub(super) fn not_negative(&self, setting: &'static str, value: f64) -> Result<(), BadSetting> {
        let ok = value.is_finite() && value >= 0.0;
        self.need(ok, setting, value, "a finite number not below 0")
    }

    /// A finite span above zero.
    pub(super) fn span(&self, setting: &'static str, value: Span) -> Result<(), BadSetting> {
        self.positive(setting, value.seconds())
    }
}

/// `count · scale`, at least one.
pub(super) fn scaled(count: usize, scale: f64) -> usize {
    ((count as f64 * scale).round() as usize).max(1)
}

/// The time `seconds` after the start.
pub(super) fn instant(seconds: f64) -> Time {
    Time::from_seconds(seconds.max(0.0)).unwrap_or(Time::NEVER)
}

/// Assigns each of `pages` pages to one of `hosts` hosts. The host of rank r has probability
/// ∝ r^(−exponent), so sizes follow Zipf's law.
///
/// Returns the hosts that have a page, in order of first mention, and each page's index among them,
/// as a trace requires.
pub(super) fn assign_hosts(
    pages: usize,
    hosts: usize,
    exponent: f64,
    seed: u64,
    label: &str,
) -> (Vec<u32>, Vec<Host>) {
    let label = purpose(label);
    let law = zipf(hosts, exponent);
    let drawn: Vec<usize> = (0..pages as u64)
        .into_par_iter()
        .map(|page| law.sample(&mut Draws::keyed(seed, label, page)) as usize - 1)
        .collect();
    number_hosts(&drawn, hosts)
}

/// Renumbers hosts by first mention and names them.
pub(super) fn number_hosts(drawn: &[usize], hosts: usize) -> (Vec<u32>, Vec<Host>) {
    let mut number = vec![u32::MAX; hosts];
    let mut named = Vec::new();
    let of_page = drawn
        .iter()
        .map(|&rank| {
            if number[rank] == u32::MAX {
                number[rank] = named.len() as u32;
                let name = format!("h{rank}.example").into_boxed_str();
                named.push(Host { name, max_rate: None });
            }
            number[rank]
        })
        .collect();
    (of_page, named)
}

/// Zipf's law on `n` ranks; both numbers are checked settings.
pub(super) fn zipf(n: usize, exponent: f64) -> ZipfRanks {
    ZipfRanks::new(n.max(1) as u64, exponent)
        .expect("the exponent was checked: finite, not negative")
}

/// Share of the total held by the largest values; 0 for an empty slice.
pub(super) fn top_share(values: &[f64], share: f64) -> f64 {
    let top = stats::top_share(&stats::sorted(values), share);
    if top.is_nan() { 0.0 } else { top }
}

/// Count, mean and variance of values.
pub(super) fn moments(values: &[f64]) -> Moments {
    let mut moments = Moments::default();
    values.iter().for_each(|&x| moments.add(x));
    moments
}

/// Mean; NaN for an empty slice.
pub(super) fn mean(values: &[f64]) -> f64 {
    moments(values).mean()
}

/// Squared coefficient of variation, variance / mean²; NaN below two values.
pub(super) fn squared_cv(values: &[f64]) -> f64 {
    let moments = moments(values);
    moments.variance() / moments.mean().powi(2)
}

/// A fact with a published or exactly known figure.
pub(super) fn known(what: &str, published: f64, ours: f64, source: &'static str) -> Fact {
    Fact { what: what.to_owned(), published: Some(published), ours, source }
}

/// A fact whose shape alone is published.
pub(super) fn shape(what: &str, ours: f64, source: &'static str) -> Fact {
    Fact { what: what.to_owned(), published: None, ours, source }
}

#[cfg(test)]
pub(super) mod testing {
    //! Tests samples against distributions.

    use tidewatch_math::stats::{ks_distance, ks_limit, sorted};

    /// Chance that a correct sampler fails for a given seed. Seeds are fixed, so a test that passes
    /// keeps passing.
    const ALPHA: f64 = 1e-4;

    /// Panics if the Kolmogorov–Smirnov distance of the sample from `cdf` exceeds the critical value.
    pub(in crate::generate) fn assert_follows(sample: &[f64], cdf: impl Fn(f64) -> f64) {
        assert!(sample.len() >= 100, "{} values are too few", sample.len());
        let distance = ks_distance(&sorted(sample), cdf);
        let limit = ks_limit(sample.len(), ALPHA);
        assert!(distance < limit, "distance {distance} of {} values", sample.len());
    }

    /// Runs `make` on one and on two threads.
    pub(in crate::generate) fn on_one_and_two_threads<T: Send>(
        make: impl Fn() -> T + Sync,
    ) -> [T; 2] {
        [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(&make)
        })
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the figures are exact")]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_first_mention() {
        let (of_page, hosts) = number_hosts(&[2, 0, 2, 3], 5);
        assert_eq!(of_page, [0, 1, 0, 2]);
        let names: Vec<&str> = hosts.iter().map(|h| &*h.name).collect();
        assert_eq!(names, ["h2.example", "h0.example", "h3.example"]);
    }

    #[test]
    fn figures_of_small_samples() {
        assert_eq!(top_share(&[1.0, 5.0, 2.0, 2.0], 0.25), 0.5);
        assert_eq!(top_share(&[0.0, 0.0], 0.5), 0.0);
        assert_eq!(squared_cv(&[1.0, 3.0]), 0.5);
    }

    #[test]
    fn refusals_are_sentences() {
        let refused = Checker("renewal").share("chance", 1.5).unwrap_err();
        let text = "cannot generate a renewal web: chance is 1.5, must be a number from 0 to 1";
        assert_eq!(refused.to_string(), text);
        assert!(Checker("x").count("pages", f64::NAN).is_err());
        assert!(Checker("x").span("duration", Span::FOREVER).is_err());
    }
}
