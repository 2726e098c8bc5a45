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
