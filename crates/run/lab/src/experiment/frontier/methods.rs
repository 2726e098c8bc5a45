//! Every way to order the frontier in the static setting, as one score per node.

use tidewatch_graph::GraphError;
use tidewatch_graph::walk::{ALPHA, ImpactWalk, Stop, opic, pagerank};
use tidewatch_math::rng::Draws;
use tidewatch_policy::frontier::learn::{Examples, OnLine, Tree, TreeSettings};
use tidewatch_policy::frontier::tune::best_setting;
use tidewatch_policy::price::{Price, Settings};

use super::setting::{Kind, Setting};
use super::worth;

/// Names in the order of the tables.
pub(super) const METHODS: [&str; 14] = [
    "random",
    "indegree",
    "pagerank",
    "opic",
    "q-overlap",
    "q-hybrid",
    "rw",
    "rw-eg",
    "ml",
    "ml-online",
    "price",
    "price trained",
    "linked",
    "informed",
];
/// Those before the walks: what the paper compares with.
pub(super) const BASELINES: std::ops::Range<usize> = 0..6;
/// All but the last two rows, which are references.
pub(super) const CONTENDERS: std::ops::Range<usize> = 0..12;
/// Orders by one score, without learning.
pub(super) const SINGLE: std::ops::Range<usize> = 0..8;
pub(super) const RANDOM: usize = 0;
pub(super) const RW: usize = 6;
pub(super) const RW_EG: usize = 7;
pub(super) const ML: usize = 8;
pub(super) const PRICE: usize = 10;
pub(super) const PRICE_TRAINED: usize = 11;

/// Scores that the learners have as features: all but the random one.
const FEATURES: usize = SINGLE.end - 1;

/// Candidate values of ω, the share of real links.
pub(super) const OMEGAS: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const RESAMPLES: u32 = 20;
/// Visits per page for the on-line computation of importance.
const OPIC_ROUNDS: u32 = 5;

/// Scores of every method, and the tuning of ω.
pub(super) struct Scored {
    /// By method, then by node.
    pub(super) scores: Vec<Vec<f64>>,
    pub(super) pagerank: Vec<f64>,
    pub(super) omega: f64,
    /// Expected share of the ideal at each ω, by the 0.632+ bootstrap.
    pub(super) by_omega: Vec<f64>,
    /// Scores by virtual links alone, ω = 0.
    pub(super) by_virtual: Vec<f64>,
    /// Steps and last residual of RW-EG's solution.
    pub(super) steps: u32,
    pub(super) residual: f64,
}

pub(super) fn score(
    setting: &Setting,
    kind: Kind,
    beta: f64,
    shares: &[f64],
    seed: u64,
) -> Result<Scored, GraphError> {
    let graph = &setting.graph;
    let n = graph.len();
    let impact = setting.known_impact(kind);
    let walk =
        ImpactWalk { is_frontier: &setting.is_frontier, beta, ..ImpactWalk::new(graph, &impact) };
    let walks = OMEGAS
        .iter()
        .map(|&omega| ImpactWalk { omega, ..walk }.solve(Stop::EXACT, &[]))
        .collect::<Result<Vec<_>, _>>()?;
    let of_training = |values: &[f64]| -> Vec<f64> {
        setting.training.iter().map(|&node| values[node as usize]).collect()
    };
    let columns: Vec<Vec<f64>> = walks.iter().map(|w| of_training(&w.values)).collect();
    let truth = of_training(setting.impact(kind));
    let (best, errors) = best_setting(&columns, &truth, shares, RESAMPLES, seed)
        .unwrap_or((OMEGAS.len() - 1, Vec::new()));
    let pagerank = pagerank(graph, ALPHA, Stop::EXACT, &[])?.values;
    let indegree: Vec<f64> = graph.r#in.degrees().map(|d| d as f64).collect();
    let overlap = setting.overlap();
    let mean = overlap.iter().sum::<f64>() / n.max(1) as f64;
    let hybrid = overlap
        .iter()
        .zip(&pagerank)
        .map(|(o, p)| (1.0 + o / mean.max(f64::MIN_POSITIVE)) * p)
        .collect();
    let random = (0..n as u64).map(|i| Draws::of(seed, "frontier.random", i).uniform()).collect();
    let mut scores = vec![
        random,
        indegree,
        pagerank.clone(),
        opic(graph, ALPHA, OPIC_ROUNDS)?.values,
        overlap,
        hybrid,
        walks[OMEGAS.len() - 1].values.clone(),
        walks[best].values.clone(),
    ];
    let features = scores.first_chunk::<{ 1 + FEATURES }>().and_then(|all| all.last_chunk());
    let (tree, on_line) = learned(setting, kind, features.expect("eight scores"));
    let linked = in_lots(n as u32, seed, |node| setting.is_pointed_at(node, &impact));
    let informed = in_lots(n as u32, seed, |node| setting.impact(kind)[node as usize] > 0.0);
    let [price, trained] = [false, true].map(|is_trained| {
        let mut policy = Price::new(Settings::DEFAULT, seed);
        worth::worths(&mut policy, setting, kind, is_trained)
    });
    scores.extend([tree, on_line, price, trained, linked, informed]);
    Ok(Scored {
        scores,
        pagerank,
        omega: OMEGAS[best],
        by_omega: errors.iter().map(|e| 1.0 - e).collect(),
        by_virtual: walks[0].values.clone(),
        steps: walks[best].steps,
        residual: walks[best].residual,
    })
}

/// Scores that put the nodes with `is_first` before the others, each group in random order. Two
/// such rows serve as references: nodes with a predecessor that has impact, and nodes that will
/// have impact themselves.
fn in_lots(nodes: u32, seed: u64, is_first: impl Fn(u32) -> bool) -> Vec<f64> {
    let lot = |node: u32| Draws::of(seed, "frontier.lots", node.into()).uniform();
    (0..nodes).map(|node| f64::from(u8::from(is_first(node))) + lot(node) / 2.0).collect()
}

/// Both learners, with all scores but the random one as features.
fn learned(setting: &Setting, kind: Kind, scores: &[Vec<f64>; FEATURES]) -> (Vec<f64>, Vec<f64>) {
    // Scores span orders of magnitude, which a linear model cannot handle.
    let row = |node: usize| -> [f64; FEATURES] {
        std::array::from_fn(|i| (scores[i][node] + 1e-12).ln())
    };
    let mut examples = Examples::new(scores.len());
    let mut on_line = OnLine::<FEATURES>::default();
    for &node in &setting.training {
        let (features, target) = (row(node as usize), setting.impact(kind)[node as usize]);
        examples.push(&features, target);
        on_line.learn(&features, target);
    }
    let tree = Tree::fit(&examples, TreeSettings::default());
    let all = 0..setting.graph.len();
    // Ties within a leaf are broken by the walk's score.
    let walk = &scores[scores.len() - 1];
    let by_tree = all.clone().map(|node| tree.predict(&row(node)) + 1e-6 * walk[node]).collect();
    (by_tree, all.map(|node| on_line.predict(&row(node))).collect())
}
