//! Lists on the command line, where `-` stands for the lines of standard input.

use std::io::{BufRead, stdin};

use anyhow::{Context, Result};

/// Does something with every entry, in order; stops at the first that fails.
pub(crate) fn each(list: &[String], mut act: impl FnMut(&str) -> Result<()>) -> Result<()> {
    for entry in list {
        if entry == "-" {
            for line in stdin().lock().lines() {
                act(&line.context("cannot read the list from standard input")?)?;
            }
        } else {
            act(entry)?;
        }
    }
    Ok(())
}
