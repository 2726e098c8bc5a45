//! Questions to the threads that run the crawl, one for each partition.
//!
//! A question waits in a short queue until the thread has a moment. If this takes too long, or too
//! many wait, the reader is told so: the crawl goes first.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_partition::{
    CrawlError, HostView, Outlook, Partition, Portrait, SourceView, Status, owner,
};
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

/// Asks questions, from any thread. It knows how many partitions there are; those who ask do not.
#[derive(Clone)]
pub struct Asker(Arc<[SyncSender<Question>]>);

/// Answers the questions to a partition, on the thread that runs it.
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

/// The ends of a queue of questions for each partition.
pub fn channel(partitions: usize) -> (Asker, Vec<Questions>) {
    let ends = (0..partitions.max(1)).map(|_| sync_channel(MOST_WAITING));
    let (senders, receivers): (Vec<_>, Vec<_>) = ends.unzip();
    (Asker(senders.into()), receivers.into_iter().map(Questions).collect())
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
#[derive(Debug)]
pub struct PageAnswer {
    /// What is known; `None` if the crawl does not know the page.
    pub portrait: Option<Portrait>,
    /// The crawl's time.
    pub now: Time,
}

impl Asker {
    /// The crawl's figures.
    pub async fn status(&self) -> Result<Status, NoAnswer> {
        Ok(Status::sum(self.ask_all(|crawl, _| Ok(crawl.status())).await?))
    }

    /// What is known of a page.
    pub async fn page(&self, url: CanonicalUrl) -> Result<PageAnswer, NoAnswer> {
        let partition = owner(&url, self.0.len() as u32);
        let answer = self.ask(partition as usize, move |crawl: &mut Partition, now: Time| {
            Ok(PageAnswer { portrait: crawl.portrait(&url, now)?, now })
        })?;
        wait(answer).await
    }

    /// What another budget would bring, which is found from the current one. `None` if the policy has
    /// no price.
    pub async fn what_if(
        &self,
        other: impl Fn(Rate) -> Rate + Clone + Send + 'static,
    ) -> Result<Option<Outlook>, NoAnswer> {
        if self.0.len() > 1 {
            let declare = |crawl: &mut Partition, _| {
                crawl.declare_demand();
                Ok(())
            };
            self.ask_all(declare).await?;
        }
        let both = move |crawl: &mut Partition, _| {
            let now = crawl.crawl_budget();
            let both = crawl.what_if(now).zip(crawl.what_if(other(now)));
            Ok(both.map(|(now, then)| (crawl.status(), (now, then))))
        };
        let parts = self.ask_all(both).await?.into_iter().collect::<Option<Vec<_>>>();
        let Some(parts) = parts else { return Ok(None) };
        let (statuses, both): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let (now, then): (Vec<_>, Vec<_>) = both.into_iter().unzip();
        let both = WhatIf::sum(&now).zip(WhatIf::sum(&then));
        Ok(both.map(|(now, then)| Outlook::new(now, then, &Status::sum(statuses))))
    }

    pub(crate) async fn hosts(&self) -> Result<Vec<HostView>, NoAnswer> {
        let parts = self.ask_all(|crawl, now| crawl.host_views(ROWS, now)).await?;
        Ok(HostView::merge(parts, ROWS))
    }

    pub(crate) async fn sources(&self) -> Result<Vec<SourceView>, NoAnswer> {
        let parts = self.ask_all(|crawl, now| crawl.source_views(ROWS, SCANNED, now)).await?;
        Ok(SourceView::merge(parts, ROWS))
    }

    pub(crate) async fn set_budget(&self, budget: Rate) -> Result<(), NoAnswer> {
        let set = move |crawl: &mut Partition, now| {
            crawl.check_writable()?;
            crawl.set_budget(budget, now)?;
            crawl.sync()
        };
        self.ask_all(set).await.map(|_| ())
    }

    /// Adds seeds.
    pub async fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<(), NoAnswer> {
        let seeds: Arc<[CanonicalUrl]> = seeds.into();
        let add = move |crawl: &mut Partition, now| {
            crawl.check_writable()?;
            seeds.iter().try_for_each(|seed| crawl.seed_or_allow(seed, now))?;
            crawl.sync()
        };
        self.ask_all(add).await.map(|_| ())
    }

    /// Asks every partition the same, and returns their answers in order.
    async fn ask_all<T: Send + 'static>(
        &self,
        question: impl Fn(&mut Partition, Time) -> Result<T, CrawlError> + Clone + Send + 'static,
    ) -> Result<Vec<T>, NoAnswer> {
        let answers = (0..self.0.len()).map(|partition| self.ask(partition, question.clone()));
        let answers = answers.collect::<Result<Vec<_>, NoAnswer>>()?;
        let mut all = Vec::with_capacity(answers.len());
        for answer in answers {
            all.push(wait(answer).await?);
        }
        Ok(all)
    }

    /// Queues a question to a partition. Its reader may have gone when the answer is there.
    fn ask<T: Send + 'static>(
        &self,
        partition: usize,
        question: impl FnOnce(&mut Partition, Time) -> Result<T, CrawlError> + Send + 'static,
    ) -> Result<Answer<T>, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |crawl, now| drop(reply.send(question(crawl, now))));
        self.0[partition].try_send(question).map_err(|refused| match refused {
            TrySendError::Full(_) => NoAnswer::Busy,
            TrySendError::Disconnected(_) => NoAnswer::Ended,
        })?;
        Ok(answer)
    }
}

/// An answer that is under way.
type Answer<T> = oneshot::Receiver<Result<T, CrawlError>>;

async fn wait<T>(answer: Answer<T>) -> Result<T, NoAnswer> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(found)) => found.map_err(NoAnswer::Failed),
        _ => Err(NoAnswer::Busy),
    }
}
