//! Reads the tables beside the links: impacts, the frontier, queries, URLs.

use std::path::Path;

use anyhow::Result;
use tidewatch_core::Asked;
use tidewatch_policy::frontier::Needs;

use super::links::Web;
use crate::table_in::{Rule, Table};

const IMPACT: Rule =
    Rule { fits: |x| (0.0..=1e15).contains(&x), expected: "a number from 0 to 1e15" };
const NEED: Rule = Rule { fits: |x| (0.0..=1.0).contains(&x), expected: "a number from 0 to 1" };

/// Impact of each node; rows of the same node add up.
pub(super) fn impact(path: &Path, web: &Web) -> Result<Vec<f64>> {
    let mut table = Table::open(path)?;
    let (node, impact) = (table.column("node")?, table.column("impact")?);
    let mut values = vec![0.0; web.nodes() as usize];
    let mut unknown = 0_u64;
    while table.advance()? {
        let value = table.number(impact, &IMPACT)?;
        match web.find(table.name(node)?) {
            Some(node) => values[node as usize] += value,
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        eprintln!("ignored the impacts of {unknown} nodes that no link names");
    }
    Ok(values)
}

/// The nodes of the frontier. A name that no link has becomes a node without links; in a graph whose
/// nodes are numbers it is ignored.
pub(super) fn frontier(path: &Path, web: &mut Web) -> Result<Vec<u32>> {
    let mut table = Table::open(path)?;
    let node = table.column("node")?;
    let mut nodes = Vec::new();
    let mut unknown = 0_u64;
    while table.advance()? {
        match web.admit(table.name(node)?) {
            Some(node) => nodes.push(node),
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        eprintln!("ignored {unknown} frontier nodes that are not in the graph");
    }
    Ok(nodes)
}

pub(super) fn queries(path: &Path) -> Result<Needs> {
    let mut table = Table::open(path)?;
    let (words, count) = (table.column("words")?, table.column("count")?);
    let need = table.optional("need");
    let mut rows: Vec<(String, f64, f64)> = Vec::new();
    while table.advance()? {
        let need = need.map(|need| table.number(need, &NEED)).transpose()?.unwrap_or(1.0);
        rows.push((table.name(words)?.to_owned(), table.number(count, &IMPACT)?, need));
    }
    let asked = rows.iter().map(|(words, count, need)| Asked { words, count: *count, need: *need });
    Ok(Needs::new(asked))
}

/// Overlap of each node with the queries; of rows of the same node the largest.
pub(super) fn overlap(path: &Path, needs: &Needs, web: &Web, nodes: usize) -> Result<Vec<f64>> {
    let mut table = Table::open(path)?;
    let (node, url) = (table.column("node")?, table.column("url")?);
    let anchor = table.optional("anchor");
    let mut values = vec![0.0_f64; nodes];
    let mut unknown = 0_u64;
    while table.advance()? {
        let anchor = anchor.map(|anchor| table.text(anchor)).transpose()?.unwrap_or_default();
        let found = needs.overlap_of(table.text(url)?, anchor);
        match web.find(table.name(node)?) {
            Some(node) => values[node as usize] = values[node as usize].max(found),
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        eprintln!("ignored the URLs of {unknown} nodes that no link names");
    }
    Ok(values)
}
