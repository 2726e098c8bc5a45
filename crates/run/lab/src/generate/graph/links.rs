//! Creates links, page by page in order of birth.
//!
//! Older pages announce a new page, so that it can be found: the hub (the root of its host) or any
//! page of its host; a clicked page is preferably announced by a clicked one. The new page links to
//! the root of its host (the site's template) and to other pages by copying: with probability γ a link
//! leads where a random earlier link of the same host (or, across hosts, of the same topic) leads,
//! otherwise to a random page. Copying is preferential attachment: in-degrees have a power-law tail
//! with exponent 1 + 1/γ. Links of clicked pages are drawn among links to clicked pages with a
//! probability of their own, which makes impact assortative.
//!
//! Each link depends on all earlier ones, so this part runs on one thread; random numbers are still
//! keyed by page.

use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::TraceLink;

use super::Config;
use super::population::Population;
use crate::generate::shared::instant;

/// Attempts to find a page not yet linked to. A link within a host leaves the host after the first of
/// these numbers, because small hosts have few pages.
const TRIES: usize = 6;
const LOCAL_TRIES: usize = 4;

/// Pages of a kind, and the targets of links to them.
#[derive(Clone, Default)]
struct Pool {
    pages: Vec<u32>,
    targets: Vec<u32>,
}

/// Pools of one host or one topic.
#[derive(Clone, Default)]
struct Pools {
    all: Pool,
    clicked: Pool,
}

impl Pool {
    /// A page by copying, if there is one.
    fn pick(&self, copying: f64, draws: &mut Draws) -> Option<u32> {
        let from = if !self.targets.is_empty() && draws.chance(copying) {
            &self.targets
        } else {
            &self.pages
        };
        from.get(draws.below(from.len() as u64) as usize).copied()
    }

    /// A uniformly random page.
    fn any(&self, draws: &mut Draws) -> Option<u32> {
        self.pages.get(draws.below(self.pages.len() as u64) as usize).copied()
    }
}

impl Pools {
    /// Clicked pages only, if wanted and present.
    fn choose(&self, clicked: bool) -> &Pool {
        if clicked && !self.clicked.pages.is_empty() { &self.clicked } else { &self.all }
    }
}

/// The growing web.
struct Growth<'a> {
    config: &'a Config,
    who: &'a Population,
    hosts: Vec<Pools>,
    topics: Vec<Pools>,
    links: Vec<TraceLink>,
}

/// All links, by (source, appears, page).
pub(super) fn grow(config: &Config, who: &Population, seed: u64) -> Vec<TraceLink> {
    let label = purpose("graph.links");
    let mut growth = Growth {
        config,
        who,
        hosts: vec![Pools::default(); who.hosts.len()],
        topics: vec![Pools::default(); usize::from(config.topics)],
        links: Vec::with_capacity((who.len() as f64 * (config.links + 3.0)) as usize),
    };
    for page in 0..who.len() as u32 {
        let mut draws = Draws::keyed(seed, label, u64::from(page));
        growth.announce(page, &mut draws);
        growth.link_out(page, &mut draws);
        growth.settle(page);
    }
    let mut links = growth.links;
    rayon::slice::ParallelSliceMut::par_sort_unstable_by_key(&mut links[..], |l| {
        (l.source, l.appears, l.page)
    });
    links.dedup_by_key(|l| (l.source, l.page));
    links
}

impl Growth<'_> {
    /// Links from older pages to the new one: always one, and a second one if possible.
    fn announce(&mut self, page: u32, draws: &mut Draws) {
        if page == 0 {
            return;
        }
        // Choose both before adding links, so that no page announces itself.
        let (first, second) = (self.announcer(page, draws), self.announcer(page, draws));
        self.add(first, page);
        if second != first {
            self.add(second, page);
        }
    }

    fn announcer(&self, page: u32, draws: &mut Draws) -> u32 {
        let index = page as usize;
        let (host, topic) = (self.who.host[index] as usize, usize::from(self.who.topic[index]));
        let clicked = self.who.appeal[index].is_clicked() && draws.chance(self.config.assortative);
        if self.who.is_root(index) {
            let found = self.topics[topic].choose(clicked).pick(self.config.copying, draws);
            return found.unwrap_or(0);
        }
        let hosts = &self.hosts[host];
        if clicked && let Some(source) = hosts.clicked.any(draws) {
            return source;
        }
        let hub = self.who.roots[host];
        if draws.chance(self.config.hubs) { hub } else { hosts.all.any(draws).unwrap_or(hub) }
    }

    /// The links of a page at its birth.
    fn link_out(&mut self, page: u32, draws: &mut Draws) {
        let index = page as usize;
        let host = self.who.host[index] as usize;
        let start = self.links.len();
        if !self.who.is_root(index) {
            self.add(page, self.who.roots[host]);
        }
        for _ in 0..out_degree(self.config, draws) {
            let clicked =
                self.who.appeal[index].is_clicked() && draws.chance(self.config.assortative);
            let local = draws.chance(self.config.local);
            for attempt in 0..TRIES {
                let pools = if local && attempt < LOCAL_TRIES {
                    &self.hosts[host]
                } else {
                    &self.topics[usize::from(self.who.topic[index])]
                };
                let found = pools.choose(clicked).pick(self.config.copying, draws);
                let is_new =
                    |&to: &u32| to != page && self.links[start..].iter().all(|l| l.page != to);
                if let Some(to) = found.filter(is_new) {
                    self.add(page, to);
                    break;
                }
            }
        }
    }

    fn add(&mut self, source: u32, page: u32) {
        let appears = instant(self.who.born[source as usize].max(self.who.born[page as usize]));
        self.links.push(TraceLink { source, page, appears, disappears: None, position: None });
        let index = page as usize;
        let (host, topic) = (self.who.host[index] as usize, usize::from(self.who.topic[index]));
        for pools in [&mut self.hosts[host], &mut self.topics[topic]] {
            pools.all.targets.push(page);
            if self.who.appeal[index].is_clicked() {
                pools.clicked.targets.push(page);
            }
        }
    }

    /// Makes the page a possible target.
    fn settle(&mut self, page: u32) {
        let index = page as usize;
        let (host, topic) = (self.who.host[index] as usize, usize::from(self.who.topic[index]));
        for pools in [&mut self.hosts[host], &mut self.topics[topic]] {
            pools.all.pages.push(page);
            if self.who.appeal[index].is_clicked() {
                pools.clicked.pages.push(page);
            }
        }
    }
}

/// Number of links of a page besides the template's: Pareto with tail P(k) ∝ k^(−e) and the set mean,
/// rounded at random to keep the mean.
fn out_degree(config: &Config, draws: &mut Draws) -> usize {
    let e = config.out_exponent;
    let least = config.links * (e - 2.0) / (e - 1.0);
    let wanted = least * draws.uniform_open().powf(-1.0 / (e - 1.0)) + draws.uniform();
    (wanted as usize).min(config.most_links as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_degrees_have_their_mean_and_tail() {
        let config = Config { links: 6.0, out_exponent: 3.5, ..Config::default() };
        let mut draws = Draws::new(7, 7);
        let n = 200_000;
        let sample: Vec<f64> = (0..n).map(|_| out_degree(&config, &mut draws) as f64).collect();
        let mean = sample.iter().sum::<f64>() / f64::from(n);
        // Pareto with shape a = 2.5 has variance s²a/((a−1)²(a−2)) = 6²·0.8; five standard errors
        // of a mean, and a little for the cut at `most_links` (6·(least/1000)^1.5 < 0.01).
        assert!((mean - 6.0).abs() < 5.0 * (28.8 / f64::from(n)).sqrt() + 0.01, "{mean}");
        // P(K ≥ 36) = ∫ P(X ≥ 36 − u)du ≈ (3.6/35.5)^2.5.
        let far = sample.iter().filter(|&&k| k >= 36.0).count() as f64 / f64::from(n);
        let want = (3.6_f64 / 35.5).powf(2.5);
        assert!((far - want).abs() < 5.0 * (want / f64::from(n)).sqrt(), "{far} {want}");
    }

    #[test]
    fn copying_alone_gives_the_expected_tail() {
        // One host, one topic, no template, constant copying: the chance that a page of size n
        // gets the next link is γ·n/links + (1 − γ)/pages, whose in-degrees have the tail exponent
        // 1 + 1/γ. Measured on the pool itself.
        let mut pool = Pool::default();
        let mut draws = Draws::new(3, 3);
        let (gamma, pages, per_page) = (0.8, 100_000_u32, 5);
        for page in 0..pages {
            for _ in 0..per_page {
                if let Some(to) = pool.pick(gamma, &mut draws) {
                    pool.targets.push(to);
                }
            }
            pool.pages.push(page);
        }
        let mut degree = vec![0_u32; pages as usize];
        pool.targets.iter().for_each(|&t| degree[t as usize] += 1);
        let ours = super::super::facts::tail_exponent(degree.iter().map(|&d| u64::from(d)), 50);
        // Finite-size bias of the estimator at this cut-off is within a tenth; the exponent of
        // another γ (0.6: 2.67, 1: 2) would be off by more than 0.2.
        assert!((ours - (1.0 + 1.0 / gamma)).abs() < 0.1, "{ours}");
    }
}
