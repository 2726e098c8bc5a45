//! `tidewatch parse`: what a page, feed or sitemap holds.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tidewatch_core::url::Base;
use tidewatch_parse::document::{self, Parsed, Source, Wanted};
use tidewatch_parse::feed::Feed;
use tidewatch_parse::links::{Guess, Page, guess_language};
use tidewatch_parse::reading::Scope;
use tidewatch_parse::sitemap::{self, Sitemap};

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch parse page.html --url https://example.com/ --json")]
pub(crate) struct Args {
    /// The document, or - for standard input.
    file: PathBuf,
    /// Its URL, against which links are resolved.
    #[arg(long)]
    url: String,
    /// Its format; by default detected from its first bytes.
    #[arg(long = "as", value_enum)]
    kind: Option<Kind>,
    /// Product token of the crawler, which meta elements may name.
    #[arg(long, default_value = "Tidewatch")]
    agent: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Kind {
    Html,
    Feed,
    Sitemap,
}

/// Names of the JSON output; only what the document is has a value.
#[derive(Serialize, Default)]
struct Answer {
    kind: &'static str,
    #[serde(flatten)]
    page: Option<Page>,
    encoding: Option<&'static str>,
    language_guess: Option<Guess>,
    text: Option<String>,
    feed: Option<Feed>,
    sitemap: Option<Sitemap>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let base = Base::parse(&args.url)
        .map_err(|refused| anyhow!("{} cannot be the document's address: {refused}", args.url))?;
    let bytes = read(&args.file)?;
    let kind = args.kind.map(|kind| match kind {
        Kind::Html => document::Kind::Html,
        Kind::Feed => document::Kind::Feed,
        Kind::Sitemap => document::Kind::Sitemap,
    });
    let source = Source { base: &base, content_type: None, robots_tags: &[], kind, bytes: &bytes };
    let wanted = Wanted {
        agent: &args.agent,
        shingling: None,
        text_bytes: usize::MAX,
        scope: Scope::Everything,
    };
    let mut parsed = document::parse(&source, &wanted);
    if let Some(refused) = parsed.refused.take() {
        bail!("cannot read {}: {refused}", args.file.display());
    }
    let answer = answer(parsed);
    if args.json {
        return output::print(&(serde_json::to_string(&answer)? + "\n"));
    }
    output::print(&plain(&answer))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let limit = sitemap::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let why = || format!("cannot read {}", file.display());
    if file.as_os_str() == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).with_context(why)?;
    } else {
        let opened = std::fs::File::open(file);
        opened.with_context(why)?.take(limit).read_to_end(&mut bytes).with_context(why)?;
    }
    if bytes.len() > sitemap::MAX_BYTES {
        bail!("{} has more than {} bytes", file.display(), sitemap::MAX_BYTES);
    }
    Ok(bytes)
}

fn answer(parsed: Parsed) -> Answer {
    Answer {
        kind: parsed.kind.map_or("", document::Kind::name),
        page: parsed.page,
        encoding: parsed.encoding,
        language_guess: parsed.text.as_deref().and_then(guess_language),
        text: parsed.text,
        feed: parsed.feed,
        sitemap: parsed.sitemap,
    }
}

fn plain(answer: &Answer) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<10} {value}");
    };
    if let Some(page) = &answer.page {
        line("title", page.title.as_deref().unwrap_or("-"));
        line("canonical", page.canonical.as_ref().map_or("-", |url| url.as_str()));
        line("language", answer.language_guess.map_or("-", |guess| guess.code));
        for link in &page.links {
            line("link", &format!("{}\t{}", link.url, link.anchor));
        }
    }
    for entry in answer.feed.iter().flat_map(|feed| &feed.entries) {
        let title = entry.title.as_deref().unwrap_or_default();
        line("entry", &format!("{}\t{title}", entry.page().unwrap_or("-")));
    }
    for entry in answer.sitemap.iter().flat_map(|sitemap| &sitemap.entries) {
        line("url", &entry.url);
    }
    out
}
