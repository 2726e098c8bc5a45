//! Normal forms compared with the tables of crawler-commons.

use std::collections::BTreeMap;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_testing::suites::{judge, text};

const FOLDER: &str = "crawler-commons/src/test/resources/normalizer";

/// Rows of the table: a URL and its normal form.
fn table_rows(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.rsplit_once(','));
    let unquoted = |field: &str| match field.strip_prefix('"') {
        Some(rest) => rest.trim_end_matches('"').to_owned() + "\"",
        None => field.to_owned(),
    };
    rows.map(|(weird, normal)| (unquoted(weird), normal.trim().to_owned())).collect()
}

/// Where we differ from the table on purpose; `None` is a disagreement nobody decided.
fn intended_difference(weird: &str, normal: &str) -> Option<&'static str> {
    match CanonicalUrl::parse(weird) {
        Err(refused) => match refused.reason() {
            "bad-scheme" => Some("other schemes are refused"),
            "no-scheme" => Some("a missing scheme is not guessed"),
            "no-host" => Some("a missing host is refused"),
            _ => None,
        },
        Ok(url) if sorted(url.as_str()) == normal => Some("the order of parameters is kept"),
        Ok(url) if sorted(&without_empty_values(url.as_str())) == normal => {
            Some("an empty value keeps its equals sign")
        }
        Ok(_) => None,
    }
}

fn without_empty_values(url: &str) -> String {
    let url = url.replace("=&", "&");
    url.strip_suffix('=').unwrap_or(&url).to_owned()
}

fn sorted(url: &str) -> String {
    let Some((page, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let mut parameters: Vec<_> = query.split('&').collect();
    parameters.sort_unstable();
    format!("{page}?{}", parameters.join("&"))
}

#[test]
fn crawler_commons_table() {
    let Some(text) = text(&format!("{FOLDER}/weirdToNormalizedUrls.csv")) else {
        return;
    };
    let (mut agreed, mut differences) = (0, BTreeMap::<_, usize>::new());
    let mut failures = Vec::new();
    let rows = table_rows(&text);
    for (weird, normal) in &rows {
        let got = CanonicalUrl::parse(weird);
        if got.as_ref().is_ok_and(|url| url.as_str() == normal) {
            agreed += 1;
        } else if let Some(why) = intended_difference(weird, normal) {
            *differences.entry(why).or_default() += 1;
        } else {
            failures.push(format!("{weird:?}: {got:?}, not {normal:?}"));
        }
    }
    eprintln!("crawler-commons: {agreed}/{} agree; {differences:?}", rows.len());
    judge("crawler-commons URLs", rows.len(), 100, &failures);
}

#[test]
fn crawler_commons_invalid() {
    let Some(text) = text(&format!("{FOLDER}/invalidUrls.csv")) else {
        return;
    };
    let urls = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert!(urls.clone().count() >= 2);
    for url in urls {
        let refused = CanonicalUrl::parse(url).expect_err(url);
        assert_eq!(refused.reason(), "bad-host", "{url}");
    }
}
