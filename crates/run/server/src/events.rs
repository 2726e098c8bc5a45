//! The stream of figures for the dashboard, to a bounded number of readers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use serde_json::{Value, json};
use tidewatch_partition::network_of;
use tokio::sync::watch;

use crate::board::Figures;
use crate::client;
use crate::net::Peer;
use crate::search_api::refuse;
use crate::shared::Shared;

/// Readers at once: each holds a connection as long as it likes.
const READERS: usize = 128;
/// Readers at once of one client, such as tabs of a browser.
const PER_CLIENT: usize = 16;
/// Least time between two events.
const EVENT_EVERY: Duration = Duration::from_secs(1);

/// Who reads events now.
#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Readers {
    /// Lets one more read, if there is room.
    fn admit(&self, client: IpAddr) -> Option<Reader> {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = readers.get(&client).copied().unwrap_or(0);
        if own >= PER_CLIENT || readers.values().sum::<usize>() >= READERS {
            return None;
        }
        readers.insert(client, own + 1);
        Some(Reader { of: self.clone(), client })
    }
}

/// One reader, until dropped.
struct Reader {
    of: Readers,
    client: IpAddr,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut readers = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = readers.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                readers.remove(&self.client);
            }
        }
    }
}

pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let client = network_of(client::address(peer, &headers, shared.is_proxied()));
    let Some(reader) = shared.readers().admit(client) else {
        let why = "too many read events already; read /status.json instead";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    };
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    let changes = shared.board().changes();
    tokio::spawn(send_events(shared, changes, sender));
    let stream = Receiving { events: receiver, _reader: reader };
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

/// Sends an event for every change, but not too many, until the reader goes.
async fn send_events(
    shared: Arc<Shared>,
    mut changes: watch::Receiver<u64>,
    sender: tokio::sync::mpsc::Sender<Event>,
) {
    changes.mark_changed();
    while changes.changed().await.is_ok() {
        changes.borrow_and_update();
        if let Some(figures) = shared.board().figures() {
            let event = Event::default().event("figures").data(brief(&figures).to_string());
            if sender.send(event).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(EVENT_EVERY) => {}
            () = sender.closed() => return,
        }
    }
}

/// The figures in an event.
fn brief(figures: &Figures) -> Value {
    let status = &figures.status;
    json!({
        "fetches": status.tally.all_fetches(),
        "pages": status.pages,
        "held": status.tally.held,
        "price": status.price,
        "freshness": status.freshness.map(|freshness| freshness.share),
        "is_running": figures.is_running,
    })
}

struct Receiving {
    events: tokio::sync::mpsc::Receiver<Event>,
    _reader: Reader,
}

impl Stream for Receiving {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context).map(|event| event.map(Ok))
    }
}
