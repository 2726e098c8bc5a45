//! Names with addresses set by the operator: a staging server, a web in a test.
//!
//! The format is that of `/etc/hosts`, an address and its names per line, except that the
//! address may have a port: `127.0.0.1:8080 staging.example`. That port overrides the URL's.
//! The address policy still applies: a private address must be allowed as well.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::{Dial, Dialling, Failure, Resolve, Tcp, resolve::Answer};

/// Names with fixed addresses, and the resolver for all others.
#[derive(Clone, Default)]
pub struct Hosts {
    names: HashMap<String, IpAddr>,
    ports: HashMap<IpAddr, u16>,
    otherwise: Option<Arc<dyn Resolve>>,
}

/// What is wrong with a list of hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHosts {
    /// A line without an address or without a name.
    #[error("line {line} must be an address and a name, such as `127.0.0.1:8080 staging.example`")]
    Line {
        /// Its number.
        line: usize,
    },
    /// One address with two ports.
    #[error("line {line} gives {address} another port than a line before")]
    TwoPorts {
        /// Its number.
        line: usize,
        /// The address.
        address: IpAddr,
    },
}

impl Hosts {
    /// Parses a list; `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self, BadHosts> {
        let mut hosts = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            let mut words = text.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next() else { continue };
            let mut names = words.peekable();
            let bad = BadHosts::Line { line };
            if names.peek().is_none() {
                return Err(bad);
            }
            let (address, port) = match address.parse::<SocketAddr>() {
                Ok(at) => (at.ip(), Some(at.port())),
                Err(_) => (address.parse().map_err(|_| bad)?, None),
            };
            names.for_each(|name| hosts.name(name, address));
            let is_other = |port: u16| hosts.ports.insert(address, port).is_some_and(|p| p != port);
            if port.is_some_and(is_other) {
                return Err(BadHosts::TwoPorts { line, address });
            }
        }
        Ok(hosts)
    }

    /// Maps names to addresses and ports. If an address has two ports, the last counts.
    pub fn of<'n>(names: impl IntoIterator<Item = (&'n str, SocketAddr)>) -> Self {
        let mut hosts = Self::default();
        for (name, at) in names {
            hosts.name(name, at.ip());
            hosts.ports.insert(at.ip(), at.port());
        }
        hosts
    }

    fn name(&mut self, name: &str, address: IpAddr) {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        self.names.insert(name, address);
    }

    /// Resolves unlisted names with `resolver`. Without it they have no address.
    pub fn otherwise(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.otherwise = Some(resolver);
        self
    }
}

impl Resolve for Hosts {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        match (self.names.get(host), &self.otherwise) {
            (Some(&address), _) => Box::pin(async move { Ok(vec![address]) }),
            (None, Some(resolver)) => resolver.resolve(host),
            (None, None) => {
                Box::pin(async move { Err(Failure::NoAddress { host: host.to_owned() }) })
            }
        }
    }
}

impl Dial for Hosts {
    fn dial(&self, to: SocketAddr) -> Dialling {
        let port = self.ports.get(&to.ip()).copied().unwrap_or(to.port());
        Tcp.dial(SocketAddr::new(to.ip(), port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_addresses_and_perhaps_ports() {
        let text = "# mine\n127.0.0.1:8080 A.example b.example # two\n\n[::1]:80 c.example\n::2 d";
        let hosts = Hosts::parse(text).unwrap();
        assert_eq!(hosts.names["a.example"], hosts.names["b.example"]);
        assert_eq!(hosts.ports.len(), 2);
        assert_eq!(hosts.names["d"], "::2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_bad_line_is_named() {
        assert_eq!(Hosts::parse("\nnonsense a").err(), Some(BadHosts::Line { line: 2 }));
        assert_eq!(Hosts::parse("127.0.0.1").err(), Some(BadHosts::Line { line: 1 }));
        let twice = Hosts::parse("127.0.0.1:1 a\n127.0.0.1:2 b").err();
        let address = "127.0.0.1".parse().unwrap();
        assert_eq!(twice, Some(BadHosts::TwoPorts { line: 2, address }));
    }
}
