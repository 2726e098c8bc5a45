//! What a page shows and links to, by the bare scan.
//!
//! Reads one file name per line and writes one line of JSON for each: all text of the page, the text
//! that it shows (outside templates, drawings, controls and anything `hidden`), and the references of
//! its anchors. `scripts/html_oracle.py` compares them with html5lib's.
//!
//! `ls *.html | cargo run -p tidewatch-parse --example outline`

use std::io::{self, BufRead as _, Write as _};

use tidewatch_parse::charset::decode;
use tidewatch_parse::html::{Name, Tag, Visitor, names, scan};

#[derive(Default)]
struct Outline {
    all: String,
    shown: String,
    links: Vec<String>,
    depth: usize,
    /// Depth of the outermost open element that shows no text.
    silent: Option<usize>,
}

/// Elements whose text is not shown; the scan itself reports none for scripts, styles and frames.
const SILENT: [Name; 8] = [
    names::TEMPLATE,
    names::NOSCRIPT,
    names::SVG,
    names::CANVAS,
    names::OBJECT,
    names::SELECT,
    names::BUTTON,
    names::TEXTAREA,
];

impl Visitor for Outline {
    fn open(&mut self, tag: &Tag<'_>) {
        if matches!(tag.name, names::A | names::AREA) {
            self.links.extend(tag.value("href").map(|href| href.trim().to_owned()));
        }
        if !tag.is_leaf {
            self.depth += 1;
            let is_silent = SILENT.contains(&tag.name) || tag.attribute("hidden").is_some();
            if is_silent && self.silent.is_none() {
                self.silent = Some(self.depth);
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.all.push_str(text);
        if self.silent.is_none() {
            self.shown.push_str(text);
        }
    }

    fn close(&mut self, _: Name) {
        if self.silent == Some(self.depth) {
            self.silent = None;
        }
        self.depth -= 1;
    }
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for file in io::stdin().lock().lines() {
        let bytes = std::fs::read(file?)?;
        let mut outline = Outline::default();
        scan(&decode(&bytes, Some("utf-8")).text, &mut outline);
        let Outline { all, shown, links, .. } = outline;
        let line = serde_json::json!({ "all": all, "shown": shown, "links": links });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
