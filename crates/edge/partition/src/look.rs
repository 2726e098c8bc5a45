//! Looking at a crawl that is not running: what decided, and what would be otherwise.

use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_policy::{Explanation, Standing, WhatIf};

use crate::open::Replayed;
use crate::{Config, Crawl, CrawlError};

impl Crawl {
    /// Opens a crawl as it was when it ended. Nothing is added to its history; its directory is
    /// claimed meanwhile, as by a crawl.
    pub fn look(dir: &Path, unix_micros: i64) -> Result<Crawl, CrawlError> {
        let mut crawl = Self::as_begun(dir, unix_micros)?;
        crawl.play()?;
        Ok(crawl)
    }

    /// Takes every decision of a crawl again, from its first, with the policy of today. An error if one
    /// comes out otherwise.
    pub fn replay(dir: &Path, unix_micros: i64) -> Result<Replayed, CrawlError> {
        Self::as_begun(dir, unix_micros)?.play_from(0)
    }

    /// A crawl with the policy that it was begun with, and nothing heard yet.
    fn as_begun(dir: &Path, unix_micros: i64) -> Result<Crawl, CrawlError> {
        let config = Config::default();
        let store = Self::store_of(dir, &config)?;
        let (policy, seed) = Self::begun_with(&store)?.ok_or(CrawlError::NotBegun)?;
        Self::assemble(Config { policy, seed, ..config }, store, unix_micros)
    }

    /// The crawl's time when something last happened.
    pub fn last(&self) -> Time {
        self.last
    }

    /// All that decided about a page when the crawl ended. `None` if the page is not known or the
    /// policy cannot tell.
    pub fn why(&self, url: &CanonicalUrl) -> Result<Option<Explanation>, CrawlError> {
        let page = self.store.page_of(url.as_str())?;
        Ok(page.and_then(|page| self.frontier.why(page, self.last)))
    }

    /// What another budget would bring, both by the second of the one who asks. `None` if the policy
    /// cannot tell.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        let found = self.frontier.what_if(self.by_own_second(budget))?;
        let told = |per_second: f64| per_second * self.pace;
        Some(WhatIf {
            budget: told(found.budget),
            fetches: found.fetches.map(told),
            profit: told(found.profit),
            ..found
        })
    }

    /// What an operator's rate is by the crawl's second: a crawl of a simulated web may live faster.
    pub(crate) fn by_own_second(&self, rate: Rate) -> Rate {
        Rate::per_second(rate.as_per_second() / self.pace).unwrap_or(rate)
    }

    /// How things stand. `None` if the policy cannot tell.
    pub fn standing(&self) -> Option<Standing> {
        self.frontier.standing()
    }

    /// The budget that the crawl ran with, by the operator's second.
    pub fn budget(&self) -> Rate {
        let own = self.frontier.budget();
        Rate::per_second(own.as_per_second() * self.pace).unwrap_or(own)
    }

    /// The policy that chooses.
    pub fn policy(&self) -> &str {
        &self.config.policy
    }
}
