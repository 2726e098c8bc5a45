//! The HTML page around the blocks of a report.
//!
//! A page holds every drawing twice, for wide and for narrow screens, and the style sheet shows one
//! of them: a drawing scaled down to a phone would be unreadable.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::palette::{DARK, LIGHT};
use crate::report::{Block, Report, Section};
use crate::text::clean;
use crate::{Graphic, Size};

/// Reports with at least this many sections get a table of contents.
const CONTENTS_FROM: usize = 4;

/// Forbids scripts and all external resources, in case markup ever slips through.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";

/// The style sheet that tables, tiles and drawings of this crate expect, with both themes.
pub fn stylesheet() -> String {
    format!(
        ":root{{color-scheme:light dark;{light}}}\
         @media (prefers-color-scheme:dark){{:root{{{dark}}}}}\
         @media print{{:root{{color-scheme:light;{light}}}}}\n{rules}",
        light = LIGHT.variables(),
        dark = DARK.variables(),
        rules = crate::chart::stylesheet() + include_str!("style.css"),
    )
}

pub(crate) fn page(report: &Report) -> Markup {
    let title = clean(&report.title);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(stylesheet())) }
            }
            body {
                main {
                    header {
                        h1 { (title) }
                        @if let Some(lead) = &report.lead { p.lead { (clean(lead)) } }
                        (facts(&report.facts))
                    }
                    @if report.sections.len() >= CONTENTS_FROM { (contents(&report.sections)) }
                    @for (i, part) in report.sections.iter().enumerate() { (section(i, part)) }
                }
            }
        }
    }
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl.facts {
                @for (name, value) in facts {
                    div { dt { (clean(name)) } dd { (clean(value)) } }
                }
            }
        }
    }
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ol {
                @for (i, section) in sections.iter().enumerate() {
                    li { a href=(format!("#section-{}", i + 1)) { (clean(&section.title)) } }
                }
            }
        }
    }
}

fn section(index: usize, section: &Section) -> Markup {
    html! {
        section id=(format!("section-{}", index + 1)) {
            h2 { (clean(&section.title)) }
            @for part in &section.blocks { (block(part)) }
        }
    }
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Paragraph(text) => p { (clean(text)) },
            Block::Note(text) => p.note { (clean(text)) },
            Block::Table(table) => (table.to_markup()),
            Block::Graphic(graphic) => (graphic.to_markup()),
        }
    }
}

impl Graphic {
    /// The drawing as a figure: title, wide and narrow form, notes, and its data as a table that
    /// opens on demand. Needs [`stylesheet`] to look right.
    pub fn to_markup(&self) -> Markup {
        let notes = self.notes();
        html! {
            figure {
                figcaption {
                    strong { (clean(self.title())) }
                    @if let Some(caption) = self.caption() { " " span { (clean(caption)) } }
                }
                div.wide { (PreEscaped(self.to_svg(Size::WIDE))) }
                div.narrow { (PreEscaped(self.to_svg(Size::NARROW))) }
                @for note in &notes { p.note { (clean(note)) } }
                details {
                    summary { "Data" }
                    (self.data_table().to_markup())
                }
            }
        }
    }
}
