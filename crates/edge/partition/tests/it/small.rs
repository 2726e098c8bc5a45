//! A small web that answers jobs on its own clock.

use std::collections::BTreeMap;

use tidewatch_archive::{Exchange, Packed, digest};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, PageId, Rate, Span, Time};
use tidewatch_partition::work::{Came, Content, Job, Report};
use tidewatch_partition::{Config, Next, Partition, Reach};

pub(crate) const START: i64 = 1_794_821_400_000_000;
pub(crate) const HOSTS: u32 = 6;
/// Pages of a host; page n links to 2n+1 and 2n+2.
pub(crate) const PAGES: u32 = 40;
pub(crate) const TOOK: Span = Span::from_micros(50_000);

pub(crate) fn config() -> Config {
    let mut config = Config { budget: Rate::per_second(20.0).unwrap(), ..Config::default() };
    config.politeness.least_gap = Span::SECOND;
    config.probe_pages = 0;
    config.scope.reach = Reach::Everything;
    config.revisit.usual = Span::ZERO;
    config
}

pub(crate) fn url(host: u32, page: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://h{host}.example/p/{page}")).unwrap()
}

fn content(host: u32, page: u32, now: Time) -> Content {
    let links = [2 * page + 1, 2 * page + 2].into_iter().filter(|&next| next < PAGES);
    let mut links: Vec<_> = links.map(|next| (url(host, next), format!("to {next}"))).collect();
    links.push((url((host + 1) % HOSTS, 0), "next door".into()));
    let secret = format!("http://h{host}.example/private/{page}");
    links.push((CanonicalUrl::parse(&secret).unwrap(), "secret".into()));
    // Page 0 of a host changes every minute, the others never.
    let version = if page == 0 { now.as_micros() / Span::MINUTE.as_micros() } else { 0 };
    let body = format!("host {host} page {page} version {version}");
    let digest = digest(body.as_bytes());
    let identity = u64::from_le_bytes(digest[..8].try_into().unwrap());
    Content { status: 200, digest, identity, links, sketch: vec![identity], ..Content::default() }
}

/// The report of a page that came, without a record for the archive.
pub(crate) fn brought(host: HostId, page: PageId, content: Content) -> Report {
    let came = Came::Content(Box::new(content));
    let (status, body_bytes, packed, unix_micros, took) = (Some(200), 20, None, START, TOOK);
    Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took }
}

pub(crate) fn pack(url: &CanonicalUrl, body: &[u8]) -> Packed {
    let exchange = Exchange {
        url: url.as_str(),
        is_h2: false,
        unix_micros: START,
        address: None,
        request_head: b"GET / HTTP/1.1",
        response_head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html",
        body,
        digest: digest(body),
        media_type: "text/html",
        status: 200,
        truncated: None,
        revisit: None,
        metadata: "",
    };
    Packed::new(&exchange, 1)
}

pub(crate) fn answer(job: &Job, now: Time) -> Report {
    match job {
        Job::Resolve { host, .. } => {
            let address = std::net::Ipv4Addr::from(0xcb00_7100 + host.0);
            Report::Resolved { host: *host, found: Ok((address.into(), Span::HOUR)), took: TOOK }
        }
        Job::Robots { host, .. } => {
            let body = b"User-agent: *\nDisallow: /private".to_vec();
            Report::Robots { host: *host, found: Ok((200, body)), retry_after: None, took: TOOK }
        }
        Job::Page { host, page, url, .. } => {
            let (name, number) = (url.host(), url.path().rsplit('/').next().unwrap());
            assert!(!url.path().starts_with("/private"), "{url} is disallowed");
            let of: u32 = name[1..name.find('.').unwrap()].parse().unwrap();
            let content = content(of, number.parse().unwrap(), now);
            let mut report = brought(*host, *page, content);
            if let Report::Page { packed, body_bytes, .. } = &mut report {
                *packed = Some(pack(url, number.as_bytes()));
                *body_bytes = number.len() as u64;
            }
            report
        }
    }
}

/// Runs a crawl until `end` and returns the pages reported stored, in order.
pub(crate) fn run(crawl: &mut Partition, begin: Time, end: Time) -> Vec<PageId> {
    run_on(crawl, begin, end, answer)
}

/// The same on another web.
pub(crate) fn run_on(
    crawl: &mut Partition,
    begin: Time,
    end: Time,
    answer: impl Fn(&Job, Time) -> Report,
) -> Vec<PageId> {
    let mut ends: BTreeMap<(Time, u32), Job> = BTreeMap::new();
    let (mut now, mut serial, mut stored) = (begin, 0, Vec::new());
    while now < end {
        let wait = loop {
            match crawl.next(now).unwrap() {
                Next::Job(job) => {
                    serial += 1;
                    ends.insert((now + TOOK, serial), job);
                }
                Next::WaitUntil(until) => break until,
            }
        };
        match ends.first_entry() {
            Some(entry) if entry.key().0 <= wait => {
                now = entry.key().0;
                let job = entry.remove();
                stored.extend(crawl.take_in(answer(&job, now), now).unwrap().held());
                crawl.rejudge(now).unwrap();
            }
            _ => now = wait,
        }
    }
    crawl.commit().unwrap();
    stored
}

pub(crate) fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::SECOND.times(seconds)
}
