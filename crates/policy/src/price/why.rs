//! Why this page now, or why not?

use tidewatch_core::{FetchKind, PageId, Time};

use super::value::Value;

/// All that decided about a page at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Why {
    /// The page.
    pub page: PageId,
    /// What a fetch of it would be for.
    pub kind: FetchKind,
    /// What fetches of it are worth.
    pub value: Value,
    /// Last good fetch; birth where there was none.
    pub since: Time,
    /// Clicks that a fetch would bring now.
    pub worth: f64,
    /// The price of a fetch, and that on its host.
    pub price: f64,
    /// The price on its host, which is higher where politeness allows less than would be worth it.
    pub host_price: f64,
    /// When its worth reaches the price; [`Time::NEVER`] if it does not.
    pub due: Time,
    /// Changes seen, and visits that could have seen one.
    pub history: (u32, u32),
    /// Pages that show a link to it, where it waits to be fetched for the first time.
    pub shown: Option<u16>,
    /// Whether it is known to be gone.
    pub is_gone: bool,
}

/// What another budget would bring, for the same beliefs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhatIf {
    /// Fetches a second.
    pub budget: f64,
    /// The price.
    pub price: f64,
    /// Fetches a second that would be worth it, by kind: refresh, source, new.
    pub fetches: [f64; 3],
    /// Share of the copies that would be fresh, each weighted by its clicks.
    pub freshness: Option<f64>,
    /// Clicks a second that new pages would bring.
    pub profit: f64,
}

/// How a crawl stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// ω: clicks that the marginal fetch brings.
    pub price: f64,
    /// Share of the copies that are fresh, from probes at random, with the half-width of its 95%
    /// interval; `None` before the first probe.
    pub freshness: Option<(f64, f64)>,
}
