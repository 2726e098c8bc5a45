//! Old URLs that redirect to pages, and redirect loops.

use super::reply::push_escaped;
use super::{Reply, Site};
use crate::habits::{Moved, MovedBy};

const OLD: &str = "/old";
const OLDER: &str = "/older";
const OUT: &str = "/out/";
/// Start of a redirect loop; hosts that have one link to it.
pub(super) const CIRCLE: &str = "/circle/1";
/// URLs of the loop.
const CIRCLE_LENGTH: u32 = 3;

impl Site {
    /// The URL under which pages link to `page`: its own, unless it has moved.
    pub(super) fn linked_url(&self, page: u32) -> String {
        let url = self.url(page);
        let (origin, path) = split(url);
        match self.habits.moved(self.seed, page) {
            None => url.to_owned(),
            Some(Moved::Once | Moved::ForNow) => format!("{origin}{OLD}{path}"),
            Some(Moved::Twice) => format!("{origin}{OLDER}{path}"),
            Some(Moved::Elsewhere) => {
                let host = self.neighbour(self.trace.pages[page as usize].host);
                format!("http://{}{OUT}{page}", self.index.name_of(host))
            }
        }
    }

    /// The reply at an old URL, if `path` is one.
    pub(super) fn redirect_reply(&self, host: u32, path: &str) -> Option<Reply> {
        if path.starts_with("/circle/") {
            return self.circle(host, path);
        }
        if let Some(number) = path.strip_prefix(OUT) {
            return self.elsewhere(host, number);
        }
        let (is_older, rest) = match path.strip_prefix(OLDER) {
            Some(rest) => (true, rest),
            None => (false, path.strip_prefix(OLD)?),
        };
        let page = self.page(host, rest)?;
        match (self.habits.moved(self.seed, page)?, is_older) {
            (Moved::Once, false) => Some(self.to(page, 301, self.url(page))),
            (Moved::ForNow | Moved::Twice, false) => Some(self.to(page, 302, rest)),
            (Moved::Twice, true) => Some(self.to(page, 301, &format!("{OLD}{rest}"))),
            _ => None,
        }
    }

    fn elsewhere(&self, host: u32, number: &str) -> Option<Reply> {
        let page: u32 = number.parse().ok()?;
        let row = self.trace.pages.get(page as usize)?;
        let is_here = self.habits.moved(self.seed, page) == Some(Moved::Elsewhere)
            && self.neighbour(row.host) == host;
        is_here.then(|| self.to(page, 301, &row.url))
    }

    /// A redirect to a page, by a status or in a page with status 200.
    fn to(&self, page: u32, status: u16, to: &str) -> Reply {
        match self.habits.by(self.seed, page) {
            MovedBy::Status => Reply::redirect(status, to),
            MovedBy::Refresh => Reply::sent_on(|body| {
                body.push_str("<meta http-equiv=refresh content=\"0; url=");
                push_escaped(to, body);
                body.push_str("\">");
            }),
            MovedBy::Script => Reply::sent_on(|body| {
                body.push_str("<script>\nvar wait = 0;\nwindow.location.replace(\"");
                // A `</script>` in the address would end the script.
                for c in to.chars() {
                    body.extend(matches!(c, '/' | '"' | '\\').then_some('\\'));
                    body.push(c);
                }
                body.push_str("\");\n</script>");
            }),
        }
    }

    fn circle(&self, host: u32, path: &str) -> Option<Reply> {
        if !self.hosts[host as usize].has_circle {
            return None;
        }
        let station: u32 = path.strip_prefix("/circle/")?.parse().ok()?;
        let next = if station == CIRCLE_LENGTH { 1 } else { station + 1 };
        (1..=CIRCLE_LENGTH)
            .contains(&station)
            .then(|| Reply::redirect(302, &format!("/circle/{next}")))
    }

    /// The host of the old URLs of pages that moved between hosts: the next one.
    fn neighbour(&self, host: u32) -> u32 {
        (host + 1) % self.trace.hosts.len() as u32
    }
}

/// Origin and path of an `http` URL.
pub(super) fn split(url: &str) -> (&str, &str) {
    const SCHEME: usize = "http://".len();
    let slash = url.get(SCHEME..).and_then(|rest| rest.find('/'));
    url.split_at(slash.map_or(url.len(), |at| SCHEME + at))
}
