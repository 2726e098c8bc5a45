//! Seeds that reach a whole graph.

/// A set of nodes that reaches every node: first all nodes without inlinks, then, in numerical order,
/// every node that no earlier one reaches. Links are sorted by source.
///
/// Every such set needs all nodes of the first kind, and one node of each cycle without inlinks; the
/// lowest-numbered is taken.
pub(super) fn seeds(nodes: usize, links: &[(u32, u32)]) -> Vec<u32> {
    let mut starts = vec![0_usize; nodes + 1];
    let mut has_link = vec![false; nodes];
    for &(source, target) in links {
        starts[source as usize + 1] += 1;
        has_link[target as usize] |= source != target;
    }
    (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
    let (mut reached, mut seeds, mut open) = (vec![false; nodes], Vec::new(), Vec::new());
    let all = 0..nodes as u32;
    let orphans = all.clone().filter(|&node| !has_link[node as usize]);
    for node in orphans.chain(all) {
        if reached[node as usize] {
            continue;
        }
        seeds.push(node);
        reached[node as usize] = true;
        open.push(node);
        while let Some(node) = open.pop() {
            let out = &links[starts[node as usize]..starts[node as usize + 1]];
            for &(_, target) in out {
                if !std::mem::replace(&mut reached[target as usize], true) {
                    open.push(target);
                }
            }
        }
    }
    seeds.sort_unstable();
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nodes_without_inlinks_come_first_and_each_cycle_gives_one() {
        // 4 → 0 → 1 → 0; 2 ⇄ 3; 5 links to itself alone.
        let links = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 0), (5, 5)];
        assert_eq!(seeds(6, &links), [2, 4, 5]);
        assert!(seeds(0, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn every_node_is_reached(links in prop::collection::btree_set((0..8_u32, 0..8_u32), 0..24)) {
            let links: Vec<(u32, u32)> = links.into_iter().collect();
            let mut reached: Vec<u32> = seeds(8, &links);
            for _ in 0..8 {
                let next = links.iter().filter(|l| reached.contains(&l.0)).map(|l| l.1);
                let next: Vec<u32> = next.collect();
                reached.extend(next);
                reached.sort_unstable();
                reached.dedup();
            }
            prop_assert_eq!(reached.len(), 8);
        }
    }
}
