//! `tidewatch lab list`: what the lab knows by name.

use anyhow::Result;
use serde::Serialize;
use tidewatch_lab::{experiment, generate::kinds::KINDS, import::FORMATS, policies};
use tidewatch_report::{Cell, Column, Table};

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch lab list")]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Known {
    experiments: Vec<Named>,
    policies: Vec<Named>,
    generators: Vec<Named>,
    importers: Vec<Named>,
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
    about: &'static str,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let known = Known {
        experiments: experiment::EXPERIMENTS
            .iter()
            .map(|e| Named { name: e.name, about: e.about })
            .collect(),
        policies: policies::all().map(|p| Named { name: p.name, about: p.about }).collect(),
        importers: FORMATS.iter().map(|f| Named { name: f.name, about: f.about }).collect(),
        generators: KINDS.iter().map(|k| Named { name: k.name, about: k.about }).collect(),
    };
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&known)? + "\n"));
    }
    let parts = [
        ("experiment", &known.experiments),
        ("policy", &known.policies),
        ("generator", &known.generators),
        ("importer", &known.importers),
    ];
    let text = parts.map(|(what, list)| table(what, list).to_text(output::width()));
    output::print(&text.join("\n"))
}

fn table(what: &str, list: &[Named]) -> Table {
    let mut table = Table::new([Column::text(what), Column::text("what it is")]);
    list.iter().for_each(|entry| table.push([Cell::text(entry.name), Cell::text(entry.about)]));
    table
}
