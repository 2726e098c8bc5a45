//! What the price does where there is little to go by, as docs/price.md tells operators.

use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, Observation, Outcome,
    PageId, PageKey, Rate, Time,
};
use tidewatch_math::Draws;
use tidewatch_policy::price::{Price, Settings};
use tidewatch_policy::{AlwaysOpen, Choice, Gate, Policy};

/// Days that a crawl lasts, and pages that it holds from the beginning.
const DAYS: u32 = 60;
const PAGES: usize = 20;
/// Choices an hour.
const HOURLY: u32 = 2;

/// Copies of these weights that all change once a day; nothing is linked.
struct Crawl {
    price: Price,
    draws: Draws,
    fetches: Vec<u32>,
    idle: u32,
    last: Vec<Time>,
    ln_prices: Vec<f64>,
    /// Choices an hour.
    hourly: u32,
}

impl Crawl {
    fn of(weights: &[f64], settings: Settings) -> Self {
        Self::at(HOURLY, weights, settings)
    }

    fn at(hourly: u32, weights: &[f64], settings: Settings) -> Self {
        let mut price = Price::new(settings, 1);
        price.learn(&Event::Budget(budget(hourly)));
        for (number, &weight) in (0..).zip(weights) {
            let url = format!("http://h{}.test/{number}", number % 5);
            price.learn(&Event::Discovered(Discovery {
                page: PageId(number),
                host: HostId(number % 5),
                key: PageKey::of(&url),
                url: &url,
                at: Time::ZERO,
                via: None,
                is_source: false,
                is_held: true,
                weight,
            }));
            price.learn(&Event::Held(seen(PageId(number), Time::ZERO, None)));
        }
        let (pages, draws) = (weights.len(), Draws::of(1, "price.odd", 0));
        Crawl {
            price,
            draws,
            fetches: vec![0; pages],
            idle: 0,
            last: vec![Time::ZERO; pages],
            ln_prices: Vec::new(),
            hourly,
        }
    }

    /// Goes on for some days, with a log every hour if `log` makes one.
    fn run(
        &mut self,
        days: std::ops::Range<u32>,
        gate: &dyn Gate,
        log: impl Fn(Time) -> Vec<Interest>,
    ) {
        let hourly = self.hourly;
        for step in 24 * hourly * days.start..24 * hourly * days.end {
            let now = Time::from_seconds(f64::from(step + 1) * 3600.0 / f64::from(hourly)).unwrap();
            let rows = log(now);
            if !rows.is_empty() && step % hourly == 0 {
                self.price.learn(&Event::Log(&rows));
            }
            match self.price.choose(now, gate) {
                Choice::Fetch(page) => {
                    let gap = now.since(self.last[page.index()]).seconds();
                    let changed = self.draws.chance(-(-gap / 86_400.0).exp_m1());
                    self.last[page.index()] = now;
                    self.fetches[page.index()] += 1;
                    self.price.learn(&Event::Fetched(seen(page, now, Some(changed))));
                }
                Choice::Idle => self.idle += 1,
            }
            self.ln_prices.push(self.price.price().ln());
            assert!(self.price.price().is_finite(), "the price is {}", self.price.price());
        }
    }
}

fn budget(hourly: u32) -> Rate {
    Rate::per_second(f64::from(hourly) / 3600.0).unwrap()
}

fn seen(page: PageId, at: Time, changed: Option<bool>) -> Observation<'static> {
    let outcome = Outcome::Fetched(Content { changed, ..Content::default() });
    Observation { page, at, kind: FetchKind::Refresh, previous: None, outcome }
}

fn no_log(_: Time) -> Vec<Interest> {
    Vec::new()
}

/// Nobody keeps a log and nothing is linked: the weights that pages came with decide.
#[test]
fn without_clicks_and_links_weights_decide() {
    let weights: Vec<f64> =
        (0..PAGES).map(|page| if page < PAGES / 2 { 8.0 } else { 1.0 }).collect();
    let mut crawl = Crawl::of(&weights, Settings::DEFAULT);
    crawl.run(0..DAYS, &AlwaysOpen, no_log);
    let (heavy, light) = crawl.fetches.split_at(PAGES / 2);
    let [heavy, light] = [heavy, light].map(|fetches| fetches.iter().sum::<u32>());
    assert!(heavy > 3 * light / 2 && light > 0, "{heavy} {light}");
    assert_eq!(crawl.idle, 0);
}

/// Where weights are equal and pages change alike, all pages are fetched about equally often.
#[test]
fn equal_weights_are_served_alike() {
    // 144 visits of a page see 49 changes, so its rate is known to 14%, and visits go as its root:
    // 7%, of which four are allowed.
    const ERROR: f64 = 4.0 * 0.07;
    let mut crawl = Crawl::of(&[1.0; PAGES], Settings::DEFAULT);
    crawl.run(0..DAYS, &AlwaysOpen, no_log);
    let mean = f64::from(24 * HOURLY * DAYS) / PAGES as f64;
    let is_near = |fetches: &u32| (f64::from(*fetches) / mean - 1.0).abs() < ERROR;
    assert!(crawl.fetches.iter().all(is_near), "{mean}: {:?}", crawl.fetches);
}

/// What weighs nothing is not refreshed, even if that leaves allowances unused; probes look all the
/// same, one choice in a hundred.
#[test]
fn weights_of_zero_ask_for_nothing() {
    let mut crawl = Crawl::of(&[0.0; PAGES], Settings::DEFAULT);
    crawl.run(0..DAYS, &AlwaysOpen, no_log);
    let choices = f64::from(24 * HOURLY * DAYS);
    let fetched = f64::from(crawl.fetches.iter().sum::<u32>());
    // Four standard deviations of as many draws.
    let most = 0.01 * choices + 4.0 * (0.01 * choices).sqrt();
    assert!(fetched > 0.0 && fetched < most, "{fetched} of {choices}");
}

/// Every host is closed until then.
struct Closed(Time);

impl Gate for Closed {
    fn opens_at(&self, _: HostId) -> Time {
        self.0
    }
}

/// While every host is closed nothing is asked; when they open the budget is spent again at once.
#[test]
fn hosts_that_are_closed_are_waited_for() {
    let mut crawl = Crawl::of(&[1.0; PAGES], Settings::DEFAULT);
    let closed = Closed(Time::from_seconds(20.0 * 86_400.0).unwrap());
    crawl.run(0..30, &closed, no_log);
    // The last choice of the twentieth day comes just as they open.
    assert_eq!(crawl.idle, 20 * 24 * HOURLY - 1);
}

/// Clicks on pages that nobody knows, and clicks that are no numbers, change no decision.
#[test]
fn clicks_on_the_unknown_change_nothing() {
    let strange = |at: Time| {
        let row =
            |page, count| Interest { page: PageId(page), at, count, kind: InterestKind::Click };
        vec![row(99, 1000.0), row(u32::MAX, 1.0), row(0, f64::NAN), row(1, -5.0)]
    };
    let fetches = |log: &dyn Fn(Time) -> Vec<Interest>| {
        let mut crawl = Crawl::of(&[1.0; PAGES], Settings::DEFAULT);
        crawl.run(0..DAYS, &AlwaysOpen, log);
        crawl.fetches
    };
    // A log without a row is a log too: it tells that nothing was clicked.
    let quiet = |at: Time| {
        let view = Interest { page: PageId(99), at, count: 1.0, kind: InterestKind::View };
        vec![view]
    };
    assert_eq!(fetches(&strange), fetches(&quiet));
}

/// Without a budget nothing is worth its price; with one again, the mean price is that of a crawl which
/// paused for as long and kept its budget.
///
/// The controller does not see everything: a page that waits for less than five allowances is in time,
/// so the price may stand anywhere between U(I) and U(I − 5 allowances), U ~ I². With 20 pages,
/// I = 20 allowances, that is a factor of 1.8; with 400 pages 2.5%.
#[test]
fn a_budget_of_zero_has_the_highest_price() {
    for pages in [20, 400] {
        let hourly = pages / 10;
        let unseen = -2.0 * (-5.0 / f64::from(pages)).ln_1p();
        // A page's rate is known to 14%, and U goes with it; four standard errors of the mean, twice.
        let learnt = 4.0 * std::f64::consts::SQRT_2 * 0.14 / f64::from(pages).sqrt();
        let price = |is_cut: bool| {
            let weights = vec![1.0; pages as usize];
            let mut crawl =
                Crawl::at(hourly, &weights, Settings { probes: 0.0, ..Settings::DEFAULT });
            crawl.run(0..10, &AlwaysOpen, no_log);
            if is_cut {
                let before = crawl.price.price();
                crawl.price.learn(&Event::Budget(Rate::ZERO));
                let later = Time::from_seconds(10.01 * 86_400.0).unwrap();
                crawl.price.choose(later, &Closed(Time::NEVER));
                assert!(crawl.price.price() > 1e6 * before);
                crawl.price.learn(&Event::Budget(budget(hourly)));
            }
            crawl.run(11..40, &AlwaysOpen, no_log);
            let last = &crawl.ln_prices[crawl.ln_prices.len() - (20 * 24 * hourly) as usize..];
            last.iter().sum::<f64>() / last.len() as f64
        };
        let apart = price(true) - price(false);
        assert!(apart.abs() < unseen + learnt, "{pages} pages: {apart} {unseen} {learnt}");
    }
}
