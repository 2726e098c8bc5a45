//! Lab reports in the crawl's directory.

use std::path::Path;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path as Part_, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::html;
use tidewatch_report::clean;

use crate::layout::{self, Part};
use crate::shared::Shared;

/// Reports listed.
const MOST: usize = 200;
/// Longest report that is shown.
const MOST_BYTES: u64 = 64 << 20;
/// Reports are whole pages with their own style and no script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

fn names(dir: Option<&Path>) -> Vec<String> {
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok());
    let names =
        files.into_iter().flatten().flatten().filter_map(|f| f.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_name(name)).take(MOST).collect();
    names.sort();
    names
}

/// Whether a name can be a report's. It cannot lead out of the directory.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.strip_suffix(".html").is_some() && !name.starts_with('.') && name.chars().all(is_plain)
}

pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Response {
    let names = names(shared.reports());
    let body = html! {
        h1 { "Reports" }
        @if names.is_empty() {
            p { "There are no reports yet. To compare policies on this crawl's own history:" }
            pre.scroll tabindex="0" {
                "mkdir DIR/reports\n"
                "tidewatch export trace --dir DIR -o history\n"
                "tidewatch lab compare --trace history --policies price,uniform,bfs \\\n"
                "          --budget 1 --report DIR/reports/policies.html"
            }
        } @else {
            ul { @for name in &names {
                li { a href=(format!("/dashboard/reports/{name}")) { (clean(name)) } }
            } }
        }
    };
    layout::page("Reports · Tidewatch", Part::Reports, &body).into_response()
}

pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    name: Result<Part_<String>, PathRejection>,
) -> Response {
    // A name that is no text is no report's.
    let name = name.map(|Part_(name)| name).unwrap_or_default();
    let path = shared.reports().filter(|_| is_name(&name)).map(|dir| dir.join(&name));
    let is_short = |path: &std::path::PathBuf| {
        std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES)
    };
    match path.filter(is_short).and_then(|path| std::fs::read(path).ok()) {
        Some(bytes) => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_SECURITY_POLICY, POLICY),
            ];
            (headers, bytes).into_response()
        }
        None => layout::message(
            StatusCode::NOT_FOUND,
            "No such report",
            "There is no report of that name.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_reports() {
        assert!(is_name("policies-2.html"));
        for odd in ["../x.html", ".html", "a/b.html", "x.htm", "x.html\0", "ü.html", "..html/"] {
            assert!(!is_name(odd), "{odd}");
        }
    }
}
