//! The normal form of a query: which parameters do not name a page.
//!
//! Dropped are parameters that say where a visitor came from ([`TRACKING`]) or
//! who he is ([`SESSION`], [`SESSION_IF_TOKEN`]), empty pieces (`a&&b`) and pieces
//! without a name (`=1`), which form decoders ignore. The lists are short on
//! purpose: a name belongs here only if no site is known to choose its content by
//! it, since dropping a meaningful parameter loses pages and keeping a useless one
//! costs a fetch.
//!
//! **Order is kept.** Parameters with one name form a list whose order counts,
//! signed URLs cover the order, and some applications route on the first one.
//! Sites write their own links in one order, so sorting would save few fetches.
//! For the same reason `b` and `b=` stay apart: some frameworks read nothing from
//! the first and an empty string from the second.
//!
//! Names are compared after percent-decoding and without case.

use super::percent;

/// Every name with this prefix tells of a campaign (Urchin, now Google Analytics).
const TRACKING_PREFIX: &str = "utm_";

/// Names added to links by advertising networks, social sites and mailers.
const TRACKING: [&str; 27] = [
    // Google: ads, cross-domain measurement, shopping.
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "_ga",
    "_gl",
    "srsltid",
    // Social networks.
    "fbclid",
    "igshid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "epik",
    // Other search engines.
    "msclkid",
    "yclid",
    "ysclid",
    // Mail and marketing: Mailchimp, HubSpot, Marketo, Vero, Omeda.
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "__hstc",
    "__hssc",
    "mkt_tok",
    "vero_id",
    "oly_anon_id",
    "oly_enc_id",
];

/// Session names of Java, PHP, osCommerce and Zen Cart; never a page's name.
const SESSION: [&str; 4] = ["jsessionid", "phpsessid", "oscsid", "zenid"];

/// Classic ASP appends eight letters of its own to this name.
const SESSION_PREFIX: &str = "aspsessionid";

/// Names that are a session's only with a value that looks drawn at random:
/// `sid=3` may well be a story.
const SESSION_IF_TOKEN: [&str; 4] = ["sid", "sessid", "sessionid", "session_id"];

/// Shortest run of hex digits taken for a session's token: 64 bits, more than
/// any counter or date has.
const TOKEN_DIGITS: usize = 16;

/// Appends `?` and the normal form of `query`, or nothing if nothing is left.
pub(super) fn push_normal(out: &mut String, query: &str) {
    let mut separator = '?';
    for parameter in query.split('&') {
        let mark = out.len();
        out.push(separator);
        percent::push_normal(out, parameter);
        if names_no_page(&out[mark + 1..]) {
            out.truncate(mark);
        } else {
            separator = '&';
        }
    }
}

/// Whether a parameter in normal spelling can be dropped from a query.
fn names_no_page(parameter: &str) -> bool {
    let (name, _) = split(parameter);
    name.is_empty()
        || has_prefix(name, TRACKING_PREFIX)
        || is_one_of(name, &TRACKING)
        || is_session(parameter)
}

/// Whether a query or path parameter in normal spelling carries a session.
pub(super) fn is_session(parameter: &str) -> bool {
    let (name, value) = split(parameter);
    is_one_of(name, &SESSION)
        || has_prefix(name, SESSION_PREFIX)
        || (is_token(value) && is_one_of(name, &SESSION_IF_TOKEN))
}

fn split(parameter: &str) -> (&str, &str) {
    parameter.split_once('=').unwrap_or((parameter, ""))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn has_prefix(name: &str, prefix: &str) -> bool {
    let head = name.as_bytes().get(..prefix.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
}

fn is_token(value: &str) -> bool {
    value.len() >= TOKEN_DIGITS && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let cases = [
            ("", ""),
            ("&&", ""),
            ("b=2&a=1", "?b=2&a=1"),
            ("&a=1&&b&", "?a=1&b"),
            ("=1&a", "?a"),
            ("utm_source=x&a=1&UTM_%63ampaign=y", "?a=1"),
            ("gclid=1&Fbclid=2&a", "?a"),
            ("utm=1", "?utm=1"),
            ("sid=12", "?sid=12"),
            ("sid=0123456789abcdef0123456789ABCDEF", ""),
            ("PHPSESSID=q1w2e3&ASPSESSIONIDABCDEFGH=IJKL&q=tl;dr", "?q=tl;dr"),
            ("?x[]=1", "??x%5B%5D=1"),
        ];
        for (input, want) in cases {
            let mut out = String::new();
            push_normal(&mut out, input);
            assert_eq!(out, want, "{input}");
        }
    }
}
