//! Serves a site: listeners, connections and the log.
//!
//! Life of a server: [`WebServer::start`] binds all addresses, or none; every
//! listener gets an accept loop, every connection a task owned by its loop.
//! [`WebServer::shutdown`] stops accepting, lets pending replies end within a grace period and aborts the
//! rest. Dropping a server aborts everything at once. Either way no task outlives it.

mod bind;
mod connection;
mod log;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::clock::WebClock;
use crate::error::WebError;
use crate::site::Site;
pub use bind::Names;
pub use log::{Connection, Counters, HostCounters, LoggedRequest, RequestLog};

/// Pause of an accept loop when the system has no socket left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Simultaneous connections; more have to wait.
    pub connections: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Time-out for a request's head, from when the connection is ready for it.
    pub idle: Duration,
    /// Longest time of a connection.
    pub connection: Duration,
    /// Grace period for pending replies at shutdown.
    pub grace: Duration,
    /// Entries of the log, for requests and for connections.
    pub log: usize,
    /// Bound addresses; further hosts share them in turn.
    pub listeners: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            head_bytes: 16 * 1024,
            headers: 64,
            idle: Duration::from_secs(10),
            connection: Duration::from_mins(5),
            grace: Duration::from_secs(2),
            log: 200_000,
            listeners: 512,
        }
    }
}

/// Options of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerOptions {
    /// The port of all addresses; a free one if 0.
    pub port: u16,
    /// Serve all hosts on 127.0.0.1, distinguished by the `Host` header, even if other loopback
    /// addresses are available.
    pub one_address: bool,
    /// Limits.
    pub limits: Limits,
}

/// A running server.
#[derive(Debug)]
pub struct WebServer {
    site: Arc<Site>,
    names: Names,
    log: Arc<RequestLog>,
    stop: watch::Sender<bool>,
    loops: JoinSet<()>,
}

/// State shared by connections.
struct Shared {
    site: Arc<Site>,
    clock: Box<dyn WebClock>,
    names: Names,
    log: Arc<RequestLog>,
    limits: Limits,
    free: Arc<Semaphore>,
}

impl WebServer {
    /// Serves `site` at the time that `clock` shows. Must be called within a
    /// tokio runtime that has I/O and timers.
    pub fn start(
        site: Arc<Site>,
        clock: impl WebClock,
        options: &ServerOptions,
    ) -> Result<Self, WebError> {
        let limits = options.limits;
        let (listeners, names) = bind::bind(&site, options)?;
        let log = Arc::new(RequestLog::new(site.trace().hosts.len(), limits.log));
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared {
            site: site.clone(),
            clock: Box::new(clock),
            names: names.clone(),
            log: log.clone(),
            limits,
            free: Arc::new(Semaphore::new(limits.connections)),
        });
        let mut loops = JoinSet::new();
        for (listener, address) in listeners {
            loops.spawn(accept(listener, address, shared.clone(), stopped.clone()));
        }
        Ok(WebServer { site, names, log, stop, loops })
    }

    /// The served site.
    pub fn site(&self) -> &Arc<Site> {
        &self.site
    }

    /// Addresses of hosts; replaces DNS.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The log of requests and connections.
    pub fn log(&self) -> &Arc<RequestLog> {
        &self.log
    }

    /// Stops the server; see the module's documentation.
    pub async fn shutdown(mut self) {
        // Sending fails only if every loop has already ended.
        let _ = self.stop.send(true);
        while self.loops.join_next().await.is_some() {}
    }
}

async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of sockets, or the client is gone: both are temporary.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Clients beyond the limit wait here, one per listener, and in the system's queue.
        let permit = tokio::select! {
            _ = stop.changed() => break,
            permit = shared.free.clone().acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let task = connection::serve(stream, address, shared.clone(), stop.clone(), permit);
        connections.spawn(task);
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}
