//! Extracts text, links, feed entries, sitemap entries, forms and fragments from bytes.
//!
//! [`document::parse`] chooses the parser by content type and returns everything that the document
//! holds. Below it, [`charset`] decodes bytes into text and [`html::scan`] scans that text once,
//! calling every [`html::Visitor`]; [`links`], [`reading`] and [`fragments`] are visitors. [`feed`]
//! and [`sitemap`] read a site's own lists of its pages.
//!
//! Pure: no clock, no file, no socket. All input is hostile: whatever the bytes, the work is linear
//! in their number and the memory beyond them is bounded.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod charset;
pub mod date;
pub mod diff;
pub mod document;
pub mod extract;
pub mod feed;
pub mod forms;
pub mod fragments;
pub mod html;
pub mod links;
mod noise;
pub mod plain_text;
pub mod reading;
mod refused;
pub mod requisites;
mod script;
pub mod sitemap;
pub mod wall;
mod xml;

pub use refused::Refused;
