//! What was fetched, kept for good: WARC files and their index.
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
//! not written twice: a revisit record names the earlier one.
//!
//! Bodies are kept as the page's readers would see them, without the transfer
//! and content encodings that the server chose; the headers that spoke of these
//! are kept under an `X-Archive-` name, and the true length stands in the rest.
//!
//! # After a crash
//!
//! A file may end in half a record. [`Archive::open`] cuts the last file back to
//! its last whole record, and makes its index again. What was reported as
//! stored had been synced before, and is whole.

mod append;
mod base32;
mod check;
mod date;
mod error;
mod grow;
mod gzip;
mod mend;
mod pack;
mod read;

pub use self::append::{Appended, Archive, path_of};
pub use self::base32::base32;
pub use self::check::{Verdict, check};
pub use self::date::warc_date;
pub use self::error::ArchiveError;
pub use self::pack::{Digest, Exchange, Packed, Revisit, digest};
pub use self::read::{Record, Records, read_at};
