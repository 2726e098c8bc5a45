//! Reads a stream from a position on, whatever happens to brokers and consumers.
//!
//! The consumer is ephemeral and acknowledges nothing: the reader knows its own position. It is made anew
//! from the position after the last message when a message is missing, when the broker reports an error,
//! and after some silence, because a consumer may be lost with a broker without a word.

use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// How long a silent consumer is trusted.
const TRUSTED: Duration = Duration::from_secs(10);
/// How long the broker holds a request for messages.
const HELD: Duration = Duration::from_secs(2);
/// Wait before a consumer is made anew after an error.
const PAUSE: Duration = Duration::from_millis(250);
/// Messages asked for at once.
const BATCH: usize = 256;
/// Messages read ahead.
const AHEAD: usize = 64;

/// A message of a stream.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its position.
    pub sequence: u64,
    /// Its subject.
    pub subject: String,
    /// What it holds; `None` if it says that a key was deleted.
    pub payload: Option<Bytes>,
    /// Messages that were behind it when it was sent.
    pub behind: u64,
}

/// Where to begin.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// With the newest message of each subject.
    Newest,
    /// After a position.
    After(u64),
}

/// Messages of a stream, in order and without gaps. Ends when dropped.
pub struct Follower {
    entries: Receiver<Entry>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Reads the messages of `filter`. Must be called within a runtime.
    pub fn start(stream: Stream, filter: String, from: From) -> Follower {
        let (sender, entries) = channel(AHEAD);
        let task = tokio::spawn(follow(stream, filter, from, sender));
        Follower { entries, task }
    }

    /// Waits for the next message; `None` if the reader has ended.
    pub async fn next(&mut self) -> Option<Entry> {
        self.entries.recv().await
    }

    /// The next message if it is there.
    pub fn try_next(&mut self) -> Option<Entry> {
        self.entries.try_recv().ok()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(stream: Stream, filter: String, mut from: From, to: Sender<Entry>) {
    while !to.is_closed() {
        if let Ok(consumer) = consumer(&stream, &filter, from).await {
            read(&consumer, &mut from, &to).await;
            let name = consumer.cached_info().name.clone();
            let _ = stream.delete_consumer(&name).await;
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn consumer(
    stream: &Stream,
    filter: &str,
    from: From,
) -> Result<Consumer<pull::Config>, async_nats::jetstream::stream::ConsumerError> {
    let deliver_policy = match from {
        From::Newest => DeliverPolicy::LastPerSubject,
        From::After(position) => DeliverPolicy::ByStartSequence { start_sequence: position + 1 },
    };
    let config = pull::Config {
        deliver_policy,
        ack_policy: AckPolicy::None,
        filter_subject: filter.to_owned(),
        inactive_threshold: 3 * TRUSTED,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await
}

/// Reads until something is wrong, or nothing comes for too long.
async fn read(consumer: &Consumer<pull::Config>, from: &mut From, to: &Sender<Entry>) {
    let (mut heard, mut expected) = (Instant::now(), 1);
    while heard.elapsed() < TRUSTED && !to.is_closed() {
        let batch = consumer.batch().max_messages(BATCH).expires(HELD).messages();
        let Ok(Ok(mut batch)) = tokio::time::timeout(2 * HELD, batch).await else { break };
        loop {
            let message = match tokio::time::timeout(2 * HELD, batch.next()).await {
                Ok(Some(Ok(message))) => message,
                Ok(None) => break,
                Ok(Some(Err(_))) | Err(_) => return tokio::time::sleep(PAUSE).await,
            };
            let Ok(info) = message.info() else { return };
            if info.consumer_sequence != expected {
                return;
            }
            (heard, expected) = (Instant::now(), expected + 1);
            let (sequence, behind) = (info.stream_sequence, info.pending);
            let is_deleted =
                message.headers.as_ref().is_some_and(|all| all.get("KV-Operation").is_some());
            let payload = (!is_deleted).then(|| message.payload.clone());
            let entry = Entry { sequence, subject: message.subject.to_string(), payload, behind };
            if to.send(entry).await.is_err() {
                return;
            }
            *from = From::After(sequence);
        }
    }
}
