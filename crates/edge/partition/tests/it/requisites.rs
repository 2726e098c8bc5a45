//! Requisites: fetched where they are wanted, from any host, and nothing beyond them.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_partition::forms::FormsWanted;
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, Partition, Reach};
use tidewatch_robots::Wishes;

use crate::{START, answer, config, run_on, url};

/// A crawl of the seed's domain.
fn near() -> Config {
    let mut config = config();
    config.scope.reach = Reach::Domain;
    config
}

fn address(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

/// Every page has a style sheet on a host of its own, which has an image; the style sheet's host
/// also answers with a link.
fn styled(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, requisites, .. } = job else { return answer(job, now) };
    let is_part = url.host() == "cdn.elsewhere.example";
    let as_page = Job::Page {
        host: *host,
        page: *page,
        url: if is_part { crate::url(0, 39) } else { url.clone() },
        held: None,
        requisites: *requisites,
        gist: false,
        wishes: Wishes::NONE,
        forms: FormsWanted::Nothing,
        shape: false,
    };
    let mut report = answer(&as_page, now);
    if let Report::Page { came: Came::Content(content), .. } = &mut report {
        let named = match url.path() {
            "/style.css" => vec![address("http://cdn.elsewhere.example/image.png")],
            _ if is_part => Vec::new(),
            _ => vec![address("http://cdn.elsewhere.example/style.css")],
        };
        content.requisites = if *requisites { named } else { Vec::new() };
        content.links.push((address("http://other.example/"), "out of scope".into()));
        if is_part {
            // So that neither counts as a duplicate of a page.
            content.links.push((address("http://cdn.elsewhere.example/page"), "a link".into()));
        }
    }
    report
}

fn paths(dir: &std::path::Path, config: Config) -> Vec<String> {
    let mut crawl = Partition::open(dir, config, START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let requested = std::cell::RefCell::new(Vec::new());
    run_on(&mut crawl, Time::ZERO, Time::ZERO + Span::MINUTE.times(2), |job, now| {
        if let Job::Page { url, .. } = job
            && url.host().ends_with("elsewhere.example")
        {
            requested.borrow_mut().push(url.path().to_owned());
        }
        styled(job, now)
    });
    let mut requested = requested.into_inner();
    requested.sort();
    requested.dedup();
    requested
}

#[test]
fn requisites_are_fetched_from_any_host_if_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    assert!(paths(dir.path(), near()).is_empty(), "off by default");
    let dir = tempfile::tempdir().unwrap();
    let mut wanted = near();
    wanted.scope.requisites = true;
    // A requisite's links are not followed.
    assert_eq!(paths(dir.path(), wanted.clone()), ["/image.png", "/style.css"]);
    let dir = tempfile::tempdir().unwrap();
    wanted.scope.exclude = vec!["*.png".parse().unwrap()];
    assert_eq!(paths(dir.path(), wanted), ["/style.css"], "exclude patterns hold");
}
