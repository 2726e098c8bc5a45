//! Limits on size and time.

use std::time::Duration;

/// The limits of one fetch. They bound what a hostile server can cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time to connect, TLS included.
    pub connect: Duration,
    /// Time to wait for the next byte.
    pub idle: Duration,
    /// Time of the whole fetch, redirects included.
    pub total: Duration,
    /// Minimum transfer rate.
    pub min_bytes_per_s: u64,
    /// How long the rate may stay below the minimum.
    pub slow_window: Duration,
    /// Header fields of a response.
    pub headers: usize,
    /// Bytes of a response's head.
    pub head_bytes: usize,
    /// Decoded bytes of an HTML page; more is cut off.
    pub html_bytes: usize,
    /// Decoded bytes of anything else; more is cut off.
    pub other_bytes: usize,
    /// Bytes of a robots.txt; more is cut off.
    pub robots_bytes: usize,
    /// Decoded bytes of a sitemap; more is cut off.
    pub sitemap_bytes: usize,
    /// Nested content encodings.
    pub encodings: usize,
    /// Redirects followed for a page.
    pub redirects: usize,
    /// Redirects followed for a robots.txt (RFC 9309 §2.3.1.2 asks for five).
    pub robots_redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
            total: Duration::from_mins(2),
            min_bytes_per_s: 1024,
            slow_window: Duration::from_secs(30),
            headers: 100,
            head_bytes: 64 * 1024,
            html_bytes: 2_000_000,
            other_bytes: 15_000_000,
            robots_bytes: 500 * 1024,
            sitemap_bytes: 50 * 1024 * 1024,
            encodings: 2,
            redirects: 10,
            robots_redirects: 5,
        }
    }
}
