//! A site on the network: listeners, connections and what clients did.
//!
//! Life of a server: [`Server::start`] binds all addresses, or none; every
//! listener gets an accept loop, every connection a task owned by its loop.
//! [`Server::shutdown`] stops accepting, lets replies under way end within a
//! grace period and cuts the rest off. Dropping a server cuts everything off at
//! once. Either way no task outlives it.

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

use crate::clock::Clock;
use crate::error::WebError;
use crate::site::Site;
pub use bind::Names;
pub use log::{Connection, Counters, HostCounters, Logged, RequestLog};

/// How long an accept loop rests when the system has no socket left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// What a server refuses to go beyond.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; more wait to be served.
    pub connections: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Time for a request's head to arrive, from when the connection is ready for it.
    pub idle: Duration,
    /// Time that one connection may last.
    pub connection: Duration,
    /// Time that replies under way get at shutdown.
    pub grace: Duration,
    /// Requests, and connections, that the log keeps.
    pub log: usize,
    /// Addresses bound; hosts beyond share them in turn.
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

/// How to serve.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerOptions {
    /// The port of all addresses; a free one if 0.
    pub port: u16,
    /// Serve all hosts on 127.0.0.1, told apart by the `Host` header, even
    /// where further loopback addresses could be had.
    pub one_address: bool,
    /// What not to go beyond.
    pub limits: Limits,
}

/// A web that is being served.
#[derive(Debug)]
pub struct Server {
    site: Arc<Site>,
    names: Names,
    log: Arc<RequestLog>,
    stop: watch::Sender<bool>,
    loops: JoinSet<()>,
}

/// What every connection needs.
struct Shared {
    site: Arc<Site>,
    clock: Box<dyn Clock>,
    names: Names,
    log: Arc<RequestLog>,
    limits: Limits,
    free: Arc<Semaphore>,
}

impl Server {
    /// Serves `site` at the time that `clock` shows. Must be called within a
    /// tokio runtime that has I/O and timers.
    pub fn start(
        site: Arc<Site>,
        clock: impl Clock,
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
        Ok(Server { site, names, log, stop, loops })
    }

    /// What is served.
    pub fn site(&self) -> &Arc<Site> {
        &self.site
    }

    /// Where to connect for which host; stands in for DNS.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What clients did.
    pub fn log(&self) -> &Arc<RequestLog> {
        &self.log
    }

    /// Ends the server; see the module's documentation.
    pub async fn shutdown(mut self) {
        // Nobody listens any more only if every loop has ended already.
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
            // Out of sockets, or the client has gone again: neither lasts.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Clients beyond the limit wait here, one a listener, and in the system's queue.
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
