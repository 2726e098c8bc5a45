//! Merges webs. Pages and hosts are renumbered in the order of the parts, and every table is sorted
//! again as a trace requires.

use rustc_hash::FxHashMap;
use tidewatch_core::Span;
use tidewatch_trace::{
    Change, Count, Host, Signals, Trace, TraceLink, TracePage, TraceSignal, Truth, Versions,
};

/// A web that becomes part of a larger one.
pub struct Part<'a> {
    /// Prefix of its host names, joined with a hyphen, which keeps equal names of different parts
    /// apart. Empty: names stay as they are.
    pub label: &'a str,
    /// The web.
    pub trace: Trace,
}

/// Merges webs that run at the same time without links between them.
///
/// The result lasts as long as its longest part and has every table that some part has. Hosts of
/// equal name become one host with the rate limit of the first.
pub fn merge(name: &str, parts: Vec<Part<'_>>) -> Trace {
    let mut whole = Whole::default();
    name.clone_into(&mut whole.trace.name);
    for part in parts {
        whole.add(&part);
    }
    whole.trace.arrange();
    whole.trace
}

/// The parts merged so far.
#[derive(Default)]
struct Whole {
    trace: Trace,
    hosts: FxHashMap<Box<str>, u32>,
}

impl Whole {
    fn add(&mut self, part: &Part<'_>) {
        let Part { label, trace } = part;
        let first = self.trace.pages.len() as u32;
        self.trace.duration = longer(self.trace.duration, trace.duration);
        self.trace.start = self.trace.start.take().or_else(|| trace.start.clone());
        let hosts: Vec<u32> = trace.hosts.iter().map(|host| self.host(label, host)).collect();
        for page in &trace.pages {
            let host = hosts[page.host as usize];
            self.add_page(page, host, &trace.hosts[page.host as usize]);
        }
        self.trace.links.extend(trace.links.iter().map(|link| TraceLink {
            source: first + link.source,
            page: first + link.page,
            ..*link
        }));
        let count = |row: &Count| Count { page: first + row.page, ..*row };
        append(&mut self.trace.clicks, trace.clicks.as_deref(), count);
        append(&mut self.trace.views, trace.views.as_deref(), count);
        let change = |row: &Change| Change { page: first + row.page, ..*row };
        append(&mut self.trace.changes, trace.changes.as_deref(), change);
        if let Some(versions) = &trace.versions {
            add_versions(self.trace.versions.get_or_insert_default(), versions, first);
        }
        if let Some(signals) = &trace.signals {
            add_signals(self.trace.signals.get_or_insert_default(), signals, first);
        }
        append(&mut self.trace.truth, trace.truth.as_deref(), |row: &Truth| Truth {
            page: first + row.page,
            same_as: row.same_as.map(|same| first + same),
            ..*row
        });
    }

    /// The number of a part's host in the merged web.
    fn host(&mut self, label: &str, host: &Host) -> u32 {
        let name = if label.is_empty() {
            host.name.clone()
        } else {
            format!("{label}-{}", host.name).into_boxed_str()
        };
        let hosts = &mut self.trace.hosts;
        *self.hosts.entry(name.clone()).or_insert_with(|| {
            hosts.push(Host { name, max_rate: host.max_rate });
            hosts.len() as u32 - 1
        })
    }

    fn add_page(&mut self, page: &TracePage, host: u32, before: &Host) {
        let name = &self.trace.hosts[host as usize].name;
        let url = if *name == before.name {
            page.url.clone()
        } else {
            page.url.replacen(&*before.name, name, 1).into_boxed_str()
        };
        let id = self.trace.pages.len() as u64;
        self.trace.pages.push(TracePage { id, url, host, ..page.clone() });
    }
}

fn longer(a: Span, b: Span) -> Span {
    if a < b { b } else { a }
}

fn append<T>(whole: &mut Option<Vec<T>>, part: Option<&[T]>, renumber: impl Fn(&T) -> T) {
    if let Some(rows) = part {
        whole.get_or_insert_default().extend(rows.iter().map(renumber));
    }
}

fn add_versions(whole: &mut Versions, part: &Versions, first: u32) {
    for row in &part.rows {
        whole.push(first + row.page, row.at, part.added(row), part.removed(row));
    }
}

fn add_signals(whole: &mut Signals, part: &Signals, first: u32) {
    let kinds: Vec<u32> = part.kinds.iter().map(|kind| kind_of(whole, kind)).collect();
    whole.rows.extend(part.rows.iter().map(|row| TraceSignal {
        page: first + row.page,
        kind: kinds[row.kind as usize],
        ..*row
    }));
}

fn kind_of(signals: &mut Signals, name: &str) -> u32 {
    let known = signals.kinds.iter().position(|kind| &**kind == name);
    known.unwrap_or_else(|| {
        signals.kinds.push(name.into());
        signals.kinds.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use tidewatch_core::Time;
    use tidewatch_trace::TruthClass;

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    /// A page that links to another, with a row in every table.
    fn web(kind: &str, days: u64) -> Trace {
        let page = |id: u64, is_source: bool| TracePage {
            id,
            url: format!("https://h.example/{id}").into_boxed_str(),
            host: 0,
            born: Time::ZERO,
            died: None,
            is_source,
            weight: 1.0,
            is_seed: is_source,
        };
        let mut versions = Versions::default();
        versions.push(1, at(0), &[11, 12], &[]);
        versions.push(1, at(5), &[13], &[11]);
        Trace {
            name: kind.to_owned(),
            duration: Span::DAY.times(days),
            pages: vec![page(3, true), page(8, false)],
            hosts: vec![Host { name: "h.example".into(), max_rate: None }],
            links: vec![TraceLink {
                source: 0,
                page: 1,
                appears: at(1),
                disappears: None,
                position: None,
            }],
            clicks: Some(vec![Count { page: 1, at: at(2), count: 3.0 }]),
            changes: Some(vec![Change { page: 1, at: at(5) }]),
            versions: Some(versions),
            signals: Some(Signals {
                kinds: vec![kind.into(), "both".into()],
                rows: vec![
                    TraceSignal { page: 1, at: at(4), kind: 1 },
                    TraceSignal { page: 0, at: at(6), kind: 0 },
                ],
            }),
            truth: Some(vec![Truth {
                page: 0,
                class: TruthClass::Facet,
                same_as: Some(1),
                is_declared: false,
            }]),
            ..Trace::default()
        }
    }

    fn joined(labels: [&str; 2]) -> Trace {
        let parts = [web("a", 1), web("b", 2)];
        let part = |(label, trace)| Part { label, trace };
        merge("both", labels.into_iter().zip(parts).map(part).collect())
    }

    #[test]
    fn parts_keep_their_rows_under_new_numbers() {
        let whole = joined(["", "b"]);
        whole.check().unwrap();
        assert_eq!(whole.duration, Span::DAY.times(2));
        let urls: Vec<&str> = whole.pages.iter().map(|page| &*page.url).collect();
        let other = "https://b-h.example";
        assert_eq!(urls[1], "https://h.example/8");
        assert_eq!(urls[2], format!("{other}/3"));
        assert_eq!(whole.pages.iter().map(|page| page.host).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!((whole.links[1].source, whole.links[1].page), (2, 3));
        assert_eq!(whole.clicks.unwrap()[1].page, 3);
        assert_eq!(whole.changes.unwrap()[1].page, 3);
        assert!(whole.views.is_none());
        let truth = whole.truth.unwrap()[1];
        assert_eq!((truth.page, truth.same_as), (2, Some(3)));
        let versions = whole.versions.unwrap();
        assert_eq!(versions.rows[3].page, 3);
        assert_eq!(versions.added(&versions.rows[3]), [13]);
        assert_eq!(versions.removed(&versions.rows[3]), [11]);
    }

    #[test]
    fn signals_share_kinds_and_stay_in_order() {
        let signals = joined(["", "b"]).signals.unwrap();
        assert_eq!(
            signals.kinds.iter().map(|kind| &**kind).collect::<Vec<_>>(),
            ["a", "b", "both"]
        );
        let rows: Vec<(u32, u32)> = signals.rows.iter().map(|row| (row.page, row.kind)).collect();
        assert_eq!(rows, [(1, 2), (3, 2), (0, 0), (2, 1)]);
    }

    #[test]
    fn equal_names_are_one_host() {
        let whole = joined(["", ""]);
        assert_eq!(whole.hosts.len(), 1);
        assert_eq!(whole.pages[3].host, 0);
    }

    #[test]
    fn nothing_joined_is_empty() {
        assert_eq!(merge("none", Vec::new()), Trace { name: "none".into(), ..Trace::default() });
    }
}
