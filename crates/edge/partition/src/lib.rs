//! One owner's part of a crawl, from its seeds to its archive: the loop that joins frontier, network
//! and store, and what several partitions of one process share.

mod bell;
pub mod config;
mod exchange;
pub mod explain;
mod freshness;
mod gate;
mod history;
mod ledger;
mod net;
mod outlook;
mod pages;
mod partition;
mod partitions;
mod quiet;
mod read;
mod robots;
mod run;
pub mod scope;
mod shelf;
mod snapshot;
mod spending;
mod tally;
mod taped;
mod timeline;
pub mod work;

pub use bell::ask_running;
pub use config::{BadConfig, Config};
pub use exchange::{Delivery, Exchange, InProcess, Receipt, owner};
pub use freshness::{Freshness, FreshnessMeasure};
pub use gate::{AddressGate, Slot, Slots};
pub use history::{History, Sample};
pub use ledger::Ledger;
pub use net::{Net, NoNetwork};
pub use outlook::Outlook;
pub use partition::{
    CrawlError, Heard, HostView, Next, Partition, Portrait, Rebuilt, Seat, Settled, SourceView,
    Status, check_budget,
};
pub use partitions::Partitions;
pub use quiet::Quiet;
pub use run::{Clock, Ended, Stop, Watch, run};
pub use scope::{Reach, Scope, ScopeRules};
pub use shelf::check_archive;
pub use snapshot::check_snapshot;
pub use spending::Unspent;
pub use tally::Tally;
pub use taped::Replayed;
pub use tidewatch_frontier::{Revisit, network_of};
