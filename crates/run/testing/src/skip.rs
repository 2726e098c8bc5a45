//! Tests that need what a machine may lack: shared data, a browser, a feature of the file system.
//!
//! A skipped test is not a passed test. With `CI` set, [`skip`] fails. Elsewhere it prints what
//! was skipped and why, past the capture of the test harness, and appends the same line to the file
//! that `TIDEWATCH_SKIPPED` names; `scripts/test` prints the count of those lines at its end.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Names the file to which skipped tests are appended.
const LIST: &str = "TIDEWATCH_SKIPPED";

/// Says that the calling test checks nothing, because of `why`. The test should return.
///
/// # Panics
/// Panics in CI, where nothing may be skipped.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let line = format!("skipped: {package} {}: {why}\n", thread.name().unwrap_or("a test"));
    assert!(!is_ci(), "{why}; no test may be skipped while CI is set");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(LIST) {
        // One write for the whole line: several test binaries append at once.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}
