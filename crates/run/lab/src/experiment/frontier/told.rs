//! How well links predict impact on the frontier: predecessors with impact, which RW sees, and
//! virtual links (pages that share a predecessor), which RW-EG sees besides. RW-EG can beat RW only
//! as far as virtual links separate pages with equal predecessors; that is counted here.

use tidewatch_math::sum::Estimate;
use tidewatch_report::{Cell, Column, Table};

use super::setting::{Kind, Setting};
use crate::experiment::cell;

/// A group of frontier pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// As a share of the frontier.
    pub(super) pages: f64,
    /// Their impact, as a share of all.
    pub(super) impact: f64,
    /// Share of them that have any.
    pub(super) any: f64,
    /// Mean impact.
    pub(super) mean: f64,
}

/// Rows: without and with a predecessor that has impact. Columns: lower and upper half by the score
/// of virtual links.
pub(super) type Halves = [[Told; 2]; 2];

pub(super) fn count(setting: &Setting, kind: Kind, by_virtual: &[f64]) -> Halves {
    let (impact, known) = (setting.impact(kind), setting.known_impact(kind));
    let frontier = || (0..setting.graph.len() as u32).filter(|&n| setting.is_frontier[n as usize]);
    let (pages, total) =
        (frontier().count(), frontier().map(|node| impact[node as usize]).sum::<f64>());
    [false, true].map(|pointed_at| {
        let mut nodes: Vec<u32> =
            frontier().filter(|&node| setting.is_pointed_at(node, &known) == pointed_at).collect();
        nodes.sort_by(|&a, &b| by_virtual[a as usize].total_cmp(&by_virtual[b as usize]));
        let upper = nodes.split_off(nodes.len() / 2);
        [nodes, upper].map(|half| {
            let sum: f64 = half.iter().map(|&node| impact[node as usize]).sum();
            let any = half.iter().filter(|&&node| impact[node as usize] > 0.0).count();
            let size = half.len().max(1) as f64;
            Told {
                pages: half.len() as f64 / pages.max(1) as f64,
                impact: if total > 0.0 { sum / total } else { 0.0 },
                any: any as f64 / size,
                mean: sum / size,
            }
        })
    })
}

/// The table, from the mean over seeds of what `of` picks.
pub(super) fn table(of: impl Fn(&dyn Fn(&Halves) -> f64) -> Estimate) -> Table {
    let mut table = Table::new([
        Column::text("predecessors"),
        Column::text("virtual links"),
        Column::number("pages").unit("% of the frontier"),
        Column::number("impact").unit("% of all"),
        Column::number("clicked at all").unit("%"),
        Column::number("mean").unit("clicks"),
    ])
    .caption(
        "Frontier pages by what links tell of them. RW sees predecessors; RW-EG also sees virtual \
         links, by whose score each row is halved.",
    );
    for (row, predecessors) in ["none clicked", "one clicked or more"].iter().enumerate() {
        for (column, half) in ["lower half", "upper half"].iter().enumerate() {
            let figure = |pick: fn(&Told) -> f64| of(&|halves| pick(&halves[row][column]));
            let percent = |e: Estimate| Cell::plus_minus(100.0 * e.mean, 100.0 * e.half_width, 1);
            table.push([
                Cell::text(*predecessors),
                Cell::text(*half),
                percent(figure(|told| told.pages)),
                percent(figure(|told| told.impact)),
                percent(figure(|told| told.any)),
                cell(&figure(|told| told.mean), 2),
            ]);
        }
    }
    table
}
