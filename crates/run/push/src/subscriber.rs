//! Sends requests to hubs: to subscribe, to renew and to unsubscribe.

use std::sync::Arc;
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{End, Fetcher};
use url::form_urlencoded::Serializer;

use crate::book::Question;
use crate::state::{State, now};
use crate::subscription::{Mode, WANTED_LEASE_S};

/// How often new hubs are taken from the hearer, and leases are checked.
const EVERY: Duration = Duration::from_secs(2);
/// Most redirects of a hub that are followed.
const MOST_REDIRECTS: usize = 3;

/// Sends requests to hubs until dropped.
pub(crate) async fn run(state: Arc<State>, fetcher: Arc<Fetcher>, callback: String) {
    loop {
        let mut announced = state.hearer.announced().await;
        for said in &mut announced {
            said.hubs.retain(|hub| !fetcher.has_private_headers(hub));
        }
        let questions = {
            let mut book = state.book();
            announced.iter().for_each(|said| book.note(said));
            book.questions(now())
        };
        state.save();
        for question in questions {
            // A hub may verify before it answers. The answer itself is ignored: a request that the hub does
            // not verify is sent again.
            ask(&fetcher, &question, &callback).await;
        }
        state.save();
        tokio::time::sleep(EVERY).await;
    }
}

async fn ask(fetcher: &Fetcher, question: &Question, callback: &str) {
    let Ok(mut hub) = CanonicalUrl::parse(&question.hub) else { return };
    let form = form(question, callback);
    for _ in 0..=MOST_REDIRECTS {
        // The operator has let the crawl in there, not those whose feeds name hubs.
        if fetcher.has_private_headers(&hub) {
            return;
        }
        let fetched = fetcher.post(&hub, form.clone()).await;
        let keeps_method =
            fetched.response().is_some_and(|answer| matches!(answer.status, 307 | 308));
        match fetched.end {
            End::Redirect(to) if keeps_method => hub = to,
            _ => return,
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
