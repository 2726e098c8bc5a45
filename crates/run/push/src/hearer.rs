//! The receiver of hints: a crawl, or a frontier for other crawlers.

use std::future::Future;
use std::pin::Pin;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{Received, Sender};

/// An answer that takes a while.
pub type Later<'h, T> = Pin<Box<dyn Future<Output = T> + Send + 'h>>;

/// Takes hints.
pub trait Hearer: Send + Sync + 'static {
    /// Whether a page with this URL is in scope; `None` if the hearer is too busy to answer.
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>>;

    /// Takes URLs that a sender says are new or have changed; `None` if the hearer is too busy.
    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>>;

    /// The hubs that pages have named since the last call.
    fn announced(&self) -> Later<'_, Vec<Announced>>;
}
