//! Locks a crawl's directory and checks its format version.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;

use crate::StoreError;

/// Format version: incremented whenever written data changes its meaning.
const FORMAT: u32 = 3;

/// The lock on a directory, held until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
}

impl Claim {
    /// Locks a crawl's directory together with other readers. Nothing in it is changed.
    pub(crate) fn share(dir: &Path) -> Result<Claim, StoreError> {
        if !dir.join("format").is_file() {
            return Err(StoreError::NoCrawl { dir: dir.to_owned() });
        }
        let claim = Claim::share_damaged(dir)?;
        check_format(dir)?;
        Ok(claim)
    }

    /// Locks a directory whose format file may be missing or damaged.
    pub(crate) fn share_damaged(dir: &Path) -> Result<Claim, StoreError> {
        let path = dir.join("lock");
        let lock =
            File::open(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
        match lock.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { dir: dir.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::Io { path, source }),
        }
        Ok(Claim { _lock: lock })
    }

    /// Locks the directory for one writer; creates it if it is missing.
    pub(crate) fn take(dir: &Path) -> Result<Claim, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        fs::create_dir_all(dir).map_err(failed(dir))?;
        let format = dir.join("format");
        let is_new = !fs::exists(&format).map_err(failed(&format))?;
        if is_new && has_other_files(dir).map_err(failed(dir))? {
            return Err(StoreError::NotACrawl { dir: dir.to_owned() });
        }
        let path = dir.join("lock");
        let lock = File::create(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { dir: dir.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::Io { path, source }),
        }
        if is_new {
            write_format(&format).map_err(failed(&format))?;
            sync_entry(dir).map_err(failed(dir))?;
        }
        check_format(dir)?;
        Ok(Claim { _lock: lock })
    }
}

/// Fails if the directory's format is another one, or cannot be told.
pub(crate) fn check_format(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join("format");
    let text = fs::read(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
    match format_in(&String::from_utf8_lossy(&text)) {
        Some(FORMAT) => Ok(()),
        Some(found) => {
            let found = found.to_string();
            Err(StoreError::OtherFormat { dir: dir.to_owned(), found, ours: FORMAT })
        }
        None => Err(StoreError::BadFile { path, held: "the format of the crawl" }),
    }
}

/// The text of a format file. It says the number twice, so that a flipped bit is not taken for another
/// format.
fn format_text(format: u32) -> String {
    format!("{format}\nformat {format}\n")
}

/// The number in a format file. Earlier versions wrote it once.
fn format_in(text: &str) -> Option<u32> {
    let format = text.lines().next()?.parse().ok()?;
    (text == format_text(format) || text == format!("{format}\n")).then_some(format)
}

/// Whether `dir` holds more than a crawl leaves that died while being created.
fn has_other_files(dir: &Path) -> io::Result<bool> {
    for file in fs::read_dir(dir)? {
        let name = file?.file_name();
        if name != "lock" && name != "format.new" {
            return Ok(true);
        }
    }
    Ok(false)
}

fn write_format(path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(format_text(FORMAT).as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Syncs a new directory and its entry in its parent: without that a power cut could take all of it.
fn sync_entry(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()?;
    let dir = dir.canonicalize()?;
    dir.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Syncs a directory and all directories below it, so that the names of their files are durable.
pub fn sync_dirs(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_dirs(&entry.path())?;
        }
    }
    File::open(dir)?.sync_all()
}

/// Writes and syncs a file that is removed again, to learn whether the disk takes anything.
pub(crate) fn try_write(dir: &Path) -> io::Result<()> {
    let path = dir.join("probe");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; 4096])?;
        file.sync_all()
    });
    fs::remove_file(&path)?;
    written
}

/// Bytes that are free on the disk of `dir` for ordinary users.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(dir)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
