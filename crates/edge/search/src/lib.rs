//! What the copies say, found by words; what searchers look at and click, counted fairly.
//!
//! # The life of a page here
//!
//! When a page's copy is stored, its number goes to the [`Feeder`], which never waits. The
//! [`Indexer`], a thread of its own, reads the copy back from the archive, takes its words
//! ([`extract`]) and puts them into the [`Index`]; twice in five seconds at least, what it has put
//! is committed and can be found. A page that changes is put again, one that is gone is removed.
//! The index is made from store and archive alone, so that one which is lost or damaged is made
//! again the same way.
//!
//! # The life of a query
//!
//! [`Query::read`] takes any text for a query and says what it left out. [`Searcher::search`] finds
//! pages with all its words, or failing that with some; words decide first, then how new the page
//! is, how many pages link to it and how often it was clicked, which are joined when results are
//! collected: clicks are never in the index. Results that say nearly the same are shown once.
//!
//! # The life of a click
//!
//! Results carry signed links ([`clicks`]). A click is counted once per result shown, until its link
//! expires; who clicked is a hash that means nothing the day after. What the log says is handed to
//! the crawl as [`tidewatch_core::Interest`], no client having more than its share.

mod best;
mod bits;
pub mod clicks;
mod date;
mod document;
mod error;
pub mod extract;
mod feeder;
mod gains;
mod index;
mod indexer;
mod phrase;
mod query;
mod rank;
mod schema;
mod searcher;
mod snippet;
mod words;

pub use self::document::Document;
pub use self::error::SearchError;
pub use self::feeder::{Feeder, Put, Task, Unix};
pub use self::index::{Index, Writer};
pub use self::indexer::{Health, Indexer};
pub use self::query::{MOST_QUERY_BYTES, Query};
pub use self::rank::{Popularity, Ranking};
pub use self::searcher::{Found, Hit, MOST_RESULTS, Page, Searcher};
pub use self::snippet::{Piece, Snippet};
