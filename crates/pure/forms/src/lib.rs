//! What can be asked of this form, and what did it answer?
//!
//! Some pages have no link to them: a reader gets there by asking a form. The life of a form:
//!
//! 1. [`judge`] decides whether it may be submitted at all. Whatever could log in, buy, write, subscribe,
//!    vote or delete is refused, and every [`Refusal`] has a name. What remains is a [`Question`]: a form
//!    sent by GET to its own host that has something to search by.
//! 2. A [`Question`] makes the URL of a query as a browser does.
//! 3. [`read`] finds the [`Answer`] on a result page: records, the next page, how many there are in all.
//! 4. [`Keywords`] chooses words for a text box, [`Fields`] values for lists and ranges, from the answers so
//!    far. Both say when another page is not worth its fetch.
//! 5. A [`Desk`] does all of that for the forms of one host, keeps to a number of queries a day, and stops
//!    where the host shows that it minds.
//!
//! A query is a URL like any other: whoever fetches it obeys robots.txt, gaps, scope and price.
//!
//! ```
//! use tidewatch_core::url::{Base, CanonicalUrl};
//! use tidewatch_forms::{Refusal, judge};
//! use tidewatch_parse::{html::scan, links::Links};
//!
//! let page = CanonicalUrl::parse("https://books.example/")?;
//! let mut links = Links::new("Tidewatch");
//! scan(
//!     "<form action=/find><input name=q type=search></form>
//!      <form action=/in><input name=user><input name=pass type=password></form>",
//!     &mut links,
//! );
//! let forms = links.finish(&Base::of(&page)?).forms;
//! let question = judge(&forms[0], &page)?;
//! let url = question.ask_words("high tide").unwrap();
//! assert_eq!(url.as_str(), "https://books.example/find?q=high+tide");
//! assert_eq!(judge(&forms[1], &page), Err(Refusal::Password));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Pure: no clock, no file, no socket. Memory is bounded; all input is hostile.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod answer;
mod desk;
mod fields;
mod judge;
mod keywords;
mod lexicon;
mod question;
mod refusal;

pub use answer::{Answer, Place, Record, read, read_at};
pub use desk::{Desk, DeskFigures, DeskLimits, Query, Quota, Stop, Stopped};
pub use fields::{Fields, FieldsAsk};
pub use judge::judge;
pub use keywords::{KeywordLimits, Keywords, KeywordsAsk, Seen};
pub use question::{Input, Question, Role};
pub use refusal::{Purpose, Refusal};
