//! Integration tests of the fetch crate, in one binary. All sockets are on loopback.

#![allow(clippy::unwrap_used)]

mod bombs;
mod exchange;
mod forgiven;
mod limits;
mod private;
mod redirects;
mod server;
mod ssrf;
mod tls;

/// The command's allocator: memory is measured here, and the system's may grow a buffer in place where this
/// one copies it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
