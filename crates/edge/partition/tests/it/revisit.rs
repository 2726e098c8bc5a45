//! How often pages are visited when the budget would pay for far more.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tidewatch_archive::digest;
use tidewatch_core::{Rate, Reason, Span, Time};
use tidewatch_frontier::Revisit;
use tidewatch_partition::work::{Came, Content, Job, Report};
use tidewatch_partition::{Config, Partition};
use tidewatch_policy::explanation::Obstacle;

use crate::{START, TOOK, answer, config, run_on, seconds, url};

/// Pages of the one host; page 0 links to all of them.
const PAGES: u32 = 12;
const PATIENCE: Span = Span::MINUTE.times(2);

/// When each page was requested.
pub(crate) type Visits = RefCell<BTreeMap<u32, Vec<Time>>>;

pub(crate) fn came(text: &str) -> Came {
    let digest = digest(text.as_bytes());
    let identity = u64::from_le_bytes(digest[..8].try_into().unwrap());
    let links = (0..PAGES).map(|page| (url(0, page), String::new())).collect();
    let content = Content {
        status: 200,
        digest,
        identity,
        links,
        sketch: vec![identity],
        ..Content::default()
    };
    Came::Content(Box::new(content))
}

/// Answers a job with what `page` gives at a time, and notes the visit.
pub(crate) fn reply(
    job: &Job,
    now: Time,
    visits: &Visits,
    page: impl Fn(u32, Time) -> Came,
) -> Report {
    let Job::Page { host, page: id, url, .. } = job else { return answer(job, now) };
    let number: u32 = url.path().strip_prefix("/p/").unwrap().parse().unwrap();
    visits.borrow_mut().entry(number).or_default().push(now);
    Report::Page {
        host: *host,
        page: *id,
        came: page(number, now),
        status: Some(200),
        body_bytes: 20,
        packed: None,
        unix_micros: START,
        took: TOOK,
    }
}

/// Crawls from `/p/0` of one host, and returns when each page was requested.
fn crawl(
    config: Config,
    end: Time,
    page: impl Fn(u32, Time) -> Came + Copy,
) -> (tempfile::TempDir, Partition, BTreeMap<u32, Vec<Time>>) {
    let (dir, visits) = (tempfile::tempdir().unwrap(), Visits::default());
    let mut crawl = Partition::open(dir.path(), config, START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, end, |job, now| reply(job, now, &visits, page));
    (dir, crawl, visits.take())
}

fn with(policy: &str, revisit: Revisit) -> Config {
    Config { policy: policy.into(), revisit, ..config() }
}

/// Visits within `time` to a page that never changes and is visited whenever it may be: its rest doubles
/// from `first`.
fn most_visits(first: Span, time: Span) -> usize {
    let (mut at, mut rest, mut visits) = (Span::ZERO, first, 0);
    while at < time {
        (at, rest, visits) = (at + rest, rest.times(2), visits + 1);
    }
    visits
}

/// A site of which nothing ever changes gets a handful of requests a day, whatever the policy, though
/// the budget would pay for a million: the seed, which is a source and rests a sixteenth at first, at
/// most 7, and every other page 3.
#[test]
fn a_site_that_never_changes_is_left_alone() {
    for policy in ["price", "uniform", "random", "echo-newpages", "frontier-bfs"] {
        let (rule, day) = (Revisit::default(), Span::DAY);
        let of_seed = most_visits(Span::from_micros(rule.usual.as_micros() / 16), day);
        let of_page = most_visits(rule.usual, day);
        assert_eq!((of_seed, of_page), (7, 3));
        // The rule that a crawl has if nothing is set.
        let config = with(policy, Config::default().revisit);
        let (dir, crawl, visits) =
            crawl(config, seconds(86_400), |page, _| came(&page.to_string()));
        assert_eq!(visits.len(), PAGES as usize, "{policy}");
        let (first, mut others) = (&visits[&0], visits.range(1..));
        assert!(first.len() <= of_seed, "{policy}: {first:?}");
        assert!(others.all(|(_, visits)| visits.len() <= of_page), "{policy}: {visits:?}");
        let gap = first.windows(2).map(|pair| pair[1].since(pair[0])).min();
        assert!(gap.is_none_or(|gap| gap >= Revisit::default().least), "{policy}: {first:?}");
        drop(crawl);
        Partition::replay(dir.path(), START).unwrap();
    }
}

/// A larger budget cannot buy what rests and gaps forbid, and what-if says so.
#[test]
fn what_if_spends_no_more_than_rests_and_gaps_allow() {
    let rule = Revisit::default();
    let quiet = |page: u32, _: Time| came(&page.to_string());
    let (_dir, crawl, _) = crawl(with("price", rule), seconds(3_600), quiet);
    let spent = |per_second| {
        let then = crawl.what_if(Rate::per_second(per_second).unwrap()).unwrap();
        assert!((then.budget - per_second).abs() <= 1e-9 * per_second);
        then.spent()
    };
    // The seed is a source and was visited at least twice.
    let most = f64::from(PAGES) / (rule.usual.seconds() / 16.0);
    assert!(spent(1_000.0) <= most, "{} a second, {most} allowed", spent(1_000.0));
    assert!((spent(1_000.0) - spent(10.0)).abs() < 1e-9);
    let few = spent(1e-5);
    assert!((few - 1e-5).abs() < 1e-7, "a budget that fits is spent: {few}");
    // Without rests the gap of a second is the limit.
    let (_dir, crawl, _) = self::crawl(with("price", Revisit::NONE), seconds(100), quiet);
    let then = crawl.what_if(Rate::per_second(1_000.0).unwrap()).unwrap();
    assert!(then.spent() <= 1.0 + 1e-9, "{then:?}");
}

/// Pages that change are visited more often than those that do not, but never within `least`.
#[test]
fn pages_that_change_are_visited_more_often() {
    let rule = Revisit::default();
    let living = |page: u32, now: Time| match page {
        1..4 => came(&format!("{page} at {}", now.as_micros() / Span::HOUR.as_micros())),
        _ => came(&page.to_string()),
    };
    let (_dir, mut crawl, visits) = crawl(with("price", rule), seconds(3 * 86_400), living);
    let (busy, quiet) = (visits[&2].len(), visits[&9].len());
    assert!(busy >= 20 && quiet <= 6, "{busy} visits to a busy page, {quiet} to a quiet one");
    let gaps = visits.values().flat_map(|at| at.windows(2).map(|pair| pair[1].since(pair[0])));
    assert!(gaps.min().unwrap() >= rule.least);
    // The rest of the budget stays unspent, and the page says why it is not fetched.
    let portrait = crawl.portrait(&url(0, 9), crawl.last()).unwrap().unwrap();
    let told = tidewatch_partition::explain::told(&portrait.why.unwrap(), crawl.last());
    assert!(told.contains("it rests for "), "{told}");
}

/// With `Revisit::ONCE` every page is fetched once, a failing one three times, one that its owner refuses
/// once; then nothing is left.
#[test]
fn once_means_once() {
    let broken = |page: u32, _: Time| match page {
        3 => Came::Refused(Reason::ServerError),
        4 => Came::Gone,
        5 => Came::Nothing(Reason::BadEncoding),
        6 => Came::Refused(Reason::Forbidden),
        _ => came(&page.to_string()),
    };
    for policy in ["price", "uniform", "cgm"] {
        let (_dir, crawl, visits) = crawl(with(policy, Revisit::ONCE), seconds(400), broken);
        let counts: Vec<usize> = visits.values().map(Vec::len).collect();
        assert_eq!(counts, [1, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 1], "{policy}");
        assert!(crawl.is_done(PATIENCE, seconds(401)), "{policy}");
    }
}

/// An owner who answers 403 or 405 is not asked again half a minute later.
#[test]
fn refused_pages_are_left_alone() {
    let closed = |page: u32, _: Time| match page {
        3 => Came::Refused(Reason::Forbidden),
        4 => Came::Refused(Reason::ClientError),
        5 => Came::Refused(Reason::ServerError),
        _ => came(&page.to_string()),
    };
    let rule = Revisit::default();
    for policy in ["price", "uniform", "random", "frontier-bfs"] {
        let (_dir, mut crawl, visits) = crawl(with(policy, rule), seconds(2 * 86_400), closed);
        for page in [3, 4] {
            let (visits, most) =
                (visits[&page].len(), 1 + most_visits(rule.usual, Span::DAY.times(2)));
            assert!(visits <= most, "{policy}: {visits} visits to page {page}");
        }
        assert!(
            visits[&5].len() > visits[&3].len(),
            "{policy}: a broken server is asked again soon"
        );
        let portrait = crawl.portrait(&url(0, 3), crawl.last()).unwrap().unwrap();
        let told = tidewatch_partition::explain::told(&portrait.why.unwrap(), crawl.last());
        assert!(told.contains("it rests for "), "{policy}: {told}");
    }
}

/// `why` invents no age and no worth for a seed that never brought a page.
#[test]
fn why_tells_of_a_failed_seed_what_is_known() {
    let broken = |_: u32, _: Time| Came::Refused(Reason::ServerError);
    let end = seconds(4 * 3_600);
    let (_dir, mut crawl, visits) = crawl(with("price", Revisit::default()), end, broken);
    let told_at = |crawl: &mut Partition, now: Time| {
        let portrait = crawl.portrait(&url(0, 0), now).unwrap().unwrap();
        tidewatch_partition::explain::told(&portrait.why.unwrap(), now)
    };
    let told = told_at(&mut crawl, end);
    let failed = visits[&0].len();
    assert!((4..20).contains(&failed), "{visits:?}");
    assert!(told.starts_with("No fetch of it has brought a page yet.\n"), "{told}");
    assert!(told.contains(&format!("The last {failed} fetches of it failed")), "{told}");
    assert!(told.contains("It is due in ") || told.contains("It is due, but it rests"), "{told}");
    assert!(!told.contains("ago") && !told.contains("brings") && !told.contains("click"), "{told}");
    // It is due when it says.
    let why = crawl.portrait(&url(0, 0), end).unwrap().unwrap().why.unwrap();
    let open = why.obstacle.and_then(Obstacle::until).unwrap_or(end);
    let due = why.due.time().unwrap().max(open);
    let asked = Visits::default();
    run_on(&mut crawl, end, due + Span::MINUTE, |job, now| reply(job, now, &asked, broken));
    let asked = asked.take();
    assert!(asked[&0][0].since(due) < Span::MINUTE && asked[&0][0] >= due, "{asked:?}, due {due}");
}

/// A host that does not answer is not waited for, however many of its pages are known.
#[test]
fn once_ends_although_a_host_is_dead() {
    let dies = |page: u32, now: Time| {
        if now < seconds(5) { came(&page.to_string()) } else { Came::Nothing(Reason::Connect) }
    };
    let (_dir, crawl, visits) = crawl(with("price", Revisit::ONCE), seconds(600), dies);
    assert!(
        visits.values().flatten().any(|at| *at > seconds(100)),
        "it is tried again: {visits:?}"
    );
    assert!(crawl.is_done(PATIENCE, seconds(601)));
}

/// One page that cannot be decoded is that page's outcome; its host goes on.
#[test]
fn a_bad_page_does_not_silence_its_host() {
    let bad = |page: u32, _: Time| match page {
        1 => Came::Nothing(Reason::BadEncoding),
        2 => Came::Nothing(Reason::Protocol),
        3 => Came::Nothing(Reason::Incomplete),
        _ => came(&page.to_string()),
    };
    let (_dir, crawl, visits) = crawl(with("uniform", Revisit::NONE), seconds(30), bad);
    assert_eq!(visits.len(), PAGES as usize, "{visits:?}");
    let gaps = |visits: &BTreeMap<u32, Vec<Time>>| {
        let mut all: Vec<Time> = visits.values().flatten().copied().collect();
        all.sort_unstable();
        all.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap()
    };
    assert!(gaps(&visits) < Span::SECOND.times(3), "the host was left alone for {}", gaps(&visits));
    assert!(crawl.tally().reasons[&Reason::BadEncoding] > 0);
    // A host that is unwell rests.
    let dead = |page: u32, _: Time| match page {
        1 => Came::Nothing(Reason::Connect),
        _ => came(&page.to_string()),
    };
    let (_dir, _crawl, visits) = self::crawl(with("uniform", Revisit::NONE), seconds(90), dead);
    assert!(gaps(&visits) >= Span::SECOND.times(30));
}
