//! Which forms are asked, and what a page says about forms.
//!
//! Off unless the operator names hosts. This module reads forms and answers where pages are parsed;
//! `partition/forms.rs` decides what to ask.

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_fetch::Response;
use tidewatch_forms::{Answer, Place, Question, judge, read_at};
use tidewatch_parse::charset::{decode, label_of};
use tidewatch_parse::document::is_html;
use tidewatch_parse::html::scan;
use tidewatch_parse::links::Links;

use crate::scope::ListedHost;

/// Most bytes of words with which a form is begun.
const MOST_WORDS: usize = 4096;

/// The operator's rules about forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormRules {
    /// Hosts whose forms may be asked; none if empty.
    pub hosts: Vec<ListedHost>,
    /// Most result pages asked for on one host and day.
    pub per_day: u32,
}

impl Default for FormRules {
    fn default() -> Self {
        FormRules { hosts: Vec::new(), per_day: 100 }
    }
}

impl FormRules {
    /// Whether forms on the host of a URL may be asked.
    pub(crate) fn allow(&self, url: &CanonicalUrl) -> bool {
        self.hosts.iter().any(|host| host.covers(url.host()))
    }
}

/// What is wanted of a page about forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormsWanted {
    /// Nothing.
    #[default]
    Nothing,
    /// The forms on it that may be asked.
    Forms,
    /// What it answers to a query, and where the records of such answers stood before.
    Answer(Option<Place>),
}

/// What a page says about forms.
#[derive(Clone, Debug)]
pub enum FormsRead {
    /// The forms that may be asked, and words of the page to begin with.
    Forms(Vec<Question>, String),
    /// What it answers.
    Answer(Answer),
}

/// Reads what is wanted of a response, if it is a page.
pub(crate) fn read_forms(
    url: &CanonicalUrl,
    response: &Response,
    wanted: FormsWanted,
    agent: &str,
) -> Option<FormsRead> {
    if wanted == FormsWanted::Nothing || !is_html(&response.media_type()) {
        return None;
    }
    let decoded = decode(&response.body, response.header("content-type").and_then(label_of));
    if let FormsWanted::Answer(place) = wanted {
        return Some(FormsRead::Answer(read_at(&decoded.text, url, place)));
    }
    let mut links = Links::new(agent).in_encoding(decoded.encoding);
    scan(&decoded.text, &mut links);
    let mut page = links.finish(&Base::of(url).ok()?);
    response.all("x-robots-tag").for_each(|value| page.robots.add_header(value, agent));
    if page.robots.nofollow || page.forms.is_empty() {
        return None;
    }
    let questions: Vec<Question> =
        page.forms.iter().filter_map(|form| judge(form, url).ok()).collect();
    let anchors = page.links.iter().map(|link| link.anchor.as_str());
    let mut words = String::new();
    for text in page.title.as_deref().into_iter().chain(anchors) {
        if words.len() + text.len() > MOST_WORDS {
            break;
        }
        words.push_str(text);
        words.push(' ');
    }
    Some(FormsRead::Forms(questions, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a page with a search form that comes with this `X-Robots-Tag`.
    fn read_with(robots: &str) -> Option<FormsRead> {
        let url = CanonicalUrl::parse("http://a.example/").unwrap();
        let body = b"<form action=/find><input type=search name=q></form>".to_vec();
        let (head, wire_bytes, is_h2, status) = <(_, _, _, _)>::default();
        let (headers, is_cut, is_damaged) = <(_, _, _)>::default();
        let mut response =
            Response { status, head, is_h2, headers, body, wire_bytes, is_cut, is_damaged };
        response.headers.insert("content-type", "text/html".parse().unwrap());
        response.headers.insert("x-robots-tag", robots.parse().unwrap());
        read_forms(&url, &response, FormsWanted::Forms, "tidewatch")
    }

    #[test]
    fn pages_with_nofollow_in_a_header_have_no_forms() {
        for robots in ["noindex", "otherbot: nofollow"] {
            let read = read_with(robots);
            assert!(matches!(&read, Some(FormsRead::Forms(all, _)) if all.len() == 1), "{robots}");
        }
        for robots in ["nofollow", "none", "tidewatch: nofollow"] {
            assert!(read_with(robots).is_none(), "{robots}");
        }
    }
}
