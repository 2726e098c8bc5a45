//! Idle connections, one per origin.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::Connection;

/// Idle connections older than this may be evicted to make room. Long enough that the host's
/// next request is not imminent: a server must see the old connection end before a new one
/// begins.
const IDLE_KEPT: Duration = Duration::from_mins(5);

/// The connections, by origin.
pub(super) struct Idle {
    /// Most of them, over all origins.
    most: usize,
    connections: Mutex<HashMap<String, (Connection, Instant)>>,
}

impl Idle {
    pub(super) fn new(most: usize) -> Idle {
        Idle { most, connections: Mutex::default() }
    }

    /// Keeps a connection for the next fetch from the same origin.
    pub(super) fn park(&self, origin: &str, connection: Connection) {
        let mut idle = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= self.most {
            idle.retain(|_, (connection, since)| {
                connection.is_open() && since.elapsed() < IDLE_KEPT
            });
        }
        if idle.len() < self.most && connection.is_open() {
            idle.insert(origin.to_owned(), (connection, Instant::now()));
        }
    }

    /// The idle connection of `origin`, if it is still open.
    pub(super) fn unpark(&self, origin: &str) -> Option<Connection> {
        let mut idle = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        // Of any age: a closed connection is detected, and an open one must not be doubled.
        let (connection, _) = idle.remove(origin)?;
        connection.is_open().then_some(connection)
    }
}
