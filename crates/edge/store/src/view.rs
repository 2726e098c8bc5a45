//! The tables and the sieve for a reader, which changes nothing in the crawl's directory.
//!
//! The engine cannot open tables without writing: it cuts journals, and may merge tables. So it gets a
//! temporary directory that holds whole batches of the journals, copies of small files, and links to the
//! tables, which never change. What it writes or deletes there is gone with the view.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::journal::Journal;

/// Files up to this size are copied.
const SMALL: u64 = 1 << 16;

/// A temporary directory with `db` and `sieve`; removed when dropped. The journals end before their
/// first damage.
pub(crate) fn of(dir: &Path, journals: &[Journal]) -> io::Result<TempDir> {
    with_journals(dir, journals, Journal::head)
}

/// The same, with the batches behind the damage.
pub(crate) fn of_damaged(dir: &Path, journals: &[Journal]) -> io::Result<TempDir> {
    with_journals(dir, journals, Journal::whole_batches)
}

fn with_journals(
    dir: &Path,
    journals: &[Journal],
    read: impl Fn(&Journal) -> io::Result<Vec<u8>>,
) -> io::Result<TempDir> {
    let view = tempfile::Builder::new().prefix("tidewatch-view-").tempdir()?;
    let db = view.path().join("db");
    mirror(&dir.join("db"), &db)?;
    for journal in journals {
        let name = journal.path.file_name().unwrap_or_default();
        fs::write(db.join(name), read(journal)?)?;
    }
    mirror(&dir.join("sieve"), &view.path().join("sieve"))?;
    Ok(view)
}

/// Copies small files and links large ones, except journals. Skips a missing directory.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        let (path, to, kind) = (file.path(), to.join(file.file_name()), file.metadata()?);
        if path.extension().is_some_and(|ext| ext == "jnl") {
            continue;
        }
        if kind.is_dir() {
            mirror(&path, &to)?;
        } else if kind.len() <= SMALL {
            fs::copy(&path, &to)?;
        } else {
            symlink(path.canonicalize()?, &to)?;
        }
    }
    Ok(())
}
