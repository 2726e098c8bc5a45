//! The table of all routes.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};

use crate::shared::Shared;
use crate::{assets, click, cluster, dashboard, events, guard, layout, openapi, operate, reports};
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

/// The kind of answer. A page is for people, so it takes anything in its parameters and explains; JSON
/// is for programs, and refuses what is no value of a parameter's [`Form`].
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
    /// What it may be.
    pub form: Form,
}

/// The values that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// A whole number from 1 to a limit.
    Count(u32),
    /// An absolute URL with `http` or `https`.
    Url,
    /// A list of such URLs, up to a limit.
    Urls(u32),
    /// A multiple from 0.01 to 100.
    Times,
    /// Fetches per time.
    Rate,
    /// The ID of a rule.
    Rule,
    /// The name of a sender of hints.
    Sender,
    /// `veto`, `pin` or `undo`.
    Ruling,
    /// The number of a partition.
    Partition,
    /// The name of a node, or its beginning.
    Node,
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
    /// Statuses of its refusals, beside those that follow from its access.
    pub refuses: &'static [u16],
    handler: fn() -> MethodRouter<Arc<Shared>>,
}

const fn needed(name: &'static str, form: Form, about: &'static str) -> Parameter {
    Parameter { name, about, is_required: true, form }
}

const fn optional(name: &'static str, form: Form, about: &'static str) -> Parameter {
    Parameter { name, about, is_required: false, form }
}

macro_rules! routes {
    ($($access:ident $method:literal $path:literal $gives:expr, $about:literal,
       [$($parameter:expr),*], refuses [$($status:literal),*], $handler:expr;)*) => {
        &[$(Route {
            method: $method,
            path: $path,
            access: Access::$access,
            gives: $gives,
            about: $about,
            takes: &[$($parameter),*],
            refuses: &[$($status),*],
            handler: || $handler,
        }),*]
    };
}

use Form::{Count, Node, Partition, Rate, Rule, Ruling, Sender, Text, Times, Url, Urls};
use Gives::{Json, Other, Page};

/// All routes.
pub const ROUTES: &[Route] = routes! {
    Public "GET" "/" Page, "The search page.", [], refuses [], get(search_page::home);
    Public "GET" "/search" Page, "Results of a query.",
        [optional("q", Text, "The query."), optional("page", Text, "Page of results, from 1.")],
        refuses [404, 503], get(search_page::results);
    Public "GET" "/go" Page, "Follows a result, and counts the click.",
        [needed("t", Text, "The result's signed ticket.")], refuses [303, 403, 410, 503],
        get(click::go);
    Public "GET" "/opensearch.xml" Other("application/opensearchdescription+xml"),
        "Lets browsers add this search engine.", [], refuses [], get(search_page::opensearch);
    Public "GET" "/style.css" Other("text/css"), "The style sheet.", [], refuses [],
        get(assets::style);
    Public "GET" "/app.js" Other("text/javascript"), "The dashboard's script.", [], refuses [],
        get(assets::script);
    Public "GET" "/icon.svg" Other("image/svg+xml"), "The icon.", [], refuses [],
        get(assets::icon);
    Public "GET" "/api/search" Json, "Results of a query.",
        [needed("q", Text, "The query."),
         optional("page", Count(MOST_PAGE), "Page of results, from 1."),
         optional("count", Count(MOST_COUNT), "Results a page.")],
        refuses [404, 503], get(search_api::search);
    Public "GET" "/api/openapi.json" Json, "This description.", [], refuses [],
        get(openapi::describe);
    Look "GET" "/dashboard" Page, "The crawl's figures.", [], refuses [503],
        get(dashboard::overview);
    Look "GET" "/dashboard/hosts" Page, "Hosts: delay, robots.txt, pages, price.", [],
        refuses [503], get(dashboard::hosts);
    Look "GET" "/dashboard/sources" Page, "Sources: new links, value, next visit.", [],
        refuses [503], get(dashboard::sources);
    Look "GET" "/dashboard/rules" Page, "Rules learnt about URLs of one page, and fetches spared.",
        [], refuses [503], get(dashboard::rules);
    Look "GET" "/dashboard/hints" Page, "Hints: precision and recall by host and kind.",
        [], refuses [503], get(dashboard::hints);
    Look "GET" "/dashboard/page" Page, "What is known of a page, and why it is due or not.",
        [optional("url", Text, "The page.")], refuses [503], get(dashboard::page);
    Look "GET" "/dashboard/what-if" Page, "Predicted figures at another budget.",
        [optional("times", Text, "The budget as a multiple of the current one.")],
        refuses [503], get(dashboard::what_if);
    Look "GET" "/dashboard/cluster" Page, "The nodes of a cluster, and what they own.", [],
        refuses [503], get(cluster::page);
    Look "GET" "/dashboard/reports" Page, "Lab reports.", [], refuses [], get(reports::list);
    Look "GET" "/dashboard/reports/{name}" Page, "One report.", [], refuses [404],
        get(reports::show);
    Look "GET" "/status.json" Json, "The crawl's figures.", [], refuses [503],
        get(operate::status);
    Look "GET" "/metrics" Other("text/plain"), "The figures in Prometheus's text format.", [],
        refuses [503], get(operate::metrics);
    Look "GET" "/api/events" Other("text/event-stream"), "The figures as they change.", [],
        refuses [503], get(events::events);
    Look "GET" "/api/why" Json, "Why a page is due, or why not.",
        [needed("url", Url, "The page.")], refuses [404, 503], get(operate::why);
    Look "GET" "/api/what-if" Json, "Predicted figures at another budget.",
        [needed("times", Times, "The budget as a multiple of the current one.")],
        refuses [404, 503], get(operate::what_if);
    Look "GET" "/api/rules" Json, "Rules learnt about URLs of one page.", [], refuses [503],
        get(operate::rules);
    Change "POST" "/api/rules" Json, "Vetoes or pins a rule, or withdraws that.",
        [needed("rule", Rule, "Its ID."), needed("ruling", Ruling, "What to do with it.")],
        refuses [404, 413, 503], post(operate::decide);
    Look "GET" "/api/cluster" Json, "The nodes of a cluster, and what they own.", [],
        refuses [404, 503], get(cluster::status);
    Change "POST" "/api/cluster/move" Json, "Moves a partition to a node of the cluster.",
        [needed("partition", Partition, "Its number."), needed("node", Node, "The node's name.")],
        refuses [404, 413, 503], post(cluster::give);
    Change "POST" "/api/cluster/drain" Json,
        "Makes a node of the cluster hand over everything and end.",
        [needed("node", Node, "The node's name.")], refuses [404, 413, 503],
        post(cluster::drain);
    Look "GET" "/api/hints" Json, "Precision and recall of hints, by host and kind.", [],
        refuses [503], get(operate::hints);
    Change "POST" "/api/hints" Json, "Says that pages are new or have changed.",
        [needed("urls", Urls(MOST_URLS), "Their URLs, as a list."),
         optional("sender", Sender, "The sender; trust is learnt per sender.")],
        refuses [413, 503], post(operate::take_hints);
    Change "POST" "/api/seeds" Json, "Adds seeds.",
        [needed("urls", Urls(MOST_URLS), "Their URLs, as a list.")], refuses [413, 503],
        post(operate::add_seeds);
    Change "POST" "/api/budget" Json, "Sets the budget until the next start.",
        [needed("budget", Rate, "Fetches per time, such as 5/s.")], refuses [413, 503],
        post(operate::set_budget);
};

/// Highest page of results, most results a page, and most URLs of a change.
pub(crate) const MOST_PAGE: u32 = 1_000;
pub(crate) const MOST_COUNT: u32 = 50;
pub(crate) const MOST_URLS: u32 = 10_000;

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
        .method_not_allowed_fallback(other_method)
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

/// The path exists, but not with this method. The router adds `Allow`.
async fn other_method(uri: Uri) -> Response {
    let why = "This address does not take that method; the header Allow lists those it takes.";
    let is_json = ROUTES.iter().any(|route| route.path == uri.path() && route.gives == Gives::Json);
    if is_json {
        return search_api::refuse(StatusCode::METHOD_NOT_ALLOWED, why);
    }
    layout::message(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", why)
}
