//! Hosts made for search engines.

use std::time::Duration;

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_hygiene::Detector;
use tidewatch_partition::rules::Label;
use tidewatch_partition::work::{Job, Report};
use tidewatch_partition::{Clock, Config, Partition, Question, Reach};
use tidewatch_testing::living::serve;
use tidewatch_web::WebHabits;
use tokio::runtime::Runtime;

use crate::living::{self, Stored};
use crate::small::brought;
use crate::{START, answer, config, run_on, says, seconds};

/// Hosts of the web: good ones first, then a farm.
const GOOD: u32 = 8;
const FARM: u32 = 8;
const PAGES: u32 = 4;

fn at(host: u32, page: u32) -> CanonicalUrl {
    let kind = if host < GOOD { "good" } else { "farm" };
    CanonicalUrl::parse(&format!("http://{kind}{host}.example/p/{page}")).unwrap()
}

/// Every page links to the pages of its host and to two hosts of its kind, and each good host to one of the
/// farm.
fn reply(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, shape, .. } = job else { return answer(job, now) };
    assert!(*shape, "few pages of any host were read, and all are to be measured");
    let name: u32 = url.host()[4..].split('.').next().unwrap().parse().unwrap();
    let (first, count) = if name < GOOD { (0, GOOD) } else { (GOOD, FARM) };
    let mut links: Vec<CanonicalUrl> = (0..PAGES).map(|page| at(name, page)).collect();
    links.extend([1, 3].map(|step| at(first + (name - first + step) % count, 0)));
    links.extend((name < GOOD).then(|| at(GOOD + name, 0)));
    brought(*host, *page, says(url.as_str(), links))
}

fn reach_everything() -> Config {
    let mut config = config();
    config.scope.reach = Reach::Everything;
    config
}

/// The chance that a host is spam, as its page's doubt shows it.
fn doubt(crawl: &Partition, host: u32) -> f64 {
    crawl.suspicion(&at(host, 99)).unwrap().doubt
}

#[test]
fn labels_tell_of_other_hosts_and_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), reach_everything(), START).unwrap();
    crawl.seed(&at(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(300), reply);
    assert!(crawl.tally().held >= u64::from(GOOD + FARM), "{:?}", crawl.tally().held);
    let unlabelled = doubt(&crawl, GOOD + FARM - 1);
    for host in 0..4 {
        crawl.label(&at(GOOD + host, 7), Some(Label::Spam)).unwrap();
        crawl.label(&at(host, 7), Some(Label::Good)).unwrap();
    }
    crawl.rejudge(seconds(300)).unwrap();
    crawl.commit().unwrap();
    let (spam, good) = (doubt(&crawl, GOOD), doubt(&crawl, 1));
    assert!(spam > 0.95 && good < 0.3, "{spam} {good}");
    let (like_spam, like_good) = (doubt(&crawl, GOOD + FARM - 1), doubt(&crawl, GOOD - 1));
    assert!(
        like_spam > like_good + 0.1 && like_spam > unlabelled + 0.1,
        "{like_spam} {like_good} {unlabelled}"
    );
    let why = crawl.answer(&Question::Why(at(GOOD, 1)), seconds(300)).unwrap();
    assert!(why["told"].as_str().unwrap().contains("you labelled its host as spam"), "{why}");
    crawl.save().unwrap();
    drop(crawl);

    // Labels are in the tables, and may be taken back while the crawl does not run.
    Partition::label_at_rest(dir.path(), &at(GOOD, 0), None).unwrap();
    let again = Partition::open(dir.path(), reach_everything(), START + 300_000_000).unwrap();
    let rows = again.labels(100).unwrap();
    assert!(doubt(&again, GOOD) < 0.95, "{}", doubt(&again, GOOD));
    let labelled = |label| rows.iter().filter(|row| row.label == Some(label)).count();
    assert_eq!((labelled(Label::Spam), labelled(Label::Good)), (3, 4), "{rows:?}");
}

/// A label holds for a host under both schemes, and so does its withdrawal.
#[test]
fn a_label_is_taken_back_under_either_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), reach_everything(), START).unwrap();
    let secure = CanonicalUrl::parse(&at(GOOD, 0).as_str().replace("http:", "https:")).unwrap();
    crawl.label(&at(GOOD, 0), Some(Label::Spam)).unwrap();
    crawl.commit().unwrap();
    assert!(crawl.suspicion(&secure).unwrap().doubt > 0.9);
    drop(crawl);
    Partition::label_at_rest(dir.path(), &secure, None).unwrap();
    let again = Partition::open(dir.path(), reach_everything(), START).unwrap();
    assert_eq!(again.labels(100).unwrap(), []);
    assert!(doubt(&again, GOOD) < 0.9, "{}", doubt(&again, GOOD));
}

/// Without labels, text that cannot be told apart and links say nothing.
#[test]
fn without_labels_no_host_is_doubted_for_its_links() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), reach_everything(), START).unwrap();
    crawl.seed(&at(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(300), reply);
    assert!((doubt(&crawl, GOOD) - doubt(&crawl, 1)).abs() < 1e-9);
    assert_eq!(crawl.labels(100).unwrap(), []);
}

/// On the living web, text that is measured by the crawl tells stuffed hosts from others once some are
/// labelled.
#[test]
fn stuffed_hosts_are_told_by_their_text() {
    const HOSTS: usize = 24;
    const LABELS: usize = 4;
    let runtime = Runtime::new().unwrap();
    let web = tidewatch_testing::living::web(HOSTS, 10 * HOSTS);
    let server = serve(&runtime, &web, 3, WebHabits { stuffed: 0.4, ..WebHabits::faultless() });
    let mut config = living::config(Duration::from_millis(10));
    config.scope.reach = Reach::Everything;
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = living::open(dir.path(), &config);
    let now = Clock::of(&crawl).now();
    // Known, but not trusted as seeds are.
    for seed in living::seeds(&server) {
        crawl.know(&seed, now).unwrap();
    }
    let length = Duration::from_secs(8);
    living::run(&runtime, &server, &config, &mut crawl, length, &mut Stored::default());

    let site = server.site();
    let names: Vec<(CanonicalUrl, bool)> = site
        .names()
        .map(|(name, host)| (format!("http://{name}/"), site.is_stuffed(host)))
        .map(|(url, is_stuffed)| (CanonicalUrl::parse(&url).unwrap(), is_stuffed))
        .collect();
    let of = |is_stuffed: bool| names.iter().filter(move |(_, stuffed)| *stuffed == is_stuffed);
    assert!(of(true).count() > LABELS + 3 && of(false).count() > LABELS + 3);
    let mean = |crawl: &Partition, is_stuffed: bool, skip: usize| {
        let chances = of(is_stuffed).skip(skip).map(|(url, _)| crawl.spam_chance(url).chance);
        chances.clone().sum::<f64>() / chances.count() as f64
    };
    for (url, _) in &names {
        assert!(crawl.spam_chance(url).pages > 0, "no page of {url} was measured");
    }
    // What the default model says moves no price.
    assert!(names.iter().all(|(url, _)| crawl.suspicion(url).unwrap().detector != Detector::Spam));
    for (is_stuffed, label) in [(true, Label::Spam), (false, Label::Good)] {
        for (url, _) in of(is_stuffed).take(LABELS) {
            crawl.label(url, Some(label)).unwrap();
        }
    }
    let now = Clock::of(&crawl).now();
    crawl.rejudge(now).unwrap();
    let (stuffed, plain) = (mean(&crawl, true, LABELS), mean(&crawl, false, LABELS));
    assert!(stuffed > 3.0 * plain, "with labels: {stuffed} {plain}");
}
