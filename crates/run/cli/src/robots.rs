//! `tidewatch robots`: what a robots.txt allows.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_robots::{MAX_BYTES, Robots, target_of};

use crate::{listed, output};

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch robots robots.txt --agent Tidewatch https://example.com/a?b"
)]
pub(crate) struct Args {
    /// The robots.txt.
    file: PathBuf,
    /// Product token of the crawler, as user-agent lines name it.
    #[arg(long)]
    agent: String,
    /// URLs, or - to read one a line from standard input.
    #[arg(required = true)]
    urls: Vec<String>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    url: &'a str,
    verdict: &'static str,
    line: Option<u32>,
    rule: Option<String>,
    crawl_delay_s: Option<f64>,
}

impl<'a> Answer<'a> {
    fn of(url: &'a str, robots: &Robots) -> Self {
        // A crawl asks for canonical URLs, and for no others.
        let canonical = CanonicalUrl::parse(url).map(|url| url.path_and_query().to_owned());
        let target = canonical.unwrap_or_else(|_| target_of(url));
        let verdict = robots.decide(&target);
        let rule = verdict.decided_by.map(|line| {
            let name = if line.allows { "Allow" } else { "Disallow" };
            format!("{name}: {}", line.path)
        });
        Answer {
            url,
            verdict: if verdict.allowed { "allow" } else { "deny" },
            line: verdict.decided_by.map(|line| line.number),
            rule,
            crawl_delay_s: robots.crawl_delay().map(|delay| delay.as_secs_f64()),
        }
    }

    fn line(&self) -> String {
        match (self.line, &self.rule) {
            (Some(line), Some(rule)) => {
                format!("{}\t{}\tline {line}: {rule}\n", self.verdict, self.url)
            }
            _ => format!("{}\t{}\tno line matches\n", self.verdict, self.url),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = std::fs::File::open(&args.file)
        .with_context(|| format!("cannot open {}", args.file.display()))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let robots = Robots::parse(&bytes, &args.agent);
    let answer = |url: &str| -> Result<()> {
        let answer = Answer::of(url, &robots);
        if args.json {
            output::print(&(serde_json::to_string(&answer)? + "\n"))
        } else {
            output::print(&answer.line())
        }
    };
    listed::each(&args.urls, answer)
}
