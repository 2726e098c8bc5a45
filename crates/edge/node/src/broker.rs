//! The connection to the brokers, and what they must be like.
//!
//! A cluster keeps its claims, its members and its links between partitions in NATS JetStream. That is
//! only as safe as the brokers are: three replicas, and every write synced before it is acknowledged.
//! [`Broker::connect`] checks as much of this as a client can see, and says what it could not check.

use std::time::{Duration, SystemTime};

use async_nats::ServerAddr;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::kv::{self, UpdateErrorKind};
use async_nats::jetstream::stream::{self, StorageType, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectOptions, Event};
use bytes::Bytes;

use crate::monitor;

/// Replicas of everything kept at the brokers.
pub const REPLICAS: usize = 3;
/// The oldest server whose streams, filters and buckets do what a cluster needs.
const LEAST_VERSION: (u32, u32) = (2, 15);
/// How long a request to a broker may take. An election takes about five seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the first connection may take.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// A clock that is further off is worth a word. Leases do not depend on it; dates of pages do.
const CLOCK: Duration = Duration::from_mins(1);
/// The broker forgets the ids of parcels after this long. Receivers remember them longer.
const REMEMBERED: Duration = Duration::from_mins(2);

/// Why a cluster cannot be joined. Every message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// An address cannot be read.
    #[error("`{address}` is not the address of a broker ({why}); write nats://HOST:4222")]
    BadAddress {
        /// The address.
        address: String,
        /// What is wrong.
        why: String,
    },
    /// Nothing answers.
    #[error(
        "no broker answers at {addresses} ({why}); start nats-server there, or name one that runs. \
         docs/cluster.md shows how"
    )]
    NoBroker {
        /// All addresses tried.
        addresses: String,
        /// The client's error.
        why: String,
    },
    /// The server is too old.
    #[error(
        "the broker {name} is nats-server {version}; a cluster needs {}.{} or newer: its older streams \
         lose or repeat messages",
        LEAST_VERSION.0,
        LEAST_VERSION.1
    )]
    OldServer {
        /// The server's name.
        name: String,
        /// Its version.
        version: String,
    },
    /// The server keeps no streams.
    #[error(
        "the broker {name} runs without JetStream; add `jetstream {{ store_dir: DIR, sync_interval: \
         always }}` to its configuration"
    )]
    NoJetStream {
        /// The server's name.
        name: String,
    },
    /// The server acknowledges before it syncs.
    #[error(
        "the broker at {address} acknowledges writes up to {seconds} s before it syncs them to disk, so \
         a power failure would lose links; set `sync_interval: always` in the `jetstream` block of its \
         configuration and restart it"
    )]
    NotSynced {
        /// Where it listens.
        address: String,
        /// Its interval.
        seconds: f64,
    },
    /// There are too few servers.
    #[error(
        "the brokers cannot keep {REPLICAS} replicas ({why}); run three nats-servers with JetStream as \
         one NATS cluster, so that one may fail"
    )]
    TooFewReplicas {
        /// What the server says.
        why: String,
    },
    /// The brokers serve another crawl.
    #[error(
        "the brokers hold the cluster of another crawl than {dir}; use other brokers, or another \
         --dir to join that crawl"
    )]
    OtherCrawl {
        /// The directory of this node.
        dir: String,
    },
    /// There is no cluster to look at.
    #[error(
        "the brokers at {addresses} hold no cluster yet; begin one with `tidewatch crawl SEED… --cluster {addresses} --dir DIR --checkpoints DIR`"
    )]
    NoCluster {
        /// Their addresses.
        addresses: String,
    },
    /// Several nodes are meant.
    #[error("the names of {count} nodes begin with {prefix}; write more of the name")]
    Ambiguous {
        /// The beginning of a name.
        prefix: String,
        /// How many nodes have it.
        count: usize,
    },
    /// The members run another version.
    #[error(
        "this cluster speaks protocol {theirs}, and this tidewatch {ours}; run the same version on all nodes"
    )]
    OtherVersion {
        /// That of the cluster.
        theirs: u32,
        /// That of this program.
        ours: u32,
    },
    /// A request failed.
    #[error("the brokers could not {what}: {why}")]
    Failed {
        /// What was asked.
        what: &'static str,
        /// The client's error.
        why: String,
    },
}

impl BrokerError {
    /// A request that failed.
    pub(crate) fn failed(what: &'static str, why: impl std::fmt::Display) -> BrokerError {
        BrokerError::Failed { what, why: why.to_string() }
    }

    /// Whether the brokers may do it soon: a leader is being elected.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, BrokerError::Failed { .. })
    }
}

/// A connection to the brokers. Cheap to clone; reconnects by itself.
#[derive(Clone)]
pub struct Broker {
    client: Client,
    context: Context,
}

/// What a write that expected a revision came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written and has this revision.
    Done(u64),
    /// Somebody else wrote first.
    Refused,
    /// No answer came: it may have been written.
    Unknown,
}

impl Broker {
    /// Connects to any of the brokers at `urls` (separated by commas) and checks them. Returns what could
    /// not be checked, in sentences.
    pub async fn connect(urls: &str) -> Result<(Broker, Vec<String>), BrokerError> {
        let addresses = addresses(urls)?;
        let options = match credentials(&addresses) {
            Some((user, password)) => ConnectOptions::with_user_and_password(user, password),
            None => ConnectOptions::new(),
        };
        let options = options
            .name("tidewatch")
            .connection_timeout(Duration::from_secs(2))
            .request_timeout(Some(PATIENCE))
            .ping_interval(Duration::from_secs(5))
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis(50 * attempts.min(20) as u64)
            })
            .event_callback(|_: Event| async {});
        let no_broker = |why: String| BrokerError::NoBroker { addresses: shown(&addresses), why };
        let connecting = tokio::time::timeout(FIRST_WAIT, options.connect(&addresses[..])).await;
        let client = match connecting {
            Ok(connected) => connected.map_err(|error| no_broker(error.to_string()))?,
            Err(_) => return Err(no_broker("it does not answer in time".to_owned())),
        };
        let info = client.server_info();
        if !is_new_enough(&info.version) {
            return Err(BrokerError::OldServer { name: info.server_name, version: info.version });
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(PATIENCE);
        if !info.jetstream {
            return Err(BrokerError::NoJetStream { name: info.server_name });
        }
        let account = context.query_account().await;
        account.map_err(|error| BrokerError::failed("open the account", error))?;
        let notes = monitor::check(&addresses).await?;
        Ok((Broker { client, context }, notes))
    }

    /// Whether a broker is connected at this moment.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// The client, for requests between nodes.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A bucket of keys, each with its newest value, made if it is missing.
    pub async fn bucket(&self, name: &str) -> Result<Bucket, BrokerError> {
        let config = kv::Config {
            bucket: name.to_owned(),
            history: 1,
            storage: StorageType::File,
            num_replicas: REPLICAS,
            ..kv::Config::default()
        };
        let store = if let Ok(store) = self.context.get_key_value(name).await {
            store
        } else {
            let made = self.context.create_key_value(config).await;
            made.map_err(|error| not_made("make a bucket", &error))?
        };
        let stream = self.context.get_stream(format!("KV_{name}")).await;
        let stream = stream.map_err(|error| BrokerError::failed("open a bucket", error))?;
        replicated(&stream)?;
        Ok(Bucket { store, stream, name: name.to_owned() })
    }

    /// A log of messages under `subjects`, made if it is missing.
    pub async fn log(&self, name: &str, subjects: &str) -> Result<Stream, BrokerError> {
        self.log_for(name, subjects, Duration::ZERO).await
    }

    /// The same for a log that forgets messages after some time; zero for never.
    pub(crate) async fn log_for(
        &self,
        name: &str,
        subjects: &str,
        max_age: Duration,
    ) -> Result<Stream, BrokerError> {
        let config = stream::Config {
            name: name.to_owned(),
            subjects: vec![subjects.to_owned()],
            storage: StorageType::File,
            num_replicas: REPLICAS,
            duplicate_window: REMEMBERED,
            max_age,
            ..stream::Config::default()
        };
        let made = self.context.get_or_create_stream(config).await;
        let stream = made.map_err(|error| not_made("make a stream", &error))?;
        replicated(&stream)?;
        Ok(stream)
    }

    /// The streams' context.
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// Keys with their newest values. Every write has a revision, and a write may demand which one it
/// replaces.
#[derive(Clone)]
pub struct Bucket {
    store: kv::Store,
    stream: Stream,
    name: String,
}

impl Bucket {
    /// Writes a value whatever was there.
    pub async fn put(&self, key: &str, value: Vec<u8>) -> Written {
        match self.store.put(key, Bytes::from(value)).await {
            Ok(revision) => Written::Done(revision),
            Err(_) => Written::Unknown,
        }
    }

    /// Replaces the value of revision `expected`; 0 if there must be none.
    pub async fn update(&self, key: &str, value: Vec<u8>, expected: u64) -> Written {
        match self.store.update(key, Bytes::from(value), expected).await {
            Ok(revision) => Written::Done(revision),
            Err(error) if is_refused(&error) => Written::Refused,
            Err(_) => Written::Unknown,
        }
    }

    /// The value of a key and its revision, as the leader has it.
    pub async fn get(&self, key: &str) -> Result<Option<(u64, Vec<u8>)>, BrokerError> {
        let subject = format!("$KV.{}.{key}", self.name);
        match self.stream.get_last_raw_message_by_subject(&subject).await {
            Ok(found) if found.headers.get("KV-Operation").is_some() => Ok(None),
            Ok(found) => Ok(Some((found.sequence, found.payload.to_vec()))),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
                Ok(None)
            }
            Err(error) => Err(BrokerError::failed("read a key", error)),
        }
    }

    /// Removes a key.
    pub async fn delete(&self, key: &str) -> Result<(), BrokerError> {
        self.store.delete(key).await.map_err(|error| BrokerError::failed("delete a key", error))
    }

    /// The stream behind the bucket, and the part of a subject that comes before the key.
    pub fn stream(&self) -> (&Stream, String) {
        (&self.stream, format!("$KV.{}.", self.name))
    }

    /// How far this machine's clock is from the brokers', as a sentence if that is far. Writes a key.
    pub async fn clock_note(&self, key: &str) -> Result<Option<String>, BrokerError> {
        if !matches!(self.put(key, Vec::new()).await, Written::Done(_)) {
            return Err(BrokerError::failed("write a key", "no answer"));
        }
        let now = SystemTime::now();
        let subject = format!("$KV.{}.{key}", self.name);
        let found = self.stream.get_last_raw_message_by_subject(&subject).await;
        let found = found.map_err(|error| BrokerError::failed("read a key", error))?;
        let theirs = SystemTime::from(found.time);
        let off = now.duration_since(theirs).unwrap_or_else(|early| early.duration());
        let way = if now > theirs { "ahead of" } else { "behind" };
        Ok((off > CLOCK).then(|| {
            format!(
                "the clock of this machine is {} s {way} the brokers'. Nothing is lost by it, but dates \
                 of pages will be wrong: set the clock, for example with NTP.",
                off.as_secs()
            )
        }))
    }
}

/// The server's error, if it answered the request.
fn answered(error: &(dyn std::error::Error + 'static)) -> Option<jetstream::Error> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| {
        let made = error.downcast_ref::<CreateStreamError>().map(CreateStreamError::kind);
        match made {
            Some(CreateStreamErrorKind::JetStream(told)) => Some(told),
            _ => error.downcast_ref::<jetstream::Error>().cloned(),
        }
    })
}

/// Why a bucket or stream could not be made. If there is no leader, one will be elected; anything else that
/// the server says is about replicas.
fn not_made(what: &'static str, error: &(dyn std::error::Error + 'static)) -> BrokerError {
    let leaderless = [ErrorCode::CLUSTER_NOT_AVAILABLE, ErrorCode::CLUSTER_NOT_LEADER];
    match answered(error) {
        Some(told) if !leaderless.contains(&told.error_code()) => {
            BrokerError::TooFewReplicas { why: told.to_string() }
        }
        _ => BrokerError::failed(what, error),
    }
}

/// Whether a write was refused because another one came first, or is on its way.
fn is_refused(error: &kv::UpdateError) -> bool {
    answered(error).map_or(error.kind() == UpdateErrorKind::WrongLastRevision, |told| {
        let code = told.error_code();
        code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE
            || code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
    })
}

fn replicated(stream: &Stream) -> Result<(), BrokerError> {
    let info = stream.cached_info();
    if info.config.num_replicas < REPLICAS {
        let why = format!("{} has {}", info.config.name, info.config.num_replicas);
        return Err(BrokerError::TooFewReplicas { why });
    }
    Ok(())
}

/// Reads addresses that are separated by commas; the scheme may be left out.
fn addresses(urls: &str) -> Result<Vec<ServerAddr>, BrokerError> {
    let one = |address: &str| {
        let url =
            if address.contains("://") { address.to_owned() } else { format!("nats://{address}") };
        let parsed: Result<ServerAddr, _> = url.parse();
        parsed.map_err(|error| BrokerError::BadAddress {
            // Before an @ there may be a password.
            address: address.rsplit('@').next().unwrap_or_default().to_owned(),
            why: error.to_string(),
        })
    };
    urls.split(',').map(|address| one(address.trim())).collect()
}

/// User and password of the first address that has them. The client does not take them from there itself.
fn credentials(addresses: &[ServerAddr]) -> Option<(String, String)> {
    let named =
        addresses.iter().find_map(|address| Some((address.username()?, address.password()?)));
    named.map(|(user, password)| (unescape(user), unescape(password)))
}

/// Text in which `%41` stands for a byte.
fn unescape(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Addresses as they were given, without passwords.
pub(crate) fn shown_of(urls: &str) -> String {
    addresses(urls).map_or_else(|error| error.to_string(), |addresses| shown(&addresses))
}

/// Addresses without passwords.
fn shown(addresses: &[ServerAddr]) -> String {
    let one = |address: &ServerAddr| format!("nats://{}:{}", address.host(), address.port());
    addresses.iter().map(one).collect::<Vec<_>>().join(",")
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    version >= LEAST_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_read_and_never_shown() {
        let all = addresses("nats://a.example,nats://me:p%40ss%2@b.example:4333").unwrap();
        assert_eq!(credentials(&all), Some(("me".to_owned(), "p@ss%2".to_owned())));
        assert_eq!(shown(&all), "nats://a.example:4222,nats://b.example:4333");
        assert_eq!(credentials(&addresses("a.example").unwrap()), None);
        let refused = addresses("nats://me:p@ss@b.example:port").unwrap_err().to_string();
        assert!(refused.contains("`b.example:port`") && !refused.contains("p@ss"), "{refused}");
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(is_new_enough("2.15.1") && is_new_enough("2.15.0-RC.1") && is_new_enough("3.0.0"));
        assert!(!is_new_enough("2.9.10") && !is_new_enough("2.14.9") && !is_new_enough(""));
    }

    #[test]
    fn addresses_may_leave_out_the_scheme() {
        let found = addresses("nats://a.example:4222, b.example,127.0.0.1:5").unwrap();
        let found: Vec<_> = found.iter().map(|a| (a.host().to_owned(), a.port())).collect();
        let want = [("a.example", 4222), ("b.example", 4222), ("127.0.0.1", 5)];
        assert_eq!(found, want.map(|(host, port)| (host.to_owned(), port)));
        let refused = addresses("http://a.example").unwrap_err().to_string();
        assert!(refused.contains("`http://a.example` is not the address of a broker"), "{refused}");
    }
}
