//! Headers for one origin stay with it.

use tidewatch_fetch::Config;

use crate::server::{Server, answer, get};

#[tokio::test]
async fn private_headers_go_to_their_origin_alone_and_are_not_recorded() {
    let server = Server::start(|head| match head.split(' ').nth(1) {
        Some("/away") => answer("302 Found", "Location: http://other.example/\r\n", b""),
        Some("/port") => answer("302 Found", "Location: http://own.example:8080/\r\n", b""),
        _ => answer("200 OK", "", b"page"),
    })
    .await;
    let mut config = Config::new("Test/1");
    assert!(config.private_headers.add("http://own.example", "Authorization", "Basic hush"));
    assert!(config.private_headers.add("http://own.example", "X-Key", "hush"));
    assert!(!config.private_headers.add("http://own.example", "X-Bad", "hu\nsh"));
    assert!(!format!("{config:?}").contains("hush"));
    let fetcher = server.fetcher_with(config);
    for path in ["", "away", "port"] {
        let fetched = get(&fetcher, &format!("http://own.example/{path}")).await;
        for hop in &fetched.hops {
            let head = String::from_utf8_lossy(&hop.request_head).to_lowercase();
            assert!(!head.contains("hush") && !head.contains("authorization"), "{head}");
        }
    }
    get(&fetcher, "http://sub.own.example/").await;
    for request in server.requests() {
        let request = request.to_lowercase();
        let is_own = request.contains("host: own.example\r\n");
        assert_eq!(request.contains("authorization: basic hush\r\n"), is_own, "{request}");
        assert_eq!(request.contains("x-key: hush\r\n"), is_own, "{request}");
    }
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn requests_that_strangers_cause_carry_no_private_headers() {
    let server = Server::start(|_| answer("200 OK", "", b"page")).await;
    let mut config = Config::new("Test/1");
    assert!(config.private_headers.add("http://own.example", "Authorization", "Basic hush"));
    let own = server.fetcher_with(config);
    let stranger = own.for_strangers();
    get(&own, "http://own.example/1").await;
    get(&stranger, "http://own.example/2").await;
    let url = |text: &str| tidewatch_core::url::CanonicalUrl::parse(text).unwrap();
    stranger.post(&url("http://own.example/3"), "hub.mode=subscribe".to_owned()).await;
    let has_secret = |request: &String| request.contains("hush");
    assert_eq!(server.requests().iter().map(has_secret).collect::<Vec<_>>(), [true, false, false]);
    assert!(stranger.has_private_headers(&url("http://own.example/4")));
    assert!(!stranger.has_private_headers(&url("https://own.example/")));
}
