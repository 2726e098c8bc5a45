//! One step over all lists, in pieces.
//!
//! Web graphs repeat themselves: pages made from one template are linked from the
//! same pages, and in a crawl half of all lists are copies of an earlier one. A sum
//! over a list is computed once for all its copies. That is exact, and it saves most
//! of the short lists, whose cost is not the additions but the mispredicted branch at
//! the end of each.

use std::ops::Range;

use rayon::prelude::*;
use tidewatch_math::Sum;

use crate::Csr;

/// Nodes and links a piece of work holds at least. Fixed, so that pieces, and with
/// them sums over pieces, do not depend on the number of threads.
const NODES: usize = 1 << 14;
const LINKS: u64 = 1 << 16;
/// The class of empty lists.
const EMPTY: u32 = 0;
/// Slots of the cache of recent lists. A later list evicts an earlier one, whose copies are
/// then no longer found. Copies are near one another, so few are missed.
const LATELY: usize = 1 << 16;

/// Lists with their duplicates found.
pub(super) struct Rows<'a> {
    csr: &'a Csr,
    /// For every distinct list but the empty one, the first node that has it.
    leaders: Vec<u32>,
    /// The class of each node's list: 0 if empty, or one more than its index among leaders.
    class: Vec<u32>,
    pieces: Vec<Range<usize>>,
    /// Sums by class.
    sums: Vec<f64>,
}

/// Sums over all nodes that a step yields as well.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    /// By how much scores moved.
    pub(super) moved: f64,
    /// The scores of nodes that pass nothing on.
    pub(super) loose: f64,
    /// All scores.
    pub(super) total: f64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(csr: &'a Csr) -> Self {
        let mut lately = vec![EMPTY; LATELY];
        let (mut leaders, mut class) = (Vec::new(), Vec::with_capacity(csr.len()));
        for node in 0..csr.len() as u32 {
            let list = csr.of(node);
            let Some(&first) = list.first() else {
                class.push(EMPTY);
                continue;
            };
            let known = &mut lately[look(list, first)];
            let is_copy = *known != EMPTY && csr.of(leaders[*known as usize - 1]) == list;
            if !is_copy {
                leaders.push(node);
                *known = leaders.len() as u32;
            }
            class.push(*known);
        }
        let pieces = pieces(csr, &leaders);
        let sums = vec![0.0; leaders.len() + 1];
        Rows { csr, leaders, class, pieces, sums }
    }

    /// For every node j, lets `settle(j, Σ of y over j's list, x(j), next(j), tally)` decide.
    pub(super) fn pull(
        &mut self,
        y: &[f64],
        x: &mut [f64],
        next: &mut [f64],
        settle: impl Fn(usize, f64, &mut f64, &mut f64, &mut Tally) + Sync,
    ) -> Tally {
        self.add_up(y);
        let (class, sums) = (&self.class, &self.sums);
        let work = x.par_chunks_mut(NODES).zip(next.par_chunks_mut(NODES)).enumerate();
        let tallies: Vec<Tally> = work
            .map(|(piece, (x, next))| {
                let mut tally = Tally::default();
                let from = piece * NODES;
                let each = class[from..].iter().zip(x.iter_mut().zip(next)).enumerate();
                for (i, (&class, (x, next))) in each {
                    settle(from + i, sums[class as usize], x, next, &mut tally);
                }
                tally
            })
            .collect();
        let sum = |of: fn(&Tally) -> f64| tallies.iter().map(of).collect::<Sum>().value();
        Tally { moved: sum(|t| t.moved), loose: sum(|t| t.loose), total: sum(|t| t.total) }
    }

    fn add_up(&mut self, y: &[f64]) {
        let mut rest = &mut self.sums[1..];
        let mut work = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let (mine, others) = rest.split_at_mut(piece.len());
            work.push((&self.leaders[piece.clone()], mine));
            rest = others;
        }
        let (starts, targets) = self.csr.raw();
        work.into_par_iter().for_each(|(leaders, sums)| {
            for (&node, sum) in leaders.iter().zip(sums) {
                let node = node as usize;
                *sum = total(&targets[starts[node] as usize..starts[node + 1] as usize], y);
            }
        });
    }
}

/// A place by the looks of a list: its length, first, middle and last link.
fn look(list: &[u32], first: u32) -> usize {
    let (length, last) = (list.len(), list[list.len() - 1]);
    let parts = [length as u32, first, list[length / 2], last];
    let mixed = parts.iter().fold(0_u64, |hash, &part| {
        (hash.rotate_left(23) ^ u64::from(part)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> 40) as usize % LATELY
}

/// Ranges of leaders of about equal work.
fn pieces(csr: &Csr, leaders: &[u32]) -> Vec<Range<usize>> {
    let (mut pieces, mut start, mut work) = (Vec::new(), 0, 0);
    for (i, &node) in leaders.iter().enumerate() {
        work += csr.degree(node) + 4;
        if work >= LINKS {
            pieces.push(start..i + 1);
            (start, work) = (i + 1, 0);
        }
    }
    if start < leaders.len() {
        pieces.push(start..leaders.len());
    }
    pieces
}

/// Σ y over a list. Four sums at once, so that additions need not wait for one another.
#[inline]
fn total(list: &[u32], y: &[f64]) -> f64 {
    let (fours, rest) = list.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, &i) in sums.iter_mut().zip(four) {
            *sum += y[i as usize];
        }
    }
    let rest: f64 = rest.iter().map(|&i| y[i as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
