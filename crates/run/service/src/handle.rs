//! Questions to a running service, from any thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::hints::{Received, Sender};
use tidewatch_partition::{OtherBudget, Portrait, Status};
use tidewatch_policy::WhatIf;
use tidewatch_search::{Query, SearchResults, Searcher};
use tidewatch_server::ask::{Asker, NoAnswer};
use tokio::runtime;

use crate::{ServiceError, now_s};

/// Longest wait for an answer; a question to the crawl itself is given up earlier.
const PATIENCE: Duration = Duration::from_secs(15);

/// Stops a service and asks it questions. Cheap to clone.
///
/// Every question but [`search`](Handle::search) is answered by the threads that run the service,
/// between two turns of their loops; while it does not run, the answer is
/// [`ServiceError::NotRunning`] or [`ServiceError::Busy`]. Methods block for seconds at most.
#[derive(Clone)]
pub struct Handle {
    asker: Asker,
    stop: Arc<AtomicBool>,
    searcher: Option<Searcher>,
    runtime: runtime::Handle,
}

impl Handle {
    pub(crate) fn new(
        asker: Asker,
        stop: Arc<AtomicBool>,
        searcher: Option<Searcher>,
        runtime: runtime::Handle,
    ) -> Handle {
        Handle { asker, stop, searcher, runtime }
    }

    /// Ends [`Service::run`](crate::Service::run) soon; everything fetched is stored when it
    /// returns.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The crawl's figures.
    pub fn status(&self) -> Result<Status, ServiceError> {
        self.ask(|asker| async move { asker.status().await })
    }

    /// What is known of a page, and why it is due or not. `None` if the crawl does not know it.
    pub fn why(&self, url: &CanonicalUrl) -> Result<Option<Portrait>, ServiceError> {
        let url = url.clone();
        self.ask(|asker| async move { asker.page(url).await })
    }

    /// What another budget would bring. `None` if the policy has no price.
    pub fn what_if(&self, budget: Rate) -> Result<Option<WhatIf>, ServiceError> {
        let ask = |asker: Asker| async move { asker.what_if(OtherBudget::To(budget)).await };
        Ok(self.ask(ask)?.map(|both| both.found.then))
    }

    /// Adds pages to start from.
    pub fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<(), ServiceError> {
        self.ask(|asker| async move { asker.add_seeds(seeds).await })
    }

    /// Takes in hints of a sender.
    pub fn take_hints(
        &self,
        sender: Sender,
        urls: Vec<CanonicalUrl>,
    ) -> Result<Received, ServiceError> {
        self.ask(|asker| async move { asker.take_hints(sender, urls).await })
    }

    /// The best `count` results for a query, as the search page would show them.
    pub fn search(&self, query: &str, count: usize) -> Result<SearchResults, ServiceError> {
        let searcher = self.searcher.as_ref().ok_or(ServiceError::NoIndex)?;
        Ok(searcher.search(&Query::read(query), 0, count, now_s())?)
    }

    /// Asks on the service's runtime, so that the caller may be in a runtime of its own.
    fn ask<T: Send + 'static, F>(&self, ask: impl FnOnce(Asker) -> F) -> Result<T, ServiceError>
    where
        F: Future<Output = Result<T, NoAnswer>> + Send + 'static,
    {
        let (reply, answer) = sync_channel(1);
        let asked = ask(self.asker.clone());
        self.runtime.spawn(async move { drop(reply.send(asked.await)) });
        match answer.recv_timeout(PATIENCE) {
            Ok(found) => Ok(found?),
            Err(RecvTimeoutError::Timeout) => Err(ServiceError::Busy),
            // The runtime has ended with the service.
            Err(RecvTimeoutError::Disconnected) => Err(ServiceError::NotRunning),
        }
    }
}

impl From<NoAnswer> for ServiceError {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Busy => ServiceError::Busy,
            NoAnswer::Ended => ServiceError::NotRunning,
            NoAnswer::Failed(error) => error.into(),
            NoAnswer::Refused(why) => ServiceError::Refused(why),
        }
    }
}
