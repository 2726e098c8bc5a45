//! Who may do what, and what browsers may do with our answers.
//!
//! Access is decided by the request, and denied by default. Only a *local* request may read without
//! the token: it came over loopback, to a server that listens on loopback alone, and no proxy
//! forwarded it. Behind `--proxied` no request is local, whatever its headers say.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::client::is_forwarded;
use crate::layout;
use crate::net::Peer;
use crate::routes::{Access, Gives};
use crate::search_api::refuse;
use crate::shared::Shared;

/// Least characters of a token, so that it cannot be guessed.
pub(crate) const SHORTEST_TOKEN: usize = 16;
/// What our pages may load: only our own style sheet, script, images and figures.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Refuses requests for another host name, or for several at once (RFC 9112 §3.2). Otherwise a site could point its own name here and read
/// our pages through its visitor's browser (DNS rebinding).
pub(crate) async fn check_host(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    if is_ours(&shared, request.uri(), request.headers()) {
        return next.run(request).await;
    }
    let text = "This server does not answer to that name. Use its address, or start it with \
                --name NAME.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

fn is_ours(shared: &Shared, uri: &Uri, headers: &HeaderMap) -> bool {
    if headers.get_all(header::HOST).iter().nth(1).is_some() {
        return false;
    }
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(named) = uri.authority().map(axum::http::uri::Authority::as_str).or(named) else {
        return false;
    };
    let name = without_port(named).to_ascii_lowercase();
    if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        // An address is not a name: nobody can point it elsewhere.
        return address == shared.address().ip() || !shared.is_loopback() || address.is_loopback();
    }
    name == "localhost" || shared.is_named(&name)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => {
            name
        }
        _ => host,
    }
}

/// Checks the route's [`Access`] level.
pub(crate) async fn check_access(
    State((shared, access, gives)): State<(Arc<Shared>, Access, Gives)>,
    request: Request,
    next: Next,
) -> Response {
    if is_allowed(&shared, access, &request) {
        return next.run(request).await;
    }
    let (scheme, why) = match access {
        _ if !shared.has_token() => (
            "Basic realm=\"Tidewatch\"",
            "This needs a token, and the server was started without one. Start it with --token-file.",
        ),
        Access::Change => ("Bearer", "This needs the token, as `Authorization: Bearer TOKEN`."),
        _ => (
            "Basic realm=\"Tidewatch\"",
            "This needs the token: give any user name, and the token as the password.",
        ),
    };
    let mut answer = match gives {
        Gives::Json => refuse(StatusCode::UNAUTHORIZED, why),
        _ => layout::message(StatusCode::UNAUTHORIZED, "Token required", why),
    };
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
    answer
}

fn is_allowed(shared: &Shared, access: Access, request: &Request) -> bool {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let is_right = |given: Option<&str>| given.is_some_and(|given| shared.is_token(given));
    let bearer = given.and_then(|given| given.strip_prefix("Bearer "));
    match access {
        Access::Public => true,
        // A browser sends a stored password by itself, also with a request that another site's page
        // makes. Changes therefore take a bearer token only, which no page can make a browser send.
        Access::Change => is_right(bearer),
        Access::Look if is_local(shared, request) => true,
        Access::Look => {
            let basic = given.and_then(|given| given.strip_prefix("Basic ")).and_then(password);
            is_right(bearer) || is_right(basic.as_deref())
        }
    }
}

/// Whether a request was made on this machine, as far as can be proven.
fn is_local(shared: &Shared, request: &Request) -> bool {
    let is_from_here =
        request.extensions().get::<Peer>().is_some_and(|Peer(peer)| peer.ip().is_loopback());
    let is_direct = !shared.is_proxied() && !is_forwarded(request.headers());
    is_direct && is_from_here && shared.is_loopback()
}

/// The password of RFC 7617.
fn password(base64: &str) -> Option<String> {
    let text = String::from_utf8(decode_base64(base64.trim())?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut word, mut bits) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// Adds security headers to every answer that does not set them itself.
pub(crate) async fn add_headers(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers: [(HeaderName, &'static str); 7] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::is_equal;

    #[test]
    fn hosts_are_read_with_and_without_port() {
        assert_eq!(without_port("a.example:80"), "a.example");
        assert_eq!(without_port("[::1]:80"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("localhost"), "localhost");
    }

    #[test]
    fn passwords_are_read_as_browsers_send_them() {
        assert_eq!(password("YTpzZWNyZXQ6eA==").as_deref(), Some("secret:x"));
        assert_eq!(password("!!"), None);
        assert!(is_equal(b"ab", b"ab") && !is_equal(b"ab", b"ac") && !is_equal(b"a", b"ab"));
    }
}
