//! Pages as a data set of equally spaced snapshots shows them.
//!
//! Snapshots give the mean divergence of versions at every lag, which is what an off-line policy
//! knows `[OP08, §3.4]`, and the *eagerness* E with which a page diverges within an interval: near 1 if
//! content is replaced at the beginning, near 0 at the end.
//! Between two snapshots D = (1 − E)·D(left) + E·D(right) `[OP08, app. B]`.

use rustc_hash::FxHashMap;
use tidewatch_core::{Span, Time};

use crate::world::World;

/// Most snapshots: the bits of a word.
pub const MOST_SNAPSHOTS: usize = 64;

/// A page's fragments by the snapshots that hold them.
#[derive(Clone, Debug, Default)]
pub struct PageSnapshots {
    /// Patterns (bit i: snapshot i has the fragment) and numbers of fragments with each.
    patterns: Vec<(u64, u32)>,
    snapshots: usize,
}

impl PageSnapshots {
    /// Takes `snapshots` snapshots of a page every `spacing`, the first at the start.
    pub fn of(world: &World, page: u32, snapshots: usize, spacing: Span) -> Self {
        let snapshots = snapshots.min(MOST_SNAPSHOTS);
        let mut held: FxHashMap<u64, (bool, u64)> = FxHashMap::default();
        let Some(versions) = world.trace().versions.as_ref() else {
            return PageSnapshots::default();
        };
        let mut rows = world.versions_of(page).iter().peekable();
        for snapshot in 0..snapshots {
            let at = Time::ZERO + spacing.times(snapshot as u64);
            while let Some(row) = rows.next_if(|row| row.at <= at) {
                versions.removed(row).iter().for_each(|f| held.entry(*f).or_default().0 = false);
                versions.added(row).iter().for_each(|f| held.entry(*f).or_default().0 = true);
            }
            for (is_live, pattern) in held.values_mut() {
                *pattern |= u64::from(*is_live) << snapshot;
            }
        }
        let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
        held.values().for_each(|&(_, pattern)| *counts.entry(pattern).or_default() += 1);
        let mut patterns: Vec<_> =
            counts.into_iter().filter(|&(pattern, _)| pattern != 0).collect();
        patterns.sort_unstable();
        PageSnapshots { patterns, snapshots }
    }

    /// Divergence of two snapshots.
    pub fn divergence(&self, a: usize, b: usize) -> f64 {
        let (mut both, mut either) = (0u64, 0u64);
        for &(pattern, count) in &self.patterns {
            let (in_a, in_b) = (pattern >> a & 1, pattern >> b & 1);
            both += in_a * in_b * u64::from(count);
            either += (in_a | in_b) * u64::from(count);
        }
        if either == 0 { 0.0 } else { 1.0 - both as f64 / either as f64 }
    }

    /// E: the mean of D(P₀,P₁)/D(P₀,P₂) over consecutive triples that differ; ½ if none do.
    pub fn eagerness(&self) -> f64 {
        let triples = (0..self.snapshots.saturating_sub(2)).filter_map(|i| {
            let far = self.divergence(i, i + 2);
            (far > 0.0).then(|| (self.divergence(i, i + 1) / far).min(1.0))
        });
        let (sum, count) = triples.fold((0.0, 0.0), |(s, n), e| (s + e, n + 1.0));
        if count > 0.0 { sum / count } else { 0.5 }
    }

    /// D*(lag): the mean divergence of snapshots `lag` apart, for every lag.
    pub fn mean_divergence(&self) -> Vec<f64> {
        let mean = |lag: usize| {
            let pairs = self.snapshots - lag;
            (0..pairs).map(|i| self.divergence(i, i + lag)).sum::<f64>() / pairs as f64
        };
        (0..self.snapshots).map(mean).collect()
    }
}

/// U(t) of a page from its snapshots, to find when it reaches a given worth.
#[derive(Clone, Debug)]
pub struct SnapshotWorth {
    spacing: f64,
    /// U at every lag, made monotone.
    worth: Vec<f64>,
}

impl SnapshotWorth {
    /// From snapshots `spacing` apart. The last third of the lags, with few pairs, is not used.
    pub fn of(seen: &PageSnapshots, spacing: Span) -> Self {
        let (divergence, eager) = (seen.mean_divergence(), seen.eagerness());
        let spacing = spacing.seconds();
        let (mut area, mut highest) = (0.0, 0.0f64);
        let lags = (divergence.len() * 2 / 3).max(1);
        let worth = (0..lags.min(divergence.len())).map(|lag| {
            if lag > 0 {
                area += spacing * ((1.0 - eager) * divergence[lag - 1] + eager * divergence[lag]);
            }
            highest = highest.max(lag as f64 * spacing * divergence[lag] - area);
            highest
        });
        SnapshotWorth { spacing, worth: worth.collect() }
    }

    /// Time after a fetch at which the worth is reached; infinite if never.
    pub fn elapsed_at(&self, worth: f64) -> f64 {
        let next = self.worth.partition_point(|&u| u < worth);
        if next == 0 || next >= self.worth.len() {
            return if next == 0 { 0.0 } else { f64::INFINITY };
        }
        let (low, high) = (self.worth[next - 1], self.worth[next]);
        self.spacing * ((next - 1) as f64 + (worth - low) / (high - low))
    }

    /// Whether refreshes never gain anything.
    pub fn is_static(&self) -> bool {
        self.worth.last().is_none_or(|&u| u <= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_trace::{Host, Trace, TracePage, Versions};

    /// One page on which every version replaces what was there.
    fn world(versions: &[(u64, &[u64], &[u64])]) -> World {
        let mut rows = Versions::default();
        for (day, added, removed) in versions {
            rows.push(0, Time::ZERO + Span::DAY.times(*day), added, removed);
        }
        let page = TracePage {
            id: 0,
            url: "https://a.example/".into(),
            host: 0,
            born: Time::ZERO,
            died: None,
            is_source: false,
            weight: 1.0,
            is_seed: true,
        };
        let host = Host { name: "a.example".into(), max_rate: None };
        let trace = Trace {
            duration: Span::DAY.times(8),
            pages: vec![page],
            hosts: vec![host],
            versions: Some(rows),
            ..Trace::default()
        };
        World::new(trace).unwrap()
    }

    #[test]
    fn divergence_and_eagerness_by_hand() {
        // {1,2,3} until day 3, then {1,2,4} until day 5, then {1,5,4}.
        let world = world(&[(0, &[1, 2, 3], &[]), (3, &[4], &[3]), (5, &[5], &[2])]);
        let seen = PageSnapshots::of(&world, 0, 4, Span::DAY.times(2));
        assert!((seen.divergence(0, 1) - 0.0).abs() < 1e-12);
        assert!((seen.divergence(0, 2) - 0.5).abs() < 1e-12);
        assert!((seen.divergence(0, 3) - 0.8).abs() < 1e-12);
        // Triples: 0/0.5 and 0.5/0.8.
        assert!((seen.eagerness() - 0.5 * (0.5 / 0.8)).abs() < 1e-12);
        let mean = seen.mean_divergence();
        assert!((mean[1] - (0.0 + 0.5 + 0.5) / 3.0).abs() < 1e-12);
        let worth = SnapshotWorth::of(&seen, Span::DAY.times(2));
        assert!(!worth.is_static() && worth.elapsed_at(1e9) == f64::INFINITY);
    }

    #[test]
    fn a_calm_page_is_static() {
        let world = world(&[(0, &[1, 2, 3], &[])]);
        let worth = SnapshotWorth::of(&PageSnapshots::of(&world, 0, 4, Span::DAY), Span::DAY);
        assert!(worth.is_static() && worth.elapsed_at(1.0) == f64::INFINITY);
    }
}
