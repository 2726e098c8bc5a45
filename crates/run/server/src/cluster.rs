//! The cluster's page, and the API that moves partitions and drains nodes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use tidewatch_report::clean;

use crate::layout::{self, Part};
use crate::operate::read;
use crate::owners::ClusterView;
use crate::search_api::refuse;
use crate::shared::Shared;

/// Digits of a node's name.
const NAME: usize = 16;

/// A partition to move.
#[derive(Debug, Deserialize)]
struct Move {
    partition: u32,
    node: String,
}

/// A node to empty.
#[derive(Debug, Deserialize)]
struct Drain {
    node: String,
}

pub(crate) async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let body = html! {
        h1 { "Cluster" }
        div data-live="cluster" {
            @match shared.cluster().map(|cluster| cluster.view()) {
                None => { p { "This crawl runs on one machine." } }
                Some(None) => { p role="status" { "The nodes have not answered yet." } }
                Some(Some(view)) => (shown(&view)),
            }
        }
    };
    layout::page("Cluster · Tidewatch", Part::Cluster, &body).into_response()
}

fn shown(view: &ClusterView) -> Markup {
    html! {
        p.lead { (clean(&view.told)) }
        @for note in &view.notes { p.alarm role="status" { (clean(note)) } }
        section { h2 { "Nodes" } (view.nodes.to_markup()) }
        section { h2 { "Partitions" } (view.partitions.to_markup()) }
        section {
            h2 { "To move a partition, or to empty a node" }
            pre.scroll tabindex="0" {
                "curl -X POST http://127.0.0.1:7700/api/cluster/move \\\n"
                "     -H \"Authorization: Bearer $(cat token)\" \\\n"
                "     -d '{\"partition\": 7, \"node\": \"1f03\"}'\n"
                "curl -X POST http://127.0.0.1:7700/api/cluster/drain \\\n"
                "     -H \"Authorization: Bearer $(cat token)\" -d '{\"node\": \"1f03\"}'"
            }
        }
    }
}

fn one_machine() -> Response {
    refuse(StatusCode::NOT_FOUND, "this crawl runs on one machine")
}

pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Response {
    let Some(cluster) = shared.cluster() else { return one_machine() };
    match cluster.view() {
        Some(view) => Json(view.json).into_response(),
        None => refuse(StatusCode::SERVICE_UNAVAILABLE, "the nodes have not answered yet"),
    }
}

/// Whether this may be the beginning of a node's name.
fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn bad_name() -> Response {
    let why =
        "a node is named by 1 to 16 hexadecimal digits, as tidewatch cluster status shows them";
    refuse(StatusCode::BAD_REQUEST, why)
}

pub(crate) async fn give(State(shared): State<Arc<Shared>>, body: axum::body::Body) -> Response {
    let Move { partition, node } = match read(body).await {
        Ok(wish) => wish,
        Err((status, told)) => return refuse(status, &told),
    };
    if !is_name(&node) {
        return bad_name();
    }
    let Some(cluster) = shared.cluster() else { return one_machine() };
    let silent = format!("no node owns partition {partition} now; try again in a moment");
    told(cluster.give(partition, node).await, &silent)
}

pub(crate) async fn drain(State(shared): State<Arc<Shared>>, body: axum::body::Body) -> Response {
    let Drain { node } = match read(body).await {
        Ok(wish) => wish,
        Err((status, told)) => return refuse(status, &told),
    };
    if !is_name(&node) {
        return bad_name();
    }
    let Some(cluster) = shared.cluster() else { return one_machine() };
    let silent = format!("there is no node {node}");
    told(cluster.drain(node).await, &silent)
}

/// The nodes' answer; `silent` if there is none.
fn told(answer: Result<Option<String>, String>, silent: &str) -> Response {
    match answer {
        Ok(Some(told)) => Json(json!({ "told": told })).into_response(),
        Ok(None) => refuse(StatusCode::NOT_FOUND, silent),
        Err(why) => refuse(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}
