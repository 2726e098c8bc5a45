//! Rows of the tables, and batches of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tidewatch_core::{DropReason, HostId, PageId, Reason, Time};
use tidewatch_frontier::tape::Input;
use tidewatch_robots::Wishes;

/// A page's address and how it was found. Never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRow {
    /// Its host.
    pub host: HostId,
    /// Path and query; the origin is the host's.
    pub path: String,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects from the address that was linked to this one.
    pub hops: Hops,
    /// The page whose link named it first.
    pub via: Option<PageId>,
    /// Whether it is watched for new links.
    pub is_source: bool,
}

/// How an address follows from the one that a page named: by redirects, and as a link or a requisite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hops(u8);

impl Hops {
    /// A link, no redirect.
    pub const NONE: Hops = Hops(0);
    /// Set for a requisite.
    const REQUISITE: u8 = 0x80;

    /// A part of a page, such as a style sheet or an image.
    pub const fn requisite() -> Hops {
        Hops(Hops::REQUISITE)
    }

    /// Whether the page needs it to be shown.
    pub const fn is_requisite(self) -> bool {
        self.0 & Hops::REQUISITE != 0
    }

    /// Redirects followed.
    pub const fn redirects(self) -> u8 {
        self.0 & !Hops::REQUISITE
    }

    /// All of it as one number, and back.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// See [`Hops::bits`].
    pub const fn of_bits(bits: u8) -> Hops {
        Hops(bits)
    }

    /// One more redirect.
    #[must_use]
    pub const fn and_redirect(self) -> Hops {
        if self.redirects() == !Hops::REQUISITE { self } else { Hops(self.0 + 1) }
    }
}

/// Where a response lies in the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file's number.
    pub file: u32,
    /// The record's first byte.
    pub offset: u64,
    /// The record's compressed length.
    pub bytes: u32,
}

/// The newest copy of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyRow {
    /// When it was last fetched or confirmed.
    pub at: Time,
    /// When its content last changed, as far as was seen.
    pub changed_at: Time,
    /// Status of the answer.
    pub status: u16,
    /// ETag, for conditional requests.
    pub etag: Option<String>,
    /// Last-Modified as sent, for conditional requests.
    pub last_modified: Option<String>,
    /// Hash of what a reader sees.
    pub identity: u64,
    /// Digest of the payload, for revisit records.
    pub digest: [u8; 20],
    /// The smallest fragment hashes.
    pub sketch: Vec<u64>,
    /// Links shown, in page order.
    pub links: Vec<PageId>,
    /// Times that it was fetched.
    pub visits: u32,
    /// Times that it was seen to have changed.
    pub changes: u32,
    /// Where the response with this content lies.
    pub place: Place,
    /// That response; `None` in rows of versions that did not keep this. Must stay the last field.
    pub capture: Option<Capture>,
}

/// A response in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// When it was requested, in microseconds of Unix time; the date of its record.
    pub unix_micros: i64,
    /// Its media type in lower case, without parameters.
    pub media_type: String,
    /// Bytes of its decoded body.
    pub body_bytes: u64,
    /// The title of the page or feed; empty without one.
    pub title: String,
    /// What its owner says about its use. Must stay the last field.
    pub wishes: Wishes,
}

/// What a host's robots.txt said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRow {
    /// Status of the answer.
    pub status: u16,
    /// The file, as far as it counts.
    pub body: Vec<u8>,
    /// When it was read.
    pub at: Time,
    /// When it expires.
    pub good_until: Time,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRow {
    /// Scheme, name and port, such as `https://a.example`.
    pub origin: String,
    /// Its robots.txt, once read.
    pub robots: Option<RobotsRow>,
    /// What it answers for a page that cannot exist, once probed.
    pub absent: Option<Absent>,
    /// The same by folder (`/shop/`), where that was probed. Must stay the last field.
    pub folders: Vec<(String, Absent)>,
}

/// What a host answers for a page that cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Absent {
    /// That it does not exist: 404, 410, or a redirect.
    Told,
    /// A page that reads like any other.
    Page {
        /// Hash of what a reader sees.
        identity: u64,
        /// The smallest fragment hashes.
        sketch: Vec<u64>,
    },
}

/// The key under which possible duplicates within a host meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TwinKey {
    /// The host.
    pub host: HostId,
    /// The smallest fragment hash.
    pub hash: u64,
}

/// A link to a host of another partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentLink {
    /// The canonical URL.
    pub url: String,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects from the address that was linked to this one.
    pub hops: Hops,
    /// Whether it is watched for new links.
    pub is_source: bool,
    /// The URL of the page that shows it.
    pub via: Option<String>,
}

/// Links that are sent to another partition together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// The partition that owns their hosts.
    pub to: u32,
    /// The links.
    pub links: Vec<SentLink>,
}

/// Whose newest request brought no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetbackOf {
    /// A host: its name was not resolved, or its robots.txt not read.
    Host(HostId),
    /// A page.
    Page(PageId),
}

/// Why the newest request brought no copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setback {
    /// When.
    pub at: Time,
    /// Why.
    pub cause: SetbackCause,
    /// Status of the answer, if there was one.
    pub status: Option<u16>,
    /// Where a redirect leads.
    pub to: Option<String>,
}

/// Why a request brought no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetbackCause {
    /// It failed.
    Failed(Reason),
    /// The page was not requested, or not kept.
    Dropped(DropReason),
}

/// Rows that are committed together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// New pages, in the order of their numbers.
    pub pages: Vec<(PageId, PageRow)>,
    /// New or changed copies.
    pub copies: BTreeMap<PageId, CopyRow>,
    /// Pages whose copy was removed.
    pub gone: BTreeSet<PageId>,
    /// The first page of a host with a smallest fragment hash.
    pub twins: BTreeMap<TwinKey, PageId>,
    /// New or changed hosts.
    pub hosts: BTreeMap<HostId, HostRow>,
    /// What the frontier was told, in order.
    pub tape: Vec<Input>,
    /// The URL of the page of another partition whose link named a page first.
    pub vias: BTreeMap<PageId, String>,
    /// Requests that brought no copy; `None` once one did.
    pub setbacks: BTreeMap<SetbackOf, Option<Setback>>,
    /// New parcels for other partitions, by number.
    pub outbox: BTreeMap<u64, Parcel>,
    /// Parcels that have arrived.
    pub delivered: Vec<u64>,
    /// Named facts about the crawl as a whole.
    pub meta: BTreeMap<String, Vec<u8>>,
}

impl Batch {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
            && self.copies.is_empty()
            && self.gone.is_empty()
            && self.twins.is_empty()
            && self.hosts.is_empty()
            && self.tape.is_empty()
            && self.vias.is_empty()
            && self.setbacks.is_empty()
            && self.outbox.is_empty()
            && self.delivered.is_empty()
            && self.meta.is_empty()
    }
}
