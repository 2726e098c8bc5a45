//! Compares the graph and its impact with real ones.

use tidewatch_core::Time;
use tidewatch_trace::{Trace, TraceLink};

use super::{Config, Preset};
use crate::generate::Fact;
use crate::generate::shared::{known, shape, top_share};

/// The tail is fitted from this degree on.
const TAIL_FROM: u64 = 20;

pub(super) fn facts(config: &Config, trace: &Trace) -> Vec<Fact> {
    let graph = Graph::of(trace);
    let mut facts = structure(trace, &graph);
    impact(config, trace, &graph, &mut facts);
    facts
}

/// Out-links by source, and clicks of pages.
struct Graph<'a> {
    links: &'a [TraceLink],
    /// Offset of each source's links; one entry more than pages.
    starts: Vec<usize>,
    clicks: Vec<f64>,
    views: Vec<f64>,
}

impl<'a> Graph<'a> {
    fn of(trace: &'a Trace) -> Self {
        let n = trace.pages.len();
        let mut starts = vec![0; n + 1];
        trace.links.iter().for_each(|l| starts[l.source as usize + 1] += 1);
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let totals = |rows: Option<&Vec<tidewatch_trace::Count>>| {
            let mut totals = vec![0.0; n];
            rows.into_iter().flatten().for_each(|row| totals[row.page as usize] += row.count);
            totals
        };
        let (clicks, views) = (totals(trace.clicks.as_ref()), totals(trace.views.as_ref()));
        Graph { links: &trace.links, starts, clicks, views }
    }

    fn out(&self, page: usize) -> &'a [TraceLink] {
        &self.links[self.starts[page]..self.starts[page + 1]]
    }

    /// Mean of `values` over the pages that a page links to.
    fn step(&self, values: &[f64]) -> Vec<f64> {
        let mean = |page: usize| {
            let out = self.out(page);
            out.iter().map(|l| values[l.page as usize]).sum::<f64>() / out.len().max(1) as f64
        };
        (0..values.len()).map(mean).collect()
    }

    /// Share of pages that can be reached from seeds.
    fn reachable(&self, trace: &Trace) -> f64 {
        let mut known: Vec<bool> = trace.pages.iter().map(|p| p.is_seed).collect();
        let mut queue: Vec<u32> =
            (0..known.len() as u32).filter(|&page| known[page as usize]).collect();
        let mut count = queue.len();
        while let Some(page) = queue.pop() {
            for link in self.out(page as usize) {
                if !std::mem::replace(&mut known[link.page as usize], true) {
                    count += 1;
                    queue.push(link.page);
                }
            }
        }
        count as f64 / known.len() as f64
    }
}

fn structure(trace: &Trace, graph: &Graph<'_>) -> Vec<Fact> {
    let n = trace.pages.len();
    let mut degree_in = vec![0_u64; n];
    graph.links.iter().for_each(|l| degree_in[l.page as usize] += 1);
    let degree_out = (0..n).map(|page| graph.out(page).len() as u64);
    let host = |page: u32| trace.pages[page as usize].host;
    let inside = graph.links.iter().filter(|l| host(l.source) == host(l.page)).count();
    let mut sizes = vec![0.0_f64; trace.hosts.len()];
    trace.pages.iter().for_each(|p| sizes[p.host as usize] += 1.0);
    let web = "the web in 1999 [BKM00]";
    vec![
        known("tail exponent of in-degrees", 2.1, tail_exponent(degree_in, TAIL_FROM), web),
        known("tail exponent of out-degrees", 2.72, tail_exponent(degree_out, TAIL_FROM), web),
        known("links per page", 9.88, graph.links.len() as f64 / n as f64, "cnr-2000 [BV04]"),
        shape(
            "share of links within a host",
            inside as f64 / graph.links.len() as f64,
            "most links",
        ),
        shape(
            "share of pages on the largest 1 % of hosts",
            top_share(&sizes, 0.01),
            "heavy-tailed",
        ),
        known(
            "share of pages reachable from seeds",
            1.0,
            graph.reachable(trace),
            "by construction",
        ),
    ]
}

fn impact(config: &Config, trace: &Trace, graph: &Graph<'_>, facts: &mut Vec<Fact>) {
    let share =
        |values: &[f64]| values.iter().filter(|&&v| v > 0.0).count() as f64 / values.len() as f64;
    let few = "a small fraction [TTKN15, §4]";
    facts.push(shape("share of pages with clicks", share(&graph.clicks), few));
    facts.push(shape("share of pages with views", share(&graph.views), few));
    for (name, values) in [("clicks", &graph.clicks), ("views", &graph.views)] {
        concentration(config, name, values, facts);
    }
    assortativity(trace, graph, facts);
}

/// Concentration of impact. A random choice of a share x gets x of the impact, the ideal choice gets
/// what the top x hold; the ratio is published.
fn concentration(config: &Config, name: &str, values: &[f64], facts: &mut Vec<Fact>) {
    match config.preset {
        Preset::Wikipedia => {
            let what = format!("{name} of a random 10 % of the pages, relative to the ideal");
            let ours = 0.1 / top_share(values, 0.1);
            facts.push(known(&what, 0.2, ours, "[TTKN15, §5]"));
        }
        Preset::WebCrawl => {
            let source = "[TTKN15, §5]: the majority";
            for (text, share) in [("0.4 %", 0.004), ("0.8 %", 0.008)] {
                let what = format!("share of {name} on the top {text} of pages");
                facts.push(shape(&what, top_share(values, share), source));
            }
            let what = format!("{name} of a random 2 % of the pages, relative to the ideal");
            let ours = 0.02 / top_share(values, 0.02);
            facts.push(shape(&what, ours, "[TTKN15, §5]: nearly zero"));
        }
    }
}

/// How assortative clicks are: the ratio, clicked pages to the rest, of the mean clicks of new pages
/// that they link to (`r_c` of `[TTKN15, §4]`), and of the mean clicks one, two and three random
/// links away.
fn assortativity(trace: &Trace, graph: &Graph<'_>, facts: &mut Vec<Fact>) {
    let is_old = |page: usize| trace.pages[page].born == Time::ZERO;
    let far_more = "clicked pages far above the rest [TTKN15, table 2]";
    let found_by = |clicked: bool| {
        let mut found: Vec<u32> = (0..graph.clicks.len())
            .filter(|&page| is_old(page) && (graph.clicks[page] > 0.0) == clicked)
            .flat_map(|page| graph.out(page).iter().map(|l| l.page))
            .filter(|&to| !is_old(to as usize))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.iter().map(|&to| graph.clicks[to as usize]).sum::<f64>() / found.len().max(1) as f64
    };
    let what = "mean clicks of new pages linked from clicked pages, relative to the rest";
    facts.push(shape(what, found_by(true) / found_by(false), far_more));
    let mut values = graph.clicks.clone();
    for steps in 1..=3 {
        values = graph.step(&values);
        let mean = |clicked: bool| {
            let (sum, count) = values
                .iter()
                .zip(&graph.clicks)
                .filter(|(_, clicks)| (**clicks > 0.0) == clicked)
                .fold((0.0, 0.0), |(sum, count), (v, _)| (sum + v, count + 1.0));
            sum / f64::max(count, 1.0)
        };
        let what = format!("mean clicks {steps} links from clicked pages, relative to the rest");
        facts.push(shape(
            &what,
            mean(true) / mean(false),
            "also at two and three hops [TTKN15, §4]",
        ));
    }
}

/// Maximum likelihood of the exponent of a power law among whole numbers from `least` on,
/// α = 1 + n/Σ ln(x/(least − ½)) `[CSN09, eq. 3.7]`; NaN where there are none.
pub(super) fn tail_exponent(values: impl IntoIterator<Item = u64>, least: u64) -> f64 {
    let (mut n, mut sum) = (0.0, 0.0);
    for x in values.into_iter().filter(|&x| x >= least) {
        n += 1.0;
        sum += (x as f64 / (least as f64 - 0.5)).ln();
    }
    1.0 + n / sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::rng::Draws;

    #[test]
    fn the_exponent_of_a_power_law_is_found() {
        let mut draws = Draws::new(5, 5);
        // Pareto above 19.5 with exponent 2.3, rounded: a discrete power law from 20 on.
        let values: Vec<u64> = (0..50_000)
            .map(|_| (19.5 * draws.uniform_open().powf(-1.0 / 1.3)).round() as u64)
            .collect();
        // Five standard errors (α − 1)/√n, and the estimator's own bias below 0.01 at 20.
        let ours = tail_exponent(values, 20);
        assert!((ours - 2.3).abs() < 5.0 * 1.3 / 50_000_f64.sqrt() + 0.01, "{ours}");
    }
}
