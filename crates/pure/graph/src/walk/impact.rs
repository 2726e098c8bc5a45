//! Walks that carry search impact out to pages never fetched `[TTKN15]`.
//!
//! Pages that searchers click link to pages that searchers will click. So the
//! walk lets a page pass on its score in proportion to its own impact:
//!
//! x(j) = α·( ω Σ_i M_ij F_i x(i) + (1 − ω) Σ_i M'_ij F'_i x(i) ) + (1 − α)/n,
//!
//! M_ij = 1/outdeg(i) for a link i → j; F_i = (I_i/max I)·(d_i)^β with I the impact
//! plus [`SMOOTHING`] and d_i = outdeg(i)/max outdeg; M'_ij = w_ij/Σ_k w_ik, where
//! w_ij = |in(i) ∩ in(j)| counts the pages that link to both (i ≠ j); F' as F with
//! the virtual degree s_i = Σ_k w_ik in the place of the out-degree. ω = 1 is RW,
//! ω < 1 is RW-EG, the walk on the enriched graph.
//!
//! The virtual links are never made. With A the matrix of links, w = AᵀA off its
//! diagonal, so with z_i = F'_i x(i)/s_i
//!
//! Σ_i w_ij z_i = Σ_{k→j} t_k − indeg(j)·z_j, t_k = Σ_{k→i} z_i, s_i = Σ_{k→i}(outdeg(k) − 1):
//!
//! two passes over the links, the second shared with the real links. A hub with
//! d links stands for d² virtual ones and still costs d. Hubs may be left out
//! for another reason, that a page which links to everything says little of
//! what it links to ([`ImpactWalk::most_hub_links`]); the error that this makes
//! is bounded in [`Scores::truncation`].
//!
//! A frontier page has no known links and no known impact: its F is 0. Fetched
//! pages are solved first, then one more step leads out to the frontier.
//! Columns of P sum to α(ωF + (1 − ω)F') ≤ α, hence the convergence.
//!
//! Where we differ: the paper's virtual degree may be a number of neighbours;
//! ours is the sum of weights, which needs no neighbour to be listed. With β = 0
//! both are the same.

use super::pull::{Rows, Tally};
use super::{ALPHA, Scores, Stop, beginning, check_alpha, check_length};
use crate::{Graph, GraphError};

/// Added to every impact, so that pages without any still pass something on `[TTKN15, §4]`.
pub const SMOOTHING: f64 = 0.001;

/// RW and RW-EG.
#[derive(Clone, Copy, Debug)]
pub struct ImpactWalk<'a> {
    /// The links.
    pub graph: &'a Graph,
    /// Clicks or views of every node; those of frontier nodes are ignored.
    pub impact: &'a [f64],
    /// Which nodes were never fetched; empty = none.
    pub is_frontier: &'a [bool],
    /// Chance α of following a link, in [0, 1).
    pub alpha: f64,
    /// Share ω of real links against virtual ones, in [0, 1].
    pub omega: f64,
    /// Exponent β of the degree: 0 ignores it, 1 favours hubs.
    pub beta: f64,
    /// Pages with more links than this make no virtual links.
    pub most_hub_links: u64,
}

impl<'a> ImpactWalk<'a> {
    /// RW with the usual settings: α = 0.85, β = 0, no frontier.
    pub fn new(graph: &'a Graph, impact: &'a [f64]) -> Self {
        let (alpha, omega, beta) = (ALPHA, 1.0, 0.0);
        let most_hub_links = u64::MAX;
        ImpactWalk { graph, impact, is_frontier: &[], alpha, omega, beta, most_hub_links }
    }

    fn check(&self) -> Result<(), GraphError> {
        let n = self.graph.len();
        check_alpha(self.alpha)?;
        check_length("impact", self.impact.len(), n)?;
        if !self.is_frontier.is_empty() {
            check_length("frontier flags", self.is_frontier.len(), n)?;
        }
        let refuse = |name, value, wanted| Err(GraphError::Parameter { name, value, wanted });
        if !(0.0..=1.0).contains(&self.omega) {
            return refuse("omega", self.omega, "a number from 0 to 1");
        }
        if !(0.0..=8.0).contains(&self.beta) {
            return refuse("beta", self.beta, "a number from 0 to 8");
        }
        match self.impact.iter().find(|i| !(i.is_finite() && **i >= 0.0)) {
            Some(&value) => refuse("an impact", value, "a finite number, not below 0"),
            None => Ok(()),
        }
    }

    fn is_frontier(&self, node: usize) -> bool {
        self.is_frontier.get(node).copied().unwrap_or(false)
    }

    /// (I_i/max I)·(degree_i/max degree)^β, 0 on the frontier. With β > 0 and no degree anywhere, 0.
    fn factors(&self, degrees: &[f64]) -> Vec<f64> {
        let fetched = |node: &usize| !self.is_frontier(*node);
        let most = |values: &[f64]| {
            let values = values.iter().enumerate().filter(|(node, _)| fetched(node));
            values.map(|(_, v)| *v).fold(0.0, f64::max)
        };
        let (impact, degree) = (most(self.impact) + SMOOTHING, most(degrees));
        let factor = |node: usize| {
            let level = if degree > 0.0 { degrees[node] / degree } else { 0.0 };
            (self.impact[node] + SMOOTHING) / impact * level.powf(self.beta)
        };
        let of = |node| if self.is_frontier(node) { 0.0 } else { factor(node) };
        (0..self.impact.len()).map(of).collect()
    }

    /// Solves for the fixed point. `start` holds scores to start from, or nothing.
    pub fn solve(&self, stop: Stop, start: &[f64]) -> Result<Scores, GraphError> {
        self.check()?;
        let n = self.graph.len();
        let mut state = State::new(self, start);
        let (mut steps, mut residual, mut error) = (0, 0.0, f64::INFINITY);
        let mut total = 1.0;
        while n > 0 && error > stop.tolerance * total && steps < stop.most_steps {
            let tally = state.step();
            steps += 1;
            residual = tally.moved;
            total = tally.total;
            error = residual * self.alpha / (1.0 - self.alpha);
        }
        let truncation = state.truncation();
        let values = state.reach_out();
        let error = if n == 0 { 0.0 } else { error };
        Ok(Scores { values, steps, residual, error, truncation })
    }
}

struct State<'a> {
    walk: &'a ImpactWalk<'a>,
    out: Rows<'a>,
    r#in: Rows<'a>,
    base: f64,
    /// ωF_i/outdeg(i): what a real link passes on.
    real: Vec<f64>,
    /// (1 − ω)F'_i/s_i: what a unit of virtual weight passes on; empty for RW.
    r#virtual: Vec<f64>,
    /// How many predecessors make virtual links.
    citing: Vec<f64>,
    /// Share of s_i that hubs left out would have made.
    left_out: Vec<f64>,
    x: Vec<f64>,
    /// z_i.
    z: Vec<f64>,
    /// What a node passes along each of its links, virtual ones through it included.
    u: Vec<f64>,
    spare: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(walk: &'a ImpactWalk<'a>, start: &[f64]) -> Self {
        let graph = walk.graph;
        let n = graph.len();
        let base = (1.0 - walk.alpha) / n as f64;
        let degrees: Vec<f64> = graph.out.degrees().map(|d| d as f64).collect();
        let per_link = |(f, d): (f64, &f64)| if *d > 0.0 { walk.omega * f / d } else { 0.0 };
        let real: Vec<f64> =
            walk.factors(&degrees).into_iter().zip(&degrees).map(per_link).collect();
        let mut state = State {
            walk,
            out: Rows::new(&graph.out),
            r#in: Rows::new(&graph.r#in),
            base,
            real,
            r#virtual: Vec::new(),
            citing: Vec::new(),
            left_out: Vec::new(),
            x: beginning(start, n, base),
            z: vec![0.0; n],
            u: vec![0.0; n],
            spare: vec![0.0; n],
        };
        if walk.omega < 1.0 {
            state.enrich();
        }
        for node in 0..n {
            if walk.is_frontier(node) {
                state.x[node] = 0.0;
            }
        }
        state.begin();
        state
    }

    /// Virtual degrees and what follows from them.
    fn enrich(&mut self) {
        let graph = self.walk.graph;
        let n = graph.len();
        let most = self.walk.most_hub_links;
        let weight = |keep: &dyn Fn(u64) -> bool, of: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let d = graph.out.degrees();
            d.map(|d| if d > 0 && keep(d) { of(d as f64) } else { 0.0 }).collect()
        };
        let mut sum = |y: Vec<f64>| {
            let mut sums = vec![0.0; n];
            self.r#in.pull(&y, &mut sums, &mut self.spare, |_, sum, x, _, _| *x = sum);
            sums
        };
        let whole = sum(weight(&|_| true, &|d| d - 1.0));
        let kept = sum(weight(&|d| d <= most, &|d| d - 1.0));
        self.citing = sum(weight(&|d| d <= most, &|_| 1.0));
        let factors = self.walk.factors(&whole);
        let omega = self.walk.omega;
        let per_weight = |(f, s): (&f64, &f64)| if *s > 0.0 { (1.0 - omega) * f / s } else { 0.0 };
        self.r#virtual = factors.iter().zip(&kept).map(per_weight).collect();
        // (1 − ω)F'·(share left out), for the bound on what that does.
        let lost = |((f, kept), whole): ((&f64, &f64), &f64)| {
            if *whole > 0.0 { (1.0 - omega) * f * (1.0 - kept / whole) } else { 0.0 }
        };
        self.left_out = factors.iter().zip(&kept).zip(&whole).map(lost).collect();
    }

    /// z and u for the scores to start with.
    fn begin(&mut self) {
        for node in 0..self.x.len() {
            self.u[node] = self.real[node] * self.x[node];
            self.z[node] = self.r#virtual.get(node).map_or(0.0, |v| v * self.x[node]);
        }
    }

    fn step(&mut self) -> Tally {
        let (alpha, base, walk) = (self.walk.alpha, self.base, self.walk);
        if self.r#virtual.is_empty() {
            let real = &self.real;
            let settle = |node: usize, sum: f64, x: &mut f64, next: &mut f64, tally: &mut Tally| {
                if walk.is_frontier(node) {
                    return;
                }
                let new = base + alpha * sum;
                tally.moved += (new - *x).abs();
                tally.total += new;
                (*x, *next) = (new, real[node] * new);
            };
            let tally = self.r#in.pull(&self.u, &mut self.x, &mut self.spare, settle);
            std::mem::swap(&mut self.u, &mut self.spare);
            return tally;
        }
        self.cite();
        let (citing, weights) = (&self.citing, &self.r#virtual);
        let settle = |node: usize, sum: f64, x: &mut f64, z: &mut f64, tally: &mut Tally| {
            if walk.is_frontier(node) {
                return;
            }
            // What came back to the page itself is no virtual link; rounding must not go below 0.
            let new = base + alpha * (sum - citing[node] * *z).max(0.0);
            tally.moved += (new - *x).abs();
            tally.total += new;
            (*x, *z) = (new, weights[node] * new);
        };
        self.r#in.pull(&self.u, &mut self.x, &mut self.z, settle)
    }

    /// u_k = ωF_k x(k)/outdeg(k) + t_k.
    fn cite(&mut self) {
        let (real, x, most) = (&self.real, &self.x, self.walk.most_hub_links);
        let out = &self.walk.graph.out;
        let bounded = most < u64::MAX;
        let settle = |node: usize, sum: f64, u: &mut f64, _: &mut f64, _: &mut Tally| {
            let is_hub = bounded && out.degree(node as u32) > most;
            *u = real[node] * x[node] + if is_hub { 0.0 } else { sum };
        };
        self.out.pull(&self.z, &mut self.u, &mut self.spare, settle);
    }

    /// With P̃ for P without the hubs, x − x̃ = P(x − x̃) + (P − P̃)x̃, so ‖x − x̃‖₁ is at most
    /// ‖(P − P̃)x̃‖₁/(1 − α); and a row of M' that loses the share δ moves by at most 2δ.
    fn truncation(&self) -> f64 {
        let lost: f64 = self.left_out.iter().zip(&self.x).map(|(l, x)| l * x).sum();
        2.0 * self.walk.alpha * lost / (1.0 - self.walk.alpha)
    }

    /// One more step, out to the frontier; then all scores.
    fn reach_out(mut self) -> Vec<f64> {
        if self.walk.is_frontier.iter().any(|&f| f) {
            if !self.r#virtual.is_empty() {
                self.cite();
            }
            let (alpha, base, walk) = (self.walk.alpha, self.base, self.walk);
            self.r#in.pull(&self.u, &mut self.x, &mut self.spare, |node, sum, x, _, _| {
                if walk.is_frontier(node) {
                    *x = base + alpha * sum;
                }
            });
        }
        self.x
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dense_solve, on_threads, random_links};
    use super::*;
    use proptest::prelude::*;

    /// The error bound promises 10⁻¹² of the total, which is at most 1.
    const CLOSE: f64 = 2e-12;

    /// P entry by entry, virtual links and all, straight from the definition.
    fn literal(walk: &ImpactWalk<'_>) -> Vec<f64> {
        let (graph, n) = (walk.graph, walk.graph.len() as u32);
        let has = |i: u32, j: u32| graph.out.of(i).contains(&j);
        let shared = |i: u32, j: u32| {
            let both = (0..n).filter(|&k| has(k, i) && has(k, j));
            if i == j { 0.0 } else { both.count() as f64 }
        };
        let degree: Vec<f64> = (0..n).map(|i| graph.out.degree(i) as f64).collect();
        let virtual_degree: Vec<f64> = (0..n).map(|i| (0..n).map(|k| shared(i, k)).sum()).collect();
        let frontier = |i: u32| walk.is_frontier.get(i as usize).copied().unwrap_or(false);
        let top = |values: &[f64]| {
            let fetched = (0..n).filter(|&i| !frontier(i));
            fetched.map(|i| values[i as usize]).fold(0.0, f64::max)
        };
        let factor = |i: u32, d: &[f64]| {
            let impact = (walk.impact[i as usize] + SMOOTHING) / (top(walk.impact) + SMOOTHING);
            let level = if top(d) > 0.0 { d[i as usize] / top(d) } else { 0.0 };
            if frontier(i) { 0.0 } else { impact * level.powf(walk.beta) }
        };
        let p = |j: u32, i: u32| {
            let (d, s) = (degree[i as usize], virtual_degree[i as usize]);
            let real = if has(i, j) { factor(i, &degree) / d } else { 0.0 };
            let cited = if s > 0.0 { shared(i, j) * factor(i, &virtual_degree) / s } else { 0.0 };
            walk.alpha * (walk.omega * real + (1.0 - walk.omega) * cited)
        };
        dense_solve(n, p, &vec![(1.0 - walk.alpha) / f64::from(n); n as usize])
    }

    fn assert_close(found: &[f64], want: &[f64]) {
        for (a, b) in found.iter().zip(want) {
            assert!((a - b).abs() < CLOSE, "{found:?} {want:?}");
        }
    }

    #[test]
    fn a_star_and_two_nodes_have_closed_forms() {
        // One link 0 → 1; impacts 3 and 1. x₀ = (1−α)/2, x₁ = (1−α)/2·(1 + αF₀), F₀ = 1.
        let graph = Graph::from_links(2, &[(0, 1)]).unwrap();
        let x = ImpactWalk::new(&graph, &[3.0, 1.0]).solve(Stop::EXACT, &[]).unwrap();
        assert_close(&x.values, &[0.075, 0.075 * 1.85]);
        // A centre linking to four leaves that are alike. Leaves share the centre as their only
        // predecessor: each passes F'·x/3 to each other one. With equal impacts F = 1 on the
        // centre (β = 0), so l = b + α(ω·c/4 + (1 − ω)·l), c = b.
        let graph = Graph::from_links(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]).unwrap();
        let walk = ImpactWalk { omega: 0.4, ..ImpactWalk::new(&graph, &[1.0; 5]) };
        let x = walk.solve(Stop::EXACT, &[]).unwrap().values;
        let (b, a) = (0.15 / 5.0, ALPHA);
        let leaf = (b + a * 0.4 * b / 4.0) / (1.0 - a * 0.6);
        assert_close(&x, &[b, leaf, leaf, leaf, leaf]);
    }

    #[test]
    fn equal_impacts_make_it_pagerank_without_dangling_mass() {
        let links = random_links(60, 300, 2);
        let graph = Graph::from_links(60, &links).unwrap();
        let closed = (0..60).all(|i| graph.out.degree(i) > 0);
        assert!(closed, "the check needs a graph without dangling nodes");
        let walk = ImpactWalk::new(&graph, &[2.0; 60]).solve(Stop::EXACT, &[]).unwrap();
        let rank = super::super::pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap();
        assert_close(&walk.values, &rank.values);
    }

    #[test]
    fn leaving_hubs_out_stays_within_the_bound_and_is_exact_without_hubs() {
        let mut links = random_links(200, 900, 7);
        links.extend((0..150).map(|to| (3, to)));
        let graph = Graph::from_links(200, &links).unwrap();
        let impact: Vec<f64> = (0..200).map(|i| f64::from(i % 7)).collect();
        let exact = ImpactWalk { omega: 0.3, ..ImpactWalk::new(&graph, &impact) };
        let want = exact.solve(Stop::EXACT, &[]).unwrap();
        assert!(want.truncation.abs() < f64::EPSILON);
        let cut = ImpactWalk { most_hub_links: 40, ..exact }.solve(Stop::EXACT, &[]).unwrap();
        let apart: f64 = want.values.iter().zip(&cut.values).map(|(a, b)| (a - b).abs()).sum();
        assert!(apart > 1e-6 && apart <= cut.truncation, "{apart} {}", cut.truncation);
        let whole = ImpactWalk { most_hub_links: 1000, ..exact }.solve(Stop::EXACT, &[]).unwrap();
        assert_close(&whole.values, &want.values);
    }

    #[test]
    fn threads_change_nothing() {
        let graph = Graph::from_links(20_000, &random_links(20_000, 150_000, 5)).unwrap();
        let impact: Vec<f64> = (0..20_000).map(|i| f64::from(i % 13 / 12)).collect();
        let is_frontier: Vec<bool> = (0..20_000).map(|i| i % 3 == 0).collect();
        let walk = ImpactWalk {
            omega: 0.5,
            is_frontier: &is_frontier,
            ..ImpactWalk::new(&graph, &impact)
        };
        let [one, two] = on_threads(|| walk.solve(Stop::EXACT, &[]).unwrap());
        assert_eq!(one, two);
    }

    #[test]
    fn nonsense_is_refused_and_nothing_is_nothing() {
        let graph = Graph::from_links(2, &[(0, 1)]).unwrap();
        let bad = |impact: &[f64], omega: f64| {
            let walk = ImpactWalk { omega, ..ImpactWalk::new(&graph, impact) };
            walk.solve(Stop::EXACT, &[]).unwrap_err().to_string()
        };
        assert_eq!(bad(&[1.0], 1.0), "there are 1 values of impact for 2 nodes; give one a node");
        assert!(bad(&[1.0, f64::NAN], 1.0).contains("an impact is NaN"));
        assert_eq!(bad(&[1.0, 1.0], 1.5), "omega is 1.5; give a number from 0 to 1");
        let empty = Graph::default();
        let none = ImpactWalk::new(&empty, &[]).solve(Stop::EXACT, &[]).unwrap();
        assert_eq!((none.values.len(), none.steps), (0, 0));
    }

    proptest! {
        /// (1 − α)(I − αP)⁻¹v by elimination, with and without enrichment and frontier.
        #[test]
        fn it_solves_the_linear_system(
            links in prop::collection::vec((0..8_u32, 0..8_u32), 0..30),
            impact in prop::collection::vec(0.0..20.0_f64, 8),
            omega in prop_oneof![Just(1.0), 0.0..1.0_f64],
            beta in prop_oneof![Just(0.0), Just(1.0)],
            frontier in prop_oneof![Just(0), Just(3)],
        ) {
            // Frontier nodes are the last ones and have no links.
            let fetched = 8 - frontier;
            let links: Vec<_> = links.into_iter().filter(|l| l.0 < fetched).collect();
            let graph = Graph::from_links(8, &links).unwrap();
            let is_frontier: Vec<bool> = (0..8).map(|i| i >= fetched).collect();
            let walk = ImpactWalk {
                omega, beta, is_frontier: &is_frontier, ..ImpactWalk::new(&graph, &impact)
            };
            let found = walk.solve(Stop::EXACT, &[]).unwrap();
            let want = literal(&walk);
            for (a, b) in found.values.iter().zip(&want) {
                prop_assert!((a - b).abs() < CLOSE, "{:?} {want:?}", found.values);
            }
            prop_assert!(found.error <= 1e-12 && found.steps > 0);
        }
    }
}
