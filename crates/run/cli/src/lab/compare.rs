//! `tidewatch lab compare`: policies side by side on one trace.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use tidewatch_core::{Rate, Span};
use tidewatch_lab::compare::{Contest, compare};
use tidewatch_lab::{Settings, Start, World, policies};

use crate::{output, progress, table_out};

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch lab compare --trace news --policies bfs,uniform,omniscient --budget 0.1 --measure-last 7d"
)]
pub(crate) struct Args {
    /// Directory of the trace.
    #[arg(long, value_name = "DIR")]
    trace: PathBuf,
    /// Policies, separated by commas (`lab list` names them).
    #[arg(long, value_delimiter = ',', required = true, value_name = "A,B,C")]
    policies: Vec<String>,
    /// Fetches per second, or like 300/min, 2/h.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    budget: Rate,
    /// Measure only this last part of the run.
    #[arg(long, value_name = "SPAN")]
    measure_last: Option<Span>,
    /// How often clicks become visible to policies.
    #[arg(long, default_value = "1h", value_name = "SPAN")]
    log_push: Span,
    /// What is in the collection when the crawl begins.
    #[arg(long, value_enum, default_value_t = StartArg::Warm)]
    start: StartArg,
    /// Servers tell when a page last changed.
    #[arg(long)]
    last_modified: bool,
    /// Fragment hashes of a page that a policy sees.
    #[arg(long, default_value_t = tidewatch_core::sketch::SKETCH_LEN, value_name = "N")]
    sketch: usize,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repetitions with other seeds, for confidence intervals.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Threads (default: one a core).
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Write the figures as JSON to this file (- for standard output).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with tables and plots to this file.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum StartArg {
    /// Everything that exists at time 0 has been fetched.
    Warm,
    /// Nothing has been fetched; only seeds are known.
    Cold,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let named = args.policies.iter().map(|name| policies::find(name.trim()));
    let contest = Contest {
        policies: named.collect::<Result<_, _>>()?,
        settings: settings(args),
        seed: args.seed,
        repeat: args.repeat,
    };
    ensure!(!contest.policies.is_empty(), "name at least one policy after --policies");
    let reading = progress::spinner("reading the trace");
    let world = World::new(tidewatch_trace::read(&args.trace)?)?;
    reading.finish_and_clear();
    let pool = rayon_pool(args.threads)?;
    let runs = contest.policies.len() as u64 * u64::from(args.repeat);
    let bar = progress::bar(runs, "running policies");
    let comparison = pool.install(|| compare(&world, &contest, || bar.inc(1)))?;
    bar.finish_and_clear();
    if let Some(path) = &args.report {
        tidewatch_report::write_report(path, &comparison.report())?;
    }
    match &args.json {
        Some(path) if path.as_os_str() == "-" => output::print(&comparison.to_json()),
        json => {
            if let Some(path) = json {
                table_out::write_file(path, &comparison.to_json())?;
            }
            let table = comparison.table().to_text(output::width());
            output::print(&format!("{}\n\n{table}", comparison.conditions()))
        }
    }
}

fn settings(args: &Args) -> Settings {
    Settings {
        measure_last: args.measure_last,
        log_push: args.log_push,
        start: match args.start {
            StartArg::Warm => Start::Warm,
            StartArg::Cold => Start::Cold,
        },
        sketch_len: args.sketch,
        last_modified: args.last_modified,
        ..Settings::new(args.budget)
    }
}

pub(crate) fn rayon_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.context("cannot start worker threads")
}
