//! The API's description, generated from the table of routes.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use tidewatch_partition::rules::Ruling;

use crate::routes::{Access, Form, Gives, Parameter, ROUTES, Route};

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
    for status in refusals(route) {
        operation["responses"][status.to_string()] = refusal(status, route.gives);
    }
    match route.access {
        Access::Public => {}
        Access::Look => operation["security"] = json!([{}, { "token": [] }, { "password": [] }]),
        Access::Change => {
            operation["security"] = json!([{ "token": [] }]);
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

/// Every status but 200 that a route may answer with. Any request may name another host.
fn refusals(route: &Route) -> impl Iterator<Item = u16> {
    let of_access: &[u16] =
        if route.access == Access::Public { &[400, 421] } else { &[400, 401, 421] };
    route.refuses.iter().chain(of_access).copied()
}

fn refusal(status: u16, gives: Gives) -> Value {
    let description = match status {
        303 => "Leads to the result.",
        400 => "The request is malformed; the answer says where.",
        401 => "The token is missing or wrong.",
        403 => "The link was not made by this server, or was changed.",
        404 => "There is nothing of that name.",
        410 => "The page has left the index, or the result was shown too long ago.",
        413 => "The body is longer than 1 MiB.",
        421 => "The request names another host, or more than one.",
        _ => "The crawl is too busy to answer, or not running.",
    };
    let mut answer = json!({ "description": description });
    match (status, gives) {
        (303, _) => {}
        // Decided before the route is known.
        (421, _) => answer["content"] = json!({ "text/plain": {} }),
        (_, Gives::Json) => {
            let error = json!({ "type": "string" });
            let schema = json!({
                "type": "object", "properties": { "error": error }, "required": ["error"],
            });
            answer["content"] = json!({ "application/json": { "schema": schema } });
        }
        _ => answer["content"] = json!({ "text/html": {} }),
    }
    answer
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": schema(parameter.form),
    })
}

/// The JSON schema of a parameter's values.
fn schema(form: Form) -> Value {
    let url = json!({ "type": "string", "pattern": "^https?://[a-z0-9]+(\\.[a-z0-9]+)*/" });
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Count(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Form::Url => url,
        Form::Urls(most) => json!({ "type": "array", "items": url, "maxItems": most }),
        Form::Times => json!({ "type": "number", "minimum": 0.01, "maximum": 100 }),
        Form::Rule => json!({ "type": "string", "pattern": "^[0-9a-f]{16}$" }),
        Form::Sender => json!({ "type": "string", "pattern": "^[a-z0-9._-]{1,64}$" }),
        Form::Ruling => {
            json!({ "type": "string", "enum": Ruling::ALL.map(Ruling::name) })
        }
        Form::Partition => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        Form::Node => json!({ "type": "string", "pattern": "^[0-9a-f]{1,16}$" }),
        Form::Rate => json!({ "type": "string", "pattern": "^[0-9]{1,5}/(s|min|h|d)$" }),
    }
}

fn body(takes: &[Parameter]) -> Value {
    let members: Map<String, Value> = takes
        .iter()
        .map(|takes| {
            let mut schema = schema(takes.form);
            schema["description"] = takes.about.into();
            (takes.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<_> = takes.iter().filter(|t| t.is_required).map(|t| t.name).collect();
    let schema = json!({ "type": "object", "properties": members, "required": required });
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}
