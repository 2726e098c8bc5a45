//! The directory: one process at a time, and nothing else in it.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::Path;

use crate::KeeperError;

/// Content of `DIR/format`. The number is incremented whenever written data changes its meaning.
const FORMAT: &str = "tidewatch frontier 1\n";

/// Whether a directory holds an order of fetches for other crawlers, of any version.
pub fn is_frontier(dir: &Path) -> bool {
    let format = fs::read_to_string(dir.join("format")).unwrap_or_default();
    format.starts_with("tidewatch frontier ")
}

/// The lock on a directory, held until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
}

impl Claim {
    /// Locks the directory; creates it if it is missing.
    pub(crate) fn take(dir: &Path) -> Result<Claim, KeeperError> {
        let failed = |source| KeeperError::Io { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let format = dir.join("format");
        let is_new = !fs::exists(&format).map_err(failed)?;
        let is_other = |name: &std::ffi::OsStr| name != "lock" && name != "format.new";
        let mut files = fs::read_dir(dir).map_err(failed)?.filter_map(Result::ok);
        if is_new && files.any(|file| is_other(&file.file_name())) {
            return Err(KeeperError::NotAFrontier { dir: dir.to_owned() });
        }
        if !is_new && fs::read_to_string(&format).map_err(failed)? != FORMAT {
            return Err(KeeperError::NotAFrontier { dir: dir.to_owned() });
        }
        let lock = File::create(dir.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(KeeperError::InUse { dir: dir.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        if is_new {
            write_whole(dir, "format", |file| file.write_all(FORMAT.as_bytes())).map_err(failed)?;
            sync_entry(dir).map_err(failed)?;
        }
        Ok(Claim { _lock: lock })
    }
}

/// Syncs a new directory's entry in its parent: without that a power cut could take all of it.
fn sync_entry(dir: &Path) -> std::io::Result<()> {
    let dir = dir.canonicalize()?;
    dir.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Replaces a file atomically and syncs it.
pub(crate) fn write_whole(
    dir: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let new = dir.join(format!("{name}.new"));
    let mut file = File::create(&new)?;
    write(&mut file)?;
    file.sync_all()?;
    fs::rename(&new, dir.join(name))?;
    File::open(dir)?.sync_all()
}
