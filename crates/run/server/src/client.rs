//! Who asks, as far as clicks are counted.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// Where a proxy says whom it asks for.
const FORWARDED: &str = "x-forwarded-for";

/// The address of whoever asks: the other end of the connection, or behind a proxy whom the proxy
/// names. Anybody can send that header, and a proxy adds to what was sent: its own word is the last.
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
