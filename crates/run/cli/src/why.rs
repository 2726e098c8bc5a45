//! `tidewatch why` and `tidewatch what-if`: explanations and predictions.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde_json::json;
use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::Partitions;
use tidewatch_partition::explain::what_if_json;
use tidewatch_policy::WhatIf;
use tidewatch_report::{Cell, Column, Table};

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch why https://example.com/news --dir news\n\nA running \
                        crawl is asked through the socket ask.sock in its directory; of one that \
                        has ended, the state at its end is explained.")]
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
                        must not be running and must use policy = \"price\"."
)]
pub(crate) struct WhatIfArgs {
    /// Another budget: a multiple such as 2x or 0.5x, or a rate such as 5/s.
    #[arg(long, value_parser = Budget::read)]
    budget: Budget,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    Times(f64),
    Rate(Rate),
}

impl Budget {
    fn read(text: &str) -> Result<Budget, String> {
        if let Some(times) = text.strip_suffix(['x', '×']) {
            return match times.parse() {
                Ok(times) if times > 0.0 && f64::is_finite(times) => Ok(Budget::Times(times)),
                _ => Err("a multiple is a number above zero, such as 2x".to_owned()),
            };
        }
        text.parse().map(Budget::Rate).map_err(|error| format!("{error}"))
    }
}

fn no_price(crawl: &Partitions) -> anyhow::Error {
    anyhow!(
        "this crawl uses policy {}, which has no price and cannot predict; only policy = \"price\" can",
        crawl.policy()
    )
}

pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let url = CanonicalUrl::parse(&args.url)?;
    let why = match &args.cluster {
        Some(brokers) => crate::cluster::why(brokers, &url)?,
        None => tidewatch_service::why(args.dir.as_deref().unwrap_or(Path::new(".")), &url)?,
    };
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&why.json)? + "\n"));
    }
    output::print(&format!("{}\n{}", url.as_str(), why.told))
}

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<()> {
    let crawl = tidewatch_service::look(&args.dir)?;
    let now = crawl.budget();
    let then = match args.budget {
        Budget::Rate(rate) => rate,
        Budget::Times(times) => Rate::per_second(times * now.as_per_second())
            .ok_or_else(|| anyhow!("{times} times the budget is too large"))?,
    };
    let outlook = crawl.outlook(then).ok_or_else(|| no_price(&crawl))?;
    let (before, after) = (outlook.now, outlook.then);
    if args.json {
        let json = json!({ "now": what_if_json(&before), "then": what_if_json(&after) });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    output::print(&compared(&before, &after).to_text(output::width()))
}

fn compared(before: &WhatIf, after: &WhatIf) -> Table {
    let mut table =
        Table::new([Column::text("Figure"), Column::number("Now"), Column::number("Then")]);
    let mut row = |name: &str, of: &dyn Fn(&WhatIf) -> Cell| {
        table.push([Cell::text(name), of(before), of(after)]);
    };
    row("budget, fetches/s", &|w| Cell::number(w.budget, 4));
    row("price, clicks a fetch", &|w| Cell::text(format!("{:.3e}", w.price)));
    row("freshness, share of copies", &|w| Cell::maybe(w.freshness, 3));
    row("refreshes/s", &|w| Cell::number(w.fetches[0], 4));
    row("source visits/s", &|w| Cell::number(w.fetches[1], 4));
    row("new pages/s", &|w| Cell::number(w.fetches[2], 4));
    row("frontier pages/s", &|w| Cell::number(w.fetches[3], 4));
    row("clicks/s on newly fetched pages", &|w| Cell::number(w.profit, 4));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_multiples_or_rates() {
        assert_eq!(Budget::read("2x"), Ok(Budget::Times(2.0)));
        assert_eq!(Budget::read("0.5×"), Ok(Budget::Times(0.5)));
        assert_eq!(Budget::read("5/s"), Ok(Budget::Rate(Rate::per_second(5.0).unwrap())));
        for bad in ["x", "-1x", "infx", "NaNx", "fast"] {
            assert!(Budget::read(bad).is_err(), "{bad}");
        }
    }
}
