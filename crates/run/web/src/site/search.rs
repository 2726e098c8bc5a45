//! A search box over the pages of a host.
//!
//! A word finds the pages that have it in their titles, in the order of their numbers, [`SHOWN`] a page. On a
//! host with a search box, pages that no link leads to are in neither sitemap nor feed, so only a search
//! finds them. The trace therefore says what a crawler can find by searching.

use std::fmt::Write as _;

use tidewatch_core::Time;

use super::redirect::split;
use super::reply::push_escaped;
use super::{Reply, Served, Site};

/// The address of the search.
const SEARCH: &str = "/search";
/// Results on a page.
const SHOWN: usize = 10;

impl Site {
    /// Whether only a search leads to a page.
    pub fn is_hidden(&self, page: u32) -> bool {
        let row = &self.trace.pages[page as usize];
        self.hosts[row.host as usize].has_search && !row.is_source && !self.index.is_linked(page)
    }

    /// The search box of a host's pages, if it has one.
    pub(super) fn push_search_box(&self, host: u32, out: &mut String) {
        if self.hosts[host as usize].has_search {
            let _ = writeln!(
                out,
                "<header><form action=\"{SEARCH}\" role=\"search\"><input type=\"search\" name=\"q\" \
                 aria-label=\"Search\"><button>Search</button></form></header>"
            );
        }
    }

    /// A page of results, if `path` asks for one.
    pub(super) fn search_reply(&self, host: u32, path: &str, now: Time) -> Option<Reply> {
        let query = path.strip_prefix(SEARCH)?.strip_prefix('?')?;
        if !self.hosts[host as usize].has_search {
            return None;
        }
        let value = |name: &str| {
            query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        };
        let word = value("q").map_or("", |(_, word)| word).to_lowercase();
        let page: usize = value("page").and_then(|(_, page)| page.parse().ok()).unwrap_or(1);
        let found = self.found(host, &word, now);
        let from = page.saturating_sub(1).saturating_mul(SHOWN).min(found.len());
        let shown = &found[from..found.len().min(from + SHOWN)];
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>Search: {}</title></head>\n<body>\n",
            escaped(&word)
        );
        self.push_search_box(host, &mut out);
        let _ =
            writeln!(out, "<main>\n<p>{} results for {}</p>\n<ol>", found.len(), escaped(&word));
        for &page in shown {
            out.push_str("<li><a href=\"");
            push_escaped(split(self.url(page)).1, &mut out);
            let _ = writeln!(out, "\">{}</a></li>", self.title(page));
        }
        out.push_str("</ol>\n");
        if from + SHOWN < found.len() {
            let link = escaped(&format!("{SEARCH}?q={word}&page={}", page + 1));
            let _ = writeln!(out, "<a rel=\"next\" href=\"{link}\">Next page</a>");
        }
        out.push_str("</main>\n</body>\n</html>\n");
        Some(Reply::html(Served::Search, out))
    }

    /// The pages of a host whose titles have a word.
    fn found(&self, host: u32, word: &str, now: Time) -> Vec<u32> {
        let has = |page: &u32| {
            let title = self.title(*page).to_lowercase();
            self.is_there(*page, now) && title.split(' ').any(|of_title| of_title == word)
        };
        let mut found: Vec<u32> =
            self.index.born(&self.trace, host, now).iter().copied().filter(has).collect();
        found.sort_unstable();
        found
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    push_escaped(text, &mut out);
    out
}
