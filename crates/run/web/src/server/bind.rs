//! Addresses of hosts, and the map that replaces DNS.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

use super::ServerOptions;
use crate::error::WebError;
use crate::site::Site;

/// Attempts to find a port that is free on all addresses.
const ATTEMPTS: usize = 16;

/// The address of each host name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<HashMap<Box<str>, SocketAddr>>);

impl Names {
    /// The address of a host name (lower case, without port).
    pub fn resolve(&self, name: &str) -> Option<SocketAddr> {
        self.0.get(name).copied()
    }

    /// Every name and its address, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.0.iter().map(|(name, address)| (&**name, *address))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

type Listeners = Vec<(TcpListener, SocketAddr)>;

/// Binds the addresses of all hosts and assigns them.
pub(super) fn bind(site: &Site, options: &ServerOptions) -> Result<(Listeners, Names), WebError> {
    let hosts = site.trace().hosts.len().max(1);
    let wanted = hosts.min(options.limits.listeners.max(1)).min(usize::from(u16::MAX));
    let listeners = if options.one_address {
        vec![listen(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)))?]
    } else {
        match bind_many(wanted, options.port) {
            Ok(listeners) => listeners,
            // Some systems allow only 127.0.0.1.
            Err(_) => vec![listen(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)))?],
        }
    };
    let names = site.names().map(|(name, host)| {
        let (_, address) = &listeners[host as usize % listeners.len()];
        (name.into(), *address)
    });
    let names = Names(Arc::new(names.collect()));
    Ok((listeners, names))
}

/// Binds `count` addresses on one port.
fn bind_many(count: usize, port: u16) -> Result<Listeners, WebError> {
    let mut attempt = 1;
    loop {
        match bind_on(count, port) {
            Err(WebError::Listen { source, .. })
                if source.kind() == io::ErrorKind::AddrInUse && port == 0 && attempt < ATTEMPTS =>
            {
                attempt += 1;
            }
            result => return result,
        }
    }
}

fn bind_on(count: usize, port: u16) -> Result<Listeners, WebError> {
    let first = listen(SocketAddr::new(address(0), port))?;
    let port = first.1.port();
    let mut listeners = vec![first];
    for number in 1..count {
        match listen(SocketAddr::new(address(number), port)) {
            Ok(listener) => listeners.push(listener),
            Err(WebError::Listen { source, .. }) if is_out_of_sockets(&source) => {
                // Leave some for clients; hosts share the rest.
                listeners.truncate((listeners.len() / 2).max(1));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(listeners)
}

/// `EMFILE` or `ENFILE`: the limit of the process or of the system.
fn is_out_of_sockets(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), WebError> {
    let refuse = |source| WebError::Listen { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(refuse)?;
    listener.set_nonblocking(true).map_err(refuse)?;
    let listener = TcpListener::from_std(listener).map_err(refuse)?;
    let bound = listener.local_addr().map_err(refuse)?;
    Ok((listener, bound))
}

/// The loopback address of a listener: 127.77.0.1, 127.77.0.2, ….
fn address(number: usize) -> IpAddr {
    let [high, low] = ((number + 1) as u16).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, 77, high, low))
}
