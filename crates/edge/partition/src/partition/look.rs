//! Inspects a crawl that is not running: explanations, predictions, replay.

use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_policy::{Explanation, Standing, WhatIf};
use tidewatch_store::Store;

use super::open::memory;
use super::{CrawlError, OWN, Partition};
use crate::Config;
use crate::config::Site;
use crate::pages::Pages;
use crate::tally::Tally;
use crate::taped::Replayed;

impl Partition {
    /// Opens a crawl as it was when it ended, for reading: nothing in its directory is changed. No crawl
    /// may run there meanwhile.
    pub fn look(dir: &Path, unix_micros: i64) -> Result<Partition, CrawlError> {
        let mut partition = Self::as_begun(dir, unix_micros)?;
        partition.play()?;
        partition.tally = Tally::restore(&partition.pages)?;
        Ok(partition)
    }

    /// Replays every decision of a crawl from its first with today's policy. An error if one
    /// differs. Panics of the policy are reproduced.
    pub fn replay(dir: &Path, unix_micros: i64) -> Result<Replayed, CrawlError> {
        Self::as_begun(dir, unix_micros)?.play_from(0, true)
    }

    /// A crawl with the policy that it was begun with, and an empty frontier.
    fn as_begun(dir: &Path, unix_micros: i64) -> Result<Partition, CrawlError> {
        let config = Config::default();
        let pages = Pages::new(Store::read(dir, memory(&config))?)?;
        let (policy, seed) = Self::begun_with(&pages)?.ok_or(CrawlError::NotBegun)?;
        let own = pages.meta(OWN)?.unwrap_or_default();
        let own = String::from_utf8_lossy(&own);
        let sites = own.lines().map(|host| Ok(Site::new(host)?.owned()));
        let sites = sites.collect::<Result<_, CrawlError>>()?;
        Self::assemble(Config { policy, seed, sites, ..config }, pages, unix_micros)
    }

    /// The crawl's time when something last happened.
    pub fn last(&self) -> Time {
        self.taped.last()
    }

    /// All that decided about a page when the crawl ended. `None` if the page is not known or the
    /// policy cannot tell.
    pub fn why(&self, url: &CanonicalUrl) -> Result<Option<Explanation>, CrawlError> {
        let page = self.pages.page_of(url.as_str())?;
        Ok(page.and_then(|page| self.taped.why(page, self.taped.last())))
    }

    /// Predicts this partition's part of the effect of `budget`, which is that of the whole crawl, both
    /// per second of the operator's clock. `None` if the policy cannot tell.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        let share = match self.member() {
            Some(member) => member.ledger().share_of(member.number(), budget),
            None => budget,
        };
        self.what_if_at(share)
    }

    /// The same for a budget of this partition alone.
    pub fn what_if_at(&self, share: Rate) -> Option<WhatIf> {
        let found = self.taped.what_if(self.timeline.own_rate(share))?;
        let told = |per_second: f64| per_second * self.timeline.pace();
        Some(WhatIf {
            budget: told(found.budget),
            fetches: found.fetches.map(told),
            profit: told(found.profit),
            weight: told(found.weight),
            ..found
        })
    }

    /// Price and freshness. `None` if the policy cannot tell.
    pub fn standing(&self) -> Option<Standing> {
        self.taped.standing()
    }

    /// The budget of this partition, per second of the operator's clock.
    pub fn budget(&self) -> Rate {
        self.timeline.our_rate(self.taped.budget())
    }

    /// The budget of the whole crawl, per second of the operator's clock.
    pub fn crawl_budget(&self) -> Rate {
        self.member().map_or_else(|| self.budget(), |member| member.ledger().total())
    }

    /// The policy that chooses.
    pub fn policy(&self) -> &str {
        &self.config.policy
    }
}
