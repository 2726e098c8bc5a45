//! One HTTP fetch: polite to say who asks, safe whatever answers.
//!
//! # The life of a fetch
//!
//! [`Fetcher::fetch`] takes a [`Request`] and gives back [`Fetched`]: every exchange
//! made and how it ended. Each exchange takes an open connection to the same origin, or
//! goes through `connect`, where the host becomes addresses and every address is checked
//! before it is dialled ([`address`]). The answer's head is recorded as it came (`tape`)
//! and its body decoded as it arrives, into no more memory than [`Limits`] say
//! (`coding`). A redirect is followed only if the caller agrees, hop by hop.
//!
//! A failed fetch is an outcome, not an error: [`Failure`] names every way to fail.
//!
//! Invariants: no socket is opened to an address that the policy refuses; time and
//! memory of one fetch are bounded whatever the server sends; there is at most one open
//! idle connection an origin.

pub mod address;
mod client;
mod coding;
mod connect;
mod failure;
mod hosts;
mod limits;
mod resolve;
mod response;
mod tape;

pub use self::{
    address::{AddressPolicy, Block, Special},
    client::{Config, Fetcher, user_agent},
    connect::{Dial, Dialling, Proxy, Tcp},
    failure::Failure,
    hosts::{BadHosts, Hosts},
    limits::Limits,
    resolve::{Answer, Dns, Resolve, Table},
    response::{End, Fetched, Hop, Purpose, Request, Response, Validators},
};
/// A root certificate to trust besides Mozilla's.
pub use tokio_rustls::rustls::pki_types::CertificateDer;
