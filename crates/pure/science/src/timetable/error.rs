//! Why there is no timetable.

/// A fetch that cannot be placed, or input that is not a time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimetableError {
    /// A time that is infinite or not a number.
    #[error("{what} {row} stands at time {at}; times must be finite numbers")]
    NotATime {
        /// `fetch` or `slot`.
        what: &'static str,
        /// Its row, from zero.
        row: usize,
        /// The time found.
        at: f64,
    },
    /// All slots are taken.
    #[error(
        "fetch {fetch} cannot be placed: there are {fetches} fetches and only {slots} slots; \
         add slots or drop fetches"
    )]
    TooFewSlots {
        /// Row of the first fetch, by ideal time, that is left over.
        fetch: usize,
        /// Number of fetches.
        fetches: usize,
        /// Number of slots.
        slots: usize,
    },
    /// A fetch that must not be early finds no free slot late enough.
    #[error(
        "fetch {fetch} cannot be placed: it must not be made before {ideal_at}, and the slots from \
         then on (the last is at {last}) are taken by fetches that cannot be earlier either; \
         add later slots"
    )]
    NoSlotAfter {
        /// Row of the fetch.
        fetch: usize,
        /// Its ideal time.
        ideal_at: f64,
        /// Time of the last slot; −∞ when there is none.
        last: f64,
    },
}
