//! Questions to the thread that owns the crawl.
//!
//! A reader's question waits in a short queue until the crawl's thread has a moment. If that takes too
//! long, or too many ask, the reader is told so: the crawl goes before.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_partition::{Crawl, CrawlError, HostView, Portrait, SourceView};
use tidewatch_policy::WhatIf;
use tokio::sync::oneshot;

/// Questions that may wait.
const WAITING: usize = 64;
/// How long a reader waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the crawl answers questions between two turns.
const MOMENT: Duration = Duration::from_millis(20);
/// Hosts and sources told of.
const ROWS: usize = 100;
/// Pages looked at for sources.
const SCANNED: u32 = 200_000;

/// Something to be done with the crawl.
type Deed = Box<dyn FnOnce(&mut Crawl, Time) + Send>;

/// Asks.
pub(crate) struct Asker(SyncSender<Deed>);

/// Answers.
pub struct Questions(Receiver<Deed>);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The crawl had no time.
    Busy,
    /// The crawl's store failed.
    Failed,
}

pub(crate) fn channel() -> (Asker, Questions) {
    let (sender, receiver) = sync_channel(WAITING);
    (Asker(sender), Questions(receiver))
}

impl Questions {
    pub(crate) fn answer(&self, crawl: &mut Crawl, now: Time) {
        let began = Instant::now();
        while began.elapsed() < MOMENT
            && let Ok(deed) = self.0.try_recv()
        {
            deed(crawl, now);
        }
    }

    pub(crate) fn wait_and_answer(&self, crawl: &mut Crawl, now: Time, patience: Duration) {
        if let Ok(deed) = self.0.recv_timeout(patience) {
            deed(crawl, now);
        }
    }
}

/// What is known of a page.
pub(crate) struct PageAnswer {
    pub(crate) portrait: Option<Portrait>,
    pub(crate) now: Time,
}

/// What another budget would bring.
pub(crate) struct WhatIfAnswer {
    pub(crate) now: WhatIf,
    pub(crate) then: WhatIf,
}

impl Asker {
    /// Has something done with the crawl.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Crawl, Time) -> Result<T, CrawlError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        let deed = Box::new(move |crawl: &mut Crawl, now| {
            // The reader may have gone.
            let _ = reply.send(question(crawl, now));
        });
        self.0.try_send(deed).map_err(|_| NoAnswer::Busy)?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(_))) => Err(NoAnswer::Failed),
            _ => Err(NoAnswer::Busy),
        }
    }

    pub(crate) async fn page(&self, url: CanonicalUrl) -> Result<PageAnswer, NoAnswer> {
        self.ask(move |crawl, now| Ok(PageAnswer { portrait: crawl.portrait(&url, now)?, now }))
            .await
    }

    /// `None` where the policy cannot tell.
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
        self.ask(move |crawl, now| crawl.set_budget(budget, now)).await
    }

    pub(crate) async fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<usize, NoAnswer> {
        self.ask(move |crawl, now| {
            seeds.iter().try_for_each(|seed| crawl.seed(seed, now))?;
            Ok(seeds.len())
        })
        .await
    }
}
