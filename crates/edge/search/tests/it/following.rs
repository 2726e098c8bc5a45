//! The indexer follows a store: pages come, change and go, and an index that is lost comes back.

use std::path::Path;
use std::time::{Duration, Instant};

use tidewatch_archive::{Archive, Exchange, Packed, digest};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, PageId, Time};
use tidewatch_search::{Feeder, IndexHealth, Indexer, Query};
use tidewatch_store::{Batch, CopyRow, HostRow, Memory, PageRow, Place, Store};

/// A page must be findable this long after it was stored.
const FINDABLE: Duration = Duration::from_mins(1);
const EPOCH: i64 = 1_800_000_000_000_000;

struct Crawl {
    store: Store,
    archive: Archive,
    now: Time,
}

impl Crawl {
    fn new(dir: &Path) -> Crawl {
        let memory = Memory { cache: 1 << 20, sieve: 1 << 20, ..Memory::default() };
        let mut store = Store::open(dir, memory).unwrap();
        let archive = Archive::open(&dir.join("archive"), 1 << 20, EPOCH, None).unwrap().0;
        let mut batch = Batch::default();
        let origin = "https://a.example".to_owned();
        store.add_host(HostRow { origin, robots: None, absent: None, folders: vec![] }, &mut batch);
        store.commit(&batch).unwrap();
        Crawl { store, archive, now: Time::from_micros(1) }
    }

    /// Stores a copy of a page, which is made known if it is not.
    fn hold(&mut self, path: &str, body: &str, feeder: &mut Feeder) -> PageId {
        let url = CanonicalUrl::parse(&format!("https://a.example{path}")).unwrap();
        let mut batch = Batch::default();
        let row = PageRow {
            host: HostId(0),
            path: path.to_owned(),
            depth: 0,
            hops: tidewatch_store::Hops::NONE,
            via: None,
            is_source: false,
        };
        let page = match self.store.page_of(url.as_str()).unwrap() {
            Some(page) => page,
            None => self.store.add_page(url.as_str(), row, &mut batch).unwrap(),
        };
        let exchange = Exchange {
            url: url.as_str(),
            is_h2: false,
            unix_micros: EPOCH,
            address: None,
            request_head: b"GET / HTTP/1.1\r\n\r\n",
            response_head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
            body: body.as_bytes(),
            digest: digest(body.as_bytes()),
            media_type: "text/html",
            status: 200,
            truncated: None,
            revisit: None,
            metadata: "",
        };
        let at = self.archive.append(&Packed::new(&exchange, 1), EPOCH);
        self.archive.sync().unwrap();
        let place = Place { file: at.file, offset: at.offset, bytes: at.bytes };
        let copy = CopyRow { at: self.now, changed_at: self.now, place, ..CopyRow::default() };
        batch.copies.insert(page, copy);
        self.store.commit(&batch).unwrap();
        self.now = Time::from_micros(self.now.as_micros() + 1_000_000);
        feeder.stored(&self.store, &[page], self.now, &unix).unwrap();
        page
    }

    fn lose(&mut self, page: PageId) {
        self.store.commit(&Batch { gone: [page].into(), ..Batch::default() }).unwrap();
    }
}

fn unix(time: Time) -> i64 {
    EPOCH.saturating_add_unsigned(time.as_micros())
}

fn start(dir: &Path) -> (Indexer, Feeder) {
    let (indexer, mut feeders) =
        Indexer::start(dir, &[dir.to_owned()], 15 << 20, "Tidewatch").unwrap();
    (indexer, feeders.remove(0))
}

fn finish(indexer: Indexer, feeder: Feeder) -> IndexHealth {
    drop(feeder);
    indexer.finish()
}

fn count(indexer: &Indexer, words: &str) -> usize {
    let found = indexer.searcher().search(&Query::read(words), 0, 10, EPOCH / 1_000_000);
    found.unwrap().total
}

fn wait_for(indexer: &Indexer, words: &str, pages: usize) {
    let began = Instant::now();
    while count(indexer, words) != pages {
        assert!(began.elapsed() < FINDABLE, "{words}: {:?}", indexer.health());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn pages_are_found_within_seconds_follow_their_changes_and_survive_the_loss_of_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path());
    let (indexer, mut feeder) = start(dir.path());
    crawl.hold("/", "<title>Front</title><a href=/tide>spring tides</a>", &mut feeder);
    let tide = crawl.hold("/tide", "<title>T</title><p>High water", &mut feeder);
    let old = crawl.hold("/old", "<title>Old</title><p>Low water", &mut feeder);
    crawl.hold("/secret", "<meta name=robots content=noindex><p>water", &mut feeder);
    wait_for(&indexer, "water", 2);
    assert_eq!(count(&indexer, "spring"), 2, "found by the words of the link to it too");
    crawl.hold("/tide", "<title>T</title><p>Ebb water", &mut feeder);
    wait_for(&indexer, "ebb", 1);
    assert_eq!(count(&indexer, "high"), 0);
    let health = finish(indexer, feeder);
    assert_eq!((health.put, health.wordless, health.unreadable), (4, 1, 0), "{health:?}");
    assert_eq!((health.pages, health.failed), (3, None));
    // While no indexer runs, one page goes and one comes.
    crawl.lose(old);
    let (indexer, mut feeder) = start(dir.path());
    assert_eq!((count(&indexer, "water"), indexer.health().pages), (2, 3), "as it was");
    feeder.feed(&crawl.store, &unix).unwrap();
    assert!(feeder.is_even());
    wait_for(&indexer, "water", 1);
    crawl.hold("/new", "<p>new water", &mut feeder);
    wait_for(&indexer, "water", 2);
    finish(indexer, feeder);
    // The index is lost.
    std::fs::remove_dir_all(dir.path().join("index")).unwrap();
    let (indexer, mut feeder) = start(dir.path());
    feeder.feed(&crawl.store, &unix).unwrap();
    wait_for(&indexer, "water", 2);
    assert_eq!(
        indexer.searcher().page(tide.into()).unwrap().unwrap().url,
        "https://a.example/tide"
    );
    // Copies that the archive does not give back are left out, and counted.
    finish(indexer, feeder);
    std::fs::remove_dir_all(dir.path().join("index")).unwrap();
    std::fs::remove_dir_all(dir.path().join("archive")).unwrap();
    let (indexer, mut feeder) = start(dir.path());
    feeder.feed(&crawl.store, &unix).unwrap();
    let health = finish(indexer, feeder);
    assert_eq!((health.put, health.unreadable), (0, 4), "{health:?}");
}

/// Two partitions feed one index: results come from both, an anchor text reaches a page of the other,
/// and a restart reads nothing again.
#[test]
fn partitions_feed_one_index() {
    let dir = tempfile::tempdir().unwrap();
    let parts = [0, 1].map(|number| dir.path().join(format!("partition-{number}")));
    let start = || Indexer::start(dir.path(), &parts, 15 << 20, "Tidewatch").unwrap();
    let (indexer, mut feeders) = start();
    let mut crawls = [0, 1].map(|number: usize| Crawl::new(&parts[number]));
    let linking = "<title>Tide</title><a href=https://a.example/moon>lunar almanac</a> water";
    crawls[0].hold("/tide", linking, &mut feeders[0]);
    let searcher = indexer.searcher();
    let found = |words: &str| {
        let hits = searcher.search(&Query::read(words), 0, 10, EPOCH / 1_000_000).unwrap().hits;
        hits.into_iter().map(|hit| (hit.page.partition(), hit.url)).collect::<Vec<_>>()
    };
    let wait_for = |words: &str, count: usize| {
        let began = Instant::now();
        while found(words).len() < count {
            assert!(began.elapsed() < FINDABLE, "{words}");
            std::thread::sleep(Duration::from_millis(20));
        }
        found(words)
    };
    wait_for("tide", 1);
    let moon = crawls[1].hold("/moon", "<title>Moon</title><p>water", &mut feeders[1]);
    assert_eq!(wait_for("water", 2).len(), 2);
    assert_eq!(found("almanac site:a.example").len(), 2, "the anchor text is the other page's too");
    assert_eq!(found("moon")[0], (1, "https://a.example/moon".to_owned()));
    drop(feeders);
    assert_eq!(indexer.finish().put, 2);
    let (indexer, mut feeders) = start();
    for (crawl, feeder) in crawls.iter().zip(&mut feeders) {
        feeder.feed(&crawl.store, &unix).unwrap();
        assert!(feeder.is_even());
    }
    // Number 0 is a page of either partition; only this partition's goes.
    assert_eq!(moon.0, 0);
    crawls[1].lose(moon);
    feeders[1].gone(moon);
    feeders[1].feed(&crawls[1].store, &unix).unwrap();
    let searcher = indexer.searcher();
    drop(feeders);
    let health = indexer.finish();
    assert_eq!((health.removed, searcher.pages()), (1, 1));
    assert!(health.put <= 2, "{health:?}");
}
