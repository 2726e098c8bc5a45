//! An open connection, over HTTP/1.1 or HTTP/2.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header;
use tidewatch_core::url::CanonicalUrl;

use crate::tape::Tape;

/// Sends requests over HTTP/1.1 or HTTP/2.
pub(crate) enum Sender {
    H1(http1::SendRequest<Full<Bytes>>),
    H2(http2::SendRequest<Full<Bytes>>),
}

/// An open connection.
pub(crate) struct Connection {
    sender: Sender,
    tape: Tape,
    address: IpAddr,
    wants_whole_url: bool,
}

impl Connection {
    /// `tape` records the heads of HTTP/1.1 responses.
    pub(crate) fn new(sender: Sender, tape: Tape, address: IpAddr) -> Self {
        Connection { sender, tape, address, wants_whole_url: false }
    }

    /// The same, to a proxy that needs the absolute URL in each request.
    pub(crate) fn with_whole_urls(self) -> Self {
        Connection { wants_whole_url: true, ..self }
    }

    /// The address of the target, also behind a proxy.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether requests carry the absolute URL, as a proxy needs.
    pub(crate) fn wants_whole_url(&self) -> bool {
        self.wants_whole_url
    }

    pub(crate) fn is_open(&self) -> bool {
        match &self.sender {
            Sender::H1(sender) => !sender.is_closed(),
            Sender::H2(sender) => !sender.is_closed(),
        }
    }

    /// The target of a request for `url`.
    pub(crate) fn target<'u>(&self, url: &'u CanonicalUrl) -> &'u str {
        let is_whole = self.wants_whole_url || matches!(self.sender, Sender::H2(_));
        if is_whole { url.as_str() } else { url.path_and_query() }
    }

    /// Sends a request, waits for the response, and records up to `head_bytes` of its head.
    pub(crate) async fn send(
        &mut self,
        mut request: hyper::Request<Full<Bytes>>,
        head_bytes: usize,
    ) -> hyper::Result<hyper::Response<Incoming>> {
        self.tape.rewind(head_bytes);
        match &mut self.sender {
            Sender::H1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::H2(sender) => {
                request.headers_mut().remove(header::HOST);
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// The recorded head of the last response; empty over HTTP/2.
    pub(crate) fn take_head(&self) -> Vec<u8> {
        self.tape.take()
    }
}
