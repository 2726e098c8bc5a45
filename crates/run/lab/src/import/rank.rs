//! PageRank by power iteration, for the weights of imported pages.

/// Probability of following a link `[BP98]`.
const FOLLOW: f64 = 0.85;
/// Iterations end when ranks move by less than this share of the total. Each iteration contracts the
/// ℓ₁ distance by FOLLOW, so ranks are then within FOLLOW/(1 − FOLLOW) ≈ 5.7 times that of their limits.
const SETTLED: f64 = 1e-10;
/// 0.85²⁰⁰ ≈ 10⁻¹⁴: no graph needs more.
const MOST_ITERATIONS: usize = 200;

/// PageRank scaled to mean 1, of `pages` pages with links (source, target)
/// sorted by source: r = (1 − d) + d·(Aᵀr + dangling mass shared by all).
///
/// Pages without links share their rank among all pages.
pub(crate) fn pagerank(pages: usize, links: &[(u32, u32)]) -> Vec<f64> {
    let mut degree = vec![0_u32; pages];
    links.iter().for_each(|&(source, _)| degree[source as usize] += 1);
    let mut rank = vec![1.0; pages];
    for _ in 0..MOST_ITERATIONS {
        let next = iterate(&rank, &degree, links);
        let moved: f64 = rank.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        rank = next;
        if moved <= SETTLED * pages as f64 {
            break;
        }
    }
    rank
}

fn iterate(rank: &[f64], degree: &[u32], links: &[(u32, u32)]) -> Vec<f64> {
    let dangling: f64 = rank.iter().zip(degree).filter(|(_, d)| **d == 0).map(|(r, _)| r).sum();
    let base = 1.0 - FOLLOW + FOLLOW * dangling / rank.len() as f64;
    let mut next = vec![base; rank.len()];
    for &(source, target) in links {
        let source = source as usize;
        next[target as usize] += FOLLOW * rank[source] / f64::from(degree[source]);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Twice the error bound of [`SETTLED`] per page.
    const CLOSE: f64 = 2.0 * 5.7 * SETTLED;

    #[test]
    fn a_cycle_is_level_and_a_star_has_its_closed_form() {
        assert!(pagerank(3, &[(0, 1), (1, 2), (2, 0)]).iter().all(|r| (r - 1.0).abs() < CLOSE));
        // Leaves point to the hub, the hub back to leaf 1 … n:
        // h = 1 − d + d·n·l, l = 1 − d + d·h/n.
        let (n, d) = (4.0, FOLLOW);
        let links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (2, 0), (3, 0), (4, 0)];
        let hub = (1.0 - d) * (1.0 + d * n) / (1.0 - d * d);
        assert!((pagerank(5, &links)[0] - hub).abs() < 5.0 * CLOSE);
        assert!(pagerank(0, &[]).is_empty());
    }

    proptest! {
        /// Against Gaussian elimination of (I − d·Pᵀ)·r = 1 − d.
        #[test]
        fn it_solves_the_linear_system(
            links in prop::collection::btree_set((0..6_u32, 0..6_u32), 0..20),
        ) {
            let links: Vec<(u32, u32)> = links.into_iter().collect();
            let exact = solve(6, &links);
            let found = pagerank(6, &links);
            for (a, b) in exact.iter().zip(&found) {
                prop_assert!((a - b).abs() < 6.0 * CLOSE, "{exact:?} {found:?}");
            }
            prop_assert!((found.iter().sum::<f64>() - 6.0).abs() < 6.0 * CLOSE);
        }
    }

    fn solve(n: usize, links: &[(u32, u32)]) -> Vec<f64> {
        let mut rows = vec![vec![0.0; n + 1]; n];
        for (i, row) in rows.iter_mut().enumerate() {
            (row[i], row[n]) = (1.0, 1.0 - FOLLOW);
        }
        for from in 0..n as u32 {
            let targets: Vec<usize> =
                links.iter().filter(|l| l.0 == from).map(|l| l.1 as usize).collect();
            let targets = if targets.is_empty() { (0..n).collect() } else { targets };
            for &to in &targets {
                rows[to][from as usize] -= FOLLOW / targets.len() as f64;
            }
        }
        // The matrix is diagonally dominant by columns: no pivoting needed.
        for i in 0..n {
            for j in (0..n).filter(|&j| j != i) {
                let factor = rows[j][i] / rows[i][i];
                let pivot = rows[i].clone();
                rows[j].iter_mut().zip(pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
        (0..n).map(|i| rows[i][n] / rows[i][i]).collect()
    }
}
