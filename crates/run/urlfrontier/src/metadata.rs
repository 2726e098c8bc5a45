//! Metadata that a policy reads, and metadata that it adds to an answer.
//!
//! Keys begin with `tidewatch.`; `docs/urlfrontier.md` lists them. An invalid value is ignored.

use std::collections::HashMap;

use prost::Message as _;
use tidewatch_keeper::{Telling, Worth};

use crate::protocol::StringList;

/// Most links that one URL may bring.
const MOST_LINKS: usize = 1_000;
/// Most bytes of a hint's kind.
const MOST_HINT_BYTES: usize = 32;

/// The metadata of a URL as it is kept: the fields of a message.
#[derive(Clone, PartialEq, prost::Message)]
struct Kept {
    #[prost(map = "string, message", tag = "3")]
    metadata: HashMap<String, StringList>,
}

/// What happened once, such as clicks since the last message. A fetcher may bring back all metadata that it
/// got, so these are not given out: they would count again.
const ONCE: [&str; 3] = ["tidewatch.clicks", "tidewatch.hint", "tidewatch.changed"];

fn drop_events(metadata: &mut HashMap<String, StringList>) {
    ONCE.iter().for_each(|key| drop(metadata.remove(*key)));
}

/// The bytes in which metadata is kept.
pub(crate) fn pack(mut metadata: HashMap<String, StringList>) -> Vec<u8> {
    drop_events(&mut metadata);
    if metadata.is_empty() { Vec::new() } else { Kept { metadata }.encode_to_vec() }
}

/// The metadata in kept bytes.
pub(crate) fn unpack(payload: &[u8]) -> HashMap<String, StringList> {
    let mut metadata = Kept::decode(payload).map(|kept| kept.metadata).unwrap_or_default();
    // Directories of earlier versions hold them.
    drop_events(&mut metadata);
    metadata
}

/// What a policy may learn from metadata; `None` if it says nothing.
pub(crate) fn telling(metadata: &HashMap<String, StringList>) -> Option<Box<Telling>> {
    let values = |key: &str| metadata.get(key).map_or(&[][..], |list| &list.values);
    let first = |key: &str| values(key).first().map(String::as_str);
    let number = |key: &str, most: f64| {
        let number: f64 = first(key)?.trim().parse().ok()?;
        (0.0..=most).contains(&number).then_some(number)
    };
    let flag = |key: &str| match first(key)? {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    };
    let hint = first("tidewatch.hint").filter(|kind| kind.len() <= MOST_HINT_BYTES);
    let telling = Telling {
        weight: number("tidewatch.weight", 1e12),
        clicks: number("tidewatch.clicks", 1e12),
        is_source: flag("tidewatch.source").unwrap_or(false),
        via: first("tidewatch.via").or(first("url.path")).map(str::to_owned),
        hint: hint.map(str::to_owned),
        // StormCrawler keeps the status of the answer under the second key.
        status: first("tidewatch.status")
            .or(first("fetch.statusCode"))
            .and_then(|status| status.trim().parse().ok()),
        changed: flag("tidewatch.changed"),
        digest: first("tidewatch.digest").or(first("signature")).map(str::to_owned),
        links: values("tidewatch.links").iter().take(MOST_LINKS).cloned().collect(),
    };
    (telling != Telling::default()).then(|| Box::new(telling))
}

/// Adds what the policy says of a URL.
pub(crate) fn add_worth(metadata: &mut HashMap<String, StringList>, worth: Worth) {
    for (key, value) in [("tidewatch.worth", worth.worth), ("tidewatch.price", worth.price)] {
        metadata.insert(key.to_owned(), StringList { values: vec![value.to_string()] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, StringList> {
        let list = |value: &str| StringList { values: vec![value.to_owned()] };
        pairs.iter().map(|&(key, value)| (key.to_owned(), list(value))).collect()
    }

    #[test]
    fn metadata_is_kept_whole() {
        let all = metadata(&[("a", "1"), ("b", "")]);
        assert_eq!(unpack(&pack(all.clone())), all);
        assert_eq!(unpack(&pack(HashMap::new())), HashMap::new());
    }

    #[test]
    fn clicks_and_hints_are_told_once_and_not_given_out() {
        let all = metadata(&[
            ("tidewatch.clicks", "3"),
            ("tidewatch.hint", "sitemap"),
            ("tidewatch.changed", "true"),
            ("tidewatch.weight", "2"),
        ]);
        let told = telling(&all).unwrap();
        assert_eq!((told.clicks, told.hint.as_deref()), (Some(3.0), Some("sitemap")));
        assert_eq!(unpack(&pack(all.clone())), metadata(&[("tidewatch.weight", "2")]));
        let of_before = Kept { metadata: all }.encode_to_vec();
        assert_eq!(unpack(&of_before), metadata(&[("tidewatch.weight", "2")]));
    }

    #[test]
    fn only_values_that_make_sense_are_told() {
        let good = metadata(&[
            ("tidewatch.weight", "2.5"),
            ("tidewatch.changed", "true"),
            ("fetch.statusCode", "404"),
            ("signature", "abc"),
        ]);
        let told = telling(&good).unwrap();
        assert_eq!((told.weight, told.changed, told.status), (Some(2.5), Some(true), Some(404)));
        assert_eq!(told.digest.as_deref(), Some("abc"));
        let bad =
            [("tidewatch.weight", "NaN"), ("tidewatch.clicks", "-1"), ("tidewatch.status", "x")];
        assert_eq!(telling(&metadata(&bad)), None);
    }
}
