//! Stays of pages on a source, from its listings.
//!
//! A listing is a set of pages. The stay of a page begins at the first listing with it and ends at the
//! first later one without it. Life of a [`Shown`]: entries are added and removed, then
//! [`Shown::settle`] completes a listing; only then do stays begin or end. Broken listings are not
//! settled: an entry that they remove and a later one adds again never left.
//!
//! Two entries may be the same page (URLs that differ in a fragment), so entries are counted per page.

use std::collections::HashMap;

use super::clock::Moment;

/// The stay of a page on a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) page: u32,
    pub(super) since: Moment,
    /// Time of the first listing without it; `None` if the data end before.
    pub(super) until: Option<Moment>,
    /// Its position among the links when the stay began, where the data tell.
    pub(super) position: Option<u32>,
}

#[derive(Default)]
struct Standing {
    entries: u32,
    since: Option<Moment>,
    /// The position nearest to the top before the stay began.
    position: Option<u32>,
}

/// The current listing of a source. Memory is proportional to the listing.
#[derive(Default)]
pub(super) struct Shown {
    standing: HashMap<u32, Standing>,
    touched: Vec<u32>,
}

impl Shown {
    /// Adds an entry, with its position among the links where the data tell.
    pub(super) fn list(&mut self, page: u32, position: Option<u32>) {
        let standing = self.standing.entry(page).or_default();
        standing.entries += 1;
        if standing.since.is_none() {
            standing.position = standing.position.into_iter().chain(position).min();
        }
        self.touched.push(page);
    }

    /// Removes an entry; false if there is none for that page.
    pub(super) fn delist(&mut self, page: u32) -> bool {
        let Some(standing) = self.standing.get_mut(&page).filter(|s| s.entries > 0) else {
            return false;
        };
        standing.entries -= 1;
        self.touched.push(page);
        true
    }

    /// Completes the listing of a moment: returns the stays that ended, and whether any began or ended.
    pub(super) fn settle(
        &mut self,
        at: Moment,
        mut begun: impl FnMut(u32),
        mut ended: impl FnMut(Stay),
    ) -> bool {
        let mut changed = false;
        for page in std::mem::take(&mut self.touched) {
            let Some(standing) = self.standing.get_mut(&page) else { continue };
            match (standing.entries > 0, standing.since) {
                (true, None) => {
                    standing.since = Some(at);
                    changed = true;
                    begun(page);
                }
                (false, since) => {
                    let position = standing.position;
                    self.standing.remove(&page);
                    let Some(since) = since else { continue };
                    changed = true;
                    ended(Stay { page, since, until: Some(at), position });
                }
                (true, Some(_)) => {}
            }
        }
        changed
    }

    /// The end of the data: returns the open stays.
    pub(super) fn finish(self) -> impl Iterator<Item = Stay> {
        let stay = |(page, standing): (u32, Standing)| {
            let position = standing.position;
            standing.since.map(|since| Stay { page, since, until: None, position })
        };
        self.standing.into_iter().filter_map(stay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_unix_seconds(seconds).unwrap()
    }

    fn settle(shown: &mut Shown, seconds: i64) -> (bool, Vec<u32>, Vec<Stay>) {
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        let changed = shown.settle(at(seconds), |p| begun.push(p), |stay| ended.push(stay));
        (changed, begun, ended)
    }

    #[test]
    fn stays_run_from_listing_to_listing() {
        let mut shown = Shown::default();
        shown.list(7, Some(5));
        shown.list(7, Some(3));
        assert_eq!(settle(&mut shown, 10), (true, vec![7], vec![]));
        shown.list(7, Some(0));
        (0..3).for_each(|_| assert!(shown.delist(7)));
        let stay = Stay { page: 7, since: at(10), until: Some(at(20)), position: Some(3) };
        assert_eq!(settle(&mut shown, 20), (true, vec![], vec![stay]));
        assert!(!shown.delist(7));
        assert_eq!(shown.finish().count(), 0);
    }

    #[test]
    fn broken_listings_do_not_end_stays() {
        let mut shown = Shown::default();
        shown.list(7, None);
        shown.list(8, None);
        settle(&mut shown, 10);
        shown.delist(7);
        shown.delist(8);
        shown.list(7, None);
        let stay = Stay { page: 8, since: at(10), until: Some(at(30)), position: None };
        assert_eq!(settle(&mut shown, 30), (true, vec![], vec![stay]));
        let left: Vec<Stay> = shown.finish().collect();
        assert_eq!(left, [Stay { page: 7, since: at(10), until: None, position: None }]);
    }

    #[test]
    fn two_entries_of_a_page_are_one_stay() {
        let mut shown = Shown::default();
        shown.list(7, None);
        settle(&mut shown, 10);
        shown.list(7, None);
        assert_eq!(settle(&mut shown, 20), (false, vec![], vec![]));
        shown.delist(7);
        assert_eq!(settle(&mut shown, 30), (false, vec![], vec![]));
        shown.delist(7);
        assert!(settle(&mut shown, 40).0);
        // Listed and gone before any listing was complete: never seen.
        shown.list(9, None);
        shown.delist(9);
        assert_eq!(settle(&mut shown, 50), (false, vec![], vec![]));
    }
}
