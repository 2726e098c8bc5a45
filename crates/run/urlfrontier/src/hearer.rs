//! Passes the messages of publishers to the keeper.
//!
//! A URL from a publisher is put like a discovered URL with a hint from a client: a policy learns from the
//! hint, and in strict order only new URLs count. Fetchers name the hubs, in the metadata of feeds that they
//! bring back.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{Rate, Time};
use tidewatch_keeper::{Item, Keeper, Put, Said, Telling};
use tidewatch_partition::announced::{Announced, is_same_site};
use tidewatch_partition::hints::{Received, Sender, Senders};
use tidewatch_push::{Hearer, Later};

/// Most hub notes that wait.
const MOST_NOTES: usize = 1_000;
/// Without a policy there is no budget; the allowance of publishers is computed from this one.
const STRICT_BUDGET_PER_S: f64 = 1.0;

/// Most URLs whose hints are remembered. Beyond that all are forgotten, and each counts once more.
const MOST_HINTED: usize = 1 << 20;

/// What fetchers bring back that concerns publishers: the hubs that they have named, and which URLs they have
/// fetched since a publisher named them.
#[derive(Clone, Default)]
pub(crate) struct Notes {
    announced: Arc<Mutex<VecDeque<Announced>>>,
    hinted: Arc<Mutex<Hinted>>,
}

/// The hints since the last fetch, by hashes of URL and sender.
#[derive(Default)]
struct Hinted {
    hasher: RandomState,
    said: HashMap<u64, Vec<u64>>,
}

impl Hinted {
    fn has_said(&self, sender: &Sender, url: &str) -> bool {
        let said = self.said.get(&self.hasher.hash_one(url));
        said.is_some_and(|senders| senders.contains(&self.hasher.hash_one(sender.to_string())))
    }

    fn note(&mut self, sender: &Sender, url: &str) {
        if self.has_said(sender, url) {
            return;
        }
        if self.said.len() >= MOST_HINTED {
            self.said.clear();
        }
        let senders = self.said.entry(self.hasher.hash_one(url)).or_default();
        senders.push(self.hasher.hash_one(sender.to_string()));
    }
}

impl Notes {
    /// A fetcher has fetched a URL: from now on hints about it count again.
    pub(crate) fn fetched(&self, url: &str) {
        let mut hinted = self.hinted();
        if !hinted.said.is_empty() {
            let url = hinted.hasher.hash_one(url);
            hinted.said.remove(&url);
        }
    }

    fn hinted(&self) -> MutexGuard<'_, Hinted> {
        self.hinted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what metadata says of a feed's hubs and its own name. A blank hub ends a subscription.
    pub(crate) fn note(&self, page: &str, hubs: &[String], own: Option<&str>) {
        let Ok(page) = CanonicalUrl::parse(page) else { return };
        let Ok(base) = Base::of(&page) else { return };
        let hubs = hubs.iter().filter(|hub| !hub.trim().is_empty());
        let hubs = hubs.filter_map(|hub| base.join(hub).ok()).take(4).collect();
        let topic = own.and_then(|own| base.join(own).ok());
        let topic =
            topic.filter(|topic| is_same_site(topic, &page)).unwrap_or_else(|| page.clone());
        let mut notes = self.announced.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() >= MOST_NOTES {
            notes.pop_front();
        }
        notes.push_back(Announced { page, topic, hubs });
    }

    fn take(&self) -> Vec<Announced> {
        std::mem::take(&mut *self.announced.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

/// Hands hints to a keeper, within the allowance of their senders.
pub(crate) struct Hearing {
    keeper: Keeper,
    senders: Mutex<Senders>,
    notes: Notes,
}

impl Hearing {
    pub(crate) fn new(keeper: Keeper, notes: Notes) -> Hearing {
        Hearing { keeper, senders: Mutex::default(), notes }
    }

    async fn put(&self, sender: &Sender, urls: Vec<CanonicalUrl>) -> Option<Received> {
        let strict = Rate::per_second(STRICT_BUDGET_PER_S).unwrap_or(Rate::ZERO);
        let budget = self.keeper.overview().await.ok()?.0.unwrap_or(strict);
        let (mut received, mut items) = (Received::default(), Vec::new());
        let mut crawls: BTreeMap<String, Option<String>> = BTreeMap::new();
        for url in urls {
            if !crawls.contains_key(url.host()) {
                let crawl = self.keeper.crawl_of(url.as_str().to_owned()).await.ok()?;
                crawls.insert(url.host().to_owned(), crawl);
            }
            let Some(crawl) = crawls.get(url.host()).cloned().flatten() else {
                received.dropped += 1;
                continue;
            };
            if self.notes.hinted().has_said(sender, url.as_str()) {
                received.waiting += 1;
                continue;
            }
            let now = now();
            let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
            if !senders.may_say(sender, budget, now) {
                received.refused += 1;
                continue;
            }
            let told = Telling { hint: Some(sender.kind()), ..Telling::default() };
            items.push(Item {
                crawl,
                key: String::new(),
                url: url.into_string(),
                said: Said::Discovered,
                payload: Vec::new(),
                told: Some(Box::new(told)),
            });
        }
        let urls: Vec<String> = items.iter().map(|item| item.url.clone()).collect();
        for (put, url) in self.keeper.put(items).await.ok()?.into_iter().zip(urls) {
            if !matches!(put, Put::Refused(_)) {
                self.notes.hinted().note(sender, &url);
            }
            match put {
                Put::Added => received.new += 1,
                Put::Known | Put::Updated => received.hinted += 1,
                Put::Refused(_) => received.dropped += 1,
            }
        }
        Some(received)
    }
}

impl Hearer for Hearing {
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>> {
        Box::pin(async move {
            let crawl = self.keeper.crawl_of(url.into_string()).await.ok()?;
            Some(crawl.is_some())
        })
    }

    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>> {
        Box::pin(async move { self.put(&sender, urls).await })
    }

    fn announced(&self) -> Later<'_, Vec<Announced>> {
        Box::pin(async { self.notes.take() })
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use tidewatch_keeper::{Order, Settings};

    use super::*;

    /// What a publisher repeats costs it nothing and counts once, until the page is fetched.
    #[tokio::test]
    async fn a_hint_counts_once_until_the_next_fetch() {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            Settings { dir: dir.path().to_owned(), order: Order::Strict, cache: 8 << 20 };
        let (keeper, notes) = (Keeper::open(&settings).unwrap(), Notes::default());
        let known = Item {
            crawl: String::new(),
            key: String::new(),
            url: "http://a.example/".to_owned(),
            said: Said::Discovered,
            payload: Vec::new(),
            told: None,
        };
        keeper.put(vec![known]).await.unwrap();
        let hearing = Hearing::new(keeper, notes.clone());
        let one = Sender::publisher("indexnow", "a.example");
        let hear = async |sender: &Sender, url: &str| {
            let urls = vec![CanonicalUrl::parse(url).unwrap()];
            let Received { hinted, new, waiting, refused, .. } =
                hearing.put(sender, urls).await.unwrap();
            (hinted, new, waiting, refused)
        };
        let (old, new) = ("http://a.example/", "http://a.example/new");
        assert_eq!(hear(&one, old).await, (1, 0, 0, 0));
        assert_eq!(hear(&one, new).await, (0, 1, 0, 0));
        for _ in 0..1_000 {
            assert_eq!(hear(&one, old).await, (0, 0, 1, 0));
            assert_eq!(hear(&one, new).await, (0, 0, 1, 0));
        }
        let other = Sender::publisher("websub", "a.example");
        assert_eq!(hear(&other, old).await, (1, 0, 0, 0), "another has not said it");
        notes.fetched(old);
        assert_eq!(hear(&one, old).await, (1, 0, 0, 0));
        assert_eq!(hear(&one, new).await, (0, 0, 1, 0));
    }
}
