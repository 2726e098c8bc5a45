//! Hosts that drip or are down do not slow the others.
//!
//! In full: `TIDEWATCH_HOSTS=1000 TIDEWATCH_SECONDS=60 cargo test --release -p
//! tidewatch-partition --test it isolation -- --nocapture`.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_fetch::Hosts;
use tidewatch_partition::{Clock, CrawlError, Partition, Reach, Stop, Watch};
use tidewatch_web::{WebHabits, WebServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};

const GAP: Duration = Duration::from_millis(100);
/// The share of its throughput that a good host must keep.
const KEPT: f64 = 0.95;
/// The same beside a thousand slow hosts, each at an address of its own.
const KEPT_IN_CROWD: f64 = 0.9;
/// How often a share is measured before it counts as too small.
const TRIES: usize = 3;
/// How long the good hosts are crawled before the slow ones become known.
const WARM: Duration = Duration::from_secs(3);

/// Answers everyone with a byte a second.
fn drip() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::new(127, 78, 0, 1), 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { continue };
            std::thread::spawn(move || {
                let _ = socket.read(&mut [0; 1024]);
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
                let endless = head.iter().chain(std::iter::repeat(&b'#'));
                for byte in endless {
                    if socket.write_all(&[*byte]).is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
        }
    });
    at
}

/// The names of the hosts that are bad when some are: of ten one drips and one is down.
fn bad_hosts(server: &WebServer) -> (HashSet<String>, HashSet<String>) {
    let mut names: Vec<String> = server.names().iter().map(|(name, _)| name.to_owned()).collect();
    names.sort();
    let of = |rest| names.iter().skip(rest).step_by(10).cloned().collect();
    (of(3), of(7))
}

/// Requests a second that the good hosts get.
fn throughput(hosts: usize, seconds: u64, is_troubled: bool) -> f64 {
    let runtime = Runtime::new().unwrap();
    let server = living::serve(&runtime, hosts, 100 * hosts, WebHabits::faultless());
    let (slow, down) = bad_hosts(&server);
    let dripping = drip();
    // A port where nobody listens.
    let nobody = TcpListener::bind((Ipv4Addr::new(127, 78, 0, 2), 0)).unwrap();
    let nowhere = nobody.local_addr().unwrap();
    drop(nobody);
    let elsewhere = |name: &str| match name {
        _ if !is_troubled => None,
        name if slow.contains(name) => Some(dripping),
        name if down.contains(name) => Some(nowhere),
        _ => None,
    };
    let mut config = living::config(GAP);
    // All bad hosts share two addresses here: they must not take turns.
    config.politeness.address_gap = tidewatch_core::Span::ZERO;
    let net = living::network(&runtime, &config, living::hosts(&server, elsewhere));
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = living::open(dir.path(), &config);
    let now = Clock::of(&crawl).now();
    for seed in living::seeds(&server) {
        crawl.seed(&seed, now).unwrap();
    }
    let stop = Stop { after: Some(Duration::from_secs(seconds)), ..Stop::default() };
    let mut stored = Stored::default();
    tidewatch_partition::run(&mut crawl, &net, runtime.handle(), &stop, &mut stored).unwrap();
    let is_bad = |name: &str| slow.contains(name) || down.contains(name);
    let good: HashSet<Option<u32>> = server
        .names()
        .iter()
        .filter(|(name, _)| !is_bad(name))
        .map(|(name, _)| server.site().host(name))
        .collect();
    let requests = server.log().requests();
    let requests = requests.iter().filter(|request| good.contains(&request.host));
    requests.count() as f64 / seconds as f64
}

/// Fails unless good hosts keep this share of their throughput beside bad ones. Whatever else the machine does
/// may slow one of two runs, so a failure is measured again.
fn keep(least: f64, good: usize, measure: impl Fn(bool) -> f64) {
    let mut shares = Vec::new();
    for _ in 0..TRIES {
        let (alone, troubled) = (measure(false), measure(true));
        eprintln!("good hosts: {alone:.1} requests/s alone, {troubled:.1} beside bad ones");
        assert!(alone > good as f64, "{alone} requests/s are no load");
        shares.push(troubled / alone);
        if troubled >= least * alone {
            return;
        }
    }
    panic!("good hosts keep {shares:.2?}, not {least}");
}

#[test]
fn bad_hosts_do_not_slow_the_others() {
    let hosts = living::size("TIDEWATCH_HOSTS", 40);
    let seconds = living::size("TIDEWATCH_SECONDS", 4) as u64;
    keep(KEPT, hosts, |is_troubled| throughput(hosts, seconds, is_troubled));
}

/// Answers everyone at every loopback address with a byte a second.
fn drip_everywhere(runtime: &Runtime) -> u16 {
    let _inside = runtime.enter();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    runtime.spawn(async move {
        while let Ok((mut socket, peer)) = listener.accept().await {
            assert!(peer.ip().is_loopback(), "{peer}");
            tokio::spawn(async move {
                let _ = socket.read(&mut [0; 1024]).await;
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
                if socket.write_all(head).await.is_err() {
                    return;
                }
                while socket.write_all(b"#").await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
        }
    });
    port
}

/// Seeds slow hosts some time after the start.
struct Newcomers {
    seeds: Vec<CanonicalUrl>,
    from: Instant,
}

impl Watch for Newcomers {
    fn turn(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        if Instant::now() >= self.from {
            for seed in self.seeds.drain(..) {
                partition.seed(&seed, now)?;
            }
        }
        Ok(())
    }
}

/// Requests a second that good hosts get beside so many slow ones, which become known after `warm`.
fn beside_slow(good: usize, slow: u32, warm: Duration, seconds: u64) -> f64 {
    let runtime = Runtime::new().unwrap();
    let server = living::serve(&runtime, good, 200 * good, WebHabits::faultless());
    let port = drip_everywhere(&runtime);
    let dripping = (0..slow).map(|number| {
        let [_, a, b, c] = (0x4f_00_01 + number).to_be_bytes();
        let address = SocketAddr::from(([127, a, b, c], port));
        (format!("slow{number}.example"), address)
    });
    let dripping: Vec<(String, SocketAddr)> = dripping.collect();
    let slow_names = dripping.iter().map(|(name, at)| (name.as_str(), *at));
    let mut config = living::config(GAP);
    config.scope.reach = Reach::Everything;
    config.politeness.first_rest = Span::SECOND.times(5);
    let hosts = Hosts::of(server.names().iter().chain(slow_names));
    let net = living::network(&runtime, &config, hosts);
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = living::open(dir.path(), &config);
    let now = Clock::of(&crawl).now();
    for seed in living::seeds(&server) {
        crawl.seed(&seed, now).unwrap();
    }
    let seeds = dripping.iter().map(|(name, _)| format!("http://{name}/"));
    let seeds = seeds.map(|url| CanonicalUrl::parse(&url).unwrap()).collect();
    let stop = Stop { after: Some(warm + Duration::from_secs(seconds)), ..Stop::default() };
    let (began, from) = (server.log().requests().len(), Instant::now() + warm);
    let mut newcomers = Newcomers { seeds, from };
    let counted = std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            std::thread::sleep(warm);
            server.log().requests().len()
        });
        tidewatch_partition::run(&mut crawl, &net, runtime.handle(), &stop, &mut newcomers)
            .unwrap();
        counting.join().unwrap()
    });
    let is_known = counted > began;
    assert!(is_known || warm.is_zero(), "good hosts are crawled before the slow ones come");
    (server.log().requests().len() - counted) as f64 / seconds as f64
}

/// A thousand hosts of one byte a second once filled all slots for over a minute. They may become known
/// later than the good hosts, or all hosts at once.
#[test]
fn slow_hosts_at_addresses_of_their_own_leave_slots_to_the_others() {
    let good = living::size("TIDEWATCH_HOSTS", 40);
    let seconds = living::size("TIDEWATCH_SECONDS", 12) as u64;
    for warm in [WARM, Duration::ZERO] {
        let slow = |is_troubled| if is_troubled { 1_000 } else { 0 };
        keep(KEPT_IN_CROWD, good, |troubled| beside_slow(good, slow(troubled), warm, seconds));
    }
}
