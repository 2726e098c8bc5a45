//! Random probes: copies fetched whatever they are worth, to measure how fresh the collection is
//! without bias.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Observation, Outcome, PageId};
use tidewatch_math::Draws;

/// Weight of a probe relative to the next: the last thousand decide.
const FADE: f64 = 0.999;
/// Quantile of the standard normal law for an interval of 95%.
const Z_95: f64 = 1.959_963_984_540_054;

/// Draws probes and counts what they find.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Probes {
    /// The share of choices that are probes.
    share: f64,
    draws: Draws,
    fresh: f64,
    all: f64,
    under_way: Vec<PageId>,
}

impl Probes {
    /// Probes for a share of the choices.
    pub(super) fn new(share: f64, seed: u64) -> Self {
        let draws = Draws::of(seed, "price.probes", 0);
        Probes { share, draws, fresh: 0.0, all: 0.0, under_way: Vec::new() }
    }

    /// A random page, for a share of the calls.
    pub(super) fn draw(&mut self, held: &[PageId]) -> Option<PageId> {
        if held.is_empty() || self.draws.uniform() >= self.share {
            return None;
        }
        Some(held[(self.draws.uniform() * held.len() as f64) as usize])
    }

    /// Takes note that `page` is fetched as a probe.
    pub(super) fn send(&mut self, page: PageId) -> PageId {
        self.under_way.push(page);
        page
    }

    /// Takes note of a fetch that ended, which may have been a probe.
    pub(super) fn count(&mut self, seen: &Observation<'_>) {
        let Some(at) = self.under_way.iter().position(|page| *page == seen.page) else { return };
        self.under_way.swap_remove(at);
        if let Outcome::Fetched(content) = seen.outcome
            && let Some(changed) = content.changed
        {
            self.fresh = FADE * self.fresh + f64::from(u8::from(!changed));
            self.all = FADE * self.all + 1.0;
        }
    }

    /// Share of the copies that are fresh, with the half-width of its 95% interval; `None` before the
    /// first probe.
    pub(super) fn freshness(&self) -> Option<(f64, f64)> {
        (self.all > 0.0).then(|| {
            let (share, n) = (self.fresh / self.all, self.all);
            // Wilson's half-width, which is sound for shares near one and for few probes.
            let z2 = Z_95 * Z_95;
            let spread = share * (1.0 - share) / n + z2 / (4.0 * n * n);
            (share, Z_95 * spread.sqrt() / (1.0 + z2 / n))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_core::{Content, FetchKind, Time};

    fn seen(page: PageId, changed: bool) -> Observation<'static> {
        let content = Content { changed: Some(changed), ..Content::default() };
        let (kind, outcome) = (FetchKind::Refresh, Outcome::Fetched(content));
        Observation { page, at: Time::ZERO, kind, previous: Some(Time::ZERO), outcome }
    }

    /// The interval holds the truth 95 times in a hundred, or a little more: faded probes are worth
    /// twice their sum of weights in the long run.
    #[test]
    fn the_interval_holds_the_truth() {
        let (truth, mut held) = (0.93, 0);
        for run in 0..400 {
            let mut draws = Draws::of(run, "price.probes.test", 0);
            let mut probes = Probes::new(0.0, 1);
            for page in (0..300).map(PageId) {
                probes.send(page);
                probes.count(&seen(page, draws.uniform() >= truth));
            }
            let (share, half) = probes.freshness().unwrap();
            held += u32::from((share - truth).abs() <= half);
        }
        // Four standard deviations of 400 draws at .95 are 17.
        assert!(held >= 363, "{held} of 400");
    }

    #[test]
    fn only_probes_count() {
        let mut probes = Probes::new(0.0, 1);
        probes.count(&seen(PageId(3), false));
        assert_eq!(probes.freshness(), None);
        probes.send(PageId(3));
        probes.count(&seen(PageId(4), true));
        probes.count(&seen(PageId(3), false));
        probes.count(&seen(PageId(3), true));
        assert!(probes.freshness().is_some_and(|(share, half)| share >= 1.0 && half > 0.3));
    }
}
