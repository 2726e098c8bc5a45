//! Why an allocation was refused.

/// A problem that has no allocation, or input that is not a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// Two columns differ in length.
    #[error("the column {column} has {found} entries, but there are {expected} pages")]
    Length {
        /// Name of the column.
        column: &'static str,
        /// Its length.
        found: usize,
        /// The number of pages.
        expected: usize,
    },
    /// A number that cannot be what its column says.
    #[error("page {page} has {column} {value}, but it must be {expected}")]
    Value {
        /// Row of the page, from zero.
        page: usize,
        /// Name of the column.
        column: &'static str,
        /// The number found.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// A lower bound above the upper bound.
    #[error("page {page} must get at least {min} and at most {max}; raise its maximum")]
    Bounds {
        /// Row of the page, from zero.
        page: usize,
        /// Its minimum.
        min: f64,
        /// Its maximum.
        max: f64,
    },
    /// The budget itself makes no sense.
    #[error("the budget is {budget}, but it must be a finite number of fetches, zero or more")]
    Budget {
        /// The budget given.
        budget: f64,
    },
    /// The minima alone exceed the budget.
    #[error(
        "the minima of all pages sum to {minimum}, above the budget of {budget}; \
         lower the minima or raise the budget"
    )]
    BelowMinimum {
        /// Σ of the minima.
        minimum: f64,
        /// The budget given.
        budget: f64,
    },
    /// The minima of one host's pages exceed what the host allows.
    #[error(
        "the minima of the pages of host {host} sum to {minimum}, above its cap of {cap}; \
         lower the minima or raise the cap"
    )]
    HostBelowMinimum {
        /// The host's row.
        host: u32,
        /// Σ of its pages' minima.
        minimum: f64,
        /// Its cap.
        cap: f64,
    },
    /// A host cap that is not a rate, or a page of a host without a row among the caps.
    #[error("{what} of host {host} is {value}, but it must be {expected}")]
    Host {
        /// What was looked at.
        what: &'static str,
        /// The host's row.
        host: u32,
        /// The number found.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// More crawls asked for than the maxima allow: Σ x = R has no solution.
    #[error(
        "{total} crawls are asked for, but the pages' maxima sum to {maximum}; \
         raise the maxima or ask for fewer"
    )]
    AboveMaximum {
        /// Crawls to hand out.
        total: u64,
        /// Σ of the maxima.
        maximum: u64,
    },
    /// A gain that is not a finite number.
    #[error("crawl {crawl} of page {page} is worth {gain}; gains must be finite numbers")]
    Gain {
        /// Row of the page, from zero.
        page: usize,
        /// Crawls before this one.
        crawl: u32,
        /// The gain found.
        gain: f64,
    },
    /// The dynamic program would need more memory than it may take.
    #[error(
        "the dynamic program needs a table of {cells} cells, more than the {limit} allowed; \
         use the solver relax or fox"
    )]
    TooLarge {
        /// Cells of the table.
        cells: u128,
        /// The limit.
        limit: u128,
    },
}
