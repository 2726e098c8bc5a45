//! The pace of requests that strangers cause: a gap between two requests to a site.
//!
//! A site is a registrable domain, so that whoever owns one gains nothing from its many names.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;

/// Most sites that rest at a time. Beyond that no further one is asked.
const MOST: usize = 10_000;
/// A redirect is not followed if it would have to wait longer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The registrable domain of a URL, or its host if there is none.
pub(crate) fn site(url: &CanonicalUrl) -> &str {
    url.registrable_domain().unwrap_or_else(|| url.host())
}

/// When each site may be asked again.
pub(crate) struct Pace {
    gap: Duration,
    open: Mutex<HashMap<String, Instant>>,
}

impl Pace {
    pub(crate) fn new(gap: Duration) -> Pace {
        Pace { gap, open: Mutex::default() }
    }

    /// Whether the site of `url` may be asked now. If so, that is noted.
    pub(crate) fn may_ask(&self, url: &CanonicalUrl, now: Instant) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(site(url)).is_some_and(|at| *at > now) {
            return false;
        }
        if open.len() >= MOST {
            open.retain(|_, at| *at > now);
        }
        if open.len() >= MOST {
            return false;
        }
        open.insert(site(url).to_owned(), now + self.gap);
        true
    }

    /// Waits for a gap, to follow a redirect to `url`. Whether its site may be asked then.
    pub(crate) async fn may_follow(&self, url: &CanonicalUrl) -> bool {
        if self.gap > LONGEST_WAIT {
            return false;
        }
        tokio::time::sleep(self.gap).await;
        self.may_ask(url, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_asked_once_in_a_gap_under_all_its_names() {
        let (pace, now) = (Pace::new(Duration::from_secs(2)), Instant::now());
        let url = |text: &str| CanonicalUrl::parse(text).unwrap();
        assert!(pace.may_ask(&url("http://a.victim.example/1"), now));
        assert!(!pace.may_ask(&url("http://b.victim.example/2"), now + Duration::from_secs(1)));
        assert!(pace.may_ask(&url("http://other.example/"), now));
        assert!(pace.may_ask(&url("https://victim.example/"), now + Duration::from_secs(2)));
    }
}
