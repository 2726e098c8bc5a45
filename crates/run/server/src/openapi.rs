//! The API's description, generated from the table of routes.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use crate::routes::{Access, Gives, Parameter, ROUTES, Route};

pub(crate) async fn describe() -> Response {
    Json(description()).into_response()
}

/// OpenAPI 3.1.
pub(crate) fn description() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidewatch",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Search, figures and control of a crawl. Search is public. Reading the \
                            rest needs the token unless the request comes from the server's own \
                            machine without a proxy; changes always need it.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "password": { "type": "http", "scheme": "basic" },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let media_type = match route.gives {
        Gives::Page => "text/html",
        Gives::Json => "application/json",
        Gives::Other(kind) => kind,
    };
    let mut operation = json!({
        "summary": route.about,
        "responses": { "200": { "description": route.about, "content": { media_type: {} } } },
    });
    match route.access {
        Access::Public => {}
        Access::Look => operation["security"] = json!([{}, { "token": [] }, { "password": [] }]),
        Access::Change => {
            operation["security"] = json!([{ "token": [] }]);
            operation["responses"]["401"] = json!({ "description": "The token is missing." });
            operation["requestBody"] = body(route.takes);
            return operation;
        }
    }
    let in_path =
        route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let parameters: Vec<Value> = in_path.chain(route.takes.iter().map(parameter)).collect();
    operation["parameters"] = parameters.into();
    operation
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": { "type": "string" },
    })
}

fn body(takes: &[Parameter]) -> Value {
    let members: Map<String, Value> = takes
        .iter()
        .map(|takes| (takes.name.to_owned(), json!({ "description": takes.about })))
        .collect();
    let required: Vec<_> = takes.iter().filter(|t| t.is_required).map(|t| t.name).collect();
    let schema = json!({ "type": "object", "properties": members, "required": required });
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}
