//! The broker that tests of the cluster start.

use std::path::{Path, PathBuf};

use crate::skip::skip;

/// Names a `nats-server` to use in place of the one that `scripts/test` installs.
const NAMED: &str = "TIDEWATCH_NATS_SERVER";

/// The `nats-server` to start; the calling test should return if there is none.
pub fn server() -> Option<PathBuf> {
    let installed =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/nats/bin/nats-server");
    let found = std::env::var_os(NAMED).map_or(installed, PathBuf::from);
    if found.is_file() {
        return Some(found);
    }
    skip("there is no nats-server; scripts/test installs it into target/nats");
    None
}
