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
        let found = json!({
            "inputs": replayed.inputs, "decisions": replayed.decisions, "panics": replayed.panics,
            "reproduced": replayed.reproduced, "wall_s": seconds,
        });
        return output::print(&(serde_json::to_string_pretty(&found)? + "\n"));
    }
    let panics = match replayed.panics {
        0 => String::new(),
        panics => format!(
            "The policy panicked {panics} times; {} of these panics happened again.\n",
            replayed.reproduced
        ),
    };
    output::print(&format!(
        "All {} decisions came out the same, after {} inputs, in {seconds:.1} s.\n{panics}",
        replayed.decisions, replayed.inputs
    ))
}
