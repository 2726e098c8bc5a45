//! Serves hosts on loopback, each with as many pages of BYTES: `serve PORT HOSTS PAGES BYTES`.
//!
//! Host k is 127.0.1.k. The next port serves the same over TLS, with a full handshake for every page
//! as with a stranger's server; its certificate is written to `roots.pem` in the working directory. Page n of a host links to pages 2n+1 and 2n+2 in its text and to 58
//! others around it, so that every crawler finds all of them and sees most links often.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tidewatch_speed::numbers;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, pki_types::PrivateKeyDer};

const WORDS: [&str; 16] = [
    "water", "city", "people", "council", "report", "river", "price", "harbour", "train", "winter",
    "region", "energy", "music", "history", "forest", "island",
];

fn page(number: usize, pages: usize, bytes: usize) -> String {
    let mut text = format!("<!DOCTYPE html><html><head><title>Page {number}</title></head><body>");
    let mut dice = number as u64 + 1;
    let mut word = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(dice >> 60) as usize]
    };
    let links = [2 * number + 1, 2 * number + 2];
    let links = links.into_iter().chain((1..59).map(|step| (number + 7 * step) % pages));
    for to in links.filter(|&to| to < pages) {
        let _ = write!(text, "<div class=\"item\"><a href=\"/p/{to}\">The {}</a><p>", word());
        for _ in 0..46 {
            let _ = write!(text, "{} ", word());
        }
        text.push_str("</p></div>\n");
    }
    while text.len() < bytes {
        let _ = write!(text, "<p class=\"text\">{} {} {}</p>\n", word(), word(), word());
    }
    text + "</body></html>"
}

fn reply(path: &str, pages: &[Bytes]) -> Response<Full<Bytes>> {
    let (status, kind, body) = match path {
        "/robots.txt" => (200, "text/plain", Bytes::from_static(b"User-agent: *\nDisallow: /no\n")),
        "/" => (200, "text/html", pages[0].clone()),
        path => {
            let number = path.strip_prefix("/p/").and_then(|n| n.parse::<usize>().ok());
            match number.and_then(|number| pages.get(number)) {
                Some(page) => (200, "text/html", page.clone()),
                None => (404, "text/html", Bytes::from_static(b"<p>nothing</p>")),
            }
        }
    };
    let builder = Response::builder().status(status).header("content-type", kind);
    builder.body(Full::new(body)).expect("a valid reply")
}

/// A certificate for all hosts, written where crawlers find it.
fn tls(hosts: usize) -> TlsAcceptor {
    let names: Vec<String> = (1..=hosts).map(tidewatch_speed::name).collect();
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    std::fs::write("roots.pem", made.cert.pem()).expect("a writable directory");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.expect("usual versions").with_no_client_auth();
    let mut config = config.with_single_cert(vec![made.cert.der().clone()], key).expect("a pair");
    config.send_tls13_tickets = 0;
    TlsAcceptor::from(Arc::new(config))
}

async fn serve<S>(socket: S, pages: Arc<Vec<Bytes>>, keeps_alive: bool)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let reply = reply(request.uri().path(), &pages);
        async { Ok::<_, Infallible>(reply) }
    });
    let connection = http1::Builder::new()
        .keep_alive(keeps_alive)
        .serve_connection(TokioIo::new(socket), service);
    let _ = connection.await;
}

#[tokio::main]
async fn main() {
    let [port, hosts, count, bytes] = numbers("serve PORT HOSTS PAGES BYTES");
    let pages: Arc<Vec<Bytes>> =
        Arc::new((0..count).map(|number| page(number, count, bytes).into()).collect());
    let tls = tls(hosts);
    let mut tasks = tokio::task::JoinSet::new();
    for (host, is_tls) in (1..=hosts).flat_map(|host| [(host, false), (host, true)]) {
        let at = tidewatch_speed::host(host, port + usize::from(is_tls));
        let listener = TcpListener::bind(at).await.expect("a port");
        let (pages, tls) = (pages.clone(), tls.clone());
        tasks.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                let (pages, tls) = (pages.clone(), tls.clone());
                tokio::spawn(async move {
                    if !is_tls {
                        serve(socket, pages, true).await;
                    } else if let Ok(socket) = tls.accept(socket).await {
                        serve(socket, pages, false).await;
                    }
                });
            }
        });
    }
    println!("ready");
    tasks.join_next().await;
}
