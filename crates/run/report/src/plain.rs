//! Reports as text for a terminal, without drawings.

use crate::report::{Block, Report, Section};
use crate::text::clean;

impl Report {
    /// The report as text of at most `width` columns where possible, without charts.
    pub fn to_text(&self, width: usize) -> String {
        let mut out = format!("{}\n", clean(&self.title));
        if let Some(lead) = &self.lead {
            push_wrapped(&mut out, lead, width);
        }
        for (name, value) in &self.facts {
            push_wrapped(&mut out, &format!("{name}: {value}"), width);
        }
        self.sections.iter().for_each(|section| push_section(&mut out, section, width));
        out
    }
}

fn push_section(out: &mut String, section: &Section, width: usize) {
    let shown = section.blocks.iter().filter(|b| !matches!(b, Block::Graphic(_)));
    let blocks: Vec<&Block> = shown.collect();
    if blocks.is_empty() {
        return;
    }
    out.extend(["\n", &clean(&section.title), "\n"]);
    for block in blocks {
        match block {
            Block::Paragraph(text) | Block::Note(text) => push_wrapped(out, text, width),
            Block::Table(table) => out.extend(["\n", &table.to_text(width)]),
            Block::Graphic(_) => {}
        }
    }
}

fn push_wrapped(out: &mut String, text: &str, width: usize) {
    let mut used = 0;
    for word in clean(text).split_whitespace() {
        let len = word.chars().count();
        if used > 0 && used + 1 + len > width {
            out.push('\n');
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += len;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Cell, Chart, Column, Report, Series, Table};

    #[test]
    fn words_and_tables_without_drawings() {
        let table = Table::new([Column::text("policy"), Column::number("freshness")])
            .row([Cell::text("uniform"), Cell::number(0.5, 2)]);
        let chart = Chart::new("drawn", Axis::new("x"), Axis::new("y"))
            .series(Series::line("s", [(0.0, 1.0)]));
        let text = Report::new("Title")
            .lead("one two three four")
            .section("Results", |s| {
                s.table(table).note("a note");
            })
            .section("Only a drawing", |s| {
                s.chart(chart);
            })
            .to_text(10);
        let start = "Title\none two\nthree four\n\nResults\n\npolicy";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("uniform") && text.ends_with("a note\n"), "{text}");
        assert!(!text.contains("drawn") && !text.contains("Only a drawing"), "{text}");
    }
}
