//! `tidewatch url`: how a URL is read.

use anyhow::{Result, bail};
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;

use crate::{listed, output};

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch url 'HTTP://Example.COM:80/a/../b?utm_source=x#top'")]
pub(crate) struct Args {
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
    canonical: Option<String>,
    surt: Option<String>,
    host: Option<String>,
    registrable_domain: Option<String>,
    refused: Option<&'static str>,
    why: Option<String>,
}

impl<'a> Answer<'a> {
    fn of(url: &'a str) -> Self {
        match CanonicalUrl::parse(url) {
            Ok(read) => Answer {
                url,
                canonical: Some(read.as_str().to_owned()),
                surt: Some(read.surt()),
                host: Some(read.host().to_owned()),
                registrable_domain: read.registrable_domain().map(str::to_owned),
                refused: None,
                why: None,
            },
            Err(refused) => Answer {
                url,
                canonical: None,
                surt: None,
                host: None,
                registrable_domain: None,
                refused: Some(refused.reason()),
                why: Some(refused.to_string()),
            },
        }
    }

    fn lines(&self) -> String {
        if let (Some(reason), Some(why)) = (self.refused, &self.why) {
            return format!("{}\n  refused     {reason}: {why}\n", self.url);
        }
        let dash = |field: &Option<String>| field.clone().unwrap_or_else(|| "-".to_owned());
        format!(
            "{}\n  canonical   {}\n  surt        {}\n  host        {}\n  registrable {}\n",
            self.url,
            dash(&self.canonical),
            dash(&self.surt),
            dash(&self.host),
            dash(&self.registrable_domain)
        )
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut refused = 0;
    let mut answer = |url: &str| -> Result<()> {
        let answer = Answer::of(url);
        refused += usize::from(answer.refused.is_some());
        if args.json {
            output::print(&(serde_json::to_string(&answer)? + "\n"))
        } else {
            output::print(&answer.lines())
        }
    };
    listed::each(&args.urls, &mut answer)?;
    if refused > 0 {
        bail!("{refused} of the URLs were refused");
    }
    Ok(())
}
