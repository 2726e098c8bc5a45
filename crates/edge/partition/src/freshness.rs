//! How fresh a crawl is: one figure, wherever it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Quantile of the standard normal law for an interval of 95%.
const Z_95: f64 = 1.959_963_984_540_054;

/// The share of copies that equal their page, each copy counting the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Freshness {
    /// The share.
    pub share: f64,
    /// Half-width of its 95% interval.
    #[serde(default)]
    pub margin: f64,
    /// How it was found.
    pub by: FreshnessMeasure,
}

/// A way to find freshness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FreshnessMeasure {
    /// The policy's beliefs about change rates, corrected by random probes.
    #[serde(alias = "probes")]
    Beliefs,
    /// Revisits, for policies without beliefs. Pages never revisited are left out.
    Revisits,
}

impl FreshnessMeasure {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            FreshnessMeasure::Beliefs => "by change rates and random probes",
            FreshnessMeasure::Revisits => "of the pages revisited",
        }
    }
}

impl Freshness {
    /// By what a policy believes: the share and the half-width of its interval.
    pub(crate) fn believed((share, margin): (f64, f64)) -> Freshness {
        Freshness { share, margin, by: FreshnessMeasure::Beliefs }
    }
}

/// `78.6% ± 5.0% by change rates and random probes`
impl fmt::Display for Freshness {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (share, margin) = (100.0 * self.share, 100.0 * self.margin);
        write!(to, "{share:.1}% ± {margin:.1}% {}", self.by.text())
    }
}

/// Freshness by revisits: seconds between visits, by what the later one saw.
///
/// > F = (1 − s) / (−ln s), s = share of the time between two visits at whose end nothing had changed
///
/// which is the freshness of a page visited at equal intervals, with Poisson changes and chance s of none
/// between two visits (`[CGM03]` §3). A page visited twice as often has twice the visits, each half as long,
/// so every page weighs the same by time, and not by how often a policy goes there.
pub(crate) fn by_revisits(watched_s: u64, changed_s: u64, squares: u64) -> Option<Freshness> {
    if watched_s == 0 {
        return None;
    }
    let (watched, changed) = (watched_s as f64, changed_s.min(watched_s) as f64);
    let same = 1.0 - changed / watched;
    // Visits of equal length that would tell as much.
    let visits = watched * watched / (squares as f64).max(1.0);
    let z2 = Z_95 * Z_95;
    // Wilson's half-width, which is sound for shares near one and for few visits.
    let spread = same * (1.0 - same) / visits + z2 / (4.0 * visits * visits);
    let half = Z_95 * spread.sqrt() / (1.0 + z2 / visits);
    let share = of_unchanged(same);
    let margin = (of_unchanged(same + half) - share).max(share - of_unchanged(same - half));
    Some(Freshness { share, margin, by: FreshnessMeasure::Revisits })
}

/// (1 − s) / (−ln s), from 0 at 0 to 1 at 1.
fn of_unchanged(same: f64) -> f64 {
    match same {
        s if s <= 0.0 => 0.0,
        s if s >= 1.0 => 1.0,
        s => (1.0 - s) / -s.ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_with_its_margin() {
        let text = Freshness::believed((0.786, 0.05)).to_string();
        assert_eq!(text, "78.6% ± 5.0% by change rates and random probes");
    }

    #[test]
    fn freshness_by_revisits_lies_between_what_visits_saw_and_one() {
        let share = |watched, changed| by_revisits(watched, changed, watched).unwrap().share;
        assert_eq!(by_revisits(0, 0, 0), None);
        assert!(share(10, 0) >= 1.0 && share(10, 10) <= 0.0);
        // s = e⁻¹: λI = 1, F = 1 − e⁻¹.
        let f = share(1_000_000, 632_121);
        assert!((f - 0.632_121).abs() < 1e-5, "{f}");
        let few = by_revisits(100, 10, 1_000).unwrap();
        let many = by_revisits(10_000, 1_000, 100_000).unwrap();
        assert!(few.margin > 0.1 && many.margin < 0.03, "{few:?} {many:?}");
    }

    /// One page of ten changes all the time and gets 99 visits of 100, as from a policy that goes where
    /// things change. By visits 1% would be fresh; by time nine pages of ten are.
    #[test]
    fn pages_that_are_visited_often_do_not_count_more() {
        let (busy, quiet) = (891 * 10, 9 * 9_000);
        let squares = 891 * 100 + 9 * 9_000 * 9_000;
        let fresh = by_revisits(busy + quiet, busy, squares).unwrap();
        assert!((fresh.share - 0.9).abs() < 0.06, "{fresh:?}");
    }
}
