//! The list of the sieve's runs. Replaced atomically.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tidewatch_core::PageId;

use super::run::Run;

const NAME: &str = "manifest";
const NEW: &str = "manifest.new";

#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) runs: Vec<String>,
    pub(super) covers: PageId,
    pub(super) serial: u64,
}

impl Manifest {
    /// The manifest of a directory; an absent or unreadable one is empty.
    pub(super) fn read(dir: &Path) -> io::Result<Manifest> {
        match std::fs::read_to_string(dir.join(NAME)) {
            Ok(text) => Ok(Manifest::parse(&text).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Manifest::default()),
            Err(error) => Err(error),
        }
    }

    /// One line of numbers, then one line per run.
    fn parse(text: &str) -> Option<Manifest> {
        let mut lines = text.lines();
        let (covers, serial) = lines.next()?.split_once(' ')?;
        Some(Manifest {
            covers: PageId(covers.parse().ok()?),
            serial: serial.parse().ok()?,
            runs: lines.map(str::to_owned).collect(),
        })
    }

    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let mut file = File::create(dir.join(NEW))?;
        writeln!(file, "{} {}", self.covers.0, self.serial)?;
        self.runs.iter().try_for_each(|run| writeln!(file, "{run}"))?;
        file.sync_all()?;
        std::fs::rename(dir.join(NEW), dir.join(NAME))?;
        File::open(dir)?.sync_all()
    }
}

/// Removes the manifest, and with it all runs at the next start.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    match std::fs::remove_file(dir.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes run files that the manifest does not name: leftovers of a crash.
pub(super) fn remove_others(dir: &Path, runs: &[Run]) -> io::Result<()> {
    for file in std::fs::read_dir(dir)? {
        let path = file?.path();
        let is_run =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
        if is_run && runs.iter().all(|run| run.path != path) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
