//! PageRank `[BP98]`.

use super::pull::{Rows, Tally};
use super::{Scores, Stop, beginning, check_alpha, check_length};
use crate::{Graph, GraphError};

/// PageRank: x(j) = (1 − α)/n + α·( Σ_{i→j} x(i)/outdeg(i) + Σ_{i dangling} x(i)/n ).
///
/// Nodes without links pass their score on to all nodes equally. Scores sum to 1; an
/// empty graph has none. `start` holds scores to start from, for all nodes, for the
/// first of them, or for none.
pub fn pagerank(
    graph: &Graph,
    alpha: f64,
    stop: Stop,
    start: &[f64],
) -> Result<Scores, GraphError> {
    pagerank_from(graph, &[], alpha, stop, start)
}

/// PageRank of a walk that begins, and after a node without links begins again, where `trust` says:
/// x = (1 − α)·v + α·( Mᵀx + v·Σ_{i dangling} x(i) ), v = trust/Σ trust.
///
/// Empty trust is uniform.
pub fn pagerank_from(
    graph: &Graph,
    trust: &[f64],
    alpha: f64,
    stop: Stop,
    start: &[f64],
) -> Result<Scores, GraphError> {
    check_alpha(alpha)?;
    let n = graph.len();
    if !trust.is_empty() {
        check_length("trust", trust.len(), n)?;
    }
    let mut walk = Walk::new(graph, alpha, start);
    let total: f64 = trust.iter().sum();
    if total > 0.0 && trust.iter().all(|trust| *trust >= 0.0 && trust.is_finite()) {
        walk.trust = trust.iter().map(|trust| trust / total).collect();
    }
    let (mut steps, mut residual, mut error) = (0, 0.0, if n == 0 { 0.0 } else { f64::INFINITY });
    while error > stop.tolerance && steps < stop.most_steps {
        let tally = walk.step();
        steps += 1;
        residual = tally.moved;
        error = residual * alpha / (1.0 - alpha);
    }
    Ok(Scores { values: walk.x, steps, residual, error, truncation: 0.0 })
}

/// Exactly `steps` steps from the uniform distribution, to measure their cost.
pub fn pagerank_steps(graph: &Graph, alpha: f64, steps: u32) -> Result<Vec<f64>, GraphError> {
    check_alpha(alpha)?;
    let mut walk = Walk::new(graph, alpha, &[]);
    for _ in 0..steps {
        walk.step();
    }
    Ok(walk.x)
}

struct Walk<'a> {
    rows: Rows<'a>,
    alpha: f64,
    /// 1/outdeg, 0 for dangling nodes.
    share: Vec<f64>,
    x: Vec<f64>,
    /// What each node passes along each of its links.
    y: Vec<f64>,
    next: Vec<f64>,
    loose: f64,
    /// v; empty if uniform.
    trust: Vec<f64>,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, alpha: f64, start: &[f64]) -> Self {
        let n = graph.len();
        let share: Vec<f64> =
            graph.out.degrees().map(|d| if d == 0 { 0.0 } else { 1.0 / d as f64 }).collect();
        let mut x = beginning(start, n, 1.0 / n as f64);
        let total: f64 = x.iter().sum();
        if total > 0.0 {
            x.iter_mut().for_each(|x| *x /= total);
        } else {
            x.fill(1.0 / n as f64);
        }
        let y = x.iter().zip(&share).map(|(x, share)| x * share).collect();
        let loose = x.iter().zip(&share).filter(|(_, s)| **s == 0.0).map(|(x, _)| x).sum();
        let (rows, next, trust) = (Rows::new(&graph.r#in), vec![0.0; n], Vec::new());
        Walk { rows, alpha, share, x, y, next, loose, trust }
    }

    fn step(&mut self) -> Tally {
        let n = self.x.len() as f64;
        let (alpha, share) = (self.alpha, &self.share);
        let base = (1.0 - alpha) / n + alpha * self.loose / n;
        let trust = &self.trust;
        let settle = |node: usize, sum: f64, x: &mut f64, next: &mut f64, tally: &mut Tally| {
            let base = trust.get(node).map_or(base, |trust| base * n * trust);
            let new = base + alpha * sum;
            tally.moved += (new - *x).abs();
            let share = share[node];
            tally.loose += if share == 0.0 { new } else { 0.0 };
            (*x, *next) = (new, new * share);
        };
        let tally = self.rows.pull(&self.y, &mut self.x, &mut self.next, settle);
        std::mem::swap(&mut self.y, &mut self.next);
        self.loose = tally.loose;
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dense_solve, on_threads, random_links};
    use super::super::{ALPHA, Stop};
    use super::*;
    use proptest::prelude::*;

    /// The error bound promises 1e-12; sums of few numbers round far below.
    const CLOSE: f64 = 2e-12;

    fn rank(n: u32, links: &[(u32, u32)]) -> Vec<f64> {
        let graph = Graph::from_links(n, links).unwrap();
        pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap().values
    }

    #[test]
    fn two_nodes_a_star_and_a_cycle_have_closed_forms() {
        // One link 0 → 1, node 1 dangling: x₀ = (1−α)/2 + αx₁/2 and x₀ + x₁ = 1.
        let x = rank(2, &[(0, 1)]);
        assert!((x[0] - 1.0 / (2.0 + ALPHA)).abs() < CLOSE, "{x:?}");
        // k leaves point to a dangling centre: leaf l = (1−α)/n + αc/n, c = 1 − kl.
        let k = 6.0;
        let x = rank(7, &(1..7).map(|leaf| (leaf, 0)).collect::<Vec<_>>());
        let leaf = 1.0 / (k + 1.0 + ALPHA * k);
        assert!((x[3] - leaf).abs() < CLOSE && (x[0] - (1.0 - k * leaf)).abs() < CLOSE);
        let x = rank(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
        assert!(x.iter().all(|x| (x - 0.2).abs() < CLOSE));
    }

    /// 0 → 1 → 2, all trust in 0, 2 without links: x₀ = (1−α) + αx₂, x₁ = αx₀, x₂ = αx₁. Equal trust is
    /// plain PageRank.
    #[test]
    fn a_walk_begins_where_trust_is() {
        let graph = Graph::from_links(3, &[(0, 1), (1, 2)]).unwrap();
        let from =
            |trust: &[f64]| pagerank_from(&graph, trust, ALPHA, Stop::EXACT, &[]).unwrap().values;
        let x = from(&[5.0, 0.0, 0.0]);
        let first = (1.0 - ALPHA) / (1.0 - ALPHA.powi(3));
        for (x, wanted) in x.iter().zip([first, ALPHA * first, ALPHA * ALPHA * first]) {
            assert!((x - wanted).abs() < CLOSE, "{x} {wanted}");
        }
        for (x, plain) in from(&[2.0; 3]).iter().zip(rank(3, &[(0, 1), (1, 2)])) {
            assert!((x - plain).abs() < CLOSE);
        }
    }

    #[test]
    fn a_clique_that_leaks_into_a_cycle() {
        // Nodes 0…4 a clique, 0 also links to node 5 of the cycle 5 → 6 → 7 → 5. With clique
        // members m (not 0), z = x₀: m = b + α(z/5 + 3m/4), z = b + αm·4/4, b = (1−α)/8;
        // the cycle: x₅ = b + α(z/5 + x₇), x₆ = b + αx₅, x₇ = b + αx₆.
        let clique = (0..5).flat_map(|i| (0..5).map(move |j| (i, j)));
        let links: Vec<_> = clique.chain([(0, 5), (5, 6), (6, 7), (7, 5)]).collect();
        let x = rank(8, &links);
        let (a, b) = (ALPHA, (1.0 - ALPHA) / 8.0);
        let m = b * (1.0 + a / 5.0) / (1.0 - 0.75 * a - a * a / 5.0);
        let z = b + a * m;
        let five = (b + a * z / 5.0 + a * b + a * a * b) / (1.0 - a * a * a);
        for (got, want) in [(x[0], z), (x[2], m), (x[5], five), (x[6], b + a * five)] {
            assert!((got - want).abs() < CLOSE, "{got} {want}");
        }
    }

    #[test]
    fn threads_change_nothing_and_a_warm_start_saves_steps() {
        let links = random_links(30_000, 200_000, 5);
        let graph = Graph::from_links(30_000, &links).unwrap();
        let [one, two] = on_threads(|| pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap());
        assert_eq!(one, two);
        assert!((one.values.iter().sum::<f64>() - 1.0).abs() < 1e-9 && one.error <= 1e-12);
        // A few more links: the old scores are nearly right.
        let mut more = links.clone();
        more.extend(random_links(30_000, 100, 9));
        let grown = Graph::from_links(30_000, &more).unwrap();
        let cold = pagerank(&grown, ALPHA, Stop::ORDER, &[]).unwrap();
        let warm = pagerank(&grown, ALPHA, Stop::ORDER, &one.values).unwrap();
        assert!(warm.steps < cold.steps, "{} {}", warm.steps, cold.steps);
        let apart: f64 = cold.values.iter().zip(&warm.values).map(|(a, b)| (a - b).abs()).sum();
        assert!(apart <= cold.error + warm.error);
    }

    #[test]
    fn nothing_and_nonsense() {
        assert!(rank(0, &[]).is_empty());
        assert_eq!(rank(1, &[]), [1.0]);
        let graph = Graph::from_links(1, &[]).unwrap();
        for alpha in [1.0, -0.1, f64::NAN] {
            assert!(pagerank(&graph, alpha, Stop::EXACT, &[]).is_err());
        }
        let odd = pagerank(&graph, ALPHA, Stop::EXACT, &[f64::NAN, -3.0]).unwrap();
        assert_eq!(odd.values, [1.0]);
    }

    proptest! {
        #[test]
        fn it_solves_the_linear_system(
            links in prop::collection::vec((0..9_u32, 0..9_u32), 0..40),
        ) {
            let graph = Graph::from_links(9, &links).unwrap();
            let found = pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap().values;
            let exact = dense_solve(9, |j, i| {
                let d = graph.out.degree(i);
                let follows = graph.out.of(i).contains(&j);
                ALPHA * if d == 0 { 1.0 / 9.0 } else { f64::from(u8::from(follows)) / d as f64 }
            }, &[(1.0 - ALPHA) / 9.0; 9]);
            for (a, b) in found.iter().zip(&exact) {
                prop_assert!((a - b).abs() < CLOSE, "{found:?} {exact:?}");
            }
        }
    }
}
