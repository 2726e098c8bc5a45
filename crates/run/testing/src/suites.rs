//! Public suites that this project did not write.
//!
//! They are read where they lie, never copied; a test whose suite is absent
//! says so and passes.

use std::path::PathBuf;

/// Where a suite's file or folder lies: beside the workspace, or where
/// `TIDEWATCH_SHARED` says.
pub fn suite(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared");
    let root = std::env::var_os("TIDEWATCH_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    let found = root.join("suites").join(path);
    if !found.exists() {
        eprintln!("skipped: {} is not there", found.display());
        return None;
    }
    Some(found)
}

/// Reads a suite's file.
pub fn bytes(path: &str) -> Option<Vec<u8>> {
    suite(path).map(|file| std::fs::read(file).unwrap())
}

/// All files below a suite's folder, in order of their names.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = suite(folder).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Prints the count and every failure, and fails if there is one.
pub fn judge(suite: &str, total: usize, failures: &[String]) {
    eprintln!("{suite}: {}/{total}", total - failures.len());
    assert!(failures.is_empty(), "{suite}:\n{}", failures.join("\n"));
}
