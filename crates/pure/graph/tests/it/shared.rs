//! Public data that this project does not hold.
//!
//! It is read where it lies, never copied; a test whose data is absent says so
//! and passes.

use std::path::PathBuf;

/// A file of the shared folder, which lies beside the workspace or where `TIDEWATCH_SHARED` says.
pub(crate) fn shared(path: &str) -> Option<Vec<u8>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared");
    let root = std::env::var_os("TIDEWATCH_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    let file = root.join("data").join(path);
    let bytes = std::fs::read(&file);
    if bytes.is_err() {
        eprintln!("skipped: {} is not there", file.display());
    }
    bytes.ok()
}
