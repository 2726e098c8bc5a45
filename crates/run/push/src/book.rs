//! All subscriptions, and the file that they are kept in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::announced::Announced;

use crate::delivery::{News, Seen};
use crate::hubs::Hubs;
use crate::pace::site;
use crate::subscription::{Mode, Subscription, Verified};

/// Most subscriptions at a time. Hubs of further pages are ignored.
const MOST: usize = 1_000;
/// Most subscriptions to pages of one site.
const MOST_OF_SITE: usize = 100;
/// Most sites of hubs that the pages of one site may name.
const MOST_HUBS_OF_SITE: usize = 4;

/// Subscriptions by the last part of their callbacks.
pub(crate) struct Book {
    file: PathBuf,
    all: BTreeMap<String, Entry>,
    hubs: Hubs,
    is_changed: bool,
}

struct Entry {
    subscription: Subscription,
    /// The site of the page that named the hub.
    site: String,
    /// The site of the hub.
    hub_site: String,
    seen: Seen,
    /// Deliveries since this minute began.
    minute: (u64, u32),
}

/// A request to be sent to a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) mode: Mode,
    pub(crate) hub: CanonicalUrl,
    pub(crate) topic: String,
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// A subscription as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubscriptionView {
    /// What is subscribed to.
    pub topic: String,
    /// Where.
    pub hub: String,
    /// Unix time until which the hub delivers; 0 if it has not confirmed yet.
    pub active_until_s: u64,
    /// Whether we want it; otherwise the hub is being asked to end it.
    pub is_wanted: bool,
}

/// Most deliveries of a topic that are read in a minute.
const MOST_A_MINUTE: u32 = 60;

impl Book {
    /// Reads the file. A damaged file is an error: without it the subscriptions would continue at their hubs
    /// and nobody could end them.
    pub(crate) fn open(file: &Path) -> io::Result<Book> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "[]".to_owned(),
            Err(error) => return Err(error),
        };
        let all: Vec<Subscription> = serde_json::from_str(&text).map_err(io::Error::other)?;
        let entry =
            |subscription: Subscription| (subscription.id().to_owned(), Entry::new(subscription));
        let all = all.into_iter().map(entry).collect();
        Ok(Book { file: file.to_owned(), all, hubs: Hubs::default(), is_changed: false })
    }

    /// The file, and what to [`write`] to it; `None` if nothing has changed since the last call.
    pub(crate) fn changes(&mut self) -> Option<(PathBuf, Vec<u8>)> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let all: Vec<&Subscription> = self.all.values().map(|entry| &entry.subscription).collect();
        // Strings and numbers can always be written.
        Some((self.file.clone(), serde_json::to_vec(&all).unwrap_or_default()))
    }

    /// The last [`changes`](Book::changes) could not be written.
    pub(crate) const fn keep_changed(&mut self) {
        self.is_changed = true;
    }

    /// Updates the subscriptions of a page from the hubs that it names.
    pub(crate) fn note(&mut self, announced: &Announced, now: u64) {
        let Announced { page: of, topic, hubs } = announced;
        let (page, topic) = (of.as_str(), topic.as_str());
        let mut is_there = false;
        for Entry { subscription, .. } in self.all.values_mut() {
            if subscription.page() != page && subscription.topic() != topic {
                continue;
            }
            let is_named = hubs.iter().any(|hub| hub.as_str() == subscription.hub());
            let is_right = subscription.topic() == topic && is_named && !is_there;
            if is_right != subscription.is_wanted() {
                if is_right {
                    subscription.want();
                } else {
                    subscription.leave();
                }
                self.is_changed = true;
            }
            is_there |= is_right;
        }
        if let Some(hub) = hubs.first().filter(|hub| !is_there && self.has_room(of, hub, now))
            && let Some((id, secret)) = draw().zip(draw())
        {
            let new = Subscription::new(page, topic, hub.as_str(), id.clone(), secret);
            self.all.insert(id, Entry::new(new));
            self.is_changed = true;
        }
    }

    /// Whether there is room for a subscription to `page` at `hub`. One that was given up makes room.
    fn has_room(&mut self, page: &CanonicalUrl, hub: &CanonicalUrl, now: u64) -> bool {
        let of_site = self.all.values().filter(|entry| entry.site == site(page));
        let mut hub_sites = BTreeSet::from([site(hub)]);
        let mut count = 0;
        for entry in of_site {
            count += 1;
            hub_sites.insert(&entry.hub_site);
        }
        if count >= MOST_OF_SITE || hub_sites.len() > MOST_HUBS_OF_SITE {
            return false;
        }
        if self.all.len() < MOST {
            return true;
        }
        let mut all = self.all.iter();
        let given_up = all.find(|(_, entry)| entry.subscription.is_given_up(now));
        let given_up = given_up.map(|(id, _)| id.clone());
        given_up.is_some_and(|id| self.all.remove(&id).is_some())
    }

    /// At most `most` requests to send to hubs now, those first that have been due the longest. `may_ask` says
    /// whether a hub's turn has come. Removes subscriptions that have ended.
    pub(crate) fn questions(
        &mut self,
        now: u64,
        most: usize,
        may_ask: impl Fn(&CanonicalUrl) -> bool,
    ) -> Vec<Question> {
        let before = self.all.len();
        self.all.retain(|_, entry| !entry.subscription.is_over(now));
        self.is_changed |= self.all.len() < before;
        let due = |entry: &&mut Entry| entry.subscription.due(now).is_some();
        let mut entries: Vec<&mut Entry> = self.all.values_mut().filter(due).collect();
        entries.sort_by_key(|entry| entry.subscription.due(now));
        let mut questions = Vec::new();
        for Entry { subscription: one, hub_site, .. } in entries {
            if questions.len() >= most {
                break;
            }
            let Ok(hub) = CanonicalUrl::parse(one.hub()) else { continue };
            if !self.hubs.may_ask(hub_site, now) || !may_ask(&hub) {
                continue;
            }
            if let Some(mode) = one.ask(now) {
                let (topic, id) = (one.topic().to_owned(), one.id().to_owned());
                questions.push(Question { mode, hub, topic, id, secret: one.secret().to_owned() });
                self.hubs.ask(hub_site, now);
                self.is_changed = true;
            }
        }
        questions
    }

    /// Answers a hub that verifies a request of ours; `false` if we made no such request.
    pub(crate) fn verify(
        &mut self,
        id: &str,
        mode: Mode,
        topic: &str,
        lease: Option<u64>,
        now: u64,
    ) -> bool {
        let Some(entry) = self.all.get_mut(id) else { return false };
        let verified = entry.subscription.verify(mode, topic, lease, now);
        if verified != Verified::Refused {
            self.hubs.verified(&entry.hub_site);
        }
        if verified == Verified::Ended {
            self.all.remove(id);
        }
        self.is_changed |= verified != Verified::Refused;
        verified != Verified::Refused
    }

    /// Notes that a hub has denied a subscription, new or existing.
    pub(crate) fn deny(&mut self, id: &str, topic: &str, now: u64) -> bool {
        let Some(entry) = self.all.get_mut(id) else { return false };
        let is_denied = entry.subscription.deny(topic, now);
        self.is_changed |= is_denied;
        is_denied
    }

    /// The topic and the secret of a subscription; `None` if it is not known. In place of the secret comes a
    /// [`Shut`] if the lease has ended or the topic delivers too often.
    pub(crate) fn receive(&mut self, id: &str, now: u64) -> Option<(String, Result<String, Shut>)> {
        let entry = self.all.get_mut(id)?;
        let one = &entry.subscription;
        if entry.minute.0 != now / 60 {
            entry.minute = (now / 60, 0);
        }
        entry.minute.1 += 1;
        let secret = match () {
            () if !one.is_active(now) => Err(Shut::Ended),
            () if entry.minute.1 > MOST_A_MINUTE => Err(Shut::Often),
            () => Ok(one.secret().to_owned()),
        };
        Some((one.topic().to_owned(), secret))
    }

    /// What is new in a delivery with a valid signature; `None` if the delivery is a repetition.
    pub(crate) fn news(&self, id: &str, content_type: Option<&str>, body: &[u8]) -> Option<News> {
        let Entry { subscription, seen, .. } = self.all.get(id)?;
        let topic = CanonicalUrl::parse(subscription.topic()).ok()?;
        seen.news(&topic, content_type, body)
    }

    /// The news of a delivery were taken in: from now on they are none.
    pub(crate) fn took(&mut self, id: &str, news: &News) {
        if let Some(entry) = self.all.get_mut(id) {
            entry.seen.mark(news);
        }
    }

    pub(crate) fn views(&self) -> Vec<SubscriptionView> {
        let view = |Entry { subscription: one, .. }: &Entry| SubscriptionView {
            topic: one.topic().to_owned(),
            hub: one.hub().to_owned(),
            active_until_s: one.active_until(),
            is_wanted: one.is_wanted(),
        };
        self.all.values().map(view).collect()
    }
}

/// Replaces the file, durably. It holds secrets.
pub(crate) fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut options = File::options();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(text)?;
    out.sync_all()?;
    fs::rename(&new, file)?;
    match file.parent() {
        Some(dir) if dir != Path::new("") => File::open(dir)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Why a delivery is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shut {
    /// The subscription has ended or was never confirmed.
    Ended,
    /// There were too many in this minute.
    Often,
}

impl Entry {
    fn new(subscription: Subscription) -> Entry {
        let site_of = |url| CanonicalUrl::parse(url).map(|url| site(&url).to_owned());
        let site = site_of(subscription.page()).unwrap_or_default();
        let hub_site = site_of(subscription.hub()).unwrap_or_default();
        Entry { subscription, site, hub_site, seen: Seen::default(), minute: (0, 0) }
    }
}

/// 128 random bits in hex; `None` if the system has none.
fn draw() -> Option<String> {
    let bytes: [u8; 16] = ring::rand::generate(&SystemRandom::new()).ok()?.expose();
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    /// All requests that are due.
    fn questions(book: &mut Book, now: u64) -> Vec<Question> {
        book.questions(now, usize::MAX, |_| true)
    }

    fn announced(topic: &str, hubs: &[&str]) -> Announced {
        let hubs = hubs.iter().map(|hub| url(hub)).collect();
        Announced { page: url("http://a.example/feed"), topic: url(topic), hubs }
    }

    #[test]
    fn a_page_that_changes_its_hub_is_left_at_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("push.json");
        let mut book = Book::open(&file).unwrap();
        let (topic, one, two) =
            ("http://a.example/f", "http://one.example/", "http://two.example/");
        book.note(&announced(topic, &[one]), 0);
        let asked = questions(&mut book, 10);
        assert_eq!((asked.len(), asked[0].mode, asked[0].hub.as_str()), (1, Mode::Subscribe, one));
        assert_eq!(asked[0].id.len(), 32);
        assert!(asked[0].id != asked[0].secret);
        assert!(book.verify(&asked[0].id, Mode::Subscribe, topic, Some(1_000), 11));
        let (to, text) = book.changes().unwrap();
        write(&to, &text).unwrap();
        book.note(&announced(topic, &[one]), 0);
        assert!(questions(&mut book, 12).is_empty() && !book.is_changed, "nothing new");
        let mut book = Book::open(&file).unwrap();
        assert!(book.receive(&asked[0].id, 12).unwrap().1.is_ok(), "it is kept");
        book.note(&announced(topic, &[two]), 0);
        let mut both = questions(&mut book, 13);
        both.sort_by_key(|question| question.hub.clone());
        assert_eq!((both[0].mode, both[1].mode), (Mode::Unsubscribe, Mode::Subscribe));
        assert_eq!(book.receive(&asked[0].id, 13).unwrap().1, Err(Shut::Ended));
        assert!(book.verify(&both[0].id, Mode::Unsubscribe, topic, None, 14));
        assert_eq!(book.views().len(), 1);
        book.note(&announced(topic, &[]), 0);
        let left = questions(&mut book, 15);
        assert!(left.is_empty(), "it was never active, so there is nothing to end: {left:?}");
    }

    #[test]
    fn floods_and_strangers_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        let topic = "http://a.example/f";
        book.note(&announced(topic, &["http://hub.example/"]), 0);
        let id = questions(&mut book, 0)[0].id.clone();
        assert_eq!(book.receive("unknown", 1), None);
        assert_eq!(book.receive(&id, 1).unwrap().1, Err(Shut::Ended), "not verified");
        assert!(book.verify(&id, Mode::Subscribe, topic, Some(1_000), 1));
        let read = (0..200).filter(|_| book.receive(&id, 120).unwrap().1.is_ok()).count();
        assert_eq!(read, MOST_A_MINUTE as usize);
        assert!(book.receive(&id, 180).unwrap().1.is_ok());
    }

    #[test]
    fn there_are_not_too_many() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        let mut note = |page: &str, hub: &str, now: u64| {
            let (page, hubs) = (url(page), vec![url(hub)]);
            book.note(&Announced { topic: page.clone(), page, hubs }, now);
            book.views().len()
        };
        let one_site = (0..2 * MOST).map(|number| format!("http://n{number}.a.example/"));
        for page in one_site {
            note(&page, "http://hub.example/", 0);
        }
        assert_eq!(note("http://a.example/", "http://hub.example/", 0), MOST_OF_SITE);
        for number in 0..2 * MOST {
            note("http://b.example/", &format!("http://hub{number}.example/"), 0);
        }
        let sites = (0..2 * MOST).map(|number| format!("http://site{number}.example/"));
        for page in sites {
            note(&page, "http://hub.example/", 0);
        }
        assert_eq!(note("http://c.example/", "http://hub.example/", 0), MOST);
    }

    #[test]
    fn the_pages_of_a_site_name_few_hubs() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        for number in 0..50 {
            let page = url(&format!("http://a.example/{number}"));
            let hubs = vec![url(&format!("http://hub{number}.example/"))];
            book.note(&Announced { topic: page.clone(), page, hubs }, 0);
        }
        assert_eq!(book.views().len(), MOST_HUBS_OF_SITE);
    }

    /// However many feeds name a victim as their hub, and however often.
    #[test]
    fn a_victim_that_is_named_as_hub_is_asked_a_few_times() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        let mut asked = 0;
        for now in 0..10_000 {
            let page = url(&format!("http://site{now}.example/"));
            let hubs = vec![url("http://victim.test/")];
            book.note(&Announced { topic: page.clone(), page, hubs }, now);
            asked += questions(&mut book, now).len();
        }
        assert_eq!(asked, 32);
    }

    #[test]
    fn hubs_are_asked_in_the_order_in_which_they_are_due() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        for number in 0..9 {
            let page = url(&format!("http://site{number}.example/"));
            let hubs = vec![url(&format!("http://hub{number}.example/"))];
            book.note(&Announced { topic: page.clone(), page, hubs }, 0);
        }
        let first = book.questions(0, 8, |_| true);
        // Eight hubs grant a second; the ninth has its turn before any of them is asked again.
        for asked in &first {
            let lease = Some(1);
            assert!(book.verify(&asked.id, Mode::Subscribe, &asked.topic, lease, 1));
        }
        let second = book.questions(3_000, 1, |_| true);
        assert!(first.iter().all(|asked| asked.id != second[0].id));
        assert_eq!(book.questions(3_000, 8, |hub| hub.host() == "nobody.example"), []);
        assert_eq!(questions(&mut book, 3_000).len(), 8);
    }
}
