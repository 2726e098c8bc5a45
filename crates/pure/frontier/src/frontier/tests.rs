//! A little world on its own clock: it answers commands after a while and checks that every request
//! is polite to its host and address.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tidewatch_core::{Content, Discovery, Doubted, FetchKind, Observation, Outcome, PageKey};
use tidewatch_policy::{Setup, registry};

use super::*;
use crate::tape::{Came, Fetched, Input, Names};

const NOW: Time = Time::ZERO;
const LIMITS: Limits = Limits { requests: 50, jobs: 100 };

fn rules() -> Politeness {
    Politeness { least_gap: Span::SECOND, ..Politeness::default() }
}

/// No host or address has a gap.
const EAGER: Politeness =
    Politeness { patience: 0, address_gap: Span::ZERO, ..Politeness::CRAWL_DELAY_ONLY };

fn frontier(policy: &str, budget: f64) -> Frontier<'static> {
    ruled(rules(), policy, budget)
}

fn ruled(rules: Politeness, policy: &str, budget: f64) -> Frontier<'static> {
    let policy = (registry::find(policy).expect("a policy").make)(Setup::seeded(7));
    Frontier::new(policy, rules, LIMITS, Rate::per_second(budget).expect("a rate"), NOW)
}

/// A page of host 0 that the operator named.
fn named(page: u32) -> Discovery<'static> {
    Discovery {
        page: PageId(page),
        host: HostId(0),
        key: PageKey(u64::from(page)),
        url: "http://a.example/",
        at: NOW,
        via: None,
        is_source: false,
        is_held: false,
        weight: 1.0,
    }
}

/// How the world answers: drawn by proptest.
#[derive(Clone, Debug)]
struct Habit {
    took_ms: u64,
    answer: Answer,
    server: u32,
    crawl_delay_s: u64,
    has_name: bool,
}

fn habit() -> impl Strategy<Value = Habit> {
    let answer = prop_oneof![
        6 => Just(Answer::Usual),
        1 => (0u64..90).prop_map(|s| Answer::Overloaded(Some(Span::SECOND.times(s)))),
        1 => Just(Answer::Overloaded(None)),
        1 => Just(Answer::Nothing),
    ];
    (1u64..5_000, answer, 0u32..4, 0u64..4, prop::bool::weighted(0.9)).prop_map(
        |(took_ms, answer, server, crawl_delay_s, has_name)| Habit {
            took_ms,
            answer,
            server,
            crawl_delay_s,
            has_name,
        },
    )
}

/// Plays inputs and keeps them, as the crawler does.
struct Recorder {
    frontier: Frontier<'static>,
    tape: Vec<Input>,
}

struct NoNames;

impl Names for NoNames {
    fn next_url(&mut self) -> String {
        "http://a.example/".into()
    }
}

impl Recorder {
    fn tell(&mut self, input: Input) {
        self.frontier.play(&input, &mut NoNames).expect("nothing is decided here");
        self.tape.push(input);
    }

    fn next(&mut self, at: Time) -> Next {
        let before = self.frontier.moves();
        let next = self.frontier.next(at);
        let decided = match next {
            Next::Do(command) => Some(command),
            Next::Wait(_) => None,
        };
        if self.frontier.moves() != before {
            self.tape.push(Input::Asked { at, decided });
        }
        next
    }
}

#[derive(Default)]
struct Seen {
    busy: bool,
    closed_until: Time,
}

/// Runs the world for `span` and returns the number of pages fetched.
fn run(habits: &[Habit], policy: &str, budget: f64, span: Span) -> usize {
    record(habits, policy, budget, span).0
}

fn record(habits: &[Habit], policy: &str, budget: f64, span: Span) -> (usize, Vec<Input>) {
    let mut world = world(habits, policy, budget);
    world.run_until(NOW + span);
    (world.pages, world.frontier.tape)
}

/// Hosts with these habits, five pages each.
fn world<'h>(habits: &'h [Habit], policy: &str, budget: f64) -> World<'h> {
    world_with(habits, rules(), 5, policy, budget)
}

fn world_with<'h>(
    habits: &'h [Habit],
    rules: Politeness,
    pages: u32,
    policy: &str,
    budget: f64,
) -> World<'h> {
    let mut frontier = Recorder { frontier: ruled(rules, policy, budget), tape: Vec::new() };
    for number in 0..habits.len() as u32 {
        frontier.tell(Input::Host);
        for _ in 0..pages {
            let (host, at) = (HostId(number), NOW);
            frontier.tell(Input::Page { host, at, via: None, is_source: false, weight: 1.0 });
        }
    }
    let servers = habits.iter().map(|habit| habit.server + 1).max().unwrap_or(0);
    World {
        habits,
        rules,
        frontier,
        hosts: habits.iter().map(|_| Seen::default()).collect(),
        servers: (0..servers).map(|_| Seen::default()).collect(),
        ends: BTreeMap::new(),
        serial: 0,
        pages: 0,
        now: NOW,
    }
}

struct World<'h> {
    habits: &'h [Habit],
    rules: Politeness,
    frontier: Recorder,
    hosts: Vec<Seen>,
    servers: Vec<Seen>,
    /// When each command ends, and when it began.
    ends: BTreeMap<(Time, u32), (Command, Time)>,
    serial: u32,
    pages: usize,
    now: Time,
}

impl World<'_> {
    fn run_until(&mut self, end: Time) {
        while self.now < end {
            let now = self.now;
            let wait = loop {
                match self.frontier.next(now) {
                    Next::Wait(until) => break until,
                    Next::Do(command) => self.begin(command, now),
                }
            };
            match self.ends.first_entry() {
                Some(entry) if entry.key().0 <= wait => {
                    self.now = entry.key().0;
                    let (command, began) = entry.remove();
                    self.end(command, self.now, self.now.since(began));
                }
                _ => {
                    assert!(wait > now, "asked to come back at once");
                    self.now = wait;
                }
            }
        }
        assert_eq!(self.frontier.frontier.defect(), None);
    }

    fn begin(&mut self, command: Command, now: Time) {
        let (Command::Resolve(host) | Command::ReadRobots(host) | Command::Fetch(host, _)) =
            command;
        let habit = &self.habits[host.index()];
        if !matches!(command, Command::Resolve(_)) {
            let server = &mut self.servers[habit.server as usize];
            for seen in [&mut self.hosts[host.index()], server] {
                assert!(!seen.busy, "two requests at once at {now}");
                assert!(seen.closed_until <= now, "asked too early at {now}");
                seen.busy = true;
            }
        }
        self.serial += 1;
        let end = now + Span::from_micros(habit.took_ms * 1_000);
        self.ends.insert((end, self.serial), (command, now));
    }

    fn end(&mut self, command: Command, at: Time, took: Span) {
        match command {
            Command::Resolve(host) => self.resolve(host, at, took),
            Command::ReadRobots(host) => {
                let habit = &self.habits[host.index()];
                let crawl_delay = Span::SECOND.times(habit.crawl_delay_s);
                let good_until = at + Span::DAY;
                let read = RobotsRead { answer: habit.answer, took, crawl_delay, good_until };
                self.leave(host, at, took);
                self.frontier.tell(Input::Robots { host, read, at });
            }
            Command::Fetch(host, page) => {
                let answer = self.habits[host.index()].answer;
                self.leave(host, at, took);
                self.frontier.tell(Input::Left { host, answer, took, at });
                let (kind, outcome) = (self.frontier.frontier.fetch_kind(page), came(answer));
                let fetched = Fetched { page, at, kind, previous: None, outcome };
                self.frontier.tell(Input::Fetched(fetched));
                // Every page but those whose number can be divided by four.
                let doubt = f64::from(page.0 % 4) / 4.0;
                self.frontier.tell(Input::Doubted(Doubted { page, at, doubt }));
                self.pages += 1;
            }
        }
    }

    fn resolve(&mut self, host: HostId, at: Time, took: Span) {
        let habit = &self.habits[host.index()];
        self.frontier.tell(if habit.has_name {
            let (server, good_until) = (ServerId(habit.server), at + Span::MINUTE);
            Input::Resolved { host, server, good_until, at }
        } else {
            Input::GivenUp { host, answer: Some((Answer::Nothing, took)), at }
        });
    }

    /// The politeness rules, written a second time.
    fn leave(&mut self, host: HostId, now: Time, took: Span) {
        let habit = &self.habits[host.index()];
        let gap = (self.rules.least_gap)
            .max(took.times(self.rules.patience).min(self.rules.most_gap))
            .max(Span::SECOND.times(habit.crawl_delay_s));
        let rest = match habit.answer {
            Answer::Overloaded(Some(asked)) => asked,
            Answer::Usual => Span::ZERO,
            Answer::Overloaded(None) | Answer::Nothing => Span::SECOND.times(30),
        };
        let server = &mut self.servers[habit.server as usize];
        *server = Seen { busy: false, closed_until: now + self.rules.address_gap };
        self.hosts[host.index()] = Seen { busy: false, closed_until: now + gap.max(rest) };
    }
}

fn came(answer: Answer) -> Came {
    match answer {
        Answer::Usual => Came::Content {
            changed: None,
            last_modified: None,
            sketch: Vec::new(),
            links: Vec::new(),
            anchors: Vec::new(),
        },
        _ => Came::Failed(tidewatch_core::Reason::Other),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_host_or_address_is_asked_rudely(
        habits in prop::collection::vec(habit(), 1..12),
        policy in prop::sample::select(vec!["random", "bfs", "uniform", "cgm", "price", "nutch-adaptive"]),
        budget in 0.1f64..100.0,
    ) {
        run(&habits, policy, budget, Span::MINUTE.times(20));
    }

    /// The tape brings every decision back, and another policy's tape is told apart.
    #[test]
    fn a_tape_takes_the_same_decisions_again(
        habits in prop::collection::vec(habit(), 1..8),
        policy in prop::sample::select(vec!["random", "bfs", "uniform", "cgm", "price", "nutch-adaptive"]),
    ) {
        let (_, tape) = record(&habits, policy, 5.0, Span::MINUTE.times(10));
        let mut replayed = frontier(policy, 5.0);
        for input in &tape {
            prop_assert_eq!(replayed.play(input, &mut NoNames), Ok(()));
        }
        let mut other = frontier("random", 4.0);
        let decisions = tape.iter().filter(|i| matches!(i, Input::Asked { decided: Some(_), .. }));
        if decisions.count() > 20 && habits.len() > 2 && policy != "random" {
            let diverged = tape.iter().any(|input| other.play(input, &mut NoNames).is_err());
            prop_assert!(diverged, "another policy would have decided the same");
        }
    }
}

fn quick(server: u32) -> Habit {
    Habit { took_ms: 1, answer: Answer::Usual, server, crawl_delay_s: 0, has_name: true }
}

#[test]
fn the_budget_is_spent_when_hosts_allow_it() {
    let habits: Vec<Habit> = (0..4).map(quick).collect();
    let pages = run(&habits, "uniform", 1.0, Span::MINUTE.times(10));
    assert!((590..=602).contains(&pages), "{pages} pages at 1/s in 600 s");
}

/// Where hosts have no gap and every page comes once, a host gets its next request in the moment of
/// its answer: 3 hosts take as long as 1.
#[test]
fn a_host_without_a_gap_is_asked_again_as_soon_as_it_answers() {
    const PAGES: u32 = 100;
    for hosts in [1, 3] {
        let habits: Vec<Habit> = (0..hosts).map(quick).collect();
        let mut world = world_with(&habits, EAGER, PAGES, "frontier-bfs", 1e6);
        world.frontier.frontier.set_revisit(Revisit::ONCE);
        // A millisecond for each page, the address and robots.txt, and one for the pacing of the budget.
        world.run_until(NOW + Span::from_micros(1_000 * u64::from(PAGES + 3)));
        assert_eq!(world.pages, (hosts * PAGES) as usize, "{hosts} hosts");
    }
}

/// From a budget to ten times as much and back, while new pages come in waves: five minutes after a
/// step every minute has its fetches.
#[test]
fn the_price_follows_a_budget_that_jumps() {
    const WITHIN: f64 = 0.02;
    let habits: Vec<Habit> = (0..400).map(quick).collect();
    let mut world = world(&habits, "price", 5.0);
    let mut page = 0;
    for (step, budget) in [5.0, 50.0, 5.0].into_iter().enumerate() {
        let (budget, at) = (Rate::per_second(budget).expect("a rate"), world.now);
        world.frontier.tell(Input::Budget { budget, at });
        for minute in 0..20_u32 {
            let wave = 1.0 + (f64::from(minute) * std::f64::consts::TAU / 20.0).sin();
            for _ in 0..(100.0 * wave) as u32 {
                page += 1;
                let (host, at) = (HostId(page % 400), world.now);
                let found = Input::Page { host, at, via: None, is_source: false, weight: 1.0 };
                world.frontier.tell(found);
            }
            let before = world.pages;
            let end = NOW + Span::MINUTE.times(20 * step as u64 + u64::from(minute) + 1);
            world.run_until(end);
            let (found, wanted) = ((world.pages - before) as f64, budget.as_per_second() * 60.0);
            let is_near = (found / wanted - 1.0).abs() <= WITHIN;
            assert!(minute < 5 || is_near, "step {step}, minute {minute}: {found} of {wanted}");
        }
    }
}

#[test]
fn politeness_outranks_the_budget() {
    let habits: Vec<Habit> = (0..4).map(quick).collect();
    let pages = run(&habits, "uniform", 1_000.0, Span::MINUTE.times(10));
    // A page a second of each of four hosts, a little less for the looks in between.
    assert!((2_000..=2_400).contains(&pages), "{pages} pages");
}

#[test]
fn hosts_behind_one_address_share_its_patience() {
    let habits: Vec<Habit> = (0..8).map(|_| quick(0)).collect();
    let pages = run(&habits, "uniform", 1_000.0, Span::MINUTE.times(10));
    assert!((900..=1_200).contains(&pages), "{pages} pages at two a second");
}

#[test]
fn a_slow_host_does_not_hold_up_the_others() {
    let mut habits: Vec<Habit> = (0..3).map(quick).collect();
    let alone = run(&habits, "uniform", 1_000.0, Span::MINUTE.times(10));
    habits.push(Habit { took_ms: 60_000, server: 3, ..quick(3) });
    let beside = run(&habits, "uniform", 1_000.0, Span::MINUTE.times(10));
    assert!(beside >= alone, "{beside} pages beside a slow host, {alone} without");
}

#[test]
fn a_name_that_does_not_resolve_frees_its_host_and_its_allowance() {
    let mut frontier = frontier("bfs", 1.0);
    let host = frontier.add_host(HostMemo::default());
    frontier.learn(&Event::Discovered(named(0)));
    assert_eq!(frontier.next(NOW), Next::Do(Command::Resolve(host)));
    frontier.given_up(host, Some((Answer::Nothing, Span::SECOND)), NOW);
    assert_eq!(frontier.activity(), (0, 0));
    assert_eq!(frontier.pacer.next(), NOW);
    assert!(frontier.memo(host).opens > NOW, "it rests before the next try");
}

/// A source, a page that it reveals, a page that this one reveals, and a copy held from the start.
#[test]
fn fetch_kind_follows_from_the_frontiers_inputs() {
    use FetchKind::{Frontier as First, New, Refresh, Source};
    let mut frontier = frontier("price", 1.0);
    frontier.add_host(HostMemo::default());
    let from = |page, via| Discovery { via: Some(PageId(via)), ..named(page) };
    for found in [
        Discovery { is_source: true, ..named(0) },
        from(1, 0),
        from(2, 1),
        Discovery { is_held: true, ..named(3) },
    ] {
        frontier.learn(&Event::Discovered(found));
    }
    let kinds =
        |frontier: &Frontier<'_>| [0, 1, 2, 3].map(|page| frontier.fetch_kind(PageId(page)));
    assert_eq!(kinds(&frontier), [First, New, First, Refresh]);
    let mut tell = |outcome, wanted: [FetchKind; 4]| {
        for page in (0..4).map(PageId) {
            let kind = frontier.fetch_kind(page);
            let seen = Observation { page, at: NOW, kind, previous: None, outcome };
            frontier.learn(&Event::Fetched(seen));
        }
        assert_eq!(kinds(&frontier), wanted, "after {outcome:?}");
        let mut saved = Vec::new();
        assert!(frontier.save(&mut saved).expect("memory takes everything"));
        let policy = (registry::find("price").expect("a policy").make)(Setup::seeded(7));
        let loaded = Frontier::load(policy, &mut &saved[..]).expect("what was just saved");
        assert_eq!(kinds(&loaded), wanted, "saved after {outcome:?}");
    };
    tell(Outcome::Failed(tidewatch_core::Reason::IdleTimeout), [First, New, First, Refresh]);
    tell(Outcome::Fetched(Content::default()), [Source, Refresh, Refresh, Refresh]);
    tell(Outcome::Failed(tidewatch_core::Reason::IdleTimeout), [Source, Refresh, Refresh, Refresh]);
    tell(Outcome::Gone, [First, New, First, First]);
}

/// A crawl is not done because its policy had nothing to choose while every host was closed for its gap.
#[test]
fn a_crawl_is_not_done_while_a_page_waits_for_its_hosts_gap() {
    let mut frontier = frontier("price", 100.0);
    frontier.set_revisit(Revisit::ONCE);
    let host = frontier.add_host(HostMemo::default());
    (0..2).for_each(|page| frontier.learn(&Event::Discovered(named(page))));
    let fetch = |frontier: &mut Frontier<'_>, mut now: Time| loop {
        let took = Span::from_micros(1_000);
        match frontier.next(now) {
            Next::Wait(until) if until < Time::NEVER => now = now.max(until),
            Next::Wait(_) => panic!("it waits for ever"),
            Next::Do(Command::Resolve(host)) => {
                frontier.resolved(host, ServerId(0), Time::NEVER, now);
            }
            Next::Do(Command::ReadRobots(host)) => {
                let (answer, good_until) = (Answer::Usual, Time::NEVER);
                let read = RobotsRead { answer, took, crawl_delay: Span::ZERO, good_until };
                frontier.robots_read(host, &read, now);
            }
            Next::Do(Command::Fetch(host, page)) => {
                frontier.fetched(host, Answer::Usual, took, now);
                let (kind, outcome) = (FetchKind::Frontier, Outcome::Fetched(Content::default()));
                let seen = Observation { page, at: now, kind, previous: None, outcome };
                frontier.learn(&Event::Fetched(seen));
                return now;
            }
        }
    };
    let now = fetch(&mut frontier, NOW);
    assert!(matches!(frontier.next(now), Next::Wait(_)), "the host is closed for its gap");
    let opens = frontier.memo(host).opens;
    for at in [now, opens - Span::from_micros(1), opens, opens + Span::HOUR] {
        assert!(!frontier.is_done(Span::MINUTE, at), "one page is still to come, at {at}");
    }
    let now = fetch(&mut frontier, opens);
    let later = now + Span::HOUR;
    assert!(matches!(frontier.next(later), Next::Wait(_)));
    assert!(frontier.is_done(Span::MINUTE, later), "everything was fetched");
}

/// Chooses the pages of a list, whatever the gates say.
struct Stubborn(Vec<u32>);

impl Policy for Stubborn {
    fn learn(&mut self, _: &Event<'_>) {}

    fn choose(&mut self, _: Time, _: &dyn tidewatch_policy::Gate) -> tidewatch_policy::Choice {
        self.0.pop().map_or(tidewatch_policy::Choice::Idle, |page| {
            tidewatch_policy::Choice::Fetch(PageId(page))
        })
    }
}

#[test]
fn a_policy_that_ignores_gates_is_reported_and_held_back() {
    let budget = Rate::per_second(1_000.0).expect("a rate");
    let stubborn = |pages| Frontier::new(Box::new(Stubborn(pages)), rules(), LIMITS, budget, NOW);
    let mut unknown = stubborn(vec![7]);
    assert!(matches!(unknown.next(NOW), Next::Wait(_)));
    assert_eq!(unknown.defect(), Some(Defect::UnknownPage(PageId(7))));
    let mut busy = stubborn(vec![1, 0]);
    let host = busy.add_host(HostMemo::default());
    for page in [0, 1] {
        busy.learn(&Event::Discovered(named(page)));
    }
    assert_eq!(busy.next(NOW), Next::Do(Command::Resolve(host)));
    assert_eq!(busy.defect(), None);
    let later = NOW + Span::from_micros(1_000);
    assert!(matches!(busy.next(later), Next::Wait(_)), "the host has a job");
    let page = PageId(1);
    assert!(matches!(busy.defect(), Some(Defect::ClosedHost { page: p, .. }) if p == page));
    assert_eq!(busy.activity(), (1, 1));
}
