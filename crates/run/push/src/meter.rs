//! How often each publisher may speak, whatever it says.
//!
//! Known pages cost no allowance of hints, but the crawl has to look each of them up.

use std::collections::HashMap;

/// Most submissions of a publisher in a minute.
const MOST_SUBMISSIONS: usize = 100;
/// Most URLs of a publisher in a minute.
const MOST_URLS: usize = 20_000;
/// Most publishers in a minute.
const MOST: usize = 10_000;

/// What publishers have submitted in this minute.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    minute: u64,
    spent: HashMap<String, Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    submissions: usize,
    urls: usize,
}

impl Meter {
    /// Whether a publisher may submit so many URLs now, a second of Unix time. If so, they are counted.
    pub(crate) fn admits(&mut self, publisher: &str, urls: usize, now: u64) -> bool {
        if self.minute != now / 60 {
            *self = Meter { minute: now / 60, spent: HashMap::new() };
        }
        if self.spent.len() >= MOST && !self.spent.contains_key(publisher) {
            return false;
        }
        let spent = self.spent.entry(publisher.to_owned()).or_default();
        if spent.submissions >= MOST_SUBMISSIONS || spent.urls + urls > MOST_URLS {
            return false;
        }
        spent.submissions += 1;
        spent.urls += urls;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_speaks_so_often_in_a_minute_and_no_other_pays_for_it() {
        let mut meter = Meter::default();
        let mut admitted = |publisher: &str, urls: usize, now: u64| {
            (0..1_000).filter(|_| meter.admits(publisher, urls, now)).count()
        };
        assert_eq!(admitted("a.example", 1, 60), MOST_SUBMISSIONS);
        assert_eq!(admitted("b.example", 10_000, 61), 2);
        assert_eq!(admitted("a.example", 1, 119), 0);
        assert_eq!(admitted("a.example", 10_000, 120), 2);
    }
}
