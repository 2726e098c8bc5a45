//! `tidewatch label`: what the operator says of hosts, and which hosts look like spam.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use serde_json::json;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::rules::{HostRow, label_name, label_of};
use tidewatch_report::{Cell, Column, Table};

use crate::output;

/// Hosts shown.
const MOST: usize = 1_000;

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch label --dir news https://cheap-pills.example/ spam\n\nPages of a \
                  host that is probably spam are worth less, once you have labelled some: labels \
                  tell much of other hosts, by links and by text. Hosts of seeds count as good, if \
                  they are 200 at most. Before that, the hosts listed are those whose text looks \
                  like spam of 2007. The crawl may be running."
)]
pub(crate) struct Args {
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// A URL of the host to label. Without one, hosts that are labelled or suspected are listed.
    #[arg(requires = "label")]
    url: Option<String>,
    /// What the host is; none takes a label back.
    #[arg(value_parser = ["spam", "good", "none"])]
    label: Option<String>,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let (Some(url), Some(label)) = (&args.url, &args.label) {
        let url = CanonicalUrl::parse(url).map_err(|why| anyhow!("`{url}` is no URL: {why}"))?;
        let label = label_of(label).ok_or_else(|| anyhow!("a label is spam, good or none"))?;
        tidewatch_service::label(&args.dir, &url, label)?;
        let told = match label {
            Some(label) => format!("{} is labelled {}.\n", url.origin(), label_name(Some(label))),
            None => format!("{} has no label.\n", url.origin()),
        };
        return output::print(&told);
    }
    let hosts = tidewatch_service::labels(&args.dir, MOST)?;
    if args.json {
        let json = json!({ "hosts": hosts });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    if hosts.is_empty() {
        return output::print("No host is labelled, and none looks like spam.\n");
    }
    output::print(&table(&hosts).to_text(output::width()))
}

fn table(hosts: &[HostRow]) -> Table {
    let columns = [
        Column::text("Host"),
        Column::text("Label"),
        Column::number("Spam").unit("%"),
        Column::number("Pages measured"),
    ];
    hosts.iter().fold(Table::new(columns), |table, host| {
        table.row([
            Cell::text(&host.host),
            Cell::text(host.label.map_or("", |label| label_name(Some(label)))),
            Cell::number(100.0 * host.chance, 0),
            Cell::count(u64::from(host.pages)),
        ])
    })
}
