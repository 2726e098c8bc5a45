//! `tidewatch parse`: what a page, feed or sitemap holds.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_forms::{Refusal, judge};
use tidewatch_parse::document::{self, Parsed, Source, Wanted};
use tidewatch_parse::feed::Feed;
use tidewatch_parse::forms::Form;
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
    /// Whether each of the forms may be asked, in their order.
    form_verdicts: Vec<FormVerdict>,
    /// Where a script sends every reader at once.
    sent_by_script: Option<String>,
    encoding: Option<&'static str>,
    language_guess: Option<Guess>,
    text: Option<String>,
    feed: Option<Feed>,
    sitemap: Option<Sitemap>,
}

/// Whether a form may be asked.
#[derive(Serialize)]
struct FormVerdict {
    may_be_asked: bool,
    /// The URL that it asks if nothing is filled in.
    asks: Option<String>,
    /// The name of the reason if it may not.
    refused: Option<Refusal>,
    /// The reason in words.
    because: Option<String>,
}

impl FormVerdict {
    fn of(form: &Form, page: &CanonicalUrl) -> FormVerdict {
        match judge(form, page) {
            Ok(question) => {
                let asks = question.ask(&[]).map(CanonicalUrl::into_string);
                FormVerdict { may_be_asked: true, asks, refused: None, because: None }
            }
            Err(refused) => FormVerdict {
                may_be_asked: false,
                asks: None,
                refused: Some(refused),
                because: Some(refused.to_string()),
            },
        }
    }
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
    let answer = answer(parsed, &args.url);
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

fn answer(parsed: Parsed, url: &str) -> Answer {
    let forms = parsed.page.iter().flat_map(|page| &page.forms);
    let verdicts =
        CanonicalUrl::parse(url).map(|url| forms.map(|form| FormVerdict::of(form, &url)).collect());
    Answer {
        kind: parsed.kind.map_or("", document::Kind::name),
        form_verdicts: verdicts.unwrap_or_default(),
        page: parsed.page,
        sent_by_script: parsed.sent_by_script.map(CanonicalUrl::into_string),
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
        for (form, verdict) in page.forms.iter().zip(&answer.form_verdicts) {
            let action = form.action.as_ref().map_or("-", |url| url.as_str());
            line(
                "form",
                &format!("{action}\t{}", verdict.because.as_deref().unwrap_or("may be asked")),
            );
        }
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
