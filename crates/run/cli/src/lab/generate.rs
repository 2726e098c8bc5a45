//! `tidewatch lab generate`: a synthetic web as a trace.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use tidewatch_lab::generate::kinds::{self, GeneratorOptions, KINDS};
use tidewatch_trace::Format;

use crate::{output, progress};

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch lab generate echo -o news --seed 7")]
pub(crate) struct Args {
    /// What to generate (`lab list` names the kinds).
    kind: String,
    /// Directory to write; it must not exist or be empty.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size, as a multiple of the published setting.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    scale: f64,
    /// How tables are stored.
    #[arg(long, value_enum, default_value_t = FormatArg::CsvZst)]
    format: FormatArg,
    /// Replace a trace that is already there.
    #[arg(long)]
    overwrite: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Csv,
    #[value(name = "csv.gz")]
    CsvGz,
    #[value(name = "csv.zst")]
    CsvZst,
    Parquet,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Csv => Format::Csv,
            FormatArg::CsvGz => Format::CsvGz,
            FormatArg::CsvZst => Format::CsvZst,
            FormatArg::Parquet => Format::Parquet,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(kind) = kinds::find(&args.kind) else {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        bail!("there is no generator '{}'; the kinds are {}", args.kind, known.join(", "));
    };
    let busy = progress::spinner("generating");
    let options = GeneratorOptions { seed: args.seed, scale: args.scale };
    let generated = (kind.make)(&options).context("cannot generate")?;
    busy.set_message("writing");
    let write = if args.overwrite { tidewatch_trace::replace } else { tidewatch_trace::write };
    write(&args.out, &generated.trace, args.format.into())?;
    busy.finish_and_clear();
    let table = generated.table().to_text(output::width());
    output::print(&format!("{table}\nWrote the trace to {}\n", args.out.display()))
}
