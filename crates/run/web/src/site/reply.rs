//! Requests and replies.

use bytes::Bytes;
use tidewatch_core::Span;

use crate::habits::WebWall;

/// The title of every challenge page.
pub const WALL_TITLE: &str = "One moment, we check your browser";
/// The title of a page that sends its readers on.
pub const SENT_ON_TITLE: &str = "You are sent on";

/// The relevant part of a request.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// `GET`, `HEAD`, ….
    pub method: &'a str,
    /// The host's name without its port; `None` if none was given.
    pub host: Option<&'a str>,
    /// Path and query.
    pub path: &'a str,
    /// `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<&'a str>,
}

impl<'a> PageRequest<'a> {
    /// A plain `GET`.
    pub fn get(host: &'a str, path: &'a str) -> Self {
        PageRequest {
            method: "GET",
            host: Some(host),
            path,
            if_none_match: None,
            if_modified_since: None,
        }
    }
}

/// The kind of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A page of the trace, by number.
    Page(u32),
    /// `robots.txt`.
    Robots,
    /// `sitemap.xml`.
    Sitemap,
    /// `feed.xml`.
    Feed,
    /// A page that `robots.txt` disallows.
    Private,
    /// Results of a search.
    Search,
    /// A challenge page in place of anything else.
    Wall,
    /// A redirect.
    Redirect,
    /// An error.
    Nothing,
}

/// A status, headers and a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// Its kind.
    pub served: Served,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Empty for `HEAD`, 304 and the like.
    pub body: Bytes,
}

impl Reply {
    pub(super) fn new(status: u16, served: Served, kind: &str, body: String) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        Reply { status, served, headers, body: body.into() }
    }

    pub(super) fn html(served: Served, body: String) -> Self {
        Reply::new(200, served, "text/html; charset=utf-8", body)
    }

    pub(super) fn error(status: u16, text: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{status}</title></head>\
             <body><h1>{status}</h1><p>{text}</p></body></html>\n"
        );
        Reply { status, ..Reply::html(Served::Nothing, body) }
    }

    pub(super) fn not_found() -> Self {
        Reply::error(404, "There is no such page.")
    }

    pub(super) fn misdirected() -> Self {
        Reply::error(421, "No such host is served here.")
    }

    pub(super) fn method_not_allowed() -> Self {
        let mut reply = Reply::error(405, "Only GET and HEAD are understood.");
        reply.header("allow", "GET, HEAD".to_owned());
        reply
    }

    pub(super) fn unavailable(wait: Span) -> Self {
        let mut reply = Reply::error(503, "This host is temporarily down.");
        reply.header("retry-after", format!("{:.0}", wait.seconds().ceil()));
        reply
    }

    /// A challenge page. It names what was asked for, so that no two are the same.
    pub(super) fn wall(wall: WebWall, path: &str) -> Self {
        let (status, script) = match wall {
            WebWall::Script => (200, "<script id=\"anubis_challenge\">{}</script>"),
            WebWall::Header => (403, ""),
            WebWall::Limit => (429, "<div id=\"px-captcha\"></div>"),
            WebWall::Check => (503, "<script>window._cf_chl_opt={}</script>"),
        };
        let mut body = format!("<!DOCTYPE html>\n<title>{WALL_TITLE}</title>{script}<p>Going to ");
        push_escaped(path, &mut body);
        let mut reply = Reply { status, ..Reply::html(Served::Wall, body) };
        if wall == WebWall::Header {
            reply.header("cf-mitigated", "challenge".to_owned());
        }
        reply
    }

    /// A page that sends its readers on.
    pub(super) fn sent_on(how: impl FnOnce(&mut String)) -> Self {
        let mut body = format!("<!DOCTYPE html>\n<title>{SENT_ON_TITLE}</title>");
        how(&mut body);
        body.push_str("<p>You are sent on.");
        Reply::html(Served::Redirect, body)
    }

    pub(super) fn redirect(status: u16, to: &str) -> Self {
        let mut reply = Reply::error(status, "The page has moved.");
        reply.served = Served::Redirect;
        reply.header("location", to.to_owned());
        reply
    }

    pub(super) fn header(&mut self, name: &'static str, value: String) {
        self.headers.push((name, value));
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// Replies to `HEAD` have a length but no body.
    pub(super) fn for_method(mut self, method: &str) -> Self {
        if method == "HEAD" {
            self.header("content-length", self.body.len().to_string());
            self.body = Bytes::new();
        }
        self
    }

    /// The reply as 304: keeps validators, drops the body.
    pub(super) fn not_modified(mut self) -> Self {
        self.status = 304;
        self.headers.retain(|(name, _)| *name != "content-type");
        self.body = Bytes::new();
        self
    }
}

/// Escapes text for elements and quoted attributes of HTML and XML.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}
