//! Search results as JSON. These queries are not logged as a searcher's.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Fields, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::search_page::Asked;
use crate::shared::{Shared, now_ms};

/// Results a page by default, and at most.
const USUAL: usize = 10;
const MOST: usize = 50;

/// An error as JSON.
pub(crate) fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Some(search) = shared.search().cloned() else {
        return refuse(StatusCode::NOT_FOUND, "this crawl keeps no index");
    };
    let Fields(asked) = fields.unwrap_or_default();
    let count = asked.count.parse().unwrap_or(USUAL).clamp(1, MOST);
    let Some(_turn) = search.turn().await else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    };
    let work = move || {
        let query = asked.query();
        let skip = asked.page().saturating_mul(count);
        let found = search.searcher().search(&query, skip, count, now_ms() / 1_000);
        found.map(|found| {
            json!({
                "query": query.typed,
                "ignored": query.ignored,
                "page": asked.page() + 1,
                "total": found.total,
                "is_relaxed": found.is_relaxed,
                "has_more": found.has_more,
                "hits": found.hits,
            })
        })
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(found)) => Json::<Value>(found).into_response(),
        _ => refuse(StatusCode::SERVICE_UNAVAILABLE, "the index failed"),
    }
}
