//! Files for crawlers (`robots.txt`, sitemap, feed), and disallowed pages as traps.

use std::fmt::Write as _;

use tidewatch_core::Time;

use super::reply::push_escaped;
use super::{Reply, Served, Site};

/// The section that some hosts disallow.
pub(super) const PRIVATE: &str = "/private/";
/// A trap below it, linked from the pages of such hosts.
pub(super) const LURE: &str = "/private/members";
/// Most entries of a sitemap: the limit of the protocol.
const SITEMAP_ENTRIES: usize = 50_000;
/// Most entries of a feed.
const FEED_ENTRIES: usize = 20;

impl Site {
    pub(super) fn file_reply(&self, host: u32, path: &str, now: Time) -> Option<Reply> {
        let habits = &self.hosts[host as usize];
        match path {
            "/robots.txt" if habits.has_robots => Some(self.robots(host)),
            "/sitemap.xml" => Some(self.sitemap(host, now)),
            "/feed.xml" => Some(self.feed(host, now)),
            _ if habits.has_private && path.starts_with(PRIVATE) => Some(lure()),
            _ => None,
        }
    }

    fn robots(&self, host: u32) -> Reply {
        let habits = &self.hosts[host as usize];
        let mut body = "User-agent: *\n".to_owned();
        body.push_str(if habits.has_private { "Disallow: /private/\n" } else { "Disallow:\n" });
        if let Some(delay) = habits.crawl_delay_s {
            let _ = writeln!(body, "Crawl-delay: {delay}");
        }
        let _ = writeln!(body, "\nSitemap: http://{}/sitemap.xml", self.index.name_of(host));
        Reply::new(200, Served::Robots, "text/plain; charset=utf-8", body)
    }

    /// The newest pages, with the time of their last change.
    fn sitemap(&self, host: u32, now: Time) -> Reply {
        let mut body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
            .to_owned();
        for page in self.newest(host, now).take(SITEMAP_ENTRIES) {
            body.push_str("<url><loc>");
            push_escaped(self.url(page), &mut body);
            let modified = self.date(self.state(page, now).modified).rfc3339();
            let _ = writeln!(body, "</loc><lastmod>{modified}</lastmod></url>");
        }
        body.push_str("</urlset>\n");
        Reply::new(200, Served::Sitemap, "application/xml; charset=utf-8", body)
    }

    /// An Atom feed of the newest pages, without sources.
    fn feed(&self, host: u32, now: Time) -> Reply {
        let is_item = |page: &u32| !self.trace.pages[*page as usize].is_source;
        let pages: Vec<u32> = self.newest(host, now).filter(is_item).take(FEED_ENTRIES).collect();
        let modified = |page: u32| self.state(page, now).modified;
        let updated = pages.iter().map(|&page| modified(page)).max().unwrap_or(Time::ZERO);
        let name = self.index.name_of(host);
        let mut body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>{name}</title>\n\
             <id>http://{name}/feed.xml</id>\n\
             <link rel=\"self\" href=\"http://{name}/feed.xml\"/>\n<updated>{}</updated>\n",
            self.date(updated).rfc3339()
        );
        for page in pages {
            self.push_entry(page, modified(page), &mut body);
        }
        body.push_str("</feed>\n");
        Reply::new(200, Served::Feed, "application/atom+xml; charset=utf-8", body)
    }

    fn push_entry(&self, page: u32, modified: Time, body: &mut String) {
        let mut url = String::new();
        push_escaped(self.url(page), &mut url);
        let title = self.title(page);
        let published = self.date(self.trace.pages[page as usize].born).rfc3339();
        let updated = self.date(modified).rfc3339();
        let _ = writeln!(
            body,
            "<entry><title>{title}</title><link href=\"{url}\"/><id>{url}</id>\
             <published>{published}</published><updated>{updated}</updated></entry>"
        );
    }

    /// Pages of a host that exist at `now` and are not hidden, newest first.
    fn newest(&self, host: u32, now: Time) -> impl Iterator<Item = u32> {
        let born = self.index.born(&self.trace, host, now);
        let is_named = move |page: &u32| self.is_there(*page, now) && !self.is_hidden(*page);
        born.iter().rev().copied().filter(is_named)
    }
}

fn lure() -> Reply {
    let body = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Members only</title></head>\
        <body><h1>Members only</h1><p>Crawlers were asked not to come here.</p>\
        <p><a href=\"/private/deeper\">Deeper</a></p></body></html>\n";
    Reply::html(Served::Private, body.to_owned())
}
