//! One budget for all partitions.
//!
//! Every partition reports its demand for fetches every few seconds, and gets its share of the budget. Where
//! all policies have a price, one price clears the sum of their demand curves at the total, and each
//! partition is granted what it demands at that price ([`DemandCurve::split`]); otherwise partitions share
//! by known pages. A grant is an input on the partition's tape, so each replays alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidewatch_core::Rate;
use tidewatch_policy::DemandCurve;

/// The share of the budget that is divided equally. A demand curve knows neither pages still to be found
/// nor the gaps of hosts, so a partition may demand more than it can spend while another starves.
const EQUAL_SHARE: f64 = 0.1;

/// What a partition reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Pages known.
    pub(crate) pages: u32,
    /// Fetches per second of the crawl at each price, where the policy has one.
    pub(crate) demand: Option<DemandCurve>,
}

/// The budget, and what was reported and granted.
pub(crate) struct Ledger {
    books: Mutex<Books>,
    /// Page requests, by partition.
    fetches: Vec<AtomicU64>,
}

struct Books {
    total: f64,
    /// Seconds of crawl time in one second of real time.
    pace: f64,
    /// What each partition reported last, once it did.
    accounts: Vec<Option<Account>>,
}

impl Ledger {
    /// Divides `total` equally among `count` partitions until they report.
    pub(crate) fn new(total: Rate, count: usize, pace: f64) -> Ledger {
        let total = total.as_per_second();
        let accounts = vec![None; count];
        let fetches = (0..count).map(|_| AtomicU64::new(0)).collect();
        Ledger { books: Mutex::new(Books { total, pace, accounts }), fetches }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Every change to the books is one assignment.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a partition's report and returns what it is granted.
    pub(crate) fn report(&self, number: u32, account: Account) -> Rate {
        let mut books = self.books();
        books.accounts[number as usize] = Some(account);
        Rate::per_second(books.divide(books.total)[number as usize]).unwrap_or(Rate::ZERO)
    }

    /// Whether a partition has reported.
    pub(crate) fn has_reported(&self, number: u32) -> bool {
        self.books().accounts[number as usize].is_some()
    }

    /// What a partition would be granted of another total.
    pub(crate) fn share_of(&self, number: u32, total: Rate) -> Rate {
        let share = self.books().divide(total.as_per_second())[number as usize];
        Rate::per_second(share).unwrap_or(Rate::ZERO)
    }

    /// The total budget.
    pub(crate) fn total(&self) -> Rate {
        Rate::per_second(self.books().total).unwrap_or(Rate::ZERO)
    }

    /// Sets the total budget; every partition gets its share of it with its next report.
    pub(crate) fn set_total(&self, total: Rate) {
        self.books().total = total.as_per_second();
    }

    /// Notes how many page requests a partition has made.
    pub(crate) fn count(&self, number: u32, fetches: u64) {
        self.fetches[number as usize].store(fetches, Ordering::Relaxed);
    }

    /// Page requests of all partitions.
    pub(crate) fn fetches(&self) -> u64 {
        self.fetches.iter().map(|fetches| fetches.load(Ordering::Relaxed)).sum()
    }
}

impl Books {
    /// What each partition is granted of a total.
    fn divide(&self, total: f64) -> Vec<f64> {
        let accounts = self.accounts.iter().map(Option::as_ref).collect::<Option<Vec<&Account>>>();
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
        let ledger = Ledger::new(Rate::per_second(10.0).unwrap(), 2, 1.0);
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
    }
}
