//! Writes and reads WARC/1.1 files with CDXJ indexes, and keeps what is good when a file is damaged.
//!
//! # The life of a response
//!
//! Whoever fetched it packs it ([`Packed`]): records in WARC/1.1, each a gzip
//! member of its own, so that any of them can be read from its offset alone.
//! Packing is the costly part and needs no file, so it is done where the fetch
//! was. [`Archive::append`] gives the bytes their place in the current file,
//! [`Archive::flush`] writes them; a file that has grown past its size is closed
//! and the next begun.
//! Every response and revisit gets a line in the CDXJ index beside its file.
//!
//! A body that a page had before, or that the server says has not changed, is
//! not written twice: a revisit record names the earlier one. Replay shows that one's body with the
//! revisit's head, so the head keeps the body's length; that of a 304 goes into a metadata record,
//! as replay would show an empty page for it.
//!
//! An HTTP/2 message is written as its HTTP/1.1 equivalent, with `WARC-Protocol: h2`.
//!
//! Bodies are kept as the page's readers would see them, without the transfer
//! and content encodings that the server chose; the headers that spoke of these
//! are kept under an `X-Archive-` name, and the true length stands in the rest.
//!
//! # After a crash, and after worse
//!
//! The last file may end in half a record, which [`Archive::open`] cuts off; nothing before the
//! last synced position is ever cut. Whatever else is wrong stays as it is and is reported:
//! [`Findings`] names missing files, files that became shorter, and damaged ranges, and
//! [`Findings::is_lost`] says which pages to fetch again. [`verify`] checks one record,
//! [`check_archive`] all of them. Indexes are rebuilt from their WARC files.

mod archive;
mod base32;
mod check;
mod error;
mod files;
mod findings;
mod grow;
mod gzip;
mod index;
mod key;
mod open;
mod pack;
mod read;
mod walk;

pub use self::archive::{Archive, Location};
pub use self::base32::base32;
pub use self::check::{Verdict, check, check_archive, is_readable, verify};
pub use self::error::ArchiveError;
pub use self::files::{path_of, warc_numbers};
pub use self::findings::{Damage, Findings};
pub use self::pack::{Digest, Exchange, Packed, Revisit, digest};
pub use self::read::{Record, Records, read_at};
pub use self::walk::{Piece, Walk};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
