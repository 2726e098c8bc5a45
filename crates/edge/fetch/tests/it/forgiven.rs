//! Faults of servers that browsers forgive.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use tidewatch_fetch::{End, Fetched, Purpose};

use crate::server::{Server, answer, get, request};

const TEXT: &[u8] = b"<p>high water at noon";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn fetched(reply: Vec<u8>) -> Fetched {
    let server = Server::start(move |_| reply.clone()).await;
    let ask = request("http://a.example/", Purpose::Page);
    server.fetcher().fetch(&ask, &mut |_| false).await
}

#[tokio::test]
async fn an_empty_body_needs_no_encoding() {
    for coding in ["gzip", "deflate", "br", "zstd", "br, gzip"] {
        for (status, end) in [
            ("200 OK", "answered"),
            ("204 No Content", "answered"),
            ("304 Not Modified", "answered"),
            ("404 Not Found", "answered"),
            ("301 Moved", "redirect"),
        ] {
            let headers = format!("Location: /x\r\nContent-Encoding: {coding}\r\n");
            let fetched = fetched(answer(status, &headers, b"")).await;
            assert_eq!(fetched.end.name(), end, "{status} {coding}");
            assert!(!fetched.response().unwrap().is_damaged, "{status} {coding}");
        }
    }
}

#[tokio::test]
async fn status_and_location_decide_without_a_body() {
    let bodies = [
        "Content-Length: 99\r\n\r\nshort",
        "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
        "Content-Encoding: compress\r\nContent-Length: 5\r\n\r\nplain",
        "Content-Encoding: gzip,gzip,gzip\r\nContent-Length: 5\r\n\r\nplain",
        "Transfer-Encoding: chunked\r\n\r\nno chunk",
    ];
    for body in bodies {
        for status in [301, 302, 307, 308, 404, 410, 403, 500, 503] {
            let reply = format!("HTTP/1.1 {status} X\r\nLocation: /x\r\n{body}");
            let fetched = fetched(reply.into_bytes()).await;
            let want = if status < 400 { "redirect" } else { "answered" };
            assert_eq!(fetched.end.name(), want, "{status} {body}");
            let response = fetched.response().unwrap();
            assert!(response.status == status && response.is_damaged, "{status} {body}");
        }
        let reply = format!("HTTP/1.1 200 OK\r\n{body}");
        assert!(fetched(reply.into_bytes()).await.failure().is_some(), "200 {body}");
    }
}

#[tokio::test]
async fn unknown_encodings_are_ignored() {
    for name in ["none", "utf-8", "identity", "UTF8", "binary"] {
        let fetched =
            fetched(answer("200 OK", &format!("Content-Encoding: {name}\r\n"), TEXT)).await;
        assert_eq!(fetched.end, End::Answered, "{name}");
        assert_eq!(fetched.response().unwrap().body, TEXT, "{name}");
    }
}

#[tokio::test]
async fn what_decoded_before_damage_is_kept() {
    let whole = gzip(TEXT);
    let garbage = [&whole[..], b"\0\0\0garbage"].concat();
    for body in [&garbage[..], &whole[..whole.len() - 8], &whole[..whole.len() - 3]] {
        let fetched = fetched(answer("200 OK", "Content-Encoding: gzip\r\n", body)).await;
        assert_eq!(fetched.end, End::Answered);
        let response = fetched.response().unwrap();
        assert_eq!((&response.body[..], response.is_damaged), (TEXT, true));
    }
    // Half a robots.txt may lack the rule that counts.
    let server =
        Server::start(move |_| answer("200 OK", "Content-Encoding: gzip\r\n", &garbage)).await;
    let ask = request("http://a.example/robots.txt", Purpose::Robots);
    let robots = server.fetcher().fetch(&ask, &mut |_| true).await;
    assert_eq!(robots.end.name(), "bad-encoding");
}

#[tokio::test]
async fn lines_may_lack_their_cr() {
    let reply = "HTTP/1.1 200 OK\nX: y\nTransfer-Encoding: chunked\n\n\
                 b\n<p>high\nwat\n0a;x\r\ner at noon\r\n0\n\n";
    let fetched = fetched(reply.into()).await;
    assert_eq!(fetched.end, End::Answered);
    let response = fetched.response().unwrap();
    assert_eq!(response.body, b"<p>high\nwater at noon");
    assert_eq!(response.head, b"HTTP/1.1 200 OK\nX: y\nTransfer-Encoding: chunked\n\n");
}

#[tokio::test]
async fn an_empty_length_is_ignored_and_two_lengths_are_refused() {
    let empty = "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n<p>high water at noon";
    let fetched_empty = fetched(empty.into()).await;
    assert_eq!(fetched_empty.end, End::Answered);
    let response = fetched_empty.response().unwrap();
    assert_eq!(response.body, TEXT);
    assert!(response.head.ends_with(b"Content-Length:\r\n\r\n"));
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd";
    assert_eq!(fetched(two.into()).await.end.name(), "protocol");
}

#[tokio::test]
async fn a_location_keeps_its_bytes() {
    for (location, want) in [
        (&b"/caf\xe9"[..], "http://a.example/caf%E9"),
        ("/caf\u{e9}".as_bytes(), "http://a.example/caf%C3%A9"),
        (&b"/\xe9?q=\xe9"[..], "http://a.example/%E9?q=%E9"),
    ] {
        let reply = [b"HTTP/1.1 301 X\r\nContent-Length: 0\r\nLocation: ", location, b"\r\n\r\n"];
        let fetched = fetched(reply.concat()).await;
        let End::Redirect(target) = &fetched.end else { panic!("{:?}", fetched.end) };
        assert_eq!(target.as_str(), want);
    }
}

#[tokio::test]
async fn a_damaged_connection_is_not_used_again() {
    let mut reply = answer("200 OK", "Content-Encoding: gzip\r\n", &gzip(TEXT));
    let length = reply.len();
    reply[length - 8] ^= 1;
    let server = Server::start(move |_| reply.clone()).await;
    let fetcher = server.fetcher();
    for _ in 0..2 {
        assert_eq!(get(&fetcher, "http://a.example/").await.end, End::Answered);
    }
    assert_eq!(*server.connections.lock().unwrap(), 2);
}

/// A word that is no encoding says nothing about the body.
#[tokio::test]
async fn words_that_are_no_encoding_are_passed_over() {
    for word in ["text/html", "rot13", "UTF8", "gzip-not", "\u{e9}"] {
        let fetched =
            fetched(answer("200 OK", &format!("Content-Encoding: {word}\r\n"), TEXT)).await;
        assert_eq!(fetched.response().unwrap().body, TEXT, "{word}");
    }
}

/// Nobody asked for it, but a body must not be taken for text while it is encoded.
#[tokio::test]
async fn a_gzipped_transfer_is_decoded() {
    let zipped = gzip(TEXT);
    let mut reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".to_vec();
    write!(reply, "{:x}\r\n", zipped.len()).unwrap();
    reply.extend(zipped);
    reply.extend(b"\r\n0\r\n\r\n");
    assert_eq!(fetched(reply).await.response().unwrap().body, TEXT);
}
