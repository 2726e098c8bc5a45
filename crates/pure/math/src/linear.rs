//! Small systems of linear equations.

/// The Cholesky factor L of a symmetric positive definite matrix A = LLᵀ: solves Ax = b, gives det A.
///
/// Pivots are at least `least`, so that rounding never leads to the root of a negative number; the
/// solution is then that of a slightly larger matrix.
#[derive(Clone, Debug)]
pub struct Cholesky<const N: usize>([[f64; N]; N]);

impl<const N: usize> Cholesky<N> {
    /// Factors a matrix whose eigenvalues are at least `least` > 0. Only its lower half is read.
    pub fn of(matrix: &[[f64; N]; N], least: f64) -> Self {
        let mut l = [[0.0; N]; N];
        for j in 0..N {
            for k in 0..=j {
                let done: f64 = l[j][..k].iter().zip(&l[k][..k]).map(|(a, b)| a * b).sum();
                let rest = matrix[j][k] - done;
                l[j][k] = if j == k { rest.max(least).sqrt() } else { rest / l[k][k] };
            }
        }
        Cholesky(l)
    }

    /// x of Ax = b.
    pub fn solve(&self, mut b: [f64; N]) -> [f64; N] {
        let l = &self.0;
        for j in 0..N {
            b[j] = (b[j] - (0..j).map(|k| l[j][k] * b[k]).sum::<f64>()) / l[j][j];
        }
        for j in (0..N).rev() {
            b[j] = (b[j] - (j + 1..N).map(|k| l[k][j] * b[k]).sum::<f64>()) / l[j][j];
        }
        b
    }

    /// ln det A.
    pub fn ln_det(&self) -> f64 {
        2.0 * (0..N).map(|k| self.0[k][k].ln()).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draws;

    const N: usize = 12;
    /// A few hundred operations on numbers of the size of N.
    const ROUNDING: f64 = 1e-12;

    fn matrix() -> [[f64; N]; N] {
        let mut draws = Draws::of(1, "linear", 0);
        let rows: [[f64; N]; N] =
            std::array::from_fn(|_| std::array::from_fn(|_| draws.uniform() - 0.5));
        let dot = |j: usize, k: usize| (0..N).map(|i| rows[j][i] * rows[k][i]).sum::<f64>();
        let one = |j: usize, k: usize| f64::from(u8::from(j == k));
        std::array::from_fn(|j| std::array::from_fn(|k| dot(j, k) + one(j, k)))
    }

    #[test]
    fn solutions_satisfy_the_system() {
        let (matrix, b) = (matrix(), std::array::from_fn(|k| k as f64));
        let x = Cholesky::of(&matrix, 1.0).solve(b);
        for (row, b) in matrix.iter().zip(b) {
            let ax: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
            assert!((ax - b).abs() < ROUNDING, "{ax} {b}");
        }
    }

    /// Against elimination without roots.
    #[test]
    fn the_determinant_is_the_product_of_pivots() {
        let mut rows = matrix();
        let mut ln_det = 0.0;
        for pivot in 0..N {
            let top = rows[pivot];
            ln_det += top[pivot].ln();
            for row in &mut rows[pivot + 1..] {
                let by = row[pivot] / top[pivot];
                row.iter_mut().zip(top).for_each(|(entry, top)| *entry -= by * top);
            }
        }
        let ours = Cholesky::of(&matrix(), 1.0).ln_det();
        assert!((ours - ln_det).abs() < ROUNDING, "{ours} {ln_det}");
    }

    #[test]
    fn rounding_below_zero_stays_finite() {
        let singular = [[1.0, 1.0], [1.0, 1.0 - 1e-16]];
        let factor = Cholesky::of(&singular, 1e-9);
        assert!(
            factor.solve([1.0, 2.0]).iter().all(|x| x.is_finite()) && factor.ln_det().is_finite()
        );
    }
}
