//! The price policy's long-run behaviour.

use rustc_hash::FxHashMap;
use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen, Observation,
    Outcome, PageId, PageKey, Rate, Reason, Signal, Time,
};
use tidewatch_policy::echo::{Charge, Terms, solve};
use tidewatch_policy::explanation::{Belief, Changes, Due, Explanation, Merit};
use tidewatch_policy::price::news::Parts;
use tidewatch_policy::price::{Price, Settings, Source, Staling, Value};
use tidewatch_policy::{AlwaysOpen, Choice, DemandCurve, Gate, Policy};
use tidewatch_science::allocate::{Objective, Pages, allocate};
use tidewatch_science::law::Poisson;

use super::web::{DAY, HOSTS, Web, host};

/// Without probes, whose visits no optimum has; the log tells of every page.
const PURE: Settings = Settings { probes: 0.0, logs_all: true, ..Settings::DEFAULT };
/// What long-run rates may differ from the optimum by.
const PER_CENT: f64 = 0.01;

/// Weight and changes a day of four kinds of copies.
const COPIES: [(f64, f64); 4] = [(1.0, 1.0), (1.0, 3.0), (4.0, 1.0), (4.0, 0.2)];
const OF_EACH: usize = 150;

/// Fetches a second of each kind of page, on average over so many days after as many without count.
fn long_run(web: &mut Web, price: &mut Price, budget: f64, days: f64, of_each: usize) -> Vec<f64> {
    let pages = web.pages();
    web.begin(&mut [price], budget);
    web.run(&mut [price], budget, days * DAY);
    web.counts(pages);
    web.run(&mut [price], budget, days * DAY);
    let counts = web.counts(pages);
    let of_kind = |counts: &[u64]| counts.iter().sum::<u64>() as f64 / (days * DAY);
    counts.chunks(of_each).map(of_kind).collect()
}

fn assert_close(ours: &[f64], best: &[f64], of_each: usize) {
    for (kind, (ours, best)) in ours.iter().zip(best.chunks(of_each)).enumerate() {
        let best = best.iter().sum::<f64>();
        assert!((ours / best - 1.0).abs() < PER_CENT, "{kind}: {ours} {best}");
    }
}

/// Copies of all kinds, and a policy that knows how they change.
fn copies(web: &mut Web) -> (Vec<f64>, Vec<f64>, Price) {
    let (mut weights, mut rates, mut truth) = (Vec::new(), Vec::new(), FxHashMap::default());
    for (weight, rate) in COPIES.map(|(weight, a_day)| (weight, a_day / DAY)) {
        for _ in 0..OF_EACH {
            let key = web.copy(weight, rate);
            let staling = Staling::Whole(Poisson::new(rate).unwrap().into());
            truth.insert(key, Value::Refresh { weight, size: 1.0, staling });
            weights.push(weight);
            rates.push(rate);
        }
    }
    (weights, rates, Price::knowing(PURE, 1, truth))
}

/// Told how pages change, the scheduler's rates are those of the classic optimum, with weights for
/// what a stale copy costs.
#[test]
fn copies_are_visited_at_the_optimal_rates() {
    let mut web = Web::new(1);
    let (weights, rates, mut price) = copies(&mut web);
    let budget = 1500.0 / DAY;
    let best = allocate(&Pages::new(&weights, &rates), budget, Objective::Freshness, None).unwrap();
    let ours = long_run(&mut web, &mut price, budget, 30.0, OF_EACH);
    assert_close(&ours, &best.rates, OF_EACH);
}

/// Where politeness allows a third of the hosts only half of what they are worth, they get it all, by
/// worth, and the rest of the budget goes elsewhere at one price.
#[test]
fn slow_hosts_have_their_own_price() {
    let mut web = Web::new(1);
    let (weights, rates, mut price) = copies(&mut web);
    let (budget, slow) = (1500.0 / DAY, 20);
    let cap = 0.5 * budget / HOSTS as f64;
    web.slow_down(slow, cap.recip());
    let hosts: Vec<u32> = (0..weights.len()).map(|id| host(id).0).collect();
    let pages = Pages { host: Some(&hosts), ..Pages::new(&weights, &rates) };
    let caps: Vec<f64> = (0..HOSTS).map(|i| if i < slow { cap } else { f64::INFINITY }).collect();
    let best = allocate(&pages, budget, Objective::Freshness, Some(&caps)).unwrap();
    let ours = long_run(&mut web, &mut price, budget, 30.0, 1);
    for is_slow in [true, false] {
        let freshness = |fetches: &[f64]| -> f64 {
            let ids = (0..fetches.len()).filter(|id| (host(*id).index() < slow) == is_slow);
            ids.map(|id| weights[id] * Objective::Freshness.score(rates[id], fetches[id])).sum()
        };
        let (ours, best) = (freshness(&ours), freshness(&best.rates));
        // A page of a slow host waits for one of its few slots, up to a sixth of its interval.
        let least = if is_slow { 1.0 - 2.0 * PER_CENT } else { 1.0 - PER_CENT };
        assert!(ours > least * best, "slow {is_slow}: {ours} {best}");
    }
}

const SOURCES: [Terms; 3] = [
    Terms { profit: 5.0, decay: 1.0 / 40_000.0, arrivals: 1.0 / 3600.0 },
    Terms { profit: 15.0, decay: 1.0 / 80_000.0, arrivals: 1.0 / 7200.0 },
    Terms { profit: 3.0, decay: 1.0 / 20_000.0, arrivals: 1.0 / 1800.0 },
];
const SOURCES_OF_EACH: usize = 60;

/// Told what sources show, they are visited as often as Algorithm 1 says, where all pages are worth
/// their fetch.
#[test]
fn sources_are_visited_at_the_rates_of_algorithm_1() {
    let mut web = Web::new(1);
    let (mut terms, mut truth) = (Vec::new(), FxHashMap::default());
    for of_kind in SOURCES {
        for _ in 0..SOURCES_OF_EACH {
            let Terms { profit, decay, arrivals } = of_kind;
            let source = Source { arrivals, profit, decay, spread: 0.0 };
            truth.insert(web.source(of_kind), Value::Source(source));
            terms.push(of_kind);
        }
    }
    let pages: f64 = terms.iter().map(|terms| terms.arrivals).sum();
    let budget = 3.0 * pages;
    let best = solve(&terms, budget, Charge::VisitsAndPages);
    let best: Vec<f64> = best.intervals.iter().map(|interval| interval.recip()).collect();
    let mut price = Price::knowing(PURE, 1, truth);
    let ours = long_run(&mut web, &mut price, budget, 3.0, SOURCES_OF_EACH);
    assert_close(&ours, &best, SOURCES_OF_EACH);
}

/// On a host that may be asked but seldom, a page is due only if it is worth the price there.
#[test]
fn a_page_below_its_hosts_price_is_not_due() {
    let (mut web, mut truth) = (Web::new(1), FxHashMap::default());
    for of_kind in SOURCES {
        for _ in 0..SOURCES_OF_EACH {
            let Terms { profit, decay, arrivals } = of_kind;
            let source = Source { arrivals, profit, decay, spread: 0.0 };
            truth.insert(web.source(of_kind), Value::Source(source));
        }
    }
    let budget = 1.0 / 20.0;
    web.slow_down(HOSTS / 3, 4.0 * HOSTS as f64 / budget);
    let mut price = Price::knowing(PURE, 1, truth);
    web.begin(&mut [&mut price], budget);
    let mut between = 0;
    for _ in 0..48 {
        web.run(&mut [&mut price], budget, DAY / 24.0);
        let now = web.now();
        for why in (0..web.pages()).filter_map(|page| price.why(PageId(page as u32), now)) {
            let Merit::Clicks { worth: Some(worth), price, host_price } = why.merit else {
                continue;
            };
            if why.kind == Some(FetchKind::New) && worth < host_price {
                between += u32::from(worth >= price);
                assert!(why.due.time().is_none_or(|due| due > now), "{why:?}");
            }
        }
    }
    assert!(between > 0, "no page was worth the price of all and not that of its host");
}

/// What is saved goes on as if nothing had happened.
#[test]
fn a_saved_policy_chooses_as_the_one_that_saved() {
    let mut web = Web::new(2);
    for terms in SOURCES {
        (0..5).for_each(|_| _ = web.source(terms));
    }
    for (weight, rate) in COPIES {
        (0..OF_EACH).for_each(|_| _ = web.copy(weight, rate / DAY));
    }
    let budget = 1000.0 / DAY;
    let mut one = Price::new(Settings { logs_all: true, ..Settings::DEFAULT }, 5);
    web.begin(&mut [&mut one], budget);
    web.run(&mut [&mut one], budget, 3.5 * DAY);
    let mut saved = Vec::new();
    assert!(one.save(&mut saved).unwrap());
    let mut other = Price::new(Settings { logs_all: true, ..Settings::DEFAULT }, 6);
    assert!(!other.load(&mut &saved[..saved.len() / 2]), "half of it makes no sense");
    assert!(!Price::new(PURE, 5).load(&mut &saved[..]), "other settings are another policy");
    assert!(other.load(&mut &saved[..]));
    web.run(&mut [&mut one, &mut other], budget, 3.5 * DAY);
}

fn worth(why: &Explanation) -> f64 {
    let Merit::Clicks { worth: Some(worth), .. } = why.merit else { panic!("{why:?}") };
    worth
}

/// The share of changes that hints announce.
fn recall(why: &Explanation) -> Option<f64> {
    let Belief::Copy { changes: Changes { recall, .. }, .. } = why.belief else {
        panic!("{why:?}")
    };
    recall
}

/// A hint makes a page worth more, on hosts that give any.
#[test]
fn hints_bring_pages_forward() {
    let mut web = Web::new(3);
    (0..2 * HOSTS).for_each(|_| _ = web.copy(1.0, 1.0 / DAY));
    let budget = 40.0 / DAY;
    let mut price = Price::new(PURE, 1);
    web.begin(&mut [&mut price], budget);
    web.run(&mut [&mut price], budget, 30.0 * DAY);
    let now = web.now();
    let [hinted, other] = [PageId(0), PageId(1)];
    let before = price.why(hinted, now).unwrap();
    let kind = "sitemap";
    price.learn(&Event::Hinted(Signal { page: hinted, at: now, kind }));
    let after = price.why(hinted, now).unwrap();
    assert!(worth(&after) > worth(&before), "{after:?} {before:?}");
    assert!(recall(&after).is_some());
    assert!(after.due.time() <= before.due.time(), "{after:?} {before:?}");
    let more = price.what_if(2.0 * budget).unwrap();
    assert!(more.fetches[0].is_finite() && more.freshness.is_some_and(f64::is_finite), "{more:?}");
    assert_eq!(recall(&price.why(other, now).unwrap()), None);
}

/// Relative error of a price read off the summed curves of shards: a quarter of a per cent in demand
/// between two points of a curve, twice that in a price on which demand depends as 1/√ω, and another
/// half a per cent because the whole solves with copies' demand interpolated between seven prices.
const OF_CURVES: f64 = 0.02;

/// Two shards that are one web together: the sum of their demand curves clears at the price that the
/// whole web has, and each shard with its fair budget solves for that price by itself.
#[test]
fn shards_clear_at_the_price_of_the_whole() {
    const BUDGET: f64 = 1500.0 / DAY;
    let solved = |kinds: &[(f64, f64)], budget: f64| {
        let mut web = Web::new(1);
        let mut truth = FxHashMap::default();
        for &(weight, a_day) in kinds {
            for _ in 0..OF_EACH {
                let staling = Staling::Whole(Poisson::new(a_day / DAY).unwrap().into());
                let value = Value::Refresh { weight, size: 1.0, staling };
                truth.insert(web.copy(weight, a_day / DAY), value);
            }
        }
        let settings = Settings { probes: 0.05, ..PURE };
        let mut price = Price::knowing(settings, 1, truth);
        web.begin(&mut [&mut price], budget);
        // The first choice solves the market.
        price.choose(web.now(), &AlwaysOpen);
        (price.price(), price.demand().unwrap())
    };
    let (whole, _) = solved(&COPIES, BUDGET);
    // Whatever budget each shard has had so far.
    let shards = [&COPIES[..1], &COPIES[1..]];
    let curves = shards.map(|kinds| solved(kinds, 0.3 * BUDGET).1);
    let mut sum = curves[0].clone();
    sum.add(&curves[1]);
    let ratio = sum.clearing_price(BUDGET) / whole;
    assert!((ratio - 1.0).abs() < OF_CURVES, "{ratio}");
    let shares = DemandCurve::split(&curves, BUDGET);
    assert!((shares.iter().sum::<f64>() / BUDGET - 1.0).abs() < 1e-6, "{shares:?}");
    for (kinds, share) in shards.iter().zip(shares) {
        let ratio = solved(kinds, share).0 / whole;
        assert!((ratio - 1.0).abs() < OF_CURVES, "{share}: {ratio}");
    }
}

/// A shard that knows only an unvisited source asks for a budget at any price, or it would never start.
#[test]
fn an_unvisited_source_is_wanted_at_any_price() {
    let mut price = Price::new(Settings::DEFAULT, 1);
    discover_as(&mut price, 0, None, true);
    let curve = price.demand().unwrap();
    let hourly = [1e-15, 1.0, 1e15].map(|price| 3600.0 * curve.at(price));
    assert!(hourly.iter().all(|rate| (rate * 0.99 - 1.0).abs() < 1e-9), "{hourly:?}");
}

/// Of a hundred prospects, of which the same is expected, another budget pays for as many as it can, and
/// for its probes.
#[test]
fn another_budget_is_spent_to_the_last_fetch() {
    const WEEK: f64 = 7.0 * DAY;
    let mut price = Price::new(Settings::DEFAULT, 1);
    (0..100).for_each(|page| discover(&mut price, page, Some(Time::ZERO)));
    for weekly in [10.0, 50.0, 99.0] {
        let then = price.what_if(weekly / WEEK).unwrap();
        let [probes, 0.0, 0.0, frontier] = then.fetches.map(|rate| WEEK * rate) else {
            panic!("there is but a frontier: {then:?}")
        };
        assert!((probes - 0.01 * weekly).abs() < 1e-9 && (frontier - 0.99 * weekly).abs() < 1e-6);
        // Each brings what one is worth.
        let clicks = worth(&price.why(PageId(0), Time::ZERO).unwrap());
        assert!((then.profit * WEEK / (clicks * frontier) - 1.0).abs() < 1e-9, "{then:?}");
    }
    // There is no more to spend it on.
    let then = price.what_if(1000.0 / WEEK).unwrap();
    assert!((WEEK * then.fetches[3] - 100.0).abs() < 1e-6, "{then:?}");
}

/// A page that is gone, or fails, is not asked for again each time that a page shows it.
#[test]
fn what_cannot_be_had_is_left_alone() {
    const MOST_TRIES: [(Outcome<'_>, u32); 2] =
        [(Outcome::Gone, 1), (Outcome::Failed(Reason::ServerError), 8)];
    for (outcome, most) in MOST_TRIES {
        let mut price = Price::new(PURE, 1);
        price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
        discover(&mut price, 0, None);
        let mut tries = 0;
        // Every ten minutes another page shows page 0.
        for number in 1..100u32 {
            let now = Time::from_seconds(600.0 * f64::from(number)).unwrap();
            discover(&mut price, number, Some(now));
            while let Choice::Fetch(page) = price.choose(now, &AlwaysOpen) {
                let links = [LinkSeen { page: PageId(0), is_new: false }];
                let content = Content { links: &links, ..Content::default() };
                let shown = page == PageId(0);
                let outcome = if shown { outcome } else { Outcome::Fetched(content) };
                tries += u32::from(shown);
                let (kind, previous) = (FetchKind::Frontier, None);
                price.learn(&Event::Fetched(Observation {
                    page,
                    at: now,
                    kind,
                    previous,
                    outcome,
                }));
                if !shown {
                    break;
                }
            }
        }
        assert!((1..=most).contains(&tries), "{tries} of {most} for {outcome:?}");
    }
}

/// The hours at which a page is asked for that answers so, with one choice an hour for so many days.
/// Other pages stay as they are.
fn asked(
    price: &mut Price,
    page: PageId,
    days: u32,
    answer: impl Fn(Time) -> Outcome<'static>,
) -> Vec<u32> {
    let mut asked = Vec::new();
    for hour in 1..24 * days {
        let now = Time::from_seconds(3600.0 * f64::from(hour)).unwrap();
        let Choice::Fetch(chosen) = price.choose(now, &AlwaysOpen) else { continue };
        asked.extend((chosen == page).then_some(hour));
        let same = Content { changed: Some(false), ..Content::default() };
        let outcome = if chosen == page { answer(now) } else { Outcome::Fetched(same) };
        end(price, chosen, now, outcome);
    }
    asked
}

fn end(price: &mut Price, page: PageId, at: Time, outcome: Outcome<'_>) {
    let (kind, previous) = (FetchKind::Refresh, None);
    price.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
}

/// A seed that cannot be had at first, as where a crawl starts without a network, is had later.
#[test]
fn what_fails_at_first_is_tried_again() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    discover_as(&mut price, 0, None, true);
    let noon = Time::from_seconds(43_200.0).unwrap();
    let back = |now| {
        if now < noon { Outcome::Failed(Reason::Dns) } else { Outcome::Fetched(Content::default()) }
    };
    let hours = asked(&mut price, PageId(0), 3, back);
    // Three at once, then each after ten minutes times another power of two.
    assert!(hours.iter().filter(|hour| **hour < 12).count() <= 6, "{hours:?}");
    assert!(hours.iter().any(|hour| (12..36).contains(hour)), "{hours:?}");
}

/// A page that a source showed has moved: no source shows where to, and it is fetched all the same. Where
/// it was, it is not asked for again.
#[test]
fn where_a_page_moved_to_is_fetched() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    discover_as(&mut price, 0, None, true);
    let now = |second: u32| Time::from_seconds(f64::from(second)).unwrap();
    let mut fetched = Vec::new();
    for second in 1..20 {
        let Choice::Fetch(page) = price.choose(now(second), &AlwaysOpen) else { continue };
        fetched.push(page.0);
        let links = [LinkSeen { page: PageId(1), is_new: fetched.len() == 2 }];
        let content = match (page.0, fetched.len()) {
            (0, 2..) => Content { links: &links, ..Content::default() },
            _ => Content::default(),
        };
        if fetched == [0, 0] {
            discover_via(&mut price, 1, now(second), PageId(0));
        }
        if page == PageId(1) {
            discover_via(&mut price, 2, now(second), PageId(0));
        }
        let outcome = if page.0 == 1 { Outcome::Gone } else { Outcome::Fetched(content) };
        end(&mut price, page, now(second), outcome);
    }
    assert!(fetched.contains(&1) && fetched.contains(&2), "{fetched:?}");
    let why = price.why(PageId(1), now(20)).unwrap();
    assert!(why.is_gone && why.due == Due::Never, "{why:?}");
}

/// What sends on to another page is asked again after one day and after two more, not at once.
#[test]
fn what_sends_on_is_not_asked_at_once_again() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    discover(&mut price, 0, None);
    let hours = asked(&mut price, PageId(0), 5, |_| Outcome::Failed(Reason::Redirect));
    assert_eq!(hours, [1, 25, 73]);
}

/// A page that was there and is gone comes back one day, and is found again; meanwhile it is hardly
/// asked for.
#[test]
fn what_is_gone_is_looked_for_again() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    discover(&mut price, 0, None);
    let (day, month) =
        (Time::from_seconds(86_400.0).unwrap(), Time::from_seconds(30.0 * 86_400.0).unwrap());
    let outage = |now| match now {
        now if now < day || now >= month => Outcome::Fetched(Content::default()),
        _ => Outcome::Gone,
    };
    let hours = asked(&mut price, PageId(0), 90, outage);
    let away = hours.iter().filter(|hour| (24..720).contains(*hour)).count();
    assert!((1..=4).contains(&away), "{hours:?}");
    assert!(hours.iter().filter(|hour| **hour >= 720).count() > 10, "{hours:?}");
}

/// Copies that weigh a million make the price far higher than what a source is believed to bring. It is
/// visited a second time within a week all the same, and not a third time.
#[test]
fn a_source_has_a_first_look_at_any_price() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(0.001).unwrap()));
    discover_as(&mut price, 0, None, true);
    (1..20).for_each(|page| weighing(&mut price, page, 1e6));
    let changed = |_: Time| Outcome::Fetched(Content { changed: Some(true), ..Content::default() });
    let hours = asked(&mut price, PageId(0), 21, changed);
    let days: Vec<u32> = hours.iter().map(|hour| hour / 24).collect();
    assert!(days.len() == 2 && days[0] == 0 && (1..7).contains(&days[1]), "{days:?}");
}

/// A page that fails is not asked for without end because a hint says that it has changed.
#[test]
fn a_hint_does_not_outdo_failures() {
    let mut price = Price::new(PURE, 1);
    price.learn(&Event::Budget(Rate::per_second(0.001).unwrap()));
    for page in 0..20 {
        discover(&mut price, page, None);
    }
    let held = |now: Time| {
        let content = Content { changed: Some(true), ..Content::default() };
        if now < Time::from_seconds(20.0 * 86_400.0).unwrap() {
            Outcome::Fetched(content)
        } else {
            Outcome::Failed(Reason::ServerError)
        }
    };
    asked(&mut price, PageId(0), 20, held);
    let at = Time::from_seconds(20.0 * 86_400.0).unwrap();
    price.learn(&Event::Hinted(Signal { page: PageId(0), at, kind: "sitemap" }));
    let mut tries = 0;
    for step in 0..1000 {
        let now = at + tidewatch_core::Span::SECOND.times(step);
        let Choice::Fetch(page) = price.choose(now, &AlwaysOpen) else { continue };
        tries += u32::from(page == PageId(0));
        let same = Content { changed: Some(false), ..Content::default() };
        let outcome = if page == PageId(0) {
            Outcome::Failed(Reason::ServerError)
        } else {
            Outcome::Fetched(same)
        };
        end(&mut price, page, now, outcome);
    }
    assert!(tries <= 20, "{tries}");
}

fn discover(price: &mut Price, number: u32, at: Option<Time>) {
    discover_as(price, number, at, false);
}

fn discover_as(price: &mut Price, number: u32, at: Option<Time>, is_source: bool) {
    found(price, number, at.unwrap_or(Time::ZERO), None, is_source);
}

fn discover_via(price: &mut Price, number: u32, at: Time, via: PageId) {
    found(price, number, at, Some(via), false);
}

fn found(price: &mut Price, number: u32, at: Time, via: Option<PageId>, is_source: bool) {
    let url = format!("http://a.test/{number}");
    price.learn(&Event::Discovered(Discovery { at, via, is_source, ..known(number, &url) }));
}

fn weighing(price: &mut Price, number: u32, weight: f64) {
    let url = format!("http://a.test/{number}");
    price.learn(&Event::Discovered(Discovery { weight, ..known(number, &url) }));
}

fn known(number: u32, url: &str) -> Discovery<'_> {
    Discovery {
        page: PageId(number),
        host: HostId(0),
        key: PageKey::of(url),
        url,
        at: Time::ZERO,
        via: None,
        is_source: false,
        is_held: false,
        weight: 1.0,
    }
}

/// Two copies, one of which is clicked a hundred times; each links to one page never fetched. Returns what
/// the price thinks of the two pages.
fn prospects_of_a_clicked_and_another_copy(parts: Parts, clicks: f64) -> [f64; 2] {
    let mut price = Price::new(Settings { parts, ..Settings::DEFAULT }, 1);
    price.learn(&Event::Budget(Rate::per_second(0.01).unwrap()));
    let url = |page: u32| format!("http://h.test/{page}");
    let discover = |price: &mut Price, page: u32, via: Option<PageId>| {
        price.learn(&Event::Discovered(Discovery {
            page: PageId(page),
            host: HostId(0),
            key: PageKey::of(&url(page)),
            url: "http://h.test/page",
            at: Time::ZERO,
            via,
            is_source: false,
            is_held: via.is_none(),
            weight: 1.0,
        }));
    };
    (0..2).for_each(|page| discover(&mut price, page, None));
    for page in 0..2 {
        discover(&mut price, 2 + page, Some(PageId(page)));
        let links = [LinkSeen { page: PageId(2 + page), is_new: true }];
        let outcome = Outcome::Fetched(Content { links: &links, ..Content::default() });
        let (at, kind) = (Time::ZERO, FetchKind::Refresh);
        let seen = Observation { page: PageId(page), at, kind, previous: None, outcome };
        price.learn(&Event::Held(seen));
    }
    let day = |days: f64| Time::from_seconds(days * DAY).unwrap();
    price.choose(day(2.0), &Shut);
    let kind = InterestKind::Click;
    let row = Interest { page: PageId(0), at: day(1.0), count: clicks, kind };
    price.learn(&Event::Log(&[row]));
    price.choose(day(2.1), &Shut);
    [2, 3].map(|page| match price.why(PageId(page), day(2.1)).map(|why| why.merit) {
        Some(Merit::Clicks { worth: Some(worth), .. }) => worth,
        other => panic!("{other:?}"),
    })
}

/// Every host is closed.
struct Shut;

impl Gate for Shut {
    fn opens_at(&self, _: HostId) -> Time {
        Time::NEVER
    }
}

/// Clicks that come long after a page was fetched reach the pages that it links to.
#[test]
fn what_clicked_pages_link_to_is_worth_more() {
    let [liked, other] = prospects_of_a_clicked_and_another_copy(Parts::DEFAULT, 100.0);
    assert!(liked > 10.0 * other, "{liked} {other}");
    let without = Parts { links: false, ..Parts::DEFAULT };
    for [liked, other] in [
        prospects_of_a_clicked_and_another_copy(without, 100.0),
        prospects_of_a_clicked_and_another_copy(Parts::DEFAULT, 0.0),
    ] {
        assert!((liked / other - 1.0).abs() < 1e-6, "{liked} {other}");
    }
}
