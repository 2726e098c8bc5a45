//! The static setting of `[TTKN15]`: fetched pages, the frontier pages they link to, and the impact of both.

use tidewatch_core::{Asked, Span, Time};
use tidewatch_graph::Graph;
use tidewatch_math::rng::Draws;
use tidewatch_policy::frontier::Needs;
use tidewatch_trace::{Count, Trace};

use crate::LabError;
use crate::generate::graph::{self, GraphWeb, generate_web};

/// Share of the frontier used for tuning and training `[TTKN15, §5]`.
const TRAINING: f64 = 0.65;
/// Impact of a frontier page is counted over this time after its birth.
const WATCHED: Span = Span::WEEK;

/// What counts as impact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Clicks,
    Views,
}

impl Kind {
    pub(super) const BOTH: [Kind; 2] = [Kind::Clicks, Kind::Views];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Clicks => "click",
            Kind::Views => "view",
        }
    }
}

/// Pages present at the start are fetched; later pages that they link to are the frontier.
pub(super) struct Setting {
    pub(super) graph: Graph,
    pub(super) is_frontier: Vec<bool>,
    clicks: Vec<f64>,
    views: Vec<f64>,
    pub(super) urls: Vec<Box<str>>,
    needs: Needs,
    /// What users search for, and how often.
    pub(super) queries: Vec<(String, f64)>,
    /// Frontier nodes for training and for testing.
    pub(super) training: Vec<u32>,
    pub(super) test: Vec<u32>,
}

impl Setting {
    pub(super) fn generate(config: &graph::Config, seed: u64) -> Result<Self, LabError> {
        config.check()?;
        let GraphWeb { generated, queries, .. } = generate_web(config, seed);
        let queries = queries.into_iter().map(|query| (query.terms, query.frequency)).collect();
        let trace = &generated.trace;
        let is_old = |page: u32| trace.pages[page as usize].born == Time::ZERO;
        Ok(Self::of(trace, is_old, queries, seed))
    }

    /// A web of which a random half is fetched; `trace` has the impact of all pages.
    pub(super) fn halves(trace: &Trace, seed: u64) -> Self {
        let is_old = |page: u32| Draws::of(seed, "frontier.half", page.into()).chance(0.5);
        Self::of(trace, is_old, Vec::new(), seed)
    }

    fn of(
        trace: &Trace,
        is_old: impl Fn(u32) -> bool,
        queries: Vec<(String, f64)>,
        seed: u64,
    ) -> Self {
        let asked = queries.iter().map(|(words, count)| Asked { words, count: *count, need: 1.0 });
        let needs = Needs::new(asked);
        let mut node = vec![u32::MAX; trace.pages.len()];
        let mut pages: Vec<u32> = (0..trace.pages.len() as u32).filter(|&p| is_old(p)).collect();
        let fetched = pages.len();
        pages.iter().zip(0..).for_each(|(&page, i)| node[page as usize] = i);
        for link in trace.links.iter().filter(|link| is_old(link.source)) {
            if node[link.page as usize] == u32::MAX {
                node[link.page as usize] = pages.len() as u32;
                pages.push(link.page);
            }
        }
        let old = trace.links.iter().filter(|link| is_old(link.source));
        let links: Vec<(u32, u32)> =
            old.map(|l| (node[l.source as usize], node[l.page as usize])).collect();
        let n = pages.len() as u32;
        let graph = Graph::from_links(n, &links).expect("links are among the nodes just numbered");
        let total = |rows: Option<&Vec<Count>>| impact(trace, rows, &node, pages.len());
        let mut frontier: Vec<u32> = (fetched as u32..n).collect();
        Draws::of(seed, "frontier.split", 0).shuffle(&mut frontier);
        let training = (frontier.len() as f64 * TRAINING) as usize;
        let test = frontier.split_off(training);
        Setting {
            graph,
            is_frontier: (0..n).map(|i| i >= fetched as u32).collect(),
            clicks: total(trace.clicks.as_ref()),
            views: total(trace.views.as_ref()),
            urls: pages.iter().map(|&p| trace.pages[p as usize].url.clone()).collect(),
            needs,
            queries,
            training: frontier,
            test,
        }
    }

    pub(super) fn impact(&self, kind: Kind) -> &[f64] {
        match kind {
            Kind::Clicks => &self.clicks,
            Kind::Views => &self.views,
        }
    }

    /// Impact with the frontier's hidden: what a method may use.
    pub(super) fn known_impact(&self, kind: Kind) -> Vec<f64> {
        let hide = |(&impact, &is_frontier): (&f64, &bool)| if is_frontier { 0.0 } else { impact };
        self.impact(kind).iter().zip(&self.is_frontier).map(hide).collect()
    }

    /// Whether a page with impact links to the node.
    pub(super) fn is_pointed_at(&self, node: u32, impact: &[f64]) -> bool {
        self.graph.r#in.of(node).iter().any(|&from| impact[from as usize] > 0.0)
    }

    /// Query overlap of every page, by its URL.
    pub(super) fn overlap(&self) -> Vec<f64> {
        self.urls.iter().map(|url| self.needs.overlap_of(url, "")).collect()
    }
}

/// Clicks or views of each node: over the whole trace for old pages, over the first week for new
/// ones.
fn impact(trace: &Trace, rows: Option<&Vec<Count>>, node: &[u32], nodes: usize) -> Vec<f64> {
    let end = Time::ZERO + trace.duration;
    let mut totals = vec![0.0; nodes];
    for row in rows.into_iter().flatten() {
        let born = trace.pages[row.page as usize].born;
        let until = if born == Time::ZERO { end } else { born + WATCHED };
        let node = node[row.page as usize];
        if node != u32::MAX && row.at < until {
            totals[node as usize] += row.count;
        }
    }
    totals
}
