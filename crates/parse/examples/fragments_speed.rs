//! How much does it cost to know what a page says, beside walking it at all?
//!
//! Measures, on every `.html` file of a folder: decoding; a bare scan that counts tags and text; the
//! scan that makes identity and sketch. Prints megabytes a second and the ratio to the bare scan,
//! with and without decoding. Best of several rounds, since other work on the machine only slows.
//!
//! `cargo run --release -p tidewatch-parse --example fragments_speed -- FOLDER`

#![allow(clippy::print_stdout, reason = "its output is the result")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

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
    let rows = [
        ("decode", reading),
        ("bare scan", bare),
        ("fragments", full),
        ("decode + bare scan", reading + bare),
        ("decode + fragments", reading + full),
    ];
    for (name, seconds) in rows {
        println!("{name:20} {:7.0} MB/s", bytes as f64 / 1e6 / seconds);
    }
    println!("fragments / bare scan              {:.2}", full / bare);
    println!("the same with decoding, from bytes {:.2}", (reading + full) / (reading + bare));
    Ok(())
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
