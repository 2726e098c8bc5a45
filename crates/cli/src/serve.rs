//! A few documents over HTTP, renewed while someone may be reading them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Readers at once; more are turned away.
const CONNECTIONS: usize = 64;
/// Patience with one connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds after which a page in a browser asks for itself again.
const REFRESH: &str = "1";

/// What is shown, by path.
#[derive(Debug, Default)]
pub(crate) struct Shown(BTreeMap<&'static str, (&'static str, Bytes)>);

impl Shown {
    /// Adds a document of a media type.
    pub(crate) fn with(
        mut self,
        path: &'static str,
        kind: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        self.0.insert(path, (kind, body.into()));
        self
    }

    /// Adds a page for people.
    pub(crate) fn html(self, path: &'static str, body: String) -> Self {
        self.with(path, "text/html; charset=utf-8", body)
    }

    /// Adds figures for programs.
    pub(crate) fn json(self, path: &'static str, body: String) -> Self {
        self.with(path, "application/json", body)
    }
}

/// Documents that are being served; dropping it ends the serving.
pub(crate) struct Window {
    pub(crate) address: SocketAddr,
    shown: watch::Sender<Arc<Shown>>,
    _tasks: JoinSet<()>,
}

impl Window {
    /// Begins to serve. Must be called within a runtime.
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let bound = std::net::TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        });
        let listener = bound.with_context(|| {
            format!("cannot serve the figures on {address} (--listen takes another address)")
        })?;
        let address = listener.local_addr().context("cannot tell the address that is served")?;
        let (shown, watched) = watch::channel(Arc::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, watched));
        Ok(Window { address, shown, _tasks: tasks })
    }

    /// Shows something else from now on.
    pub(crate) fn show(&self, shown: Shown) {
        self.shown.send_replace(Arc::new(shown));
    }
}

async fn accept(listener: TcpListener, shown: watch::Receiver<Arc<Shown>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < CONNECTIONS => {
                    connections.spawn(serve(stream, shown.clone()));
                }
                Ok(_) => {}
                // Out of sockets: neither fatal nor lasting.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, shown: watch::Receiver<Arc<Shown>>) {
    let service = service_fn(|request| {
        let reply = reply(&request, &shown.borrow());
        async { Ok::<_, Infallible>(reply) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A reader that went away is no concern of ours.
    let _ = tokio::time::timeout(PATIENCE, serving).await;
}

fn reply(request: &Request<Incoming>, shown: &Shown) -> Response<Full<Bytes>> {
    let found = shown.0.get(request.uri().path()).cloned();
    let status = if found.is_some() { 200 } else { 404 };
    let (kind, body) = found.unwrap_or_else(|| {
        let paths: Vec<_> = shown.0.keys().copied().collect();
        let text = format!("There is only {} here.\n", paths.join(", "));
        ("text/plain; charset=utf-8", text.into())
    });
    let reply = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::REFRESH, REFRESH)
        .body(Full::new(body));
    // Status and headers are constants, and valid.
    reply.unwrap_or_default()
}
