//! Politeness over real sockets and restarts, judged from the server's log.
//!
//! Small in the tests. In full:
//! `TIDEWATCH_HOSTS=2000 TIDEWATCH_FETCHES=50000 cargo test --release -p tidewatch-partition
//! --test it politeness -- --nocapture`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tidewatch_core::Span;
use tidewatch_partition::{Clock, Ended, Stop};
use tidewatch_web::{LoggedRequest, Served, WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};
use crate::partitions::{COUNT, crawl, gaps};

const GAP: Duration = Duration::from_millis(100);
/// Slowness stretches the gap up to this.
const MOST_GAP: Duration = Duration::from_secs(1);
/// How often the crawler is stopped and begun again.
const PARTS: u64 = 5;
/// The server notes a request when it has read its head and an answer before it is
/// sent, so what it sees of a gap is never shorter than what the client kept; what
/// remains is the grain of clocks.
const GRAIN: Duration = Duration::from_millis(1);

fn habits() -> WebHabits {
    WebHabits {
        longest_crawl_delay_s: 2,
        outage: 0.1,
        outage_period: Span::SECOND.times(3),
        slowest: Duration::from_millis(150),
        ..WebHabits::default()
    }
}

#[test]
fn servers_see_a_polite_crawler_that_goes_on_after_every_stop() {
    let hosts = living::size("TIDEWATCH_HOSTS", 40);
    let fetches = living::size("TIDEWATCH_FETCHES", 600) as u64;
    let runtime = Runtime::new().unwrap();
    let server = living::serve(&runtime, hosts, 20 * hosts, habits());
    let mut config = living::config(GAP);
    config.limits.requests = 512;
    let net = living::network(&runtime, &config, living::hosts(&server, |_| None));
    let dir = tempfile::tempdir().unwrap();
    let mut stored = Stored::default();
    let began = Instant::now();
    for part in 0..PARTS {
        let mut crawl = living::open(dir.path(), &config);
        let now = Clock::of(&crawl).now();
        for seed in living::seeds(&server).iter().filter(|_| part == 0) {
            crawl.seed(seed, now).unwrap();
        }
        let stop = Stop { fetches: Some(fetches / PARTS), ..Stop::default() };
        let ended =
            tidewatch_partition::run(&mut crawl, &net, runtime.handle(), &stop, &mut stored)
                .unwrap();
        assert_eq!(ended, Ended::Fetches);
    }
    let crawl = living::open(dir.path(), &config);
    for page in &stored.0 {
        assert!(
            crawl.store().tables().unwrap().copy(*page).unwrap().is_some(),
            "{page:?} was stored"
        );
    }
    let faults = judge(&server);
    eprintln!("{fetches} fetches from {hosts} hosts in {:.1?}: {faults:#?}", began.elapsed());
    assert!(faults.found.is_empty(), "{:#?}", faults.found);
    assert!(faults.requests as u64 >= fetches && faults.gaps > fetches as usize / 2);
    assert!(faults.refused_robots > 0, "some robots.txt must have answered 5xx");
    assert!(faults.waits > 0, "some server must have asked for a wait");
}

/// What the server saw.
#[derive(Debug, Default)]
struct Faults {
    requests: usize,
    /// Gaps judged.
    gaps: usize,
    /// Answers of 5xx to a request for robots.txt.
    refused_robots: usize,
    /// Answers with Retry-After.
    waits: usize,
    shortest_spare: Option<Duration>,
    found: Vec<String>,
}

/// Three partitions, and two hosts at every address, which two partitions may own: no host and no
/// address is asked before its gap is over.
#[test]
fn three_partitions_keep_the_gaps_of_hosts_and_addresses() {
    const ADDRESS_GAP: Duration = Duration::from_millis(40);
    let runtime = Runtime::new().unwrap();
    let server = living::serve_at(&runtime, 24, 480, habits(), 12);
    let (config, length) = (gaps(GAP, ADDRESS_GAP), Duration::from_secs(6));
    let (_dir, all) = crawl(&runtime, &server, COUNT, &config, |_| None, length);
    let active = all.parts().iter().filter(|part| part.tally().all_fetches() > 0).count();
    assert_eq!(active, COUNT as usize, "all partitions ask");
    let faults = judge(&server);
    assert!(faults.found.is_empty(), "{:#?}", faults.found);
    assert!(faults.gaps > 200, "{faults:?}");
    let mut by_address: BTreeMap<SocketAddr, Vec<LoggedRequest>> = BTreeMap::new();
    for request in server.log().requests() {
        by_address.entry(request.local).or_default().push(request);
    }
    assert_eq!(by_address.len(), 12);
    for mut requests in by_address.into_values() {
        requests.sort_by_key(|request| request.began);
        for pair in requests.windows(2) {
            let gap = pair[1].began.checked_sub(pair[0].ended);
            assert!(gap.is_some_and(|gap| gap + GRAIN >= ADDRESS_GAP), "{gap:?}: {pair:?}");
        }
    }
}

fn judge(server: &WebServer) -> Faults {
    let log = server.log();
    assert_eq!(log.counters().lost, 0, "the log is whole");
    let mut faults = Faults::default();
    for (host, most) in log.most_connections().into_iter().enumerate().filter(|(_, n)| *n > 1) {
        faults.found.push(format!("host {host} saw {most} connections at once"));
    }
    let mut by_host: BTreeMap<u32, Vec<LoggedRequest>> = BTreeMap::new();
    for request in log.requests() {
        faults.requests += 1;
        let host = request.host.expect("only hosts that are served are asked for");
        by_host.entry(host).or_default().push(request);
    }
    for (host, mut requests) in by_host {
        requests.sort_by_key(|request| request.began);
        faults.judge_host(server, host, &requests);
    }
    faults
}

impl Faults {
    fn judge_host(&mut self, server: &WebServer, host: u32, requests: &[LoggedRequest]) {
        // What robots.txt said last: nothing yet, something, or 5xx.
        let (mut may_fetch, mut delay) = (false, Duration::ZERO);
        for (at, request) in requests.iter().enumerate() {
            let is_robots = &*request.path == "/robots.txt";
            if let Some(before) = at.checked_sub(1).map(|before| &requests[before]) {
                self.judge_gap(before, request, delay);
            }
            if !is_robots && !may_fetch {
                self.found.push(format!("a page without robots.txt: {request:?}"));
            }
            if !server.site().allows(host, &request.path) || request.served == Served::Private {
                self.found.push(format!("disallowed: {request:?}"));
            }
            self.waits += usize::from(request.retry_after_s.is_some());
            if is_robots {
                may_fetch = request.status < 500;
                self.refused_robots += usize::from(!may_fetch);
                let asked = server.site().crawl_delay_s(host).filter(|_| request.status == 200);
                delay = Duration::from_secs(asked.unwrap_or(0));
            }
        }
    }

    fn judge_gap(&mut self, before: &LoggedRequest, after: &LoggedRequest, delay: Duration) {
        self.gaps += 1;
        let took = before.ended.saturating_sub(before.began);
        let wait = Duration::from_secs(before.retry_after_s.unwrap_or(0));
        let owed = (10 * took).clamp(GAP, MOST_GAP).max(delay).max(wait);
        let Some(gap) = after.began.checked_sub(before.ended) else {
            self.found.push(format!("at the same time: {before:?} and {after:?}"));
            return;
        };
        match (gap + GRAIN).checked_sub(owed) {
            Some(spare) => {
                self.shortest_spare = Some(self.shortest_spare.map_or(spare, |s| s.min(spare)));
            }
            None => self.found.push(format!("{gap:?} instead of {owed:?}: {before:?}, {after:?}")),
        }
    }
}
