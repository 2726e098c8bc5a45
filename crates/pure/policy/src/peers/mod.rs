//! Rules of other crawlers and newer policies of the literature, as rivals of `price`.
//!
//! Facts about crawlers come from their sources: Common Crawl's fork of Apache Nutch
//! (`AdaptiveScoringFilter`, `DefaultFetchSchedule`) and Marginalia (`CrawlerRevisitor`). Policies of
//! papers are told nothing that `price` is not told.

mod common_crawl;
mod index;
mod lambda;
mod marginalia;
mod mirror;
mod tiers;

pub use common_crawl::CommonCrawl;
pub use index::Index;
pub use lambda::Lambda;
pub use marginalia::Marginalia;
pub use mirror::MirrorSync;
pub use tiers::Tiers;
