//! The demo's live page in a browser.

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

/// Browsers at once; more are turned away.
const CONNECTIONS: usize = 64;
/// Patience with one connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds after which the page asks for itself again.
const REFRESH: &str = "1";

/// What the page shows, in both its forms.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) html: Bytes,
    pub(super) json: Bytes,
}

/// A page that is being served; dropping it ends the serving.
pub(super) struct StatusPage {
    pub(super) address: SocketAddr,
    shown: watch::Sender<Arc<Shown>>,
    _tasks: JoinSet<()>,
}

impl StatusPage {
    /// Begins to serve.
    pub(super) async fn start(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot serve the status page on {address} (--listen takes another address)")
        })?;
        let address = listener.local_addr().context("cannot tell the status page's address")?;
        let (shown, watched) = watch::channel(Arc::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, watched));
        Ok(StatusPage { address, shown, _tasks: tasks })
    }

    /// Shows something else from now on.
    pub(super) fn show(&self, shown: Shown) {
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
    // A browser that went away is no concern of ours.
    let _ = tokio::time::timeout(PATIENCE, serving).await;
}

fn reply(request: &Request<Incoming>, shown: &Shown) -> Response<Full<Bytes>> {
    let (status, kind, body) = match request.uri().path() {
        "/" => (200, "text/html; charset=utf-8", shown.html.clone()),
        "/status.json" => (200, "application/json", shown.json.clone()),
        _ => (
            404,
            "text/plain; charset=utf-8",
            Bytes::from_static(b"There is only / and /status.json here.\n"),
        ),
    };
    let reply = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::REFRESH, REFRESH)
        .body(Full::new(body));
    // Status and headers are constants, and valid.
    reply.unwrap_or_default()
}
