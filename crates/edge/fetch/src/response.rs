//! The result of a fetch.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use tidewatch_core::Reason;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_parse::date;

use crate::Failure;

/// What a fetch is for; decides limits and request headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A page, a feed or anything else.
    Page,
    /// A robots.txt.
    Robots,
    /// A sitemap.
    Sitemap,
}

/// Validators of the held copy, for a conditional request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// Its `ETag`. If present, only this is sent: it is stronger than a date.
    pub etag: Option<String>,
    /// Its `Last-Modified`, as the server wrote it.
    pub last_modified: Option<String>,
}

/// A fetch to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The URL to fetch.
    pub url: CanonicalUrl,
    /// What it is for.
    pub purpose: Purpose,
    /// The held copy's validators. Sent with the first request only, not to redirects.
    pub held: Validators,
}

impl Request {
    /// An unconditional fetch of a page.
    pub fn page(url: CanonicalUrl) -> Self {
        Self { url, purpose: Purpose::Page, held: Validators::default() }
    }
}

/// The result of a fetch: every exchange, and how it ended.
#[derive(Debug)]
pub struct Fetched {
    /// The exchanges in order; the fetch ended with the last.
    pub hops: Vec<Hop>,
    /// How it ended.
    pub end: End,
}

/// How a fetch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a response that is no redirect.
    Answered,
    /// With a redirect that the caller refused.
    Redirect(CanonicalUrl),
    /// With a failure.
    Failed(Failure),
}

impl End {
    /// Why there is no response to keep; `None` if there is one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Answered => None,
            Self::Redirect(_) => Some(Reason::Redirect),
            Self::Failed(failure) => Some(failure.reason()),
        }
    }

    /// The name of that reason; `answered` if there is a response.
    pub fn name(&self) -> &'static str {
        self.reason().map_or("answered", Reason::name)
    }
}

impl Fetched {
    /// The final response, if there was one.
    pub fn response(&self) -> Option<&Response> {
        self.hops.last().and_then(|hop| hop.response.as_ref())
    }

    /// The response to keep: the last one, if complete.
    pub fn into_response(mut self) -> Option<Response> {
        let is_answered = self.end == End::Answered;
        self.hops.pop().filter(|_| is_answered).and_then(|hop| hop.response)
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.end {
            End::Failed(failure) => Some(failure),
            End::Answered | End::Redirect(_) => None,
        }
    }
}

/// One request and its response.
#[derive(Debug)]
pub struct Hop {
    /// The requested URL.
    pub url: CanonicalUrl,
    /// When it was sent.
    pub at: SystemTime,
    /// The address connected to.
    pub address: Option<IpAddr>,
    /// The request's head, with its final blank line.
    pub request_head: Vec<u8>,
    /// The response, as far as received.
    pub response: Option<Response>,
    /// Time to connect; `None` if an open connection was reused.
    pub connect: Option<Duration>,
    /// Time until the response's head arrived.
    pub first_byte: Option<Duration>,
    /// Time until the end.
    pub total: Duration,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its head as sent, with the final blank line; for HTTP/2, the equivalent in HTTP/1.1.
    pub head: Vec<u8>,
    /// Whether it came over HTTP/2.
    pub is_h2: bool,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its decoded body.
    pub body: Vec<u8>,
    /// Bytes of the body before decoding.
    pub wire_bytes: u64,
    /// Whether the body was truncated at its limit.
    pub is_cut: bool,
    /// Whether the body broke off or did not decode to its end. `body` is what came before.
    pub is_damaged: bool,
}

impl Response {
    /// The first header `name`, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// All headers `name` that are text.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// The media type in lower case, without parameters; empty if there is none.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether the media type is HTML or missing.
    pub fn is_html(&self) -> bool {
        matches!(self.media_type().as_str(), "" | "text/html" | "application/xhtml+xml")
    }

    /// Validators for the next fetch of the same page.
    pub fn validators(&self) -> Validators {
        let text = |name| self.header(name).filter(|value| value.len() <= 1024).map(str::to_owned);
        Validators { etag: text("etag"), last_modified: text("last-modified") }
    }

    /// `Last-Modified`, Unix seconds.
    pub fn last_modified_s(&self) -> Option<i64> {
        self.header("last-modified").and_then(date::parse)
    }

    /// `Retry-After` as a duration; `now_s` is Unix time in seconds.
    pub fn retry_after(&self, now_s: i64) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if let Ok(seconds) = value.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let wait = date::parse(value)?.saturating_sub(now_s);
        Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    }
}
