//! The search page: plain HTML that works without scripts, by keyboard and by touch.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, Query as Fields, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use tidewatch_report::clean;
use tidewatch_search::shards::Coverage;
use tidewatch_search::{
    Hit, MOST_QUERY_BYTES, PageRef, Query, SearchError, SearchResults, Snippet,
};

use crate::client;
use crate::layout::{self, Part};
use crate::net::Peer;
use crate::routes::MOST_PAGE;
use crate::shared::{Search, Shared, now_ms};

/// Results on a page.
const RESULTS: usize = 10;

/// The form's fields, which may hold anything.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    q: String,
    #[serde(default)]
    page: String,
}

impl Asked {
    fn query(&self) -> Query {
        Query::read(&self.q)
    }

    /// The page of results, from 0; the first if it is not a number.
    fn page(&self) -> usize {
        self.page.parse::<usize>().unwrap_or(1).clamp(1, MOST_PAGE as usize) - 1
    }
}

pub(crate) async fn home(State(shared): State<Arc<Shared>>) -> Response {
    let Some(search) = shared.search() else {
        return Redirect::to("/dashboard").into_response();
    };
    let pages = search.finder().pages();
    let body = html! {
        div.home {
            h1 { "Search" }
            (form("", true))
            p.note { (count(pages, "page", "pages")) " in the index." }
            @if pages == 0 {
                p { "Nothing is indexed yet. Pages become searchable a few seconds after they are \
                     fetched; the " a href="/dashboard" { "dashboard" } " shows the crawl's progress." }
            }
            (help())
        }
    };
    layout::page("Tidewatch search", Part::Search, &body).into_response()
}

pub(crate) async fn results(
    State(shared): State<Arc<Shared>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    fields: Result<Fields<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Some(search) = shared.search().cloned() else { return no_index() };
    // A malformed query string counts as an empty one.
    let Fields(asked) = fields.unwrap_or_default();
    let query = asked.query();
    if query.is_empty() {
        return nothing_asked(&query);
    }
    let Some(_turn) = search.turn().await else { return no_index() };
    let address = client::address(peer, &headers, shared.is_proxied());
    let (page, now_ms) = (asked.page(), now_ms());
    let (began, skip) = (Instant::now(), page.saturating_mul(RESULTS));
    let gathered = search.finder().gather(&query, skip, RESULTS, now_ms / 1_000).await;
    let work = move || {
        let found = search.finder().search(gathered, &query, skip, RESULTS, now_ms / 1_000)?;
        Results::show(&search, query, found, page, address, (began, now_ms))
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(results)) => {
            let title = format!("{} · Tidewatch search", results.query.typed);
            layout::page(&title, Part::Search, &results.markup()).into_response()
        }
        Ok(Err(error)) => failed(&error.to_string()),
        Err(_) => failed("The search was interrupted."),
    }
}

fn no_index() -> Response {
    let why = "This crawl keeps no index (index = false in its configuration).";
    layout::message(StatusCode::NOT_FOUND, "No search index", why)
}

/// Details are for the operator and may name files; a searcher gets a sentence.
fn failed(_why: &str) -> Response {
    let why = "The index failed. Try again in a moment; if the error persists, the dashboard \
               shows its cause.";
    layout::message(StatusCode::SERVICE_UNAVAILABLE, "Search failed", why)
}

fn nothing_asked(query: &Query) -> Response {
    let body = html! {
        h1.visually-hidden { "Search" }
        (form(&query.typed, true))
        (left_out(&query.ignored))
        p { "Enter some words to search for." }
        (help())
    };
    layout::page("Tidewatch search", Part::Search, &body).into_response()
}

/// A page of results with a signed link for each.
struct Results {
    query: Query,
    found: SearchResults,
    links: Vec<String>,
    page: usize,
    seconds: f64,
    now_s: i64,
}

impl Results {
    /// Logs that results are shown, and signs their links.
    fn show(
        search: &Search,
        query: Query,
        found: SearchResults,
        page: usize,
        address: IpAddr,
        (began, now_ms): (Instant, i64),
    ) -> Result<Results, SearchError> {
        let now_s = now_ms / 1_000;
        let skip = page.saturating_mul(RESULTS);
        let pages: Vec<PageRef> = found.hits.iter().map(|hit| hit.page).collect();
        let client = search.desk().client(address, now_s)?;
        let first = u16::try_from(skip + 1).unwrap_or(u16::MAX);
        let links = search.desk().show(&query.typed, first, &pages, client, now_ms)?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Results { query, found, links, page, seconds, now_s })
    }

    fn markup(&self) -> Markup {
        let SearchResults { hits, total, is_relaxed, .. } = &self.found;
        html! {
            h1.visually-hidden { "Search results" }
            (form(&self.query.typed, false))
            (left_out(&self.query.ignored))
            @if let Some(told) = self.found.coverage.and_then(Coverage::told) {
                p.left-out role="status" { (told) }
            }
            @if hits.is_empty() { (self.nothing()) } @else {
                p.note role="status" {
                    (count(*total as u64, "page", "pages")) " in "
                    (format!("{:.3} s", self.seconds))
                    @if *is_relaxed { ". No page has all of these words; these pages have some of them." }
                }
                ol.results start=(self.page * RESULTS + 1) {
                    @for (hit, link) in hits.iter().zip(&self.links) {
                        li { (result(hit, link, self.now_s)) }
                    }
                }
                (self.pager())
            }
        }
    }

    fn nothing(&self) -> Markup {
        html! {
            p role="status" {
                @if self.page > 0 { "There are no more results." }
                @else { "No page matches " strong { (clean(&self.query.typed)) } "." }
            }
            @if self.page > 0 {
                p { a href=(address(&self.query.typed, 0)) { "Back to the first results" } }
            } @else { (help()) }
        }
    }

    fn pager(&self) -> Markup {
        let to = |page| address(&self.query.typed, page);
        html! {
            @if self.page > 0 || self.found.has_more {
                nav.pager aria-label="Pages of results" {
                    @if self.page > 0 { a rel="prev" href=(to(self.page - 1)) { "← Previous" } }
                    span { "Page " (self.page + 1) }
                    @if self.found.has_more { a rel="next" href=(to(self.page + 1)) { "Next →" } }
                }
            }
        }
    }
}

fn address(query: &str, page: usize) -> String {
    let page = if page > 0 { format!("&page={}", page + 1) } else { String::new() };
    format!("/search?q={}{page}", encode(query))
}

/// Percent-encodes text for a query string.
pub(crate) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte as char),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

fn form(typed: &str, is_first: bool) -> Markup {
    html! {
        form.search role="search" action="/search" method="get" {
            label.visually-hidden for="q" { "Search for" }
            input #q type="search" name="q" value=(clean(typed)) maxlength=(MOST_QUERY_BYTES)
                autocomplete="off" autocapitalize="none" spellcheck="false" enterkeyhint="search"
                accesskey="s" autofocus[is_first];
            button type="submit" { "Search" }
        }
    }
}

fn left_out(ignored: &[String]) -> Markup {
    html! {
        @if !ignored.is_empty() {
            div.left-out role="status" { @for what in ignored { p { (clean(what)) } } }
        }
    }
}

fn help() -> Markup {
    html! {
        details.help {
            summary { "Search syntax" }
            dl {
                div { dt { code { "tide tables" } } dd { "pages with both words" } }
                div { dt { code { "\"high water\"" } } dd { "this exact phrase" } }
                div { dt { code { "tide -moon" } } dd { "without this word" } }
                div { dt { code { "site:example.org" } } dd { "on this host or domain" } }
                div { dt { code { "after:2026-11-30" } } dd { "changed since this day; also "
                    code { "before:" } } }
                div { dt { code { "lang:en" } } dd { "in this language" } }
            }
        }
    }
}

fn result(hit: &Hit, link: &str, now_s: i64) -> Markup {
    let language = (!hit.language.is_empty()).then_some(hit.language.as_str());
    html! {
        article {
            h2 lang=[language] dir="auto" { a href=(format!("/go?t={link}")) rel="nofollow noreferrer" { (title(hit)) } }
            p.address dir="ltr" { (clean(&shortened(&hit.url, 100))) }
            (snippet(&hit.snippet, language))
            p.note {
                "this version first seen " (ago(now_s - hit.changed_s))
                @if hit.alike > 0 { "; " (count(hit.alike as u64, "near-duplicate", "near-duplicates")) " hidden" }
            }
        }
    }
}

/// The title, or the URL of a page without one.
fn title(hit: &Hit) -> String {
    let title = clean(hit.title.trim());
    if title.is_empty() { clean(&shortened(&hit.url, 80)) } else { title }
}

fn shortened(text: &str, most: usize) -> String {
    let text =
        text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(most - 1).collect();
    beginning + "…"
}

fn snippet(snippet: &Snippet, language: Option<&str>) -> Markup {
    html! {
        p.snippet lang=[language] dir="auto" {
            @if snippet.is_begun { "… " }
            @for piece in &snippet.pieces {
                @if piece.is_match { mark { (clean(&piece.text)) } } @else { (clean(&piece.text)) }
            }
            @if snippet.is_cut { " …" }
        }
    }
}

/// `3 pages`, `1 page`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number of seconds ago, in words.
fn ago(seconds: i64) -> String {
    let (number, one, many) = match seconds.max(0) {
        0..10 => return "just now".to_owned(),
        s @ 10..60 => (s, "second", "seconds"),
        s @ 60..3_600 => (s / 60, "minute", "minutes"),
        s @ 3_600..86_400 => (s / 3_600, "hour", "hours"),
        s @ 86_400..63_072_000 => (s / 86_400, "day", "days"),
        s => (s / 31_536_000, "year", "years"),
    };
    format!("{} ago", count(number.unsigned_abs(), one, many))
}

/// Lets a browser add this search engine.
pub(crate) async fn opensearch(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    // The host name was checked: it is one of ours.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.map_or_else(|| shared.address().to_string(), str::to_owned);
    let body = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"))
        OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/" {
            ShortName { "Tidewatch" }
            Description { "Search the pages of this crawl" }
            InputEncoding { "UTF-8" }
            Image width="32" height="32" type="image/svg+xml" { "http://" (host) "/icon.svg" }
            Url type="text/html" template=(format!("http://{host}/search?q={{searchTerms}}&page={{startPage?}}")) {}
            Url type="application/json" template=(format!("http://{host}/api/search?q={{searchTerms}}")) {}
        }
    };
    let kind = "application/opensearchdescription+xml; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], body.into_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_counts_read_well() {
        assert_eq!(ago(-5), "just now");
        assert_eq!(ago(59), "59 seconds ago");
        assert_eq!(ago(60), "1 minute ago");
        assert_eq!(ago(7_300), "2 hours ago");
        assert_eq!(ago(900 * 86_400), "2 years ago");
        assert_eq!(shortened("https://a.example/x", 80), "a.example/x");
        assert_eq!(shortened(&"é".repeat(90), 80).chars().count(), 80);
    }

    #[test]
    fn any_query_fits_into_an_address() {
        assert_eq!(address("a&b=\"ü\" #", 2), "/search?q=a%26b%3D%22%C3%BC%22%20%23&page=3");
    }
}
