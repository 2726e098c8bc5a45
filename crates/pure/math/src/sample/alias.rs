//! Weighted choice in constant time by an alias table.

use crate::{Draws, MathError, sum::sum};

/// Chooses index i with probability wᵢ/Σw: Vose's alias method \[Vos91\]. Linear to build, one draw
/// and two look-ups to sample.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasTable {
    /// For each column the share that belongs to its own index, and the index of the rest.
    columns: Vec<(f64, u32)>,
}

impl AliasTable {
    /// A table for the given weights: finite, non-negative, not all zero, at most 2³² of them.
    pub fn new(weights: &[f64]) -> Result<Self, MathError> {
        let n = weights.len();
        let count = "between 1 and 2³²";
        MathError::check(
            n > 0 && u32::try_from(n).is_ok(),
            "the number of weights",
            n as f64,
            count,
        )?;
        for &weight in weights {
            let sound = weight >= 0.0 && weight.is_finite();
            MathError::check(sound, "a weight", weight, "finite and not negative")?;
        }
        let total = sum(weights.iter().copied());
        let sound = total > 0.0 && total.is_finite();
        MathError::check(sound, "the sum of weights", total, "positive and finite")?;
        let scale = n as f64 / total;
        Ok(Self { columns: fill(weights.iter().map(|w| w * scale).collect()) })
    }

    /// Number of indices.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Never true: a table has at least one index.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// An index. Takes one draw: its product with n gives the column and, in the lower half, the
    /// place within the column.
    #[inline]
    pub fn sample(&self, draws: &mut Draws) -> usize {
        let wide = u128::from(draws.word()) * self.columns.len() as u128;
        let (column, place) = ((wide >> 64) as usize, (wide as u64) as f64 * 2.0_f64.powi(-64));
        let (own, other) = self.columns[column];
        if place < own { column } else { other as usize }
    }

    /// The probabilities that the table in fact realises.
    pub fn probabilities(&self) -> Vec<f64> {
        let mut chances = vec![0.0; self.columns.len()];
        for (column, &(own, other)) in self.columns.iter().enumerate() {
            chances[column] += own;
            chances[other as usize] += 1.0 - own;
        }
        let n = chances.len() as f64;
        for chance in &mut chances {
            *chance /= n;
        }
        chances
    }
}

/// Pairs each column lacking weight (below one) with one that has too much. Rounding can leave
/// columns over when the other kind has run out; they are full to within rounding.
fn fill(mut weights: Vec<f64>) -> Vec<(f64, u32)> {
    let mut columns: Vec<(f64, u32)> = (0..weights.len()).map(|i| (1.0, i as u32)).collect();
    let all = 0..weights.len();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = all.partition(|&i| weights[i] < 1.0);
    while let (Some(&needy), Some(&giver)) = (poor.last(), rich.last()) {
        poor.pop();
        columns[needy] = (weights[needy], giver as u32);
        weights[giver] -= 1.0 - weights[needy];
        if weights[giver] < 1.0 {
            rich.pop();
            poor.push(giver);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_weights_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(AliasTable::new(weights).is_err(), "{weights:?}");
        }
        assert!(AliasTable::new(&[f64::MAX, f64::MAX]).is_err());
    }

    /// A count of n·p stays within five standard deviations, one seed in two million apart.
    const DEVIATIONS: f64 = 5.0;

    #[test]
    fn frequencies_follow_the_weights() {
        const N: u32 = 200_000;
        let weights = [5.0, 0.0, 1.0, 0.5, 3.5];
        let table = AliasTable::new(&weights).unwrap();
        let mut draws = Draws::of(1, "alias", 0);
        let mut counts = [0_u32; 5];
        (0..N).for_each(|_| counts[table.sample(&mut draws)] += 1);
        assert_eq!((draws.position(), counts[1]), (u64::from(N), 0));
        for (count, weight) in counts.into_iter().zip(weights) {
            let p = weight / 10.0;
            let limit = DEVIATIONS * (f64::from(N) * p * (1.0 - p)).sqrt();
            assert!((f64::from(count) - f64::from(N) * p).abs() <= limit, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn realises_the_weights(weights in prop::collection::vec(0.0..100.0_f64, 1..200)) {
            prop_assume!(weights.iter().any(|&w| w > 0.0));
            let total: f64 = weights.iter().sum();
            let table = AliasTable::new(&weights).unwrap();
            // Each of n columns may round once.
            let limit = f64::EPSILON * weights.len() as f64;
            for (chance, weight) in table.probabilities().into_iter().zip(&weights) {
                prop_assert!((chance - weight / total).abs() <= limit);
            }
        }
    }
}
