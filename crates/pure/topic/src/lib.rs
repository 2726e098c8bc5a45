//! How likely is a page on the wanted topic, fetched or only linked to?
//!
//! An operator names a topic by words, by a few example pages, or both, and perhaps languages. A fetched
//! page is turned into a [`Gist`]: hashed words and pairs of words with their weights, some hundred
//! numbers. [`Topic`] judges it. What it calls a page's *fit* is a probability:
//!
//! - **Examples.** Words that examples have more often than pages of the crawl at random speak for the topic
//!   `[AAY01]`. What the sum over a page means is learnt from the scores: those of pages at random are a
//!   mixture, of which one part looks like the examples.
//! - **Words alone.** The words' share of the information in them that a page has. Pages with most of it
//!   are then the examples, so a page may be on topic without the words.
//! - **Languages** multiply that by 1 or 0.
//!
//! For a page that was only linked to, [`Leads`] predicts the fit from the words of the link and the URL,
//! and from the fits of the linking page, of the other pages it led to, and of the host. It learns from every
//! fetched page.
//!
//! Pure: no clock, no file, no ambient randomness. Memory is bounded but for some bytes a page.
//!
//! Keys of papers are those of `docs/papers.md`.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod examples;
mod gist;
mod leads;
mod model;
mod topic;

pub use gist::{Gist, LinkWords};
pub use leads::{Leads, Link};
pub use topic::{Fit, Topic, Wanted};

/// 1/(1 + e^−x).
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
