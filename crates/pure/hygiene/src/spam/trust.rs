//! What links among hosts say about spam.
//!
//! Good hosts seldom link to spam, so trust walks from them along links (TrustRank `[GGP04]`); who links to
//! spam is often spam, so distrust walks from it against links (anti-TrustRank `[KR06]`). A host whose
//! PageRank is not matched by trust has it from elsewhere.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use tidewatch_graph::Graph;
use tidewatch_graph::walk::{ALPHA, Stop, pagerank_from};

/// Numbers that links give for a host: trust over PageRank, distrust, share of links that are
/// returned, hosts that link here, hosts linked to.
pub(super) const TIES: usize = 5;
/// Links kept. Later ones between hosts that never linked before are not.
const MOST_LINKS: usize = 1 << 19;
/// Steps of a walk. Trust beyond thirty links is below 1% (0.85³⁰).
const STOP: Stop = Stop { tolerance: 1e-6, most_steps: 30 };
/// A score that counts for nothing, in mean scores.
const NOTHING: f64 = 0.05;
/// Features are cut off at so many standard deviations.
const FAR: f64 = 3.0;

/// Which hosts link to which.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Links {
    numbers: FxHashMap<u64, u32>,
    links: FxHashSet<(u32, u32)>,
}

/// Scores of all hosts by links and labels.
pub(super) struct Walks<'l> {
    links: &'l Links,
    onward: Graph,
    back: Graph,
    /// PageRank.
    rank: Vec<f64>,
    /// Per host: returned links, links in, links out.
    degrees: Vec<[f64; 3]>,
}

impl Links {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    fn number(&mut self, host: u64) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(host).or_insert(next)
    }

    /// The number of a host in the results of walks.
    pub(super) fn number_of(&self, host: u64) -> Option<usize> {
        self.numbers.get(&host).map(|&number| number as usize)
    }

    /// A page of one host links to a page of another.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        if from != to && self.links.len() < MOST_LINKS {
            let link = (self.number(from), self.number(to));
            self.links.insert(link);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        (self.numbers.len() * size_of::<(u64, u32)>() + self.links.len() * size_of::<(u32, u32)>())
            * 8
            / 7
    }

    /// Prepares walks; `None` without links.
    pub(super) fn walks(&self) -> Option<Walks<'_>> {
        let hosts = self.numbers.len() as u32;
        let links: Vec<(u32, u32)> = self.links.iter().copied().collect();
        let onward = Graph::from_links(hosts, &links).ok().filter(|_| hosts > 0)?;
        let reversed: Vec<(u32, u32)> = links.iter().map(|&(from, to)| (to, from)).collect();
        let back = Graph::from_links(hosts, &reversed).ok()?;
        let rank = walk(&onward, &[])?;
        let mut degrees = vec![[0.0; 3]; hosts as usize];
        for &(from, to) in &links {
            let is_returned = self.links.contains(&(to, from));
            degrees[from as usize][0] += f64::from(u8::from(is_returned));
            degrees[to as usize][1] += 1.0;
            degrees[from as usize][2] += 1.0;
        }
        Some(Walks { links: self, onward, back, rank, degrees })
    }
}

/// Scores of mean 1.
fn walk(graph: &Graph, from: &[f64]) -> Option<Vec<f64>> {
    let scores = pagerank_from(graph, from, ALPHA, STOP, &[]).ok()?.values;
    let hosts = scores.len() as f64;
    Some(scores.into_iter().map(|score| score * hosts).collect())
}

impl Walks<'_> {
    /// The walk from some hosts; 0 everywhere if none of them has links.
    fn from(&self, graph: &Graph, hosts: &[u64]) -> Vec<f64> {
        let mut jumps = vec![0.0; self.rank.len()];
        let known = hosts.iter().filter_map(|&host| self.links.number_of(host));
        known.for_each(|number| jumps[number] = 1.0);
        let is_any = jumps.iter().any(|&jump| jump > 0.0);
        is_any.then(|| walk(graph, &jumps)).flatten().unwrap_or_else(|| vec![0.0; self.rank.len()])
    }

    /// Features of all hosts, standardised over them: mean 0, variance 1, and 0 if all are alike.
    pub(super) fn features(&self, good: &[u64], spam: &[u64]) -> Vec<[f64; TIES]> {
        let (trust, distrust) = (self.from(&self.onward, good), self.from(&self.back, spam));
        let raw = |host: usize| {
            let [returned, inward, outward] = self.degrees[host];
            [
                ((trust[host] + NOTHING) / (self.rank[host] + NOTHING)).ln(),
                (distrust[host] + NOTHING).ln(),
                returned / outward.max(1.0),
                inward.ln_1p(),
                outward.ln_1p(),
            ]
        };
        standardised((0..self.rank.len()).map(raw).collect())
    }
}

fn standardised(mut rows: Vec<[f64; TIES]>) -> Vec<[f64; TIES]> {
    let count = rows.len() as f64;
    for column in 0..TIES {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / count;
        let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / count;
        let scale = if variance > 1e-12 { variance.sqrt().recip() } else { 0.0 };
        for row in &mut rows {
            row[column] = ((row[column] - mean) * scale).clamp(-FAR, FAR);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten good hosts in a ring with chords, ten of a farm that link to each other, and one good host
    /// with a link to the farm in its comments.
    fn links() -> Links {
        let mut links = Links::default();
        for host in 1..=10 {
            for step in [1, 3] {
                links.add(host, (host + step - 1) % 10 + 1);
                links.add(100 + host, 100 + (host + step - 1) % 10 + 1);
            }
        }
        links.add(1, 101);
        links
    }

    #[test]
    fn trust_and_distrust_stay_with_their_own() {
        let links = links();
        let walks = links.walks().unwrap();
        let features = walks.features(&[4], &[104]);
        let of = |host: u64| features[links.number_of(host).unwrap()];
        for host in 2..=10 {
            assert!(of(host)[0] > of(100 + host)[0], "{host}: {:?} {:?}", of(host), of(100 + host));
            assert!(of(host)[1] < of(100 + host)[1], "{host}: {:?} {:?}", of(host), of(100 + host));
        }
    }

    /// The walk is the fixed point of t = (1 − α)·v + α·Mᵀt, checked by the sum over the links in.
    #[test]
    fn trust_is_a_fixed_point() {
        let links = links();
        let walks = links.walks().unwrap();
        let trust = walks.from(&walks.onward, &[4]);
        let hosts = trust.len() as f64;
        let of = |host: u64| trust[links.number_of(host).unwrap()];
        let out = |host: u64| if host == 1 { 3.0 } else { 2.0 };
        for host in 1..=10u64 {
            let inward: f64 = [1, 3]
                .map(|step| (host + 10 - step - 1) % 10 + 1)
                .map(|from| of(from) / out(from))
                .iter()
                .sum();
            let jump = if host == 4 { hosts } else { 0.0 };
            let wanted = (1.0 - ALPHA) * jump + ALPHA * inward;
            assert!((of(host) - wanted).abs() < 0.02 * hosts, "{host}: {} {wanted}", of(host));
        }
    }

    #[test]
    fn odd_graphs_are_read() {
        assert!(Links::default().walks().is_none());
        let mut links = Links::default();
        links.add(1, 1);
        assert!(links.walks().is_none());
        links.add(1, 2);
        let features = links.walks().unwrap().features(&[], &[77]);
        assert!(features.iter().flatten().all(|x| x.is_finite()), "{features:?}");
    }
}
