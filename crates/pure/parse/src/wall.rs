//! Recognises a wall: a challenge or block page that stands where the page should be.
//!
//! Services in front of a site answer a crawler they doubt with a puzzle, a browser check or a
//! refusal, often with status 200. Stored as content it would look like a change of every page of
//! the host. A crawler that meets one leaves; it never tries to pass.
//!
//! Two kinds of evidence. A *header* that a service documents for this purpose is enough. A *mark* in
//! the body (the address or the name of the service's own script) is enough only if hardly any text
//! is shown beside it, because pages behind such services carry the same scripts, and articles
//! quote them.

use memchr::memmem;

use crate::document::{Source, Wanted, parse};
use crate::reading::Scope;

/// A service whose wall was recognised, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wall(&'static str);

impl Wall {
    /// The service's name in reports and archives.
    pub const fn service(self) -> &'static str {
        self.0
    }
}

/// Headers that say so, with the values that do.
const HEADERS: &[(&str, &[&str], Wall)] = &[
    ("cf-mitigated", &["challenge"], Wall("cloudflare")),
    ("x-amzn-waf-action", &["challenge", "captcha"], Wall("aws-waf")),
    ("x-vercel-mitigated", &["challenge", "deny"], Wall("vercel")),
];

/// Marks in the body: all of a row must be there.
const MARKS: &[(&[&str], Wall)] = &[
    (&["_cf_chl_opt"], Wall("cloudflare")),
    (&["/.within.website/x/cmd/anubis/"], Wall("anubis")),
    (&["anubis_challenge"], Wall("anubis")),
    (&["captcha-delivery.com/"], Wall("datadome")),
    (&["px-captcha"], Wall("human")),
    (&["_Incapsula_Resource"], Wall("imperva")),
    (&["errors.edgesuite.net/"], Wall("akamai")),
    (&["/.well-known/sgcaptcha/"], Wall("siteground")),
    (&["AwsWafIntegration", "challenge"], Wall("aws-waf")),
    (&["/.well-known/ddos-guard/", "check"], Wall("ddos-guard")),
];

/// Bytes of the body that are searched for marks. Walls are small.
const SEARCHED: usize = 64 << 10;

/// Most bytes of text beside a mark. The longest block pages known show about 900.
const MOST_TEXT: usize = 1_500;

/// Most links beside a mark: a page of content links to its site.
const MOST_LINKS: usize = 8;

/// The wall that an answer shows, if it does. `links` is the number of its links as far as the caller
/// knows them, 0 otherwise: a page with many is not searched, which saves most of the work. `header`
/// gives the value of a header by its lower-case name.
pub fn recognise<'a>(
    source: &Source<'_>,
    links: usize,
    header: impl Fn(&str) -> Option<&'a str>,
) -> Option<Wall> {
    let says = |(name, values, wall): &(&str, &[&str], Wall)| {
        let value = header(name)?.trim();
        values.iter().any(|known| known.eq_ignore_ascii_case(value)).then_some(*wall)
    };
    let shown = || marked(source).filter(|_| says_little(source));
    HEADERS.iter().find_map(says).or_else(|| (links <= MOST_LINKS).then(shown).flatten())
}

fn marked(source: &Source<'_>) -> Option<Wall> {
    let body = &source.bytes[..source.bytes.len().min(SEARCHED)];
    let has = |mark: &&str| memmem::find(body, mark.as_bytes()).is_some();
    MARKS.iter().find(|(marks, _)| marks.iter().all(has)).map(|&(_, wall)| wall)
}

fn says_little(source: &Source<'_>) -> bool {
    // Twice as much, because the end of what is cut is trimmed.
    let text_bytes = 2 * MOST_TEXT;
    let wanted = Wanted { agent: "", shingling: None, text_bytes, scope: Scope::Everything };
    let parsed = parse(source, &wanted);
    let text = parsed.text.as_deref().unwrap_or_default();
    text.len() <= MOST_TEXT && parsed.links().count() <= MOST_LINKS
}

#[cfg(test)]
mod tests {
    use tidewatch_core::url::{Base, CanonicalUrl};

    use super::*;

    fn wall(headers: &[(&str, &'static str)], body: &str) -> Option<&'static str> {
        let base = Base::of(&CanonicalUrl::parse("https://a.example/x").unwrap()).unwrap();
        let source = Source {
            base: &base,
            content_type: Some("text/html"),
            robots_tags: &[],
            kind: None,
            bytes: body.as_bytes(),
        };
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|h| h.1);
        recognise(&source, 0, header).map(Wall::service)
    }

    #[test]
    fn a_documented_header_is_enough() {
        assert_eq!(wall(&[("cf-mitigated", "challenge")], "<p>x"), Some("cloudflare"));
        assert_eq!(wall(&[("x-amzn-waf-action", "CAPTCHA")], ""), Some("aws-waf"));
        assert_eq!(wall(&[("cf-mitigated", "other"), ("server", "cloudflare")], "<p>x"), None);
    }

    #[test]
    fn a_mark_counts_beside_little_text_only() {
        let script = "<script>window._cf_chl_opt = {cvId: '3'};</script>";
        let short = format!("<title>Just a moment...</title>{script}<p>Enable JavaScript.</p>");
        assert_eq!(wall(&[], &short), Some("cloudflare"));
        let article = format!("{short}<p>{}</p>", "The tide turns twice a day. ".repeat(80));
        assert_eq!(wall(&[], &article), None, "the same script in an article");
        let links: Vec<_> = (0..=MOST_LINKS).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
        let index = format!("{short}{}", links.concat());
        assert_eq!(wall(&[], &index), None, "the same script in an index page");
    }

    #[test]
    fn every_mark_is_found_and_ordinary_pages_have_none() {
        for (marks, expected) in MARKS {
            let body = format!("<html><script>/* {} */</script>", marks.join(" "));
            assert_eq!(wall(&[], &body), Some(expected.service()), "{marks:?}");
        }
        let login = "<form><input type=password><div class=g-recaptcha></div></form>";
        assert_eq!(wall(&[], login), None);
        assert_eq!(wall(&[], ""), None);
    }

    #[test]
    fn marks_far_behind_are_not_searched_for() {
        let body = format!("<p>x</p><!--{}--><script>px-captcha</script>", "-".repeat(SEARCHED));
        assert_eq!(wall(&[], &body), None);
    }
}
