//! Small webs written by hand.

use tidewatch_core::{Span, Time};
use tidewatch_trace::{Change, Host, Trace, TraceLink, TracePage, Versions};

pub(crate) fn at(seconds: u64) -> Time {
    Time::ZERO + Span::SECOND.times(seconds)
}

pub(crate) fn page(id: u64, host: u32, url: &str) -> TracePage {
    TracePage::new(id, url, host, Time::ZERO)
}

fn host(name: &str) -> Host {
    Host { name: name.into(), max_rate: None }
}

/// Two hosts. Page 0 is the front page of `news.example`; it shows page 1 from
/// 10 s to 40 s and page 2, born at 20 s, from 20 s on. Page 1 changes at 5 and
/// 15 s and dies at 100 s. Page 3, on `wiki.example`, has a query in its URL
/// and is made of fragments: {1, 2}, from 30 s on {2, 3}.
pub(crate) fn two_hosts() -> Trace {
    let link = |page, appears, disappears: Option<u64>| TraceLink {
        source: 0,
        page,
        appears: at(appears),
        disappears: disappears.map(at),
        position: None,
    };
    let mut versions = Versions::default();
    versions.push(3, at(0), &[1, 2], &[]);
    versions.push(3, at(30), &[3], &[1]);
    Trace {
        name: "two hosts".into(),
        duration: Span::SECOND.times(200),
        start: Some("2026-03-01T00:00:00Z".into()),
        pages: vec![
            TracePage { is_source: true, is_seed: true, ..page(0, 0, "https://news.example/") },
            TracePage { died: Some(at(100)), ..page(1, 0, "https://news.example/a") },
            TracePage { born: at(20), ..page(2, 0, "https://news.example/b?x=1&y=2") },
            page(3, 1, "http://wiki.example/w?p=3&q=4"),
        ],
        hosts: vec![host("news.example"), host("wiki.example")],
        links: vec![link(1, 10, Some(40)), link(2, 20, None), link(3, 20, None)],
        changes: Some(vec![Change { page: 1, at: at(5) }, Change { page: 1, at: at(15) }]),
        versions: Some(versions),
        ..Trace::default()
    }
}

/// `hosts` hosts; each has a front page that shows `pages` pages, its own and
/// the first of the next host.
pub(crate) fn many(hosts: u32, pages: u32) -> Trace {
    let mut trace = Trace { name: "many".into(), duration: Span::DAY, ..Trace::default() };
    for number in 0..hosts {
        let name = format!("h{number}.example");
        let front = trace.pages.len() as u32;
        let url = format!("https://{name}/");
        let row = page(u64::from(front), number, &url);
        trace.pages.push(TracePage { is_source: true, is_seed: true, ..row });
        for i in 0..pages {
            let id = trace.pages.len() as u32;
            trace.pages.push(page(u64::from(id), number, &format!("https://{name}/p/{i}")));
            let link = TraceLink {
                source: front,
                page: id,
                appears: at(0),
                disappears: None,
                position: None,
            };
            trace.links.push(link);
        }
        trace.hosts.push(host(&name));
    }
    trace
}
