//! What is said against pages: (1 − q)·V decides for the price, and nothing changes without doubts.

use std::io;

use tidewatch_core::{
    Content, Discovery, Doubted, Event, FetchKind, HostId, Observation, Outcome, PageId, PageKey,
    Rate, Time,
};
use tidewatch_policy::explanation::Merit;
use tidewatch_policy::price::{Price, Settings};
use tidewatch_policy::{AlwaysOpen, Choice, Gate, Policy, Setup, registry};

use super::streams::{Scale, Stream};

/// Tells another policy the same but for doubts; instead what `says` of a page, after every discovery
/// and fetch of it.
struct Told {
    policy: Box<dyn Policy>,
    says: Option<fn(PageId) -> f64>,
}

impl Policy for Told {
    fn learn(&mut self, event: &Event<'_>) {
        if !matches!(event, Event::Doubted(_)) {
            self.policy.learn(event);
        }
        let (page, at) = match event {
            Event::Discovered(found) => (found.page, found.at),
            Event::Fetched(seen) => (seen.page, seen.at),
            _ => return,
        };
        if let Some(says) = self.says {
            let doubt = says(page);
            self.policy.learn(&Event::Doubted(Doubted { page, at, doubt }));
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.policy.choose(now, gate)
    }

    fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        self.policy.save(to)
    }
}

const SANE: Scale = Scale { magnitude: (-2.0, 2.0), gap: (0.0, 3.5), budget: (-3.5, -1.0) };
const STEPS: u32 = 1500;

fn choices(policy: Box<dyn Policy>, says: Option<fn(PageId) -> f64>, seed: u64) -> Vec<Choice> {
    let (mut policy, mut stream) = (Told { policy, says }, Stream::new(seed, SANE));
    stream.begin(&mut policy);
    (0..STEPS).map(|_| stream.step(&mut policy)).collect()
}

/// A doubt of 0 is as good as none, to the last choice; policies that know no doubts ignore any.
#[test]
fn no_doubt_changes_no_choice() {
    for entry in registry::POLICIES {
        for seed in 1..4 {
            let make = || (entry.make)(Setup::seeded(seed));
            let plain = choices(make(), None, seed);
            let mut probe = make();
            Stream::new(seed, SANE).begin(&mut *probe);
            let weighs = probe.doubt(PageId(0)).is_some();
            let says: fn(PageId) -> f64 =
                if weighs { |_| 0.0 } else { |page| f64::from(page.0 % 7) / 6.0 };
            let told = choices(make(), Some(says), seed);
            assert!(plain == told, "{}, seed {seed}", entry.name);
        }
    }
}

/// The price hears what is said: the choices differ.
#[test]
fn doubts_change_choices_of_the_price() {
    let price = || Box::new(Price::new(Settings::DEFAULT, 1));
    let told = choices(price(), Some(|page| f64::from(page.0 % 7) / 6.0), 1);
    assert!(choices(price(), None, 1) != told);
}

fn prospects(price: &mut Price, count: u32) {
    for number in 0..count {
        let url = format!("http://a.test/{number}");
        price.learn(&Event::Discovered(Discovery {
            page: PageId(number),
            host: HostId(0),
            key: PageKey::of(&url),
            url: &url,
            at: Time::ZERO,
            via: (number > 0).then_some(PageId(0)),
            is_source: false,
            is_held: number == 0,
            weight: 1.0,
        }));
    }
}

fn say(price: &mut Price, page: u32, doubt: f64, at: Time) {
    price.learn(&Event::Doubted(Doubted { page: PageId(page), at, doubt }));
}

fn worth(price: &Price, page: u32, now: Time) -> f64 {
    match price.why(PageId(page), now).unwrap().merit {
        Merit::Clicks { worth: Some(worth), .. } => worth,
        other => panic!("{other:?}"),
    }
}

/// A wrong doubt about a source is found out as one about a page is: its first look comes by lot.
#[test]
fn a_doubted_source_is_probed() {
    let mut price = Price::new(Settings::DEFAULT, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    let pages = 2_000;
    prospects(&mut price, pages);
    let (page, url) = (PageId(pages), "http://a.test/hub");
    price.learn(&Event::Discovered(Discovery {
        page,
        host: HostId(0),
        key: PageKey::of(url),
        url,
        at: Time::ZERO,
        via: None,
        is_source: true,
        is_held: false,
        weight: 1.0,
    }));
    say(&mut price, pages, 1.0, Time::ZERO);
    let chosen = (1..pages).find(|second| {
        let at = Time::from_seconds(f64::from(*second)).unwrap();
        let Choice::Fetch(chosen) = price.choose(at, &AlwaysOpen) else { return false };
        let (kind, previous) = (FetchKind::Frontier, None);
        let outcome = Outcome::Fetched(Content::default());
        price.learn(&Event::Fetched(Observation { page: chosen, at, kind, previous, outcome }));
        chosen == page
    });
    // One choice in a hundred is a blind probe, and the source is the only suspect.
    assert!(chosen.is_some(), "a doubted source was never looked at");
}

/// Rounding of 1 − q, which is kept in single precision.
const ROUNDING: f64 = 1e-6;

#[test]
fn a_doubted_page_is_worth_less_in_proportion() {
    let mut price = Price::new(Settings::DEFAULT, 1);
    prospects(&mut price, 3);
    let before = worth(&price, 1, Time::ZERO);
    for doubt in [0.25, 0.9, 1.0, 0.0] {
        say(&mut price, 1, doubt, Time::ZERO);
        let ratio = worth(&price, 1, Time::ZERO) / before;
        assert!((ratio - (1.0 - doubt)).abs() < ROUNDING, "{doubt}: {ratio}");
        let why = price.why(PageId(1), Time::ZERO).unwrap();
        assert!((why.doubt - doubt).abs() < ROUNDING, "{why:?}");
    }
    assert!((worth(&price, 2, Time::ZERO) / before - 1.0).abs() < ROUNDING);
    // A copy as well: its reader finds the same elsewhere.
    let (now, later) = (Time::ZERO, Time::from_seconds(86_400.0).unwrap());
    let (kind, previous) = (FetchKind::Frontier, None);
    let outcome = Outcome::Fetched(Content::default());
    price.learn(&Event::Fetched(Observation { page: PageId(2), at: now, kind, previous, outcome }));
    let held = worth(&price, 2, later);
    say(&mut price, 2, 0.75, now);
    let ratio = worth(&price, 2, later) / held;
    assert!((ratio - 0.25).abs() < ROUNDING, "{ratio}");
}

/// Fetches of all `budget` choices, one a second, that go to the doubted half of the prospects: those
/// with odd numbers.
fn fetches_of_doubted(settings: Settings, doubt: f64, budget: u32) -> u32 {
    let mut price = Price::new(settings, 1);
    price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
    prospects(&mut price, 20 * budget);
    (1..20 * budget).step_by(2).for_each(|page| say(&mut price, page, doubt, Time::ZERO));
    let mut doubted = 0;
    for second in 1..=budget {
        let at = Time::from_seconds(f64::from(second)).unwrap();
        let Choice::Fetch(page) = price.choose(at, &AlwaysOpen) else { panic!("nothing at {at}") };
        doubted += page.0 % 2;
        let (kind, previous) = (FetchKind::Frontier, None);
        let outcome = Outcome::Fetched(Content::default());
        price.learn(&Event::Fetched(Observation { page, at, kind, previous, outcome }));
    }
    doubted
}

/// What is doubted waits while there is better, but for the blind probes: one choice in a hundred.
#[test]
fn blind_probes_alone_fetch_what_is_doubted() {
    const CHOICES: u32 = 4000;
    /// Four standard deviations of a binomial number with mean 40.
    const CHANCE: f64 = 4.0 * 6.3;
    let probed = f64::from(fetches_of_doubted(Settings::DEFAULT, 0.9, CHOICES));
    assert!((probed - 0.01 * f64::from(CHOICES)).abs() < CHANCE, "{probed}");
    let blind_off = Settings { probes: 0.0, ..Settings::DEFAULT };
    assert_eq!(fetches_of_doubted(blind_off, 0.9, CHOICES), 0);
}
