//! Questions to a running service, from any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{CrawlError, Partition, Portrait, Status};
use tidewatch_policy::WhatIf;
use tidewatch_search::{Query, SearchResults, Searcher};
use tidewatch_server::ask::{Asker, NoAnswer};

use crate::{ServiceError, now_s};

/// Stops a service and asks it questions. Cheap to clone.
///
/// Every question but [`search`](Handle::search) is answered by the thread that runs the service,
/// between two turns of its loop; while it does not run, the answer is
/// [`ServiceError::NotRunning`] or [`ServiceError::Busy`]. Methods block for at most five seconds.
#[derive(Clone)]
pub struct Handle {
    pub(crate) asker: Asker,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) searcher: Option<Searcher>,
}

impl Handle {
    /// Ends [`Service::run`](crate::Service::run) soon; everything fetched is stored when it
    /// returns.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The crawl's figures.
    pub fn status(&self) -> Result<Status, ServiceError> {
        self.ask(|crawl| Ok(crawl.status()))
    }

    /// What is known of a page, and why it is due or not. `None` if the crawl does not know it.
    pub fn why(&self, url: &CanonicalUrl) -> Result<Option<Portrait>, ServiceError> {
        let url = url.clone();
        self.asker
            .ask_blocking(move |crawl, now| crawl.portrait(&url, now))
            .map_err(ServiceError::from)
    }

    /// What another budget would bring. `None` if the policy has no price.
    pub fn what_if(&self, budget: Rate) -> Result<Option<WhatIf>, ServiceError> {
        self.ask(move |crawl| Ok(crawl.what_if(budget)))
    }

    /// Adds pages to start from.
    pub fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<(), ServiceError> {
        let add = move |crawl: &mut Partition, now| {
            crawl.check_writable()?;
            seeds.iter().try_for_each(|seed| crawl.seed(seed, now))?;
            crawl.sync()
        };
        self.asker.ask_blocking(add).map_err(ServiceError::from)
    }

    /// The best `count` results for a query, as the search page would show them.
    pub fn search(&self, query: &str, count: usize) -> Result<SearchResults, ServiceError> {
        let searcher = self.searcher.as_ref().ok_or(ServiceError::NoIndex)?;
        Ok(searcher.search(&Query::read(query), 0, count, now_s())?)
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Partition) -> Result<T, CrawlError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        Ok(self.asker.ask_blocking(move |crawl, _| question(crawl))?)
    }
}

impl From<NoAnswer> for ServiceError {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Busy => ServiceError::Busy,
            NoAnswer::Ended => ServiceError::NotRunning,
            NoAnswer::Failed(error) => error.into(),
        }
    }
}
