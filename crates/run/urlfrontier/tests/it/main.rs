//! The server over real sockets, with the client that the protocol file generates.
//! `scripts/urlfrontier_check.py` does the same with a client that is not ours.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use futures_util::{StreamExt as _, stream};
use tidewatch_core::Rate;
use tidewatch_urlfrontier::protocol::ack_message::Status as Ack;
use tidewatch_urlfrontier::protocol::url_frontier_client::UrlFrontierClient;
use tidewatch_urlfrontier::protocol::{
    DiscoveredBatch, GetParams, KnownUrlItem, Local, StringList, UrlInfo, UrlItem, url_item,
};
use tidewatch_urlfrontier::{
    MOST_CONNECTIONS, Options, Order, Publishers, Secured, Server, ServerError, Settings,
};
use tokio::sync::oneshot;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};

type Client = UrlFrontierClient<Channel>;

fn options(dir: &Path, order: Order) -> Options {
    let settings = Settings { dir: dir.to_owned(), order, cache: 8 << 20 };
    Options {
        address: ([127, 0, 0, 1], 0).into(),
        settings,
        secured: None,
        desk: None,
        publishers: None,
        connections: MOST_CONNECTIONS,
    }
}

/// Serves until the sender is dropped.
async fn serve(options: Options) -> (SocketAddr, oneshot::Sender<()>) {
    let server = Server::bind(options).await.unwrap();
    let (address, (stop, stopped)) = (server.address(), oneshot::channel::<()>());
    tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    (address, stop)
}

async fn connect(address: SocketAddr) -> Client {
    UrlFrontierClient::connect(format!("http://{address}")).await.unwrap()
}

fn info(url: &str) -> UrlInfo {
    UrlInfo { url: url.to_owned(), ..UrlInfo::default() }
}

fn batch(urls: &[&str]) -> DiscoveredBatch {
    DiscoveredBatch { id: "1".to_owned(), items: urls.iter().map(|url| info(url)).collect() }
}

async fn put(client: &mut Client, batch: DiscoveredBatch) -> Vec<i32> {
    let acks = client.put_discovered(stream::iter([batch])).await.unwrap().into_inner();
    acks.map(|ack| ack.unwrap().statuses).concat().await
}

async fn get(client: &mut Client) -> Vec<UrlInfo> {
    let given = client.get_ur_ls(GetParams::default()).await.unwrap().into_inner();
    given.map(Result::unwrap).collect().await
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_refused_and_the_server_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _stop) = serve(options(dir.path(), Order::Strict)).await;
    let mut client = connect(address).await;
    let many = DiscoveredBatch { items: vec![info("http://a.example/"); 10_001], ..batch(&[]) };
    let mut acks = client.put_discovered(stream::iter([many])).await.unwrap().into_inner();
    let refused = acks.message().await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("10001 URLs is too large"), "{}", refused.message());
    let huge = batch(&[&"h".repeat(17 << 20)]);
    let refused = client.put_discovered(stream::iter([huge])).await.unwrap().into_inner();
    assert!(refused.map(|ack| ack.is_err()).any(|is_refused| async move { is_refused }).await);
    let acks = put(&mut client, batch(&["http://a.example/", "http://a.example/", ""])).await;
    assert_eq!(acks, [Ack::Ok, Ack::Skipped, Ack::Skipped].map(i32::from));
}

/// A connection without a call is closed; one with a call stays.
#[tokio::test]
async fn a_silent_connection_is_closed() {
    use tokio::io::AsyncReadExt as _;

    let dir = tempfile::tempdir().unwrap();
    let (address, _stop) = serve(options(dir.path(), Order::Strict)).await;
    let mut client = connect(address).await;
    assert!(client.get_active(Local::default()).await.unwrap().into_inner().state);
    let mut silent = tokio::net::TcpStream::connect(address).await.unwrap();
    let ended = async { while silent.read(&mut [0; 256]).await.is_ok_and(|read| read > 0) {} };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(18), ended).await;
    assert!(waited.is_ok(), "it is still open");
    assert!(client.get_active(Local::default()).await.is_ok());
}

/// What happened once is not given out with the URL, or it would come back and count again.
#[tokio::test]
async fn clicks_and_hints_are_not_given_out() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _stop) = serve(options(dir.path(), Order::Strict)).await;
    let mut client = connect(address).await;
    let list = |value: &str| StringList { values: vec![value.to_owned()] };
    let pairs = [("tidewatch.clicks", "9"), ("tidewatch.hint", "cms"), ("own", "1")];
    let metadata = pairs.map(|(key, value)| (key.to_owned(), list(value)));
    let one = UrlInfo { metadata: HashMap::from(metadata), ..info("http://a.example/") };
    let batch = DiscoveredBatch { items: vec![one], ..batch(&[]) };
    assert_eq!(put(&mut client, batch).await, [i32::from(Ack::Ok)]);
    let given = get(&mut client).await;
    assert_eq!(given[0].metadata, HashMap::from([("own".to_owned(), list("1"))]));
}

#[tokio::test]
async fn a_price_tells_what_a_url_is_worth() {
    let dir = tempfile::tempdir().unwrap();
    let (policy, budget) = ("price".to_owned(), Rate::per_second(100.0).unwrap());
    let order = Order::Managed { policy, seed: 1, budget };
    let (address, _stop) = serve(options(dir.path(), order)).await;
    let mut client = connect(address).await;
    assert_eq!(put(&mut client, batch(&["http://a.example/", "http://b.example/"])).await.len(), 2);
    let given = get(&mut client).await;
    assert_eq!(given.len(), 2);
    for given in &given {
        for key in ["tidewatch.worth", "tidewatch.price"] {
            let value: f64 = given.metadata[key].values[0].parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{key} is {value}");
        }
    }
    // A date of 0 means never again, whatever the policy thinks.
    let list = |value: &str| StringList { values: vec![value.to_owned()] };
    let metadata = HashMap::from([("tidewatch.status".to_owned(), list("200"))]);
    let known = |given: &UrlInfo| {
        let info = Some(UrlInfo { metadata: metadata.clone(), ..given.clone() });
        let item = url_item::Item::Known(KnownUrlItem { info, refetchable_from_date: 0 });
        UrlItem { item: Some(item), ..UrlItem::default() }
    };
    let items: Vec<UrlItem> = given.iter().map(known).collect();
    let acks = client.put_ur_ls(stream::iter(items)).await.unwrap().into_inner();
    assert_eq!(acks.map(|ack| ack.unwrap().status).collect::<Vec<_>>().await, [0, 0]);
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    assert_eq!(get(&mut client).await, []);
}

#[tokio::test]
async fn other_machines_need_tls_and_the_token() {
    let dir = tempfile::tempdir().unwrap();
    let mut open = options(dir.path(), Order::Strict);
    open.address = ([0, 0, 0, 0], 0).into();
    assert!(matches!(Server::bind(open.clone()).await.err(), Some(ServerError::Unsecured(_))));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let secured = |token: &str| Secured {
        certificate: certificate.clone().into_bytes(),
        key: key.clone().into_bytes(),
        token: token.to_owned(),
    };
    open.secured = Some(secured("short"));
    assert!(matches!(Server::bind(open.clone()).await.err(), Some(ServerError::ShortToken)));
    open.secured = Some(secured("a token of some length"));
    let (address, _stop) = serve(open).await;
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&certificate));
    let endpoint = Endpoint::from_shared(format!("https://localhost:{}", address.port())).unwrap();
    let channel = endpoint.tls_config(tls).unwrap().connect().await.unwrap();
    let mut client = UrlFrontierClient::new(channel);
    let ask = |token: Option<&str>| {
        let mut request = Request::new(Local::default());
        if let Some(token) = token {
            request.metadata_mut().insert("authorization", token.parse().unwrap());
        }
        request
    };
    for token in [None, Some("Bearer a token of some lengtH"), Some("a token of some length")] {
        let refused = client.get_active(ask(token)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
    }
    let active = client.get_active(ask(Some("Bearer a token of some length"))).await.unwrap();
    assert!(active.into_inner().state);
    // Without TLS there is no answer at all.
    let plain = UrlFrontierClient::connect(format!("http://localhost:{}", address.port())).await;
    let mut plain = plain.unwrap();
    assert!(plain.get_active(ask(Some("Bearer a token of some length"))).await.is_err());
}

fn http(at: SocketAddr, path: &str, host: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The operator sees figures and asks why, over HTTP and through the directory.
#[tokio::test(flavor = "multi_thread")]
async fn the_operator_sees_figures_and_asks_why() {
    use tidewatch_core::url::CanonicalUrl;
    use tidewatch_partition::{Question, ask_running};

    let dir = tempfile::tempdir().unwrap();
    let budget = tidewatch_core::Rate::per_second(9.0).unwrap();
    let order = Order::Managed { policy: "price".to_owned(), seed: 1, budget };
    let mut open = options(dir.path(), order);
    open.desk = Some("192.0.2.1:0".parse().unwrap());
    assert!(matches!(Server::bind(open.clone()).await.err(), Some(ServerError::PublicDesk(_))));
    open.desk = Some("127.0.0.1:0".parse().unwrap());
    let server = Server::bind(open).await.unwrap();
    let (desk, address) = (server.desk().unwrap(), server.address());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    let mut client = UrlFrontierClient::connect(format!("http://{address}")).await.unwrap();
    let url = "http://a.example/1".to_owned();
    let items = vec![UrlInfo { url: url.clone(), ..UrlInfo::default() }];
    let batch = DiscoveredBatch { id: "b".to_owned(), items };
    let mut acks = client.put_discovered(tokio_stream::iter([batch])).await.unwrap().into_inner();
    assert!(acks.message().await.unwrap().is_some());

    let looked = tokio::task::spawn_blocking(move || {
        let get = |path: &str| http(desk, path, "localhost");
        let metrics = get("/metrics");
        assert!(
            metrics.contains("tidewatch_frontier_urls_waiting{crawl=\"DEFAULT\"} 1"),
            "{metrics}"
        );
        assert!(metrics.contains("tidewatch_frontier_budget_per_second 9"), "{metrics}");
        assert!(get("/status.json").contains("\"waiting\":1"));
        assert!(get("/").contains("DEFAULT"));
        assert!(get("/api/why?url=http://a.example/1").contains("waits for the policy"));
        assert!(get("/api/why?url=http://a.example/2").starts_with("HTTP/1.1 404"));
        assert!(get("/api/what-if?budget=2x").contains("\"then\""));
        assert!(http(desk, "/metrics", "evil.example").starts_with("HTTP/1.1 421"));
        let why = Question::Why(CanonicalUrl::parse(&url).unwrap());
        let why = ask_running(dir.path(), &why).unwrap().unwrap();
        assert_eq!(why["why"]["crawls"][0]["state"], "waiting");
        assert!(why["told"].as_str().unwrap().contains("Crawl DEFAULT, queue a.example."));
        let what_if = Question::WhatIf("2x".parse().unwrap());
        let what_if = ask_running(dir.path(), &what_if).unwrap().unwrap();
        assert_eq!(what_if["then"]["budget_per_s"], 18.0);
        dir
    });
    let dir = looked.await.unwrap();
    drop((acks, client));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(dir.path().join("snapshot").exists(), "a stop saves");
}

/// A publisher's URLs are taken in once its key is found, and not more of them than its share.
#[tokio::test(flavor = "multi_thread")]
async fn publishers_are_heard_within_their_share() {
    use std::io::{Read as _, Write as _};

    const KEY: &str = "0123456789abcdef";
    let site = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = site.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in site.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), [0; 4096]);
            let _ = stream.read(&mut head);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{KEY}", KEY.len());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let mut open = options(dir.path(), Order::Strict);
    open.publishers = Some(Publishers {
        address: "127.0.0.1:0".parse().unwrap(),
        indexnow: true,
        websub: None,
        allow_private: true,
        user_agent: "Tidewatch/test".to_owned(),
    });
    let server = Server::bind(open).await.unwrap();
    let (ear, keeper) = (server.publishers_at().unwrap(), server.keeper().clone());
    let submit = move |path: String| {
        tokio::task::spawn_blocking(move || {
            let answer = http(ear, &path, "localhost");
            answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
        })
    };
    let one = format!("/indexnow?url=http://{host}/new&key={KEY}");
    assert_eq!(submit(one.clone()).await.unwrap(), 422, "no queue of that host yet");
    let (crawl, key) = (String::new(), String::new());
    let known = tidewatch_keeper::Item {
        crawl: crawl.clone(),
        key: key.clone(),
        url: format!("http://{host}/"),
        said: tidewatch_keeper::Said::Discovered,
        payload: Vec::new(),
        told: None,
    };
    keeper.put(vec![known]).await.unwrap();
    assert_eq!(submit(one).await.unwrap(), 200);
    let urls = async || keeper.figures(crawl.clone(), key.clone()).await.unwrap().urls();
    assert_eq!(urls().await, 2);
    let list: Vec<String> = (0..1_000).map(|n| format!("\"http://{host}/flood/{n}\"")).collect();
    let body =
        format!("{{\"host\":\"{host}\",\"key\":\"{KEY}\",\"urlList\":[{}]}}", list.join(","));
    let request = format!(
        "POST /indexnow HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let flooded = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(ear).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    assert!(flooded.await.unwrap().starts_with("HTTP/1.1 200"));
    // A tenth of 1/s, saved up for an hour, and the two of before.
    let grown = urls().await;
    assert!((300..=362).contains(&grown), "{grown}");
}
