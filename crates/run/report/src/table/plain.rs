//! Tables for a terminal: aligned columns, cut or stacked when the terminal is narrow.

use super::{Align, Table};
use crate::text::{clean, columns, cut_to_columns};

/// Spaces between columns.
const GAP: usize = 2;

/// Least width of a text column.
const LEAST_WIDTH: usize = 12;

/// One column, laid out: header line, unit line, cells.
struct Laid {
    align: Align,
    lines: Vec<String>,
    width: usize,
}

impl Laid {
    /// Least width: text may be cut, numbers may not.
    fn least_width(&self) -> usize {
        match self.align {
            Align::Left => self.width.min(LEAST_WIDTH),
            Align::Right => self.width,
        }
    }

    /// Cuts a column of text.
    fn cut(&mut self, width: usize) {
        if self.align == Align::Left && self.width > width {
            self.width = width.max(LEAST_WIDTH).min(self.width);
            for line in &mut self.lines {
                *line = cut_to_columns(line, self.width);
            }
        }
    }
}

/// Width of columns side by side.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

impl Table {
    /// The table as lines of at most `width` terminal columns where possible: long texts are cut, and
    /// columns that still do not fit follow in another block that repeats the first column. `*` marks
    /// the best cells of a column.
    pub fn to_text(&self, width: usize) -> String {
        let mut out = String::new();
        if let Some(caption) = &self.caption {
            out.push_str(&clean(caption));
            out.push_str("\n\n");
        }
        let heads = 1 + usize::from(self.has_units());
        let mut laid = self.lay_out();
        // Cut only if that makes the whole table fit; otherwise use blocks.
        let fits = total(laid.iter().map(Laid::least_width)) <= width;
        let first = laid.first().map_or(0, Laid::least_width);
        let room = width.saturating_sub(first + GAP);
        if fits {
            shrink(&mut laid, width);
        } else {
            laid.iter_mut().enumerate().for_each(|(i, c)| c.cut(if i == 0 { first } else { room }));
        }
        for (i, block) in blocks(&laid, width).iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            push_block(&mut out, block, heads);
        }
        out
    }

    fn has_units(&self) -> bool {
        self.columns.iter().any(|column| column.unit.is_some())
    }

    fn lay_out(&self) -> Vec<Laid> {
        let rows = self.shown_rows();
        let has_units = self.has_units();
        let column = |i: usize| {
            let starred = rows.iter().any(|row| row[i].1);
            let head = &self.columns[i];
            let mut lines = vec![clean(&head.header)];
            if has_units {
                lines.push(head.unit.as_ref().map_or(String::new(), |u| format!("({})", clean(u))));
            }
            // A space instead of the star keeps digits aligned.
            let end = |strong| match (starred, strong) {
                (true, true) => "*",
                (true, false) if head.align == Align::Right => " ",
                _ => "",
            };
            let cells = rows.iter().map(|row| row[i].0.replace('−', "-") + end(row[i].1));
            lines.extend(cells);
            let width = lines.iter().map(|line| columns(line)).max().unwrap_or(0);
            Laid { align: head.align, lines, width }
        };
        (0..self.columns.len()).map(column).collect()
    }
}

/// Cuts the widest text columns until the table fits or none can give more.
fn shrink(laid: &mut [Laid], width: usize) {
    loop {
        let excess = total(laid.iter().map(|column| column.width)).saturating_sub(width);
        let widest = laid
            .iter_mut()
            .filter(|column| column.align == Align::Left && column.width > LEAST_WIDTH)
            .max_by_key(|column| column.width);
        let Some(column) = widest.filter(|_| excess > 0) else { return };
        column.cut(column.width.saturating_sub(excess).max(LEAST_WIDTH));
    }
}

/// Splits the columns into blocks that fit; every block starts with the first column.
fn blocks(laid: &[Laid], width: usize) -> Vec<Vec<&Laid>> {
    let Some((first, rest)) = laid.split_first() else { return Vec::new() };
    let mut blocks = vec![vec![first]];
    let mut used = first.width;
    for column in rest {
        let last = blocks.len() - 1;
        if used + GAP + column.width > width && blocks[last].len() > 1 {
            blocks.push(vec![first, column]);
            used = first.width + GAP + column.width;
        } else {
            blocks[last].push(column);
            used += GAP + column.width;
        }
    }
    blocks
}

fn push_block(out: &mut String, block: &[&Laid], heads: usize) {
    let lines = block.first().map_or(0, |column| column.lines.len());
    for i in 0..lines {
        if i == heads {
            push_line(out, block.iter().map(|column| "─".repeat(column.width)));
        }
        let is_blank_head = i < heads && block.iter().all(|column| column.lines[i].is_empty());
        if !is_blank_head {
            push_line(out, block.iter().map(|column| pad(&column.lines[i], column)));
        }
    }
    if lines == heads {
        push_line(out, block.iter().map(|column| "─".repeat(column.width)));
    }
}

fn pad(text: &str, column: &Laid) -> String {
    let blanks = " ".repeat(column.width.saturating_sub(columns(text)));
    match column.align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}

fn push_line(out: &mut String, cells: impl Iterator<Item = String>) {
    let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
    out.push_str(line.trim_end());
    out.push('\n');
}
