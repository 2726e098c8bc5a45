//! Connections that are open and unused, one an origin.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::connect::{Connection, Sender};

/// Idle connections kept open, all origins together.
const MAX_IDLE: usize = 1024;

/// How long an idle connection is kept where others want its place. So long that its
/// host's next request is not about to come: a server must not see a new connection
/// before it has seen the end of the old one.
const IDLE_KEPT: Duration = Duration::from_mins(5);

/// The connections, by origin.
#[derive(Default)]
pub(super) struct Idle(Mutex<HashMap<String, (Connection, Instant)>>);

impl Idle {
    /// Keeps a connection for the next fetch from the same origin.
    pub(super) fn park(&self, origin: &str, connection: Connection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.retain(|_, (connection, since)| {
                connection.is_open() && since.elapsed() < IDLE_KEPT
            });
        }
        if idle.len() < MAX_IDLE && connection.is_open() {
            idle.insert(origin.to_owned(), (connection, Instant::now()));
        }
    }

    /// The connection of an origin, if there is one that is still open.
    pub(super) fn unpark(&self, origin: &str) -> Option<Connection> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // However old: one that is closed by the server is known to be, and one that is
        // not must not be replaced by a second.
        let (connection, _) = idle.remove(origin)?;
        connection.is_open().then_some(connection)
    }
}

impl Connection {
    fn is_open(&self) -> bool {
        match &self.sender {
            Sender::H1(sender) => !sender.is_closed(),
            Sender::H2(sender) => !sender.is_closed(),
        }
    }
}
