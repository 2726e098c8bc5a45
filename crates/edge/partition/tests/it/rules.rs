//! Rules that are learnt about URLs of one page.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, Interest, InterestKind, PageId, Span, Time};
use tidewatch_frontier::tape::Input;
use tidewatch_hygiene::Detector;
use tidewatch_partition::rules::{Label, RuleName, RuleRow, Ruling};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, Heard, Partition, Question};

use crate::small::brought;
use crate::{START, TOOK, answer, config, run_on, seconds};

/// Every hub links to so many stories, plainly and with a parameter that tells the hub.
const HUBS: u32 = 30;
const STORIES: u32 = 10;
/// Rules are to be found within so many fetches of a host, half of which are of aliases here.
const FOUND_WITHIN: u32 = 200;
/// Seconds in which one fetch a second visits everything, aliases and hubs included.
const ENOUGH: u64 = 700;

fn at(path: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://news.example{path}")).unwrap()
}

fn story(number: u32) -> String {
    format!("/story/of-{number}x")
}

fn alias(hub: u32, number: u32) -> String {
    format!("{}?from=hub{hub}", story(number))
}

/// A front page with hubs, whose stories are linked under two addresses each.
fn reply(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, .. } = job else { return answer(job, now) };
    let number = || url.path().rsplit('/').next().and_then(|last| last.parse::<u32>().ok());
    let links: Vec<String> = match url.path() {
        "/" => (0..HUBS).map(|hub| format!("/hub/{hub}")).collect(),
        path if path.starts_with("/hub/") => {
            let hub = number().unwrap();
            let stories = hub * STORIES..(hub + 1) * STORIES;
            stories.flat_map(|number| [story(number), alias(hub, number)]).collect()
        }
        _ => Vec::new(),
    };
    says(*host, *page, url, links.iter().map(|path| at(path)).collect())
}

/// A page whose text is that of its path.
fn says(host: HostId, page: PageId, url: &CanonicalUrl, links: Vec<CanonicalUrl>) -> Report {
    brought(host, page, crate::says(url.path(), links))
}

/// A crawl of that web, and how many aliases it fetched.
fn crawl(dir: &Path, config: Config) -> (Partition, usize) {
    let mut crawl = Partition::open(dir, config, START).unwrap();
    crawl.seed(&at("/"), Time::ZERO).unwrap();
    let fetched = RefCell::new(BTreeSet::new());
    run_on(&mut crawl, Time::ZERO, seconds(ENOUGH), |job, now| {
        if let Job::Page { url, .. } = job
            && url.query().is_some()
        {
            fetched.borrow_mut().insert(url.as_str().to_owned());
        }
        reply(job, now)
    });
    crawl.save().unwrap();
    (crawl, fetched.into_inner().len())
}

fn reopen(dir: &Path) -> Partition {
    let later = START + Span::SECOND.times(ENOUGH).as_micros().cast_signed();
    Partition::open(dir, config(), later).unwrap()
}

#[test]
fn other_addresses_of_known_pages_are_spared() {
    let (plain, wary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (all, fetched) = crawl(plain.path(), Config { learn_rules: false, ..config() });
    assert_eq!(fetched as u32, HUBS * STORIES, "the web has time enough for all");
    assert_eq!((all.tally().spared, all.rules(10).len()), (0, 0));

    let (wary_crawl, fetched) = crawl(wary.path(), config());
    let tally = wary_crawl.tally();
    assert_eq!(tally.held, all.tally().held, "no page is lost");
    assert!(
        fetched as u32 <= FOUND_WITHIN / 2,
        "{fetched} aliases fetched, {} spared",
        tally.spared
    );
    assert!(tally.spared > 0, "{tally:?}");
    let rules = wary_crawl.rules(10);
    assert!(rules.iter().any(|rule| rule.is_applied && rule.spared > 0), "{rules:?}");
    // Waiting aliases were judged again, and the tape tells.
    let is_doubt = |input: &Input| matches!(input, Input::Doubted(said) if said.doubt > 0.9);
    assert!(wary_crawl.store().tape(0).unwrap().any(|input| is_doubt(&input.unwrap())));
    drop(wary_crawl);
    let replayed = Partition::replay(wary.path(), START).unwrap();
    assert!(replayed.decisions > 300, "{replayed:?}");
}

#[test]
fn rules_survive_a_restart_and_obey_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let (learnt, _) = crawl(dir.path(), config());
    let rules = learnt.rules(10);
    drop(learnt);
    let mut again = reopen(dir.path());
    assert_eq!(again.rules(10), rules);
    let now = seconds(ENOUGH);
    let pages = again.store().pages();
    again.know(&at(&alias(77, 1)), now).unwrap();
    assert_eq!(again.store().pages(), pages, "it is a story that is held");
    let told = again.answer(&Question::Why(at(&alias(77, 1))), now).unwrap();
    assert!(told["error"].as_str().unwrap().contains(&story(1)), "{told}");

    // A veto, also one made while the crawl does not run, is kept.
    let rules = applied(&again);
    assert!(!rules.is_empty());
    drop(again);
    for rule in &rules {
        assert!(Partition::decide_at_rest(dir.path(), rule.0, Ruling::Veto).unwrap());
    }
    let unknown = "0123456789abcdef".parse::<RuleName>().unwrap();
    assert!(!Partition::decide_at_rest(dir.path(), unknown.0, Ruling::Veto).unwrap());
    let mut vetoed = reopen(dir.path());
    assert!(vetoed.rules(10).iter().all(|rule| !rule.is_applied));
    vetoed.know(&at(&alias(78, 2)), now).unwrap();
    assert_eq!(vetoed.store().pages(), pages + 1, "a page of its own again");
    assert!(vetoed.decide(rules[0].0, Ruling::Undo).unwrap());
    assert!(vetoed.rules(10).iter().any(|rule| rule.is_applied));
}

/// The rules that are applied.
fn applied(crawl: &Partition) -> Vec<RuleName> {
    let rules = crawl.rules(10).into_iter().filter(|rule| rule.is_applied);
    rules.map(|rule| rule.id.parse().unwrap()).collect()
}

/// A page that was filed under a rule does not stand for another one once the rule is dropped.
#[test]
fn a_rule_that_is_dropped_hides_no_page() {
    let dir = tempfile::tempdir().unwrap();
    let (mut learnt, _) = crawl(dir.path(), config());
    let (now, pages) = (seconds(ENOUGH), learnt.store().pages());
    let unknown = HUBS * STORIES;
    learnt.know(&at(&alias(77, unknown)), now).unwrap();
    learnt.know(&at(&story(unknown)), now).unwrap();
    assert_eq!(learnt.store().pages(), pages + 1, "one page by the rule");
    for rule in applied(&learnt) {
        assert!(learnt.decide(rule.0, Ruling::Veto).unwrap());
    }
    learnt.know(&at(&story(unknown)), now).unwrap();
    assert_eq!(learnt.store().pages(), pages + 2, "two pages without it");
}

/// What was learnt is saved with the veto in it, and the veto is taken back while no crawl runs.
#[test]
fn a_decision_that_is_undone_at_rest_stays_undone() {
    let dir = tempfile::tempdir().unwrap();
    let (mut learnt, _) = crawl(dir.path(), config());
    let rules = applied(&learnt);
    assert!(learnt.decide(rules[0].0, Ruling::Veto).unwrap());
    learnt.save().unwrap();
    drop(learnt);
    assert!(Partition::decide_at_rest(dir.path(), rules[0].0, Ruling::Undo).unwrap());
    assert_eq!(applied(&reopen(dir.path())), rules);
}

/// A story that is held moves to another address of its own class: the redirect is followed, and from then
/// on the new address stands for the class.
#[test]
fn a_redirect_within_a_class_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (learnt, _) = crawl(dir.path(), config());
    drop(learnt);
    let mut again = reopen(dir.path());
    let is_held = |crawl: &Partition, url: &CanonicalUrl| {
        let page = crawl.store().page_of(url.as_str()).unwrap();
        page.is_some_and(|page| crawl.copy(page).unwrap().is_some())
    };
    let number = (0..HUBS * STORIES).find(|number| is_held(&again, &at(&story(*number))));
    let number = number.expect("a story is held under its plain address");
    let (old, new) = (at(&story(number)), at(&alias(99, number)));
    let pages = again.store().pages();
    let later = seconds(5 * ENOUGH);
    run_on(&mut again, seconds(ENOUGH), later, |job, now| match job {
        Job::Page { host, page, url, .. } if *url == old => {
            let came = Came::Moved { to: new.clone(), for_good: true };
            let (host, page, status) = (*host, *page, Some(301));
            let (body_bytes, packed, unix_micros, took) = (0, None, START, TOOK);
            Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took }
        }
        _ => reply(job, now),
    });
    assert_eq!(again.store().pages(), pages + 1, "the new address");
    assert!(is_held(&again, &new) && !is_held(&again, &old));
    again.know(&at(&alias(98, number)), later).unwrap();
    assert_eq!(again.store().pages(), pages + 1);
}

/// A page that nobody clicks, on a host where the other pages are clicked, and both are fetched alike.
#[test]
fn a_template_that_brings_no_clicks_is_doubted() {
    const PAGES: u32 = 120;
    let front = at("/");
    let reply = |job: &Job, now: Time| {
        let Job::Page { host, page, url, .. } = job else { return answer(job, now) };
        let pages = 0..if url.path() == "/" { PAGES } else { 0 };
        let links = pages.flat_map(|n| [format!("/story/of-{n}-it"), format!("/babble/of-{n}-it")]);
        says(*host, *page, url, links.map(|path| at(&path)).collect())
    };
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), config(), START).unwrap();
    crawl.seed(&front, Time::ZERO).unwrap();
    // Stories are clicked every hour, and the log is read every hour, for three days.
    for hour in 0..72 {
        let (begin, end) = (seconds(3600 * hour), seconds(3600 * (hour + 1)));
        run_on(&mut crawl, begin, end, reply);
        let click = |n: u32| {
            let page = crawl.store().page_of(at(&format!("/story/of-{n}-it")).as_str()).unwrap()?;
            Some(Interest { page, at: end, count: 1.0, kind: InterestKind::Click })
        };
        let rows: Vec<Interest> = (0..PAGES).filter_map(click).collect();
        crawl.hear(Heard { rows, ..Heard::default() }).unwrap();
    }
    let babble = crawl.suspicion(&at("/babble/of-999-it")).unwrap();
    let story = crawl.suspicion(&at("/story/of-999-it")).unwrap();
    assert_eq!(babble.detector, Detector::Worthless, "{babble:?}");
    assert!(babble.doubt > 0.5 && story.doubt < 0.1, "{babble:?} {story:?}");
}

/// A crash may lose what was learnt, and then the rule is learnt again.
#[test]
fn a_veto_holds_for_a_rule_that_is_learnt_again() {
    let dir = tempfile::tempdir().unwrap();
    let (mut learnt, _) = crawl(dir.path(), config());
    let vetoed = applied(&learnt);
    for rule in &vetoed {
        assert!(learnt.decide(rule.0, Ruling::Veto).unwrap());
    }
    learnt.commit().unwrap();
    drop(learnt);
    std::fs::remove_file(dir.path().join("hygiene.snapshot")).unwrap();

    let mut again = reopen(dir.path());
    assert_eq!(again.rules(10), []);
    run_on(&mut again, seconds(ENOUGH), seconds(3 * ENOUGH), reply);
    let rules = again.rules(10);
    let decided = rules.iter().filter(|rule| rule.decided == Some(Ruling::Veto)).count();
    assert_eq!(decided, vetoed.len(), "{rules:?}");
    assert!(rules.iter().all(|rule| !rule.is_applied), "{rules:?}");
    // A decision can be taken back while its rule is not known.
    drop(again);
    std::fs::remove_file(dir.path().join("hygiene.snapshot")).unwrap_or_default();
    assert!(Partition::decide_at_rest(dir.path(), vetoed[0].0, Ruling::Undo).unwrap());
    assert!(!Partition::decide_at_rest(dir.path(), vetoed[0].0, Ruling::Undo).unwrap());
}

/// Another limit of memory holds from the next start on, and for what was learnt before.
#[test]
fn less_memory_takes_effect_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let (learnt, _) = crawl(dir.path(), config());
    let known = learnt.hygiene_bytes();
    assert!(!learnt.rules(10).is_empty());
    drop(learnt);
    let small = Config { hygiene_mb: 0, ..config() };
    let later = START + Span::SECOND.times(ENOUGH).as_micros().cast_signed();
    let again = Partition::open(dir.path(), small, later).unwrap();
    assert!(again.hygiene_bytes().1 < known.1, "{known:?} {:?}", again.hygiene_bytes());
    assert_eq!(again.rules(10), []);
}

/// A copy elsewhere that was crawled first does not take the place of a seed.
#[test]
fn a_seed_is_no_mirror_of_its_copy() {
    const PAGES: u32 = 40;
    let at = |host: &str, page: u32| {
        CanonicalUrl::parse(&format!("http://{host}.example{}", story(page))).unwrap()
    };
    for is_seed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut crawl = Partition::open(dir.path(), config(), START).unwrap();
        (0..PAGES).for_each(|page| crawl.know(&at("copy", page), Time::ZERO).unwrap());
        run_on(&mut crawl, Time::ZERO, seconds(60), reply);
        if is_seed {
            crawl.seed(&at("a", 0), seconds(60)).unwrap();
        }
        (0..PAGES).for_each(|page| crawl.know(&at("a", page), seconds(60)).unwrap());
        run_on(&mut crawl, seconds(60), seconds(180), reply);
        let rules = crawl.rules(10);
        let is_alias = |rule: &RuleRow| rule.host == "http://a.example" && rule.is_applied;
        assert_eq!(rules.iter().any(is_alias), !is_seed, "{rules:?}");
    }
}

/// What was told as decided survives a power cut: it is synced.
#[test]
fn decisions_are_synced_before_they_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (mut learnt, _) = crawl(dir.path(), config());
    let rule = applied(&learnt)[0];
    let mark = || std::fs::read(dir.path().join("synced")).unwrap();
    let questions =
        [Question::Decide(Ruling::Veto, rule), Question::Label(Some(Label::Spam), at("/"))];
    for (number, question) in (0..).zip(questions) {
        learnt.know(&at(&format!("/new/{number}")), seconds(ENOUGH)).unwrap();
        let before = mark();
        learnt.answer(&question, seconds(ENOUGH)).unwrap();
        assert_ne!(mark(), before, "{question}");
    }
}
