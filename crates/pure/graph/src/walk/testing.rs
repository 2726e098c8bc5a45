//! Slow and independent ways to the same results.

use tidewatch_math::Draws;

/// Solves x = P·x + b by elimination; P given entry by entry as (row, column).
pub(super) fn dense_solve(n: u32, p: impl Fn(u32, u32) -> f64, b: &[f64]) -> Vec<f64> {
    let size = n as usize;
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            let mut row: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == j)) - p(j, i)).collect();
            row.push(b[j as usize]);
            row
        })
        .collect();
    // Columns of P sum to less than 1, so I − P is diagonally dominant: no pivoting.
    for i in 0..size {
        let pivot = rows[i].clone();
        for (j, row) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
            debug_assert!(j != i);
        }
    }
    (0..size).map(|i| rows[i][size] / rows[i][i]).collect()
}

/// Links of a graph in which some nodes are liked more than others.
pub(super) fn random_links(nodes: u32, links: u32, seed: u64) -> Vec<(u32, u32)> {
    let mut draws = Draws::of(seed, "graph.test", 0);
    let skewed = |u: f64| ((f64::from(nodes) * u * u) as u32).min(nodes - 1);
    (0..links).map(|_| (draws.below(nodes.into()) as u32, skewed(draws.uniform()))).collect()
}

/// The same on one thread and on two.
pub(super) fn on_threads<T: Send>(make: impl Fn() -> T + Sync) -> [T; 2] {
    [1, 2].map(|threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&make)
    })
}
