//! How likely pages bring nothing of their own, and the fetches that test this.
//!
//! A page may repeat another one or lie in a trap. With chance q it brings nothing of its own, so a
//! fetch is worth (1 − q)·V, and is made when that is the price: skipping saves ω with chance q and
//! forgoes V − ω otherwise, so no other rule does better.
//!
//! **Blind probes.** A doubt that is too high would keep a page from ever being fetched, so nothing would
//! show that it is wrong. Therefore a small share of the choices fetches a random page that would be worth
//! its price without the doubt. Without doubts there are no blind probes.

use serde::{Deserialize, Serialize};
use tidewatch_core::PageId;
use tidewatch_math::Draws;

/// The doubts about pages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Doubts {
    /// 1 − q by page; pages beyond the end have no doubt.
    own: Vec<f32>,
    /// Whether a page was ever a suspect, by page.
    listed: Vec<bool>,
    /// Doubted pages that were not fetched when the doubt came.
    suspects: Vec<PageId>,
    /// The share of choices that are blind probes.
    share: f64,
    draws: Draws,
}

impl Doubts {
    /// No doubts, and blind probes for a share of the choices.
    pub(super) fn new(share: f64, seed: u64) -> Self {
        let draws = Draws::of(seed, "price.blind", 0);
        Doubts { own: Vec::new(), listed: Vec::new(), suspects: Vec::new(), share, draws }
    }

    /// 1 − q: the chance that a fetch of a page brings something of its own.
    pub(super) fn own(&self, page: PageId) -> f64 {
        self.own.get(page.index()).map_or(1.0, |own| f64::from(*own))
    }

    /// Sets the doubt about a page. Returns whether it changed; NaN is ignored.
    pub(super) fn hear(&mut self, page: PageId, doubt: f64, is_unfetched: bool) -> bool {
        let own = (1.0 - doubt.clamp(0.0, 1.0)) as f32;
        if own.is_nan() || f64::from(own).to_bits() == self.own(page).to_bits() {
            return false;
        }
        if self.own.len() <= page.index() {
            self.own.resize(page.index() + 1, 1.0);
            self.listed.resize(page.index() + 1, false);
        }
        self.own[page.index()] = own;
        if is_unfetched && !std::mem::replace(&mut self.listed[page.index()], true) {
            self.suspects.push(page);
        }
        true
    }

    /// Whether this choice may be a blind probe: true for `share` of the calls if there are suspects.
    pub(super) fn is_turn(&mut self) -> bool {
        !self.suspects.is_empty() && self.draws.uniform() < self.share
    }

    /// A random suspect, and its place in the list.
    pub(super) fn suspect(&mut self) -> Option<(usize, PageId)> {
        let at = (self.draws.uniform() * self.suspects.len() as f64) as usize;
        self.suspects.get(at).map(|page| (at, *page))
    }

    /// Removes the suspect at a place of the list, because it was fetched or is gone.
    pub(super) fn dismiss(&mut self, at: usize) {
        self.suspects.swap_remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageId = PageId(7);

    #[test]
    fn the_last_word_counts_and_nonsense_does_not() {
        let mut doubts = Doubts::new(0.01, 1);
        assert!((doubts.own(PAGE) - 1.0).abs() < f64::EPSILON);
        assert!(!doubts.hear(PAGE, 0.0, true) && !doubts.hear(PAGE, f64::NAN, true));
        assert!(doubts.hear(PAGE, 0.75, true) && !doubts.hear(PAGE, 0.75, true));
        assert!((doubts.own(PAGE) - 0.25).abs() < f64::EPSILON);
        assert!(doubts.hear(PAGE, 4.0, true) && doubts.own(PAGE) <= 0.0);
        assert!(doubts.hear(PAGE, -1.0, true) && doubts.own(PAGE) >= 1.0);
    }

    #[test]
    fn nothing_is_drawn_without_doubts() {
        let mut doubts = Doubts::new(1.0, 1);
        doubts.hear(PAGE, 0.0, true);
        assert!(!doubts.is_turn() && doubts.suspect().is_none());
        doubts.hear(PAGE, 0.5, true);
        assert!(doubts.is_turn());
    }

    #[test]
    fn suspects_are_listed_once() {
        let mut doubts = Doubts::new(1.0, 1);
        for round in 0..100 {
            doubts.hear(PAGE, f64::from(round % 2), true);
        }
        assert_eq!(doubts.suspects, [PAGE]);
        let (at, page) = doubts.suspect().unwrap();
        doubts.dismiss(at);
        assert!(page == PAGE && doubts.suspects.is_empty());
    }
}
