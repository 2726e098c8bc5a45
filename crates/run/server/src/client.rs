//! Who made a request: the client's address for click limits, and whether a proxy forwarded it.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// Where a proxy names the client.
const FORWARDED: &str = "x-forwarded-for";
/// Headers that proxies add and browsers never send.
const PROXY_HEADERS: [&str; 4] = ["forwarded", "via", "x-real-ip", "client-ip"];
/// Prefix of others: `X-Forwarded-For`, `-Host`, `-Proto` and more.
const PROXY_PREFIX: &str = "x-forwarded";

/// Whether a proxy's headers show that it forwarded the request.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_proxy = |name: &str| name.starts_with(PROXY_PREFIX) || PROXY_HEADERS.contains(&name);
    headers.keys().any(|name| is_proxy(name.as_str()))
}

/// The client's address: the connection's other end, or behind a proxy the last one that
/// `X-Forwarded-For` names. Earlier ones may be forged by the client; the proxy appends its own.
pub(crate) fn address(peer: SocketAddr, headers: &HeaderMap, is_proxied: bool) -> IpAddr {
    let told = headers.get_all(FORWARDED).iter().next_back().filter(|_| is_proxied);
    let last = told.and_then(|told| told.to_str().ok()?.rsplit(',').next().map(str::trim));
    let told = last.and_then(|last| {
        let host = last.parse().map(|socket: SocketAddr| socket.ip());
        host.or_else(|_| last.trim_matches(['[', ']']).parse()).ok()
    });
    told.unwrap_or(peer.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const PEER: &str = "127.0.0.1:4000";

    fn of(told: &[&'static str], is_proxied: bool) -> String {
        let mut headers = HeaderMap::new();
        told.iter().for_each(|told| {
            headers.append(FORWARDED, HeaderValue::from_static(told));
        });
        address(PEER.parse().unwrap(), &headers, is_proxied).to_string()
    }

    #[test]
    fn only_the_proxy_is_believed() {
        assert_eq!(of(&["192.0.2.7"], false), "127.0.0.1", "there is none");
        assert_eq!(of(&["192.0.2.7"], true), "192.0.2.7");
        assert_eq!(of(&["192.0.2.7, 198.51.100.1"], true), "198.51.100.1");
        assert_eq!(of(&["192.0.2.7", "198.51.100.1"], true), "198.51.100.1");
        assert_eq!(of(&["198.51.100.1:99"], true), "198.51.100.1");
        assert_eq!(of(&["[2001:db8::1]:99"], true), "2001:db8::1");
        assert_eq!(of(&["[2001:db8::1]"], true), "2001:db8::1");
        for odd in ["", ",", "unknown", "192.0.2.7, _hidden"] {
            assert_eq!(of(&[odd], true), "127.0.0.1", "{odd}");
        }
    }
}
