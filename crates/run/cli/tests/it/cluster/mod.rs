//! Brokers are killed, nodes are killed and cut off from the brokers, clocks are an hour off; nothing that was
//! stored or acknowledged is lost, and no server is asked too soon.
//!
//! In full: `TIDEWATCH_BROKER_KILLS=100 TIDEWATCH_NODE_KILLS=100 TIDEWATCH_CUTS=100 TIDEWATCH_PAGES=60000
//! cargo test --release -p tidewatch-cli --test it cluster -- --nocapture`. `TIDEWATCH_SEED` chooses other
//! moments, `TIDEWATCH_PROGRAM` another `tidewatch`. With `TIDEWATCH_KEEP=DIR` everything is left there if it fails.

mod judge;
mod proxy;
mod town;
mod whole;

use std::time::{Duration, Instant};

use tidewatch_core::Span;
use tidewatch_testing::living::size;
use tidewatch_testing::s3::S3;

use self::judge::{look, overlap, rude};
use self::town::{BUCKET, NODES, Size, Town};
use crate::kill::Dice;

/// One kill or cut in this many lasts longer than 45 s, after which other nodes take over.
const LONG: usize = 3;
/// How long a cluster may take to fetch everything once faults have ended: a lease, a few hand-overs, and
/// what is left of the web.
const LAST_FETCHES: Duration = Duration::from_mins(4);
/// Pages that may be fetched by two nodes without a fault in between.
const MOST_OVERLAP: f64 = 0.001;

/// A node was out of order between these times of the server's log.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    node: usize,
    from: Duration,
    until: Duration,
}

/// Faults of one kind, one after the other.
struct Lane {
    kind: Kind,
    left: usize,
    /// What it does next, and when.
    next: Instant,
    /// The broker or node that is down or cut off now.
    victim: Option<usize>,
    since: Instant,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Broker,
    Kill,
    Cut,
}

impl Lane {
    fn new(kind: Kind, left: usize, began: Instant) -> Lane {
        Lane { kind, left, next: began, victim: None, since: began }
    }

    fn is_over(&self) -> bool {
        self.left == 0 && self.victim.is_none()
    }

    /// How long the next fault lasts.
    fn length(&self, dice: &mut Dice) -> Duration {
        let is_long = self.left.is_multiple_of(LONG);
        Duration::from_millis(match self.kind {
            Kind::Broker => dice.between(500, 6_000),
            _ if is_long => dice.between(50_000, 65_000),
            Kind::Kill => dice.between(100, 6_000),
            Kind::Cut => dice.between(2_000, 40_000),
        })
    }
}

#[test]
fn a_cluster_loses_nothing_whatever_is_killed_or_cut_off() {
    let Some(program) = tidewatch_testing::nats::server() else { return };
    let Some(checkpoints) = S3::start(BUCKET) else { return };
    let began = Instant::now();
    let pages = size("TIDEWATCH_PAGES", 1_600);
    let size_of_web = Size { hosts: 48.max(pages / 300), pages, chains: pages / 8 };
    let mut town = Town::build(&program, checkpoints, size_of_web, Span::HOUR.times(4));
    (0..NODES).for_each(|node| town.start(node));
    // The first partitions open after some seconds.
    wait_for(&mut town, 20, Duration::from_secs(90));
    let mut dice = Dice(size("TIDEWATCH_SEED", 3) as u64);
    let troubles = trouble(&mut town, &mut dice);
    let faults = began.elapsed();
    wait_for(&mut town, pages, LAST_FETCHES);
    town.stop();
    let (stored, rude) = (town.stored(), rude(&town));
    let (links, overlap) = (look(&town, &stored), overlap(&town, &troubles));
    let requests = town.server.log().counters().requests;
    let found = town.pages_stored();
    eprintln!(
        "{found} of {pages} pages reported stored, {requests} requests, {} rude; {links:?}; {overlap:?}; faults ended \
         after {faults:.0?}, all after {:.0?}",
        rude.len(),
        began.elapsed()
    );
    assert!(rude.is_empty(), "{} of {requests}: {:#?}", rude.len(), &rude[..rude.len().min(5)]);
    assert!(links.dropped.is_empty() && links.lost.is_empty(), "{links:?}");
    assert_eq!(links.held, pages, "nothing is lost, and not everything is found: {links:?}");
    assert_eq!(
        links.known, links.shown,
        "everything is stored and not everything known: {links:?}"
    );
    let most = MOST_OVERLAP * overlap.pages as f64;
    assert!(overlap.unexplained as f64 <= most, "{overlap:?}");
}

/// Waits until so many pages are stored, or for `most`.
fn wait_for(town: &mut Town, pages: usize, most: Duration) {
    let began = Instant::now();
    while town.pages_stored() < pages && began.elapsed() < most {
        town.all_run();
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Kills and cuts until all faults have been; returns when each node was out of order.
fn trouble(town: &mut Town, dice: &mut Dice) -> Vec<Trouble> {
    let (began, mut troubles) = (Instant::now(), Vec::new());
    // The server's clock began earlier.
    let server = town.server.log().requests().iter().map(|request| request.ended).max().unwrap();
    let mut lanes = [
        Lane::new(Kind::Broker, size("TIDEWATCH_BROKER_KILLS", 4), began),
        Lane::new(Kind::Kill, size("TIDEWATCH_NODE_KILLS", 3), began),
        Lane::new(Kind::Cut, size("TIDEWATCH_CUTS", 2), began),
    ];
    while !lanes.iter().all(Lane::is_over) {
        std::thread::sleep(Duration::from_millis(20));
        town.all_run();
        for at in 0..lanes.len() {
            let now = Instant::now();
            if now < lanes[at].next || lanes[at].is_over() {
                continue;
            }
            let busy: Vec<usize> = lanes
                .iter()
                .filter(|lane| lane.kind != Kind::Broker)
                .filter_map(|lane| lane.victim)
                .collect();
            let lane = &mut lanes[at];
            if let Some(victim) = lane.victim.take() {
                match lane.kind {
                    Kind::Broker => town.brokers.restart(victim).unwrap(),
                    Kind::Kill => town.start(victim),
                    Kind::Cut => town.cut(victim, false),
                }
                if lane.kind != Kind::Broker {
                    let (from, until) = (server + (lane.since - began), server + (now - began));
                    troubles.push(Trouble { node: victim, from, until });
                }
                // Brokers need the time to catch up: two of three must be well. Nodes need it to claim.
                let rest =
                    if lane.kind == Kind::Broker { (8_000, 14_000) } else { (12_000, 20_000) };
                lane.next = now + Duration::from_millis(dice.between(rest.0, rest.1));
                continue;
            }
            let victim = dice.between(0, NODES as u64) as usize;
            if lane.kind != Kind::Broker && busy.contains(&victim) {
                continue;
            }
            match lane.kind {
                Kind::Broker => town.brokers.kill(victim),
                Kind::Kill => town.kill(victim),
                Kind::Cut => town.cut(victim, true),
            }
            lane.left -= 1;
            (lane.next, lane.victim, lane.since) = (now + lane.length(dice), Some(victim), now);
        }
    }
    troubles
}
