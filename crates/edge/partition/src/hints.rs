//! Hints from outside: a sender says which pages have changed, and which are new.
//!
//! The policy learns how often each sender is right about each host, and weighs its hints by that. Trust
//! can be abused, so a sender moves at most [`SHARE`] of the budget: its hints cost it an allowance that
//! grows with the budget, and what it has not used stays good for [`GOOD_FOR`]. Publishers, whom nobody has
//! let in, move at most [`SHARE_OF_PUBLISHERS`] together.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{PageId, Rate, Span, Time};

/// Share of the budget that the hints of one sender may move.
pub const SHARE: f64 = 0.1;
/// Share of the budget that the hints of all publishers may move.
pub const SHARE_OF_PUBLISHERS: f64 = 0.5;
/// How long unused allowance stays good.
pub const GOOD_FOR: Span = Span::HOUR;
/// Least allowance: however small the budget, a sender may say something.
const LEAST: f64 = 10.0;
/// The same of all publishers.
const LEAST_OF_PUBLISHERS: f64 = 100.0;
/// Senders since the start; the hints of more are refused.
const MOST_SENDERS: usize = 64;
/// Publishers at a time. One that has said nothing for [`GOOD_FOR`] makes room for another.
const MOST_PUBLISHERS: usize = 1_024;
/// Pages remembered of all senders. Beyond, all are forgotten, and saying something again costs allowance.
const MOST_SAID: usize = 1 << 20;
const LONGEST_NAME: usize = 64;

/// A sender: its name, under which the trust in its hints is kept, and for a publisher its host, by which
/// its allowance is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Sender {
    name: String,
    publisher: Option<String>,
}

impl Default for Sender {
    fn default() -> Self {
        Sender { name: "api".to_owned(), publisher: None }
    }
}

/// A sender of [`FromStr`] as it is read, a publisher as its protocol, a slash and its host.
impl fmt::Display for Sender {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.name)?;
        self.publisher.iter().try_for_each(|host| write!(to, "/{host}"))
    }
}

impl FromStr for Sender {
    type Err = String;

    fn from_str(name: &str) -> Result<Sender, String> {
        let is_plain = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
        };
        if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_plain) {
            return Ok(Sender { name: name.to_owned(), publisher: None });
        }
        Err(format!(
            "`{name}` is no sender's name: 1 to {LONGEST_NAME} of a to z, 0 to 9, dot, hyphen and underscore"
        ))
    }
}

impl TryFrom<String> for Sender {
    type Error = String;

    fn try_from(name: String) -> Result<Sender, String> {
        name.parse()
    }
}

impl Sender {
    /// The publisher of `host`, who speaks for himself in a protocol. Trust in a protocol is learnt by host of
    /// the pages, so it needs no name of its own for each publisher.
    pub fn publisher(protocol: &str, host: &str) -> Sender {
        Sender { name: protocol.to_owned(), publisher: Some(host.to_owned()) }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn read(text: &str) -> Option<Sender> {
        match text.split_once('/') {
            Some((name, host)) => {
                Some(Sender { publisher: Some(host.to_owned()), ..name.parse().ok()? })
            }
            None => text.parse().ok(),
        }
    }

    /// The kind of its hints on the tape. Lists that give dates have names without a colon.
    pub fn kind(&self) -> String {
        format!("push:{}", self.name)
    }
}

/// Counts of a sender's URLs by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Pages with a copy, which now counts as older.
    pub hinted: u32,
    /// Pages that were not known before.
    pub new: u32,
    /// Pages about which this adds nothing: they wait for a first fetch, or the sender has said so since
    /// the last one.
    pub waiting: u32,
    /// URLs that are not taken in: out of scope, disallowed, or a crawl that is full.
    pub dropped: u32,
    /// URLs beyond the sender's allowance.
    pub refused: u32,
}

impl Received {
    /// Whether all that could count was beyond the sender's allowance.
    pub const fn is_all_refused(&self) -> bool {
        self.refused > 0 && self.hinted == 0 && self.new == 0
    }

    /// The sum over partitions.
    pub fn sum(parts: Vec<Received>) -> Received {
        parts.into_iter().fold(Received::default(), |sum, part| Received {
            hinted: sum.hinted + part.hinted,
            new: sum.new + part.new,
            waiting: sum.waiting + part.waiting,
            dropped: sum.dropped + part.dropped,
            refused: sum.refused + part.refused,
        })
    }
}

/// How hints of a kind about a host have proved themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HintRow {
    /// The host: scheme, name and port.
    pub host: String,
    /// `sitemap`, `feed`, or `push:` and the sender.
    pub kind: String,
    /// Hints that a visit has put to the test.
    pub hints: f64,
    /// Share of the hints behind which there was a change, as believed.
    pub precision: f64,
    /// Share of the changes that were hinted at, as believed.
    pub recall: f64,
}

impl HintRow {
    /// The rows of several partitions, the best tested first, at most `most`.
    pub fn merge(parts: Vec<Vec<HintRow>>, most: usize) -> Vec<HintRow> {
        let mut all: Vec<HintRow> = parts.into_iter().flatten().collect();
        all.sort_by(|a, b| {
            let by_name = || (&a.host, &a.kind).cmp(&(&b.host, &b.kind));
            b.hints.total_cmp(&a.hints).then_with(by_name)
        });
        all.truncate(most);
        all
    }
}

/// Allowances of senders, and the pages they hinted at.
#[derive(Debug, Default)]
pub struct Senders {
    accounts: BTreeMap<Sender, Account>,
    publishers: Option<Allowance>,
    said: usize,
}

#[derive(Debug)]
struct Account {
    allowance: Allowance,
    /// When it hinted at pages.
    said: FxHashMap<PageId, Time>,
}

/// What may still be said.
#[derive(Debug)]
struct Allowance {
    left: f64,
    at: Time,
}

/// How an allowance grows: so many hints a second, up to so many.
#[derive(Clone, Copy)]
struct Growth {
    rate: f64,
    most: f64,
}

impl Growth {
    fn of(share: f64, least: f64, budget: Rate) -> Growth {
        let rate = share * budget.as_per_second();
        Growth { rate, most: (rate * GOOD_FOR.seconds()).max(least) }
    }
}

impl Allowance {
    const fn full(growth: Growth, now: Time) -> Allowance {
        Allowance { left: growth.most, at: now }
    }

    /// Lets it grow until now; whether there is one left.
    fn has_one(&mut self, growth: Growth, now: Time) -> bool {
        self.left = (self.left + growth.rate * now.since(self.at).seconds()).min(growth.most);
        self.at = self.at.max(now);
        self.left >= 1.0
    }
}

impl Senders {
    /// Takes one from the allowance of a sender; `false` if none is left.
    pub fn may_say(&mut self, sender: &Sender, budget: Rate, now: Time) -> bool {
        let growth = Growth::of(SHARE, LEAST, budget);
        if !self.accounts.contains_key(sender) {
            if !self.has_room(sender, now) {
                return false;
            }
            let allowance = Allowance::full(growth, now);
            self.accounts.insert(sender.clone(), Account { allowance, said: FxHashMap::default() });
        }
        let Some(account) = self.accounts.get_mut(sender) else { return false };
        let mut all = [Some(&mut account.allowance), None];
        let mut growths = [growth; 2];
        if sender.publisher.is_some() {
            growths[1] = Growth::of(SHARE_OF_PUBLISHERS, LEAST_OF_PUBLISHERS, budget);
            let full = || Allowance::full(growths[1], now);
            all[1] = Some(self.publishers.get_or_insert_with(full));
        }
        let mut may = true;
        for (allowance, growth) in all.iter_mut().flatten().zip(growths) {
            may &= allowance.has_one(growth, now);
        }
        all.into_iter().flatten().for_each(|allowance| allowance.left -= f64::from(u8::from(may)));
        may
    }

    /// Whether another sender of this kind can be heard. Publishers that have been silent for long, whose
    /// allowance is full again, make room.
    fn has_room(&mut self, sender: &Sender, now: Time) -> bool {
        let is_publisher = sender.publisher.is_some();
        let is_alike = |other: &Sender| other.publisher.is_some() == is_publisher;
        let count = |accounts: &BTreeMap<Sender, Account>| {
            accounts.keys().filter(|other| is_alike(other)).count()
        };
        let most = if is_publisher { MOST_PUBLISHERS } else { MOST_SENDERS };
        if count(&self.accounts) < most {
            return true;
        }
        if is_publisher {
            self.accounts.retain(|other, account| {
                other.publisher.is_none() || now.since(account.allowance.at) < GOOD_FOR
            });
            self.said = self.accounts.values().map(|account| account.said.len()).sum();
        }
        count(&self.accounts) < most
    }

    /// Whether the sender has hinted at a page since its last fetch.
    pub fn has_said(&self, sender: &Sender, page: PageId, fetched: Time) -> bool {
        let said = self.accounts.get(sender).and_then(|account| account.said.get(&page));
        said.is_some_and(|at| *at >= fetched)
    }

    /// The sender hints at a page.
    pub fn note(&mut self, sender: &Sender, page: PageId, now: Time) {
        if self.said >= MOST_SAID {
            self.accounts.values_mut().for_each(|account| account.said.clear());
            self.said = 0;
        }
        let Some(account) = self.accounts.get_mut(sender) else { return };
        self.said += usize::from(account.said.insert(page, now).is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_senders_are_plain() {
        let least = "a".repeat(LONGEST_NAME);
        for good in ["cms", "news.example", "a-b_c.1", least.as_str()] {
            assert_eq!(good.parse::<Sender>().unwrap().to_string(), good);
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for bad in ["", "CMS", "a b", "a:b", "é", long.as_str()] {
            assert!(bad.parse::<Sender>().unwrap_err().contains("no sender's name"), "{bad}");
        }
    }

    /// A tenth of the budget, saved up for at most an hour.
    #[test]
    fn a_flood_moves_a_tenth_of_the_budget() {
        let (mut senders, sender) = (Senders::default(), Sender::default());
        let budget = Rate::per_second(2.0).unwrap();
        let mut said = |from: u64, seconds: u64| {
            let moments = (from * 10..(from + seconds) * 10).map(|tenth| Span::SECOND.times(tenth));
            let moments = moments.map(|tenths| Time::from_micros(tenths.as_micros() / 10));
            moments.filter(|now| senders.may_say(&sender, budget, *now)).count()
        };
        assert_eq!(said(0, 1), 10, "all is taken until the hour's allowance of 720 is used");
        assert_eq!(said(1, 100), 730, "the hour's allowance, and a tenth of 101 s at 2/s, less 10");
        assert_eq!(said(101, 1_000), 200);
        let day = 86_400;
        assert_eq!(
            said(day, 1_000),
            919,
            "an hour's allowance, whatever was not used before, and 999.9 s"
        );
    }

    #[test]
    fn a_small_budget_lets_a_sender_say_something_and_there_are_not_too_many_senders() {
        let (mut senders, now) = (Senders::default(), Time::ZERO);
        let sender = Sender::default();
        let said = (0..100).filter(|_| senders.may_say(&sender, Rate::ZERO, now)).count();
        assert_eq!(said, 10);
        let others = (0..100).map(|number| format!("s{number}").parse::<Sender>().unwrap());
        let heard = others.filter(|other| senders.may_say(other, Rate::ZERO, now)).count();
        assert_eq!(heard, MOST_SENDERS - 1);
    }

    #[test]
    fn publishers_share_half_of_the_budget_and_the_silent_make_room() {
        let mut senders = Senders::default();
        let publisher =
            |number: usize| Sender::publisher("indexnow", &format!("h{number}.example"));
        let (budget, now) = (Rate::per_second(1.0).unwrap(), Time::ZERO);
        let mut flood = |number: usize, now: Time| {
            (0..10_000).filter(|_| senders.may_say(&publisher(number), budget, now)).count()
        };
        let said: Vec<usize> = (0..7).map(|number| flood(number, now)).collect();
        assert_eq!(said, [360, 360, 360, 360, 360, 0, 0], "half of an hour's 3,600 fetches");
        let own: Sender = "cms".parse().unwrap();
        assert!(senders.may_say(&own, budget, now), "whoever has the token is no publisher");
        let soon = now + Span::HOUR.times(1);
        let heard = (0..2 * MOST_PUBLISHERS)
            .filter(|number| senders.may_say(&publisher(10 + number), budget, soon))
            .count();
        assert_eq!(heard, MOST_PUBLISHERS, "those that were silent for an hour make room");
    }

    #[test]
    fn a_publisher_is_written_and_read_and_is_nobody_who_has_the_token() {
        let publisher = Sender::publisher("websub", "a.example:8080");
        assert_eq!(publisher.to_string(), "websub/a.example:8080");
        assert_eq!(Sender::read("websub/a.example:8080"), Some(publisher.clone()));
        assert_eq!(Sender::read("cms"), "cms".parse().ok());
        assert_eq!(publisher.kind(), "push:websub");
        assert!("websub/a.example".parse::<Sender>().is_err());
    }
}
