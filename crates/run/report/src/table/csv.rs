//! Tables for other programs (RFC 4180): full precision, no grouping, empty for missing.

use super::{Cell, Content, Table};
use crate::number;

impl Table {
    /// The table as CSV with a header row. A column that holds `±` cells is followed by a column
    /// with the half-widths. Texts are written as they are; quoting keeps them apart, but a
    /// spreadsheet may read a text that starts with `=` as a formula.
    pub fn to_csv(&self) -> String {
        let uncertain: Vec<bool> = (0..self.columns.len()).map(|i| self.is_uncertain(i)).collect();
        let mut out = String::new();
        let header = self.columns.iter().zip(&uncertain).flat_map(|(column, &uncertain)| {
            let name = column.full_header();
            let half_width = uncertain.then(|| format!("{name} half-width"));
            [Some(name), half_width].into_iter().flatten()
        });
        push_record(&mut out, header);
        for row in &self.rows {
            let fields = uncertain
                .iter()
                .enumerate()
                .flat_map(|(i, &uncertain)| fields(row.get(i), uncertain));
            push_record(&mut out, fields);
        }
        out
    }

    fn is_uncertain(&self, column: usize) -> bool {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .any(|cell| matches!(cell.content, Content::PlusMinus { .. }))
    }
}

fn fields(cell: Option<&Cell>, uncertain: bool) -> impl Iterator<Item = String> {
    let (value, half_width) = match cell.map(|cell| &cell.content) {
        None | Some(Content::Missing) => (String::new(), String::new()),
        Some(Content::Text(text)) => (text.clone(), String::new()),
        Some(Content::PlusMinus { value, half_width, .. }) => {
            (number::exact(*value), number::exact(half_width.abs()))
        }
        Some(
            Content::Number { value, .. }
            | Content::Significant { value, .. }
            | Content::Ratio(value),
        ) => (number::exact(*value), String::new()),
    };
    [Some(value), uncertain.then_some(half_width)].into_iter().flatten()
}

fn push_record(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push('\n');
}
