//! How much does it cost to know what a page says, beside walking it at all?
//!
//! Measures, on every `.html` file of a folder: decoding; a bare scan that counts tags and text; the
//! scan that makes identity and sketch; and, as a peer, `lol_html` counting the same. Prints megabytes
//! a second and the ratios. Best of several rounds, since other work on the machine only slows.
//!
//! `cargo run --release --manifest-path crates/pure/parse/benches/speed/Cargo.toml -- FOLDER`

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use lol_html::{HtmlRewriter, Settings, element, text};
use tidewatch_parse::charset::decode;
use tidewatch_parse::fragments::{Shingling, fragments};
use tidewatch_parse::html::{Tag, Visitor, scan};

const ROUNDS: usize = 7;

/// Touches everything a visitor is told, and does nothing with it.
#[derive(Default)]
struct Count {
    tags: usize,
    text: usize,
}

impl Visitor for Count {
    fn open(&mut self, tag: &Tag<'_>) {
        self.tags += 1 + tag.attributes().len();
    }

    fn text(&mut self, text: &str) {
        self.text += text.len();
    }
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let pages = read(Path::new(&folder))?;
    let bytes: usize = pages.iter().map(Vec::len).sum();
    let decoded: Vec<_> = pages.iter().map(|page| decode(page, None).text).collect();
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    let reading = best(|| pages.iter().map(|page| decode(page, None).text.len()).sum());
    let bare = best(|| {
        let mut count = Count::default();
        decoded.iter().for_each(|page| scan(page, &mut count));
        count.tags + count.text
    });
    let full = best(|| decoded.iter().map(|p| fragments(p, Shingling::default()).words).sum());
    let peer = best(|| decoded.iter().map(|page| count_with_lol_html(page)).sum());
    let rows = [
        ("decode", reading),
        ("bare scan", bare),
        ("fragments", full),
        ("decode + bare scan", reading + bare),
        ("decode + fragments", reading + full),
        ("lol_html, counting", peer),
    ];
    for (name, seconds) in rows {
        println!("{name:20} {:7.0} MB/s", bytes as f64 / 1e6 / seconds);
    }
    println!("fragments / bare scan              {:.2}", full / bare);
    println!("the same with decoding, from bytes {:.2}", (reading + full) / (reading + bare));
    println!("fragments / lol_html counting      {:.2}", full / peer);
    Ok(())
}

/// What [`Count`] counts, by a streaming parser in wide use.
fn count_with_lol_html(page: &str) -> usize {
    let count = Rc::new(Cell::new(0));
    let add = |more: usize, to: &Cell<usize>| to.set(to.get() + more);
    let (tags, letters) = (Rc::clone(&count), Rc::clone(&count));
    let tag = element!("*", move |tag| {
        add(1 + tag.attributes().len(), &tags);
        Ok(())
    });
    let text = text!("*", move |text| {
        add(text.as_str().len(), &letters);
        Ok(())
    });
    let settings = Settings::new()
        .append_element_content_handler(tag)
        .append_element_content_handler(text);
    let mut parser = HtmlRewriter::new(settings, |_: &[u8]| {});
    let read = parser.write(page.as_bytes()).and_then(|()| parser.end());
    read.map_or(0, |()| count.get())
}

fn best(work: impl Fn() -> usize) -> f64 {
    let round = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn read(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|ext| ext == "html"));
    files.sort();
    files.iter().map(std::fs::read).collect()
}
