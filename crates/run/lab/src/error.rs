//! Errors of the lab.

use tidewatch_core::{PageId, Span, Time};

/// Errors of simulations, generators, imports and experiments.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Two pages of a trace have the same URL.
    #[error(
        "pages {} and {} of the trace have the same URL {url}; URLs must be unique",
        ids[0], ids[1]
    )]
    SameUrl {
        /// The URL.
        url: String,
        /// The pages' ids in the file.
        ids: [u64; 2],
    },
    /// An invalid budget.
    #[error("invalid budget of {budget} fetches per second: {why}")]
    Budget {
        /// The budget.
        budget: f64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The measured window is empty or longer than the trace.
    #[error(
        "cannot measure the last {last} of a trace that lasts {duration}; \
         choose a span above zero and at most as long as the trace"
    )]
    Window {
        /// The window.
        last: Span,
        /// Length of the trace.
        duration: Span,
    },
    /// The log push period is zero.
    #[error("the log push period must be above zero")]
    LogPush,
    /// An invalid setting of a generator.
    #[error(transparent)]
    Generator(#[from] crate::generate::shared::BadSetting),
    /// Data could not be imported.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] tidewatch_trace::TraceError),
    /// An allocation problem without solution.
    #[error(transparent)]
    Allocate(#[from] tidewatch_science::allocate::AllocateError),
    /// An invalid law of change.
    #[error(transparent)]
    Law(#[from] tidewatch_science::law::LawError),
    /// A formula outside its domain.
    #[error(transparent)]
    Math(#[from] tidewatch_math::MathError),
    /// A damaged graph or invalid parameters of a walk.
    #[error(transparent)]
    Graph(#[from] tidewatch_graph::GraphError),
    /// An experiment on real data was run without `--data`.
    #[error("the experiment {experiment} needs real data; pass --data with the folder {folder}")]
    NeedsData {
        /// Its name.
        experiment: &'static str,
        /// Name or contents of the folder.
        folder: &'static str,
    },
    /// No policy has this name.
    #[error("there is no policy '{name}'; the policies are {known}")]
    UnknownPolicy {
        /// The unknown name.
        name: String,
        /// All names.
        known: String,
    },
    /// A policy ignored the gate.
    #[error(
        "bug in the policy: it chose page {} at {at}, but politeness closes the host until {opens}",
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
    /// A policy chose a page that rests.
    #[error("bug in the policy: it chose page {} at {at}, which rests until {opens}", page.0)]
    RestingPage {
        /// The page chosen.
        page: PageId,
        /// When.
        at: Time,
        /// When its rest is over.
        opens: Time,
    },
    /// A policy chose a page that it does not know.
    #[error(
        "bug in the policy: it chose page {}, which it was never told of",
        page.0
    )]
    UnknownPage {
        /// The page chosen.
        page: PageId,
    },
}
