//! Checks the keys of publishers, with few requests to their hosts.
//!
//! Anybody can send a submission in the name of any host, so the fetches that it causes are limited: a
//! verdict is remembered; a site is asked at most once in a gap, a host a few times and then once in
//! [`REST`]; and only [`AT_ONCE`] hosts at a time. Whoever makes up keys for a host uses up its looks. So a
//! key that was good before needs none: it is looked at again whenever the gap allows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{End, Fetcher, Purpose, Request, Validators};
use tokio::sync::Semaphore;

use crate::indexnow::{Submission, authority, names_key};
use crate::pace::{Pace, site};

/// How long a good key stays good.
const GOOD_FOR: Duration = Duration::from_hours(24);
/// How long a bad key stays bad.
const BAD_FOR: Duration = Duration::from_mins(10);
/// Looks for key files at a host that has not been asked for long.
const LOOKS: u32 = 4;
/// After this time a host may be asked once more.
const REST: Duration = Duration::from_secs(30);
/// Key files fetched at once.
const AT_ONCE: usize = 4;
/// Longest wait for a key file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most verdicts, and most hosts, that are remembered.
const MOST: usize = 10_000;
/// Most verdicts on keys of one site.
const MOST_OF_SITE: usize = 100;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The key file names it.
    Good,
    /// The key file is missing or does not name it; the reason, for the sender.
    Bad(String),
    /// The key file cannot be fetched now; the sender should come again.
    Later,
}

/// Looks for keys and remembers what was found.
pub(crate) struct Keys {
    fetcher: Arc<Fetcher>,
    pace: Arc<Pace>,
    turns: Semaphore,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By file and key.
    verdicts: HashMap<(String, String), Kept>,
    hosts: HashMap<String, Looks>,
}

/// A verdict as it is remembered.
struct Kept {
    verdict: Verdict,
    /// The site of the key file.
    site: String,
    until: Instant,
}

impl Kept {
    /// Bad keys make room for others before good ones, and the oldest first.
    fn rank(&self) -> (bool, Instant) {
        (self.verdict == Verdict::Good, self.until)
    }
}

/// How often a host may still be asked.
struct Looks {
    left: u32,
    since: Instant,
}

impl Known {
    /// What is remembered of a key.
    fn recall(&self, file: &str, key: &str, now: Instant) -> Option<Verdict> {
        let known = self.verdicts.get(&(file.to_owned(), key.to_owned()));
        known.filter(|kept| kept.until > now).map(|kept| kept.verdict.clone())
    }

    /// Whether a key was good when it was looked at last.
    fn was_good(&self, file: &str, key: &str) -> bool {
        let known = self.verdicts.get(&(file.to_owned(), key.to_owned()));
        known.is_some_and(|kept| kept.verdict == Verdict::Good)
    }

    /// Whether a host may be asked now. If so, that is noted.
    fn may_look(&mut self, host: &str, now: Instant) -> bool {
        if self.hosts.len() >= MOST && !self.hosts.contains_key(host) {
            let oldest = self.hosts.iter().min_by_key(|(_, looks)| looks.since);
            if let Some(oldest) = oldest.map(|(host, _)| host.clone()) {
                self.hosts.remove(&oldest);
            }
        }
        let full = Looks { left: LOOKS, since: now };
        let looks = self.hosts.entry(host.to_owned()).or_insert(full);
        while looks.left < LOOKS && now.duration_since(looks.since) >= REST {
            looks.left += 1;
            looks.since += REST;
        }
        if looks.left == 0 {
            return false;
        }
        if looks.left == LOOKS {
            looks.since = now;
        }
        looks.left -= 1;
        true
    }

    fn keep(&mut self, file: &CanonicalUrl, key: &str, verdict: &Verdict, now: Instant) {
        let site = site(file).to_owned();
        let of_site = self.verdicts.values().filter(|kept| kept.site == site).count();
        if of_site >= MOST_OF_SITE {
            self.forget(|kept| kept.site == site);
        } else if self.verdicts.len() >= MOST {
            self.forget(|_| true);
        }
        let hold = if *verdict == Verdict::Good { GOOD_FOR } else { BAD_FOR };
        let kept = Kept { verdict: verdict.clone(), site, until: now + hold };
        self.verdicts.insert((file.as_str().to_owned(), key.to_owned()), kept);
    }

    /// Forgets one of those verdicts.
    fn forget(&mut self, is_one: impl Fn(&Kept) -> bool) {
        let some = self.verdicts.iter().filter(|(_, kept)| is_one(kept));
        if let Some(name) = some.min_by_key(|(_, kept)| kept.rank()).map(|(name, _)| name.clone()) {
            self.verdicts.remove(&name);
        }
    }
}

impl Keys {
    pub(crate) fn new(fetcher: Arc<Fetcher>, pace: Arc<Pace>) -> Keys {
        Keys { fetcher, pace, turns: Semaphore::new(AT_ONCE), known: Mutex::default() }
    }

    /// Whether the submission's key is good, by its file or by what is remembered of it.
    pub(crate) async fn verdict(&self, of: &Submission) -> Verdict {
        let Submission { key, key_file, .. } = of;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let recalled = known().recall(key_file.as_str(), key, Instant::now());
        if let Some(verdict) = recalled {
            return verdict;
        }
        let Ok(_turn) = self.turns.try_acquire() else { return Verdict::Later };
        if !self.may_look(&mut known(), of) {
            return Verdict::Later;
        }
        let verdict = self.fetch(of).await;
        known().keep(key_file, key, &verdict, Instant::now());
        verdict
    }

    fn may_look(&self, known: &mut Known, of: &Submission) -> bool {
        let (now, key_file) = (Instant::now(), &of.key_file);
        self.pace.may_ask(key_file, now)
            && (known.was_good(key_file.as_str(), &of.key) || known.may_look(&of.publisher, now))
    }

    async fn fetch(&self, of: &Submission) -> Verdict {
        // A key file is read as robots.txt is: plain text, little of it.
        let (url, held) = (of.key_file.clone(), Validators::default());
        let request = Request { url, purpose: Purpose::Robots, held };
        // One redirect, such as from HTTP to HTTPS, and to no page that might repeat its query.
        let mut redirects = 0;
        let mut may_follow = |to: &CanonicalUrl| {
            redirects += 1;
            redirects == 1 && authority(to) == of.publisher && to.query().is_none()
        };
        let fetching = self.fetcher.fetch(&request, &mut may_follow);
        let Ok(fetched) = tokio::time::timeout(PATIENCE, fetching).await else {
            return Verdict::Bad(format!("{} takes too long", of.key_file));
        };
        match (&fetched.end, fetched.response()) {
            (End::Answered, Some(response)) if response.status != 200 => {
                Verdict::Bad(format!("{} answers {}", of.key_file, response.status))
            }
            (End::Answered, Some(response)) if names_key(&response.body, &of.key) => Verdict::Good,
            (End::Answered, Some(_)) => {
                Verdict::Bad(format!("{} does not name the key", of.key_file))
            }
            (end, _) => Verdict::Bad(format!("{} cannot be fetched: {}", of.key_file, end.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(host: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{host}/key.txt")).unwrap()
    }

    #[test]
    fn a_host_is_asked_a_few_times_whatever_keys_are_made_up() {
        let (mut known, now) = (Known::default(), Instant::now());
        let mut looks =
            |host: &str, at: Instant| (0..100).filter(|_| known.may_look(host, at)).count() as u32;
        assert_eq!((looks("a", now), looks("b", now)), (LOOKS, LOOKS));
        assert_eq!(looks("a", now + REST / 2), 0);
        assert_eq!(looks("a", now + REST), 1);
        assert_eq!(looks("a", now + 100 * REST), LOOKS);
    }

    /// Whoever makes up a key in every rest does not shut out the publisher.
    #[test]
    fn a_publisher_gets_a_look_while_others_make_up_keys() {
        let (mut known, now) = (Known::default(), Instant::now());
        let made_up = (0..50).map(|number| known.may_look("a", now + number * REST));
        assert_eq!(made_up.filter(|may| *may).count(), 50);
        assert!(known.may_look("a", now + 50 * REST) && known.may_look("a", now + 50 * REST));
    }

    #[test]
    fn verdicts_are_remembered_for_a_while() {
        let (mut known, now, a) = (Known::default(), Instant::now(), file("a.example"));
        known.keep(&a, "k1", &Verdict::Good, now);
        assert_eq!(known.recall(a.as_str(), "k1", now), Some(Verdict::Good));
        let bad = Verdict::Bad("gone".to_owned());
        known.keep(&a, "k2", &bad, now);
        assert_eq!(known.recall(a.as_str(), "k2", now + REST), Some(bad));
        assert_eq!(known.recall(a.as_str(), "k2", now + BAD_FOR), None);
        assert_eq!(known.recall(a.as_str(), "k1", now + BAD_FOR), Some(Verdict::Good));
        let later = known.recall(a.as_str(), "k1", now + GOOD_FOR);
        assert_eq!(later, None, "good keys are looked at again");
        assert!(known.was_good(a.as_str(), "k1") && !known.was_good(a.as_str(), "k2"));
    }

    #[test]
    fn many_keys_of_one_domain_close_nothing_for_others() {
        let (mut known, now) = (Known::default(), Instant::now());
        known.keep(&file("honest.example"), "key", &Verdict::Good, now);
        for number in 0..2 * MOST {
            let host = format!("n{number}.evil.example");
            assert!(known.may_look(&host, now));
            known.keep(&file(&host), "key", &Verdict::Good, now);
        }
        assert_eq!((known.verdicts.len(), known.hosts.len()), (MOST_OF_SITE + 1, MOST));
        assert!(known.recall(file("honest.example").as_str(), "key", now).is_some());
        for number in 0..2 * MOST {
            known.keep(&file(&format!("n{number}.example")), "key", &Verdict::Good, now);
        }
        assert_eq!(known.verdicts.len(), MOST);
    }
}
