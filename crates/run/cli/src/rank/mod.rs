//! `tidewatch rank`: ranks pages by links, clicks and queries.

mod links;
mod tables;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use tidewatch_graph::Graph;
use tidewatch_graph::walk::{self, ImpactWalk, Scores, Stop};
use tidewatch_policy::frontier::Needs;

use crate::progress;
use crate::table_out::{Destination, Outcome};
use links::Web;

const EXAMPLE: &str = "\
Example:
  printf 'a b\\na c\\nb c\\n' | tidewatch rank - --method pagerank

LINKS: 'src dst' per line, separated by blanks, a tab or a comma; names are any text without
those. Lines that begin with # are skipped. Or the basename of a graph in WebGraph's format
(BASENAME.graph and BASENAME.properties), whose nodes are numbers. A link of a node to itself is
dropped, a link given twice counts once, numbers need not be dense. A node without links out
passes its score on to all (pagerank, opic) or to none (rw, rw-eg).

--impact: CSV with columns node,impact (clicks or views); nodes that no link names are ignored and
counted on standard error. --frontier: CSV with a column node; these were never fetched, so links
and impacts of theirs are ignored, and only they are printed. A frontier node that no link leads to
has the lowest score; an empty frontier prints no row. --queries: CSV with columns
words,count[,need]. --pages: CSV with columns node,url[,anchor], for queries to match.

Output: node,score, best first; equal scores by first mention. How the walk ended (steps, last
residual, bound of the error) stands on standard error, with --json beside the rows.";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Args {
    /// Links; - for standard input, or the basename of a WebGraph.
    #[arg(value_name = "LINKS")]
    links: PathBuf,
    /// What to rank by.
    #[arg(long, value_enum)]
    method: Method,
    /// Clicks or views of nodes; rw and rw-eg need it.
    #[arg(long, value_name = "FILE.csv")]
    impact: Option<PathBuf>,
    /// Nodes never fetched; only they are ranked then.
    #[arg(long, value_name = "FILE.csv")]
    frontier: Option<PathBuf>,
    /// Queries of users; q-overlap and q-hybrid need it.
    #[arg(long, value_name = "FILE.csv")]
    queries: Option<PathBuf>,
    /// URLs of nodes; q-overlap and q-hybrid need it.
    #[arg(long, value_name = "FILE.csv")]
    pages: Option<PathBuf>,
    /// Chance of following a link, from 0 to below 1.
    #[arg(long, default_value_t = walk::ALPHA)]
    alpha: f64,
    /// Share of real links against virtual ones in rw-eg, from 0 to 1.
    #[arg(long, default_value_t = 0.5)]
    omega: f64,
    /// How much rw and rw-eg favour pages with many links: 0 not at all, 1 in proportion.
    #[arg(long, default_value_t = 0.0)]
    beta: f64,
    #[command(flatten)]
    to: Destination,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// A random surfer's visits.
    Pagerank,
    /// Number of links to the node.
    Indegree,
    /// Cash that flows along links as pages are visited; tends to pagerank.
    Opic,
    /// A walk that carries clicks along links.
    Rw,
    /// The same with virtual links between pages that share in-links.
    RwEg,
    /// Words shared with the queries of users.
    QOverlap,
    /// q-overlap combined with pagerank.
    QHybrid,
}

/// Visits that `opic` makes to each page.
const OPIC_ROUNDS: u32 = 20;

#[derive(Serialize)]
struct Row<'a> {
    node: &'a str,
    score: f64,
}

#[derive(Serialize)]
struct Summary {
    method: Method,
    nodes: usize,
    links: u64,
    steps: u32,
    residual: f64,
    error: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    args.check()?;
    let mut web = Web::read(&args.links)?;
    let frontier = args.frontier.as_deref().map(|path| tables::frontier(path, &mut web));
    let frontier = frontier.transpose()?;
    let is_frontier = web.flags(frontier.as_deref().unwrap_or_default());
    let dropped = web.forget_links_of(&is_frontier);
    if dropped > 0 {
        eprintln!("ignored {dropped} links of frontier nodes: their links cannot be known");
    }
    let impact = args.impact.as_deref().map(|path| tables::impact(path, &web)).transpose()?;
    let busy = progress::spinner("ranking");
    let graph = web.graph()?;
    let scores = args.score(&web, &graph, impact.as_deref(), &is_frontier)?;
    busy.finish_and_clear();
    let order = best_first(&scores.values, frontier);
    let name = |node: u32| web.name(node);
    let names: Vec<_> = order.iter().map(|&node| name(node)).collect();
    let rows =
        order.iter().zip(&names).map(|(&n, node)| Row { node, score: scores.values[n as usize] });
    let summary = Summary {
        method: args.method,
        nodes: graph.len(),
        links: graph.out.links(),
        steps: scores.steps,
        residual: scores.residual,
        error: Some(scores.error).filter(|error| error.is_finite()),
    };
    let columns = &["node", "score"];
    args.to.write(Outcome { columns, summary: Some((&summary, "rows")), rows })?;
    if scores.steps > 0 {
        let Scores { steps, residual, .. } = scores;
        eprintln!("{steps} steps, last residual {residual:.1e}");
    }
    Ok(())
}

/// Nodes by score, the highest first; only those asked for, each once.
fn best_first(scores: &[f64], only: Option<Vec<u32>>) -> Vec<u32> {
    let mut order = only.unwrap_or_else(|| (0..scores.len() as u32).collect());
    order.sort_unstable();
    order.dedup();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    order
}

impl Args {
    fn check(&self) -> Result<()> {
        let walks = matches!(self.method, Method::Rw | Method::RwEg);
        ensure!(
            !walks || self.impact.is_some(),
            "this method carries clicks along links; give --impact"
        );
        let asks = matches!(self.method, Method::QOverlap | Method::QHybrid);
        ensure!(
            !asks || (self.queries.is_some() && self.pages.is_some()),
            "this method compares queries with URLs; give --queries and --pages"
        );
        Ok(())
    }

    fn score(
        &self,
        web: &Web,
        graph: &Graph,
        impact: Option<&[f64]>,
        is_frontier: &[bool],
    ) -> Result<Scores> {
        let pagerank = || walk::pagerank(graph, self.alpha, Stop::EXACT, &[]);
        let none = vec![0.0; graph.len()];
        let omega = if self.method == Method::RwEg { self.omega } else { 1.0 };
        Ok(match self.method {
            Method::Pagerank => pagerank()?,
            Method::Indegree => exact(graph.r#in.degrees().map(|d| d as f64).collect()),
            Method::Opic => walk::opic(graph, self.alpha, OPIC_ROUNDS)?,
            Method::Rw | Method::RwEg => ImpactWalk {
                is_frontier,
                alpha: self.alpha,
                beta: self.beta,
                omega,
                ..ImpactWalk::new(graph, impact.unwrap_or(&none))
            }
            .solve(Stop::EXACT, &[])?,
            Method::QOverlap => exact(self.overlap(web, graph.len())?),
            Method::QHybrid => {
                let mut scores = pagerank()?;
                let overlap = self.overlap(web, graph.len())?;
                let mean = overlap.iter().sum::<f64>() / overlap.len().max(1) as f64;
                for (score, overlap) in scores.values.iter_mut().zip(overlap) {
                    *score *= 1.0 + if mean > 0.0 { overlap / mean } else { 0.0 };
                }
                scores
            }
        })
    }

    fn overlap(&self, web: &Web, nodes: usize) -> Result<Vec<f64>> {
        let (Some(queries), Some(pages)) = (&self.queries, &self.pages) else {
            return Ok(vec![0.0; nodes]);
        };
        let needs: Needs = tables::queries(queries)?;
        tables::overlap(pages, &needs, web, nodes)
    }
}

/// Scores that need no walk.
fn exact(values: Vec<f64>) -> Scores {
    Scores { values, steps: 0, residual: 0.0, error: 0.0, truncation: 0.0 }
}
