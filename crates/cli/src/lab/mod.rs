//! `tidewatch lab`: policies on simulated and recorded webs.

mod compare;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run policies over a trace and compare what they achieve.
    Compare(compare::Args),
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Compare(args) => compare::run(&args),
    }
}
