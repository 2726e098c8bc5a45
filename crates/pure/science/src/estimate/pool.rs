//! What the pages of a host say about one another: a prior from the data (empirical Bayes).
//!
//! Rates differ between hosts, within a host between kinds of page, within a kind between pages.
//! The model is a tree, root → host → URL pattern → page, in which each node's mean rate is gamma
//! distributed about its parent's:
//!
//! m ~ Gamma(shape s, mean m′) below a parent of mean m′, one shape a level.
//!
//! **Upwards.** What a page has seen enters as [`Evidence`]: a number of changes k in a time t, the
//! gamma-shaped likelihood λᵏe^(−λt) that agrees with the true one in slope and curvature at the
//! page's present estimate (exact for dated changes and unchanged gaps). Integrated over the page's
//! rate this is a negative binomial likelihood of the parent's mean, which is matched by evidence of
//! the same form in the same way; evidence adds up among siblings. A page that has seen a lot thus
//! counts towards its host as about s changes at most: one page is one page.
//!
//! **Shapes.** Each level's shape maximises the product of those negative binomials, with a wide
//! log-normal hyper-prior around one that decides when there is nothing to compare.
//!
//! **Downwards.** m = (s + k)/(s/m′ + t). A few rounds up and down settle it.

use super::{Counts, Gamma};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_math::special::ln_gamma;

/// Rounds up and down; means move by less than a per cent after the third.
const ROUNDS: usize = 6;
/// Shapes considered: from 'the parent says next to nothing' to 'siblings are alike'.
const SHAPES: (f64, f64) = (0.05, 1000.0);
/// Standard deviation of ln shape under the hyper-prior, whose median is one.
const SHAPE_DEVIATION: f64 = 2.0;
/// Halvings of the interval of ln shape by golden section: 0.618⁴⁰ of ten leaves 10⁻⁷.
const GOLDEN_STEPS: usize = 40;

/// Nodes that a shape is fitted to, at most: it is then known to a per cent or so, and a level of ten
/// million pages would take minutes.
const SAMPLE: usize = 1 << 16;

/// A gamma-shaped likelihood λᵏe^(−λt): k changes in a time t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Changes, not necessarily whole.
    pub changes: f64,
    /// Time in which they were seen.
    pub time: f64,
}

impl Evidence {
    /// The evidence that agrees with these sums in slope and curvature (against ln λ) at `rate`.
    pub fn of(counts: &Counts, rate: f64) -> Self {
        let score = counts.score();
        Self::matching(score.slope(rate), score.curvature(rate), rate)
    }

    /// λᵏe^(−λt) has slope k − λt and curvature λt.
    fn matching(slope: f64, curvature: f64, rate: f64) -> Self {
        Self { changes: (slope + curvature).max(0.0), time: curvature / rate }
    }

    /// What this says of the mean of the gamma distribution that the rate came from: the negative
    /// binomial likelihood b^s/(b + t)^(s+k), b = s/mean, matched at `mean`.
    fn about_parent(self, shape: f64, mean: f64) -> Self {
        let b = shape / mean;
        let total = (shape + self.changes) / (b + self.time);
        let slope = total * b - shape;
        let curvature = total * b * self.time / (b + self.time);
        Self::matching(slope, curvature, mean)
    }

    /// Log of the negative binomial likelihood of a shape, but for what does not depend on it.
    fn log_marginal(self, shape: f64, mean: f64) -> f64 {
        let (k, b) = (self.changes, shape / mean);
        let rising = if k == 0.0 { 0.0 } else { ln_gamma(shape + k) - ln_gamma(shape) };
        // s·ln b − (s + k)·ln(b + t), with s·ln(b/(b + t)) kept exact for large shapes.
        rising - shape * (self.time / b).ln_1p() - k * (b + self.time).ln()
    }

    /// The mean given the parent's.
    pub fn shrunk(self, shape: f64, parent: f64) -> f64 {
        (shape + self.changes) / (shape / parent + self.time)
    }
}

/// A page of a [`Pool`]: any numbers that tell hosts and URL patterns apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its host.
    pub host: u64,
    /// Its URL pattern within the host.
    pub pattern: u64,
    /// Its visits, as sums.
    pub counts: Counts,
}

/// One generation of the tree.
struct Level {
    /// Position of each node's parent in the level above.
    parent: Vec<usize>,
    mean: Vec<f64>,
    evidence: Vec<Evidence>,
    shape: f64,
}

impl Level {
    fn new(parent: Vec<usize>, mean: f64) -> Self {
        let n = parent.len();
        Self { parent, mean: vec![mean; n], evidence: vec![Evidence::default(); n], shape: 1.0 }
    }

    /// Fits the shape to the evidence and adds up what it says of the parents.
    fn report(&mut self, parents: &[f64]) -> Vec<Evidence> {
        let step = self.parent.len().div_ceil(SAMPLE).max(1);
        let nodes = || self.evidence.iter().zip(&self.parent).step_by(step);
        self.shape = fit_shape(|| nodes().map(|(&e, &p)| (e, parents[p])));
        let mut reports = vec![Evidence::default(); parents.len()];
        for (evidence, &parent) in self.evidence.iter().zip(&self.parent) {
            let about = evidence.about_parent(self.shape, parents[parent]);
            reports[parent].changes += about.changes;
            reports[parent].time += about.time;
        }
        reports
    }

    fn shrink(&mut self, parents: &[f64]) {
        for ((mean, evidence), &parent) in
            self.mean.iter_mut().zip(&self.evidence).zip(&self.parent)
        {
            *mean = evidence.shrunk(self.shape, parents[parent]);
        }
    }
}

/// Priors for the pages of a collection, pooled host → URL pattern → page.
///
/// ```
/// use tidewatch_science::estimate::{Member, Pool, Visit, Visits};
/// // Ten pages of one host that changed at every third daily visit.
/// let visit = |k: u32| Visit { gap: 1.0, changed: k % 3 == 0, age: None };
/// let visits: Visits = (1..=30).map(visit).collect();
/// let members = [Member { host: 7, pattern: 0, counts: *visits.counts() }; 10];
/// let pool = Pool::fit(&members).ok_or("no page was watched")?;
/// // A new page of the host is expected to change about as often, and its first visits count for
/// // little beside that.
/// assert!((pool.prior(7, 0).mean() - 0.4).abs() < 0.1);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    root: f64,
    hosts: FxHashMap<u64, f64>,
    patterns: FxHashMap<(u64, u64), f64>,
    /// Shapes of hosts about the root, patterns about their host, pages about their pattern.
    shapes: [f64; 3],
}

impl Pool {
    /// Fits the tree to all pages. Deterministic in their order. `None` when no page was watched
    /// for any time: then nothing is known, not even a scale of time.
    pub fn fit(members: &[Member]) -> Option<Self> {
        Self::fit_with(members, None)
    }

    /// The same with a prior for the mean of all. Where gaps are short and nothing has changed yet, the
    /// data alone would allow any rate below one over the time watched, and it needs the prior to say
    /// that few are so fast.
    pub fn fit_about(members: &[Member], all: Gamma) -> Option<Self> {
        Self::fit_with(members, Some(all))
    }

    fn fit_with(members: &[Member], prior: Option<Gamma>) -> Option<Self> {
        let members: Vec<_> = members.iter().filter(|m| m.counts.watched() > 0.0).collect();
        let watched: f64 = members.iter().map(|m| m.counts.watched()).sum();
        if members.is_empty() {
            return None;
        }
        let changes: u64 = members.iter().map(|m| m.counts.changes()).sum();
        // Half a change, so that a collection in which nothing changed keeps a positive rate.
        let mean = |changes: f64, time: f64, root: f64| match prior {
            Some(all) => (changes + all.shape) / (time + all.rate),
            None => (changes + 0.5) / (time + 0.5 / root),
        };
        let mut root = mean(changes as f64, watched, f64::INFINITY);
        let (mut host_at, mut pattern_at) = (FxHashMap::default(), FxHashMap::default());
        let (mut pattern_hosts, mut page_patterns) = (Vec::new(), Vec::new());
        for member in &members {
            let next = host_at.len();
            let host = *host_at.entry(member.host).or_insert(next);
            let next = pattern_at.len();
            let pattern = *pattern_at.entry((member.host, member.pattern)).or_insert(next);
            if pattern == pattern_hosts.len() {
                pattern_hosts.push(host);
            }
            page_patterns.push(pattern);
        }
        let mut hosts = Level::new(vec![0; host_at.len()], root);
        let mut patterns = Level::new(pattern_hosts, root);
        let mut pages = Level::new(page_patterns, root);
        for _ in 0..ROUNDS {
            for ((evidence, member), &mean) in
                pages.evidence.iter_mut().zip(&members).zip(&pages.mean)
            {
                *evidence = Evidence::of(&member.counts, mean);
            }
            patterns.evidence = pages.report(&patterns.mean);
            hosts.evidence = patterns.report(&hosts.mean);
            let all = hosts.report(&[root]);
            root = mean(all[0].changes, all[0].time, root);
            hosts.shrink(&[root]);
            patterns.shrink(&hosts.mean);
            pages.shrink(&patterns.mean);
        }
        Some(Self {
            root,
            hosts: host_at.into_iter().map(|(host, i)| (host, hosts.mean[i])).collect(),
            patterns: pattern_at.into_iter().map(|(key, i)| (key, patterns.mean[i])).collect(),
            shapes: [hosts.shape, patterns.shape, pages.shape],
        })
    }

    /// The prior of a page: about the mean of its pattern, else of its host, else of all. An
    /// unknown pattern or host widens it: variances of the levels in between add up.
    pub fn prior(&self, host: u64, pattern: u64) -> Gamma {
        let [_, pattern_shape, page_shape] = self.shapes;
        // Squared coefficients of variation of nested gammas: 1 + v = Π(1 + 1/s).
        let nested = |shapes: &[f64]| {
            let spread: f64 = shapes.iter().map(|s| 1.0 + s.recip()).product();
            (spread - 1.0).recip()
        };
        if let Some(&mean) = self.patterns.get(&(host, pattern)) {
            Gamma::with_mean(mean, page_shape)
        } else if let Some(&mean) = self.hosts.get(&host) {
            Gamma::with_mean(mean, nested(&[pattern_shape, page_shape]))
        } else {
            Gamma::with_mean(self.root, nested(&self.shapes))
        }
    }
}

/// The shape of the gamma distributions, about the given means, from which rates with this evidence
/// most likely came. `nodes` is gone through once a trial.
pub fn fit_shape<I: Iterator<Item = (Evidence, f64)>>(nodes: impl Fn() -> I) -> f64 {
    let log_posterior = |ln_shape: f64| {
        let data: f64 = nodes().map(|(e, mean)| e.log_marginal(ln_shape.exp(), mean)).sum();
        data - 0.5 * (ln_shape / SHAPE_DEVIATION) * (ln_shape / SHAPE_DEVIATION)
    };
    golden_maximum(log_posterior, (SHAPES.0.ln(), SHAPES.1.ln())).exp()
}

/// Where a unimodal function has its maximum, by golden section.
fn golden_maximum(f: impl Fn(f64) -> f64, (mut low, mut high): (f64, f64)) -> f64 {
    const RATIO: f64 = 0.618033988749895;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..GOLDEN_STEPS {
        if at_a < at_b {
            (low, a, at_a) = (a, b, at_b);
            b = low + RATIO * (high - low);
            at_b = f(b);
        } else {
            (high, b, at_b) = (b, a, at_a);
            a = high - RATIO * (high - low);
            at_a = f(a);
        }
    }
    f64::midpoint(low, high)
}
