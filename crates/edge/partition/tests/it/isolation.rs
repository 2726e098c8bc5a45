//! Hosts that drip or are down do not slow the others.
//!
//! In full: `TIDEWATCH_HOSTS=1000 TIDEWATCH_SECONDS=60 cargo test --release -p
//! tidewatch-partition --test it isolation -- --nocapture`.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tidewatch_partition::{Clock, Stop};
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};

const GAP: Duration = Duration::from_millis(100);
/// The share of its throughput that a good host must keep.
const KEPT: f64 = 0.95;

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

#[test]
fn bad_hosts_do_not_slow_the_others() {
    let hosts = living::size("TIDEWATCH_HOSTS", 40);
    let seconds = living::size("TIDEWATCH_SECONDS", 4) as u64;
    let alone = throughput(hosts, seconds, false);
    let troubled = throughput(hosts, seconds, true);
    eprintln!("good hosts: {alone:.1} requests/s alone, {troubled:.1} beside bad hosts");
    assert!(alone > hosts as f64, "{alone} requests/s are no load");
    assert!(troubled >= KEPT * alone, "{troubled} of {alone} requests/s");
}
