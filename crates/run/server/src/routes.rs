//! The table of all routes.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};

use crate::shared::Shared;
use crate::{assets, click, dashboard, events, guard, layout, openapi, operate, reports};
use crate::{search_api, search_page};

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone.
    Public,
    /// Local requests; any other with the token.
    Look,
    /// Requests with the token: the route changes something.
    Change,
}

/// The kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// A page for people.
    Page,
    /// JSON.
    Json,
    /// Another media type.
    Other(&'static str),
}

/// A query parameter, or a member of the JSON body of a change.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
}

/// One route.
#[derive(Clone, Copy)]
pub struct Route {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    /// The kind of its answer.
    pub gives: Gives,
    /// Its purpose, in a sentence.
    pub about: &'static str,
    /// Its parameters.
    pub takes: &'static [Parameter],
    handler: fn() -> MethodRouter<Arc<Shared>>,
}

const fn needed(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, is_required: true }
}

const fn optional(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, is_required: false }
}

macro_rules! routes {
    ($($access:ident $method:literal $path:literal $gives:expr, $about:literal,
       [$($parameter:expr),*], $handler:expr;)*) => {
        &[$(Route {
            method: $method,
            path: $path,
            access: Access::$access,
            gives: $gives,
            about: $about,
            takes: &[$($parameter),*],
            handler: || $handler,
        }),*]
    };
}

use Gives::{Json, Other, Page};

/// All routes.
pub const ROUTES: &[Route] = routes! {
    Public "GET" "/" Page, "The search page.", [], get(search_page::home);
    Public "GET" "/search" Page, "Results of a query.",
        [needed("q", "The query."), optional("page", "Page of results, from 1.")],
        get(search_page::results);
    Public "GET" "/go" Page, "Follows a result, and counts the click.",
        [needed("t", "The result's signed ticket.")], get(click::go);
    Public "GET" "/opensearch.xml" Other("application/opensearchdescription+xml"),
        "Lets browsers add this search engine.", [], get(search_page::opensearch);
    Public "GET" "/style.css" Other("text/css"), "The style sheet.", [], get(assets::style);
    Public "GET" "/app.js" Other("text/javascript"), "The dashboard's script.", [],
        get(assets::script);
    Public "GET" "/icon.svg" Other("image/svg+xml"), "The icon.", [], get(assets::icon);
    Public "GET" "/api/search" Json, "Results of a query.",
        [needed("q", "The query."), optional("page", "Page of results, from 1."),
         optional("count", "Results a page, at most 50.")], get(search_api::search);
    Public "GET" "/api/openapi.json" Json, "This description.", [], get(openapi::describe);
    Look "GET" "/dashboard" Page, "The crawl's figures.", [], get(dashboard::overview);
    Look "GET" "/dashboard/hosts" Page, "Hosts: delay, robots.txt, pages, price.", [],
        get(dashboard::hosts);
    Look "GET" "/dashboard/sources" Page, "Sources: new links, value, next visit.", [],
        get(dashboard::sources);
    Look "GET" "/dashboard/page" Page, "What is known of a page, and why it is due or not.",
        [optional("url", "The page.")], get(dashboard::page);
    Look "GET" "/dashboard/what-if" Page, "Predicted figures at another budget.",
        [optional("times", "The budget as a multiple of the current one.")], get(dashboard::what_if);
    Look "GET" "/dashboard/reports" Page, "Lab reports.", [], get(reports::list);
    Look "GET" "/dashboard/reports/{name}" Page, "One report.", [], get(reports::show);
    Look "GET" "/status.json" Json, "The crawl's figures.", [], get(operate::status);
    Look "GET" "/metrics" Other("text/plain"), "The figures in Prometheus's text format.", [],
        get(operate::metrics);
    Look "GET" "/api/events" Other("text/event-stream"), "The figures as they change.", [],
        get(events::events);
    Look "GET" "/api/why" Json, "Why a page is due, or why not.", [needed("url", "The page.")],
        get(operate::why);
    Look "GET" "/api/what-if" Json, "Predicted figures at another budget.",
        [needed("times", "The budget as a multiple of the current one.")], get(operate::what_if);
    Change "POST" "/api/seeds" Json, "Adds seeds.",
        [needed("urls", "Their URLs, as a list.")], post(operate::add_seeds);
    Change "POST" "/api/budget" Json, "Sets the budget until the next start.",
        [needed("budget", "Fetches per time, such as 5/s.")], post(operate::set_budget);
};

/// The router of a server.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let state = (Arc::clone(shared), route.access, route.gives);
        let handler = (route.handler)().layer(from_fn_with_state(state, guard::check_access));
        router = router.route(route.path, handler);
    }
    router
        .fallback(no_such_page)
        .method_not_allowed_fallback(no_such_page)
        .layer(from_fn_with_state(Arc::clone(shared), guard::check_host))
        .layer(from_fn(guard::add_headers))
        .with_state(Arc::clone(shared))
}

async fn no_such_page(uri: Uri) -> Response {
    if uri.path().starts_with("/api/") {
        let why = "there is no such route; /api/openapi.json lists all with their methods";
        return search_api::refuse(StatusCode::NOT_FOUND, why);
    }
    let why = "There is no page here. The search page is at / and the dashboard at /dashboard.";
    layout::message(StatusCode::NOT_FOUND, "Not found", why)
}
