//! Search results as JSON. These queries are not logged as a searcher's.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Fields, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tidewatch_search::Query;

use crate::routes::{MOST_COUNT, MOST_PAGE};
use crate::shared::{Shared, now_ms};

/// Results a page by default.
const USUAL: u32 = 10;

/// An error as JSON.
pub(crate) fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

/// What is asked for, as it was given.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    q: Option<String>,
    page: Option<String>,
    count: Option<String>,
}

/// A number from 1 to `most`; `usual` if none is given, `None` if something else is.
fn number(given: Option<&str>, usual: u32, most: u32) -> Option<usize> {
    let number = given.map_or(Some(usual), |given| given.parse().ok());
    number.filter(|number| (1..=most).contains(number)).map(|number| number as usize)
}

pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Some(search) = shared.search().cloned() else {
        return refuse(StatusCode::NOT_FOUND, "this crawl keeps no index");
    };
    let asked = match fields {
        Ok(Fields(asked)) => asked,
        Err(malformed) => return refuse(StatusCode::BAD_REQUEST, &malformed.body_text()),
    };
    let (Some(q), Some(page), Some(count)) = (
        asked.q,
        number(asked.page.as_deref(), 1, MOST_PAGE),
        number(asked.count.as_deref(), USUAL, MOST_COUNT),
    ) else {
        let why = "q must be given, page be from 1 to 1000, and count from 1 to 50";
        return refuse(StatusCode::BAD_REQUEST, why);
    };
    let Some(_turn) = search.turn().await else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    };
    let (query, skip, now_s) = (Query::read(&q), (page - 1) * count, now_ms() / 1_000);
    let gathered = search.finder().gather(&query, skip, count, now_s).await;
    let work = move || {
        let found = search.finder().search(gathered, &query, skip, count, now_s);
        found.map(|found| {
            let mut json = json!({
                "query": query.typed,
                "ignored": query.ignored,
                "page": page,
                "total": found.total,
                "is_relaxed": found.is_relaxed,
                "has_more": found.has_more,
                "hits": found.hits,
            });
            if let Some(coverage) = found.coverage {
                json["partitions"] = json!(coverage);
            }
            json
        })
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(found)) => Json::<Value>(found).into_response(),
        _ => refuse(StatusCode::SERVICE_UNAVAILABLE, "the index failed"),
    }
}
