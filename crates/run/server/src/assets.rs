//! Files that pages load.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use tidewatch_report::stylesheet;

/// Ten minutes.
const A_WHILE: &str = "max-age=600";

fn file(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, A_WHILE)], body).into_response()
}

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", stylesheet() + include_str!("style.css"))
}

pub(crate) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("app.js"))
}

pub(crate) async fn icon() -> Response {
    file("image/svg+xml", include_str!("icon.svg"))
}
