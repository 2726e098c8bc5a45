//! Hosts and the registrable domains above them.
//!
//! The registrable domain ("example.co.uk") is the part of a host that somebody
//! registered: the public suffix by the Public Suffix List and one label more.
//! Budgets and statistics go by it where hosts are free to make.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{CanonicalUrl, UrlRefused};

/// Longest host name DNS can carry, in text form without the root's dot (RFC 1035 §2.3.4).
const MAX_NAME_BYTES: usize = 253;
/// Longest label of a host name (RFC 1035 §2.3.4).
const MAX_LABEL_BYTES: usize = 63;

impl CanonicalUrl {
    /// The registrable domain, or `None` for IP addresses and for public suffixes themselves.
    ///
    /// Top-level domains absent from the list count as public suffixes of one label.
    pub fn registrable_domain(&self) -> Option<&str> {
        match self.ip() {
            Some(_) => None,
            None => psl::domain_str(self.host()),
        }
    }

    /// The host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        let host = self.host();
        match host.strip_prefix('[') {
            Some(rest) => {
                let inner = rest.strip_suffix(']')?;
                inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
            }
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        }
    }
}

/// Checks that a lower-case domain is a name DNS could resolve, and takes off the root's dot.
///
/// The URL standard admits more (`a..b`, `a,b`, labels of any length). None of it
/// resolves, and a comma in a host would let it pose as another one in a SURT.
pub(super) fn resolvable_name(host: &str) -> Result<&str, UrlRefused> {
    let name = host.strip_suffix('.').unwrap_or(host);
    let fits = name.len() <= MAX_NAME_BYTES && name.split('.').all(is_label);
    fits.then_some(name).ok_or_else(|| UrlRefused::bad_host(host))
}

fn is_label(label: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.bytes().all(is_name_byte)
}
