//! One owner's part of a crawl, from its seeds to its archive: the loop that joins frontier, network
//! and store, and what several partitions of one process share.

pub mod announced;
mod bell;
pub mod config;
mod exchange;
pub mod explain;
pub mod forms;
mod freshness;
mod gate;
pub mod hints;
mod history;
mod kept;
mod ledger;
mod net;
mod outlook;
mod outside;
mod pages;
mod partition;
mod partitions;
mod quiet;
mod read;
mod report;
mod robots;
pub mod rules;
mod run;
pub mod scope;
mod shelf;
mod snapshot;
mod spending;
mod tally;
mod taped;
mod timeline;
pub mod topic;
pub mod work;

pub use bell::{Doorkeeper, Question, ask_running};
pub use config::{BadConfig, Config};
pub use exchange::{Delivery, Exchange, InProcess, Receipt};
pub use freshness::{Freshness, FreshnessMeasure};
pub use gate::{AddressGate, Slot, Slots};
pub use history::{History, Sample};
pub use ledger::{Account, Ledger};
pub use net::{Net, NoNetwork};
pub use outlook::{OtherBudget, Outlook};
pub use outside::{Outside, Pass};
pub use partition::{
    CrawlError, Heard, HostView, Next, Partition, Portrait, Rebuilt, Seat, Settled, SourceView,
    Status, Suits, SuitsBy, Suspicion, check_budget,
};
pub use partitions::Partitions;
pub use quiet::Quiet;
pub use report::Reporter;
pub use run::{Clock, Ended, Stop, Watch, run, run_in};
pub use scope::{Reach, Scope, ScopeRules};
pub use shelf::check_archive;
pub use snapshot::check_snapshot;
pub use spending::Unspent;
pub use tally::Tally;
pub use taped::{Replayed, panic_message};
pub use tidewatch_cluster::place::owner;
pub use tidewatch_frontier::{Revisit, network_of};
