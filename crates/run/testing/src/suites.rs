//! Public test suites and data sets, which are read where they lie and never copied.
//!
//! They lie in a folder named `shared` beside the workspace, or where `TIDEWATCH_SHARED` says. What
//! is missing [skips](crate::skip::skip) the test.

use std::path::PathBuf;

use crate::skip::skip;

/// A file or folder of a test suite.
pub fn suite(path: &str) -> Option<PathBuf> {
    shared("suites", path)
}

/// A file or folder of a data set.
pub fn data(path: &str) -> Option<PathBuf> {
    shared("data", path)
}

fn shared(folder: &str, path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared");
    let root = std::env::var_os("TIDEWATCH_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    let found = root.join(folder).join(path);
    if !found.exists() {
        skip(&format!("there is no {}", found.display()));
        return None;
    }
    Some(found)
}

/// The content of a suite's file.
pub fn bytes(path: &str) -> Option<Vec<u8>> {
    suite(path).map(|file| std::fs::read(file).unwrap())
}

/// The content of a suite's file, which is UTF-8.
pub fn text(path: &str) -> Option<String> {
    suite(path).map(|file| std::fs::read_to_string(file).unwrap())
}

/// All files below a suite's folder, sorted by name.
pub fn files(folder: &str) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![suite(folder)?];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Some(files)
}

/// Prints how many of `total` cases passed. Fails if one failed, or if the suite has fewer than
/// `least` cases: a suite that shrank checks less than it seems to.
pub fn judge(suite: &str, total: usize, least: usize, failures: &[String]) {
    eprintln!("{suite}: {}/{total}", total - failures.len());
    assert!(total >= least, "{suite}: {total} cases, at least {least} expected");
    assert!(failures.is_empty(), "{suite}:\n{}", failures.join("\n"));
}
