//! What can go wrong in the lab, in sentences for the person who ran it.

use tidewatch_core::{PageId, Span, Time};

/// Why the lab could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Pages are told apart by URL.
    #[error(
        "pages {} and {} of the trace have the same URL {url}; give each page its own",
        ids[0], ids[1]
    )]
    SameUrl {
        /// The URL.
        url: String,
        /// The pages' ids in the file.
        ids: [u64; 2],
    },
    /// No simulation can spend this.
    #[error("a budget of {budget} fetches per second is impossible: {why}")]
    Budget {
        /// What was asked for.
        budget: f64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing to measure.
    #[error(
        "cannot measure the last {last} of a trace that lasts {duration}; \
         choose a span above zero and at most as long as the trace"
    )]
    Window {
        /// What was asked for.
        last: Span,
        /// What there is.
        duration: Span,
    },
    /// Logs have to be read now and then.
    #[error("the log push period must be above zero")]
    LogPush,
    /// A generator cannot make what was asked for.
    #[error(transparent)]
    Generator(#[from] crate::generate::shared::BadConfig),
    /// Data could not be imported.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] tidewatch_trace::TraceError),
    /// An experiment needs data that were not given.
    #[error("the experiment {experiment} needs {needs}")]
    NoData {
        /// Its name.
        experiment: &'static str,
        /// What to give, and how.
        needs: &'static str,
    },
    /// An allocation has no answer.
    #[error(transparent)]
    Allocate(#[from] tidewatch_science::allocate::AllocateError),
    /// A law of change makes no sense.
    #[error(transparent)]
    Law(#[from] tidewatch_science::law::LawError),
    /// A formula was asked for where it does not hold.
    #[error(transparent)]
    Math(#[from] tidewatch_math::MathError),
    /// A graph is damaged, or a walk was asked for what makes no sense.
    #[error(transparent)]
    Graph(#[from] tidewatch_graph::GraphError),
    /// An experiment on real data was run without any.
    #[error("the experiment {experiment} needs real data; give --data with the folder {folder}")]
    NeedsData {
        /// Which.
        experiment: &'static str,
        /// What the folder holds.
        folder: &'static str,
    },
    /// No policy has this name.
    #[error("there is no policy '{name}'; the policies are {known}")]
    UnknownPolicy {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A bug in a policy: it ignored the gate.
    #[error(
        "the policy chose page {} at {at} although its host is closed until {opens}; \
         this is a defect of the policy",
        page.0
    )]
    ClosedHost {
        /// The page chosen.
        page: PageId,
        /// When.
        at: Time,
        /// When the host opens.
        opens: Time,
    },
    /// A bug in a policy: it made up a page.
    #[error(
        "the policy chose page {}, which it was never told of; this is a defect of the policy",
        page.0
    )]
    UnknownPage {
        /// The page chosen.
        page: PageId,
    },
}
