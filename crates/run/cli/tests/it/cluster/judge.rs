//! What the web server's log and the nodes' directories say about a cluster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use tidewatch_cluster::parcel::{Inbox, Parcel};
use tidewatch_cluster::wire;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_node::{Broker, Follower, From, Record};
use tidewatch_partition::owner;
use tidewatch_store::{Memory, Store};
use tidewatch_web::{LoggedRequest, Served};
use tokio::runtime::Runtime;

use super::Trouble;
use super::town::{ADDRESS_GAP, HOST_GAP, NODES, PARTITIONS, Town};
use crate::living::all_readable;

/// The server notes when it sees a request, which may differ by this much from when it was sent.
const GRAIN: Duration = Duration::from_millis(2);
/// How long the brokers may be silent before a stream counts as read to its end.
const SILENCE: Duration = Duration::from_secs(3);

/// Requests to a host or an address that came before its gap was over.
pub(super) fn rude(town: &Town) -> Vec<String> {
    let mut requests = town.server.log().requests();
    assert_eq!(town.server.log().counters().lost, 0, "the log is whole");
    requests.sort_by_key(|request| request.began);
    let mut faults = Vec::new();
    let mut hosts: HashMap<Option<u32>, &LoggedRequest> = HashMap::new();
    let mut addresses: HashMap<_, &LoggedRequest> = HashMap::new();
    for request in &requests {
        let before = hosts.insert(request.host, request).map(|before| (before, HOST_GAP, "host"));
        let shared = addresses.insert(request.local, request);
        let shared = shared.map(|before| (before, ADDRESS_GAP, "address"));
        for (before, least, what) in before.into_iter().chain(shared) {
            let gap = request.began.saturating_sub(before.ended);
            if gap + GRAIN < least {
                faults.push(format!(
                    "{gap:?} instead of {least:?} at a {what}: {before:?}, {request:?}"
                ));
            }
        }
    }
    faults
}

/// Pages that were fetched as if new by a node after another one had fetched them.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    /// Pages fetched at all.
    pub(super) pages: usize,
    /// Fetched again because the first node was killed or cut off in between.
    pub(super) after_faults: usize,
    /// Fetched again without such a reason.
    pub(super) unexplained: usize,
}

pub(super) fn overlap(town: &Town, troubles: &[Trouble]) -> Overlap {
    let mut requests = town.server.log().requests();
    requests.sort_by_key(|request| request.began);
    let (mut overlap, mut last) = (Overlap::default(), HashMap::new());
    for request in &requests {
        let Served::Page(page) = request.served else { continue };
        let name = |node: &usize| request.agent.contains(&format!("Node{node}"));
        let Some(node) = (0..NODES).find(name) else { continue };
        if request.is_conditional || request.status != 200 {
            continue;
        }
        let Some((other, at)) = last.insert(page, (node, request.began)) else { continue };
        if other == node {
            continue;
        }
        // A take-over may come a while after the fault, and loses what the last checkpoint did not have.
        let is_cause = |trouble: &Trouble| {
            trouble.node == other && trouble.until >= at && trouble.from <= request.began
        };
        if troubles.iter().any(is_cause) {
            overlap.after_faults += 1;
        } else {
            overlap.unexplained += 1;
        }
    }
    overlap.pages = last.len();
    overlap
}

/// Where the links of a stopped cluster are.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Pages of which the owner holds a copy. A kill between a sync and its report leaves more than
    /// were reported.
    pub(super) held: usize,
    /// Links that stored pages show.
    pub(super) shown: usize,
    /// Known to their owner.
    pub(super) known: usize,
    /// In the outbox of the page's partition.
    pub(super) in_outbox: usize,
    /// In the stream, behind what the owner has read.
    pub(super) unread: usize,
    /// In the stream, before what the owner has read: it has dropped them.
    pub(super) dropped: Vec<String>,
    /// Nowhere.
    pub(super) lost: Vec<String>,
}

/// The newest directory of every partition: that of the last owner that opened it.
fn newest(town: &Town) -> BTreeMap<u32, PathBuf> {
    let mut newest: BTreeMap<u32, (u64, PathBuf)> = BTreeMap::new();
    for (node, partition) in (0..NODES).flat_map(|node| (0..PARTITIONS).map(move |n| (node, n))) {
        let dir = town.path(&format!("node-{node}/partition-{partition}"));
        let Ok(epoch) = std::fs::read_to_string(dir.with_extension("epoch")) else { continue };
        let found = (epoch.trim().parse().unwrap(), dir);
        let best = newest.entry(partition).or_insert_with(|| found.clone());
        *best = found.max(best.clone());
    }
    newest.into_iter().map(|(partition, (_, dir))| (partition, dir)).collect()
}

/// Checks that everything reported stored can be read at its owner, and looks for every link.
pub(super) fn look(town: &Town, stored: &HashSet<String>) -> Links {
    let dirs = newest(town);
    assert_eq!(dirs.len(), PARTITIONS as usize, "{dirs:?}");
    let of = |url: &str| owner(&CanonicalUrl::parse(url).unwrap(), PARTITIONS);
    for (number, dir) in &dirs {
        all_readable(dir, stored.iter().filter(|url| of(url) == *number));
    }
    let stores: BTreeMap<u32, Store> = dirs
        .iter()
        .map(|(number, dir)| (*number, Store::open(dir, Memory::default()).unwrap()))
        .collect();
    let mut links = Links::default();
    let mut missing = Vec::new();
    for (page, url) in town.urls.iter().enumerate() {
        let store = &stores[&of(url)];
        let held = store.page_of(url).unwrap();
        links.held += usize::from(
            held.is_some_and(|page| store.tables().unwrap().copy(page).unwrap().is_some()),
        );
        let Some(linked) = town.linked_by(page).filter(|_| stored.contains(url)) else { continue };
        links.shown += 1;
        let linked = &town.urls[linked];
        if stores[&of(linked)].page_of(linked).unwrap().is_some() {
            links.known += 1;
        } else {
            missing.push((of(url), linked));
        }
    }
    let stream = if missing.is_empty() { HashMap::new() } else { stream(town) };
    for (from, linked) in missing {
        let outbox = stores[&from].tables().unwrap().outbox();
        let is_packed =
            outbox.flatten().any(|(_, parcel)| parcel.links.iter().any(|link| link.url == *linked));
        let mark = stores[&of(linked)].tables().unwrap().meta("links-mark").unwrap();
        let inbox: Inbox =
            mark.map_or_else(Inbox::default, |mark| postcard::from_bytes(&mark).unwrap());
        match stream.get(linked) {
            _ if is_packed => links.in_outbox += 1,
            Some(sequence) if *sequence > inbox.position() => links.unread += 1,
            Some(sequence) => {
                links.dropped.push(format!("{linked} at {sequence} of {}", inbox.position()));
            }
            None => links.lost.push(linked.clone()),
        }
    }
    links
}

/// Every URL in the links between partitions that the brokers keep, and its last place there.
fn stream(town: &Town) -> HashMap<String, u64> {
    Runtime::new().unwrap().block_on(async {
        let (broker, _) = Broker::connect(&town.brokers.urls()).await.unwrap();
        let bucket = broker.bucket("tidewatch-crawl").await.unwrap();
        let crawl = Record::read(&bucket).await.unwrap().unwrap().crawl();
        let log = broker.log("tidewatch-links", "tidewatch.links.*").await.unwrap();
        let mut reader = Follower::start(log, "tidewatch.links.*".to_owned(), From::After(0));
        let mut found = HashMap::new();
        while let Ok(Some(entry)) = tokio::time::timeout(SILENCE, reader.next()).await {
            let parcel: Parcel = wire::decode(crawl, &entry.payload.unwrap()).unwrap();
            found.extend(parcel.links.into_iter().map(|link| (link.url, entry.sequence)));
        }
        found
    })
}
