//! Lists of successors, one after another in one array.
//!
//! Four bytes a link and eight a node. A graph kept both ways, as walks need
//! it, costs eight bytes a link: a hundred million links of ten million pages
//! take 0.96 GB, and building it from a list of links (another 8 bytes each)
//! peaks at 1.3 GB. The compressed form ([`crate::bv`]) takes a fraction of
//! that and is for disks: every iteration would have to decode it again.

use rayon::prelude::*;

use crate::GraphError;

/// Links a piece of parallel work holds at least. Fixed, so that pieces, and
/// with them sums over pieces, do not depend on the number of threads.
const PIECE: u64 = 1 << 16;

/// The links of every node, ascending, without repetition and self-loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csr {
    /// Where each node's list begins; one more than there are nodes.
    starts: Vec<u64>,
    targets: Vec<u32>,
}

impl Csr {
    /// From links in any order. Self-loops are dropped, repetitions count once.
    pub fn from_links(nodes: u32, links: &[(u32, u32)]) -> Result<Self, GraphError> {
        let mut starts = vec![0_u64; nodes as usize + 1];
        for &(from, to) in links {
            if from.max(to) >= nodes {
                return Err(GraphError::NoSuchNode { from, to, nodes });
            }
            starts[from as usize + 1] += u64::from(from != to);
        }
        accumulate(&mut starts);
        let mut targets = vec![0; starts[nodes as usize] as usize];
        let mut next: Vec<u64> = starts[..nodes as usize].to_vec();
        for &(from, to) in links.iter().filter(|(from, to)| from != to) {
            let at = &mut next[from as usize];
            targets[*at as usize] = to;
            *at += 1;
        }
        let mut csr = Csr { starts, targets };
        csr.tidy();
        Ok(csr)
    }

    /// From lists that are given node by node.
    pub(crate) fn builder(nodes: u32, links: usize) -> Builder {
        let mut starts = Vec::with_capacity(nodes as usize + 1);
        starts.push(0);
        Builder { csr: Csr { starts, targets: Vec::with_capacity(links) } }
    }

    /// Sorts every list and drops what is there twice.
    fn tidy(&mut self) {
        let pieces = self.pieces();
        let mut rest = &mut self.targets[..];
        let mut work = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let length = self.starts[piece.end] - self.starts[piece.start];
            let (mine, others) = rest.split_at_mut(length as usize);
            work.push((&self.starts[piece.start..=piece.end], mine));
            rest = others;
        }
        work.into_par_iter().for_each(|(starts, targets)| {
            for ends in starts.windows(2) {
                let [from, to] = [ends[0] - starts[0], ends[1] - starts[0]].map(|i| i as usize);
                targets[from..to].sort_unstable();
            }
        });
        self.drop_repetitions();
    }

    fn drop_repetitions(&mut self) {
        let (mut kept, mut from) = (0_usize, 0_usize);
        for node in 0..self.len() {
            let to = self.starts[node + 1] as usize;
            let start = kept;
            for at in from..to {
                if kept == start || self.targets[kept - 1] != self.targets[at] {
                    self.targets[kept] = self.targets[at];
                    kept += 1;
                }
            }
            from = to;
            self.starts[node + 1] = kept as u64;
        }
        self.targets.truncate(kept);
    }

    /// The same links, turned round.
    pub fn transposed(&self) -> Self {
        let nodes = self.len();
        let mut starts = vec![0_u64; nodes + 1];
        self.targets.iter().for_each(|&to| starts[to as usize + 1] += 1);
        accumulate(&mut starts);
        let mut targets = vec![0; self.targets.len()];
        let mut next: Vec<u64> = starts[..nodes].to_vec();
        for node in 0..nodes as u32 {
            for &to in self.of(node) {
                let at = &mut next[to as usize];
                targets[*at as usize] = node;
                *at += 1;
            }
        }
        Csr { starts, targets }
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many links.
    pub fn links(&self) -> u64 {
        self.targets.len() as u64
    }

    /// The links of a node.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// How many links a node has.
    #[inline]
    pub fn degree(&self, node: u32) -> u64 {
        self.starts[node as usize + 1] - self.starts[node as usize]
    }

    /// The degrees of all nodes.
    pub fn degrees(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.starts.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        8 * self.starts.len() as u64 + 4 * self.targets.len() as u64
    }

    /// Where lists begin, and all lists: for inner loops.
    #[inline]
    pub(crate) fn raw(&self) -> (&[u64], &[u32]) {
        (&self.starts, &self.targets)
    }

    /// Ranges of nodes of about equal work, the same on any number of threads.
    pub(crate) fn pieces(&self) -> Vec<std::ops::Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        let mut work = 0;
        for (node, degree) in self.degrees().enumerate() {
            work += degree + 4;
            if work >= PIECE {
                pieces.push(start..node + 1);
                (start, work) = (node + 1, 0);
            }
        }
        if start < self.len() {
            pieces.push(start..self.len());
        }
        pieces
    }
}

/// Lists being appended.
pub(crate) struct Builder {
    csr: Csr,
}

impl Builder {
    /// The list of the next node: ascending, without repetition and self-loops.
    pub(crate) fn push(&mut self, links: &[u32]) {
        self.csr.targets.extend_from_slice(links);
        self.csr.starts.push(self.csr.targets.len() as u64);
    }

    pub(crate) fn links(&self) -> u64 {
        self.csr.links()
    }

    pub(crate) fn finish(self) -> Csr {
        self.csr
    }
}

fn accumulate(starts: &mut [u64]) {
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
}

/// Links both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Successors: where a node's links lead.
    pub out: Csr,
    /// Predecessors: which nodes link here.
    pub r#in: Csr,
}

impl Graph {
    /// From links in any order; see [`Csr::from_links`].
    pub fn from_links(nodes: u32, links: &[(u32, u32)]) -> Result<Self, GraphError> {
        Csr::from_links(nodes, links).map(Graph::from)
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }
}

impl From<Csr> for Graph {
    fn from(out: Csr) -> Self {
        let r#in = out.transposed();
        Graph { out, r#in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn odd_links_are_defined() {
        // A self-loop, a repetition, a node (3) that nothing names.
        let csr = Csr::from_links(5, &[(4, 0), (0, 2), (0, 0), (0, 1), (0, 2)]).unwrap();
        assert_eq!(csr.of(0), [1, 2]);
        assert_eq!((csr.of(3), csr.of(4)), (&[][..], &[0][..]));
        let wrong = Csr::from_links(2, &[(0, 2)]).unwrap_err().to_string();
        assert_eq!(wrong, "a link leads from node 0 to node 2, but there are only 2 nodes");
        assert_eq!(Csr::from_links(0, &[]).unwrap().len(), 0);
    }

    proptest! {
        #[test]
        fn it_holds_the_set_of_links_both_ways(
            links in prop::collection::vec((0..40_u32, 0..40_u32), 0..300),
        ) {
            let graph = Graph::from_links(40, &links).unwrap();
            let want: BTreeSet<_> = links.into_iter().filter(|(a, b)| a != b).collect();
            let listed = |csr: &Csr| -> Vec<(u32, u32)> {
                (0..40).flat_map(|a| csr.of(a).iter().map(move |&b| (a, b))).collect()
            };
            prop_assert!(listed(&graph.out).into_iter().eq(want.iter().copied()));
            let turned: BTreeSet<_> = want.iter().map(|&(a, b)| (b, a)).collect();
            prop_assert!(listed(&graph.r#in).into_iter().eq(turned));
            prop_assert_eq!(graph.r#in.transposed(), graph.out);
        }
    }
}
