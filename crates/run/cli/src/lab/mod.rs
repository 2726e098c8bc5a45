//! `tidewatch lab`: policies on simulated and recorded webs.

mod compare;
mod generate;
mod import;
mod list;
mod replay;
mod run;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a synthetic web as a trace.
    Generate(generate::Args),
    /// Turn a public data set or a log of visits into a trace.
    Import(import::Args),
    /// Run policies over a trace and compare what they achieve.
    Compare(compare::Args),
    /// Run a named experiment: the table or figure of a paper, next to the published figures.
    Run(run::Args),
    /// Take every decision of a crawl again and check that each comes out the same.
    Replay(replay::Args),
    /// List experiments, policies, generators and importers.
    List(list::Args),
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Generate(args) => generate::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::List(args) => list::run(&args),
    }
}
