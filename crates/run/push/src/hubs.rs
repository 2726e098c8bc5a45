//! Hubs that do not verify what they are asked.
//!
//! A feed can name any host as its hub. So requests that nobody verifies end: after [`MOST_UNVERIFIED`] of
//! them to one site, whatever the topics, it is not asked for [`REST_S`].

use std::collections::HashMap;

/// Most requests to a site that none of its hubs has verified.
const MOST_UNVERIFIED: u32 = 32;
/// How long a site rests then.
const REST_S: u64 = 86_400;
/// Most sites that are remembered.
const MOST: usize = 10_000;

/// Requests without an answer, by the site of the hub.
#[derive(Debug, Default)]
pub(crate) struct Hubs(HashMap<String, Unverified>);

#[derive(Debug, Default)]
struct Unverified {
    requests: u32,
    rests_until: u64,
    last: u64,
}

impl Hubs {
    /// Whether a site may be asked.
    pub(crate) fn may_ask(&self, site: &str, now: u64) -> bool {
        self.0.get(site).is_none_or(|unverified| unverified.rests_until <= now)
    }

    /// A request goes to a site.
    pub(crate) fn ask(&mut self, site: &str, now: u64) {
        if self.0.len() >= MOST && !self.0.contains_key(site) {
            let oldest = self.0.iter().min_by_key(|(_, unverified)| unverified.last);
            if let Some(oldest) = oldest.map(|(site, _)| site.clone()) {
                self.0.remove(&oldest);
            }
        }
        let unverified = self.0.entry(site.to_owned()).or_default();
        unverified.last = now;
        unverified.requests += 1;
        if unverified.requests >= MOST_UNVERIFIED {
            *unverified = Unverified { requests: 0, rests_until: now + REST_S, last: now };
        }
    }

    /// A hub of a site has verified a request.
    pub(crate) fn verified(&mut self, site: &str) {
        self.0.remove(site);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_a_site_that_verifies_none_end() {
        let mut hubs = Hubs::default();
        let mut asked = |from: u64, to: u64| {
            let may = |now: &u64| {
                let may = hubs.may_ask("victim.example", *now);
                if may {
                    hubs.ask("victim.example", *now);
                }
                may
            };
            (from..to).filter(may).count()
        };
        assert_eq!(asked(0, 1_000), MOST_UNVERIFIED as usize);
        assert_eq!(asked(1_000, REST_S), 0);
        assert_eq!(asked(2 * REST_S, 2 * REST_S + 1_000), MOST_UNVERIFIED as usize);
        hubs.verified("victim.example");
        assert!(hubs.may_ask("victim.example", 2 * REST_S + 1_000));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut hubs = Hubs::default();
        (0..2 * MOST as u64).for_each(|number| hubs.ask(&number.to_string(), number));
        assert_eq!(hubs.0.len(), MOST);
    }
}
