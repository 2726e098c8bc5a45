//! Dates as HTTP, feeds and sitemaps write them, in whole seconds.

use tidewatch_core::calendar;

/// An instant in whole seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date(pub(crate) i64);

impl Date {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, as HTTP writes it.
    pub(crate) fn http(self) -> String {
        calendar::http_date(self.0)
    }

    /// `1994-11-06T08:49:37Z`, as feeds and sitemaps write it.
    pub(crate) fn rfc3339(self) -> String {
        calendar::rfc3339(self.0.saturating_mul(1_000_000))
    }

    /// Reads HTTP's form; the two obsolete forms are not understood, and a condition that is not
    /// understood does not hold.
    pub(crate) fn from_http(text: &str) -> Option<Self> {
        calendar::from_http_date(text).map(Date)
    }

    /// Reads an RFC 3339 date; a fraction is cut off.
    pub(crate) fn from_rfc3339(text: &str) -> Option<Self> {
        calendar::from_rfc3339(text).map(|micros| Date(micros.div_euclid(1_000_000)))
    }
}
