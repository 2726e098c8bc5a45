//! Figures and control for programs.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Fields, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::explain::what_if_json;
use tidewatch_partition::hints::Sender;
use tidewatch_partition::rules::{RuleName, Ruling};
use tidewatch_partition::{OtherBudget, check_budget};
use tidewatch_search::shards::Coverage;

use crate::ask::{NoAnswer, nobody_knows};
use crate::metrics as prometheus;
use crate::owners::Partial;
use crate::routes::MOST_URLS;
use crate::search_api::refuse;
use crate::shared::Shared;

/// Most bytes of a request body.
const MOST_BODY: usize = 1 << 20;

fn no_figures() -> Response {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "the crawl has published no figures yet")
}

pub(crate) fn no_answer(why: NoAnswer) -> Response {
    let why = match why {
        NoAnswer::Busy => "the crawl is busy; try again in a moment".to_owned(),
        NoAnswer::Ended => "the crawl is not running".to_owned(),
        NoAnswer::Failed(error) => error.to_string(),
        NoAnswer::Refused(why) => why,
    };
    refuse(StatusCode::SERVICE_UNAVAILABLE, &why)
}

/// An answer, with its coverage if some partitions did not answer.
fn answered(mut json: Value, coverage: Coverage) -> Response {
    if !coverage.is_whole() {
        json["partitions"] = json!(coverage);
    }
    Json(json).into_response()
}

pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Response {
    shared
        .board()
        .figures()
        .map_or_else(no_figures, |figures| Json(figures.to_json()).into_response())
}

pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let Some(figures) = shared.board().figures() else { return no_figures() };
    let text = prometheus::text(&figures.status, figures.index.as_ref());
    ([(header::CONTENT_TYPE, prometheus::KIND)], text).into_response()
}

/// The page asked about.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    #[serde(default)]
    pub(crate) url: String,
}

pub(crate) async fn why(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Which>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Fields(which) = match fields {
        Ok(which) => which,
        Err(malformed) => return refuse(StatusCode::BAD_REQUEST, &malformed.body_text()),
    };
    let url = match CanonicalUrl::parse(&which.url) {
        Ok(url) => url,
        Err(refused) => return refuse(StatusCode::BAD_REQUEST, &refused.to_string()),
    };
    let found = match shared.asker().page_view(&url).await {
        Ok(found) => found,
        Err(why) => return no_answer(why),
    };
    match found.known.map(|known| known.why) {
        None => refuse(StatusCode::NOT_FOUND, "this crawl does not know that page"),
        Some(None) => refuse(StatusCode::NOT_FOUND, "this crawl's policy cannot explain itself"),
        Some(Some(why)) => ([(header::CONTENT_TYPE, "application/json")], why.json).into_response(),
    }
}

/// The budget asked about.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Times {
    #[serde(default)]
    pub(crate) times: String,
}

impl Times {
    /// The multiple, if it is one from 0.01 to 100.
    pub(crate) fn read(&self) -> Option<f64> {
        self.times.trim_end_matches(['x', '×']).parse().ok().filter(|t| (0.01..=100.0).contains(t))
    }
}

pub(crate) async fn what_if(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Times>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Fields(times)) = fields else {
        return refuse(StatusCode::BAD_REQUEST, "the query is malformed");
    };
    let Some(times) = times.read() else {
        return refuse(StatusCode::BAD_REQUEST, "times must be a number from 0.01 to 100");
    };
    match shared.asker().what_if(OtherBudget::Times(times)).await {
        Ok(Some(Partial { found, coverage })) => {
            let (now, then) = (what_if_json(&found.now), what_if_json(&found.then));
            answered(json!({ "now": now, "then": then }), coverage)
        }
        Ok(None) => {
            refuse(StatusCode::NOT_FOUND, "this crawl's policy has no price, so it cannot predict")
        }
        Err(why) => no_answer(why),
    }
}

/// Seeds to add.
#[derive(Debug, Deserialize)]
struct Seeds {
    urls: Vec<String>,
}

/// A budget to set.
#[derive(Debug, Deserialize)]
struct Budget {
    budget: String,
}

/// Why a request is refused.
pub(crate) type Refused = (StatusCode, String);

/// Reads a JSON body.
pub(crate) async fn read<T: for<'d> Deserialize<'d>>(body: axum::body::Body) -> Result<T, Refused> {
    let bytes = axum::body::to_bytes(body, MOST_BODY).await;
    let bytes = bytes.map_err(|_| (StatusCode::PAYLOAD_TOO_LARGE, "at most 1 MiB".to_owned()))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| (StatusCode::BAD_REQUEST, format!("invalid body: {error}")))
}

/// The URLs of a list.
fn addresses(list: &[String]) -> Result<Vec<CanonicalUrl>, Refused> {
    if list.len() > MOST_URLS as usize {
        return Err((StatusCode::BAD_REQUEST, format!("at most {MOST_URLS} URLs at once")));
    }
    let read = |url: &String| {
        CanonicalUrl::parse(url).map_err(|why| (StatusCode::BAD_REQUEST, format!("`{url}`: {why}")))
    };
    list.iter().map(read).collect()
}

/// URLs that somebody says are new or have changed.
#[derive(Debug, Deserialize)]
struct Hints {
    urls: Vec<String>,
    #[serde(default)]
    sender: Sender,
}

pub(crate) async fn take_hints(
    State(shared): State<Arc<Shared>>,
    body: axum::body::Body,
) -> Response {
    let Hints { urls, sender } = match read(body).await {
        Ok(hints) => hints,
        Err((status, told)) => return refuse(status, &told),
    };
    let urls = match addresses(&urls) {
        Ok(urls) => urls,
        Err((status, told)) => return refuse(status, &told),
    };
    match shared.asker().take_hints(sender, urls).await {
        Ok(received) => Json(received).into_response(),
        Err(why) => no_answer(why),
    }
}

pub(crate) async fn hints(State(shared): State<Arc<Shared>>) -> Response {
    match shared.asker().hints().await {
        Ok(hints) => {
            let mut told = json!({ "hints": hints.found });
            if let Some(publishers) = shared.publishers() {
                told["publishers"] = publishers;
            }
            answered(told, hints.coverage)
        }
        Err(why) => no_answer(why),
    }
}

pub(crate) async fn add_seeds(
    State(shared): State<Arc<Shared>>,
    body: axum::body::Body,
) -> Response {
    let seeds: Seeds = match read(body).await {
        Ok(seeds) => seeds,
        Err((status, told)) => return refuse(status, &told),
    };
    let urls = match addresses(&seeds.urls) {
        Ok(urls) => urls,
        Err((status, told)) => return refuse(status, &told),
    };
    match shared.asker().add_seeds(urls).await {
        Ok(()) => Json(json!({ "seeds": seeds.urls.len() })).into_response(),
        Err(why) => no_answer(why),
    }
}

pub(crate) async fn rules(State(shared): State<Arc<Shared>>) -> Response {
    match shared.asker().rules().await {
        Ok(rules) => answered(json!({ "rules": rules.found }), rules.coverage),
        Err(why) => no_answer(why),
    }
}

/// A decision about a rule.
#[derive(Debug, Deserialize)]
struct Decision {
    rule: String,
    ruling: Ruling,
}

pub(crate) async fn decide(State(shared): State<Arc<Shared>>, body: axum::body::Body) -> Response {
    let Decision { rule, ruling } = match read(body).await {
        Ok(decision) => decision,
        Err((status, told)) => return refuse(status, &told),
    };
    let rule: RuleName = match rule.parse() {
        Ok(rule) => rule,
        Err(refused) => return refuse(StatusCode::BAD_REQUEST, &refused),
    };
    match shared.asker().decide(rule, ruling).await {
        Ok(known) if known.found => {
            answered(json!({ "rule": rule.to_string(), "ruling": ruling }), known.coverage)
        }
        Ok(known) => match known.coverage.told() {
            Some(told) => refuse(StatusCode::SERVICE_UNAVAILABLE, &nobody_knows(&told)),
            None => refuse(StatusCode::NOT_FOUND, "this crawl knows no such rule"),
        },
        Err(why) => no_answer(why),
    }
}

pub(crate) async fn set_budget(
    State(shared): State<Arc<Shared>>,
    body: axum::body::Body,
) -> Response {
    let wanted: Budget = match read(body).await {
        Ok(wanted) => wanted,
        Err((status, told)) => return refuse(status, &told),
    };
    let Ok(budget) = wanted.budget.parse::<Rate>() else {
        return refuse(StatusCode::BAD_REQUEST, "a budget reads like 5/s, 300/min or 2/h");
    };
    if let Err(too_large) = check_budget(budget) {
        return refuse(StatusCode::BAD_REQUEST, &too_large.to_string());
    }
    match shared.asker().set_budget(budget).await {
        Ok(()) => Json(json!({ "budget_per_s": budget.as_per_second() })).into_response(),
        Err(why) => no_answer(why),
    }
}
