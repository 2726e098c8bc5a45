//! `tidewatch repair`: rebuilds a damaged crawl in a new directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tidewatch_partition::Rebuilt;
use tidewatch_service::{repair, repaired_dir};

use crate::{output, progress};

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch repair --dir news\n\nThe damaged directory is only read. \
    Pages, copies, history and frontier are rebuilt from what is readable of its tables and from its \
    archive; `check` tells what is damaged."
)]
pub(crate) struct Args {
    /// The damaged crawl's directory; no crawl may be running there.
    #[arg(long)]
    dir: PathBuf,
    /// The new directory, empty or missing. Default: DIR.repaired, beside DIR.
    #[arg(long)]
    to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let to = args.to.clone().unwrap_or_else(|| repaired_dir(&args.dir));
    let busy = progress::spinner("starting");
    let rebuilt = repair(&args.dir, &to, &|what| busy.set_message(what.to_owned()))?;
    busy.finish_and_clear();
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&rebuilt)? + "\n"));
    }
    let mut text: String = rebuilt.iter().map(told).collect();
    writeln!(text, "{}", advice(&args.dir, &to))?;
    output::print(&text)
}

fn advice(dir: &Path, to: &Path) -> String {
    let (dir, to) = (dir.display(), to.display());
    format!(
        "The repaired crawl is in {to}; {dir} is as it was. Go on with `tidewatch crawl --dir {to}`, and \
         delete {dir} once you are content."
    )
}

/// What a partition holds and what is lost, in sentences.
fn told(rebuilt: &Rebuilt) -> String {
    let Rebuilt { pages, pages_before, copies_kept, copies_from_archive, .. } = rebuilt;
    let mut lines = Vec::new();
    if let Some(why) = &rebuilt.unreadable_tables {
        lines.push(format!("The tables could not be read: {why}."));
    }
    lines.extend(
        rebuilt.cut_journals.iter().map(|file| format!("{file} could not be read to its end.")),
    );
    lines.push(format!(
        "Pages: {pages} of {pages_before} known before; {} of them were found again in the archive.",
        rebuilt.pages_found_again
    ));
    lines.push(format!(
        "Copies: {copies_kept} kept, {copies_from_archive} made anew from the archive, {} lost.",
        rebuilt.copies_lost
    ));
    lines.push(format!(
        "History: {} of {} batches of the tape; what came after is rebuilt from the archive.",
        rebuilt.batches, rebuilt.batches_before
    ));
    lines.extend(rebuilt.archive_damage.iter().map(|damage| format!("Unreadable: {damage}.")));
    lines.extend(rebuilt.lost.iter().map(|url| format!("Lost: the copy of {url}.")));
    let more = rebuilt.copies_lost.saturating_sub(rebuilt.lost.len() as u64);
    lines.extend((more > 0).then(|| format!("Lost: {more} more copies.")));
    if !rebuilt.has_loss() {
        lines.push("Nothing is lost.".to_owned());
    }
    lines.join("\n") + "\n"
}
