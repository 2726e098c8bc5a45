//! One step over all lists, in pieces.

use std::ops::Range;

use rayon::prelude::*;
use tidewatch_math::Sum;

use crate::Csr;

/// Lists with the pieces in which they are worked on.
pub(super) struct Rows<'a> {
    csr: &'a Csr,
    pieces: Vec<Range<usize>>,
}

/// Sums over all nodes that a step makes on the way.
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
        Rows { csr, pieces: csr.pieces() }
    }

    /// For every node j, lets `settle(j, Σ of y over j's list, x(j), next(j), tally)` decide.
    pub(super) fn pull(
        &self,
        y: &[f64],
        x: &mut [f64],
        next: &mut [f64],
        settle: impl Fn(usize, f64, &mut f64, &mut f64, &mut Tally) + Sync,
    ) -> Tally {
        let (starts, targets) = self.csr.raw();
        let work = split(&self.pieces, x, next);
        let tallies: Vec<Tally> = work
            .into_par_iter()
            .map(|(nodes, x, next)| {
                let mut tally = Tally::default();
                let mut from = starts[nodes.start] as usize;
                let ends = &starts[nodes.start + 1..=nodes.end];
                let each = nodes.zip(ends).zip(x.iter_mut().zip(next));
                for ((node, &end), (x, next)) in each {
                    let end = end as usize;
                    settle(node, total(&targets[from..end], y), x, next, &mut tally);
                    from = end;
                }
                tally
            })
            .collect();
        let sum = |of: fn(&Tally) -> f64| tallies.iter().map(of).collect::<Sum>().value();
        Tally { moved: sum(|t| t.moved), loose: sum(|t| t.loose), total: sum(|t| t.total) }
    }
}

type Piece<'x> = (Range<usize>, &'x mut [f64], &'x mut [f64]);

fn split<'x>(
    pieces: &[Range<usize>],
    mut x: &'x mut [f64],
    mut next: &'x mut [f64],
) -> Vec<Piece<'x>> {
    let mut work = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (mine, others) = x.split_at_mut(piece.len());
        let (my_next, next_others) = next.split_at_mut(piece.len());
        work.push((piece.clone(), mine, my_next));
        (x, next) = (others, next_others);
    }
    work
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
