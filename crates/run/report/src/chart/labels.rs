//! Places labels without overlap.

/// A box on the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// Whether a place lies in the area or within a pixel of it.
    pub(super) fn contains(&self, (x, y): (f64, f64)) -> bool {
        x >= self.left - 1.0
            && x <= self.right + 1.0
            && y >= self.top - 1.0
            && y <= self.bottom + 1.0
    }
}

/// Moves heights apart to at least `gap` between `low` and `high`, as little as possible in the
/// sense of least squares and keeping their order. `None` if there is not enough room.
///
/// With the heights sorted, `zᵢ = yᵢ − i·gap` must not fall: this is isotonic regression, solved by
/// pooling adjacent violators; clamping its result keeps it optimal within the bounds.
pub(super) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Option<Vec<f64>> {
    let room = high - low - gap * wanted.len().saturating_sub(1) as f64;
    if room < 0.0 {
        return None;
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (i, &index) in order.iter().enumerate() {
        let mut pool = (wanted[index] - i as f64 * gap, 1);
        while let Some(&(sum, count)) = pools.last() {
            if sum / (count as f64) < pool.0 / pool.1 as f64 {
                break;
            }
            pools.pop();
            pool = (pool.0 + sum, pool.1 + count);
        }
        pools.push(pool);
    }
    let levels = pools.iter().flat_map(|&(sum, count)| vec![sum / count as f64; count]);
    let mut placed = vec![0.0; wanted.len()];
    for (i, (level, &index)) in levels.zip(&order).enumerate() {
        placed[index] = level.clamp(low, low + room) + i as f64 * gap;
    }
    Some(placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heights_move_no_more_than_needed() {
        assert_eq!(spread(&[50.0, 10.0], 14.0, 0.0, 100.0), Some(vec![50.0, 10.0]));
        assert_eq!(spread(&[50.0, 50.0], 14.0, 0.0, 100.0), Some(vec![43.0, 57.0]));
        assert_eq!(spread(&[99.0, 100.0], 14.0, 0.0, 100.0), Some(vec![86.0, 100.0]));
        assert_eq!(spread(&[1.0, 2.0, 3.0], 14.0, 0.0, 20.0), None);
        assert_eq!(spread(&[], 14.0, 0.0, 20.0), Some(vec![]));
    }

    proptest! {
        #[test]
        fn spread_heights_keep_order_gap_and_bounds(
            wanted in prop::collection::vec(-50.0..400.0_f64, 0..20),
        ) {
            /// Rounding in sums of at most 20 numbers below 1e3.
            const ROUNDING: f64 = 1e-9;
            let placed = spread(&wanted, 14.0, 0.0, 300.0).unwrap();
            let mut order: Vec<usize> = (0..wanted.len()).collect();
            order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
            for pair in order.windows(2) {
                prop_assert!(placed[pair[1]] - placed[pair[0]] >= 14.0 - ROUNDING);
            }
            for y in placed {
                prop_assert!((-ROUNDING..=300.0 + ROUNDING).contains(&y));
            }
        }
    }
}
