//! Which node should own a partition?
//!
//! A URL belongs to a partition by its registrable domain ([`owner`]), for ever. A partition belongs to a
//! home by [`place`], a pure function of what every node can see: the homes that are alive, the load of
//! each partition and its present home. All compute the same, so nobody has to tell.
//!
//! - A partition stays where it is, as long as its home is alive and the loads are balanced.
//! - A partition without a home goes to the one with the highest *rendezvous* hash that has room: homes
//!   that come and go do not shuffle the others.
//! - A partition that an operator gave to a home stays there as long as that home is alive.
//! - Loads are out of balance if one is above [`TRIGGER`] or below its mirror image. Then partitions move
//!   from the most to the least loaded home until all are within [`CAP`] of the mean.
//!
//! The cap is 1.05 of the mean load, but at least one partition of mean load above it: with 16 equal
//! partitions a home, 17 are allowed.

use tidewatch_core::url::CanonicalUrl;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::HomeId;

/// Largest load after balancing, in means.
pub const CAP: f64 = 1.05;
/// Load above which partitions move, in means. The distance to [`CAP`] keeps loads that fluctuate from
/// moving partitions to and fro.
pub const TRIGGER: f64 = 1.10;
/// Share of the load that every partition has for being there.
const BASE: f64 = 0.1;

/// The partition out of `count` that owns a URL: by its registrable domain, so that the hosts of a domain
/// stay together.
pub fn owner(url: &CanonicalUrl, count: u32) -> u32 {
    let domain = url.registrable_domain().unwrap_or(url.host());
    hashed(domain.as_bytes(), count)
}

/// The partition out of `count` that is the desk of an address.
pub fn desk(address: std::net::IpAddr, count: u32) -> u32 {
    match address {
        std::net::IpAddr::V4(v4) => hashed(&v4.octets(), count),
        std::net::IpAddr::V6(v6) => hashed(&v6.octets(), count),
    }
}

fn hashed(bytes: &[u8], count: u32) -> u32 {
    (xxh3_64(bytes) % u64::from(count.max(1))) as u32
}

/// How much a home wants a partition, by rendezvous hashing: the highest score wins.
fn score(home: HomeId, partition: u32) -> u64 {
    xxh3_64_with_seed(&partition.to_le_bytes(), home.0)
}

/// The home that has the highest score for a seat number.
pub fn favourite(homes: &[HomeId], seat: u32) -> Option<HomeId> {
    homes.iter().copied().max_by_key(|home| (score(*home, seat), *home))
}

/// Where every partition should be. `homes` are alive and take partitions, in ascending order without
/// repeats; `loads` are fetches per second by partition; `current` is where each partition is, or is on its
/// way to; `given` are those that an operator has put there. `None` for all if there is no home.
pub fn place(
    homes: &[HomeId],
    loads: &[f64],
    current: &[Option<HomeId>],
    given: &[bool],
) -> Vec<Option<HomeId>> {
    if homes.is_empty() {
        return vec![None; loads.len()];
    }
    let mut plan = Plan::new(homes, loads, current, given);
    plan.house_orphans();
    plan.balance();
    plan.at.into_iter().map(|home| home.map(|home| homes[home])).collect()
}

struct Plan<'h> {
    homes: &'h [HomeId],
    given: &'h [bool],
    /// The home of each partition, as an index.
    at: Vec<Option<usize>>,
    weights: Vec<f64>,
    loads: Vec<f64>,
    mean: f64,
    /// The weight of one partition, on average.
    grain: f64,
}

impl<'h> Plan<'h> {
    fn new(
        homes: &'h [HomeId],
        loads: &[f64],
        current: &[Option<HomeId>],
        given: &'h [bool],
    ) -> Plan<'h> {
        let weights = weights(loads);
        let total: f64 = weights.iter().sum();
        let find = |home: &Option<HomeId>| home.and_then(|home| homes.binary_search(&home).ok());
        let mut at: Vec<Option<usize>> = current.iter().map(find).collect();
        at.resize(weights.len(), None);
        let mut sums = vec![0.0; homes.len()];
        at.iter().zip(&weights).for_each(|(home, weight)| {
            if let Some(home) = home {
                sums[*home] += weight;
            }
        });
        let mean = total / homes.len() as f64;
        let grain = total / weights.len().max(1) as f64;
        Plan { homes, given, at, weights, loads: sums, mean, grain }
    }

    /// How far above the mean a load may be, for a factor.
    fn reach(&self, factor: f64) -> f64 {
        (self.mean * (factor - 1.0)).max(self.grain + self.mean * (factor - CAP))
    }

    /// Heavy partitions first, each to the favourite that has room, else to the least loaded home.
    fn house_orphans(&mut self) {
        let mut orphans: Vec<usize> =
            (0..self.at.len()).filter(|part| self.at[*part].is_none()).collect();
        orphans.sort_by(|a, b| self.weights[*b].total_cmp(&self.weights[*a]).then(a.cmp(b)));
        let cap = self.mean + self.reach(CAP);
        for part in orphans {
            let has_room = |home: &usize| self.loads[*home] + self.weights[part] <= cap;
            let score = |home: &usize| (score(self.homes[*home], part as u32), *home);
            let best = (0..self.homes.len()).filter(has_room).max_by_key(score);
            let home = best.unwrap_or_else(|| self.least());
            self.at[part] = Some(home);
            self.loads[home] += self.weights[part];
        }
    }

    fn least(&self) -> usize {
        let less = |a: &usize, b: &usize| self.loads[*a].total_cmp(&self.loads[*b]).then(a.cmp(b));
        (0..self.loads.len()).min_by(less).unwrap_or(0)
    }

    /// The most loaded home of those that have a partition which may move.
    fn most(&self) -> usize {
        let less = |a: &usize, b: &usize| self.loads[*a].total_cmp(&self.loads[*b]).then(b.cmp(a));
        let movable = (0..self.at.len()).filter(|part| !self.stays(*part));
        movable.filter_map(|part| self.at[part]).max_by(less).unwrap_or_else(|| self.least())
    }

    /// Whether an operator has put a partition where it is.
    fn stays(&self, part: usize) -> bool {
        self.given.get(part) == Some(&true)
    }

    /// Moves partitions from the most to the least loaded home, if the loads are out of balance.
    fn balance(&mut self) {
        let is_within = |plan: &Plan<'_>, factor| {
            let (reach, low, high) =
                (plan.reach(factor), plan.loads[plan.least()], plan.loads[plan.most()]);
            high <= plan.mean + reach && low >= plan.mean - reach
        };
        if is_within(self, TRIGGER) {
            return;
        }
        // Each move brings two loads nearer to each other; the bound is for rounding errors.
        for _ in 0..4 * self.at.len() {
            if is_within(self, CAP) {
                return;
            }
            let (from, to) = (self.most(), self.least());
            let Some(part) = self.best_move(from, to) else { return };
            self.at[part] = Some(to);
            self.loads[from] -= self.weights[part];
            self.loads[to] += self.weights[part];
        }
    }

    /// The partition of `from` that `to` wants most, among those whose move narrows the difference.
    fn best_move(&self, from: usize, to: usize) -> Option<usize> {
        let difference = self.loads[from] - self.loads[to];
        let narrows = |part: &usize| self.weights[*part] < difference * (1.0 - 1e-9);
        let may_go = |part: &usize| self.at[*part] == Some(from) && !self.stays(*part);
        let parts = (0..self.at.len()).filter(may_go);
        parts.filter(narrows).max_by_key(|part| (score(self.homes[to], *part as u32), *part))
    }
}

/// The weight of each partition: its share of the fetches, and a part that all have alike. Loads that make
/// no sense count as none.
fn weights(loads: &[f64]) -> Vec<f64> {
    let sound = |load: &f64| if load.is_finite() && *load > 0.0 { *load } else { 0.0 };
    let total: f64 = loads.iter().map(sound).sum();
    let count = loads.len().max(1) as f64;
    if total <= 0.0 || !total.is_finite() {
        return vec![1.0 / count; loads.len()];
    }
    loads.iter().map(|load| BASE / count + (1.0 - BASE) * sound(load) / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;

    fn homes(count: u64) -> Vec<HomeId> {
        let mut homes: Vec<HomeId> =
            (0..count).map(|n| HomeId(Draws::of(1, "place", n).at(0))).collect();
        homes.sort();
        homes
    }

    fn sums(homes: &[HomeId], loads: &[f64], at: &[Option<HomeId>]) -> Vec<f64> {
        let weights = weights(loads);
        let of = |home: &HomeId| {
            at.iter().zip(&weights).filter(|(at, _)| **at == Some(*home)).map(|(_, w)| w).sum()
        };
        homes.iter().map(of).collect()
    }

    fn most_over_mean(homes: &[HomeId], loads: &[f64], at: &[Option<HomeId>]) -> f64 {
        let sums = sums(homes, loads, at);
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        sums.iter().fold(0.0, |most: f64, sum| most.max(*sum)) / mean
    }

    fn moved(before: &[Option<HomeId>], after: &[Option<HomeId>]) -> usize {
        before.iter().zip(after).filter(|(before, after)| before != after).count()
    }

    /// An operator gives all four partitions of one home to another, so that one has eight and one none. The
    /// given ones stay; the others fill the gap.
    #[test]
    fn what_an_operator_gave_stays_and_the_rest_balances() {
        let (all, loads) = (homes(4), [1.0; 16]);
        let start = place(&all, &loads, &[], &[]);
        let full = start[0];
        let heir = all.iter().copied().find(|home| Some(*home) != full);
        let given: Vec<bool> = start.iter().map(|home| *home == full).collect();
        let current: Vec<_> =
            start.iter().map(|home| if *home == full { heir } else { *home }).collect();
        let at = place(&all, &loads, &current, &given);
        let stayed = at.iter().zip(&given).filter(|(home, given)| **given && **home == heir);
        assert_eq!(stayed.count(), given.iter().filter(|given| **given).count());
        let sums = sums(&all, &loads, &at);
        assert!(sums.iter().all(|sum| *sum > 0.1), "{sums:?}");
        assert_eq!(place(&all, &loads, &at, &given), at, "nothing more to do");
        let unbound = place(&all, &loads, &current, &[]);
        assert_ne!(unbound, at, "without the operator's word they would move");
        let orphans: Vec<_> = all.iter().copied().filter(|home| Some(*home) != heir).collect();
        assert!(place(&orphans, &loads, &at, &given).iter().all(|home| *home != heir));
    }

    #[test]
    fn hosts_of_a_domain_have_one_owner_and_domains_spread() {
        let of = |text: &str| owner(&CanonicalUrl::parse(text).unwrap(), 4);
        assert_eq!(of("https://www.a.example/x"), of("http://shop.a.example:8080/"));
        let owners: std::collections::BTreeSet<u32> =
            (0..100).map(|n| of(&format!("https://h{n}.example/"))).collect();
        assert_eq!(owners.len(), 4);
        assert_eq!(owner(&CanonicalUrl::parse("http://192.0.2.1/").unwrap(), 1), 0);
        // Fixed for ever: a crawl's directories depend on it.
        assert_eq!(owner(&CanonicalUrl::parse("https://example.com/").unwrap(), 256), 115);
    }

    /// 16 homes of 16 partitions: nobody has more than 17, and a change moves little more than the
    /// partitions of one home.
    #[test]
    fn a_home_that_comes_or_goes_moves_its_share_and_little_else() {
        let (all, loads) = (homes(17), vec![1.0; 256]);
        let start = place(&all[..16], &loads, &[], &[]);
        assert!(most_over_mean(&all[..16], &loads, &start) <= 17.0 / 16.0 + 1e-9);
        let joined = place(&all, &loads, &start, &[]);
        assert!(most_over_mean(&all, &loads, &joined) <= 17.0 / (256.0 / 17.0));
        let share = 256usize.div_ceil(17);
        assert!(moved(&start, &joined) <= share, "{}", moved(&start, &joined));
        let left = place(&all[..16], &loads, &joined, &[]);
        let theirs = joined.iter().filter(|home| **home == Some(all[16])).count();
        assert!(theirs > 10);
        assert_eq!(moved(&joined, &left), theirs);
    }

    /// Host sizes by Zipf's law: the largest partition has 1.9 times the mean in fetches.
    #[test]
    fn unequal_partitions_are_balanced_by_fetches() {
        let all = homes(16);
        let mut draws = Draws::of(2, "place", 0);
        let loads: Vec<f64> = (0..256).map(|_| 0.3 + 1.6 * draws.uniform()).collect();
        let start = place(&all, &loads, &[], &[]);
        assert!(most_over_mean(&all, &loads, &start) <= 1.1);
        // Loads that fluctuate by a few per cent move nothing.
        let mut at = start.clone();
        for _ in 0..100 {
            let now: Vec<f64> =
                loads.iter().map(|load| load * (0.97 + 0.06 * draws.uniform())).collect();
            at = place(&all, &now, &at, &[]);
        }
        assert_eq!(moved(&start, &at), 0);
    }

    #[test]
    fn a_thousand_nodes_are_balanced() {
        let (all, loads) = (homes(1000), vec![1.0; 16_384]);
        let start = place(&all, &loads, &[], &[]);
        assert!(most_over_mean(&all, &loads, &start) <= 1.1);
        let gone = place(&all[1..], &loads, &start, &[]);
        let theirs = start.iter().filter(|home| **home == Some(all[0])).count();
        assert_eq!(moved(&start, &gone), theirs);
    }

    proptest! {
        #[test]
        fn every_partition_has_a_living_home_and_balance_is_stable(
            alive in 1u64..12,
            before in 1u64..12,
            loads in proptest::collection::vec(0.0f64..10.0, 1..80),
        ) {
            let all = homes(12);
            let current = place(&all[..before as usize], &loads, &[], &[]);
            let alive = &all[..alive as usize];
            let at = place(alive, &loads, &current, &[]);
            prop_assert!(at.iter().all(|home| home.is_some_and(|home| alive.contains(&home))));
            prop_assert_eq!(place(alive, &loads, &at, &[]), at);
        }

        #[test]
        fn nonsense_loads_are_placed_too(loads in proptest::collection::vec(any::<f64>(), 0..20)) {
            let at = place(&homes(3), &loads, &[], &[]);
            prop_assert_eq!(at.len(), loads.len());
            prop_assert!(place(&[], &loads, &at, &[]).iter().all(Option::is_none));
        }
    }
}
