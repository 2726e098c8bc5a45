//! The same links among hosts.

use rayon::prelude::*;

use crate::{Csr, GraphError};

/// Links among hosts with how many page links each stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostGraph {
    /// Which hosts each host links to; links within a host are left out.
    pub links: Csr,
    /// For every link of `links`, in its order, the number of page links.
    pub counts: Vec<u32>,
}

/// Joins the pages of each host. `host_of` gives the host of every page, below `hosts`.
pub fn by_host(pages: &Csr, host_of: &[u32], hosts: u32) -> Result<HostGraph, GraphError> {
    let (nodes, found) = (pages.len(), host_of.len());
    if found != nodes {
        return Err(GraphError::Length { what: "hosts", found, nodes });
    }
    if let Some(&to) = host_of.iter().find(|&&host| host >= hosts) {
        return Err(GraphError::NoSuchNode { from: to, to, nodes: hosts });
    }
    let mut members: Vec<u32> = (0..nodes as u32).collect();
    members.sort_by_key(|&page| host_of[page as usize]);
    let mut groups = vec![&[][..]; hosts as usize];
    for group in members.chunk_by(|&a, &b| host_of[a as usize] == host_of[b as usize]) {
        groups[host_of[group[0] as usize] as usize] = group;
    }
    let lists: Vec<Vec<(u32, u32)>> = groups
        .par_iter()
        .enumerate()
        .map(|(host, group)| counted(pages, host_of, group, host as u32))
        .collect();
    let mut builder = Csr::builder(hosts, lists.iter().map(Vec::len).sum());
    let mut counts = Vec::new();
    let mut targets = Vec::new();
    for list in lists {
        targets.clear();
        targets.extend(list.iter().map(|link| link.0));
        builder.push(&targets);
        counts.extend(list.iter().map(|link| link.1));
    }
    Ok(HostGraph { links: builder.finish(), counts })
}

/// The hosts that pages of one host link to, with counts.
fn counted(pages: &Csr, host_of: &[u32], group: &[u32], host: u32) -> Vec<(u32, u32)> {
    let targets = group.iter().flat_map(|&page| pages.of(page)).map(|&to| host_of[to as usize]);
    let mut targets: Vec<u32> = targets.filter(|&to| to != host).collect();
    targets.sort_unstable();
    targets.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_host_are_joined() {
        let pages = Csr::from_links(5, &[(0, 1), (0, 2), (1, 2), (1, 3), (4, 0), (2, 3)]).unwrap();
        let joined = by_host(&pages, &[0, 0, 2, 2, 1], 4).unwrap();
        assert_eq!(joined.links, Csr::from_links(4, &[(0, 2), (1, 0)]).unwrap());
        assert_eq!(joined.counts, [3, 1]);
        assert!(by_host(&pages, &[0; 4], 1).is_err());
        assert!(by_host(&pages, &[9; 5], 4).is_err());
    }
}
