//! All subscriptions, and the file that they are kept in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::announced::Announced;

use crate::delivery::Seen;
use crate::subscription::{Mode, Subscription, Verified};

/// Most subscriptions at a time. Hubs of further pages are ignored.
const MOST: usize = 1_000;
/// Most requests to hubs in one round.
const MOST_AT_ONCE: usize = 8;

/// Subscriptions by the last part of their callbacks.
pub(crate) struct Book {
    file: PathBuf,
    all: BTreeMap<String, Entry>,
    is_changed: bool,
}

struct Entry {
    subscription: Subscription,
    seen: Seen,
    /// Deliveries since this minute began.
    minute: (u64, u32),
}

/// A request to be sent to a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) mode: Mode,
    pub(crate) hub: String,
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
        Ok(Book { file: file.to_owned(), all, is_changed: false })
    }

    /// Writes the file if anything has changed. It holds secrets.
    pub(crate) fn save(&mut self) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let all: Vec<&Subscription> = self.all.values().map(|entry| &entry.subscription).collect();
        let text = serde_json::to_vec(&all).map_err(io::Error::other)?;
        let new = self.file.with_extension("new");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, &self.file)?;
        self.is_changed = false;
        Ok(())
    }

    /// Updates the subscriptions of a page from the hubs that it names.
    pub(crate) fn note(&mut self, announced: &Announced) {
        let Announced { page, topic, hubs } = announced;
        let (page, topic) = (page.as_str(), topic.as_str());
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
        if let Some(hub) = hubs.first().filter(|_| !is_there && self.all.len() < MOST)
            && let Some((id, secret)) = draw().zip(draw())
        {
            let new = Subscription::new(page, topic, hub.as_str(), id.clone(), secret);
            self.all.insert(id, Entry::new(new));
            self.is_changed = true;
        }
    }

    /// The requests to send to hubs now. Removes subscriptions that have ended.
    pub(crate) fn questions(&mut self, now: u64) -> Vec<Question> {
        let before = self.all.len();
        self.all.retain(|_, entry| !entry.subscription.is_over(now));
        self.is_changed |= self.all.len() < before;
        let mut questions = Vec::new();
        for Entry { subscription: one, .. } in self.all.values_mut() {
            if questions.len() >= MOST_AT_ONCE {
                break;
            }
            if let Some(mode) = one.ask(now) {
                let (hub, topic) = (one.hub().to_owned(), one.topic().to_owned());
                let (id, secret) = (one.id().to_owned(), one.secret().to_owned());
                questions.push(Question { mode, hub, topic, id, secret });
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

    /// The URLs that are new in a delivery with a valid signature; `None` if the delivery is a repetition.
    pub(crate) fn news(
        &mut self,
        id: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Option<Vec<CanonicalUrl>> {
        let Entry { subscription, seen, .. } = self.all.get_mut(id)?;
        let topic = CanonicalUrl::parse(subscription.topic()).ok()?;
        if seen.repeats(body) {
            return None;
        }
        Some(seen.news(&topic, content_type, body))
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
        Entry { subscription, seen: Seen::default(), minute: (0, 0) }
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
        book.note(&announced(topic, &[one]));
        let asked = book.questions(10);
        assert_eq!((asked.len(), asked[0].mode, asked[0].hub.as_str()), (1, Mode::Subscribe, one));
        assert_eq!(asked[0].id.len(), 32);
        assert!(asked[0].id != asked[0].secret);
        assert!(book.verify(&asked[0].id, Mode::Subscribe, topic, Some(1_000), 11));
        book.save().unwrap();
        book.note(&announced(topic, &[one]));
        assert!(book.questions(12).is_empty() && !book.is_changed, "nothing new");
        let mut book = Book::open(&file).unwrap();
        assert!(book.receive(&asked[0].id, 12).unwrap().1.is_ok(), "it is kept");
        book.note(&announced(topic, &[two]));
        let mut both = book.questions(13);
        both.sort_by_key(|question| question.hub.clone());
        assert_eq!((both[0].mode, both[1].mode), (Mode::Unsubscribe, Mode::Subscribe));
        assert_eq!(book.receive(&asked[0].id, 13).unwrap().1, Err(Shut::Ended));
        assert!(book.verify(&both[0].id, Mode::Unsubscribe, topic, None, 14));
        assert_eq!(book.views().len(), 1);
        book.note(&announced(topic, &[]));
        let left = book.questions(15);
        assert!(left.is_empty(), "it was never active, so there is nothing to end: {left:?}");
    }

    #[test]
    fn floods_and_strangers_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("push.json")).unwrap();
        let topic = "http://a.example/f";
        book.note(&announced(topic, &["http://hub.example/"]));
        let id = book.questions(0)[0].id.clone();
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
        for number in 0..MOST + 5 {
            let page = url(&format!("http://a.example/{number}"));
            let hubs = vec![url("http://hub.example/")];
            book.note(&Announced { topic: page.clone(), page, hubs });
        }
        assert_eq!(book.views().len(), MOST);
    }
}
