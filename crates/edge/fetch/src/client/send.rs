//! Sends a request over an idle connection or a new one.

use std::pin::pin;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method,
    body::Incoming,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use tidewatch_core::url::CanonicalUrl;

use super::Fetcher;
use crate::{Failure, Hop, Purpose, Request, connection::Connection};

impl Fetcher {
    /// Sends a request over the idle connection, or a new one if there is none or it died.
    pub(super) async fn send(
        &self,
        hop: &mut Hop,
        headers: &HeaderMap,
        form: &Bytes,
        started: Instant,
    ) -> Result<(Connection, hyper::Response<Incoming>), Failure> {
        if let Some(connection) = self.idle.unpark(hop.url.origin()) {
            hop.address = Some(connection.address());
            match self.send_over(connection, &hop.url, headers, form).await {
                // Servers close idle connections at any time: retry on a new one.
                Err(Failure::Incomplete) => {}
                done => return done,
            }
        }
        let connection = self.connector.connect(&hop.url).await?;
        hop.connect = Some(started.elapsed());
        hop.address = Some(connection.address());
        // A body that breaks off is its page's fault; a connection that ends before any answer is
        // its host's.
        self.send_over(connection, &hop.url, headers, form).await.map_err(|failure| match failure {
            Failure::Incomplete => Failure::Connect { why: "it ended before an answer".to_owned() },
            failure => failure,
        })
    }

    pub(super) async fn send_over(
        &self,
        mut connection: Connection,
        url: &CanonicalUrl,
        headers: &HeaderMap,
        form: &Bytes,
    ) -> Result<(Connection, hyper::Response<Incoming>), Failure> {
        let mut request = hyper::Request::new(Full::new(form.clone()));
        *request.method_mut() = method(form);
        *request.uri_mut() = connection.target(url).parse().map_err(|_| Failure::Protocol {
            why: "the URL cannot stand in a request".to_owned(),
        })?;
        *request.headers_mut() = headers.clone();
        if self.sends_private_headers {
            self.private_headers.put(url, request.headers_mut());
        }
        if connection.wants_whole_url()
            && let Some(value) = self.connector.proxy_authorization()
            && let Ok(value) = HeaderValue::from_str(value)
        {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, value);
        }
        let sending = connection.send(request, self.limits().head_bytes);
        let limit = self.limits().idle;
        let sent = self.crowd.limit(limit, pin!(sending)).await;
        match sent {
            Some(Ok(response)) => Ok((connection, response)),
            Some(Err(error)) => Err(Failure::of_hyper(&error)),
            None => Err(Failure::IdleTimeout { limit }),
        }
    }

    pub(super) fn headers(
        &self,
        url: &CanonicalUrl,
        request: &Request,
        is_first: bool,
    ) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        let origin = url.origin();
        put(header::HOST, origin.split_once("://").map_or(origin, |(_, host)| host));
        put(
            header::ACCEPT,
            match request.purpose {
                Purpose::Page => "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                Purpose::Robots => "text/plain,*/*;q=0.8",
                Purpose::Sitemap => "application/xml,text/xml,text/plain,*/*;q=0.8",
            },
        );
        put(header::ACCEPT_ENCODING, "gzip, deflate, br, zstd");
        match &request.held {
            _ if !is_first => {}
            held if held.etag.is_some() => {
                put(header::IF_NONE_MATCH, held.etag.as_deref().unwrap_or_default());
            }
            held => {
                if let Some(date) = &held.last_modified {
                    put(header::IF_MODIFIED_SINCE, date);
                }
            }
        }
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers
    }
}

/// The method that brings `form`: nothing is asked for with GET.
const fn method(form: &Bytes) -> Method {
    if form.is_empty() { Method::GET } else { Method::POST }
}

/// The head of a request as HTTP/1.1 sends it.
pub(super) fn request_head(url: &CanonicalUrl, headers: &HeaderMap, form: &Bytes) -> Vec<u8> {
    let (method, target) = (method(form), url.path_and_query());
    let mut head = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    push_fields(&mut head, headers);
    head
}

pub(super) fn push_fields(head: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        head.extend_from_slice(title_case(name.as_str()).as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
}

fn title_case(name: &str) -> String {
    let mut starts_word = true;
    let upper = |c: char| {
        let cased = if starts_word { c.to_ascii_uppercase() } else { c };
        starts_word = c == '-';
        cased
    };
    name.chars().map(upper).collect()
}
