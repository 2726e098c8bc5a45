//! Small worlds written by hand, whose measures can be worked out on paper.

use tidewatch_core::{Span, Time};
use tidewatch_trace::{Change, Count, Host, Trace, TraceLink, TracePage, Versions};

pub(crate) fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds).unwrap()
}

pub(crate) fn page(id: u64, born: f64) -> TracePage {
    TracePage {
        id,
        url: format!("https://host.example/{id}").into(),
        host: 0,
        born: at(born),
        died: None,
        is_source: false,
        weight: 1.0,
        is_seed: true,
    }
}

pub(crate) fn trace(duration_s: u64, pages: Vec<TracePage>) -> Trace {
    Trace {
        name: "by hand".into(),
        duration: Span::SECOND.times(duration_s),
        hosts: vec![Host { name: "host.example".into(), max_rate: None }],
        pages,
        ..Trace::default()
    }
}

/// A source (page 0) that shows page 1 from 10 s to 40 s and page 2 from 50 s
/// on; page 1 is clicked at 15, 30, 60 s, page 2 at 55 s and, past the end, at 200 s.
pub(crate) fn newsroom() -> Trace {
    let source = TracePage { is_source: true, ..page(0, 0.0) };
    let story = |id, born| TracePage { is_seed: false, ..page(id, born) };
    let link = |page, appears, disappears: Option<f64>| TraceLink {
        source: 0,
        page,
        appears: at(appears),
        disappears: disappears.map(at),
        position: None,
    };
    let click = |page, seconds, count| Count { page, at: at(seconds), count };
    Trace {
        links: vec![link(1, 10.0, Some(40.0)), link(2, 50.0, None)],
        clicks: Some(vec![
            click(1, 15.0, 1.0),
            click(1, 30.0, 2.0),
            click(1, 60.0, 4.0),
            click(2, 55.0, 8.0),
            click(2, 200.0, 16.0),
        ]),
        ..trace(100, vec![source, story(1, 10.0), story(2, 50.0)])
    }
}

/// One page that changes at 10, 30 and 70 s.
pub(crate) fn changing() -> Trace {
    let change = |seconds| Change { page: 0, at: at(seconds) };
    Trace {
        changes: Some(vec![change(10.0), change(30.0), change(70.0)]),
        ..trace(100, vec![page(0, 0.0)])
    }
}

/// One page of fragments {1,2,3,4}; at 20 s 4 becomes 5; at 60 s 3 becomes 6.
pub(crate) fn versioned() -> Trace {
    let mut versions = Versions::default();
    versions.push(0, at(0.0), &[1, 2, 3, 4], &[]);
    versions.push(0, at(20.0), &[5], &[4]);
    versions.push(0, at(60.0), &[6], &[3]);
    Trace { versions: Some(versions), ..trace(100, vec![page(0, 0.0)]) }
}
