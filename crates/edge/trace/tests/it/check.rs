//! A trace built in memory is held to the same rules.

use tidewatch_core::{Rate, Span, Time};
use tidewatch_trace::{Trace, TraceLink, TraceSignal, Truth, Version, read};

use crate::samples::{TINY, directory};

fn time(seconds: u64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

type Damage = fn(&mut Trace);

/// What is said to the tiny trace after a change.
fn assert_refused(cases: &[(Damage, &str)]) {
    let tiny = read(directory(&TINY).path()).unwrap();
    for (change, expected) in cases {
        let mut trace = tiny.clone();
        change(&mut trace);
        assert_eq!(trace.check().expect_err(expected).to_string(), *expected);
    }
}

#[test]
fn names_and_numbers() {
    assert_refused(&[
        (
            |t| t.duration = Span::ZERO,
            "trace: the trace has no duration; set 'duration' in seconds in trace.toml",
        ),
        (
            |t| t.duration = Span::FOREVER,
            "trace: the duration exceeds 1000 years; it must be in seconds",
        ),
        (
            |t| t.start = Some("noon".into()),
            "trace: the start 'noon' is not a date and time; write it like 2024-05-01T00:00:00Z",
        ),
        (|t| t.pages.clear(), "pages: a trace needs at least one page"),
        (
            |t| t.pages[1].id = 3,
            "pages, row 2, column 'page': page 3 is given twice; ids must differ",
        ),
        (|t| t.pages[1].id = 2, "pages, row 2, column 'page': pages are sorted by id"),
        (
            |t| t.pages[1].weight = f64::NAN,
            "pages, row 2, column 'weight': 'NaN' is not an amount; write a finite number that is \
             not negative",
        ),
        (
            |t| t.pages[0].host = 1,
            "pages, row 1, column 'host': hosts are numbered in the order in which pages first \
             name them",
        ),
        (|t| t.pages[1].host = 0, "hosts, row 2, column 'host': no page is on this host"),
        (
            |t| t.hosts[1].name = "a.test".into(),
            "hosts, row 2, column 'host': host 'a.test' is given twice; keep one row",
        ),
        (
            |t| t.hosts[0].max_rate = Some(Rate::ZERO),
            "hosts, row 1, column 'max_rate': a rate of 0 would never fetch; use None for no limit",
        ),
    ]);
}

#[test]
fn rows_of_tables() {
    assert_refused(&[
        (
            |t| t.links[0].page = 3,
            "links, row 1, column 'page': page number 3 is beyond the 3 pages of the trace",
        ),
        (
            |t| t.links.swap(0, 1),
            "links, row 2: the rows are not sorted by (source, appears, page); call Trace::arrange",
        ),
        (
            |t| {
                let again = TraceLink { appears: time(49), ..t.links[0] };
                t.links.push(again);
            },
            "links, row 3, column 'appears': the link from page 3 to page 7 is already there at \
             49; join the two rows or end the earlier one first",
        ),
        (
            |t| t.clicks.as_mut().unwrap()[1].at = time(30),
            "clicks, row 2, column 'at': page 7 has two rows at 30; give one row with the total",
        ),
        (
            |t| t.views.as_mut().unwrap()[0].count = -1.0,
            "views, row 1, column 'count': '-1' is not an amount; write a finite number that is \
             not negative",
        ),
        (
            |t| t.changes.as_mut().unwrap()[0].at = Time::NEVER,
            "changes, row 1, column 'at': '18446744073709.551615' is more than 1000 years after \
             the start; times are in seconds",
        ),
        (
            |t| t.versions.as_mut().unwrap().rows[1].start = 9,
            "versions, row 2, column 'added': fragments are laid out in the order of the rows, as \
             Versions::push does",
        ),
        (
            |t| t.versions.as_mut().unwrap().fragments.push(1),
            "versions: rows and fragments do not add up; build them with Versions::push",
        ),
        (
            |t| t.versions.as_mut().unwrap().fragments[4] = 2,
            "versions, row 2, column 'removed': page 3 does not hold the fragment '2' that this \
             version removes",
        ),
        (
            |t| t.signals.as_mut().unwrap().rows[0].kind = 2,
            "signals, row 1, column 'kind': no such kind",
        ),
        (
            |t| t.signals.as_mut().unwrap().kinds.push("unused".into()),
            "signals: kinds have names, ascending, and are all used; call Trace::arrange",
        ),
        (
            |t| {
                let again = TraceSignal { page: 0, at: time(10), kind: 0 };
                t.signals.as_mut().unwrap().rows.insert(0, again);
            },
            "signals, row 2, column 'kind': page 3 has two signals 'feed' at 10; keep one of them",
        ),
        (
            |t| t.truth.as_mut().unwrap()[0].same_as = Some(3),
            "truth, row 1, column 'same_as': page number 3 is beyond the 3 pages of the trace",
        ),
        (
            |t| {
                let row = t.truth.as_ref().unwrap()[0];
                t.truth.as_mut().unwrap().push(Truth { page: 0, same_as: Some(1), ..row });
            },
            "truth, row 2: the rows are not sorted by page; call Trace::arrange",
        ),
    ]);
}

/// Rows that refer to nothing must not panic on the way to their refusal.
#[test]
fn arranging_an_invalid_trace_does_not_panic() {
    let mut trace = read(directory(&TINY).path()).unwrap();
    let versions = trace.versions.as_mut().unwrap();
    let nowhere = Version { page: 9, at: Time::ZERO, start: u64::MAX, added: 9, removed: 9 };
    versions.rows.insert(0, nowhere);
    trace.signals.as_mut().unwrap().rows.push(TraceSignal { page: 9, at: Time::ZERO, kind: 77 });
    trace.links.push(TraceLink {
        source: 9,
        page: 9,
        appears: Time::ZERO,
        disappears: None,
        position: None,
    });
    trace.arrange();
    assert!(trace.check().is_err());
}

#[test]
fn arranging_sorts_rows_of_any_order() {
    let tiny = read(directory(&TINY).path()).unwrap();
    let mut trace = tiny.clone();
    trace.links.reverse();
    trace.clicks.as_mut().unwrap().reverse();
    trace.changes.as_mut().unwrap().reverse();
    let signals = trace.signals.as_mut().unwrap();
    signals.kinds = vec!["unused".into(), "ping".into(), "feed".into()];
    signals.rows.iter_mut().for_each(|row| row.kind = 2 - row.kind);
    signals.rows.reverse();
    trace.versions.as_mut().unwrap().rows.reverse();
    trace.arrange();
    assert_eq!(trace, tiny);
}
