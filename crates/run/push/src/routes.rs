//! The routes, which are open to everybody.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde::Deserialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::hints::Sender;
use tokio::sync::Semaphore;

use crate::book::Shut;
use crate::delivery::{is_of_topic, is_signed};
use crate::indexnow::{Many, One, Submission, Unfit, authority};
use crate::keys::Verdict;
use crate::state::{State, count, now};
use crate::subscription::Mode;

/// Most bytes of a body.
const MOST_BODY: usize = 2 << 20;
/// Time limit for a body.
const PATIENCE: Duration = Duration::from_secs(20);
/// `Retry-After` for a sender that comes too often.
const WAIT_S: &str = "60";

pub(crate) fn router(state: Arc<State>, has_websub: bool) -> Router {
    let mut router = Router::new();
    if state.keys.is_some() {
        router = router.route("/indexnow", get(submit_one).post(submit_many));
    }
    if has_websub {
        router = router.route("/websub/{id}", get(verify).post(deliver));
    }
    router.with_state(state)
}

fn say(status: StatusCode, text: &str) -> Response {
    (status, [(header::X_CONTENT_TYPE_OPTIONS, "nosniff")], format!("{text}\n")).into_response()
}

fn busy(state: &State) -> Response {
    count(&state.tally.busy);
    let text = "Too much at once. Try again later.\n";
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, WAIT_S)], text).into_response()
}

async fn submit_one(
    Shared(state): Shared<Arc<State>>,
    query: Result<Query<One>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(one)) => submit(&state, one.check()).await,
        Err(malformed) => say(StatusCode::BAD_REQUEST, &malformed.body_text()),
    }
}

async fn submit_many(Shared(state): Shared<Arc<State>>, body: Body) -> Response {
    let body = match read(&state, &state.bodies, body).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    match serde_json::from_slice::<Many>(&body) {
        Ok(many) => submit(&state, many.check()).await,
        Err(malformed) => {
            say(StatusCode::BAD_REQUEST, &format!("the body is malformed: {malformed}"))
        }
    }
}

/// Reads a body, if one of `places` is free.
async fn read(state: &State, places: &Semaphore, body: Body) -> Result<Bytes, Response> {
    let Ok(_place) = places.try_acquire() else { return Err(busy(state)) };
    match tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, MOST_BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => Err(say(StatusCode::PAYLOAD_TOO_LARGE, "at most 2 MiB")),
        Err(_) => Err(say(StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
    }
}

/// Takes a submission in once its key is proven.
async fn submit(state: &State, submission: Result<Submission, Unfit>) -> Response {
    let submission = match submission {
        Ok(submission) => submission,
        Err(unfit) => {
            count(&state.tally.unfit);
            let status = StatusCode::from_u16(unfit.status()).unwrap_or(StatusCode::BAD_REQUEST);
            return say(status, &unfit.to_string());
        }
    };
    // A submission must not make us fetch from hosts out of scope.
    let mut is_covered = false;
    for url in submission.urls.iter().take(8) {
        match state.hearer.covers(url.clone()).await {
            Some(covers) => is_covered |= covers,
            None => return busy(state),
        }
    }
    if !is_covered {
        count(&state.tally.unfit);
        return say(StatusCode::UNPROCESSABLE_ENTITY, "pages of that host are not taken in here");
    }
    let Some(keys) = &state.keys else { return say(StatusCode::NOT_FOUND, "IndexNow is off") };
    match keys.verdict(&submission).await {
        Verdict::Good => {}
        Verdict::Later => return busy(state),
        Verdict::Bad(why) => {
            count(&state.tally.unproven);
            return say(StatusCode::FORBIDDEN, &why);
        }
    }
    if !state.admits(&submission.publisher, submission.urls.len()) {
        return busy(state);
    }
    let sender = Sender::publisher("indexnow", &submission.publisher);
    match state.hearer.hear(sender, submission.urls).await {
        Some(received) if received.is_all_refused() => busy(state),
        Some(_) => {
            count(&state.tally.submitted);
            say(StatusCode::OK, "Thank you.")
        }
        None => busy(state),
    }
}

/// The query by which a hub verifies that it should begin or end a subscription.
#[derive(Debug, Deserialize)]
struct Verification {
    #[serde(rename = "hub.mode")]
    mode: String,
    #[serde(rename = "hub.topic")]
    topic: String,
    #[serde(rename = "hub.challenge", default)]
    challenge: String,
    #[serde(rename = "hub.lease_seconds")]
    lease: Option<u64>,
}

async fn verify(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    query: Result<Query<Verification>, QueryRejection>,
) -> Response {
    let Ok(Query(asked)) = query else {
        return say(StatusCode::BAD_REQUEST, "hub.mode and hub.topic are needed");
    };
    let now = now();
    let is_right = match Mode::of(&asked.mode) {
        Some(mode) if asked.challenge.is_empty() => {
            return say(StatusCode::BAD_REQUEST, &format!("{} needs hub.challenge", mode.name()));
        }
        Some(mode) => state.book().verify(&id, mode, &asked.topic, asked.lease, now),
        None if asked.mode == "denied" => state.book().deny(&id, &asked.topic, now),
        None => return say(StatusCode::BAD_REQUEST, "hub.mode is unknown"),
    };
    if !is_right {
        return say(StatusCode::NOT_FOUND, "nobody here asked for that");
    }
    if !state.save().await {
        return say(StatusCode::SERVICE_UNAVAILABLE, "that cannot be written down now");
    }
    let kind = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (kind, asked.challenge).into_response()
}

async fn deliver(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let received = state.book().receive(&id, now());
    let (topic, secret) = match received {
        None => return say(StatusCode::NOT_FOUND, "there is no such subscription"),
        Some((_, Err(Shut::Ended))) => return say(StatusCode::GONE, "the subscription has ended"),
        Some((_, Err(Shut::Often))) => return busy(&state),
        Some((topic, Ok(secret))) => (topic, secret),
    };
    let body = match read(&state, &state.deliveries, body).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let mut links = headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
    let is_right = is_signed(&secret, text("x-hub-signature"), &body);
    // Valid and invalid signatures get the same answer, so that nobody can guess one by trying (§7.1).
    let taken = say(StatusCode::ACCEPTED, "Thank you.");
    if !is_right || !is_of_topic(&topic, &mut links) {
        count(&state.tally.forged);
        return taken;
    }
    let news = state.book().news(&id, text("content-type"), &body);
    let Some(news) = news else {
        count(&state.tally.repeated);
        return taken;
    };
    let Ok(topic) = CanonicalUrl::parse(&topic) else { return taken };
    let sender = Sender::publisher("websub", authority(&topic));
    let received = match state.hearer.hear(sender, news.urls.clone()).await {
        Some(received) if !received.is_all_refused() => received,
        _ => return busy(&state),
    };
    // Which URLs were beyond the allowance is not known, so all are news again. Those that were taken cost
    // nothing then.
    if received.refused == 0 {
        state.book().took(&id, &news);
    }
    count(&state.tally.delivered);
    taken
}
