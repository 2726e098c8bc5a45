//! The `tidewatch` command: one binary for crawling, the lab and science on files.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage. Errors are one sentence on
//! standard error; tables go to standard output, progress to a terminal only.

mod lab;
mod output;
mod progress;
mod url;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "tidewatch", version, about, propagate_version = true)]
/// A crawler that spends every fetch where it does its users the most good.
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try policies on simulated and recorded webs.
    #[command(subcommand)]
    Lab(lab::Command),
    /// Show the canonical form, SURT key, host and registrable domain of URLs.
    Url(url::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Lab(command) => lab::run(command),
        Command::Url(args) => url::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::FAILURE
        }
    }
}
