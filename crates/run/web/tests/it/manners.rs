//! Robots files, redirects and hosts that misbehave.

use std::collections::HashSet;

use tidewatch_core::Rate;
use tidewatch_web::{PageRequest, Reply, Served, Site, WebHabits};

use crate::worlds::{at, many};

const HOSTS: u32 = 30;
const PAGES: u32 = 20;

fn site(habits: WebHabits) -> Site {
    Site::new(many(HOSTS, PAGES), 11, habits).unwrap()
}

fn name(host: u32) -> String {
    format!("h{host}.example")
}

fn get(site: &Site, host: u32, path: &str) -> Reply {
    site.reply(&PageRequest::get(&name(host), path), at(0))
}

fn text(reply: &Reply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

#[test]
fn robots_files_say_what_the_site_knows() {
    let site = site(WebHabits { outage: 0.0, ..WebHabits::default() });
    let (mut missing, mut private, mut delays) = (0, 0, 0);
    for host in 0..HOSTS {
        let robots = get(&site, host, "/robots.txt");
        if robots.status == 404 {
            missing += 1;
            assert!(site.allows(host, "/private/members"));
            continue;
        }
        let disallows = text(&robots).contains("\nDisallow: /private/\n");
        assert_eq!(disallows, !site.allows(host, "/private/members"));
        assert!(site.allows(host, "/p/1"));
        private += u32::from(disallows);
        let delay = text(&robots).lines().find_map(|l| l.strip_prefix("Crawl-delay: "));
        assert_eq!(delay.map(|d| d.parse().unwrap()), site.crawl_delay_s(host));
        delays += u32::from(delay.is_some());
        assert!(text(&robots).contains(&format!("Sitemap: http://{}/sitemap.xml", name(host))));
    }
    assert!(missing > 0 && private > 0 && delays > 0, "{missing} {private} {delays}");
}

#[test]
fn traps_are_disallowed_by_robots_txt() {
    let site = site(WebHabits { outage: 0.0, failure: 0.0, ..WebHabits::default() });
    for host in 0..HOSTS {
        let is_lured = text(&get(&site, host, "/")).contains("href=\"/private/members\"");
        let lure = get(&site, host, "/private/members");
        assert_eq!(is_lured, !site.allows(host, "/private/members"));
        assert_eq!(lure.served == Served::Private, is_lured);
    }
}

/// Follows redirects from a link; the last reply, and how many steps it took.
fn follow(site: &Site, from: &str) -> Option<(Reply, usize)> {
    let mut url = from.to_owned();
    for step in 0..6 {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let reply = site.reply(&PageRequest::get(host, path), at(0));
        if !matches!(reply.status, 301 | 302) {
            return Some((reply, step));
        }
        let to = reply.get("location").unwrap();
        url = if to.starts_with('/') { format!("http://{host}{to}") } else { to.to_owned() };
    }
    None
}

#[test]
fn every_link_leads_to_a_page_of_the_trace_however_it_moved() {
    let site = site(WebHabits { moved: 1.0, ..WebHabits::faultless() });
    let (mut steps, mut elsewhere) = (HashSet::new(), 0);
    for host in 0..HOSTS {
        let html = get(&site, host, "/");
        let nav = text(&html).split("<nav>").nth(1).unwrap();
        for (i, rest) in nav.split("href=\"").skip(1).enumerate() {
            let href = rest.split('"').next().unwrap();
            elsewhere += u32::from(href.starts_with("http://"));
            let url = if href.starts_with('/') {
                format!("http://{}{href}", name(host))
            } else {
                href.into()
            };
            let (reply, taken) = follow(&site, &url).expect("no circle");
            assert_eq!(reply.served, Served::Page(host * (PAGES + 1) + 1 + i as u32), "{url}");
            steps.insert(taken);
        }
    }
    assert_eq!(steps, HashSet::from([1, 2]));
    assert!(elsewhere > 0, "some moved between hosts");
    // The old URL of a page that never moved is nothing.
    let settled = Site::new(many(2, 1), 1, WebHabits::faultless()).unwrap();
    for path in ["/old/p/0", "/older/p/0", "/out/1", "/circle/1", "/old", "/out/", "/out/99"] {
        assert_eq!(get(&settled, 0, path).status, 404, "{path}");
    }
}

#[test]
fn redirect_loops_never_end() {
    let site = site(WebHabits { circle: 1.0, ..WebHabits::faultless() });
    assert!(text(&get(&site, 3, "/")).contains("href=\"/circle/1\""));
    assert!(follow(&site, "http://h3.example/circle/1").is_none());
    for path in ["/circle/0", "/circle/4", "/circle/x", "/circle/4294967296"] {
        assert_eq!(get(&site, 3, path).status, 404);
    }
}

#[test]
fn hosts_have_outages() {
    let site = site(WebHabits { outage: 0.3, ..WebHabits::faultless() });
    let period = WebHabits::default().outage_period.as_micros() / 1_000_000;
    let (mut down, mut up) = (0, 0);
    for number in 0..48 {
        let now = at(number * period + 100);
        let reply = site.reply(&PageRequest::get("h0.example", "/"), now);
        if reply.status == 503 {
            down += 1;
            assert_eq!(reply.get("retry-after"), Some((period - 100).to_string().as_str()));
            let robots = site.reply(&PageRequest::get("h0.example", "/robots.txt"), now);
            assert_eq!(robots.status, 503, "the whole host is down");
        } else {
            up += 1;
            assert_eq!(reply.status, 200);
        }
    }
    assert!(down > 0 && up > 0, "{down} {up}");
}

#[test]
fn pages_fail_at_times() {
    let site = site(WebHabits { failure: 0.5, ..WebHabits::faultless() });
    let statuses: HashSet<u16> =
        (0..PAGES).map(|i| get(&site, 0, &format!("/p/{i}")).status).collect();
    assert_eq!(statuses, HashSet::from([200, 500]));
}

#[test]
fn a_rate_limit_becomes_a_crawl_delay() {
    let mut trace = many(2, 1);
    trace.hosts[1].max_rate = Rate::per_second(0.3);
    let site = Site::new(trace, 1, WebHabits::faultless()).unwrap();
    assert_eq!((site.crawl_delay_s(0), site.crawl_delay_s(1)), (None, Some(4)));
}
