//! What the command prints, and where.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};

/// Columns of a table where the output is not a terminal that says.
const PLAIN_WIDTH: usize = 120;

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
