//! Turns `proto/urlfrontier.proto` into Rust, without `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let proto = "proto/urlfrontier.proto";
    println!("cargo::rerun-if-changed={proto}");
    let descriptors = protox::compile([proto], ["proto"])?;
    tonic_prost_build::configure().emit_rerun_if_changed(false).compile_fds(descriptors)?;
    Ok(())
}
