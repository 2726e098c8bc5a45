//! `tidewatch lab replay`: repeats every decision of a crawl.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args as ClapArgs;
use serde_json::json;
use tidewatch_urlfrontier::Replayed;

use crate::output;

/// Take every decision of a crawl again, from its first, and check that each comes out the same.
#[derive(ClapArgs)]
#[command(after_help = "Example: tidewatch lab replay --dir crawl")]
pub(crate) struct Args {
    /// Folder of a crawl, or of an order of fetches for other crawlers, that is not running.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    if tidewatch_urlfrontier::is_frontier(&args.dir) {
        return frontier(args);
    }
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

/// Repeats the answers of `tidewatch frontier`.
fn frontier(args: &Args) -> Result<()> {
    let began = Instant::now();
    let Replayed { inputs, decisions, followed } = tidewatch_urlfrontier::replay(&args.dir)?;
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        let found = json!({
            "inputs": inputs, "decisions": decisions, "followed": followed, "wall_s": seconds,
        });
        return output::print(&(serde_json::to_string_pretty(&found)? + "\n"));
    }
    let earlier = match followed {
        0 => String::new(),
        followed => format!("{followed} answers of an earlier order were taken as they were.\n"),
    };
    output::print(&format!(
        "All {decisions} answers came out the same, after {inputs} inputs, in {seconds:.1} s.\n{earlier}"
    ))
}
