//! The operator's view over HTTP, on this machine only: a page, figures, metrics, why and what-if.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use maud::{DOCTYPE, PreEscaped, html};
use serde::Deserialize;
use serde_json::{Value, json};
use tidewatch_core::Rate;
use tidewatch_keeper::{Figures, Keeper, KeeperError};
use tidewatch_partition::OtherBudget;
use tidewatch_report::{Cell, Column, Table, stylesheet};
use tokio::task::JoinSet;

use crate::server::ServerError;
use crate::why::{what_if, why};

/// Connections at once.
const CONNECTIONS: usize = 64;
/// Crawls on the page.
const MOST_CRAWLS: usize = 100;

/// Tells what publishers have sent.
pub(crate) type Told = Arc<dyn Fn() -> Value + Send + Sync>;

#[derive(Clone)]
struct Shared {
    keeper: Keeper,
    publishers: Option<Told>,
}

/// Serves until dropped. Must be called within a runtime.
pub(crate) fn open(
    address: SocketAddr,
    keeper: &Keeper,
    publishers: Option<Told>,
) -> Result<(SocketAddr, JoinSet<()>), ServerError> {
    if !address.ip().is_loopback() {
        return Err(ServerError::PublicDesk(address));
    }
    let (listener, address) = tidewatch_server::bind(address)?;
    let shared = Shared { keeper: keeper.clone(), publishers };
    let router = Router::new()
        .route("/", get(overview))
        .route("/status.json", get(status))
        .route("/metrics", get(metrics))
        .route("/api/why", get(ask_why))
        .route("/api/what-if", get(ask_what_if))
        .layer(from_fn(check_host))
        .with_state(shared);
    let mut tasks = JoinSet::new();
    tasks.spawn(tidewatch_server::accept(listener, router, CONNECTIONS));
    Ok((address, tasks))
}

/// Refuses requests for any other host name than this machine's. Otherwise a web page could read our answers
/// through a browser on this machine (DNS rebinding).
async fn check_host(request: Request, next: Next) -> Response {
    if is_own_name(request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::MISDIRECTED_REQUEST, "ask by the address\n").into_response()
}

fn is_own_name(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: KeeperError) -> Response {
    let error = json!({ "error": error.to_string() });
    (StatusCode::SERVICE_UNAVAILABLE, Json(error)).into_response()
}

type Overview = (Option<Rate>, Vec<(String, Figures)>);

async fn status(State(shared): State<Shared>) -> Result<Response, Response> {
    let (budget, crawls): Overview = shared.keeper.overview().await.map_err(failed)?;
    let crawl = |(name, figures): &(String, Figures)| {
        json!({
            "crawl": name, "waiting": figures.waiting, "held": figures.held, "done": figures.done,
            "queues": figures.queues, "busy_queues": figures.busy_queues,
        })
    };
    let crawls: Vec<Value> = crawls.iter().map(crawl).collect();
    let budget = budget.map(Rate::as_per_second);
    let mut told = json!({ "budget_per_s": budget, "crawls": crawls });
    if let Some(publishers) = &shared.publishers {
        told["publishers"] = publishers();
    }
    Ok(Json(told).into_response())
}

async fn overview(State(shared): State<Shared>) -> Result<Response, Response> {
    let (budget, crawls): Overview = shared.keeper.overview().await.map_err(failed)?;
    let columns = [
        Column::text("Crawl"),
        Column::number("Waiting"),
        Column::number("Held"),
        Column::number("Done"),
        Column::number("Queues"),
        Column::number("Queues with URLs to fetch"),
    ];
    let rows = crawls.iter().take(MOST_CRAWLS);
    let table = rows.fold(Table::new(columns), |table, (name, figures)| {
        let Figures { waiting, held, done, queues, busy_queues } = *figures;
        let counts = [waiting, held, done, queues, busy_queues];
        table.row(std::iter::once(Cell::text(name)).chain(counts.map(Cell::count)))
    });
    let order = budget.map_or_else(
        || "Strict order, by the dates that clients give.".to_owned(),
        |budget| format!("A policy decides, with {:.2} URLs/s.", budget.as_per_second()),
    );
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Frontier · Tidewatch" }
                style { (PreEscaped(stylesheet())) }
            }
            body {
                h1 { "Frontier" }
                p { (order) }
                (table.to_markup())
            }
        }
    };
    Ok(Html(body.into_string()).into_response())
}

/// Name, description and value of a metric.
type Figure = (&'static str, &'static str, fn(&Figures) -> u64);

async fn metrics(State(shared): State<Shared>) -> Result<Response, Response> {
    let (budget, crawls): Overview = shared.keeper.overview().await.map_err(failed)?;
    let mut text = String::new();
    let figures: [Figure; 5] = [
        ("urls_waiting", "URLs that wait.", |of| of.waiting),
        ("urls_held", "URLs that a fetcher holds.", |of| of.held),
        ("urls_done", "URLs that are not fetched again.", |of| of.done),
        ("queues", "Queues.", |of| of.queues),
        ("queues_busy", "Queues with URLs to fetch.", |of| of.busy_queues),
    ];
    for (name, about, of) in figures {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP tidewatch_frontier_{name} {about}");
        let _ = writeln!(text, "# TYPE tidewatch_frontier_{name} gauge");
        for (crawl, figures) in &crawls {
            let crawl = label(crawl);
            let _ =
                writeln!(text, "tidewatch_frontier_{name}{{crawl=\"{crawl}\"}} {}", of(figures));
        }
    }
    if let Some(budget) = budget {
        let name = "tidewatch_frontier_budget_per_second";
        let _ = writeln!(text, "# HELP {name} URLs that may be given out per second.");
        let _ = writeln!(text, "# TYPE {name} gauge\n{name} {}", budget.as_per_second());
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// A label's value: clients choose the names of crawls.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[derive(Deserialize)]
struct Which {
    url: String,
}

async fn ask_why(State(shared): State<Shared>, Query(which): Query<Which>) -> Response {
    answered(why(&shared.keeper, &which.url).await)
}

#[derive(Deserialize)]
struct Budget {
    budget: String,
}

async fn ask_what_if(State(shared): State<Shared>, Query(asked): Query<Budget>) -> Response {
    match asked.budget.parse::<OtherBudget>() {
        Ok(other) => answered(what_if(&shared.keeper, other).await),
        Err(why) => (StatusCode::BAD_REQUEST, Json(json!({ "error": why }))).into_response(),
    }
}

fn answered(answer: Value) -> Response {
    let status = if answer.get("error").is_some() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    (status, Json(answer)).into_response()
}
