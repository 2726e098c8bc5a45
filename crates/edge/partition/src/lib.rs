//! A crawl from its seeds to its archive: the loop that joins frontier, network and store.

pub mod config;
mod crawl;
pub mod explain;
mod hygiene;
mod look;
mod net;
mod open;
mod operate;
mod read;
mod run;
mod settle;
mod snapshot;
mod status;
mod tally;
pub mod work;

pub use config::{BadConfig, Config};
pub use crawl::{Crawl, CrawlError};
pub use net::{Net, NoNetwork};
pub use open::Replayed;
pub use operate::{Heard, HostView, Portrait, SourceView};
pub use run::{Clock, Ended, Stop, Watch, run};
pub use settle::Settled;
pub use status::Status;
pub use tally::Tally;
