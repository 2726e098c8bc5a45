//! `tidewatch diff`: would a reader see a change, and how much of the page is it?

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tidewatch_parse::diff::{Difference, compare};
use tidewatch_parse::fragments::Shingling;

use crate::output;

/// Largest file that is read as a page.
const LARGEST: u64 = 256 << 20;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch diff monday.html tuesday.html")]
pub(crate) struct Args {
    /// The earlier version: a file of HTML.
    old: PathBuf,
    /// The later version.
    new: PathBuf,
    /// Words in a fragment.
    #[arg(long, default_value_t = Shingling::default().words, value_parser = at_least_one)]
    words: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(words @ 1..) => Ok(words),
        _ => Err("a fragment has at least one word".to_owned()),
    }
}

#[derive(Serialize)]
struct Answer {
    bytes_changed: bool,
    changed: bool,
    divergence: f64,
    sketch_divergence: f64,
    words: [usize; 2],
    fragments: [usize; 2],
    common_fragments: usize,
}

impl From<Difference> for Answer {
    fn from(found: Difference) -> Self {
        Answer {
            bytes_changed: found.bytes_changed,
            changed: found.changed,
            divergence: found.divergence,
            sketch_divergence: found.estimate,
            words: found.words,
            fragments: found.fragments,
            common_fragments: found.common,
        }
    }
}

impl Answer {
    fn lines(&self) -> String {
        let verdict = match (self.bytes_changed, self.changed) {
            (false, _) => "no: the bytes are the same",
            (true, false) => "no: only bytes changed",
            (true, true) => "yes",
        };
        format!(
            "a reader sees a change  {verdict}\n\
             divergence              {:.4}\n\
             from sketches           {:.4}\n\
             fragments               {} then {}, {} in both\n\
             words                   {} then {}\n",
            self.divergence,
            self.sketch_divergence,
            self.fragments[0],
            self.fragments[1],
            self.common_fragments,
            self.words[0],
            self.words[1]
        )
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let shingling = Shingling { words: args.words, ..Shingling::default() };
    let answer = Answer::from(compare(&read(&args.old)?, &read(&args.new)?, shingling));
    let text = if args.json { serde_json::to_string(&answer)? + "\n" } else { answer.lines() };
    output::print(&text)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let size =
        std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
    if size.len() > LARGEST {
        bail!("{} is larger than 256 MiB; that is no page", file.display());
    }
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
