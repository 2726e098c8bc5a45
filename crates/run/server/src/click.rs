//! Follows a result and counts the click.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Extension, Query as Fields, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::html;
use serde::Deserialize;
use tidewatch_report::clean;
use tidewatch_search::SearchError;
use tidewatch_search::clicks::{BadTicket, Ticket};

use crate::client;
use crate::finder::Whereabouts;
use crate::layout::{self, Part};
use crate::net::Peer;
use crate::shared::{Search, Shared, now_ms};

/// What a link carries.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Link {
    #[serde(default)]
    t: String,
}

/// What to do with a link.
enum Verdict {
    Follow(String),
    Gone,
    Forged,
    /// It no longer counts; its target, if that is known.
    Expired(Option<String>),
    /// It counts, but the owner of the page does not answer.
    Unknown,
}

pub(crate) async fn go(
    State(shared): State<Arc<Shared>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    fields: Result<Fields<Link>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Some(search) = shared.search().cloned() else { return answer(Verdict::Forged) };
    let Fields(link) = fields.unwrap_or_default();
    let address = client::address(peer, &headers, shared.is_proxied());
    let desk = search.clone();
    let work = move || accept(&desk, &link.t, address);
    if let Ok(Ok(ticket)) = tokio::task::spawn_blocking(work).await
        && let Ok(verdict) = judge(&search, ticket).await
    {
        return answer(verdict);
    }
    let why = "The click could not be logged. Try again in a moment.";
    layout::message(StatusCode::SERVICE_UNAVAILABLE, "Click failed", why)
}

/// Counts the click, if it is one.
fn accept(
    search: &Search,
    text: &str,
    address: IpAddr,
) -> Result<Result<Ticket, BadTicket>, SearchError> {
    let now_ms = now_ms();
    let client = search.desk().client(address, now_ms / 1_000)?;
    Ok(search.desk().click(text, client, now_ms)?.map(|clicked| clicked.ticket))
}

async fn judge(search: &Search, ticket: Result<Ticket, BadTicket>) -> Result<Verdict, SearchError> {
    let (ticket, counts) = match ticket {
        Ok(ticket) => (ticket, true),
        Err(BadTicket::Expired(ticket)) => (ticket, false),
        Err(BadTicket::Forged) => return Ok(Verdict::Forged),
    };
    Ok(match (search.finder().find(ticket.page).await?, counts) {
        (Whereabouts::Url(url), true) => Verdict::Follow(url),
        (Whereabouts::Url(url), false) => Verdict::Expired(Some(url)),
        (Whereabouts::Gone, true) => Verdict::Gone,
        (Whereabouts::Unknown, true) => Verdict::Unknown,
        (Whereabouts::Gone | Whereabouts::Unknown, false) => Verdict::Expired(None),
    })
}

fn answer(verdict: Verdict) -> Response {
    match verdict {
        Verdict::Follow(url) => match HeaderValue::from_str(&url) {
            Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
            Err(_) => answer(Verdict::Gone),
        },
        Verdict::Gone => {
            let why = "The page has left the index since this result was shown: it is gone or asks \
                       not to be indexed. Search again for current results.";
            layout::message(StatusCode::GONE, "Page gone", why)
        }
        Verdict::Unknown => {
            let why =
                "The machine that holds this page does not answer at the moment. Try again soon.";
            layout::message(StatusCode::SERVICE_UNAVAILABLE, "Page out of reach", why)
        }
        Verdict::Forged => {
            let why = "This link was not made by this search page, or was changed since. Search \
                       again and follow a result.";
            layout::message(StatusCode::FORBIDDEN, "Invalid link", why)
        }
        Verdict::Expired(url) => {
            let body = html! {
                h1 { "Expired link" }
                p { "This result was shown too long ago, so the click is not counted." }
                @if let Some(url) = url {
                    p { "It led to " a rel="nofollow noreferrer" href=(url) { (clean(&url)) } "." }
                }
                p { a href="/" { "Search again" } }
            };
            (StatusCode::GONE, layout::page("Expired link", Part::Search, &body)).into_response()
        }
    }
}
