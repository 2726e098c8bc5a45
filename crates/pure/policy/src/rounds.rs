//! When to reconsider all pages: after every *round*, that is, after as many fetches as there are pages,
//! so that the cost per fetch does not depend on the number of pages.

use serde::{Deserialize, Serialize};

/// Counts fetches and says when a round is over.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rounds {
    fetches: usize,
    next: usize,
}

impl Rounds {
    /// Does not let the first round end before every one of `pages` was fetched once.
    pub(crate) fn wait_for(&mut self, pages: usize) {
        self.next = self.next.max(pages);
    }

    /// A fetch was made.
    pub(crate) fn count(&mut self) {
        self.fetches += 1;
    }

    /// Whether the next choice begins a round of `pages` pages.
    pub(crate) fn is_over(&self, pages: usize) -> bool {
        pages > 0 && self.fetches >= self.next
    }

    /// Whether a round of `pages` pages begins now; if so, the next one is a round away.
    pub(crate) fn begins(&mut self, pages: usize) -> bool {
        let begins = self.is_over(pages);
        if begins {
            self.next = self.fetches + pages;
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_as_long_as_there_are_pages() {
        let mut rounds = Rounds::default();
        assert!(!rounds.begins(0), "nothing to think about");
        rounds.wait_for(3);
        let mut begun = Vec::new();
        for fetch in 0..10 {
            if rounds.begins(3) {
                begun.push(fetch);
            }
            rounds.count();
        }
        assert_eq!(begun, [3, 6, 9]);
    }
}
