//! Text, links and validators of a page at a time.

use std::collections::HashSet;
use std::fmt::Write as _;

use tidewatch_core::Time;
use tidewatch_trace::{TraceLink, Version};

use super::reply::push_escaped;
use super::{PageRequest, Reply, Served, Site, files, redirect};
use crate::date::Date;
use crate::text;

/// The purpose of the words that pages are stuffed with, and how often they are repeated.
const KEYWORDS: u64 = 0x6b65_7977_6f72_6473;
const STUFFED: u32 = 60;

/// The state that determines a page's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Changes so far.
    revision: usize,
    /// Versions so far.
    versions: usize,
    /// Links that appeared or disappeared so far.
    moves: usize,
    /// Time of the last of these, or the page's birth.
    pub(super) modified: Time,
}

impl Site {
    pub(super) fn state(&self, page: u32, now: Time) -> State {
        let (revision, changed) = self.index.changes(&self.trace, self.shows(page), now);
        let versions = self.versions(page, now);
        let mut state = State {
            revision,
            versions: versions.len(),
            moves: 0,
            modified: self.trace.pages[page as usize].born,
        };
        let links = self.index.links(&self.trace, page);
        let moves = links.iter().flat_map(|l| [Some(l.appears), l.disappears]).flatten();
        let moves = moves.filter(|&at| at <= now).inspect(|_| state.moves += 1).max();
        let version = versions.last().map(|version| version.at);
        let last = [changed, version, moves].into_iter().flatten().max();
        state.modified = last.unwrap_or(state.modified).max(state.modified);
        state
    }

    pub(super) fn page_reply(&self, page: u32, asked: &PageRequest<'_>, now: Time) -> Reply {
        if !self.is_there(page, now) {
            return self.absent(page, now);
        }
        if self.habits.fails(self.seed, page, now) {
            return Reply::error(500, "Something broke while this page was being made.");
        }
        let state = self.state(page, now);
        let State { revision, versions, moves, modified } = state;
        let etag = format!("\"{page:x}-{revision:x}-{versions:x}-{moves:x}\"");
        let modified = self.date(modified);
        let is_same = is_unmodified(asked, &etag, modified);
        let body = if is_same { String::new() } else { self.html(page, state, now) };
        let mut reply = Reply::html(Served::Page(page), body);
        reply.header("etag", etag);
        reply.header("last-modified", modified.http());
        if is_same { reply.not_modified() } else { reply }
    }

    fn absent(&self, page: u32, now: Time) -> Reply {
        let was_there = self.trace.pages[page as usize].born <= now;
        if was_there && self.habits.says_gone(self.seed, page) {
            return Reply::error(410, "This page was taken down for good.");
        }
        Reply::not_found()
    }

    fn html(&self, page: u32, state: State, now: Time) -> String {
        let title = self.title(page);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n"
        );
        if let Some(url) = self.canonical(page) {
            out.push_str("<link rel=\"canonical\" href=\"");
            push_escaped(url, &mut out);
            out.push_str("\">\n");
        }
        let _ = write!(
            out,
            "<link rel=\"alternate\" type=\"application/atom+xml\" href=\"/feed.xml\">\n\
             </head>\n<body>\n"
        );
        self.push_search_box(self.trace.pages[page as usize].host, &mut out);
        let _ = write!(out, "<main>\n<h1>{title}</h1>\n");
        self.push_text(page, state, now, &mut out);
        self.push_keywords(page, &mut out);
        out.push_str("</main>\n");
        self.push_links(page, now, &mut out);
        self.push_footer(self.trace.pages[page as usize].host, &mut out);
        out.push_str("</body>\n</html>\n");
        out
    }

    /// The visible text: the fragments of the page if the trace has them, otherwise paragraphs of which
    /// each change rewrites one in turn.
    fn push_text(&self, page: u32, state: State, now: Time, out: &mut String) {
        let revision = state.revision as u64;
        let versions = self.versions(page, now);
        if !versions.is_empty() {
            let _ = writeln!(out, "<p>Revision {revision}.</p>");
            for fragment in self.fragments(versions) {
                out.push_str("<p>");
                text::push_fragment(fragment, out);
                out.push_str("</p>\n");
            }
            return;
        }
        let page = self.shows(page);
        let paragraphs = text::paragraphs(self.seed, page);
        for number in 0..paragraphs {
            // Revision r rewrites paragraph r mod n; count those among 1, …, r that hit this one.
            let behind = if number == 0 { 0 } else { paragraphs - number };
            let rewritten = (revision + behind) / paragraphs;
            out.push_str("<p>");
            text::push_paragraph(self.seed, page, number, rewritten, out);
            out.push_str("</p>\n");
        }
    }

    /// The keywords of a stuffed host, in an order that differs from page to page.
    fn push_keywords(&self, page: u32, out: &mut String) {
        let host = self.trace.pages[page as usize].host;
        if !self.is_stuffed(host) {
            return;
        }
        let keywords = text::title(self.seed ^ KEYWORDS, host);
        let other = text::title(self.seed ^ KEYWORDS, page ^ u32::MAX);
        for _ in 0..STUFFED {
            let _ = writeln!(out, "<p>{keywords} {other} {keywords}</p>");
        }
    }

    /// The versions of a page by `now`; those of the page that it repeats if it has none.
    fn versions(&self, page: u32, now: Time) -> &[Version] {
        let own = self.index.versions(&self.trace, page, now);
        if own.is_empty() { self.index.versions(&self.trace, self.shows(page), now) } else { own }
    }

    /// The fragments on a page after these versions, in order of addition.
    fn fragments(&self, versions: &[Version]) -> Vec<u64> {
        let Some(table) = &self.trace.versions else { return Vec::new() };
        let mut there = HashSet::new();
        let mut order = Vec::new();
        for version in versions {
            for fragment in table.removed(version) {
                there.remove(fragment);
            }
            order.extend(table.added(version).iter().copied().filter(|&f| there.insert(f)));
        }
        // A fragment that was removed and added again takes the place of its return.
        let mut seen = HashSet::new();
        order.reverse();
        order.retain(|&f| there.contains(&f) && seen.insert(f));
        order.reverse();
        order
    }

    fn push_links(&self, page: u32, now: Time, out: &mut String) {
        let is_shown = |link: &&TraceLink| {
            link.appears <= now && link.disappears.is_none_or(|disappears| disappears > now)
        };
        let (origin, _) = redirect::split(self.url(page));
        out.push_str("<nav>\n<ul>\n");
        for link in self.index.links(&self.trace, page).iter().filter(is_shown) {
            let url = self.linked_url(link.page);
            let (to, path) = redirect::split(&url);
            out.push_str("<li><a href=\"");
            // Links within a host are relative, as on real pages.
            push_escaped(if to == origin { path } else { &url }, out);
            let _ = writeln!(out, "\">{}</a></li>", self.title(link.page));
        }
        out.push_str("</ul>\n</nav>\n");
    }

    fn push_footer(&self, host: u32, out: &mut String) {
        let habits = &self.hosts[host as usize];
        out.push_str("<footer>\n");
        if habits.has_private {
            let _ = writeln!(out, "<a href=\"{}\">Members</a>", files::LURE);
        }
        if habits.has_circle {
            let _ = writeln!(out, "<a href=\"{}\">Around</a>", redirect::CIRCLE);
        }
        out.push_str("</footer>\n");
    }
}

/// Whether the client's copy is still valid (RFC 9110 §13.2.2: an entity tag takes precedence).
fn is_unmodified(asked: &PageRequest<'_>, etag: &str, modified: Date) -> bool {
    if let Some(tags) = asked.if_none_match {
        let is_own = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag;
        return tags.split(',').any(|tag| is_own(tag.trim()));
    }
    asked.if_modified_since.and_then(Date::from_http).is_some_and(|since| modified <= since)
}
