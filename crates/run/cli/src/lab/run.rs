//! `tidewatch lab run`: a named experiment, next to the published figures.

use std::path::PathBuf;

use anyhow::{Result, bail};
use tidewatch_lab::experiment::{self, EXPERIMENTS, Setup};

use super::compare::rayon_pool;
use crate::{output, progress};

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch lab run orders --report orders.html")]
pub(crate) struct Args {
    /// The experiment (`lab list` names them).
    experiment: String,
    /// Folder of a data set, for experiments on real data.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder of a trace, for experiments on any trace.
    #[arg(long, value_name = "DIR", conflicts_with = "data")]
    trace: Option<PathBuf>,
    /// Write a page with tables and plots to this file.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Seed of the first repetition.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repetitions, for confidence intervals.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    repeat: u32,
    /// Size of generated webs, as a multiple of the experiment's own setting.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    scale: f64,
    /// Threads (default: one a core).
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(experiment) = experiment::find(&args.experiment) else {
        let known: Vec<_> = EXPERIMENTS.iter().map(|e| e.name).collect();
        bail!("there is no experiment '{}'; they are {}", args.experiment, known.join(", "));
    };
    let busy = progress::spinner("starting");
    let setup = Setup {
        seed: args.seed,
        repeat: args.repeat,
        scale: args.scale,
        data: args.data.as_deref(),
        trace: args.trace.as_deref(),
        say: &|what: &str| busy.set_message(what.to_owned()),
    };
    let report = rayon_pool(args.threads)?.install(|| (experiment.run)(&setup))?;
    busy.finish_and_clear();
    if let Some(path) = &args.report {
        tidewatch_report::write_report(path, &report)?;
    }
    output::print(&report.to_text(output::width()))
}
