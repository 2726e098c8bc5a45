//! Sends requests to hubs: to subscribe, to renew and to unsubscribe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{End, Fetcher};
use tokio::task::JoinSet;
use url::form_urlencoded::Serializer;

use crate::book::Question;
use crate::pace::Pace;
use crate::state::{State, now};
use crate::subscription::{Mode, WANTED_LEASE_S};

/// How often new hubs are taken from the hearer, and leases are checked.
const EVERY: Duration = Duration::from_secs(2);
/// Requests under way. A slow hub holds one of these places, for at most [`PATIENCE`].
const MOST_AT_ONCE: usize = 8;
/// Longest wait for a hub's answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most redirects of a hub that are followed.
const MOST_REDIRECTS: usize = 3;

/// Asks hubs.
pub(crate) struct Subscriber {
    pub(crate) state: Arc<State>,
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) pace: Arc<Pace>,
    /// The origin at which hubs reach us.
    pub(crate) callback: String,
}

impl Subscriber {
    /// Sends requests to hubs until dropped.
    pub(crate) async fn run(self) {
        let (subscriber, mut asking) = (Arc::new(self), JoinSet::new());
        loop {
            while asking.try_join_next().is_some() {}
            let questions = subscriber.questions(MOST_AT_ONCE - asking.len()).await;
            // A subscription that is not on disk could not be ended after a crash.
            if subscriber.state.save().await {
                for question in questions {
                    let subscriber = Arc::clone(&subscriber);
                    asking.spawn(async move { subscriber.ask(&question).await });
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Takes the hubs that were named since the last call; returns at most `most` requests to send now.
    async fn questions(&self, most: usize) -> Vec<Question> {
        let mut announced = self.state.hearer.announced().await;
        let (mut book, now) = (self.state.book(), now());
        for said in &mut announced {
            said.hubs.retain(|hub| !self.fetcher.has_private_headers(hub));
            book.note(said, now);
        }
        book.questions(now, most, |hub| self.pace.may_ask(hub, Instant::now()))
    }

    /// Sends a request. A hub may verify it before it answers. The answer itself is ignored: a request that
    /// the hub does not verify is sent again.
    async fn ask(&self, question: &Question) {
        let mut hub = question.hub.clone();
        for _ in 0..=MOST_REDIRECTS {
            match self.post(&hub, question).await {
                Some(to) if self.pace.may_follow(&to).await => hub = to,
                _ => return,
            }
        }
    }

    /// Posts a request to a hub; returns where the hub sends it on to.
    async fn post(&self, hub: &CanonicalUrl, question: &Question) -> Option<CanonicalUrl> {
        // The operator has let the crawl in there, not those whose feeds name hubs.
        if self.fetcher.has_private_headers(hub) {
            return None;
        }
        let posting = self.fetcher.post(hub, form(question, &self.callback));
        let fetched = tokio::time::timeout(PATIENCE, posting).await.ok()?;
        let keeps_method =
            fetched.response().is_some_and(|answer| matches!(answer.status, 307 | 308));
        match fetched.end {
            End::Redirect(to) if keeps_method => Some(to),
            _ => None,
        }
    }
}

fn form(question: &Question, callback: &str) -> String {
    let Question { mode, topic, id, secret, .. } = question;
    let mut form = Serializer::new(String::new());
    form.append_pair("hub.mode", mode.name())
        .append_pair("hub.topic", topic)
        .append_pair("hub.callback", &format!("{callback}/websub/{id}"));
    if *mode == Mode::Subscribe {
        form.append_pair("hub.secret", secret)
            .append_pair("hub.lease_seconds", &WANTED_LEASE_S.to_string());
    }
    form.finish()
}
