//! What a broker tells over its monitoring port: whether it syncs before it acknowledges.
//!
//! A client cannot ask this over its own connection. `nats-server` tells it over HTTP, at a port that is
//! 4000 above the client's by convention (4222 and 8222). A broker that does not listen there cannot be
//! checked.

use std::time::Duration;

use async_nats::ServerAddr;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::broker::BrokerError;

/// From a broker's port for clients to its monitoring port.
const ABOVE: u16 = 4000;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct Varz {
    jetstream: Option<Kept>,
}

#[derive(Deserialize)]
struct Kept {
    config: Option<Syncs>,
}

#[derive(Deserialize)]
struct Syncs {
    #[serde(default)]
    sync_always: bool,
    #[serde(default)]
    sync_interval: u64,
}

/// Checks each broker that tells. Returns sentences about those that do not.
pub(crate) async fn check(addresses: &[ServerAddr]) -> Result<Vec<String>, BrokerError> {
    let mut notes = Vec::new();
    for address in addresses {
        let (host, port) = (address.host().to_owned(), address.port().saturating_add(ABOVE));
        let told = tokio::time::timeout(PATIENCE, ask(&host, port)).await.ok().flatten();
        let syncs = told.and_then(|varz| varz.jetstream).and_then(|kept| kept.config);
        match syncs {
            Some(syncs) if !syncs.sync_always => {
                let address = format!("{host}:{}", address.port());
                let seconds = Duration::from_nanos(syncs.sync_interval).as_secs_f64();
                return Err(BrokerError::NotSynced { address, seconds });
            }
            Some(_) => {}
            None => notes.push(format!(
                "cannot see whether the broker {host}:{} syncs before it acknowledges: nothing tells at \
                 its monitoring port {host}:{port}. Set `http: {port}` in its configuration, or make sure \
                 yourself that it says `sync_interval: always`.",
                address.port()
            )),
        }
    }
    Ok(notes)
}

/// The general figures of a broker; `None` if it does not tell.
async fn ask(host: &str, port: u16) -> Option<Varz> {
    let mut stream = TcpStream::connect((host, port)).await.ok()?;
    let request = format!("GET /varz HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer).await.ok()?;
    let answer = std::str::from_utf8(&answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split_whitespace().nth(1).is_none_or(|status| status != "200") {
        return None;
    }
    serde_json::from_str(body).ok()
}
