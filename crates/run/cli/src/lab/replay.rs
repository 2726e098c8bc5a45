//! `tidewatch lab replay`: repeats every decision of a crawl.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args as ClapArgs;
use serde_json::json;

use crate::output;

/// Take every decision of a crawl again, from its first, and check that each comes out the same.
#[derive(ClapArgs)]
#[command(after_help = "Example: tidewatch lab replay --dir crawl")]
pub(crate) struct Args {
    /// Folder of a crawl that is not running.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    let replayed = tidewatch_service::replay(&args.dir)?;
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        let (inputs, decisions) = (replayed.inputs, replayed.decisions);
        let found = json!({ "inputs": inputs, "decisions": decisions, "wall_s": seconds });
        return output::print(&(serde_json::to_string_pretty(&found)? + "\n"));
    }
    output::print(&format!(
        "All {} decisions came out the same, after {} inputs, in {seconds:.1} s.\n",
        replayed.decisions, replayed.inputs
    ))
}
