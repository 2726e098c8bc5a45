//! `tidewatch why` and `tidewatch what-if`: explanations and predictions.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde_json::json;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::explain::{what_if_json, what_if_of_json};
use tidewatch_partition::{OtherBudget, Outlook, Question, ask_running};
use tidewatch_policy::WhatIf;
use tidewatch_report::{Cell, Column, Table};
use tidewatch_service::{WhatIfAnswer, WhyAnswer};
use tidewatch_urlfrontier::is_frontier;

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch why https://example.com/news --dir news\n\nA running \
                        crawl is asked through the socket ask.sock in its directory; of one that \
                        has ended, the state at its end is explained. In the directory of a node of a \
                        cluster that runs, the node that owns the page answers.")]
pub(crate) struct WhyArgs {
    /// The page.
    url: String,
    /// The crawl's directory.
    #[arg(long, required_unless_present = "cluster")]
    dir: Option<PathBuf>,
    /// Addresses of the brokers of a crawl on several machines; the node that owns the page answers.
    #[arg(long, value_name = "URLS", conflicts_with = "dir")]
    cluster: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch what-if --budget 2x --dir news\n\nPredicts the coming week \
                        from current estimates; only URLs already in the frontier count. The crawl \
                        must use policy = \"price\". It must not be running, unless the directory is a \
                        node's of a cluster: that must be running, and all nodes answer."
)]
pub(crate) struct WhatIfArgs {
    /// Another budget: a multiple such as 2x or 0.5x, or a rate such as 5/s.
    #[arg(long)]
    budget: OtherBudget,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn no_price() -> anyhow::Error {
    anyhow!("this crawl's policy has no price and cannot predict; only policy = \"price\" can")
}

pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let url = CanonicalUrl::parse(&args.url)?;
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let why = if let Some(brokers) = &args.cluster {
        crate::cluster::why(brokers, &url)?
    } else if is_frontier(dir) {
        WhyAnswer::read(ask_frontier(dir, &Question::Why(url.clone()))?)?
    } else {
        tidewatch_service::why(dir, &url)?
    };
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&why.json)? + "\n"));
    }
    output::print(&format!("{}\n{}", url.as_str(), why.told))
}

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<()> {
    let found = if is_frontier(&args.dir) {
        Some(of_frontier(&args.dir, args.budget)?)
    } else {
        tidewatch_service::what_if(&args.dir, args.budget)?
    };
    let WhatIfAnswer { outlook, missing } = found.ok_or_else(no_price)?;
    let (before, after) = (outlook.now, outlook.then);
    if let Some(missing) = missing {
        eprintln!("tidewatch: {missing}");
    }
    if args.json {
        let json = json!({ "now": what_if_json(&before), "then": what_if_json(&after) });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    output::print(&compared(&before, &after).to_text(output::width()))
}

/// Asks the server that runs in a directory of `tidewatch frontier`.
fn of_frontier(dir: &Path, other: OtherBudget) -> Result<WhatIfAnswer> {
    let answer = ask_frontier(dir, &Question::WhatIf(other))?;
    let both = what_if_of_json(&answer["now"]).zip(what_if_of_json(&answer["then"]));
    let (now, then) = both.ok_or_else(no_price)?;
    Ok(WhatIfAnswer { outlook: Outlook { now, then }, missing: None })
}

fn ask_frontier(dir: &Path, question: &Question) -> Result<serde_json::Value> {
    let answer = ask_running(dir, question)?.ok_or_else(|| {
        anyhow!("{} is not being served; start `tidewatch frontier` there to ask", dir.display())
    })?;
    match answer["error"].as_str() {
        Some(error) => Err(anyhow!("{error}")),
        None => Ok(answer),
    }
}

fn compared(before: &WhatIf, after: &WhatIf) -> Table {
    let mut table =
        Table::new([Column::text("Figure"), Column::number("Now"), Column::number("Then")]);
    let mut row = |name: &str, of: &dyn Fn(&WhatIf) -> Cell| {
        table.push([Cell::text(name), of(before), of(after)]);
    };
    row("budget, fetches/s", &|w| Cell::number(w.budget, 4));
    row("spent, fetches/s", &|w| Cell::number(w.spent(), 4));
    row("price, clicks a fetch", &|w| Cell::text(format!("{:.3e}", w.price)));
    row("freshness, share of copies", &|w| Cell::maybe(w.freshness, 3));
    row("refreshes/s", &|w| Cell::number(w.fetches[0], 4));
    row("source visits/s", &|w| Cell::number(w.fetches[1], 4));
    row("new pages/s", &|w| Cell::number(w.fetches[2], 4));
    row("frontier pages/s", &|w| Cell::number(w.fetches[3], 4));
    row("clicks/s on newly fetched pages", &|w| Cell::number(w.profit, 4));
    table
}
