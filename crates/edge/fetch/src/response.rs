//! What came of a fetch.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use tidewatch_core::Reason;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_parse::date;

use crate::Failure;

/// What a fetch is for; it decides limits and what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A page, a feed or anything else.
    Page,
    /// A robots.txt.
    Robots,
    /// A sitemap.
    Sitemap,
}

/// What is known of the copy held, so that an unchanged page need not come again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// Its entity tag. If there is one, it alone is sent: it says more than a date.
    pub etag: Option<String>,
    /// Its `Last-Modified`, as the server wrote it.
    pub last_modified: Option<String>,
}

/// A fetch to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Of what.
    pub url: CanonicalUrl,
    /// What for.
    pub purpose: Purpose,
    /// The copy held. Sent with the first request only, not along redirects.
    pub held: Validators,
}

impl Request {
    /// An unconditional fetch of a page.
    pub fn page(url: CanonicalUrl) -> Self {
        Self { url, purpose: Purpose::Page, held: Validators::default() }
    }
}

/// What came of a fetch: every exchange made, and how it ended.
#[derive(Debug)]
pub struct Fetched {
    /// The exchanges in order; the last is the one that the fetch ended with.
    pub hops: Vec<Hop>,
    /// How it ended.
    pub end: End,
}

/// How a fetch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With an answer that is no redirect.
    Answered,
    /// With a redirect that the caller did not want followed.
    Redirect(CanonicalUrl),
    /// With a failure.
    Failed(Failure),
}

impl End {
    /// Why there is no answer to keep; `None` if there is one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Answered => None,
            Self::Redirect(_) => Some(Reason::Redirect),
            Self::Failed(failure) => Some(failure.reason()),
        }
    }

    /// The name of that reason, `answered` if there is an answer.
    pub fn name(&self) -> &'static str {
        self.reason().map_or("answered", Reason::name)
    }
}

impl Fetched {
    /// The answer that the fetch ended with, if there was one.
    pub fn response(&self) -> Option<&Response> {
        self.hops.last().and_then(|hop| hop.response.as_ref())
    }

    /// The answer to keep: the last one, if it is whole.
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

/// One request and its answer.
#[derive(Debug)]
pub struct Hop {
    /// What was asked for.
    pub url: CanonicalUrl,
    /// When.
    pub at: SystemTime,
    /// The address that was connected to.
    pub address: Option<IpAddr>,
    /// The request's head, with its closing blank line.
    pub request_head: Vec<u8>,
    /// The answer, as much of it as came.
    pub response: Option<Response>,
    /// Time until there was a connection; `None` if an open one was used again.
    pub connect: Option<Duration>,
    /// Time until the head of the answer was there.
    pub first_byte: Option<Duration>,
    /// Time until the end.
    pub total: Duration,
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its head as it came, with the closing blank line; of HTTP/2, an equivalent.
    pub head: Vec<u8>,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body with all encodings taken off.
    pub body: Vec<u8>,
    /// Bytes of the body as they came.
    pub wire_bytes: u64,
    /// Whether the body was longer than is kept.
    pub is_cut: bool,
}

impl Response {
    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// All headers of that name that are text.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// The media type in lower case, without parameters; empty if there is none.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether the body is HTML by its type, or has none.
    pub fn is_html(&self) -> bool {
        matches!(self.media_type().as_str(), "" | "text/html" | "application/xhtml+xml")
    }

    /// What to send with the next fetch of the same page.
    pub fn validators(&self) -> Validators {
        let text = |name| self.header(name).filter(|value| value.len() <= 1024).map(str::to_owned);
        Validators { etag: text("etag"), last_modified: text("last-modified") }
    }

    /// When the page says it changed, Unix seconds.
    pub fn last_modified_s(&self) -> Option<i64> {
        self.header("last-modified").and_then(date::parse)
    }

    /// How long the server asks to be left alone; `now_s` is Unix time in seconds.
    pub fn retry_after(&self, now_s: i64) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if let Ok(seconds) = value.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let wait = date::parse(value)?.saturating_sub(now_s);
        Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    }
}
