//! Resolves host names to addresses.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::time::Duration;

use hickory_resolver::{
    TokioResolver,
    config::{CLOUDFLARE, ResolveHosts, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
};

use crate::Failure;

/// A pending lookup.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, Failure>> + Send + 'a>>;

/// Resolves host names.
pub trait Resolve: Send + Sync {
    /// The addresses of `host`, lower-case without a trailing dot; never an empty list.
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a>;
}

/// Resolves by DNS, through the system's configured servers. Answers, negative ones too, are
/// cached for their TTL.
pub struct Dns {
    resolver: TokioResolver,
}

/// Cached answers; a crawl resolves many hosts.
const CACHED_NAMES: u64 = 100_000;

/// Longest time that a negative answer is cached.
const MAX_NEGATIVE_TTL: Duration = Duration::from_hours(1);

impl Dns {
    /// Uses the system's servers, or a public one if none are configured.
    pub fn system() -> Result<Self, Failure> {
        let fallback = || {
            let config = ResolverConfig::udp_and_tcp(&CLOUDFLARE);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|_| fallback());
        let options = builder.options_mut();
        // The hosts file would make names of the local network reachable.
        options.use_hosts_file = ResolveHosts::Never;
        options.cache_size = CACHED_NAMES;
        options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
        options.timeout = Duration::from_secs(5);
        options.attempts = 2;
        let failed = |error: hickory_resolver::net::NetError| Failure::Dns {
            host: String::new(),
            why: error.to_string(),
        };
        Ok(Self { resolver: builder.build().map_err(failed)? })
    }
}

impl Resolve for Dns {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        Box::pin(async move {
            // The trailing dot disables search domains.
            match self.resolver.lookup_ip(format!("{host}.")).await {
                Ok(found) => some(host, found.iter().collect()),
                Err(error) if error.is_no_records_found() || error.is_nx_domain() => {
                    Err(Failure::NoAddress { host: host.to_owned() })
                }
                Err(error) => Err(Failure::Dns { host: host.to_owned(), why: error.to_string() }),
            }
        })
    }
}

/// Resolves from a fixed table: for tests, and for webs outside the DNS.
#[derive(Debug, Clone, Default)]
pub struct Table {
    names: HashMap<String, Vec<IpAddr>>,
    otherwise: Vec<IpAddr>,
}

impl Table {
    /// Knows these names and no others.
    pub fn of(names: impl IntoIterator<Item = (String, Vec<IpAddr>)>) -> Self {
        Self { names: names.into_iter().collect(), otherwise: Vec::new() }
    }

    /// Resolves every other name to `addresses`.
    pub fn otherwise(mut self, addresses: Vec<IpAddr>) -> Self {
        self.otherwise = addresses;
        self
    }
}

impl Resolve for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        let found = self.names.get(host).unwrap_or(&self.otherwise).clone();
        Box::pin(async move { some(host, found) })
    }
}

fn some(host: &str, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Failure> {
    if found.is_empty() {
        return Err(Failure::NoAddress { host: host.to_owned() });
    }
    Ok(found)
}

/// Addresses of `localhost` and its subdomains; no resolver is asked (RFC 6761 §6.3).
pub(crate) fn built_in(host: &str) -> Option<Vec<IpAddr>> {
    let is_local = host == "localhost" || host.ends_with(".localhost");
    is_local.then(|| vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
}
