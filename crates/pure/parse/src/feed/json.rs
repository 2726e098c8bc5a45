//! JSON Feed 1.0 and 1.1.

use serde_json::Value;

use super::{Entry, Feed, Format, MAX_ENTRIES, add_link, field};
use crate::{Refused, date};

pub(super) fn parse(text: &str) -> Result<Feed, Refused> {
    // serde_json refuses more than 128 levels, so nesting is bounded.
    let feed: Value =
        serde_json::from_str(text).map_err(|error| Refused::BadJson { why: error.to_string() })?;
    let items = feed["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut links = Vec::new();
    for (key, rel) in [("home_page_url", "alternate"), ("feed_url", "self"), ("next_url", "next")] {
        add_link(&mut links, text_of(&feed, key), rel);
    }
    for hub in feed["hubs"].as_array().into_iter().flatten() {
        add_link(&mut links, text_of(hub, "url"), "hub");
    }
    Ok(Feed {
        format: Format::Json,
        title: field(text_of(&feed, "title")),
        links,
        published_s: None,
        updated_s: None,
        entries: items.iter().take(MAX_ENTRIES).map(entry).collect(),
        is_cut: items.len() > MAX_ENTRIES,
    })
}

fn entry(item: &Value) -> Entry {
    let mut links = Vec::new();
    add_link(&mut links, text_of(item, "url"), "alternate");
    add_link(&mut links, text_of(item, "external_url"), "related");
    for attachment in item["attachments"].as_array().into_iter().flatten() {
        add_link(&mut links, text_of(attachment, "url"), "enclosure");
    }
    Entry {
        id: field(text_of(item, "id")),
        id_is_link: false,
        title: field(text_of(item, "title")),
        links,
        published_s: date::parse(text_of(item, "date_published")),
        updated_s: date::parse(text_of(item, "date_modified")),
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
