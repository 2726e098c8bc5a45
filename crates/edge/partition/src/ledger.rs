//! One budget for all partitions.
//!
//! Every partition reports its demand for fetches every few seconds, and gets its share of the budget. Where
//! all policies have a price, one price clears the sum of their demand curves at the total, and each
//! partition is granted what it demands at that price ([`DemandCurve::split`]); otherwise partitions share
//! by known pages. A grant is an input on the partition's tape, so each replays alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tidewatch_core::Rate;
use tidewatch_policy::DemandCurve;

/// The share of the budget that is divided equally. A demand curve knows neither pages still to be found
/// nor the gaps of hosts, so a partition may demand more than it can spend while another starves.
const EQUAL_SHARE: f64 = 0.1;

/// What a partition reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Pages known.
    pub pages: u32,
    /// Fetches per second of the crawl at each price, where the policy has one.
    pub demand: Option<DemandCurve>,
}

/// The budget of the partitions of a process, and what was reported and granted. Partitions may enter and
/// leave.
pub struct Ledger {
    books: Mutex<Books>,
}

struct Books {
    total: f64,
    /// Seconds of crawl time in one second of real time.
    pace: f64,
    /// What each partition reported last, once it did.
    accounts: BTreeMap<u32, Option<Account>>,
    /// Page requests of every partition that was ever here.
    fetches: BTreeMap<u32, u64>,
}

impl Ledger {
    /// Divides `total`, which is per real second. `pace` is seconds of crawl time in one real second.
    pub fn new(total: Rate, pace: f64) -> Ledger {
        let total = total.as_per_second();
        let (accounts, fetches) = (BTreeMap::new(), BTreeMap::new());
        Ledger { books: Mutex::new(Books { total, pace, accounts, fetches }) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Every change to the books is one assignment.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A partition comes in. Until all have reported, the total is divided equally.
    pub fn enter(&self, number: u32) {
        self.books().accounts.insert(number, None);
    }

    /// A partition goes.
    pub fn leave(&self, number: u32) {
        self.books().accounts.remove(&number);
    }

    /// Takes in a partition's report and returns what it is granted.
    pub fn report(&self, number: u32, account: Account) -> Rate {
        let mut books = self.books();
        books.accounts.insert(number, Some(account));
        books.share(number, books.total)
    }

    /// Whether a partition has reported.
    pub(crate) fn has_reported(&self, number: u32) -> bool {
        self.books().accounts.get(&number).is_some_and(Option::is_some)
    }

    /// What a partition would be granted of another total.
    pub fn share_of(&self, number: u32, total: Rate) -> Rate {
        self.books().share(number, total.as_per_second())
    }

    /// An even part of the total.
    pub(crate) fn even_part(&self) -> Rate {
        let books = self.books();
        Rate::per_second(books.total / books.accounts.len().max(1) as f64).unwrap_or(Rate::ZERO)
    }

    /// The total budget.
    pub fn total(&self) -> Rate {
        Rate::per_second(self.books().total).unwrap_or(Rate::ZERO)
    }

    /// Sets the total budget; every partition gets its share of it with its next report.
    pub fn set_total(&self, total: Rate) {
        self.books().total = total.as_per_second();
    }

    /// The demand of all partitions together, per second of crawl time; `None` until all have reported
    /// and where a policy has no price.
    pub fn demand(&self) -> Option<DemandCurve> {
        let books = self.books();
        let curves = books.accounts.values().map(|account| account.as_ref()?.demand.clone());
        let mut curves = curves.collect::<Option<Vec<DemandCurve>>>()?.into_iter();
        let mut sum = curves.next()?;
        curves.for_each(|curve| sum.add(&curve));
        Some(sum)
    }

    /// Pages known in all partitions that have reported.
    pub fn pages(&self) -> u64 {
        let books = self.books();
        books.accounts.values().flatten().map(|account| u64::from(account.pages)).sum()
    }

    /// Notes how many page requests a partition has made.
    pub(crate) fn count(&self, number: u32, fetches: u64) {
        self.books().fetches.insert(number, fetches);
    }

    /// Page requests of a partition, as far as it was here.
    pub fn fetches_of(&self, number: u32) -> u64 {
        self.books().fetches.get(&number).copied().unwrap_or(0)
    }

    /// Page requests of all partitions.
    pub(crate) fn fetches(&self) -> u64 {
        self.books().fetches.values().sum()
    }
}

impl Books {
    /// What a partition is granted of a total.
    fn share(&self, number: u32, total: f64) -> Rate {
        let place = self.accounts.keys().position(|known| *known == number);
        let share = place.map_or(0.0, |place| self.divide(total)[place]);
        Rate::per_second(share).unwrap_or(Rate::ZERO)
    }

    /// What each partition is granted of a total, by number.
    fn divide(&self, total: f64) -> Vec<f64> {
        let accounts =
            self.accounts.values().map(Option::as_ref).collect::<Option<Vec<&Account>>>();
        let Some(accounts) = accounts else {
            let count = self.accounts.len();
            return vec![total / count as f64; count];
        };
        let curves = accounts.iter().map(|account| account.demand.clone());
        let wants = match curves.collect::<Option<Vec<DemandCurve>>>() {
            Some(curves) => DemandCurve::split(&curves, total / self.pace),
            None => accounts.iter().map(|account| f64::from(account.pages) + 1.0).collect(),
        };
        let (count, sum) = (wants.len() as f64, wants.iter().sum::<f64>());
        let share = |want: f64| if sum > 0.0 { want / sum } else { count.recip() };
        let grant = |want| EQUAL_SHARE / count + (1.0 - EQUAL_SHARE) * share(want);
        wants.into_iter().map(|want| total * grant(want)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_add_up_and_none_is_zero() {
        let ledger = Ledger::new(Rate::per_second(10.0).unwrap(), 1.0);
        ledger.enter(0);
        ledger.enter(1);
        let first = ledger.report(1, Account::default()).as_per_second();
        assert!((first - 5.0).abs() < 1e-9, "equal parts until all have reported");
        ledger.set_total(Rate::per_second(20.0).unwrap());
        let one = ledger.report(0, Account { pages: 998, demand: None }).as_per_second();
        let other = ledger.report(1, Account::default()).as_per_second();
        assert!((one + other - 20.0).abs() < 1e-9, "{one} + {other}");
        assert!(one > 18.0 && other >= 1.0, "{one}, {other}");
        ledger.count(0, 3);
        ledger.count(1, 4);
        assert_eq!(ledger.fetches(), 7);
        ledger.leave(0);
        let alone = ledger.report(1, Account::default()).as_per_second();
        assert!((alone - 20.0).abs() < 1e-9, "nobody else is there: {alone}");
        assert_eq!(ledger.fetches(), 7, "what was fetched stays fetched");
    }
}
