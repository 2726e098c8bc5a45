//! Jobs that the loop hands to the network, and the reports that come back.
//!
//! A job carries everything it needs and a report everything it found, so the two share no state.

use std::net::IpAddr;

use tidewatch_archive::{Digest, Packed};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, PageId, Reason, Span};
use tidewatch_hygiene::spam::shape::Shape;
use tidewatch_parse::extract::Extract;
use tidewatch_robots::Wishes;
use tidewatch_store::Capture;
use tidewatch_topic::Gist;

use crate::announced::Announced;
use crate::forms::{FormsRead, FormsWanted};

/// Something to request or look up.
#[derive(Clone, Debug)]
pub enum Job {
    /// Look up a host's address.
    Resolve {
        /// The host.
        host: HostId,
        /// Its name or address.
        name: String,
        /// Its port.
        port: u16,
    },
    /// Read a host's robots.txt.
    Robots {
        /// The host.
        host: HostId,
        /// Where it is.
        url: CanonicalUrl,
    },
    /// Fetch a page.
    Page {
        /// Its host.
        host: HostId,
        /// The page.
        page: PageId,
        /// Where it is.
        url: CanonicalUrl,
        /// The copy held, if its record is in the archive.
        held: Option<Held>,
        /// Whether its requisites are wanted.
        requisites: bool,
        /// Whether its gist is wanted.
        gist: bool,
        /// What its host's robots.txt says about its use.
        wishes: Wishes,
        /// What is wanted of it about forms.
        forms: FormsWanted,
        /// Whether its text is to be measured.
        shape: bool,
    },
}

/// The copy that a conditional request may confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// For If-None-Match.
    pub etag: Option<String>,
    /// For If-Modified-Since.
    pub last_modified: Option<String>,
    /// Digest of its payload.
    pub digest: Digest,
    /// The date of its record in the archive, in microseconds of Unix time.
    pub unix_micros: i64,
}

/// The result of a job, and how long its request took.
#[derive(Debug)]
pub enum Report {
    /// A host's address, and how long it is valid.
    Resolved {
        /// The host.
        host: HostId,
        /// Its first address, or why there is none.
        found: Result<(IpAddr, Span), Reason>,
        /// How long it took.
        took: Span,
    },
    /// A host's robots.txt.
    Robots {
        /// The host.
        host: HostId,
        /// Status and body, or why there are none.
        found: Result<(u16, Vec<u8>), Reason>,
        /// Retry-After.
        retry_after: Option<Span>,
        /// How long it took.
        took: Span,
    },
    /// A page.
    Page {
        /// Its host.
        host: HostId,
        /// The page.
        page: PageId,
        /// The result.
        came: Came,
        /// Status of the answer, if there was one.
        status: Option<u16>,
        /// Decoded bytes of its body.
        body_bytes: u64,
        /// Records for the archive, where there was an answer.
        packed: Option<Packed>,
        /// When it was requested, in microseconds of Unix time.
        unix_micros: i64,
        /// How long it took.
        took: Span,
    },
}

impl Job {
    /// The report of a job whose request was not made, or was broken off by the crawler itself.
    pub(crate) fn given_up(&self) -> Report {
        let (took, why) = (Span::ZERO, Reason::OwnStop);
        match *self {
            Job::Resolve { host, .. } => Report::Resolved { host, found: Err(why), took },
            Job::Robots { host, .. } => {
                Report::Robots { host, found: Err(why), retry_after: None, took }
            }
            Job::Page { host, page, .. } => Report::Page {
                host,
                page,
                came: Came::Nothing(why),
                status: None,
                body_bytes: 0,
                packed: None,
                unix_micros: 0,
                took,
            },
        }
    }
}

impl Report {
    /// Takes out the words of a page that came with content.
    pub(crate) fn take_extract(&mut self) -> Option<Extract> {
        match self {
            Report::Page { came: Came::Content(content), .. } => content.extract.take(),
            _ => None,
        }
    }
}

/// The result of a page request.
#[derive(Debug)]
pub enum Came {
    /// Content.
    Content(Box<Content>),
    /// The copy held is still right (304).
    Same,
    /// Another address.
    Moved {
        /// Where to.
        to: CanonicalUrl,
        /// Whether for good (301, 308).
        for_good: bool,
    },
    /// The page is gone (404, 410).
    Gone,
    /// 429 or 503, with Retry-After.
    Overloaded(Reason, Option<Span>),
    /// An answer without a page.
    Refused(Reason),
    /// No answer.
    Nothing(Reason),
}

/// The content of a page.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Status of the answer.
    pub status: u16,
    /// ETag.
    pub etag: Option<String>,
    /// Last-Modified as sent.
    pub last_modified: Option<String>,
    /// The same in microseconds of Unix time.
    pub last_modified_micros: Option<i64>,
    /// Digest of the payload.
    pub digest: Digest,
    /// The response as the archive holds it.
    pub capture: Capture,
    /// Equal if a reader would see no change.
    pub identity: u64,
    /// The smallest fragment hashes.
    pub sketch: Vec<u64>,
    /// Links that may be followed, in page order, with the words of each.
    pub links: Vec<(CanonicalUrl, String)>,
    /// What a browser loads to show it, if that is wanted.
    pub requisites: Vec<CanonicalUrl>,
    /// The address that it declares as its own, if that is another one.
    pub canonical: Option<CanonicalUrl>,
    /// Where it sends every reader at once.
    pub moved: Option<CanonicalUrl>,
    /// Feeds that it names.
    pub feeds: Vec<CanonicalUrl>,
    /// Links that the page says have changed: indices into `links`, ascending, and when, in
    /// microseconds of Unix time.
    pub dated: Vec<(usize, i64)>,
    /// The kind of list that says so: `sitemap` or `feed`.
    pub list: &'static str,
    /// Who announces its changes.
    pub announced: Option<Announced>,
    /// Its words, where an index wants them.
    pub extract: Option<Extract>,
    /// Its words for the topic, if the job asked for them.
    pub gist: Option<Gist>,
    /// What it says about forms, where that is wanted.
    pub forms: Option<FormsRead>,
    /// How its text is made, if that is wanted.
    pub shape: Option<Shape>,
}
