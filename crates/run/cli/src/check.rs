//! `tidewatch check`: is a crawl's directory whole?

use std::path::PathBuf;

use anyhow::{Result, bail};
use tidewatch_service::{CheckedPart, Remedy};

use crate::{output, progress};

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch check --dir news")]
pub(crate) struct Args {
    /// The crawl's directory; no crawl may be running there.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let busy = progress::spinner("starting");
    let parts = tidewatch_service::check(&args.dir, &|what| busy.set_message(what.to_owned()))?;
    busy.finish_and_clear();
    if args.json {
        output::print(&(serde_json::to_string_pretty(&parts)? + "\n"))?;
    } else {
        output::print(&parts.iter().map(lines).collect::<String>())?;
    }
    if parts.iter().any(CheckedPart::has_loss) {
        bail!("{} is damaged", args.dir.display());
    }
    Ok(())
}

fn lines(part: &CheckedPart) -> String {
    let state = if part.problems.is_empty() { "whole" } else { "damaged" };
    let holds = if part.holds.is_empty() { String::new() } else { format!(" ({})", part.holds) };
    let mut lines = vec![format!("{}: {state}{holds}", part.path)];
    lines.extend(part.problems.iter().map(|problem| {
        let then = match problem.remedy {
            Remedy::Rebuilt => "the next start rebuilds it",
            Remedy::FetchedAgain => "what is lost is fetched again when it is due",
            Remedy::Restore => "run `tidewatch repair`, or restore the directory from a copy",
        };
        format!("  {}; {then}", problem.what)
    }));
    lines.extend((part.more > 0).then(|| format!("  and {} more", part.more)));
    lines.join("\n") + "\n"
}
