//! How fresh a crawl is: one figure, wherever it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Probes decide once their 95% interval is at most this wide to either side. Before, a few probes say
/// less than all revisits do.
const SURE: f64 = 0.1;

/// The share of copies that equal their page, each copy counting the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Freshness {
    /// The share.
    pub share: f64,
    /// Half-width of its 95% interval, where it is known.
    pub half_width: Option<f64>,
    /// How it was measured.
    pub by: FreshnessMeasure,
}

/// A way to measure freshness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FreshnessMeasure {
    /// Random probes, which have no bias.
    Probes,
    /// All revisits. Pages that are revisited often count more.
    Revisits,
}

impl FreshnessMeasure {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            FreshnessMeasure::Probes => "by random probes",
            FreshnessMeasure::Revisits => "by revisits",
        }
    }
}

impl Freshness {
    /// By probes if they are enough, else by revisits, else by the probes there are.
    pub(crate) fn of(probed: Option<(f64, f64)>, revisits: Option<f64>) -> Option<Freshness> {
        let probed = probed.map(|(share, half_width)| Freshness {
            share,
            half_width: Some(half_width),
            by: FreshnessMeasure::Probes,
        });
        let by = FreshnessMeasure::Revisits;
        let revisited = revisits.map(|share| Freshness { share, half_width: None, by });
        let is_sure = |probed: &Freshness| probed.half_width.is_some_and(|half| half <= SURE);
        probed.filter(is_sure).or(revisited).or(probed)
    }
}

/// `78.6% ± 5.0% by random probes`
impl fmt::Display for Freshness {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.1}%", 100.0 * self.share)?;
        if let Some(half) = self.half_width {
            write!(to, " ± {:.1}%", 100.0 * half)?;
        }
        write!(to, " {}", self.by.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_decide_once_they_are_sure() {
        let text = |probed, revisits| {
            Freshness::of(probed, revisits).map_or_else(|| "none".to_owned(), |f| f.to_string())
        };
        assert_eq!(text(None, None), "none");
        assert_eq!(text(Some((1.0, 0.4)), None), "100.0% ± 40.0% by random probes");
        assert_eq!(text(Some((1.0, 0.4)), Some(0.571)), "57.1% by revisits");
        assert_eq!(text(Some((0.786, 0.05)), Some(0.57)), "78.6% ± 5.0% by random probes");
    }
}
