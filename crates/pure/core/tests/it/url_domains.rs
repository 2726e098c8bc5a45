//! Registrable domains judged by the Public Suffix List and its tests.

use std::collections::HashSet;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_testing::suites::{judge, text};

fn host_of(domain: &str) -> Option<CanonicalUrl> {
    CanonicalUrl::parse(&format!("http://{domain}/")).ok()
}

#[test]
fn registrable_domains() {
    let Some(text) = text("psl/tests/tests.txt") else {
        return;
    };
    let lines = text.lines().map(str::trim);
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    let rows = rows.filter_map(|line| line.split_once(char::is_whitespace));
    // The first row asks about no host at all, which the type rules out.
    let rows: Vec<_> = rows.filter(|(host, _)| *host != "null").collect();
    let failures = rows.iter().filter_map(|(host, want)| {
        let url = host_of(host);
        let got = url.as_ref().and_then(CanonicalUrl::registrable_domain);
        let want = (want.trim() != "null").then(|| host_of(want.trim()).expect("valid domain"));
        let want = want.as_ref().map(CanonicalUrl::host);
        (got != want).then(|| format!("{host}: {got:?}, not {want:?}"))
    });
    judge("public suffixes", rows.len(), 70, &failures.collect::<Vec<_>>());
}

/// The algorithm of publicsuffix.org on the list's own text, as slow and plain as it is written.
struct SlowList(HashSet<String>);

impl SlowList {
    fn read(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_whitespace().next());
        let rules = lines.filter(|line| !line.starts_with("//"));
        let ascii = rules.map(|rule| {
            let name = rule.trim_start_matches("*.").trim_start_matches('!');
            let mark = &rule[..rule.len() - name.len()];
            let url = host_of(name).expect("rules are host names");
            format!("{mark}{}", url.host())
        });
        Self(ascii.collect())
    }

    fn registrable(&self, host: &str) -> Option<String> {
        let labels: Vec<_> = host.split('.').collect();
        let suffix = (0..labels.len()).find_map(|start| {
            let name = labels[start..].join(".");
            let parent = labels[start + 1..].join(".");
            if self.0.contains(&format!("!{name}")) {
                Some(start + 1)
            } else if self.0.contains(&name) || self.0.contains(&format!("*.{parent}")) {
                Some(start)
            } else {
                None
            }
        });
        let start = suffix.unwrap_or(labels.len() - 1).checked_sub(1)?;
        Some(labels[start..].join("."))
    }
}

/// The list changes every few days and the one compiled in is of another day;
/// a hundredth of its ten thousand rules is some months of edits. (The compiled
/// list also takes `x.y` for no suffix where `*.y` and `*.x.y` are both rules:
/// a score of names that serve no page.)
const MAX_LIST_DRIFT: f64 = 0.01;

#[test]
fn registrable_domains_of_every_rule() {
    let Some(text) = text("psl/public_suffix_list.dat") else {
        return;
    };
    let list = SlowList::read(&text);
    let names = list.0.iter().map(|rule| rule.trim_start_matches("*.").trim_start_matches('!'));
    let hosts: Vec<_> = names
        .flat_map(|name| [name.to_owned(), format!("b.{name}"), format!("c.b.{name}")])
        .collect();
    let failures = hosts.iter().filter_map(|host| {
        let url = host_of(host).expect("valid host");
        let (got, want) = (url.registrable_domain(), list.registrable(host));
        (got != want.as_deref()).then(|| format!("{host}: {got:?}, not {want:?}"))
    });
    let (total, failures) = (hosts.len(), failures.collect::<Vec<_>>());
    eprintln!("every public suffix rule: {}/{total}", total - failures.len());
    assert!(total >= 25_000, "{total} names");
    let share = failures.len() as f64 / total as f64;
    assert!(share <= MAX_LIST_DRIFT, "{}", failures.join("\n"));
}
