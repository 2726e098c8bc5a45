//! A keeper over restarts: what was answered is there, and decisions are taken alike.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod damage;

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tidewatch_core::{Rate, Span};
use tidewatch_keeper::{
    Ask, Given, Item, Keeper, KeeperError, Order, Put, Refused, Replayed, Said, Settings, State,
    Telling, replay,
};

fn settings(dir: &Path, order: Order) -> Settings {
    Settings { dir: dir.to_owned(), order, cache: 8 << 20 }
}

fn strict(dir: &Path) -> Keeper {
    Keeper::open(&settings(dir, Order::Strict)).unwrap()
}

fn priced(dir: &Path) -> Keeper {
    let order = Order::Managed {
        policy: "price".to_owned(),
        seed: 1,
        budget: Rate::per_second(100.0).unwrap(),
    };
    Keeper::open(&settings(dir, order)).unwrap()
}

fn item(url: &str, said: Said) -> Item {
    let (crawl, key, url) = (String::new(), String::new(), url.to_owned());
    Item { crawl, key, url, said, payload: b"payload".to_vec(), told: None }
}

fn ask(queues: u32, urls: u32) -> Ask {
    Ask { crawl: None, key: None, queues, urls, lease: Span::HOUR }
}

fn urls(given: &[Given]) -> Vec<&str> {
    given.iter().map(|given| &*given.url).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn all_that_was_answered_survives() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    let items = (0..20).map(|n| item(&format!("http://h{}.example/{n}", n % 4), Said::Discovered));
    let puts = keeper.put(items.collect()).await.unwrap();
    assert_eq!(puts, [Put::Added; 20]);
    let first = keeper.take(ask(2, 3)).await.unwrap();
    assert_eq!(first.len(), 6);
    assert_eq!(first[0].payload, b"payload");
    keeper.set_active(false).await.unwrap();
    // Files of a running keeper are what a killed one leaves: round 0. Then those of stopped ones.
    let mut running = Some(keeper);
    for round in 0..3 {
        let copy = tempfile::tempdir().unwrap();
        copy_all(dir.path(), copy.path());
        drop(running.take());
        let keeper = strict(copy.path());
        assert!(!keeper.is_active().await.unwrap(), "round {round}");
        keeper.set_active(true).await.unwrap();
        let all = keeper.take(ask(9, 9)).await.unwrap();
        // Leases hold, and so do the gaps of the two queues that gave.
        assert!(urls(&all).iter().all(|url| !urls(&first).contains(url)));
        drop(keeper);
        running = Some(strict(dir.path()));
    }
}

fn copy_all(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_all(&file.path(), &target);
        } else {
            fs::copy(file.path(), target).unwrap();
        }
    }
}

/// A lost snapshot is only slower: the tape holds everything.
#[tokio::test]
async fn the_tape_alone_restores_the_state() {
    let dir = tempfile::tempdir().unwrap();
    {
        let keeper = strict(dir.path());
        keeper.put(vec![item("http://a.example/1", Said::Fetched(0))]).await.unwrap();
        keeper.put(vec![item("http://a.example/2", Said::Fetched(now() + 900))]).await.unwrap();
        keeper.block(String::new(), "a.example".to_owned(), now() + 900).await.unwrap().unwrap();
    }
    let with = strict(dir.path()).figures(String::new(), String::new()).await.unwrap();
    fs::remove_file(dir.path().join("snapshot")).unwrap();
    let without = strict(dir.path()).figures(String::new(), String::new()).await.unwrap();
    assert_eq!(with, without);
    assert_eq!((without.done, without.waiting), (1, 1));
    // A damaged one is as good as none.
    let path = dir.path().join("snapshot");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let damaged = strict(dir.path()).figures(String::new(), String::new()).await.unwrap();
    assert_eq!(with, damaged);
}

#[tokio::test]
async fn a_policy_takes_over_and_remembers() {
    let dir = tempfile::tempdir().unwrap();
    {
        let keeper = strict(dir.path());
        let items = (0..10).map(|n| item(&format!("http://h{n}.example/"), Said::Discovered));
        keeper.put(items.collect()).await.unwrap();
        assert_eq!(keeper.take(ask(3, 1)).await.unwrap().len(), 3);
    }
    let mut taken = Vec::new();
    for restart in 0..3 {
        let keeper = priced(dir.path());
        let given = keeper.take(ask(2, 1)).await.unwrap();
        assert_eq!(given.len(), 2, "restart {restart}");
        assert!(given.iter().all(|given| !taken.contains(&given.url)));
        for given in given {
            let mut known = item(&given.url, Said::Fetched(now() + 60));
            let telling = Telling { status: Some(200), ..Telling::default() };
            known.told = Some(Box::new(telling));
            assert_eq!(keeper.put(vec![known]).await.unwrap(), [Put::Updated]);
            taken.push(given.url);
        }
        if restart == 1 {
            drop(keeper);
            fs::remove_file(dir.path().join("snapshot")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_deleted_queue_leaves_nothing_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    let items = (0..50).map(|n| item(&format!("http://a.example/{n}"), Said::Discovered));
    keeper.put(items.collect()).await.unwrap();
    let (crawl, key) = (String::new(), "a.example".to_owned());
    assert_eq!(keeper.drop_queue(crawl.clone(), key.clone()).await.unwrap(), 50);
    assert!(keeper.take(ask(9, 9)).await.unwrap().is_empty());
    assert_eq!(
        keeper.put(vec![item("http://a.example/1", Said::Discovered)]).await.unwrap(),
        [Put::Added]
    );
    let listed: Vec<_> = keeper.urls(crawl, key).await.unwrap().map(Result::unwrap).collect();
    assert_eq!(listed.len(), 1);
}

/// No URL is older than any number of days that a client may name.
#[tokio::test]
async fn a_purge_of_the_oldest_urls_drops_no_new_ones() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    keeper.put(vec![item("http://a.example/1", Said::Discovered)]).await.unwrap();
    // 213,503,983 days are a little more than 2^64 microseconds.
    for days in [1, 213_503_983, u32::MAX] {
        assert_eq!(keeper.purge(String::new(), String::new(), days).await.unwrap(), 0, "{days}");
    }
}

#[tokio::test]
async fn hostile_items_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    let with = |change: fn(&mut Item)| {
        let mut item = item("http://a.example/", Said::Discovered);
        change(&mut item);
        item
    };
    let items = vec![
        with(|item| item.url.clear()),
        with(|item| item.url = "http:///".to_owned()),
        with(|item| item.url = "u".repeat(8193)),
        with(|item| item.key = "k".repeat(256)),
        with(|item| item.crawl = "c".repeat(256)),
        with(|item| item.payload = vec![0; 65_537]),
    ];
    let refused = [
        Refused::NoUrl,
        Refused::NoQueue,
        Refused::LongUrl,
        Refused::LongKey,
        Refused::LongCrawl,
        Refused::LargeMetadata,
    ];
    let puts = keeper.put(items).await.unwrap();
    assert_eq!(puts, refused.map(Put::Refused));
    for number in 0..1001 {
        let mut one = item("http://a.example/", Said::Discovered);
        one.crawl = format!("crawl{number}");
        let put = keeper.put(vec![one]).await.unwrap();
        let expected = if number < 1000 { Put::Added } else { Put::Refused(Refused::ManyCrawls) };
        assert_eq!(put, [expected]);
    }
}

#[tokio::test]
async fn other_directories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let refused = Keeper::open(&settings(dir.path(), Order::Strict)).err();
    assert!(matches!(refused, Some(KeeperError::NotAFrontier { .. })));
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    let second = Keeper::open(&settings(dir.path(), Order::Strict)).err();
    assert!(matches!(second, Some(KeeperError::InUse { .. })));
    drop(keeper);
    let unknown = Order::Managed { policy: "none".to_owned(), seed: 1, budget: Rate::ZERO };
    let refused = Keeper::open(&settings(dir.path(), unknown)).err();
    assert!(matches!(refused, Some(KeeperError::NoPolicy(_))));
}

/// A policy learns from the names of URLs, so they outlive their deletion on the tape.
#[tokio::test]
async fn a_replay_is_exact_after_deletions() {
    let dir = tempfile::tempdir().unwrap();
    let (crawl, key) = (String::new(), "a.example".to_owned());
    {
        let keeper = priced(dir.path());
        let url = |n: u32| format!("http://{}.example/{}/{n}", ["a", "b"][n as usize % 2], n % 7);
        keeper.put((0..200).map(|n| item(&url(n), Said::Discovered)).collect()).await.unwrap();
        for round in 0..6 {
            for given in keeper.take(ask(2, 9)).await.unwrap() {
                let mut known = item(&given.url, Said::Fetched(now() + 60));
                let status = Some(if given.url.contains("/3/") { 404 } else { 200 });
                known.told = Some(Box::new(Telling { status, ..Telling::default() }));
                keeper.put(vec![known]).await.unwrap();
            }
            if round == 3 {
                assert_eq!(keeper.drop_queue(crawl.clone(), key.clone()).await.unwrap(), 100);
            }
            // The queues rest for a second, and deleted URLs leave the disk meanwhile.
            tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        }
        let listed = keeper.urls(crawl, key).await.unwrap();
        assert_eq!(listed.count(), 0);
    }
    let replayed = replay(dir.path()).unwrap();
    assert!(replayed.inputs > 200, "{replayed:?}");
    assert_eq!((replayed.decisions, replayed.followed), (6, 0));
}

#[tokio::test]
async fn a_replay_follows_the_decisions_of_an_earlier_order() {
    let dir = tempfile::tempdir().unwrap();
    {
        let keeper = strict(dir.path());
        keeper.put(vec![item("http://a.example/", Said::Discovered)]).await.unwrap();
        keeper.take(ask(1, 1)).await.unwrap();
    }
    assert_eq!(replay(dir.path()).unwrap(), Replayed { inputs: 4, decisions: 1, followed: 0 });
    priced(dir.path()).take(ask(1, 1)).await.unwrap();
    assert_eq!(replay(dir.path()).unwrap(), Replayed { inputs: 6, decisions: 1, followed: 1 });
    let other = tempfile::tempdir().unwrap();
    assert!(matches!(replay(other.path()), Err(KeeperError::NotAFrontier { .. })));
}

#[tokio::test]
async fn why_tells_what_a_url_waits_for() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = priced(dir.path());
    let (crawl, key) = (String::new(), "a.example".to_owned());
    let (one, two) = ("http://a.example/1", "http://a.example/2");
    keeper.put(vec![item(one, Said::Discovered), item(two, Said::Fetched(0))]).await.unwrap();
    let why = async |url: &str| keeper.why(url.to_owned()).await.unwrap().pop();
    let waiting = why(one).await.unwrap();
    assert_eq!(waiting.standing.state, State::Waiting);
    assert!(waiting.standing.opens <= waiting.now && waiting.explanation.is_some());
    assert_eq!(why(two).await.unwrap().standing.state, State::Done);
    assert!(why("http://a.example/3").await.is_none() && why("").await.is_none());
    assert_eq!(keeper.take(ask(1, 1)).await.unwrap().len(), 1);
    let held = why(one).await.unwrap();
    assert_eq!(held.standing.state, State::Held);
    assert!(held.standing.held_until.unwrap() > held.now && held.standing.opens > held.now);
    keeper.block(crawl.clone(), key.clone(), now() + 900).await.unwrap().unwrap();
    keeper.set_limit(crawl, key, 1).await.unwrap().unwrap();
    let shut = why(one).await.unwrap().standing;
    assert!(shut.blocked_until.is_some() && shut.is_full);
    let (now, then) =
        keeper.what_if(|now| Rate::per_second(2.0 * now.as_per_second())).await.unwrap().unwrap();
    assert_eq!((now.budget, then.budget), (100.0, 200.0));
}

/// However much a fetcher asks for, little of it is in memory at a time.
#[tokio::test]
async fn a_large_answer_comes_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let keeper = strict(dir.path());
    let large = |n: usize| Item {
        payload: vec![0; 60_000],
        ..item(&format!("http://h.example/{n}"), Said::Discovered)
    };
    keeper.put((0..50).map(large).collect()).await.unwrap();
    let (mut taken, mut sizes) = (keeper.take_in_parts(ask(9, 99)).await.unwrap(), Vec::new());
    loop {
        let part = taken.next().await.unwrap();
        if part.is_empty() {
            break;
        }
        sizes.push(part.len());
    }
    assert_eq!(sizes, [5; 10], "some 256 KiB each");
}
