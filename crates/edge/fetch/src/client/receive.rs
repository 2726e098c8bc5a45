//! Reads a response within all limits: its head as sent, its body decoded.

use std::fmt::Write as _;
use std::pin::pin;
use std::time::Instant;

use http_body_util::BodyExt;
use hyper::{body::Incoming, header};

use super::send::push_fields;
use super::{Fetcher, is_redirect};
use crate::{
    Failure, Hop, Limits, Purpose, Request, Response,
    coding::{Body, codings},
    connection::Connection,
    crowd::Crowd,
};

/// Bytes kept of a redirect's body.
const REDIRECT_BODY_BYTES: usize = 16 * 1024;

impl Fetcher {
    /// Reads the response into `hop` and keeps the connection if it is reusable.
    pub(super) async fn receive(
        &self,
        hop: &mut Hop,
        ask: &Request,
        connection: Connection,
        response: hyper::Response<Incoming>,
    ) -> Result<(), Failure> {
        let (parts, body) = response.into_parts();
        let mut head = connection.take_head();
        if head.is_empty() {
            head = synthetic_head(&parts);
        }
        let response = hop.response.insert(Response {
            status: parts.status.as_u16(),
            head,
            is_h2: parts.version == hyper::Version::HTTP_2,
            headers: parts.headers,
            body: Vec::new(),
            wire_bytes: 0,
            is_cut: false,
            is_damaged: false,
        });
        // HTTP/2 itself does not limit the number of fields.
        if response.headers.len() > self.limits().headers {
            return Err(Failure::HeadTooLarge);
        }
        let kept = self.body_limit(response, ask.purpose);
        self.read(response, body, kept, ask.purpose).await?;
        // A response from memory has no address and no connection to keep.
        if !response.is_cut && !response.is_damaged && hop.address.is_some() {
            self.idle.park(hop.url.origin(), connection);
        }
        Ok(())
    }

    fn body_limit(&self, response: &Response, purpose: Purpose) -> usize {
        let limits = self.limits();
        match purpose {
            _ if is_redirect(response.status) => REDIRECT_BODY_BYTES,
            Purpose::Robots => limits.robots_bytes,
            Purpose::Sitemap => limits.sitemap_bytes,
            Purpose::Page if response.is_html() => limits.html_bytes,
            Purpose::Page => limits.other_bytes,
        }
    }

    /// Reads and decodes a body until its end, its limit, or a failure.
    async fn read(
        &self,
        response: &mut Response,
        mut body: Incoming,
        kept: usize,
        purpose: Purpose,
    ) -> Result<(), Failure> {
        // A transfer encoding besides chunked was not asked for, and is taken off like any other.
        let [content, transfer] = [header::CONTENT_ENCODING, header::TRANSFER_ENCODING]
            .map(|name| response.headers.get_all(name).iter());
        let names = content.chain(transfer);
        let names = names.map(|value| value.to_str().unwrap_or("unreadable"));
        let codings = codings(names, self.limits().encodings)?;
        let length = response.header("content-length").and_then(|length| length.parse().ok());
        let mut decoding = Body::new(&codings, kept, length.unwrap_or(0))?;
        let done = self.pour(response, &mut body, &mut decoding).await;
        response.is_cut = decoding.is_cut();
        response.body = decoding.take();
        let damage = decoding.damage();
        response.is_damaged = damage.is_some();
        match damage {
            // Half a robots.txt may lack the rule that counts.
            Some(failure) if purpose == Purpose::Robots => Err(failure),
            _ => done,
        }
    }

    async fn pour(
        &self,
        response: &mut Response,
        body: &mut Incoming,
        decoding: &mut Body,
    ) -> Result<(), Failure> {
        let limits = self.limits();
        let mut pace = Pace::new(limits, &self.crowd);
        loop {
            let next = self.crowd.limit(limits.idle, pin!(body.frame())).await;
            let Some(frame) = next.ok_or(Failure::IdleTimeout { limit: limits.idle })? else {
                return decoding.finish();
            };
            let frame = frame.map_err(|error| Failure::of_hyper(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            response.wire_bytes += data.len() as u64;
            pace.note(data.len())?;
            if !decoding.push(&data)? {
                return Ok(());
            }
        }
    }
}

/// A head in HTTP/1.1 form for an HTTP/2 response.
fn synthetic_head(parts: &hyper::http::response::Parts) -> Vec<u8> {
    let mut line = String::new();
    let reason = parts.status.canonical_reason().unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(line, "HTTP/1.1 {} {reason}\r\n", parts.status.as_u16());
    let mut head = line.into_bytes();
    push_fields(&mut head, &parts.headers);
    head
}

/// Enforces the minimum transfer rate.
struct Pace<'a> {
    limits: &'a Limits,
    crowd: &'a Crowd,
    since: Instant,
    bytes: u64,
}

impl<'a> Pace<'a> {
    fn new(limits: &'a Limits, crowd: &'a Crowd) -> Self {
        Self { limits, crowd, since: Instant::now(), bytes: 0 }
    }

    fn note(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes as u64;
        let window = self.crowd.patience(self.limits.slow_window);
        if self.since.elapsed() < window {
            return Ok(());
        }
        let min_bytes_per_s = self.limits.min_bytes_per_s;
        if (self.bytes as f64) < min_bytes_per_s as f64 * self.since.elapsed().as_secs_f64() {
            return Err(Failure::TooSlow { min_bytes_per_s, window });
        }
        *self = Self::new(self.limits, self.crowd);
        Ok(())
    }
}
