//! One connection: reads requests, sends replies, logs both.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{sleep, timeout};

use super::Shared;
use super::log::LoggedRequest;
use super::socket::Watched;
use crate::site::{PageRequest, Reply};

/// Serves one connection until it ends, idles too long or the server stops.
pub(super) async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    // Replies are small; Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let connection = shared.log.open(address);
    let io = TokioIo::new(Watched::new(stream, shared.log.clone(), connection));
    let limits = shared.limits;
    let service = service_fn(|request| answer(request, address, connection, &shared));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_header_size(limits.head_bytes)
        .max_headers(limits.headers)
        .serve_connection(io, service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = sleep(limits.connection) => return,
        _ = stop.changed() => {
            serving.as_mut().graceful_shutdown();
            timeout(limits.grace, serving).await.unwrap_or(Ok(()))
        }
    };
    // A head that was invalid, too long or never came.
    if ended.is_err_and(|error| error.is_parse() || error.is_timeout()) {
        shared.log.refuse();
    }
}

async fn answer(
    request: Request<Incoming>,
    address: SocketAddr,
    connection: u64,
    shared: &Shared,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let name = host_name(&request);
    let is_here = |name: &str| shared.names.resolve(name) == Some(address);
    let host = name.as_deref().filter(|name| is_here(name)).and_then(|name| shared.site.host(name));
    let arrival = shared.log.arrive(connection, host);
    if let Some(host) = host {
        sleep(shared.site.delay(host)).await;
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let now = shared.clock.now();
    let asked = PageRequest {
        method: request.method().as_str(),
        host: name.as_deref(),
        path,
        if_none_match: text(request.headers(), &IF_NONE_MATCH),
        if_modified_since: text(request.headers(), &IF_MODIFIED_SINCE),
    };
    let is_misdirected = name.is_some() && host.is_none();
    let reply =
        if is_misdirected { shared.site.misdirected(now) } else { shared.site.reply(&asked, now) };
    arrival.finish(|began, ended| LoggedRequest {
        connection,
        at: now,
        began,
        ended,
        local: address,
        host,
        method: asked.method.into(),
        path: path.into(),
        agent: text(request.headers(), &USER_AGENT).unwrap_or_default().into(),
        status: reply.status,
        served: reply.served,
        bytes: reply.body.len() as u64,
        is_conditional: asked.if_none_match.is_some() || asked.if_modified_since.is_some(),
        retry_after_s: reply.get("retry-after").and_then(|seconds| seconds.parse().ok()),
    });
    Ok(response(reply))
}

/// The host that a request names, without port, in lower case.
fn host_name(request: &Request<Incoming>) -> Option<String> {
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let name = authority.or_else(|| text(request.headers(), &HOST))?;
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    Some(name.to_ascii_lowercase())
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut builder = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        builder = builder.header(*name, value.as_str());
    }
    // Statuses, names and values come from this crate and are valid.
    builder.body(Full::new(reply.body)).unwrap_or_default()
}
