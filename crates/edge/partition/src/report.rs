//! Turns answers of the network into reports.
//!
//! Everything here is a function of a job and its answer: the live network and a simulated one use the
//! same code from the last byte of an answer on.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_archive::{Digest, Exchange, Packed, Revisit, digest};
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{HostId, Reason, Span};
use tidewatch_fetch::{End, Failure, Fetched, Hop, Response};
use tidewatch_parse::document::Source;
use tidewatch_parse::wall::{self, Wall};
use tidewatch_robots::Wishes;

use crate::forms::read_forms;
use crate::partition::overloaded;
use crate::read::{Words, read, requisites_of, truncated};
use crate::work::{Came, Held, Job, Report};

/// How long a host's address is cached before the resolver, which honours the records' TTL, is
/// asked again.
const ADDRESS_HOLDS: Span = Span::MINUTE.times(10);

/// Reads answers.
pub struct Reporter {
    agent: String,
    level: u32,
    text_bytes: usize,
}

impl Reporter {
    /// Obeys robots directives for `agent` and packs records at gzip's `level`.
    pub fn new(agent: &str, level: u32) -> Reporter {
        Reporter { agent: agent.to_owned(), level: level.clamp(1, 9), text_bytes: 0 }
    }

    /// Adds the words of pages to reports, with at most `text_bytes` of text.
    pub(crate) fn keep_text(self, text_bytes: usize) -> Reporter {
        Reporter { text_bytes, ..self }
    }

    /// The report of a request that was begun at `asked`. A look-up is no request: it is reported as given
    /// up.
    pub fn report(&self, job: &Job, fetched: &Fetched, asked: SystemTime) -> Report {
        match *job {
            Job::Resolve { .. } => job.given_up(),
            // A robots.txt or page that makes the parser panic fails; its host and the crawl go on.
            Job::Robots { host, ref url } => {
                let (retry_after, took) = (None, took(fetched));
                let found = Err(Reason::Other);
                catch_unwind(AssertUnwindSafe(|| robots(host, url, fetched, asked)))
                    .unwrap_or(Report::Robots { host, found, retry_after, took })
            }
            Job::Page { host, page, ref url, ref held, requisites, gist, wishes, shape, forms } => {
                let response = fetched.response();
                let (status, body_bytes) =
                    response.map_or((None, 0), |r| (Some(r.status), r.body.len() as u64));
                let words = Words { text_bytes: self.text_bytes, gist, shape };
                let read = || {
                    let (mut came, packed) =
                        self.read_page(url, held.as_ref(), wishes, fetched, asked, words);
                    if let (Came::Content(content), Some(response), true) =
                        (&mut came, fetched.response(), requisites)
                    {
                        let content_type = response.header("content-type");
                        content.requisites = requisites_of(url, content_type, &response.body);
                    }
                    if let (Came::Content(content), Some(response)) =
                        (&mut came, fetched.response())
                    {
                        content.forms = read_forms(url, response, forms, &self.agent);
                    }
                    (came, packed)
                };
                let (came, packed) = catch_unwind(AssertUnwindSafe(read))
                    .unwrap_or((Came::Refused(Reason::Other), None));
                let asked = fetched.hops.last().map_or(asked, |hop| hop.at);
                let (unix_micros, took) = (unix_micros(asked), took(fetched));
                Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took }
            }
        }
    }

    /// The report of a look-up. The lowest address stands for all, so that all names of one server share
    /// it.
    pub fn resolved(host: HostId, found: Result<Vec<IpAddr>, Failure>, took: Duration) -> Report {
        let found = found.map_err(|failure| failure.reason());
        let found = found.and_then(|all| {
            all.into_iter().min().map(|address| (address, ADDRESS_HOLDS)).ok_or(Reason::NoAddress)
        });
        Report::Resolved { host, found, took: span(took) }
    }

    fn read_page(
        &self,
        url: &CanonicalUrl,
        held: Option<&Held>,
        said: Wishes,
        fetched: &Fetched,
        asked: SystemTime,
        words: Words,
    ) -> (Came, Option<Packed>) {
        let Some(hop) = fetched.hops.last() else {
            return (Came::Nothing(fetched.end.reason().unwrap_or(Reason::Incomplete)), None);
        };
        let digest = hop.response.as_ref().map_or_else(Digest::default, |r| digest(&r.body));
        let mut came = self.came(url, fetched, hop, digest, asked, words);
        // A wall is not archived, but noted: replay would show it as a version of the page.
        let links = match &came {
            Came::Content(content) => Some(content.links.len()),
            Came::Overloaded(..) | Came::Refused(_) => Some(0),
            Came::Same | Came::Moved { .. } | Came::Gone | Came::Nothing(_) => None,
        };
        if let (Some(response), Some(links)) = (&hop.response, links)
            && let Some(wall) = wall_of(url, response, links)
        {
            let (by, status) = (wall.service(), response.status);
            let note = format!("walled-uri: {url}\r\nwalled-by: {by}\r\nstatus: {status}\r\n");
            let note = Packed::note(unix_micros(hop.at), &note, self.level);
            return (Came::Overloaded(Reason::Walled, wait(response, fetched, asked)), Some(note));
        }
        let mut metadata = format!("fetchTimeMs: {}\r\n", hop.total.as_millis());
        let mut wishes = said;
        if let Came::Content(content) = &mut came {
            wishes = wishes.and(content.capture.wishes);
            content.capture.wishes = wishes;
        }
        if !wishes.is_empty() {
            let _ = write!(metadata, "usage: {wishes}\r\n");
        }
        let packed = hop.response.as_ref().filter(|_| fetched.failure().is_none());
        let packed = packed.map(|response| self.pack(url, hop, response, digest, held, &metadata));
        // No reader sees a page that sends them on at once: it is a redirect with another status.
        if let Came::Content(content) = &mut came
            && let Some(to) = content.moved.take()
        {
            came = Came::Moved { to, for_good: false };
        }
        (came, packed)
    }

    fn came(
        &self,
        url: &CanonicalUrl,
        fetched: &Fetched,
        hop: &Hop,
        digest: Digest,
        asked: SystemTime,
        words: Words,
    ) -> Came {
        let response = match (&fetched.end, &hop.response) {
            (End::Failed(failure), _) => return Came::Nothing(failure.reason()),
            (_, None) => return Came::Nothing(Reason::Incomplete),
            (End::Redirect(to), Some(response)) => {
                let for_good = matches!(response.status, 301 | 308);
                return Came::Moved { to: to.clone(), for_good };
            }
            (End::Answered, Some(response)) => response,
        };
        if let Some(reason) = overloaded(response.status) {
            return Came::Overloaded(reason, wait(response, fetched, asked));
        }
        match response.status {
            200..=299 => {
                let mut content = read(url, response, digest, &self.agent, words);
                content.capture.unix_micros = unix_micros(hop.at);
                Came::Content(Box::new(content))
            }
            304 => Came::Same,
            404 | 410 => Came::Gone,
            401 | 403 | 451 => Came::Refused(Reason::Forbidden),
            500.. => Came::Refused(Reason::ServerError),
            _ => Came::Refused(Reason::ClientError),
        }
    }

    fn pack(
        &self,
        url: &CanonicalUrl,
        hop: &Hop,
        response: &Response,
        digest: Digest,
        held: Option<&Held>,
        metadata: &str,
    ) -> Packed {
        let is_not_modified = response.status == 304;
        let repeats = |held: &&Held| is_not_modified || digest == held.digest;
        let revisit = held.filter(repeats).map(|held| Revisit {
            unix_micros: held.unix_micros,
            url: url.as_str(),
            digest: held.digest,
            is_not_modified,
        });

        let exchange = Exchange {
            url: url.as_str(),
            unix_micros: unix_micros(hop.at),
            address: hop.address,
            request_head: &hop.request_head,
            response_head: &response.head,
            is_h2: response.is_h2,
            body: &response.body,
            digest,
            media_type: &response.media_type(),
            status: response.status,
            truncated: truncated(response),
            revisit,
            metadata,
        };
        Packed::new(&exchange, self.level)
    }
}

/// The report of a robots.txt.
fn robots(host: HostId, url: &CanonicalUrl, fetched: &Fetched, asked: SystemTime) -> Report {
    let took = took(fetched);
    let retry_after = fetched.response().and_then(|response| wait(response, fetched, asked));
    let found = match (&fetched.end, fetched.response()) {
        // A challenge page in its place says nothing about what is allowed.
        (End::Answered, Some(response)) if wall_of(url, response, 0).is_some() => {
            Err(Reason::Walled)
        }
        (End::Answered, Some(response)) => Ok((response.status, response.body.clone())),
        // RFC 9309 §2.3.1.2: as if there were no robots.txt.
        (End::Failed(Failure::TooManyRedirects { .. }), _) => Ok((404, Vec::new())),
        (end, _) => Err(end.reason().unwrap_or(Reason::Incomplete)),
    };
    Report::Robots { host, found, retry_after, took }
}

/// The challenge or block page that a response is, if it is one.
fn wall_of(url: &CanonicalUrl, response: &Response, links: usize) -> Option<Wall> {
    let base = Base::of(url).ok()?;
    let source = Source {
        base: &base,
        content_type: response.header("content-type"),
        robots_tags: &[],
        kind: None,
        bytes: &response.body,
    };
    wall::recognise(&source, links, |name| response.header(name))
}

/// The response's Retry-After, as a time from its end.
fn wait(response: &Response, fetched: &Fetched, asked: SystemTime) -> Option<Span> {
    let ended = fetched.hops.last().map_or(asked, |hop| hop.at + hop.total);
    response.retry_after(unix_micros(ended) / 1_000_000).map(span)
}

/// Time of the last hop, without waiting for our own turn.
fn took(fetched: &Fetched) -> Span {
    fetched.hops.last().map_or(Span::ZERO, |hop| span(hop.total))
}

fn span(duration: Duration) -> Span {
    Span::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

pub(crate) fn unix_micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use tidewatch_archive::{Archive, Record, read_at};

    use super::*;
    use crate::read::read_record;

    /// The report of a page with this body.
    fn came(body: &str) -> (Came, Option<Packed>) {
        came_as(body, false, false)
    }

    fn came_as(body: &str, is_cut: bool, is_damaged: bool) -> (Came, Option<Packed>) {
        report_of(Response { is_cut, is_damaged, ..response_of(200, body) }, None)
    }

    fn response_of(status: u16, body: &str) -> Response {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"1\"\r\n\r\n".to_vec();
        let (headers, wire_bytes, is_h2) = <(_, _, _)>::default();
        let (body, is_cut, is_damaged) = (body.as_bytes().to_vec(), false, false);
        let mut response =
            Response { status, head, is_h2, headers, body, wire_bytes, is_cut, is_damaged };
        response.headers.insert("content-type", "text/html".parse().unwrap());
        response.headers.insert("etag", "\"1\"".parse().unwrap());
        response
    }

    /// The report of a response, by a crawl that holds a copy or none.
    fn report_of(response: Response, held: Option<&Held>) -> (Came, Option<Packed>) {
        let url = CanonicalUrl::parse("http://a.example/old").unwrap();
        let hop = Hop {
            url: url.clone(),
            at: UNIX_EPOCH,
            address: None,
            request_head: Vec::new(),
            response: Some(response),
            connect: None,
            first_byte: None,
            total: Duration::ZERO,
        };
        let fetched = Fetched { hops: vec![hop], end: End::Answered };
        let reporter = Reporter::new("tidewatch", 1);
        reporter.read_page(&url, held, Wishes::NONE, &fetched, UNIX_EPOCH, Words::default())
    }

    /// The first record that a report archives.
    fn record_of(packed: &Packed) -> Record {
        let dir = tempfile::tempdir().unwrap();
        let (mut archive, _) = Archive::open(dir.path(), 1 << 30, 0, None).unwrap();
        let at = archive.append(packed, 0);
        archive.sync().unwrap();
        read_at(&archive.path(at.file), at.offset).unwrap()
    }

    /// Replay shows a revisit by the response it names. A response that came over HTTP/2 says so.
    #[test]
    fn a_repeated_answer_is_archived_as_a_revisit() {
        let (etag, last_modified, unix_micros) = (None, None, 7_000_000);
        let held = Held { etag, last_modified, digest: digest(b"<p>one"), unix_micros };
        let cases = [
            (304, "", Some("server-not-modified")),
            (200, "<p>one", Some("identical-payload-digest")),
            (200, "<p>two", None),
        ];
        for (status, body, profile) in cases {
            for is_h2 in [false, true] {
                let response = Response { is_h2, ..response_of(status, body) };
                let record = record_of(&report_of(response, Some(&held)).1.unwrap());
                let says = record.field("WARC-Profile").and_then(|says| says.rsplit('/').next());
                assert_eq!(says, profile, "{status} {body}");
                let date = profile.map(|_| "1970-01-01T00:00:07.000000Z");
                assert_eq!(record.field("WARC-Refers-To-Date"), date, "{status} {body}");
                assert_eq!(record.field("WARC-Protocol"), is_h2.then_some("h2"), "{status} {body}");
            }
        }
    }

    #[test]
    fn an_immediate_refresh_is_a_redirect() {
        let (came, packed) = came("<meta http-equiv=refresh content='0; url=/new'><p>Moved.");
        let Came::Moved { to, for_good: false } = came else { panic!("{came:?}") };
        assert_eq!(to.as_str(), "http://a.example/new");
        assert!(packed.is_some(), "the answer is archived like that of any redirect");
    }

    /// So is a script that is run whenever the page is shown, and only such a one.
    #[test]
    fn a_script_that_sends_all_on_is_a_redirect() {
        let (sent, packed) = came("<script>location.href = '/new';</script><p>Moved.");
        let Came::Moved { to, for_good: false } = sent else { panic!("{sent:?}") };
        assert_eq!(to.as_str(), "http://a.example/new");
        assert!(packed.is_some());
        for script in ["if (old) location.href = '/new'", "location.href = '/old'"] {
            let (came, _) = came(&format!("<script>{script}</script><p>Text."));
            assert!(matches!(came, Came::Content(_)), "{script}: {came:?}");
        }
    }

    /// A page that is shown for a while, that loads itself again, or that sends only readers without
    /// scripts away is a page.
    #[test]
    fn any_other_refresh_is_none() {
        for refresh in [
            "<meta http-equiv=refresh content='5; url=/new'>",
            "<meta http-equiv=refresh content='0; url=/old'>",
            "<noscript><meta http-equiv=refresh content='0; url=/plain'></noscript>",
        ] {
            let (came, _) = came(&format!("{refresh}<p>Text."));
            assert!(matches!(came, Came::Content(_)), "{refresh}: {came:?}");
        }
    }

    /// A page that broke off has no validator: a 304 would say that it is the whole one. One that was cut
    /// at our limit would be cut there again. Both are read from the archive as they were read when they
    /// came.
    #[test]
    fn half_an_answer_is_archived_as_half() {
        let url = CanonicalUrl::parse("http://a.example/old").unwrap();
        let body = "<title>t</title><a href=/one>one</a><a href=/two>two</a><a href=/thr";
        let cases = [
            ((false, false), None, true),
            ((true, false), Some("length"), true),
            ((false, true), Some("unspecified"), false),
        ];
        for ((is_cut, is_damaged), truncated, has_etag) in cases {
            let (came, packed) = came_as(body, is_cut, is_damaged);
            let Came::Content(content) = came else { panic!("{came:?}") };
            let record = record_of(&packed.unwrap());
            assert_eq!(record.field("WARC-Truncated"), truncated);
            let again = read_record(&url, &record, "tidewatch");
            assert_eq!(content.links.len(), 2, "{:?}", content.links);
            assert_eq!((&content.links, &content.etag), (&again.links, &again.etag));
            assert_eq!(content.etag.is_some(), has_etag);
        }
    }

    /// A wall is a wall, wherever it sends its readers.
    #[test]
    fn a_wall_is_noted_even_if_it_refreshes() {
        let body =
            "<meta http-equiv=refresh content='0; url=/x'><script>window._cf_chl_opt={}</script>";
        let (came, packed) = came(body);
        assert!(matches!(came, Came::Overloaded(Reason::Walled, _)), "{came:?}");
        assert!(packed.is_some());
    }
}
