//! One HTTP fetch: it says who asks, and is safe whatever the server sends.
//!
//! # The life of a fetch
//!
//! [`Fetcher::fetch`] takes a [`Request`] and returns [`Fetched`]: every exchange and how
//! the fetch ended. Each exchange reuses an open connection to the same origin, or goes
//! through `connect`, which resolves the host and checks every address before dialling it
//! ([`address`]). The response's head is recorded as sent (`tape`); its body is decoded as
//! it arrives, within the memory that [`Limits`] allow (`coding`). The caller decides on
//! every redirect.
//!
//! A failed fetch is an outcome, not an error: [`Failure`] names every way to fail.
//!
//! Invariants: no socket is opened to an address that the policy refuses; time and
//! memory of one fetch are bounded whatever the server sends; each origin has at most one
//! idle connection.

pub mod address;
mod chunks;
mod client;
mod coding;
mod connect;
mod connection;
mod crowd;
mod failure;
mod hosts;
mod limits;
mod resolve;
mod response;
mod tape;

pub use self::{
    address::{AddressPolicy, Block, Special},
    client::{BadRoots, Config, Fetcher, PrivateHeaders, read_roots, user_agent},
    connect::{Dial, Dialling, Proxy, Tcp},
    failure::Failure,
    hosts::{BadHosts, Hosts},
    limits::Limits,
    resolve::{Answer, Dns, Resolve, Table},
    response::{End, Fetched, Hop, Purpose, Request, Response, Validators},
};
/// A root certificate to trust besides Mozilla's.
pub use tokio_rustls::rustls::pki_types::CertificateDer;
