//! The state machine against a slow model, and against its own tape.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tidewatch_core::{HostId, PageId, Rate, Span, Time};
use tidewatch_policy::explanation::Belief;
use tidewatch_policy::registry::{self, Setup};

use crate::*;

fn at(millis: u64) -> Time {
    Time::from_micros(millis * 1000)
}

/// Queues of two crawls with two queues each.
fn queues(policy: Option<&str>) -> (Queues, Vec<Input>) {
    let mut queues = match policy {
        Some(name) => Queues::managed_by((registry::find(name).unwrap().make)(Setup::seeded(1))),
        None => Queues::default(),
    };
    let mut tape = Vec::new();
    for crawl in 0..2 {
        tape.push(Input::Crawl { name: format!("crawl{crawl}").into() });
        for key in ["a", "b"] {
            tape.push(Input::Queue { crawl: CrawlId(crawl), key: key.into() });
        }
    }
    if policy.is_some() {
        let budget = Rate::per_second(50.0).unwrap();
        tape.push(Input::Budget { at: Time::ZERO, budget });
    }
    for input in &tape {
        queues.apply(input, "");
    }
    (queues, tape)
}

fn put(at: Time, queue: u32, print: u32, news: News) -> Input {
    let (queue, print) = (HostId(queue), Print::raw(print));
    Input::Put { at, queue, print, news, facts: None }
}

fn take(at: Time, queues: u32, urls: u32, lease: Span) -> Input {
    let want = Want { crawl: None, queue: None, queues, urls, lease };
    Input::Take { at, want, taken: Vec::new() }
}

fn taken(queues: &mut Queues, input: &Input) -> Vec<u32> {
    match queues.apply(input, "") {
        Effect::Taken(pages) => pages.into_iter().map(|page| page.0).collect(),
        other => panic!("{other:?}"),
    }
}

/// Clicks that are told once a day say what pages are worth that nobody has fetched yet.
#[test]
fn clicks_told_between_two_questions_count() {
    let (mut queues, _) = queues(Some("price"));
    let (pages, day) = (100, 86_400_000);
    for print in 0..pages {
        queues.apply(&put(at(0), 0, print, News::Discovered), "");
    }
    let (mut now, mut fetched) = (1000, Vec::new());
    for _ in 0..pages / 2 {
        for page in taken(&mut queues, &take(at(now), 9, 1, Span::HOUR)) {
            let (queue, print) = (HostId(0), Print::raw(page));
            let news = News::Fetched(at(30 * day));
            let facts = Some(Box::new(Facts { status: Some(200), ..Facts::default() }));
            queues.apply(&Input::Put { at: at(now), queue, print, news, facts }, "");
            fetched.push(page);
        }
        now += 10_000;
    }
    let waiting = (0..pages).find(|page| !fetched.contains(page)).unwrap();
    assert!(fetched.len() > 10, "{fetched:?}");
    let expected = |queues: &Queues| {
        let told = queues.explain(PageId(waiting), at(day)).unwrap();
        match told.belief {
            Belief::Unfetched { clicks, .. } => clicks,
            other => panic!("{other:?}"),
        }
    };
    let before = expected(&queues);
    for page in fetched {
        let (queue, print, news) = (HostId(0), Print::raw(page), News::Discovered);
        let facts = Some(Box::new(Facts { clicks: Some(20.0), ..Facts::default() }));
        queues.apply(&Input::Put { at: at(day), queue, print, news, facts }, "");
    }
    // A day after the last fetch the policy learns from them.
    queues.apply(&take(at(day + now), 9, 1, Span::HOUR), "");
    assert!(expected(&queues) > 5.0 * before, "{before} {}", expected(&queues));
}

#[test]
fn the_oldest_date_comes_first() {
    let (mut queues, _) = queues(None);
    for (print, due) in [(0, 30), (1, 10), (2, 20), (3, 500)] {
        queues.apply(&put(at(1000), 0, print, News::Fetched(at(due * 1000))), "");
    }
    let lease = Span::MINUTE;
    assert_eq!(taken(&mut queues, &take(at(100_000), 9, 2, lease)), [1, 2]);
    // Two are held, so a question for two gets nothing; one for three gets the third.
    assert_eq!(taken(&mut queues, &take(at(110_000), 9, 2, lease)), [0_u32; 0]);
    assert_eq!(taken(&mut queues, &take(at(120_000), 9, 3, lease)), [0]);
    // The leases of the first two have ended; the fourth is not due.
    assert_eq!(taken(&mut queues, &take(at(160_000), 9, 9, lease)), [1, 2]);
}

#[test]
fn a_queue_is_closed_for_its_gap_its_block_and_its_limit() {
    let (mut queues, _) = queues(None);
    for print in 0..8 {
        queues.apply(&put(at(0), 0, print, News::Discovered), "");
    }
    let (queue, lease) = (HostId(0), Span::MINUTE);
    let gap = |at, gap| Input::Gap { at, queue: Some(queue), gap };
    queues.apply(&gap(at(0), Span::SECOND.times(5)), "");
    let one = |millis| take(at(millis), 9, 1, lease);
    assert_eq!(taken(&mut queues, &take(at(0), 9, 1, lease)), [0]);
    queues.apply(&put(at(1), 0, 0, News::Fetched(Time::NEVER)), "");
    assert_eq!(taken(&mut queues, &one(4999)), [0_u32; 0]);
    assert_eq!(taken(&mut queues, &one(5000)), [1]);
    queues.apply(&put(at(5001), 0, 1, News::Fetched(Time::NEVER)), "");
    queues.apply(&Input::Block { at: at(5002), queue, until: at(20_000) }, "");
    assert_eq!(taken(&mut queues, &one(19_999)), [0_u32; 0]);
    assert_eq!(taken(&mut queues, &one(20_000)), [2]);
    queues.apply(&put(at(20_001), 0, 2, News::Fetched(Time::NEVER)), "");
    queues.apply(&Input::Limit { at: at(20_002), queue, limit: 3 }, "");
    assert_eq!(taken(&mut queues, &one(90_000)), [0_u32; 0]);
    queues.apply(&Input::Limit { at: at(90_001), queue, limit: 0 }, "");
    queues.apply(&Input::Active { at: at(90_001), is_active: false }, "");
    assert_eq!(taken(&mut queues, &one(91_000)), [0_u32; 0]);
    queues.apply(&Input::Active { at: at(91_001), is_active: true }, "");
    assert_eq!(taken(&mut queues, &one(92_000)), [3]);
}

#[test]
fn queues_take_turns() {
    let (mut queues, _) = queues(None);
    for print in 0..20 {
        queues.apply(&put(at(0), print % 4, print, News::Discovered), "");
    }
    let mut seen = Vec::new();
    for second in 0..4 {
        let given = taken(&mut queues, &take(at(second * 1000), 1, 1, Span::MINUTE));
        seen.push(queues.state(PageId(given[0])).unwrap().0.0);
    }
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn a_dropped_queue_begins_anew() {
    let (mut queues, _) = queues(None);
    for print in 0..3 {
        queues.apply(&put(at(0), 0, print, News::Discovered), "");
    }
    assert_eq!(taken(&mut queues, &take(at(1), 9, 1, Span::SECOND)), [0]);
    let queue = HostId(0);
    let dropped = queues.apply(&Input::DropQueue { at: at(2), queue }, "");
    assert_eq!(dropped, Effect::Dropped { queues: vec![queue], urls: 3 });
    assert_eq!(queues.queue(CrawlId(0), "a"), None);
    assert_eq!(queues.crawl_figures(CrawlId(0)), Figures { queues: 1, ..Figures::default() });
    // The lease of a dropped URL ends without a trace.
    assert_eq!(taken(&mut queues, &take(at(9000), 9, 9, Span::SECOND)), [0_u32; 0]);
}

#[test]
fn a_purge_goes_on_where_it_stopped() {
    let (mut queues, _) = queues(None);
    for print in 0..10 {
        let time = if print < 7 { at(0) } else { at(60_000) };
        queues.apply(&put(time, print % 2, print, News::Discovered), "");
    }
    let purge = |from| Input::Purge {
        at: at(70_000),
        crawl: CrawlId(0),
        queue: None,
        before: at(30_000),
        from: PageId(from),
        most: 4,
    };
    let pages = |range: std::ops::Range<u32>| range.map(PageId).collect::<Vec<_>>();
    let first = queues.apply(&purge(0), "");
    assert_eq!(first, Effect::Purged { pages: pages(0..4), next: Some(PageId(4)) });
    let second = queues.apply(&purge(4), "");
    assert_eq!(second, Effect::Purged { pages: pages(4..7), next: None });
    assert_eq!(queues.crawl_figures(CrawlId(0)).urls(), 3);
    assert_eq!(queues.find(Print::raw(0)), None);
}

/// URLs that are put again and again leave no more than a bounded rest in memory.
#[test]
fn outdated_entries_do_not_pile_up() {
    let (mut queues, _) = queues(None);
    for round in 0..10_000 {
        queues.apply(&put(at(round), 0, 7, News::Fetched(at(1_000_000 + round * 1000))), "");
    }
    let bytes = postcard::to_stdvec(&queues).unwrap().len();
    assert!(bytes < 2000, "{bytes} bytes for one URL");
}

#[derive(Clone, Debug)]
enum Act {
    Put(u32, u32, Option<u64>),
    Take(u32, u32, u64, Option<u32>),
    Gap(Option<u32>, u64),
    Block(u32, u64),
    Limit(u32, u32),
    Active(bool),
    DropQueue(u32),
    Purge(u64),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let due = prop_oneof![Just(None), Just(Some(u64::MAX)), (0_u64..200).prop_map(Some)];
    prop_oneof![
        8 => (0..4_u32, 0..30_u32, due).prop_map(|(q, p, d)| Act::Put(q, p, d)),
        8 => (1..5_u32, 1..4_u32, 1..60_u64, proptest::option::of(0..4_u32))
            .prop_map(|(q, u, l, only)| Act::Take(q, u, l, only)),
        1 => (proptest::option::of(0..4_u32), 0..20_u64).prop_map(|(q, g)| Act::Gap(q, g)),
        1 => (0..4_u32, 0..200_u64).prop_map(|(q, u)| Act::Block(q, u)),
        1 => (0..4_u32, 0..6_u32).prop_map(|(q, l)| Act::Limit(q, l)),
        1 => any::<bool>().prop_map(Act::Active),
        1 => (0..4_u32).prop_map(Act::DropQueue),
        1 => (0..100_u64).prop_map(Act::Purge),
        4 => (0..15_000_u64).prop_map(Act::Wait),
    ]
}

/// What the crate promises, kept in plain maps.
#[derive(Default)]
struct Judge {
    held: BTreeMap<u32, Time>,
    last: BTreeMap<u32, Time>,
    gaps: BTreeMap<u32, Span>,
    usual: Option<Span>,
    blocked: BTreeMap<u32, Time>,
    due: BTreeMap<u32, u64>,
    is_stopped: bool,
}

impl Judge {
    fn check(&mut self, now: Time, lease: Span, given: &[(u32, u32)], is_strict: bool) {
        assert!(given.is_empty() || !self.is_stopped);
        for &(queue, page) in given {
            let held = self.held.get(&page).is_some_and(|&until| until > now);
            assert!(!held, "{page} is given out twice");
            let gap = self.gaps.get(&queue).copied().or(self.usual).unwrap_or(Span::SECOND);
            let last = self.last.get(&queue).filter(|&&last| last < now);
            assert!(last.is_none_or(|&last| last + gap <= now), "the gap of {queue}");
            assert!(self.blocked.get(&queue).is_none_or(|&until| until <= now));
            let due = self.due.get(&page).copied().unwrap_or(0);
            assert!(due < u64::MAX, "{page} is done");
            assert!(!is_strict || at(due * 1000) <= now, "{page} is not due");
        }
        for &(queue, page) in given {
            self.held.insert(page, now + lease);
            self.last.insert(queue, now);
        }
    }
}

fn run(acts: &[Act], policy: Option<&str>) {
    let (mut queues, mut tape) = queues(policy);
    let (mut judge, mut now) = (Judge::default(), 1_000_000_u64);
    let mut urls: Vec<String> = Vec::new();
    for act in acts {
        now += 1;
        let time = at(now);
        let mut input = match *act {
            Act::Wait(millis) => {
                now += millis;
                continue;
            }
            Act::Put(queue, print, due) => {
                let from = |due: u64| {
                    if due == u64::MAX { Time::NEVER } else { at((1000 + due) * 1000) }
                };
                let news = due.map_or(News::Discovered, |due| News::Fetched(from(due)));
                put(time, queue, queue * 100 + print, news)
            }
            Act::Take(most, urls, lease, queue) => {
                let (queue, lease) = (queue.map(HostId), Span::SECOND.times(lease));
                let want = Want { crawl: None, queue, queues: most, urls, lease };
                Input::Take { at: time, want, taken: Vec::new() }
            }
            Act::Gap(queue, gap) => {
                let gap = Span::SECOND.times(gap);
                match queue {
                    Some(queue) => drop(judge.gaps.insert(queue, gap)),
                    None => judge.usual = Some(gap),
                }
                Input::Gap { at: time, queue: queue.map(HostId), gap }
            }
            Act::Block(queue, until) => {
                let until = at((1000 + until) * 1000);
                judge.blocked.insert(queue, until);
                Input::Block { at: time, queue: HostId(queue), until }
            }
            Act::Limit(queue, limit) => Input::Limit { at: time, queue: HostId(queue), limit },
            Act::Active(is_active) => {
                judge.is_stopped = !is_active;
                Input::Active { at: time, is_active }
            }
            Act::DropQueue(queue) => Input::DropQueue { at: time, queue: HostId(queue) },
            Act::Purge(ago) => Input::Purge {
                at: time,
                crawl: CrawlId(0),
                queue: None,
                before: at(now - 1000 * ago),
                from: PageId(0),
                most: 5,
            },
        };
        let url = format!("http://q.example/{}", queues.next_page().0);
        match (queues.apply(&input, &url), &mut input) {
            (Effect::Taken(pages), Input::Take { want, taken, .. }) => {
                let of = |page: &PageId| (queues.state(*page).unwrap().0.0, page.0);
                let given: Vec<_> = pages.iter().map(of).collect();
                judge.check(time, want.lease, &given, policy.is_none());
                assert!(given.iter().all(|given| want.queue.is_none_or(|q| q.0 == given.0)));
                let mut by_queue = BTreeMap::<u32, u32>::new();
                given.iter().for_each(|given| *by_queue.entry(given.0).or_default() += 1);
                assert!(by_queue.len() <= want.queues as usize);
                assert!(by_queue.values().all(|&count| count <= want.urls));
                *taken = pages;
            }
            (Effect::Put { page, is_new }, Input::Put { news, .. }) => {
                if is_new {
                    urls.push(url);
                }
                if let News::Fetched(due) = *news {
                    judge.held.remove(&page.0);
                    let due =
                        if due == Time::NEVER { u64::MAX } else { due.as_micros() / 1_000_000 };
                    judge.due.insert(page.0, due);
                }
            }
            _ => {}
        }
        tape.push(input);
    }
    replays_alike(&queues, &tape, &urls, policy);
    gives_all_in_the_end(&mut queues, now);
}

/// Once nothing stands in the way any more, every URL that waits is given out, whatever came before.
fn gives_all_in_the_end(queues: &mut Queues, mut now: u64) {
    now += 1;
    queues.apply(&Input::Active { at: at(now), is_active: true }, "");
    // Full queues are emptied rather than given another limit, which would open them as well.
    for number in 0..queues.next_page().0 {
        let page = PageId(number);
        if let Some((queue, State::Done)) = queues.state(page)
            && queues.standing(page, at(now)).is_some_and(|standing| standing.is_full)
        {
            let print = queues.urls.get(page).unwrap().print();
            let news = News::Fetched(at(now));
            queues.apply(&Input::Put { at: at(now), queue, print, news, facts: None }, "");
        }
    }
    let mut given = std::collections::BTreeSet::new();
    for _ in 0..200 {
        now += 60_000;
        given.extend(taken(queues, &take(at(now), 9, 100, Span::DAY)));
    }
    let left = (0..queues.next_page().0).filter(|&number| {
        queues.state(PageId(number)).is_some_and(|(_, state)| state == State::Waiting)
    });
    let left: Vec<u32> = left.collect();
    assert!(left.is_empty(), "{left:?} are never given out");
}

/// A purge, or a new date, opens a queue that was full.
#[test]
fn a_full_queue_opens_when_done_urls_leave_it() {
    let purge = Input::Purge {
        at: at(20_001),
        crawl: CrawlId(0),
        queue: None,
        before: at(2000),
        from: PageId(0),
        most: 9,
    };
    let again = put(at(20_001), 0, 0, News::Fetched(at(20_001)));
    for (opening, policy) in
        [(&purge, "price"), (&again, "price"), (&purge, "cgm"), (&again, "cgm")]
    {
        let (mut queues, _) = queues(Some(policy));
        queues.apply(&put(at(0), 0, 0, News::Discovered), "");
        assert_eq!(taken(&mut queues, &take(at(1000), 9, 1, Span::HOUR)), [0]);
        queues.apply(&put(at(1001), 0, 0, News::Fetched(Time::NEVER)), "");
        queues.apply(&put(at(3000), 0, 1, News::Discovered), "");
        queues.apply(&Input::Limit { at: at(3001), queue: HostId(0), limit: 1 }, "");
        assert_eq!(taken(&mut queues, &take(at(9000), 9, 1, Span::HOUR)), [0_u32; 0], "full");
        queues.apply(opening, "");
        let given = taken(&mut queues, &take(at(21_000), 9, 9, Span::HOUR));
        assert!(given.contains(&1), "{policy}: {opening:?} leads to {given:?}");
    }
}

fn replays_alike(live: &Queues, tape: &[Input], urls: &[String], policy: Option<&str>) {
    let wanted = postcard::to_stdvec(live).unwrap();
    let mut again = match policy {
        Some(name) => Queues::managed_by((registry::find(name).unwrap().make)(Setup::seeded(1))),
        None => Queues::default(),
    };
    for input in tape {
        let url = urls.get(again.next_page().index()).map_or("", String::as_str);
        again.replay(input, url, Replay::Decide).unwrap();
    }
    let got = postcard::to_stdvec(&again).unwrap();
    assert!(wanted == got, "a replay comes to another state");
    for crawl in [CrawlId(0), CrawlId(1)] {
        assert_eq!(live.crawl_figures(crawl), again.crawl_figures(crawl));
    }
}

proptest! {
    #[test]
    fn promises_hold_in_strict_order(acts in proptest::collection::vec(act(), 0..200)) {
        run(&acts, None);
    }

    #[test]
    fn promises_hold_under_a_price(acts in proptest::collection::vec(act(), 0..200)) {
        run(&acts, Some("price"));
    }

    #[test]
    fn promises_hold_under_other_policies(
        acts in proptest::collection::vec(act(), 0..100),
        policy in prop_oneof![Just("cgm"), Just("uniform"), Just("bfs"), Just("tiers")],
    ) {
        run(&acts, Some(policy));
    }
}
