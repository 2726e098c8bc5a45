//! `tidewatch cluster`: looks at a cluster and moves its partitions.

mod dev;

use std::future::Future;

use anyhow::{Result, bail};
use clap::Subcommand;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_node::{BrokerError, ClusterFigures, Operator};
use tidewatch_service::{WhyAnswer, nodes_table, partitions_table, summary};
use tokio::runtime::Runtime;

use crate::output;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show nodes, partitions, their owners and figures.
    Status(StatusArgs),
    /// Move a partition to a node.
    Move(MoveArgs),
    /// Make a node hand over everything and end.
    Drain(DrainArgs),
    /// Start brokers and nodes on loopback, to try a cluster on one machine.
    Dev(dev::Args),
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch cluster status --cluster nats://a.example,b.example")]
pub(crate) struct StatusArgs {
    /// Addresses of the brokers.
    #[arg(long, value_name = "URLS")]
    cluster: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch cluster move 7 1f03c --cluster nats://a.example")]
pub(crate) struct MoveArgs {
    /// The partition's number.
    partition: u32,
    /// The node, as `cluster status` names it, or the beginning of its name.
    node: String,
    /// Addresses of the brokers.
    #[arg(long, value_name = "URLS")]
    cluster: String,
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch cluster drain 1f03c --cluster nats://a.example")]
pub(crate) struct DrainArgs {
    /// The node, as `cluster status` names it, or the beginning of its name.
    node: String,
    /// Addresses of the brokers.
    #[arg(long, value_name = "URLS")]
    cluster: String,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Status(args) => {
            let figures = ask(&args.cluster, async |operator| operator.figures().await)?;
            if args.json {
                return output::print(&(serde_json::to_string_pretty(&figures)? + "\n"));
            }
            output::print(&text(&figures))
        }
        Command::Move(args) => {
            let (partition, node) = (args.partition, args.node.as_str());
            let told = ask(&args.cluster, async |all| all.give(partition, node).await)?;
            match told {
                Some(told) => output::print(&(told + "\n")),
                None => {
                    bail!("no node owns partition {partition} now; see tidewatch cluster status")
                }
            }
        }
        Command::Drain(args) => {
            let told = ask(&args.cluster, async |all| all.drain(&args.node).await)?;
            match told {
                Some(told) => output::print(&(told + "\n")),
                None => bail!("there is no node {}; see tidewatch cluster status", args.node),
            }
        }
        Command::Dev(args) => dev::run(args),
    }
}

/// Asks the owner of a page about it.
pub(crate) fn why(brokers: &str, url: &CanonicalUrl) -> Result<WhyAnswer> {
    match ask(brokers, async |all| all.why(url).await)? {
        Some(answer) => Ok(WhyAnswer::read(answer)?),
        None => bail!("no node owns this page at the moment; see tidewatch cluster status"),
    }
}

/// Asks the nodes of a cluster something.
fn ask<T, F>(cluster: &str, question: impl FnOnce(Operator) -> F) -> Result<T>
where
    F: Future<Output = Result<T, BrokerError>>,
{
    Runtime::new()?.block_on(async { Ok(question(Operator::connect(cluster).await?).await?) })
}

fn text(figures: &ClusterFigures) -> String {
    let head = summary(figures) + "\n\n";
    let nodes = nodes_table(&figures.nodes).to_text(output::width());
    let partitions = partitions_table(&figures.nodes).to_text(output::width());
    let notes = figures.nodes.iter().flat_map(|node| &node.notes).map(|note| format!("{note}\n"));
    format!("{head}{nodes}\n{partitions}{}", notes.collect::<String>())
}
