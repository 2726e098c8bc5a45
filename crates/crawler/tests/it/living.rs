//! A living web and a crawler's way to it, for tests that judge from the server's side.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span};
use tidewatch_crawler::{Config, Crawl, Net, Watch};
use tidewatch_fetch::Hosts;
use tidewatch_lab::generate::renewal;
use tidewatch_web::{Accelerated, Habits, Limits, Server, ServerOptions, Site};
use tokio::runtime::Runtime;

/// A number from the environment: tests are small, and larger by hand.
pub(crate) fn size(name: &str, usual: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// A web of pages on hosts of equal size, each with an address of its own, on real time.
pub(crate) fn serve(runtime: &Runtime, hosts: usize, pages: usize, habits: Habits) -> Server {
    let config = renewal::Config {
        pages,
        hosts,
        host_exponent: 0.0,
        duration: Span::MINUTE.times(10),
        rates: renewal::Rates::Gamma { mean_per_day: 4_000.0, squared_cv: 4.6 },
        ..renewal::Config::default()
    };
    let trace = renewal::generate(&config, 3).trace;
    let site = Arc::new(Site::new(trace, 3, habits).unwrap());
    let _inside = runtime.enter();
    let limits = Limits {
        connections: 4 * hosts + 64,
        listeners: hosts,
        // A client may keep its connection while it waits for its turn.
        idle: Duration::from_mins(2),
        log: 1_000_000,
        ..Limits::default()
    };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    Server::start(site, Accelerated::new(Instant::now(), 1.0), &options).unwrap()
}

/// The names of a web, with other addresses for some.
pub(crate) fn hosts(server: &Server, other: impl Fn(&str) -> Option<SocketAddr>) -> Hosts {
    Hosts::of(server.names().iter().map(|(name, at)| (name, other(name).unwrap_or(at))))
}

pub(crate) fn network(runtime: &Runtime, config: &Config, hosts: Hosts) -> Arc<Net> {
    let _inside = runtime.enter();
    Arc::new(Net::with_hosts(config, hosts).unwrap())
}

/// Settings for a web on loopback that keep `gap` to a host.
pub(crate) fn config(gap: Duration) -> Config {
    let mut config = Config { allow_private: true, ..Config::default() };
    config.budget = Rate::per_second(20_000.0).unwrap();
    config.politeness.least_gap = Span::from_micros(gap.as_micros() as u64);
    config.politeness.most_gap = Span::SECOND;
    config.politeness.address_gap = Span::from_micros(1_000);
    config.politeness.first_rest = Span::SECOND;
    config
}

pub(crate) fn open(dir: &Path, config: &Config) -> Crawl {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Crawl::open(dir, config.clone(), i64::try_from(now.as_micros()).unwrap()).unwrap()
}

/// The front page of every host. It need not be there: sitemaps name the others.
pub(crate) fn seeds(server: &Server) -> Vec<CanonicalUrl> {
    let url = |name: &str| CanonicalUrl::parse(&format!("http://{name}/")).unwrap();
    let mut seeds: Vec<_> = server.names().iter().map(|(name, _)| url(name)).collect();
    seeds.sort();
    seeds
}

/// Pages reported as stored.
#[derive(Default)]
pub(crate) struct Stored(pub(crate) Vec<PageId>);

impl Watch for Stored {
    fn stored(&mut self, _: &Crawl, pages: &[PageId]) {
        self.0.extend(pages);
    }
}
