//! A log that all nodes write and read, kept at the brokers for some time.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;

use crate::follow::{Follower, From};

/// How long an acknowledgement may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A log of messages. Cheap to clone.
#[derive(Clone)]
pub struct SharedLog {
    context: Context,
    stream: Stream,
    subject: String,
}

impl SharedLog {
    pub(crate) const fn new(context: Context, stream: Stream, subject: String) -> SharedLog {
        SharedLog { context, stream, subject }
    }

    /// Appends a message. `true` once the log holds it; otherwise it may be sent again under the same
    /// `id`, which the log takes once within two minutes.
    pub async fn append(&self, id: String, bytes: Vec<u8>) -> bool {
        let message = PublishMessage::build().payload(bytes.into()).message_id(id);
        let Ok(sent) = self.context.send_publish(self.subject.clone(), message).await else {
            return false;
        };
        matches!(tokio::time::timeout(PATIENCE, sent.into_future()).await, Ok(Ok(_)))
    }

    /// Reads the messages after a position. Must be called within a runtime.
    pub fn read(&self, after: u64) -> Follower {
        Follower::start(self.stream.clone(), self.subject.clone(), From::After(after))
    }
}
