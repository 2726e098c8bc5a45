//! Figures and control for programs.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Fields, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::check_budget;
use tidewatch_partition::explain::{what_if_json, why_json};

use crate::ask::NoAnswer;
use crate::metrics as prometheus;
use crate::routes::MOST_SEEDS;
use crate::search_api::refuse;
use crate::shared::Shared;

/// Most bytes of a request body.
const MOST_BODY: usize = 1 << 20;

fn no_figures() -> Response {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "the crawl has published no figures yet")
}

fn no_answer(why: NoAnswer) -> Response {
    let why = match why {
        NoAnswer::Busy => "the crawl is busy; try again in a moment".to_owned(),
        NoAnswer::Ended => "the crawl is not running".to_owned(),
        NoAnswer::Failed(error) => error.to_string(),
    };
    refuse(StatusCode::SERVICE_UNAVAILABLE, &why)
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
    let text = url.as_str().to_owned();
    let found = match shared.asker().page(url).await {
        Ok(found) => found,
        Err(why) => return no_answer(why),
    };
    match found.portrait {
        None => refuse(StatusCode::NOT_FOUND, "this crawl does not know that page"),
        Some(portrait) => match portrait.why {
            Some(why) => {
                let mut json = why_json(&why, &text, found.now);
                json["in_the_way"] = portrait.in_the_way.into();
                Json(json).into_response()
            }
            None => refuse(StatusCode::NOT_FOUND, "this crawl's policy cannot explain itself"),
        },
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

/// A multiple of the current budget.
pub(crate) fn multiple(times: f64) -> impl Fn(Rate) -> Rate + Clone + Send + 'static {
    move |now| Rate::per_second(times * now.as_per_second()).unwrap_or(now)
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
    match shared.asker().what_if(multiple(times)).await {
        Ok(Some(both)) => {
            let both = json!({ "now": what_if_json(&both.now), "then": what_if_json(&both.then) });
            Json(both).into_response()
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

/// Reads a JSON body.
async fn read<T: for<'d> Deserialize<'d>>(body: axum::body::Body) -> Result<T, Response> {
    let bytes = axum::body::to_bytes(body, MOST_BODY).await;
    let bytes = bytes.map_err(|_| refuse(StatusCode::PAYLOAD_TOO_LARGE, "at most 1 MiB"))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| refuse(StatusCode::BAD_REQUEST, &format!("invalid body: {error}")))
}

pub(crate) async fn add_seeds(
    State(shared): State<Arc<Shared>>,
    body: axum::body::Body,
) -> Response {
    let seeds: Seeds = match read(body).await {
        Ok(seeds) => seeds,
        Err(refused) => return refused,
    };
    if seeds.urls.len() > MOST_SEEDS as usize {
        return refuse(StatusCode::BAD_REQUEST, "at most 10000 seeds at once");
    }
    let mut urls = Vec::with_capacity(seeds.urls.len());
    for url in &seeds.urls {
        match CanonicalUrl::parse(url) {
            Ok(url) => urls.push(url),
            Err(refused) => return refuse(StatusCode::BAD_REQUEST, &format!("`{url}`: {refused}")),
        }
    }
    match shared.asker().add_seeds(urls).await {
        Ok(()) => Json(json!({ "seeds": seeds.urls.len() })).into_response(),
        Err(why) => no_answer(why),
    }
}

pub(crate) async fn set_budget(
    State(shared): State<Arc<Shared>>,
    body: axum::body::Body,
) -> Response {
    let wanted: Budget = match read(body).await {
        Ok(wanted) => wanted,
        Err(refused) => return refused,
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
