//! OPIC, on-line page importance computation `[APC03]`: importance without a graph.
//!
//! Every page holds cash. A visited page writes its cash into its history and
//! gives it away along its links; where cash passes often, importance is high.
//! A share 1 − α, and all the cash of pages without links, goes to a virtual
//! page, which hands it out to all pages alike: then history/total tends to
//! PageRank with damping α, whatever the order of visits, as long as every page
//! is visited again and again.
//!
//! What the virtual page hands out is kept as one number that every page has
//! got since it became known, so a visit costs its links and no more.

use std::collections::BinaryHeap;

use super::{Scores, check_alpha};
use crate::{Graph, GraphError};

/// The cash of all pages.
#[derive(Clone, Debug, Default)]
pub struct Cash {
    alpha: f64,
    own: Vec<f64>,
    history: Vec<f64>,
    /// What the virtual page has given to every page since the beginning.
    given: f64,
    /// All that was ever written into histories.
    total: f64,
}

impl Cash {
    /// No page is known yet. `alpha` is the share of cash that goes along links.
    pub fn new(alpha: f64) -> Self {
        Cash { alpha, ..Cash::default() }
    }

    /// Adds a page with an initial amount of `cash`. Pages are numbered in the order of their addition.
    pub fn admit(&mut self, cash: f64) {
        self.own.push(cash - self.given);
        self.history.push(0.0);
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Whether there is no page.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// The present cash of a page.
    pub fn of(&self, page: u32) -> f64 {
        self.own[page as usize] + self.given
    }

    /// The cash of a page less what the virtual page has given to all: orders pages as [`Cash::of`]
    /// does, and changes only when the page itself gets or spends cash.
    pub fn standing(&self, page: u32) -> f64 {
        self.own[page as usize]
    }

    /// Visits a page: its cash goes to its history and along its links.
    pub fn visit(&mut self, page: u32, links: &[u32]) {
        let cash = self.of(page);
        self.history[page as usize] += cash;
        self.total += cash;
        self.own[page as usize] -= cash;
        let shared = if links.is_empty() { 0.0 } else { self.alpha * cash };
        let each = shared / links.len().max(1) as f64;
        links.iter().for_each(|&to| self.own[to as usize] += each);
        self.given += (cash - shared) / self.own.len() as f64;
    }

    /// Estimated importance: the share of all cash that ever passed the page, present cash included.
    pub fn importance(&self, page: u32) -> f64 {
        let cash: f64 = self.of(page);
        (self.history[page as usize] + cash) / (self.total + 1.0)
    }
}

/// OPIC on a whole graph, the page with most cash first, `rounds` visits a page on average.
///
/// Scores sum to 1 and tend to PageRank's as rounds grow, like 1/rounds. The
/// residual is the cash not yet written down, 1/(total + 1) of the score mass.
pub fn opic(graph: &Graph, alpha: f64, rounds: u32) -> Result<Scores, GraphError> {
    check_alpha(alpha)?;
    let n = graph.len();
    let mut cash = Cash::new(alpha);
    (0..n).for_each(|_| cash.admit(1.0 / n as f64));
    let mut queue: BinaryHeap<(Ordered, u32)> =
        (0..n as u32).map(|page| (Ordered(cash.standing(page)), page)).collect();
    let visits = n as u64 * u64::from(rounds);
    let mut made = 0;
    while made < visits {
        let Some((Ordered(was), page)) = queue.pop() else { break };
        // Cash only grows while a page waits; what it has got since is in another entry.
        if was < cash.standing(page) {
            continue;
        }
        let links = graph.out.of(page);
        cash.visit(page, links);
        made += 1;
        for &to in links.iter().chain([&page]) {
            queue.push((Ordered(cash.standing(to)), to));
        }
        if queue.len() > 8 * n + 64 {
            queue = (0..n as u32).map(|page| (Ordered(cash.standing(page)), page)).collect();
        }
    }
    let values = (0..n as u32).map(|page| cash.importance(page)).collect();
    let residual = if n == 0 { 0.0 } else { 1.0 / (cash.total + 1.0) };
    Ok(Scores { values, steps: rounds, residual, error: f64::INFINITY, truncation: 0.0 })
}

#[derive(PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::random_links;
    use super::super::{ALPHA, Stop, pagerank};
    use super::*;

    /// Ten thousand visits, each moving cash with a few roundings.
    const SUM: f64 = 1e-9;
    /// A few additions of numbers of the size of one.
    const ROUNDING: f64 = 1e-15;

    #[test]
    fn it_tends_to_pagerank_and_keeps_the_cash_together() {
        let graph = Graph::from_links(50, &random_links(50, 180, 3)).unwrap();
        let exact = pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap().values;
        let apart = |rounds: u32| {
            let found = opic(&graph, ALPHA, rounds).unwrap().values;
            assert!((found.iter().sum::<f64>() - 1.0).abs() < SUM);
            found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum::<f64>()
        };
        // The error falls as 1/rounds: ten times the visits, about a tenth of it.
        let (some, many) = (apart(20), apart(200));
        assert!(many < some / 4.0 && many < 0.02, "{some} {many}");
        assert!(opic(&Graph::default(), ALPHA, 5).unwrap().values.is_empty());
    }

    #[test]
    fn new_pages_get_no_earlier_cash() {
        let mut cash = Cash::new(ALPHA);
        cash.admit(1.0);
        cash.visit(0, &[]);
        cash.admit(0.25);
        assert!((cash.of(0) - 1.0).abs() < ROUNDING && (cash.of(1) - 0.25).abs() < ROUNDING);
        cash.visit(0, &[1]);
        assert!((cash.of(1) - (0.25 + 0.85 + 0.075)).abs() < ROUNDING);
    }
}
