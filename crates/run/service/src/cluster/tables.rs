//! A cluster as its operator sees it: on the dashboard, and as `tidewatch cluster status` prints it.

use tidewatch_node::{ClusterFigures, NodeFigures};
use tidewatch_report::{Cell, Column, Table};

/// A cluster in a sentence.
pub fn summary(figures: &ClusterFigures) -> String {
    let unowned = match figures.unowned() {
        0 => String::new(),
        count => format!(", of which no node has {count} open"),
    };
    let record = &figures.record;
    let (partitions, budget) = (record.partitions, record.budget_per_s);
    format!("{partitions} partitions{unowned}; budget {budget}/s")
}

/// The nodes that answered.
pub fn nodes_table(nodes: &[NodeFigures]) -> Table {
    let columns = [
        Column::text("Node"),
        Column::text("Runs on"),
        Column::number("Partitions"),
        Column::number("Fetches/s"),
        Column::number("Granted/s"),
        Column::number("Price"),
        Column::text(""),
    ];
    let mut table = Table::new(columns);
    for node in nodes {
        let rate: f64 = node.partitions.iter().map(|part| part.fetches_per_s).sum();
        let says = [
            (node.is_leaving, "leaving"),
            (!node.is_active, "paused"),
            (node.keeps_price, "keeps the price"),
        ];
        let says: Vec<&str> = says.into_iter().filter(|said| said.0).map(|said| said.1).collect();
        table.push([
            Cell::text(&node.home),
            Cell::text(&node.place),
            Cell::count(node.partitions.len() as u64),
            Cell::significant(rate, 3),
            Cell::significant(node.granted_per_s, 3),
            Cell::significant(node.price, 3),
            Cell::text(says.join(", ")),
        ]);
    }
    table
}

/// Their partitions.
pub fn partitions_table(nodes: &[NodeFigures]) -> Table {
    let columns = [
        Column::number("Partition"),
        Column::text("Owner"),
        Column::number("Epoch"),
        Column::number("Pages"),
        Column::number("Stored"),
        Column::number("Fetches/s"),
        Column::number("Parcels to send"),
    ];
    let mut table = Table::new(columns);
    let mut rows: Vec<_> = nodes
        .iter()
        .flat_map(|node| node.partitions.iter().map(move |part| (part, node)))
        .collect();
    rows.sort_by_key(|(part, _)| part.number);
    for (part, node) in rows {
        let (pages, held) = part
            .status
            .as_ref()
            .map_or((0, 0), |status| (u64::from(status.pages), status.tally.held));
        table.push([
            Cell::count(part.number.into()),
            Cell::text(&node.home),
            Cell::count(part.epoch),
            Cell::count(pages),
            Cell::count(held),
            Cell::significant(part.fetches_per_s, 3),
            Cell::count(part.parcels as u64),
        ]);
    }
    table
}
