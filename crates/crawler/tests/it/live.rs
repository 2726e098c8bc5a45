//! A crawl over real sockets, judged from the server's side.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span};
use tidewatch_crawler::{Clock, Config, Crawl, Ended, Net, Stop, Watch};
use tidewatch_fetch::{AddressPolicy, Dial, Dialling, Fetcher, Table, Tcp};
use tidewatch_lab::generate::renewal;
use tidewatch_web::{Accelerated, Habits, Logged, Server, ServerOptions, Site};
use tokio::runtime::Runtime;

const GAP: Duration = Duration::from_millis(60);

/// Dials the port that the living web listens on.
struct AtPort(u16);

impl Dial for AtPort {
    fn dial(&self, to: SocketAddr) -> Dialling {
        Tcp.dial(SocketAddr::new(to.ip(), self.0))
    }
}

fn serve(runtime: &Runtime) -> Server {
    let hosts = 30;
    let config =
        renewal::Config { pages: 600, hosts, duration: Span::DAY, ..renewal::Config::default() };
    let trace = renewal::generate(&config, 3).trace;
    let site = Arc::new(Site::new(trace, 3, Habits::default()).unwrap());
    let _inside = runtime.enter();
    let clock = Accelerated::new(Instant::now(), 60.0);
    Server::start(site, clock, &ServerOptions::default()).unwrap()
}

fn network(server: &Server) -> Net {
    let names: Vec<(String, SocketAddr)> =
        server.names().iter().map(|(name, at)| (name.to_owned(), at)).collect();
    let port = names[0].1.port();
    let table = names.iter().map(|(name, at)| (name.clone(), vec![at.ip()]));
    let resolver = Arc::new(Table::of(table));
    let mut config = tidewatch_fetch::Config::new("Tidewatch/test");
    config.addresses = AddressPolicy { allow_all: true, ..AddressPolicy::default() };
    let fetcher = Fetcher::with(config, resolver.clone() as _, Arc::new(AtPort(port))).unwrap();
    Net::new(fetcher, resolver, "Tidewatch", 1)
}

fn open(dir: &std::path::Path) -> Crawl {
    let mut config = Config { budget: Rate::per_second(1_000.0).unwrap(), ..Config::default() };
    config.politeness.least_gap = Span::from_micros(GAP.as_micros() as u64);
    config.politeness.most_gap = Span::SECOND;
    config.politeness.address_gap = Span::from_micros(1_000);
    // The living web counts delays in its own time, a minute to our second.
    config.politeness.most_delay = Span::from_micros(200_000);
    config.politeness.most_rest = Span::SECOND;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Crawl::open(dir, config, i64::try_from(now.as_micros()).unwrap()).unwrap()
}

#[derive(Default)]
struct Stored(Vec<PageId>);

impl Watch for Stored {
    fn stored(&mut self, _: &Crawl, pages: &[PageId]) {
        self.0.extend(pages);
    }
}

#[test]
fn servers_see_a_polite_crawler_that_goes_on_after_a_stop() {
    let runtime = Runtime::new().unwrap();
    let server = serve(&runtime);
    let net = Arc::new(network(&server));
    let dir = tempfile::tempdir().unwrap();
    let seeds: Vec<CanonicalUrl> = server
        .names()
        .iter()
        .map(|(name, _)| CanonicalUrl::parse(&format!("http://{name}/")).unwrap())
        .collect();
    let mut stored = Stored::default();
    for part in 0..3 {
        let mut crawl = open(dir.path());
        let now = Clock::of(&crawl).now();
        for seed in seeds.iter().filter(|_| part == 0) {
            crawl.seed(seed, now).unwrap();
        }
        let stop = Stop { after: Some(Duration::from_secs(2)), ..Stop::default() };
        let began = Instant::now();
        let ended =
            tidewatch_crawler::run(&mut crawl, &net, runtime.handle(), &stop, &mut stored).unwrap();
        assert_eq!(ended, Ended::Time);
        assert!(began.elapsed() < Duration::from_secs(8), "it ends soon after its time");
    }
    let crawl = open(dir.path());
    for page in &stored.0 {
        assert!(crawl.store().tables().copy(*page).unwrap().is_some(), "{page:?} was stored");
    }
    assert!(stored.0.len() > 100, "{} pages stored", stored.0.len());
    judge(&server);
}

/// What the server saw: one connection at a time, gaps kept, robots.txt obeyed.
fn judge(server: &Server) {
    let log = server.log();
    assert!(log.most_connections().iter().all(|&most| most <= 1), "{:?}", log.most_connections());
    let requests = log.requests();
    let lured: Vec<&Logged> =
        requests.iter().filter(|request| request.path.starts_with("/private/")).collect();
    assert!(lured.is_empty(), "{lured:?}");
    let mut by_address: BTreeMap<IpAddr, Vec<&Logged>> = BTreeMap::new();
    for request in &requests {
        by_address.entry(request.local.ip()).or_default().push(request);
    }
    for (address, mut requests) in by_address {
        requests.sort_by_key(|request| request.began);
        let first = requests[0];
        assert_eq!(&*first.path, "/robots.txt", "{address} was asked {first:?} first");
        for pair in requests.windows(2) {
            let gap = pair[1].began.saturating_sub(pair[0].ended);
            assert!(gap >= GAP, "{address}: {gap:?} between {:?} and {:?}", pair[0], pair[1]);
        }
    }
}
