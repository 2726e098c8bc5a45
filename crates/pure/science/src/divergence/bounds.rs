//! How much can a refresh be worth, assuming nothing but that divergence grows? `[OP08, §4.3]`
//!
//! Between two observations the divergence may have jumped right after the earlier one (most area
//! below it, least worth) or right before the later one (least area, most worth).

use super::profile::ProfilePoint;

/// Bounds on U, the worth of a fetch, at some time after the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UtilityBounds {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Bounds on U(`elapsed`), averaged over profiles, each a list of points by time. `None` without
/// points. A profile that ends earlier is taken to stay where it ended.
pub fn utility_bounds<'a>(
    profiles: impl IntoIterator<Item = &'a [ProfilePoint]>,
    elapsed: f64,
) -> Option<UtilityBounds> {
    let (mut low, mut high, mut count) = (0.0, 0.0, 0.0);
    for profile in profiles.into_iter().filter(|profile| !profile.is_empty()) {
        let (least, most, end) = areas(profile, elapsed);
        // U = tD(t) − area.
        low += (elapsed * end - most).max(0.0);
        high += elapsed * end - least;
        count += 1.0;
    }
    (count > 0.0).then(|| UtilityBounds { low: low / count, high: high / count })
}

/// The least and most area under the divergence on [0, `until`], and its value there. Divergence
/// that fell (content came back) is taken to have stayed.
fn areas(profile: &[ProfilePoint], until: f64) -> (f64, f64, f64) {
    let (mut least, mut most) = (0.0, 0.0);
    let (mut at, mut height) = (0.0f64, 0.0f64);
    for point in profile {
        let next = height.max(point.divergence);
        let step = point.elapsed.min(until) - at;
        if step > 0.0 {
            least += step * height;
            most += step * next;
            at += step;
        }
        height = next;
        if point.elapsed >= until {
            break;
        }
    }
    let rest = (until - at).max(0.0) * height;
    (least + rest, most + rest, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::DivergenceCurve;
    use crate::law::LossCurve;
    use proptest::prelude::*;

    /// Sums of a dozen areas below a hundred.
    const ROUNDING: f64 = 1e-12;

    fn points(pairs: &[(f64, f64)]) -> Vec<ProfilePoint> {
        pairs.iter().map(|&(elapsed, divergence)| ProfilePoint { elapsed, divergence }).collect()
    }

    #[test]
    fn areas_of_the_papers_example() {
        // ⟨(10,0), (12,0.2), (15,0.2), (23,0.3)⟩ shifted to its base.
        let profile = points(&[(2.0, 0.2), (5.0, 0.2), (13.0, 0.3)]);
        let bounds = utility_bounds([&profile[..]], 13.0).unwrap();
        let (least, most) = (3.0 * 0.2 + 8.0 * 0.2, 2.0 * 0.2 + 3.0 * 0.2 + 8.0 * 0.3);
        assert!((bounds.high - (13.0 * 0.3 - least)).abs() < ROUNDING);
        assert!((bounds.low - (13.0 * 0.3 - most)).abs() < ROUNDING);
        assert_eq!(utility_bounds([&[][..]], 1.0), None);
    }

    proptest! {
        /// Whatever curve is seen at whatever times, its true worth lies between the bounds.
        #[test]
        fn the_truth_lies_between(
            gaps in proptest::collection::vec(0.1f64..9.0, 1..12), rate in 0.02f64..2.0, items in 1u8..6,
        ) {
            let curve = DivergenceCurve::new(rate, 0.7, 0.0, items);
            let mut at = 0.0;
            let seen: Vec<ProfilePoint> = gaps
                .iter()
                .map(|gap| {
                    at += gap;
                    ProfilePoint { elapsed: at, divergence: curve.stale(at) }
                })
                .collect();
            let bounds = utility_bounds([&seen[..]], at).unwrap();
            let truth = curve.worth(at);
            prop_assert!(bounds.low <= truth + ROUNDING && truth <= bounds.high + ROUNDING);
        }
    }
}
