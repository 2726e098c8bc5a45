//! Questions to the thread that runs the crawl.
//!
//! A question waits in a short queue until that thread has a moment. If this takes too long, or too
//! many wait, the reader is told so: the crawl goes first.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_partition::{CrawlError, HostView, Partition, Portrait, SourceView};
use tidewatch_policy::WhatIf;
use tokio::sync::oneshot;

/// Questions that may wait.
const MOST_WAITING: usize = 64;
/// How long a reader waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the crawl answers questions between two turns.
const MOMENT: Duration = Duration::from_millis(20);
/// Hosts and sources listed.
const ROWS: usize = 100;
/// Pages searched for sources.
const SCANNED: u32 = 200_000;

/// A question, with the way back for its answer.
type Question = Box<dyn FnOnce(&mut Partition, Time) + Send>;

/// Asks questions, from any thread.
#[derive(Clone)]
pub struct Asker(SyncSender<Question>);

/// Answers them, on the thread that runs the crawl.
pub struct Questions(Receiver<Question>);

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The crawl had no time.
    Busy,
    /// The crawl is not running.
    Ended,
    /// The crawl failed to answer.
    Failed(CrawlError),
}

/// The two ends of a queue of questions.
pub fn channel() -> (Asker, Questions) {
    let (sender, receiver) = sync_channel(MOST_WAITING);
    (Asker(sender), Questions(receiver))
}

impl Questions {
    /// Answers what waits, for a moment.
    pub fn answer(&self, crawl: &mut Partition, now: Time) {
        let began = Instant::now();
        while began.elapsed() < MOMENT
            && let Ok(question) = self.0.try_recv()
        {
            question(crawl, now);
        }
    }

    /// Waits for a question for at most `patience`, and answers it.
    pub fn wait_and_answer(&self, crawl: &mut Partition, now: Time, patience: Duration) {
        if let Ok(question) = self.0.recv_timeout(patience) {
            question(crawl, now);
        }
    }
}

/// What is known of a page, and when.
pub(crate) struct PageAnswer {
    pub(crate) portrait: Option<Portrait>,
    pub(crate) now: Time,
}

/// Predictions at the current and at another budget.
pub(crate) struct WhatIfAnswer {
    pub(crate) now: WhatIf,
    pub(crate) then: WhatIf,
}

impl Asker {
    /// Runs a function with the crawl, and blocks until its answer is there.
    pub fn ask_blocking<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Partition, Time) -> Result<T, CrawlError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (reply, answer) = sync_channel(1);
        self.send(question, move |found| drop(reply.send(found)))?;
        let found = answer.recv_timeout(PATIENCE).map_err(|_| NoAnswer::Busy)?;
        found.map_err(NoAnswer::Failed)
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Partition, Time) -> Result<T, CrawlError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        self.send(question, move |found| drop(reply.send(found)))?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(found)) => found.map_err(NoAnswer::Failed),
            _ => Err(NoAnswer::Busy),
        }
    }

    /// Queues a question. Its reader may have gone when `reply` is called.
    fn send<T>(
        &self,
        question: impl FnOnce(&mut Partition, Time) -> Result<T, CrawlError> + Send + 'static,
        reply: impl FnOnce(Result<T, CrawlError>) + Send + 'static,
    ) -> Result<(), NoAnswer> {
        let question: Question = Box::new(move |crawl, now| reply(question(crawl, now)));
        self.0.try_send(question).map_err(|refused| match refused {
            TrySendError::Full(_) => NoAnswer::Busy,
            TrySendError::Disconnected(_) => NoAnswer::Ended,
        })
    }

    pub(crate) async fn page(&self, url: CanonicalUrl) -> Result<PageAnswer, NoAnswer> {
        self.ask(move |crawl, now| Ok(PageAnswer { portrait: crawl.portrait(&url, now)?, now }))
            .await
    }

    /// `None` if the policy has no price.
    pub(crate) async fn what_if(&self, times: f64) -> Result<Option<WhatIfAnswer>, NoAnswer> {
        self.ask(move |crawl, _| {
            let now = crawl.budget();
            let then = Rate::per_second(times * now.as_per_second()).unwrap_or(now);
            let both = crawl.what_if(now).zip(crawl.what_if(then));
            Ok(both.map(|(now, then)| WhatIfAnswer { now, then }))
        })
        .await
    }

    pub(crate) async fn hosts(&self) -> Result<Vec<HostView>, NoAnswer> {
        self.ask(|crawl, now| crawl.host_views(ROWS, now)).await
    }

    pub(crate) async fn sources(&self) -> Result<Vec<SourceView>, NoAnswer> {
        self.ask(|crawl, now| crawl.source_views(ROWS, SCANNED, now)).await
    }

    pub(crate) async fn set_budget(&self, budget: Rate) -> Result<(), NoAnswer> {
        self.ask(move |crawl, now| {
            crawl.check_writable()?;
            crawl.set_budget(budget, now)?;
            crawl.sync()
        })
        .await
    }

    pub(crate) async fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<usize, NoAnswer> {
        self.ask(move |crawl, now| {
            crawl.check_writable()?;
            seeds.iter().try_for_each(|seed| crawl.seed(seed, now))?;
            crawl.sync()?;
            Ok(seeds.len())
        })
        .await
    }
}
