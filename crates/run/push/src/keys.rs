//! Checks the keys of publishers, with few requests to their hosts.
//!
//! Anybody can send a submission in the name of any host, so the fetches that it causes are limited: a
//! verdict is remembered, a host is asked at most once in [`REST`], and only [`AT_ONCE`] hosts at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{End, Fetcher, Purpose, Request, Validators};
use tokio::sync::Semaphore;

use crate::indexnow::{Submission, authority, names_key};

/// How long a good key stays good.
const GOOD_FOR: Duration = Duration::from_hours(24);
/// How long a bad key stays bad.
const BAD_FOR: Duration = Duration::from_mins(10);
/// Least time between two fetches of key files from a host.
const REST: Duration = Duration::from_secs(30);
/// Key files fetched at once.
const AT_ONCE: usize = 4;
/// Longest wait for a key file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most verdicts, and most hosts, that are remembered.
const MOST: usize = 10_000;

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
    turns: Semaphore,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By file and key: the verdict, and until when it holds.
    verdicts: HashMap<(String, String), (Verdict, Instant)>,
    /// By host: when it may be asked again.
    hosts: HashMap<String, Instant>,
}

impl Known {
    /// What is remembered of a key.
    fn recall(&self, file: &str, key: &str, now: Instant) -> Option<Verdict> {
        let known = self.verdicts.get(&(file.to_owned(), key.to_owned()));
        known.filter(|(_, until)| *until > now).map(|(verdict, _)| verdict.clone())
    }

    /// Whether a host may be asked now. If so, that is noted.
    fn may_ask(&mut self, host: &str, now: Instant) -> bool {
        if self.hosts.get(host).is_some_and(|open| *open > now) {
            return false;
        }
        if self.hosts.len() >= MOST || self.verdicts.len() >= MOST {
            self.hosts.retain(|_, open| *open > now);
            self.verdicts.retain(|_, (_, until)| *until > now);
        }
        if self.hosts.len() >= MOST || self.verdicts.len() >= MOST {
            return false;
        }
        self.hosts.insert(host.to_owned(), now + REST);
        true
    }

    fn keep(&mut self, file: &str, key: &str, verdict: &Verdict, now: Instant) {
        let hold = if *verdict == Verdict::Good { GOOD_FOR } else { BAD_FOR };
        self.verdicts.insert((file.to_owned(), key.to_owned()), (verdict.clone(), now + hold));
    }
}

impl Keys {
    pub(crate) fn new(fetcher: Arc<Fetcher>) -> Keys {
        Keys { fetcher, turns: Semaphore::new(AT_ONCE), known: Mutex::default() }
    }

    /// Whether the submission's key is good, by its file or by what is remembered of it.
    pub(crate) async fn verdict(&self, of: &Submission) -> Verdict {
        let Submission { key, key_file, publisher, .. } = of;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let recalled = known().recall(key_file.as_str(), key, Instant::now());
        if let Some(verdict) = recalled {
            return verdict;
        }
        let Ok(_turn) = self.turns.try_acquire() else { return Verdict::Later };
        if !known().may_ask(publisher, Instant::now()) {
            return Verdict::Later;
        }
        let verdict = self.fetch(of).await;
        known().keep(key_file.as_str(), key, &verdict, Instant::now());
        verdict
    }

    async fn fetch(&self, of: &Submission) -> Verdict {
        // A key file is read as robots.txt is: plain text, little of it.
        let (url, held) = (of.key_file.clone(), Validators::default());
        let request = Request { url, purpose: Purpose::Robots, held };
        let mut may_follow = |to: &CanonicalUrl| authority(to) == of.publisher;
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

    #[test]
    fn a_host_is_asked_once_in_a_while_whatever_keys_are_made_up() {
        let (mut known, now) = (Known::default(), Instant::now());
        assert!(known.recall("f1", "k1", now).is_none() && known.may_ask("a", now));
        known.keep("f1", "k1", &Verdict::Good, now);
        assert_eq!(known.recall("f1", "k1", now), Some(Verdict::Good));
        assert!(!known.may_ask("a", now) && known.may_ask("b", now));
        assert!(known.recall("f2", "k2", now).is_none() && known.may_ask("a", now + REST));
        let bad = Verdict::Bad("gone".to_owned());
        known.keep("f2", "k2", &bad, now);
        assert_eq!(known.recall("f2", "k2", now + REST), Some(bad));
        assert_eq!(known.recall("f2", "k2", now + BAD_FOR), None);
        assert_eq!(known.recall("f1", "k1", now + BAD_FOR), Some(Verdict::Good));
        assert_eq!(known.recall("f1", "k1", now + GOOD_FOR), None, "good keys are looked at again");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut known, now) = (Known::default(), Instant::now());
        let asked = (0..2 * MOST).filter(|host| known.may_ask(&host.to_string(), now));
        assert_eq!(asked.count(), MOST);
        assert!(known.may_ask("one more", now + REST));
        assert_eq!(known.hosts.len(), 1);
    }
}
