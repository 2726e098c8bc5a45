//! Who takes the hints: a crawl, or an order of fetches for other crawlers.

use std::future::Future;
use std::pin::Pin;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{Received, Sender};

/// An answer that takes a while.
pub type Later<'h, T> = Pin<Box<dyn Future<Output = T> + Send + 'h>>;

/// Takes hints.
pub trait Hearer: Send + Sync + 'static {
    /// Whether a page of this address would be taken in; `None` if nobody has time to say.
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>>;

    /// Takes in what a sender says is new or has changed; `None` if nobody has time.
    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>>;

    /// What pages have said of their hubs since this was last asked.
    fn announced(&self) -> Later<'_, Vec<Announced>>;
}
