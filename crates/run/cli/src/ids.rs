//! Names as small numbers: each distinct text is stored once, in one string.
//!
//! A file of ten million pages costs its text, twelve bytes a name and the index, with no
//! allocation a name. Numbers are given in the order in which names are first met.

use std::hash::{BuildHasher, RandomState};

/// No name here.
const FREE: u64 = u64::MAX;

/// Distinct names, numbered from 0.
#[derive(Default)]
pub(crate) struct Ids {
    text: String,
    /// End of each name in `text`.
    ends: Vec<usize>,
    /// Open addressing, at most half full: high half of the name's hash, then its number. The
    /// length is a power of two.
    index: Vec<u64>,
    /// Randomly keyed, so that no file can be made to collide. Nothing is ever listed by hash.
    hasher: RandomState,
}

impl Ids {
    /// The number of `name`, and whether it is new.
    pub(crate) fn add(&mut self, name: &str) -> (u32, bool) {
        if self.index.len() < 2 * (self.ends.len() + 1) {
            self.grow();
        }
        let hash = self.hasher.hash_one(name);
        let at = match self.find(name, hash) {
            Ok(id) => return (id, false),
            Err(at) => at,
        };
        let id = u32::try_from(self.ends.len()).expect("a table has fewer than 2³² rows");
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.index[at] = entry(hash, id);
        (id, true)
    }

    /// The number of `name`, if it has one.
    pub(crate) fn get(&self, name: &str) -> Option<u32> {
        let known = !self.index.is_empty();
        known.then(|| self.find(name, self.hasher.hash_one(name)).ok()).flatten()
    }

    /// The name of a number that was given out.
    pub(crate) fn name(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }

    /// Number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of the name, or where it would go.
    fn find(&self, name: &str, hash: u64) -> Result<u32, usize> {
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let found = self.index[at];
            if found == FREE {
                return Err(at);
            }
            let id = found as u32;
            if found == entry(hash, id) && self.name(id) == name {
                return Ok(id);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let length = (4 * self.ends.len()).next_power_of_two().max(16);
        self.index = vec![FREE; length];
        for id in 0..self.ends.len() as u32 {
            let hash = self.hasher.hash_one(self.name(id));
            let mut at = hash as usize & (length - 1);
            while self.index[at] != FREE {
                at = (at + 1) & (length - 1);
            }
            self.index[at] = entry(hash, id);
        }
    }
}

fn entry(hash: u64, id: u32) -> u64 {
    hash & !u64::from(u32::MAX) | u64::from(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_once_in_order_of_appearance() {
        let mut ids = Ids::default();
        assert_eq!(ids.get("a"), None);
        let names: Vec<String> = (0..3000).map(|i| format!("page-{}", i % 1000)).collect();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(ids.add(name), ((i % 1000) as u32, i < 1000));
        }
        assert_eq!(ids.len(), 1000);
        for (i, name) in names.iter().take(1000).enumerate() {
            assert_eq!((ids.name(i as u32), ids.get(name)), (name.as_str(), Some(i as u32)));
        }
        assert_eq!((ids.get("page-1000"), ids.get("")), (None, None));
        assert_eq!(ids.add(""), (1000, true));
        assert_eq!(ids.name(1000), "");
    }
}
