//! One HTTP request over a real socket.
//!
//! A connection carries one request and is over when the server has closed it,
//! so that a host never sees two at once from a caller that waits.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tidewatch_core::url::CanonicalUrl;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Patience for one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a body that are read.
const BODY_LIMIT: usize = 4 << 20;
const HEAD_LIMIT: usize = 32 << 10;
const AGENT: &str = concat!("tidewatch-demo/", env!("CARGO_PKG_VERSION"));

/// A reply, whole.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Page {
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why a request got no reply, in a word.
type Reason = &'static str;
const BROKEN: Reason = "connection";
const TOO_LARGE: Reason = "too-large";
const TOO_LATE: Reason = "time-out";

/// Fetches `url` from `address`.
pub(super) async fn get(
    url: &CanonicalUrl,
    address: SocketAddr,
    etag: Option<&str>,
) -> Result<Page, Reason> {
    timeout(TIMEOUT, exchange(url, address, etag)).await.unwrap_or(Err(TOO_LATE))
}

async fn exchange(
    url: &CanonicalUrl,
    address: SocketAddr,
    etag: Option<&str>,
) -> Result<Page, Reason> {
    let stream = TcpStream::connect(address).await.map_err(|_| BROKEN)?;
    let builder = http1::Builder::new().max_buf_size(HEAD_LIMIT).to_owned();
    let handshake = builder.handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|_| BROKEN)?;
    let request = request(url, etag).map_err(|_| BROKEN)?;
    let reply = async {
        let response = sender.send_request(request).await.map_err(|_| BROKEN)?;
        read(response).await
    };
    // How the connection ended does not matter to a page that came whole.
    let (_, page) = tokio::join!(connection, reply);
    page
}

fn request(url: &CanonicalUrl, etag: Option<&str>) -> hyper::http::Result<Request<Empty<Bytes>>> {
    let mut request = Request::get(url.path_and_query())
        .header(header::HOST, url.host())
        .header(header::USER_AGENT, AGENT)
        .header(header::CONNECTION, "close");
    if let Some(etag) = etag {
        request = request.header(header::IF_NONE_MATCH, etag);
    }
    request.body(Empty::new())
}

async fn read(response: Response<hyper::body::Incoming>) -> Result<Page, Reason> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() { TOO_LARGE } else { BROKEN }
    })?;
    Ok(Page { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
}
