//! Public suites that this project did not write.
//!
//! They are read where they lie, never copied; a test whose suite is absent
//! says so and passes.

use std::path::PathBuf;

/// Reads a suite's file from the shared folder, which lies beside the workspace or
/// where `TIDEWATCH_SHARED` says.
pub(crate) fn shared(path: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared");
    let root = std::env::var_os("TIDEWATCH_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    let file = root.join("suites").join(path);
    let text = std::fs::read_to_string(&file);
    if text.is_err() {
        eprintln!("skipped: {} is not there", file.display());
    }
    text.ok()
}

/// Prints the count and every failure, and fails if there is one.
pub(crate) fn judge(suite: &str, total: usize, failures: &[String]) {
    eprintln!("{suite}: {}/{total}", total - failures.len());
    assert!(failures.is_empty(), "{suite}:\n{}", failures.join("\n"));
}
