//! Writes a report to a file atomically.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Report;

/// Errors of writing a report.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No file can be created in the folder.
    #[error(
        "could not create a file for the report in the folder {}: {source}; check that the folder exists and may be written to",
        folder.display()
    )]
    Create {
        /// The folder of the report.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Writing or renaming failed; an old file is untouched.
    #[error(
        "could not write the report to {}: {source}; check the free space and that no folder has this name",
        path.display()
    )]
    Write {
        /// The target file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Writes the report beside `path` under a temporary name, then renames it: `path` holds either
/// its old content or the whole report.
pub fn write_report(path: impl AsRef<Path>, report: &Report) -> Result<(), WriteError> {
    let path = path.as_ref();
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = create(folder)
        .map_err(|source| WriteError::Create { folder: folder.to_owned(), source })?;
    let failed = |source| WriteError::Write { path: path.to_owned(), source };
    file.write_all(report.to_html().as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A temporary file with the usual permissions of new files.
fn create(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-").suffix(".html");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The process's umask still applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        std::fs::write(&path, "old").unwrap();
        write_report(&path, &Report::new("new")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), Report::new("new").to_html());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_the_place_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("absent").join("report.html");
        let message = write_report(&missing, &Report::new("x")).unwrap_err().to_string();
        assert!(message.contains("absent"), "{message}");

        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        let message = write_report(&taken, &Report::new("x")).unwrap_err().to_string();
        assert!(message.contains("taken"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
