//! Random probes: copies fetched whatever they are worth, to learn how wrong the beliefs about fresh
//! copies are.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Observation, Outcome, PageId};
use tidewatch_math::Draws;

/// Weight of a probe relative to the next: the last thousand decide.
const FADE: f64 = 0.999;
/// Variance of one probe's error before any is known, which counts like one probe: the largest that a
/// yes or no can have.
const ASSUMED: f64 = 0.25;

/// Draws probes and counts what they find.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Probes {
    /// The share of choices that are probes.
    share: f64,
    draws: Draws,
    /// Sums over probes of fresh (0 or 1) less its chance, of its square, and of one.
    errors: f64,
    squares: f64,
    all: f64,
    under_way: Vec<PageId>,
}

impl Probes {
    /// Probes for a share of the choices.
    pub(super) fn new(share: f64, seed: u64) -> Self {
        let draws = Draws::of(seed, "price.probes", 0);
        Probes { share, draws, errors: 0.0, squares: 0.0, all: 0.0, under_way: Vec::new() }
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

    /// Takes note of a fetch that ended, which may have been a probe. `chance` is what was believed of its
    /// copy to be fresh.
    pub(super) fn count(&mut self, seen: &Observation<'_>, chance: impl Fn() -> Option<f64>) {
        let Some(at) = self.under_way.iter().position(|page| *page == seen.page) else { return };
        self.under_way.swap_remove(at);
        let Outcome::Fetched(content) = seen.outcome else { return };
        let Some((changed, chance)) = content.changed.zip(chance()) else { return };
        let error = f64::from(u8::from(!changed)) - chance;
        self.errors = FADE * self.errors + error;
        self.squares = FADE * self.squares + error * error;
        self.all = FADE * self.all + 1.0;
    }

    /// Mean error of the beliefs over the probes, and the variance of that mean; `None` before the first
    /// probe.
    pub(super) fn error(&self) -> Option<(f64, f64)> {
        (self.all > 0.0).then(|| {
            let each = (self.squares + ASSUMED) / (self.all + 1.0);
            (self.errors / self.all, each / self.all)
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

    /// The error lies within two standard errors 95 times in a hundred, or a little more: the weight of
    /// a faded probe counts less than its evidence.
    #[test]
    fn the_error_of_the_beliefs_is_found_within_its_interval() {
        let (truth, chance, mut held) = (0.93, 0.8, 0);
        for run in 0..400 {
            let mut draws = Draws::of(run, "price.probes.test", 0);
            let mut probes = Probes::new(0.0, 1);
            for page in (0..300).map(PageId) {
                probes.send(page);
                probes.count(&seen(page, draws.uniform() >= truth), || Some(chance));
            }
            let (error, variance) = probes.error().unwrap();
            held += u32::from((error - (truth - chance)).abs() <= 1.96 * variance.sqrt());
        }
        // Four standard deviations of 400 draws at .95 are 17.
        assert!(held >= 363, "{held} of 400");
    }

    #[test]
    fn only_probes_count() {
        let mut probes = Probes::new(0.0, 1);
        probes.count(&seen(PageId(3), false), || Some(0.5));
        assert_eq!(probes.error(), None);
        probes.send(PageId(3));
        probes.count(&seen(PageId(4), true), || Some(0.5));
        probes.count(&seen(PageId(3), false), || Some(0.5));
        probes.count(&seen(PageId(3), true), || Some(0.5));
        assert_eq!(probes.error().map(|(error, _)| error), Some(0.5));
    }
}
