//! A living web on loopback, for tests that judge a crawler from the server's side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewatch_core::Span;
use tidewatch_lab::generate::renewal;
use tidewatch_trace::Trace;
use tidewatch_web::{Accelerated, Limits, ServerOptions, Site, WebHabits, WebServer};
use tokio::runtime::Runtime;

/// The number in the environment variable `name`, or `usual`. Larger runs are started by hand.
pub fn size(name: &str, usual: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// A web with `pages` pages on `hosts` hosts of equal size, which lasts for ten minutes.
pub fn web(hosts: usize, pages: usize) -> renewal::Config {
    let duration = Span::MINUTE.times(10);
    renewal::Config { pages, hosts, host_exponent: 0.0, duration, ..renewal::Config::default() }
}

/// Serves a web in real time, each host at its own loopback address.
pub fn serve(runtime: &Runtime, web: &renewal::Config, seed: u64, habits: WebHabits) -> WebServer {
    serve_at(runtime, web, seed, habits, web.hosts)
}

/// Serves a web in real time at so many loopback addresses, which its hosts share.
pub fn serve_at(
    runtime: &Runtime,
    web: &renewal::Config,
    seed: u64,
    habits: WebHabits,
    addresses: usize,
) -> WebServer {
    serve_trace(runtime, renewal::generate(web, seed).trace, seed, habits, addresses)
}

/// Serves a trace in the same way.
pub fn serve_trace(
    runtime: &Runtime,
    trace: Trace,
    seed: u64,
    habits: WebHabits,
    addresses: usize,
) -> WebServer {
    let limits = Limits {
        connections: 4 * trace.hosts.len() + 64,
        listeners: addresses,
        // A polite client keeps its connection while it waits.
        idle: Duration::from_mins(2),
        log: 1_000_000,
        ..Limits::default()
    };
    let site = Arc::new(Site::new(trace, seed, habits).unwrap());
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let _inside = runtime.enter();
    WebServer::start(site, Accelerated::new(Instant::now(), 1.0), &options).unwrap()
}
