//! Clicks by age, of many pages at once.

use serde::{Deserialize, Serialize};
use tidewatch_core::{PageId, Span};

use super::clicks::Ledger;
use super::curve::{ProfitCurve, fit};

/// Bins of a histogram: a week of 20 minutes each.
pub(super) const BINS: usize = 504;
/// D of `[LOSS13]`, §5.3.2.
pub(super) const BIN: Span = Span::MINUTE.times(20);
/// Pages that a bin needs to count.
const TELLING: f64 = 0.5;

/// n_k and c_k.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bins {
    #[serde(with = "tidewatch_math::array")]
    pub(super) open: [f32; BINS],
    #[serde(with = "tidewatch_math::array")]
    pub(super) clicks: [f32; BINS],
}

pub(super) const EMPTY: Bins = Bins { open: [0.0; BINS], clicks: [0.0; BINS] };

/// n_k as steps up and down, so that a page costs two entries instead of a bin each.
pub(super) struct Steps {
    step: [f32; BINS + 1],
    bins: Bins,
}

impl Steps {
    pub(super) fn new() -> Self {
        Steps { step: [0.0; BINS + 1], bins: EMPTY }
    }

    pub(super) fn take(&mut self, ledger: &Ledger, page: PageId) {
        let Some(shown) = ledger.shown(page) else { return };
        let bin = BIN.as_micros();
        let lived = ((shown.lived.as_micros() / bin) as usize).min(BINS);
        let first = (shown.open.as_micros() / bin) as usize;
        if first >= lived {
            return;
        }
        let missed = (shown.open.as_micros() % bin) as f32 / bin as f32;
        self.bins.open[first] -= missed;
        self.step[first] += 1.0;
        self.step[lived] -= 1.0;
        for (age, count) in shown.clicks() {
            let k = (age.as_micros() / bin) as usize;
            if k < lived {
                self.bins.clicks[k] += count as f32;
            }
        }
    }

    pub(super) fn add_to(&self, bins: &mut Bins) {
        let mut open = 0.0;
        for (k, step) in self.step[..BINS].iter().enumerate() {
            open += step;
            // Steps are whole numbers; rounding of the parts may leave a trace below zero.
            bins.open[k] += (open + self.bins.open[k]).max(0.0);
            bins.clicks[k] += self.bins.clicks[k];
        }
    }
}

impl Bins {
    pub(super) fn add(&mut self, other: &Bins) {
        self.open.iter_mut().zip(&other.open).for_each(|(a, b)| *a += b);
        self.clicks.iter_mut().zip(&other.clicks).for_each(|(a, b)| *a += b);
    }

    /// The curve of these pages and `pages` more that follow the curve `about`.
    pub(super) fn fit(&self, about: &ProfitCurve, pages: f64, near: Option<f64>) -> ProfitCurve {
        let fall = (-about.decay * BIN.seconds()).exp();
        let mut expected = pages * about.in_bin(0, BIN.seconds());
        let mut sum = 0.0;
        let cumulative: [f64; BINS] = std::array::from_fn(|k| {
            sum += (f64::from(self.clicks[k]) + expected) / (f64::from(self.open[k]) + pages);
            expected *= fall;
            sum
        });
        // Ages that no page has reached say nothing, unless enough assumed pages fill in.
        let told = self.open.iter().take_while(|&&open| f64::from(open) + pages >= TELLING).count();
        fit(&cumulative[..told], BIN.seconds(), near.or(Some(about.decay))).unwrap_or(*about)
    }

    /// Clicks seen, and the number of whole page lives that were seen, if clicks follow `about`.
    pub(super) fn seen(&self, about: &ProfitCurve) -> (f64, f64) {
        let fall = (-about.decay * BIN.seconds()).exp();
        let mut share = 1.0 - fall;
        let mut lives = 0.0;
        for open in self.open {
            lives += f64::from(open) * share;
            share *= fall;
        }
        (self.clicks.iter().map(|&c| f64::from(c)).sum(), lives)
    }
}
