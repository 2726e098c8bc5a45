//! A living web and a crawler's way to it, for tests that judge from the server's side.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_lab::generate::renewal;
use tidewatch_partition::{Clock, Config, Net, Partition, Stop, Watch};
use tidewatch_testing::living;
pub(crate) use tidewatch_testing::living::size;
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

/// A web whose pages change several times while a test runs.
pub(crate) fn serve(runtime: &Runtime, hosts: usize, pages: usize, habits: WebHabits) -> WebServer {
    serve_at(runtime, hosts, pages, habits, hosts)
}

/// The same at so many addresses, which its hosts share.
pub(crate) fn serve_at(
    runtime: &Runtime,
    hosts: usize,
    pages: usize,
    habits: WebHabits,
    addresses: usize,
) -> WebServer {
    let rates = renewal::Rates::Gamma { mean_per_day: 4_000.0, squared_cv: 4.6 };
    let web = renewal::Config { rates, ..living::web(hosts, pages) };
    living::serve_at(runtime, &web, 3, habits, addresses)
}

/// The names of a web, with other addresses for some.
pub(crate) fn hosts(server: &WebServer, other: impl Fn(&str) -> Option<SocketAddr>) -> Hosts {
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
    config.revisit.usual = Span::ZERO;
    config
}

pub(crate) fn open(dir: &Path, config: &Config) -> Partition {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Partition::open(dir, config.clone(), i64::try_from(now.as_micros()).unwrap()).unwrap()
}

/// The front page of every host. It need not be there: sitemaps name the others.
pub(crate) fn seeds(server: &WebServer) -> Vec<CanonicalUrl> {
    let url = |name: &str| CanonicalUrl::parse(&format!("http://{name}/")).unwrap();
    let mut seeds: Vec<_> = server.names().iter().map(|(name, _)| url(name)).collect();
    seeds.sort();
    seeds
}

/// Opens a crawl in `dir`, seeds it with all front pages and runs it for `length`.
pub(crate) fn crawl(
    runtime: &Runtime,
    server: &WebServer,
    config: &Config,
    dir: &Path,
    length: Duration,
    watch: &mut dyn Watch,
) -> Partition {
    let mut crawl = open(dir, config);
    let now = Clock::of(&crawl).now();
    for seed in seeds(server) {
        crawl.seed(&seed, now).unwrap();
    }
    run(runtime, server, config, &mut crawl, length, watch);
    crawl
}

/// Runs a crawl of a web for `length`.
pub(crate) fn run(
    runtime: &Runtime,
    server: &WebServer,
    config: &Config,
    crawl: &mut Partition,
    length: Duration,
    watch: &mut dyn Watch,
) {
    let net = network(runtime, config, hosts(server, |_| None));
    let stop = Stop { after: Some(length), ..Stop::default() };
    tidewatch_partition::run(crawl, &net, runtime.handle(), &stop, watch).unwrap();
}

/// Pages reported as stored.
#[derive(Default)]
pub(crate) struct Stored(pub(crate) Vec<PageId>);

impl Watch for Stored {
    fn stored(&mut self, _: &Partition, pages: &[PageId]) {
        self.0.extend(pages);
    }
}
