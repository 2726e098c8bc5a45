//! The measurements of `[OP08]` on the generated web: from snapshots every two days, without knowledge
//! of the regions.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tidewatch_core::{Span, Time};
use tidewatch_math::stats::pearson;
use tidewatch_trace::{Trace, Version, Versions};

use super::Config;
use crate::generate::Fact;
use crate::generate::shared::{known, mean, shape};

/// Statistics of a page from its snapshots.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// No snapshot differed from the one before.
    is_static: bool,
    /// Share of snapshots that differ from the one before.
    frequency: f64,
    /// Mean number of snapshots with a fragment, over fragments of known lifetime; `None` without any.
    longevity: Option<f64>,
    /// Fragments of known lifetime that survived no page update (K = 1), and all of known lifetime.
    one_update: u64,
    known_lives: u64,
    /// Static fragments and all fragments, summed over snapshots.
    static_seen: u64,
    seen: u64,
    /// Mean divergence from the first snapshot.
    unrefreshed: f64,
    /// Mean divergence when refreshed at every snapshot, interpolated in between.
    refreshed: f64,
}

/// Fragments first seen in snapshot `first` and no longer in snapshot `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    first: u32,
    end: u32,
}

pub(super) fn facts(config: &Config, trace: &Trace) -> Vec<Fact> {
    let versions = trace.versions.as_ref().expect("the longevity generator always makes versions");
    let pages: Vec<Measured> = versions
        .rows
        .chunk_by(|a, b| a.page == b.page)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|rows| measure(versions, rows, config.snapshots, config.spacing))
        .collect();
    let n = pages.len() as f64;
    let sum = |f: fn(&Measured) -> f64| pages.iter().map(f).sum::<f64>();
    let (frequencies, lives): (Vec<f64>, Vec<f64>) =
        pages.iter().filter_map(|p| p.longevity.map(|l| (p.frequency, l))).unzip();
    let static_pages = pages.iter().filter(|p| p.is_static).count() as f64 / n;
    let one_update = sum(|p| p.one_update as f64) / sum(|p| p.known_lives as f64);
    let size = sum(|p| p.seen as f64) / f64::from(config.snapshots) / n;
    let figures = [
        ("share of pages that are static", static_pages, "[OP08, §3.4]"),
        (
            "share of fragments on pages that are static",
            sum(|p| p.static_seen as f64) / sum(|p| p.seen as f64),
            "[OP08, §5.3]",
        ),
        ("share of non-static fragments that churn (K = 1)", one_update, "[OP08, §3.3.2]"),
        ("share of non-static fragments that scroll (K > 1)", 1.0 - one_update, "[OP08, §3.3.2]"),
        (
            "correlation of change frequency with longevity, absolute value",
            pearson(&frequencies, &lives).abs(),
            "[OP08, §3.2]",
        ),
        (
            "fragment staleness without refreshes",
            sum(|p| p.unrefreshed) / n,
            "[OP08, §5.3], the upper end of the playing field",
        ),
        (
            "fragment staleness when refreshed at every snapshot",
            sum(|p| p.refreshed) / n,
            "[OP08, §5.3], the lower end of the playing field",
        ),
    ];
    // Of the random corpus only "more dynamic" is published.
    let published = [0.5, 0.9, 0.67, 0.33, 0.67, 0.1, 0.03];
    let mut facts: Vec<Fact> = figures
        .into_iter()
        .zip(published)
        .map(|((what, ours, source), published)| {
            if config.is_high_quality {
                known(what, published, ours, source)
            } else {
                shape(what, ours, source)
            }
        })
        .collect();
    facts.push(shape("fragments per page", size, "not published"));
    facts.push(shape("mean longevity, snapshots", mean(&lives), "not published"));
    facts
}

/// Statistics of one page from `snapshots` snapshots, the first at the start.
fn measure(versions: &Versions, rows: &[Version], snapshots: u32, spacing: Span) -> Measured {
    let groups = seen(versions, rows, snapshots, spacing);
    let n = snapshots as usize;
    let differs = differing(&groups, n);
    let changes = differs.iter().filter(|&&d| d).count();
    let mut measured = Measured {
        is_static: changes == 0,
        frequency: changes as f64 / (n - 1).max(1) as f64,
        ..Measured::default()
    };
    let mut upto = vec![0_usize; n + 1];
    for (snapshot, &d) in differs.iter().enumerate() {
        upto[snapshot + 1] = upto[snapshot] + usize::from(d);
    }
    let mut life = 0;
    for (group, &count) in &groups {
        let (first, end) = (group.first as usize, group.end as usize);
        measured.seen += count * (end - first) as u64;
        if first == 0 && end == n {
            measured.static_seen += count * n as u64;
        } else if first > 0 && end < n {
            // Updates during its life, including the one that removed it.
            let survived = upto[end + 1] - upto[first + 1];
            measured.one_update += count * u64::from(survived == 1);
            measured.known_lives += count;
            life += count * (end - first) as u64;
        }
    }
    measured.longevity =
        (measured.known_lives > 0).then(|| life as f64 / measured.known_lives as f64);
    (measured.unrefreshed, measured.refreshed) = staleness(&groups, n);
    measured
}

/// Fragments by the snapshots that contain them; those between two snapshots are not seen.
fn seen(
    versions: &Versions,
    rows: &[Version],
    snapshots: u32,
    spacing: Span,
) -> FxHashMap<Seen, u64> {
    // The first snapshot at or after a time.
    let next = |at: Time| {
        at.as_micros().div_ceil(spacing.as_micros().max(1)).min(u64::from(snapshots)) as u32
    };
    let mut born: FxHashMap<u64, u32> = FxHashMap::default();
    let mut groups: FxHashMap<Seen, u64> = FxHashMap::default();
    let mut count = |first: u32, end: u32| {
        if first < end {
            *groups.entry(Seen { first, end }).or_default() += 1;
        }
    };
    for row in rows {
        let now = next(row.at);
        for gone in versions.removed(row) {
            if let Some(first) = born.remove(gone) {
                count(first, now);
            }
        }
        born.extend(versions.added(row).iter().map(|&f| (f, now)));
    }
    for &first in born.values() {
        count(first, snapshots);
    }
    groups
}

/// Which snapshots differ from the one before.
fn differing(groups: &FxHashMap<Seen, u64>, snapshots: usize) -> Vec<bool> {
    let mut differs = vec![false; snapshots];
    for group in groups.keys() {
        for at in [group.first as usize, group.end as usize] {
            if at > 0 && at < snapshots {
                differs[at] = true;
            }
        }
    }
    differs
}

/// Mean divergence without refreshes, and with a refresh at every snapshot.
///
/// D = 1 − |A∩B|/|A∪B| `[OP08, eq. 3]`. Within an interval the copy is E·D(left, right) stale,
/// with E the page's eagerness, the mean of D(0,1)/D(0,2) over triples `[OP08, app. B]`.
fn staleness(groups: &FxHashMap<Seen, u64>, n: usize) -> (f64, f64) {
    // Numbers of fragments in snapshot i, in i and i + 1, in i and i + 2, in 0 and i.
    let mut common = [vec![0_i64; n + 1], vec![0; n + 1], vec![0; n + 1]];
    let mut with_first = vec![0_i64; n + 1];
    for (group, &count) in groups {
        let (first, end, count) = (group.first as usize, group.end as usize, count.cast_signed());
        for (lag, counts) in common.iter_mut().enumerate() {
            counts[first] += count;
            counts[end.saturating_sub(lag).max(first)] -= count;
        }
        if first == 0 {
            with_first[0] += count;
            with_first[end] -= count;
        }
    }
    for counts in common.iter_mut().chain([&mut with_first]) {
        (1..=n).for_each(|i| counts[i] += counts[i - 1]);
    }
    let [size, with_next, with_second] = common;
    let divergence = |i: usize, j: usize, both: i64| {
        let union = size[i] + size[j] - both;
        if union > 0 { 1.0 - both as f64 / union as f64 } else { 0.0 }
    };
    let unrefreshed = (0..n).map(|i| divergence(0, i, with_first[i])).sum::<f64>() / n as f64;
    let steps: Vec<f64> =
        (0..n.saturating_sub(1)).map(|i| divergence(i, i + 1, with_next[i])).collect();
    let ratios: Vec<f64> = (0..n.saturating_sub(2))
        .map(|i| (steps[i], divergence(i, i + 2, with_second[i])))
        .filter(|(_, two)| *two > 0.0)
        .map(|(one, two)| one / two)
        .collect();
    if ratios.is_empty() { (unrefreshed, 0.0) } else { (unrefreshed, mean(&ratios) * mean(&steps)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000;

    /// One page: fragments 1–4 static, 5 and 6 replaced on day 3, then again on day 5.
    fn example() -> Versions {
        let mut versions = Versions::default();
        versions.push(0, Time::ZERO, &[1, 2, 3, 4, 5, 6], &[]);
        versions.push(0, Time::from_micros(3 * DAY), &[7, 8], &[5, 6]);
        versions.push(0, Time::from_micros(5 * DAY), &[9, 10], &[7, 8]);
        versions
    }

    #[test]
    fn an_example_by_hand() {
        // Snapshots on days 0, 2, 4, 6, 8.
        let versions = example();
        let m = measure(&versions, &versions.rows, 5, Span::DAY.times(2));
        assert!(!m.is_static);
        assert!((m.frequency - 0.5).abs() < 1e-15);
        // Only 7 and 8 have known lifetimes: seen on day 4 alone, removed by the next update.
        assert_eq!(m.longevity, Some(1.0));
        assert_eq!((m.one_update, m.known_lives), (2, 2));
        assert_eq!((m.static_seen, m.seen), (20, 30));
        // D = 1 − 4/8 from day 4 on.
        assert!((m.unrefreshed - 0.5 * 3.0 / 5.0).abs() < 1e-15);
        // Steps 0, ½, ½, 0; triples (0, ½), (½, ½), (½, ½): eagerness ⅔.
        assert!((m.refreshed - 2.0 / 3.0 * 0.25).abs() < 1e-15);
    }

    #[test]
    fn fragments_between_snapshots_are_not_seen() {
        let mut versions = example();
        versions.push(0, Time::from_micros(6 * DAY + 5), &[11], &[9]);
        versions.push(0, Time::from_micros(6 * DAY + 9), &[9], &[11]);
        let groups = seen(&versions, &versions.rows, 5, Span::DAY.times(2));
        assert_eq!(groups.values().sum::<u64>(), 4 + 2 + 2 + 1 + 2);
    }
}
