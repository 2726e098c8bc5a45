//! Serves hosts on loopback, each with as many pages of about 26 KB: `serve PORT HOSTS PAGES`.
//!
//! Host k is 127.0.1.k. Page n of a host links to pages 2n+1 and 2n+2 in its text and to 58
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
use tokio::net::TcpListener;

const BYTES: usize = 26_000;
const WORDS: [&str; 16] = [
    "water", "city", "people", "council", "report", "river", "price", "harbour", "train", "winter",
    "region", "energy", "music", "history", "forest", "island",
];

fn page(number: usize, pages: usize) -> String {
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
    while text.len() < BYTES {
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

#[tokio::main]
async fn main() {
    let [port, hosts, count] = numbers("serve PORT HOSTS PAGES");
    let pages: Arc<Vec<Bytes>> = Arc::new((0..count).map(|n| page(n, count).into()).collect());
    let mut tasks = tokio::task::JoinSet::new();
    for host in 1..=hosts {
        let listener = TcpListener::bind(tidewatch_speed::host(host, port)).await.expect("a port");
        let pages = pages.clone();
        tasks.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                let pages = pages.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request: Request<Incoming>| {
                        let reply = reply(request.uri().path(), &pages);
                        async { Ok::<_, Infallible>(reply) }
                    });
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
    }
    println!("ready");
    tasks.join_next().await;
}
