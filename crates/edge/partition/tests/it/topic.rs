//! Crawls for what the operator wants most.

use std::cell::RefCell;
use std::path::Path;

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_frontier::tape::Input;
use tidewatch_partition::work::{Content, Job, Report};
use tidewatch_partition::{Config, Partition, Question};
use tidewatch_topic::Gist;

use crate::small::brought;
use crate::{START, answer, config, run_on, says, seconds};

/// A front page links to so many sections, and each section to so many articles. Two articles of each link
/// to the next section of the same subject.
const SECTIONS: u32 = 24;
const ARTICLES: u32 = 25;
/// One section in four is about tides, the others about football, and their URLs do not tell.
const EVERY: u32 = 4;
/// Seconds in which a quarter of the pages are fetched, at one a second.
const SHORT: u64 = 160;
/// The least share of tidal pages if they are wanted.
const LEAST: f64 = 0.6;

fn at(path: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://site.example{path}")).unwrap()
}

fn is_tidal(section: u32) -> bool {
    section.is_multiple_of(EVERY)
}

/// Section and article of a path.
fn place(path: &str) -> Option<(u32, Option<u32>)> {
    let (section, article) = path.strip_prefix("/s")?.split_once('/')?;
    Some((section.parse().ok()?, article.parse().ok()))
}

fn text(section: u32, article: Option<u32>) -> String {
    let own = match (is_tidal(section), article.map_or(0, |article| article % 3)) {
        (true, 0) => "high water and low water at the harbour, by the moon",
        (true, 1) => "the tide runs in the channel, spring tides and neap tides",
        (true, _) => "tide tables and currents for sailors at sea",
        (false, 0) => "the goalkeeper and the striker of the club",
        (false, 1) => "a league match with goals and a penalty",
        (false, _) => "fans in the stadium and the coach of the team",
    };
    format!("Section {section}. Today we read about this: {own}. More on the next page.")
}

/// A site of sections that are all alike but for their words.
fn reply(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, gist, .. } = job else { return answer(job, now) };
    let place = place(url.path());
    let links: Vec<String> = match place {
        None => (0..SECTIONS).map(|section| format!("/s{section}/")).collect(),
        Some((section, None)) => (0..ARTICLES).map(|n| format!("/s{section}/{n}")).collect(),
        Some((section, Some(0 | 1))) => vec![format!("/s{}/", (section + EVERY) % SECTIONS)],
        Some(_) => Vec::new(),
    };
    let words = place.map_or_else(|| "Welcome".to_owned(), |(section, n)| text(section, n));
    let gist = gist.then(|| Gist::of("", &words, "eng"));
    let links = links.iter().map(|path| at(path));
    brought(*host, *page, Content { gist, ..says(url.path(), links) })
}

fn open(dir: &Path, topic: &str, from: Time) -> Partition {
    let mut config = Config { learn_rules: false, drop_duplicates: false, ..config() };
    let topic: toml::Table = topic.parse().unwrap();
    for (key, value) in &topic {
        config.set(&format!("topic.{key}"), value).unwrap();
    }
    Partition::open(dir, config, START + from.as_micros().cast_signed()).unwrap()
}

/// The share of tidal pages among the sections and articles fetched.
fn harvest(crawl: &mut Partition, from: Time, end: Time) -> f64 {
    let fetched = RefCell::new(Vec::new());
    run_on(crawl, from, end, |job, now| {
        if let Job::Page { url, .. } = job {
            fetched.borrow_mut().extend(place(url.path()).map(|(section, _)| is_tidal(section)));
        }
        reply(job, now)
    });
    let fetched = fetched.into_inner();
    assert!(fetched.len() > 100, "{} pages", fetched.len());
    fetched.iter().filter(|is_tidal| **is_tidal).count() as f64 / fetched.len() as f64
}

#[test]
fn what_is_wanted_is_fetched_first() {
    let examples = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..6)
        .map(|n| {
            let file = examples.path().join(format!("{n}.html"));
            std::fs::write(&file, format!("<!doctype html><p>{}", text(0, Some(n)))).unwrap();
            format!("{:?}", file.display().to_string())
        })
        .collect();
    let like = format!("like = [{}]", files.join(", "));
    let share = |topic: &str| {
        let dir = tempfile::tempdir().unwrap();
        let mut crawl = open(dir.path(), topic, Time::ZERO);
        crawl.seed(&at("/"), Time::ZERO).unwrap();
        let share = harvest(&mut crawl, Time::ZERO, seconds(SHORT));
        drop(crawl);
        assert!(Partition::replay(dir.path(), START).unwrap().decisions > 100);
        share
    };
    let (none, words, like) = (share(""), share("words = \"tide water\""), share(&like));
    eprintln!(
        "tidal: {none:.2} of all without a topic, {words:.2} by words, {like:.2} by examples"
    );
    assert!(none < 0.4, "{none}");
    // A quarter of all pages is tidal, and much of the time goes into finding out which.
    assert!(words > LEAST, "{words}");
    assert!(like > LEAST, "{like}");
}

#[test]
fn why_tells_how_well_a_page_fits_and_a_topic_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), "words = \"tide water\"", Time::ZERO);
    crawl.seed(&at("/"), Time::ZERO).unwrap();
    harvest(&mut crawl, Time::ZERO, seconds(SHORT));
    crawl.save().unwrap();
    drop(crawl);

    let mut again = open(dir.path(), "", seconds(SHORT));
    assert!(again.has_topic(), "a topic is a part of the crawl");
    let mut told = |path: &str| {
        let told = again.answer(&Question::Why(at(path)), seconds(SHORT)).unwrap();
        (
            told["why"]["topic"]["chance"].as_f64().unwrap(),
            told["told"].as_str().unwrap().to_owned(),
        )
    };
    let (tidal, sentence) = told("/s0/1");
    assert!(tidal > 0.5 && sentence.contains("on topic with a probability"), "{sentence}");
    let (other, sentence) = told("/s1/");
    assert!(other < 0.5, "{other} {sentence}");
    assert_eq!(doubted(&again), 0, "what was learnt is kept");
    drop(again);

    // Without a topic no page is worth less than another, once all were judged again.
    let mut ended = open(dir.path(), "words = \"\"", seconds(SHORT));
    for _ in 0..100 {
        ended.rejudge(seconds(SHORT)).unwrap();
    }
    ended.commit().unwrap();
    let last = ended.portrait(&at("/s1/"), seconds(SHORT)).unwrap().unwrap().why.unwrap();
    assert!(last.doubt.abs() < 1e-9, "{last:?}");
    drop(ended);
    assert!(!open(dir.path(), "", seconds(SHORT)).has_topic());
}

/// Doubts told at the last start.
fn doubted(crawl: &Partition) -> usize {
    let last = crawl.store().next_tape() - 1;
    let inputs = crawl.store().tape(last).unwrap();
    inputs.filter(|input| matches!(input, Ok(Input::Doubted(_)))).count()
}
