//! Fox's greedy method: the next unit of every page in a heap; the most urgent one is granted.

use std::collections::BinaryHeap;

use super::{Crawls, Gain, Unit};
use crate::allocate::AllocateError;

pub(super) fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    free: u64,
) -> Result<Vec<u32>, AllocateError> {
    let mut crawls = problem.min.to_vec();
    let open = (0..crawls.len()).filter(|&page| crawls[page] < problem.max[page]);
    let first: Result<Vec<Unit>, _> = open.map(|page| problem.unit(page, crawls[page])).collect();
    // From a vector: linear, where pushing one by one would not be.
    let mut heap = BinaryHeap::from(first?);
    for _ in 0..free {
        let Some(mut top) = heap.peek_mut() else { break };
        let page = top.page;
        crawls[page] += 1;
        if crawls[page] < problem.max[page] {
            *top = problem.unit(page, crawls[page])?;
        } else {
            std::collections::binary_heap::PeekMut::pop(top);
        }
    }
    Ok(crawls)
}
