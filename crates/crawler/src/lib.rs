//! A crawl from its seeds to its archive: the loop that joins frontier, network and store.

pub mod config;
mod crawl;
mod reason;
mod settle;
mod tally;
pub mod work;

pub use config::{BadConfig, Config};
pub use crawl::{Crawl, CrawlError};
pub use tally::Tally;
