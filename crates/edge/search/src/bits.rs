//! Sets of pages.

use tidewatch_core::PageId;

use crate::PageRef;

/// One bit per page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: usize,
    /// No bit is set before this word.
    first: usize,
}

impl Bits {
    /// Sets a page's bit.
    pub(crate) fn set(&mut self, page: PageId) {
        let (word, bit) = (page.index() / 64, 1 << (page.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
        self.first = self.first.min(word);
    }

    /// Whether a page's bit is set.
    pub(crate) fn has(&self, page: PageId) -> bool {
        let word = self.words.get(page.index() / 64).copied().unwrap_or(0);
        word & (1 << (page.index() % 64)) != 0
    }

    /// The first page whose bit is set.
    pub(crate) fn first(&mut self) -> Option<PageId> {
        while self.words.get(self.first).is_some_and(|word| *word == 0) {
            self.first += 1;
        }
        let word = self.words.get(self.first)?;
        Some(PageId((self.first * 64) as u32 + word.trailing_zeros()))
    }

    /// Clears a page's bit.
    pub(crate) fn clear(&mut self, page: PageId) {
        if self.has(page) {
            self.words[page.index() / 64] &= !(1 << (page.index() % 64));
            self.count -= 1;
        }
    }

    /// The number of set bits.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }
}

/// Partitions beyond this number are not told apart from damage.
const MOST_PARTITIONS: usize = 1 << 16;

/// Sets of pages of all partitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageSets(Vec<Bits>);

impl PageSets {
    /// Adds a page.
    pub(crate) fn set(&mut self, page: PageRef) {
        let at = page.partition() as usize;
        if at >= MOST_PARTITIONS {
            return;
        }
        if at >= self.0.len() {
            self.0.resize_with(at + 1, Bits::default);
        }
        self.0[at].set(page.page());
    }

    /// Whether a page is there.
    pub(crate) fn has(&self, page: PageRef) -> bool {
        self.0.get(page.partition() as usize).is_some_and(|bits| bits.has(page.page()))
    }

    /// Removes a page.
    pub(crate) fn clear(&mut self, page: PageRef) {
        if let Some(bits) = self.0.get_mut(page.partition() as usize) {
            bits.clear(page.page());
        }
    }

    /// The pages of a partition.
    pub(crate) fn of(&self, partition: u32) -> Bits {
        self.0.get(partition as usize).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_out_in_order_and_once() {
        let mut bits = Bits::default();
        for page in [700, 3, 64, 3] {
            bits.set(PageId(page));
        }
        assert_eq!(bits.count(), 3);
        let mut out = Vec::new();
        while let Some(page) = bits.first() {
            out.push(page.0);
            bits.clear(page);
        }
        assert_eq!(out, [3, 64, 700]);
        bits.set(PageId(1));
        assert_eq!(bits.first(), Some(PageId(1)));
        assert!(!bits.has(PageId(70_000)));
    }
}
