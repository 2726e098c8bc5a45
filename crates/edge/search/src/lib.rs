//! Full-text search over stored copies, and the log of views and clicks.
//!
//! # The life of a page here
//!
//! The crawl parses a page and hands its words ([`tidewatch_parse::extract`]) to the [`Feeder`] of its
//! partition, which never blocks: words beyond a limit of memory wait in a file. When the page's copy
//! is stored, they go to the [`Indexer`], a thread of its own, which puts them into the [`Index`]; new
//! pages are committed and searchable within about two seconds. A page whose words were lost is read
//! back from the archive and parsed again. A changed page is replaced, a gone one removed. The
//! index is derived from store and archive alone; a lost or damaged one is rebuilt from them.
//!
//! All partitions of a process feed one index. So document frequencies, the best results and
//! near-duplicates are those of the whole crawl, and anchor texts reach pages of other partitions. In a
//! crawl on several machines every partition has an index of its own, which moves with it, and a query
//! goes to all of them ([`shards`]).
//!
//! # The life of a query
//!
//! [`Query::read`] accepts any text and reports what it ignored. [`Searcher::search`] finds pages
//! with all words, or else with some. The score combines the words with the page's age, links and
//! clicks; clicks are joined at query time and never indexed. Only one of several near-duplicates
//! is shown.
//!
//! # The life of a click
//!
//! Results carry signed links ([`clicks`]). A click counts once per result shown, until its link
//! expires; the client is a hash with a daily salt. The crawl receives the log as
//! [`tidewatch_core::Interest`], with a cap on each client's share.

mod best;
mod bits;
pub mod clicks;
mod date;
mod document;
mod error;
mod feeder;
mod gains;
mod handed;
mod index;
mod indexer;
mod page_ref;
mod phrase;
mod query;
mod rank;
mod schema;
mod searcher;
pub mod shards;
mod snippet;
mod words;

pub use self::document::{IndexDocument, MOST_TEXT};
pub use self::error::SearchError;
pub use self::feeder::{Feeder, Unix};
pub use self::index::{Index, Writer, check_index};
pub use self::indexer::{IndexHealth, Indexer};
pub use self::page_ref::PageRef;
pub use self::query::{MOST_QUERY_BYTES, Query};
pub use self::rank::Popularity;
pub use self::searcher::{Hit, IndexedPage, SearchResults, Searcher};
pub use self::snippet::{Piece, Snippet};
