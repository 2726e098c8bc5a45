//! `tidewatch fetch`: one fetch as the crawler would do it.

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{
    Block, Config, End, Fetched, Fetcher, Hop, Purpose, Request, Validators, user_agent,
};

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch fetch https://example.com/ --json")]
pub(crate) struct Args {
    /// The URL.
    url: String,
    /// Connect to private, loopback and other special addresses too.
    #[arg(long)]
    allow_private: bool,
    /// Connect to the special addresses of this block too, such as 10.0.0.0/8.
    #[arg(long, value_name = "BLOCK")]
    allow: Vec<Block>,
    /// Purpose of the fetch, which decides its limits.
    #[arg(long = "for", value_enum, default_value = "page")]
    purpose: For,
    /// Where the crawler's operator can be reached: a URL or a mail address.
    #[arg(long, default_value = "https://github.com/tidewatch/tidewatch")]
    contact: String,
    /// Send If-None-Match with this entity tag.
    #[arg(long)]
    etag: Option<String>,
    /// Send If-Modified-Since with this date.
    #[arg(long)]
    last_modified: Option<String>,
    /// Write the decoded body to this file.
    #[arg(short, long)]
    output: Option<std::path::PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum For {
    Page,
    Robots,
    Sitemap,
}

#[derive(Serialize)]
struct Answer {
    url: String,
    outcome: &'static str,
    reason: &'static str,
    why: Option<String>,
    status: Option<u16>,
    media_type: Option<String>,
    body_bytes: Option<usize>,
    wire_bytes: Option<u64>,
    is_cut: bool,
    is_damaged: bool,
    etag: Option<String>,
    last_modified: Option<String>,
    redirects: Vec<Step>,
    address: Option<String>,
    connect_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    total_ms: f64,
}

#[derive(Serialize)]
struct Step {
    url: String,
    status: Option<u16>,
    to: String,
}

fn millis(span: std::time::Duration) -> f64 {
    (span.as_secs_f64() * 1e4).round() / 10.0
}

impl Answer {
    fn of(fetched: &Fetched) -> Option<Self> {
        let last = fetched.hops.last()?;
        let response = fetched.response();
        let validators = response.map(tidewatch_fetch::Response::validators).unwrap_or_default();
        let status = |hop: &Hop| hop.response.as_ref().map(|response| response.status);
        let step = |pair: &[Hop]| Step {
            url: pair[0].url.to_string(),
            status: status(&pair[0]),
            to: pair[1].url.to_string(),
        };
        let mut redirects: Vec<Step> = fetched.hops.windows(2).map(step).collect();
        if let End::Redirect(target) = &fetched.end {
            let (url, to) = (last.url.to_string(), target.to_string());
            redirects.push(Step { url, status: status(last), to });
        }
        Some(Self {
            url: last.url.to_string(),
            outcome: match &fetched.end {
                End::Answered => "answered",
                End::Redirect(_) => "redirect",
                End::Failed(_) => "failed",
            },
            reason: fetched.end.name(),
            why: fetched.failure().map(ToString::to_string),
            status: status(last),
            media_type: response.map(tidewatch_fetch::Response::media_type),
            body_bytes: response.map(|response| response.body.len()),
            wire_bytes: response.map(|response| response.wire_bytes),
            is_cut: response.is_some_and(|response| response.is_cut),
            is_damaged: response.is_some_and(|response| response.is_damaged),
            etag: validators.etag,
            last_modified: validators.last_modified,
            redirects,
            address: last.address.map(|address| address.to_string()),
            connect_ms: last.connect.map(millis),
            first_byte_ms: last.first_byte.map(millis),
            total_ms: millis(fetched.hops.iter().map(|hop| hop.total).sum()),
        })
    }

    fn lines(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for step in &self.redirects {
            let status = step.status.unwrap_or_default();
            lines.push(format!("redirect   {status} {} -> {}", step.url, step.to));
        }
        lines.push(format!("url        {}", self.url));
        lines.push(format!("outcome    {}", self.outcome));
        lines.push(match (&self.why, self.status) {
            (Some(why), _) => format!("reason     {}: {why}", self.reason),
            (None, status) => format!("status     {}", status.unwrap_or_default()),
        });
        let bytes = self.body_bytes.unwrap_or_default();
        let wire = self.wire_bytes.unwrap_or_default();
        lines.push(format!("bytes      {bytes} decoded, {wire} on the wire"));
        if self.is_damaged {
            lines.push("damaged    the body is what came before it broke off".to_owned());
        }
        lines.push(format!("took       {} ms\n", self.total_ms));
        lines.join("\n")
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let url = CanonicalUrl::parse(&args.url)
        .map_err(|refused| anyhow!("{} is refused: {refused}", args.url))?;
    let mut config = Config::new(&user_agent(&args.contact));
    config.addresses.allow_all = args.allow_private;
    config.addresses.allowed.clone_from(&args.allow);
    let purpose = match args.purpose {
        For::Page => Purpose::Page,
        For::Robots => Purpose::Robots,
        For::Sitemap => Purpose::Sitemap,
    };
    let held = Validators { etag: args.etag.clone(), last_modified: args.last_modified.clone() };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the network runtime")?;
    let fetched = runtime.block_on(async {
        let fetcher = Fetcher::new(config)?;
        let request = Request { url, purpose, held };
        anyhow::Ok(fetcher.fetch(&request, &mut |_| true).await)
    })?;
    let answer = Answer::of(&fetched).context("nothing was fetched")?;
    if let (Some(file), Some(response)) = (&args.output, fetched.response()) {
        let why = || format!("cannot write {}", file.display());
        std::fs::write(file, &response.body).with_context(why)?;
    }
    if args.json {
        output::print(&(serde_json::to_string(&answer)? + "\n"))?;
    } else {
        output::print(&answer.lines())?;
    }
    if let Some(why) = &answer.why {
        bail!("the fetch failed ({}): {why}", answer.reason);
    }
    Ok(())
}
