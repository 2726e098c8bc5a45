//! The log of requests and connections.
//!
//! Every connection and request is logged up to a limit; beyond it, counters continue and count lost
//! entries. Times are real, from the server's start; requests also have the time of the web.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::Time;

use crate::site::Served;

/// One request and its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRequest {
    /// Its connection.
    pub connection: u64,
    /// Time of the web when it was answered.
    pub at: Time,
    /// Arrival of its head, since the server's start.
    pub began: Duration,
    /// Time when its reply was ready.
    pub ended: Duration,
    /// Its destination address.
    pub local: SocketAddr,
    /// The requested host, if it is served at this address.
    pub host: Option<u32>,
    /// `GET`, ….
    pub method: Box<str>,
    /// Path and query.
    pub path: Box<str>,
    /// `User-Agent`; empty if missing.
    pub agent: Box<str>,
    /// The reply's status.
    pub status: u16,
    /// What was served.
    pub served: Served,
    /// Bytes of the reply's body.
    pub bytes: u64,
    /// Whether it was a conditional request.
    pub is_conditional: bool,
    /// `Retry-After` of the reply, in seconds.
    pub retry_after_s: Option<u64>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its number, from 0.
    pub number: u64,
    /// Its destination address.
    pub local: SocketAddr,
    /// The host of its first request.
    pub host: Option<u32>,
    /// Time of acceptance, since the server's start.
    pub opened: Duration,
    /// Time of its end; `None` while open.
    pub closed: Option<Duration>,
}

/// Totals of all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests answered.
    pub requests: u64,
    /// Bytes of bodies sent.
    pub bytes: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections open now.
    pub open: u64,
    /// Most connections ever open at once.
    pub most_open: u64,
    /// Connections that ended with an invalid, too long or late head.
    pub refused: u64,
    /// Requests and connections beyond the limit of the log.
    pub lost: u64,
}

/// Totals of one host's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests not answered yet.
    pub in_flight: u64,
    /// Most requests ever in flight at once.
    pub most_in_flight: u64,
}

/// The log of a server.
#[derive(Debug)]
pub struct RequestLog {
    began: Instant,
    room: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    requests: Vec<LoggedRequest>,
    connections: Vec<Connection>,
    counters: Counters,
    hosts: Vec<HostCounters>,
}

impl RequestLog {
    pub(super) fn new(hosts: usize, room: usize) -> Self {
        let hosts = vec![HostCounters::default(); hosts];
        let inner = Mutex::new(Inner { hosts, ..Inner::default() });
        RequestLog { began: Instant::now(), room, inner }
    }

    /// After a panic of another thread at most one entry is half counted.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The totals so far.
    pub fn counters(&self) -> Counters {
        self.lock().counters
    }

    /// The totals of one host so far; zeros for an unknown host.
    pub fn host(&self, host: u32) -> HostCounters {
        self.lock().hosts.get(host as usize).copied().unwrap_or_default()
    }

    /// All requests so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.lock().requests.clone()
    }

    /// All connections so far, in the order in which they were accepted.
    pub fn connections(&self) -> Vec<Connection> {
        self.lock().connections.clone()
    }

    /// For every host, the most connections open at once. A connection belongs to the host of its first
    /// request; one without a request does not count.
    pub fn most_connections(&self) -> Vec<usize> {
        let inner = self.lock();
        let mut moments: Vec<(u32, Duration, bool)> = Vec::new();
        for connection in &inner.connections {
            let Some(host) = connection.host else { continue };
            moments.push((host, connection.opened, true));
            moments.extend(connection.closed.map(|closed| (host, closed, false)));
        }
        // At equal times, ends come before starts.
        moments.sort_unstable();
        let mut most = vec![0; inner.hosts.len()];
        let (mut host, mut open) = (u32::MAX, 0usize);
        for (of, _, is_open) in moments {
            if of != host {
                (host, open) = (of, 0);
            }
            open = if is_open { open + 1 } else { open.saturating_sub(1) };
            most[host as usize] = open.max(most[host as usize]);
        }
        most
    }

    /// The connection's number.
    pub(super) fn open(&self, local: SocketAddr) -> u64 {
        let mut inner = self.lock();
        let opened = self.began.elapsed();
        let number = inner.counters.connections;
        inner.counters.connections += 1;
        inner.counters.open += 1;
        inner.counters.most_open = inner.counters.most_open.max(inner.counters.open);
        if inner.connections.len() < self.room {
            let connection = Connection { number, local, host: None, opened, closed: None };
            inner.connections.push(connection);
        } else {
            inner.counters.lost += 1;
        }
        number
    }

    /// Logs that a connection is being closed; only the first call counts.
    pub(super) fn close(&self, number: u64) {
        let mut inner = self.lock();
        let closed = self.began.elapsed();
        if let Some(connection) = inner.connections.get_mut(number as usize) {
            connection.closed.get_or_insert(closed);
        }
    }

    /// Logs the end of a connection.
    pub(super) fn end(&self, number: u64) {
        self.close(number);
        self.lock().counters.open -= 1;
    }

    pub(super) fn refuse(&self) {
        self.lock().counters.refused += 1;
    }

    pub(super) fn arrive(&self, connection: u64, host: Option<u32>) -> Arrival<'_> {
        let mut inner = self.lock();
        let began = self.began.elapsed();
        if let Some(connection) = inner.connections.get_mut(connection as usize) {
            connection.host = connection.host.or(host);
        }
        if let Some(counters) = host.and_then(|host| inner.hosts.get_mut(host as usize)) {
            counters.requests += 1;
            counters.in_flight += 1;
            counters.most_in_flight = counters.most_in_flight.max(counters.in_flight);
        }
        Arrival { log: self, host, began }
    }
}

/// A request in flight, until dropped.
pub(super) struct Arrival<'l> {
    log: &'l RequestLog,
    host: Option<u32>,
    began: Duration,
}

impl Arrival<'_> {
    pub(super) fn finish(self, entry: impl FnOnce(Duration, Duration) -> LoggedRequest) {
        let mut inner = self.log.lock();
        let entry = entry(self.began, self.log.began.elapsed());
        inner.counters.requests += 1;
        inner.counters.bytes += entry.bytes;
        if inner.requests.len() < self.log.room {
            inner.requests.push(entry);
        } else {
            inner.counters.lost += 1;
        }
        drop(inner);
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut inner = self.log.lock();
        if let Some(counters) = self.host.and_then(|host| inner.hosts.get_mut(host as usize)) {
            counters.in_flight -= 1;
        }
    }
}
