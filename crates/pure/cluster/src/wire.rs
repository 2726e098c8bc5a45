//! What do these bytes say?
//!
//! Every message and every value of a key begins with a header, so that a node recognises what is not
//! meant for it before it reads on:
//!
//! ```text
//! offset  bytes
//!      0      4  "TWCL"
//!      4      1  version of the format, now 2
//!      5      1  kind of message
//!      6      8  the crawl, little endian: two clusters on one broker never mix
//!     14      …  the message, by postcard
//! ```
//!
//! Bytes are hostile: whatever they hold, [`decode`] ends in time and memory linear in their length, and
//! returns a message within all limits or a [`Refused`] that says why.

use serde::Serialize;
use serde::de::DeserializeOwned;

use tidewatch_core::url::MAX_URL_BYTES;

use crate::desk::{Ask, Reply};
use crate::lease::Member;
use crate::market::{Demand, Quote};
use crate::node::{Claim, Manifest};
use crate::parcel::Parcel;

const MAGIC: &[u8; 4] = b"TWCL";
/// The version of the format.
pub const VERSION: u8 = 2;
const HEADER: usize = 14;
/// Longest message, in bytes: what a broker takes by default.
pub const MOST_BYTES: usize = 1 << 20;
/// Most links or counts in a parcel.
pub const MOST_LINKS: usize = 10_000;
/// Most partitions of a cluster.
pub const MOST_PARTITIONS: u32 = 1 << 20;
/// Longest name of a checkpoint's files.
const MOST_NAME: usize = 1024;

/// Identifies a crawl, drawn at random when its cluster is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crawl(pub u64);

/// What kind of message some bytes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// [`Member`]
    Member = 1,
    /// [`Claim`]
    Claim = 2,
    /// [`Manifest`]
    Manifest = 3,
    /// [`Parcel`]
    Parcel = 4,
    /// [`Demand`]
    Demand = 5,
    /// [`Quote`]
    Quote = 6,
    /// [`Ask`]
    Ask = 7,
    /// [`Reply`]
    Reply = 8,
}

/// A message of a known kind.
pub trait Message: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: Kind;

    /// Whether its values are within their limits; if not, which are not.
    fn check(&self) -> Result<(), Beyond> {
        Ok(())
    }
}

/// A value beyond its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Beyond {
    /// A partition number.
    #[error("a partition number above {MOST_PARTITIONS}")]
    Partition,
    /// A rate, share, price or curve.
    #[error("a figure that is negative or not finite")]
    Figure,
    /// The number of links or counts.
    #[error("more than {MOST_LINKS} links")]
    Links,
    /// The length of a URL.
    #[error("a URL of more than {MAX_URL_BYTES} bytes")]
    Url,
    /// The length of a name.
    #[error("a name of more than {MOST_NAME} bytes")]
    Name,
}

/// Why bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too long.
    #[error("the message has {0} bytes, and at most {MOST_BYTES} are read")]
    TooLong(usize),
    /// Not one of ours.
    #[error("the message is not from a Tidewatch node")]
    Foreign,
    /// From another version.
    #[error(
        "the message has format {0}, and this node reads format {VERSION}: run the same version of Tidewatch on all nodes"
    )]
    Version(u8),
    /// From another crawl.
    #[error(
        "the message is from another crawl ({0:016x}): give each cluster a broker account of its own"
    )]
    OtherCrawl(u64),
    /// Another kind than expected here.
    #[error("the message is of kind {found}, but kind {wanted} belongs here")]
    Kind {
        /// What the header says.
        found: u8,
        /// What was expected.
        wanted: u8,
    },
    /// Not readable.
    #[error("the message is damaged")]
    Damaged,
    /// A value beyond its limits.
    #[error("the message holds {0}")]
    Beyond(#[from] Beyond),
}

/// The bytes of a message.
pub fn encode<M: Message>(crawl: Crawl, message: &M) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(MAGIC);
    bytes.push(VERSION);
    bytes.push(M::KIND as u8);
    bytes.extend_from_slice(&crawl.0.to_le_bytes());
    // Writing to memory fails for no type of this crate.
    postcard::to_extend(message, bytes).unwrap_or_default()
}

/// The message that some bytes hold.
pub fn decode<M: Message>(crawl: Crawl, bytes: &[u8]) -> Result<M, Refused> {
    if bytes.len() > MOST_BYTES {
        return Err(Refused::TooLong(bytes.len()));
    }
    let (header, body) = bytes.split_at_checked(HEADER).ok_or(Refused::Foreign)?;
    if &header[..4] != MAGIC {
        return Err(Refused::Foreign);
    }
    if header[4] != VERSION {
        return Err(Refused::Version(header[4]));
    }
    let found = header[6..].try_into().map(u64::from_le_bytes).map_err(|_| Refused::Foreign)?;
    if found != crawl.0 {
        return Err(Refused::OtherCrawl(found));
    }
    if header[5] != M::KIND as u8 {
        return Err(Refused::Kind { found: header[5], wanted: M::KIND as u8 });
    }
    let (message, rest) = postcard::take_from_bytes::<M>(body).map_err(|_| Refused::Damaged)?;
    if !rest.is_empty() {
        return Err(Refused::Damaged);
    }
    message.check()?;
    Ok(message)
}

fn require(is_within: bool, beyond: Beyond) -> Result<(), Beyond> {
    if is_within { Ok(()) } else { Err(beyond) }
}

fn figure(value: f64) -> Result<(), Beyond> {
    require(value.is_finite() && value >= 0.0, Beyond::Figure)
}

impl Message for Member {
    const KIND: Kind = Kind::Member;

    fn check(&self) -> Result<(), Beyond> {
        let Member::Alive(renewal) = self else { return Ok(()) };
        renewal.loads.iter().try_for_each(|(partition, load)| {
            require(*partition < MOST_PARTITIONS, Beyond::Partition)?;
            figure(f64::from(*load))
        })
    }
}

impl Message for Claim {
    const KIND: Kind = Kind::Claim;
}

impl Message for Manifest {
    const KIND: Kind = Kind::Manifest;

    fn check(&self) -> Result<(), Beyond> {
        let name = self.object.as_ref().map_or(0, String::len);
        require(name <= MOST_NAME, Beyond::Name)
    }
}

impl Message for Parcel {
    const KIND: Kind = Kind::Parcel;

    fn check(&self) -> Result<(), Beyond> {
        require(self.id.from < MOST_PARTITIONS, Beyond::Partition)?;
        require(self.links.len().max(self.counts.len()) <= MOST_LINKS, Beyond::Links)?;
        let urls = self.links.iter().flat_map(|link| [Some(&link.url), link.via.as_ref()]);
        let is_short = |url: &String| url.len() <= MAX_URL_BYTES;
        require(urls.flatten().all(is_short), Beyond::Url)
    }
}

impl Message for Demand {
    const KIND: Kind = Kind::Demand;

    fn check(&self) -> Result<(), Beyond> {
        figure(f64::from(self.waiting))?;
        figure(f64::from(self.slack))?;
        let is_sound = self.curve.as_ref().is_none_or(tidewatch_policy::DemandCurve::is_sound);
        require(is_sound, Beyond::Figure)
    }
}

impl Message for Quote {
    const KIND: Kind = Kind::Quote;

    fn check(&self) -> Result<(), Beyond> {
        figure(self.price)?;
        figure(self.budget)?;
        require(self.log_factor.is_finite(), Beyond::Figure)?;
        let figures = self.grants.iter().flat_map(|grant| [grant.rate, grant.ceiling]);
        figures.into_iter().try_for_each(figure)
    }
}

impl Message for Ask {
    const KIND: Kind = Kind::Ask;

    fn check(&self) -> Result<(), Beyond> {
        require(self.from.partition < MOST_PARTITIONS, Beyond::Partition)
    }
}

impl Message for Reply {
    const KIND: Kind = Kind::Reply;
}

#[cfg(test)]
mod tests;
