//! Maps page ids of files to indices into [`Trace::pages`](crate::Trace::pages).

use std::collections::HashMap;

use crate::model::TracePage;

/// The index of every page id. Dense ids, as generators and exports write them, cost four bytes each
/// and one look-up; others use a hash table with a random key, against collision attacks.
pub(crate) enum Ids {
    Close { first: u64, indices: Vec<u32> },
    Far(HashMap<u64, u32>),
}

const NONE: u32 = u32::MAX;

impl Ids {
    /// Of pages sorted by id.
    pub(crate) fn of(pages: &[TracePage]) -> Self {
        let (first, last) = match (pages.first(), pages.last()) {
            (Some(first), Some(last)) => (first.id, last.id),
            _ => return Ids::Far(HashMap::new()),
        };
        let numbered = pages.iter().zip(0_u32..);
        if last - first >= 4 * pages.len() as u64 {
            return Ids::Far(numbered.map(|(page, index)| (page.id, index)).collect());
        }
        let mut indices = vec![NONE; (last - first) as usize + 1];
        numbered.for_each(|(page, index)| indices[(page.id - first) as usize] = index);
        Ids::Close { first, indices }
    }

    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        match self {
            Ids::Close { first, indices } => {
                let offset = usize::try_from(id.checked_sub(*first)?).ok()?;
                indices.get(offset).copied().filter(|&index| index != NONE)
            }
            Ids::Far(map) => map.get(&id).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(id: u64) -> TracePage {
        let (url, born) = ("u", tidewatch_core::Time::ZERO);
        TracePage { is_seed: true, ..TracePage::new(id, url, 0, born) }
    }

    proptest! {
        #[test]
        fn every_id_leads_to_its_page_and_no_other_does(
            ids in prop::collection::btree_set(prop_oneof![0..40_u64, any::<u64>()], 0..20),
            probe: u64,
        ) {
            let pages: Vec<TracePage> = ids.iter().map(|&id| page(id)).collect();
            let index = Ids::of(&pages);
            for probe in ids.iter().copied().chain([probe, 0, 7, u64::MAX]) {
                let slow = ids.iter().position(|&id| id == probe).map(|i| i as u32);
                prop_assert_eq!(index.get(probe), slow);
            }
        }
    }
}
