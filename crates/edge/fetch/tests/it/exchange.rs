//! What is sent, what is kept.

use tidewatch_fetch::{Config, End, Proxy, Purpose};

use crate::server::{PUBLIC, Server, answer, get, request};

#[tokio::test]
async fn an_answer_is_kept_as_it_came() {
    let server = Server::start(|_| {
        b"HTTP/1.1 200 Quite Fine\r\nx-ODD: Case\r\nContent-Type: text/html; charset=x\r\n\
          ETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            .to_vec()
    });
    let server = server.await;
    let fetched = get(&server.fetcher(), "http://a.example/x?y").await;
    assert_eq!(fetched.end, End::Answered);
    let hop = &fetched.hops[0];
    assert_eq!(hop.address, Some(PUBLIC));
    let sent = String::from_utf8(hop.request_head.clone()).unwrap();
    assert_eq!(server.requests()[0], sent);
    assert!(sent.starts_with("GET /x?y HTTP/1.1\r\nHost: a.example\r\n"), "{sent}");
    assert!(sent.contains("User-Agent: Tidewatch-Test/1 (+mailto:a@b.example)\r\n"), "{sent}");
    let response = fetched.response().unwrap();
    assert!(response.head.starts_with(b"HTTP/1.1 200 Quite Fine\r\nx-ODD: Case\r\n"));
    assert!(response.head.ends_with(b"chunked\r\n\r\n"));
    assert_eq!(response.body, b"hello");
    assert_eq!(response.media_type(), "text/html");
    assert_eq!(response.validators().etag.as_deref(), Some("\"1\""));
}

#[tokio::test]
async fn connections_are_used_again_and_replaced_when_they_died() {
    let server = Server::start(|head| {
        let is_last = head.starts_with("GET /last");
        let mut bytes = answer("200 OK", "", b"x");
        if is_last {
            bytes = b"HTTP/1.1 200 OK\r\n\r\nx".to_vec();
        }
        bytes
    });
    let server = server.await;
    let fetcher = server.fetcher();
    for url in ["http://a.example/1", "http://a.example/2", "http://a.example/last"] {
        assert_eq!(get(&fetcher, url).await.end, End::Answered, "{url}");
    }
    assert_eq!(*server.connections.lock().unwrap(), 1);
    let again = get(&fetcher, "http://a.example/3").await;
    assert_eq!(again.end, End::Answered);
    assert!(again.hops[0].connect.is_some());
    assert_eq!(*server.connections.lock().unwrap(), 2);
}

#[tokio::test]
async fn an_entity_tag_is_sent_before_a_date() {
    let server =
        Server::start(|_| b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_vec());
    let server = server.await;
    let mut ask = request("http://a.example/", Purpose::Page);
    ask.held.last_modified = Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned());
    let fetcher = server.fetcher();
    let fetched = fetcher.fetch(&ask, &mut |_| true).await;
    assert_eq!(fetched.response().unwrap().status, 304);
    ask.held.etag = Some("W/\"7\"".to_owned());
    fetcher.fetch(&ask, &mut |_| true).await;
    let requests = server.requests();
    assert!(requests[0].contains("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    assert!(requests[1].contains("If-None-Match: W/\"7\"\r\n"));
    assert!(!requests[1].contains("If-Modified-Since"));
}

#[tokio::test]
async fn a_proxy_gets_the_whole_url() {
    let server = Server::start(|_| answer("200 OK", "", b"x")).await;
    let mut config = Config::new("Test/1");
    let authorization = Some("Basic eDp5".to_owned());
    config.proxy = Some(Proxy { host: "127.0.0.1".into(), port: 3128, authorization });
    let fetched = get(&server.fetcher_with(config.clone()), "http://a.example/x").await;
    assert_eq!(fetched.end, End::Answered);
    let seen = &server.requests()[0];
    assert!(seen.starts_with("GET http://a.example/x HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("Proxy-Authorization: Basic eDp5\r\n"), "{seen}");
    let blocked = get(&server.fetcher_with(config), "http://10.0.0.1/").await;
    assert_eq!(blocked.end.name(), "blocked-address");
}

#[tokio::test]
async fn servers_say_when_to_come_back() {
    let server = Server::start(|head| {
        let value = if head.contains("/date") { "Thu, 01 Jan 1970 00:02:00 GMT" } else { "7" };
        answer("503 Busy", &format!("Retry-After: {value}\r\n"), b"")
    });
    let server = server.await;
    let fetcher = server.fetcher();
    for (path, want) in [("s", 7), ("date", 20)] {
        let fetched = get(&fetcher, &format!("http://a.example/{path}")).await;
        let wait = fetched.response().unwrap().retry_after(100).unwrap();
        assert_eq!(wait.as_secs(), want);
    }
}
