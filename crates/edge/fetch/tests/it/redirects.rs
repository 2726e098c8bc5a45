//! Redirects: followed hop by hop, if the caller agrees.

use tidewatch_fetch::{End, Purpose};

use crate::server::{Server, answer, get, request};

async fn pointing_at(location: &'static str) -> Server {
    Server::start(move |head| {
        if head.contains("GET /end") {
            return answer("200 OK", "", b"end");
        }
        answer("302 Found", &format!("Location: {location}\r\n"), b"moved")
    })
    .await
}

#[tokio::test]
async fn are_followed_if_wanted() {
    let server = pointing_at("/end#fragment").await;
    let fetched = get(&server.fetcher(), "http://a.example/start").await;
    assert_eq!(fetched.end, End::Answered);
    let urls: Vec<_> = fetched.hops.iter().map(|hop| hop.url.as_str()).collect();
    assert_eq!(urls, ["http://a.example/start", "http://a.example/end"]);
    assert_eq!(fetched.hops[0].response.as_ref().unwrap().body, b"moved");
    assert_eq!(fetched.into_response().unwrap().body, b"end");

    let ask = request("http://a.example/start", Purpose::Page);
    let stopped = server.fetcher().fetch(&ask, &mut |_| false).await;
    let End::Redirect(target) = &stopped.end else { panic!("{:?}", stopped.end) };
    assert_eq!(target.as_str(), "http://a.example/end");
    assert_eq!(stopped.hops.len(), 1);
}

#[tokio::test]
async fn end_somewhere() {
    let server = pointing_at("/loop").await;
    for (purpose, hops) in [(Purpose::Page, 11), (Purpose::Robots, 6)] {
        let ask = request("http://a.example/loop", purpose);
        let fetched = server.fetcher().fetch(&ask, &mut |_| true).await;
        assert_eq!(fetched.end.name(), "too-many-redirects");
        assert_eq!(fetched.hops.len(), hops);
    }
}

#[tokio::test]
async fn to_nowhere_have_a_name() {
    for location in ["javascript:alert(1)", "file:///etc/passwd", "http://", "gopher://a/"] {
        let server = pointing_at(location).await;
        let fetched = get(&server.fetcher(), "http://a.example/").await;
        assert_eq!(fetched.end.name(), "redirect-refused", "{location}");
    }
    let server = Server::start(|_| answer("301 Moved", "", b"")).await;
    let fetched = get(&server.fetcher(), "http://a.example/").await;
    assert_eq!(fetched.end.name(), "redirect-without-location");
}
