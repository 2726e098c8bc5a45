//! Questions between nodes about partitions, by request and reply.
//!
//! The owner of a partition listens to the partition's subject while it has it open, so a caller need not
//! know the owner. The subject contains the crawl's identity, which separates two clusters on one broker.
//! Questions and answers are bytes. Nothing is stored: a question without an answer is asked again or given
//! up.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tidewatch_cluster::wire::Crawl;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Questions to a partition that are answered at once.
const AT_ONCE: usize = 16;

/// An answer that is under way; `None` if there is none.
pub type Reply = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;
/// Answers questions to a partition.
pub type Answerer = Arc<dyn Fn(Bytes) -> Reply + Send + Sync>;

/// Asks the owners of partitions, and answers for those that are open here. Cheap to clone.
#[derive(Clone)]
pub struct Peers {
    client: Client,
    crawl: Crawl,
    runtime: Handle,
}

/// Answers for a partition until it is dropped.
pub struct Serving(AbortHandle);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Peers {
    /// Must be called within a runtime.
    pub(crate) fn new(client: Client, crawl: Crawl) -> Peers {
        Peers { client, crawl, runtime: Handle::current() }
    }

    fn subject(&self, partition: u32) -> String {
        format!("tidewatch.shard.{:016x}.{partition}", self.crawl.0)
    }

    /// The runtime on which questions are answered.
    pub const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Asks the owner of a partition. `None` if nobody answers within `patience`; if nobody owns it, that
    /// is known at once.
    pub async fn ask(
        &self,
        partition: u32,
        question: Vec<u8>,
        patience: Duration,
    ) -> Option<Vec<u8>> {
        let asked = self.client.request(self.subject(partition), question.into());
        let answer = tokio::time::timeout(patience, asked).await.ok()?.ok()?;
        // An empty message says that there is no answer.
        Some(answer.payload.to_vec()).filter(|answer| !answer.is_empty())
    }

    /// Answers for a partition from now on. After a lost connection it goes on by itself.
    pub fn serve(&self, partition: u32, answerer: Answerer) -> Serving {
        let (client, subject) = (self.client.clone(), self.subject(partition));
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let task = self.runtime.spawn(async move {
            let Ok(mut questions) = client.subscribe(subject).await else { return };
            while let Some(question) = questions.next().await {
                let Some(reply) = question.reply else { continue };
                let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
                let (client, answerer) = (client.clone(), Arc::clone(&answerer));
                tokio::spawn(async move {
                    let answer = answerer(question.payload).await.unwrap_or_default();
                    // The caller has a timeout.
                    let _ = client.publish(reply, answer.into()).await;
                    drop(turn);
                });
            }
        });
        Serving(task.abort_handle())
    }
}
