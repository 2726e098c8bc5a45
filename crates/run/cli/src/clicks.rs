//! `tidewatch clicks`: views and clicks from another search engine.

use std::io::{BufReader, Read};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use tidewatch_service::import_clicks;

use crate::output;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Import views and clicks from a log.
    Import(ImportArgs),
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch clicks import log.csv --dir news\n\nCSV with columns \
                        url,at,kind[,count][,position][,query], or JSON lines with these fields; kind is view or click, at is seconds of Unix time or a date like \
                        2026-11-16T10:00:00Z. A running crawl reads them within seconds, \
                        any other when it next runs. Bad rows are reported and skipped.")]
pub(crate) struct ImportArgs {
    /// The log; - for standard input.
    log: PathBuf,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    let Command::Import(args) = command;
    let input: Box<dyn Read> = if args.log.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = std::fs::File::open(&args.log);
        Box::new(file.with_context(|| format!("cannot open {}", args.log.display()))?)
    };
    let done = import_clicks(&args.dir, BufReader::new(input))
        .with_context(|| args.log.display().to_string())?;
    if args.json {
        let json = json!({
            "rows": done.rows, "clicks": done.clicks, "views": done.views,
            "bad": done.bad, "bad_rows": done.named,
        });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    for named in &done.named {
        eprintln!("{}: {named}", args.log.display());
    }
    let more = done.bad.saturating_sub(done.named.len() as u64);
    if more > 0 {
        eprintln!("{}: and {more} more bad rows", args.log.display());
    }
    output::print(&format!(
        "{} rows imported: {} clicks and {} views; {} bad rows skipped.\n",
        done.rows, done.clicks, done.views, done.bad
    ))
}
