//! How well hosts that repeat others are recognised.
//!
//! A pair of hosts is a *mirror* if the table `truth` says that pages of the one repeat pages of the other.
//! Which of the two counts as the mirror depends on which was fetched first, so pairs have no direction.
//! Hosts can be compared only where both were fetched: a pair is *fetched* from [`ENOUGH`] pages of
//! both on.

use rustc_hash::{FxHashMap, FxHashSet};
use tidewatch_trace::TruthClass;

use crate::world::World;

/// Pages by which two hosts are compared.
const ENOUGH: u64 = 20;

/// Pairs of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// Taken for mirrors.
    pub named: u64,
    /// Of these: are mirrors.
    pub right: u64,
    /// Mirrors of which twenty pages each were fetched.
    pub fetched: u64,
    /// Of these: taken for mirrors.
    pub found: u64,
    /// Mirrors of which any page was fetched.
    pub touched: u64,
}

type Pair = (u32, u32);

fn pair(one: u32, other: u32) -> Pair {
    (one.min(other), one.max(other))
}

/// The pairs of hosts that repeat one another.
fn truth(world: &World) -> FxHashSet<Pair> {
    let host = |page: u32| world.trace().pages[page as usize].host;
    let mirrored = (0..world.len() as u32).filter(|&page| {
        world.truth(page).class == TruthClass::Mirror && host(page) != host(world.root(page))
    });
    mirrored.map(|page| pair(host(page), host(world.root(page)))).collect()
}

impl Mirrors {
    /// Compares hosts named mirrors with the truth, after so many fetches from each host.
    pub(super) fn judge(world: &World, named: &[(String, String)], fetches: &[u64]) -> Self {
        let hosts = world.trace().hosts.iter().zip(0..);
        let numbers: FxHashMap<&str, u32> = hosts.map(|(host, at)| (&*host.name, at)).collect();
        let number = |name: &str| numbers.get(name).copied().unwrap_or(u32::MAX);
        let named: FxHashSet<Pair> =
            named.iter().map(|(one, other)| pair(number(one), number(other))).collect();
        let truth = truth(world);
        let least = |&(one, other): &Pair| fetches[one as usize].min(fetches[other as usize]);
        let count = |is_counted: &dyn Fn(&Pair) -> bool| {
            truth.iter().filter(|pair| is_counted(pair)).count() as u64
        };
        Mirrors {
            named: named.len() as u64,
            right: named.intersection(&truth).count() as u64,
            fetched: count(&|pair| least(pair) >= ENOUGH),
            found: count(&|pair| least(pair) >= ENOUGH && named.contains(pair)),
            touched: count(&|pair| least(pair) > 0),
        }
    }

    /// The sum over several crawls.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Mirrors {
            named: self.named + other.named,
            right: self.right + other.right,
            fetched: self.fetched + other.fetched,
            found: self.found + other.found,
            touched: self.touched + other.touched,
        }
    }

    /// Share of the pairs named that are mirrors; 1 if none was named.
    pub fn precision(self) -> f64 {
        if self.named == 0 { 1.0 } else { self.right as f64 / self.named as f64 }
    }

    /// Share of the mirrors fetched that were named; 1 if none was fetched.
    pub fn recall(self) -> f64 {
        if self.fetched == 0 { 1.0 } else { self.found as f64 / self.fetched as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::unclean::{self, UncleanConfig};

    /// Names are judged against the truth, in either order, and only enough fetches count for recall.
    #[test]
    fn pairs_are_judged_by_the_truth() {
        let config = UncleanConfig { scale: 0.05, mirrors: 1.0, ..UncleanConfig::default() };
        let world = World::new(unclean::generate(&config, 1).trace).unwrap();
        let mut pairs: Vec<Pair> = truth(&world).into_iter().collect();
        pairs.sort_unstable();
        assert!(pairs.len() > 2, "{pairs:?}");
        let name = |host: u32| world.trace().hosts[host as usize].name.to_string();
        let (one, other) = pairs[0];
        let (strange, _) = pairs[1];
        let named = [(name(one), name(other)), (name(strange), name(one))];
        let mut fetches = vec![0; world.trace().hosts.len()];
        for &(one, other) in &pairs[..2] {
            (fetches[one as usize], fetches[other as usize]) = (ENOUGH, ENOUGH);
        }
        let judged = Mirrors::judge(&world, &named, &fetches);
        let want = Mirrors { named: 2, right: 1, fetched: 2, found: 1, touched: 2 };
        assert_eq!(judged, want);
        assert!((judged.precision() - 0.5).abs() < 1e-12 && (judged.recall() - 0.5).abs() < 1e-12);
    }
}
