//! Reads a response into what the crawl keeps of it: links, sketch, identity.

use tidewatch_archive::{Digest, Record, digest};
use tidewatch_core::calendar;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_fetch::{Response, Validators};
use tidewatch_hygiene::spam::shape::{Readable, Shape, words};
use tidewatch_parse::document::{Kind, Parsed, Wanted, parse_response, visible_text, whole_part};
use tidewatch_parse::extract::Extract;
use tidewatch_parse::fragments::Shingling;
use tidewatch_parse::links::Refresh;
use tidewatch_parse::reading::Scope;
use tidewatch_parse::requisites::requisites;
use tidewatch_robots::Wishes;
use tidewatch_store::Capture;

use crate::announced::Announced;
use crate::topic::{TEXT_BYTES, gist_of};
use crate::work::Content;

/// Bytes kept of a title and of a media type.
const MOST_TITLE: usize = 256;
const MOST_MEDIA_TYPE: usize = 128;
/// `WARC-Truncated` of a body that was cut at our limit, and of one that broke off or does not decode.
const CUT: &str = "length";
const DAMAGED: &str = "unspecified";

/// The value of `WARC-Truncated` for a response; `None` if its body is whole.
pub(crate) fn truncated(response: &Response) -> Option<&'static str> {
    match response {
        response if response.is_damaged => Some(DAMAGED),
        response if response.is_cut => Some(CUT),
        _ => None,
    }
}

/// Which words of a response are wanted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Words {
    /// Most bytes of text for an index; 0 for none.
    pub(crate) text_bytes: usize,
    /// Words for the topic.
    pub(crate) gist: bool,
    /// How its text is made.
    pub(crate) shape: bool,
}

/// Reads a response of any kind. An unreadable response has no links, and the digest of its bytes as its
/// identity.
pub(crate) fn read(
    url: &CanonicalUrl,
    response: &Response,
    digest: Digest,
    agent: &str,
    wanted_words: Words,
) -> Content {
    // The server would confirm the whole page by the validators of a part of it.
    let is_part = response.is_damaged;
    let validators = if is_part { Validators::default() } else { response.validators() };
    let mut content = Content {
        status: response.status,
        etag: validators.etag,
        last_modified: validators.last_modified,
        last_modified_micros: response.last_modified_s().map(|s| s.saturating_mul(1_000_000)),
        digest,
        capture: Capture {
            media_type: cut(&response.media_type(), MOST_MEDIA_TYPE).to_owned(),
            body_bytes: response.body.len() as u64,
            ..Capture::default()
        },
        identity: digest[..8].iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        ..Content::default()
    };
    let Ok(base) = Base::of(url) else { return content };
    let is_whole = !(response.is_cut || response.is_damaged);
    let body = if is_whole { &response.body } else { whole_part(&response.body) };
    let shingling = Some(Shingling::default());
    let text_bytes = wanted_words.text_bytes.max(if wanted_words.gist { TEXT_BYTES } else { 0 });
    let wanted = Wanted { agent, shingling, text_bytes, scope: Scope::Content };
    let headers = |name: &str| response.all(name).collect();
    let mut parsed = parse_response(&base, headers, body, &wanted);
    cut(parsed.title().trim(), MOST_TITLE).clone_into(&mut content.capture.title);
    content.capture.wishes = parsed.robots.wishes.and(said_by_headers(headers));
    content.announced = Announced::read(url, &base, response.all("link"), &parsed);
    let extract = (text_bytes > 0).then(|| Extract::take(&mut parsed));
    content.gist = extract.as_ref().filter(|_| wanted_words.gist).map(gist_of);
    content.extract = extract.filter(|_| wanted_words.text_bytes > 0);
    if wanted_words.shape {
        content.shape = shape_of(&parsed, response.header("content-type"), body);
    }
    fill(parsed, url, &base, &mut content);
    content
}

/// Measures the text of a page with all that surrounds it, as the labelled pages were measured, whose
/// links were counted whether they may be followed or not.
fn shape_of(parsed: &Parsed, content_type: Option<&str>, body: &[u8]) -> Option<Shape> {
    let page = parsed.page.as_ref()?;
    let anchor_words = page.links.iter().map(|link| words(&link.anchor).count()).sum();
    let text = visible_text(content_type, body, TEXT_BYTES);
    Shape::of(&Readable { title: parsed.title(), text: &text, anchor_words, raw: body })
}

/// Reads an archived response as [`read`] read it when it came.
pub(crate) fn read_record(url: &CanonicalUrl, record: &Record, agent: &str) -> Content {
    let (_, body) = record.message();
    let digest = digest(body);
    let content_type = record.http_header("content-type");
    let media_type = content_type.as_deref().unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let date = record.field("WARC-Date").and_then(calendar::from_rfc3339).unwrap_or(0);
    let truncated = record.field("WARC-Truncated");
    let validator = |name| record.http_header(name).filter(|_| truncated != Some(DAMAGED));
    let last_modified = validator("last-modified");
    let mut content = Content {
        status: record.http_status().unwrap_or(200),
        etag: validator("etag"),
        last_modified_micros: last_modified
            .as_deref()
            .and_then(calendar::from_http_date)
            .map(|s| s.saturating_mul(1_000_000)),
        last_modified,
        digest,
        capture: Capture {
            unix_micros: date,
            media_type: cut(&media_type, MOST_MEDIA_TYPE).to_owned(),
            body_bytes: body.len() as u64,
            ..Capture::default()
        },
        identity: digest[..8].iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        ..Content::default()
    };
    let Ok(base) = Base::of(url) else { return content };
    let shingling = Some(Shingling::default());
    let wanted = Wanted { agent, shingling, text_bytes: 0, scope: Scope::Content };
    let body = if truncated.is_none() { body } else { whole_part(body) };
    let headers = |name: &str| record.http_headers(name);
    let parsed = parse_response(&base, headers, body, &wanted);
    cut(parsed.title().trim(), MOST_TITLE).clone_into(&mut content.capture.title);
    content.capture.wishes = parsed.robots.wishes.and(said_by_headers(headers));
    fill(parsed, url, &base, &mut content);
    content
}

/// What the owner says in headers about the use of a response.
fn said_by_headers<T: AsRef<str>>(all: impl Fn(&str) -> Vec<T>) -> Wishes {
    let (usage, reserved) = (all("content-usage"), all("tdm-reservation"));
    let usage = usage.iter().map(|value| Wishes::of_usage(value.as_ref()));
    let reserved = reserved.iter().map(|value| Wishes::of_reservation(value.as_ref()));
    usage.chain(reserved).fold(Wishes::NONE, Wishes::and)
}

/// What a browser loads to show a response.
pub(crate) fn requisites_of(
    url: &CanonicalUrl,
    content_type: Option<&str>,
    body: &[u8],
) -> Vec<CanonicalUrl> {
    Base::of(url).map(|base| requisites(body, content_type, &base)).unwrap_or_default()
}

/// The links and feeds of an archived response that may be followed.
pub(crate) fn links_of(
    url: &CanonicalUrl,
    record: &Record,
    agent: &str,
) -> (Vec<CanonicalUrl>, Vec<CanonicalUrl>) {
    let content = read_record(url, record, agent);
    (content.links.into_iter().map(|(url, _)| url).collect(), content.feeds)
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn fill(parsed: Parsed, url: &CanonicalUrl, base: &Base, content: &mut Content) {
    content.list = match parsed.kind {
        Some(kind @ (Kind::Feed | Kind::Sitemap)) => kind.name(),
        _ => "",
    };
    for named in parsed.named(base) {
        let micros = named.changed_s.map(|s| s.saturating_mul(1_000_000));
        content.dated.extend(micros.map(|micros| (content.links.len(), micros)));
        content.links.push((named.url, named.title));
    }
    if let Some(said) = parsed.fragments {
        (content.identity, content.sketch) = (said.identity, said.sketch);
    }
    let Some(page) = parsed.page else { return };
    content.canonical = page.canonical.filter(|canonical| canonical != url);
    if parsed.robots.nofollow {
        return;
    }
    let is_at_once = |refresh: &Refresh<CanonicalUrl>| refresh.after_s == 0 && !refresh.is_fallback;
    let refresh = page.refresh.as_ref().filter(|refresh| is_at_once(refresh));
    let at_once = refresh.map(|refresh| refresh.url.clone()).or(parsed.sent_by_script);
    content.moved = at_once.filter(|to| to != url);
    let links = page.links.into_iter().filter(|link| !link.rel.nofollow);
    content.links.extend(links.map(|link| (link.url, link.anchor)));
    content.links.extend(page.refresh.map(|refresh| (refresh.url, String::new())));
    let feeds = page.alternates.into_iter().filter(|alternate| alternate.is_feed);
    content.feeds = feeds.map(|feed| feed.url).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line of a list that was cut at the limit, or broke off, is not taken for a URL.
    #[test]
    fn half_a_url_is_no_link() {
        let url = CanonicalUrl::parse("http://a.example/sitemap.txt").unwrap();
        let links = |is_cut: bool, is_damaged: bool| {
            let body = b"http://a.example/1\nhttp://a.example/10".to_vec();
            let (head, headers, wire_bytes, is_h2, status) = <(Vec<u8>, _, _, _, _)>::default();
            let mut response =
                Response { status, head, is_h2, headers, body, wire_bytes, is_cut, is_damaged };
            response.headers.insert("content-type", "text/plain".parse().unwrap());
            let read = read(&url, &response, Digest::default(), "tidewatch", Words::default());
            read.links.into_iter().map(|(url, _)| url.into_string()).collect::<Vec<_>>()
        };
        assert_eq!(links(false, false), ["http://a.example/1", "http://a.example/10"]);
        assert_eq!(links(true, false), ["http://a.example/1"]);
        assert_eq!(links(false, true), ["http://a.example/1"]);
    }
    /// A page that broke off has no validators: a 304 would confirm the whole page, of which a part is
    /// held. Found by the simulator (seed 14).
    #[test]
    fn half_a_page_is_not_confirmed() {
        let url = CanonicalUrl::parse("http://a.example/").unwrap();
        for is_damaged in [false, true] {
            let (head, headers, wire_bytes, is_h2, status) = <(Vec<u8>, _, _, _, _)>::default();
            let (body, is_cut) = (b"<p>Half a pa".to_vec(), false);
            let mut response =
                Response { status, head, is_h2, headers, body, wire_bytes, is_cut, is_damaged };
            response.headers.insert("etag", "\"1\"".parse().unwrap());
            response.headers.insert("last-modified", "yesterday".parse().unwrap());
            let read = read(&url, &response, Digest::default(), "tidewatch", Words::default());
            assert_eq!(
                (read.etag.is_none(), read.last_modified.is_none()),
                (is_damaged, is_damaged)
            );
        }
    }
}
