//! What the command prints, and where.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use tidewatch_lab::LabError;
use tidewatch_partition::CrawlError;
use tidewatch_service::ServiceError;

/// Columns of a table where the output is not a terminal that says.
const PLAIN_WIDTH: usize = 120;

/// Wrong usage: the command exits with 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code of an error: 2 for wrong usage, an unknown policy included, else 1.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    let is_usage = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<Usage>()
            || matches!(cause.downcast_ref(), Some(LabError::UnknownPolicy { .. }))
            || matches!(
                cause.downcast_ref(),
                Some(ServiceError::Crawl(CrawlError::UnknownPolicy(_)))
            )
    };
    if error.chain().any(is_usage) { 2 } else { 1 }
}

/// Prints to standard output. A reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Says what went wrong: the sentence and those of its causes that it does not name already.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.contains(&cause) {
            said = if said.is_empty() { cause } else { format!("{said}: {cause}") };
        }
    }
    eprintln!("tidewatch: {said}");
}

/// Columns there are for a table.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.unwrap_or(PLAIN_WIDTH).max(40)
}

/// Whether a person watches standard error.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}
