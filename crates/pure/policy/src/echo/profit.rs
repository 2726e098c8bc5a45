//! Profit and decay of every source, from the clicks on its pages, pooled over its host.
//!
//! For ages in bins of length D (20 minutes, a week of them) the pages of a source give two numbers
//! a bin: n_k, how many were open to clicks throughout it, and c_k, the clicks that came. Pages too
//! young count only in the bins they have lived through, pages fetched late only from then on, in
//! part for the bin in which they were fetched. S_k = Σ_{j≤k} c_j/n_j estimates the mean clicks of a
//! page's first k bins; where every page has lived through every bin it is the paper's s_k/N. The
//! curve is fitted to it ([`curve`](super::curve)).
//!
//! **Pooling.** Clicks are so heavy-tailed that the mean over a source's few hundred pages is mostly
//! luck. So κ pages are added to every source that behave as its host's curve says, and to every host
//! κ' that behave as the average: S_k = Σ (c_j + κ·r_j)/(n_j + κ), r_j the clicks that the other curve
//! expects in bin j. This shrinks profit and decay at once, and fills bins that nobody has reached.
//! κ comes from the data (empirical Bayes): a source's mean is taken to be gamma distributed about
//! its host's, and its clicks Poisson in lumps as large as pages show them ([`Ledger::lumpiness`]).
//! Before the first log every source is as [`Assumed`]; a host without pages has the average of the others.
//!
//! Closed pages count half after [`HALF_LIFE`], so that sources may change.

use serde::{Deserialize, Serialize};
use tidewatch_core::{PageId, Span, Time};

use super::bins::{Bins, EMPTY, Steps};
use super::clicks::{ENOUGH_CLICKS, Ledger};
use super::curve::ProfitCurve;
use tidewatch_science::estimate::{Evidence, fit_shape};

/// Pages are followed until this age; almost all clicks come within it `[LOSS13, §2]`.
pub const HORIZON: Span = Span::WEEK;
/// The assumption about sources without data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumed {
    /// How its pages behave.
    pub curve: ProfitCurve,
    /// The number of pages that the assumption counts as in every average.
    pub pages: f64,
    /// Overdispersion of clicks before any have come.
    pub lump: f64,
}

impl Assumed {
    /// The pessimistic profit of the paper `[LOSS13, §5.3.2]`; how soon its pages are forgotten
    /// matters little, a day is what news take. It only fills empty bins: the first click outweighs it.
    pub const PESSIMISTIC: Assumed = Assumed {
        curve: ProfitCurve { profit: 0.01, decay: 1.0 / 86_400.0 },
        pages: 1e-3,
        lump: 0.0,
    };
    /// A click for each page. Clicked pages have sixteen clicks on average `[LOSS13]`, so this is one
    /// clicked page in sixteen, and counts as sixteen pages.
    pub const A_CLICK: Assumed = Assumed {
        curve: ProfitCurve { profit: 1.0, decay: 1.0 / 86_400.0 },
        pages: ENOUGH_CLICKS,
        lump: ENOUGH_CLICKS,
    };
}
/// Pages that are over count half after this time.
const HALF_LIFE: Span = Span::WEEK.times(4);
/// How long closed pages are kept, so that every source has counted them.
const LEAVE: Span = Span::DAY.times(2);
/// A source is fitted anew when its pages or its time with pages have grown by this share…
const GROWTH: f64 = 0.05;
/// …or after this time.
const LONGEST: Span = Span::DAY;
/// Assumed pages for ages that no page has reached: enough to fill empty bins.
const FILLING: f64 = 1e-3;

/// Whether sources learn from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pooling {
    /// Every source on its own, as in the paper.
    Alone,
    /// Sources are shrunk towards their host, hosts towards the pessimistic default.
    Host,
    /// Sources are shrunk towards their host, hosts towards the average of all.
    All,
}

/// Profit and decay of sources and hosts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Profits {
    pooling: Pooling,
    assumed: Assumed,
    hosts: Vec<Group>,
    sources: Vec<Group>,
    average: ProfitCurve,
    /// All clicks over counted clicks.
    scale: f64,
    /// Strengths of hosts about the average and of sources about their host.
    strengths: [f64; 2],
    strengths_from: Option<Time>,
    faded: Time,
}

/// The pages of a source or a host, and their curve.
#[derive(Debug, Serialize, Deserialize)]
struct Group {
    host: u32,
    /// Pages that are not over.
    pages: Vec<PageId>,
    over: Option<Box<Bins>>,
    /// All pages ever.
    count: u32,
    curve: ProfitCurve,
    /// Clicks seen, and pages' lives seen, at the last fit.
    clicks: f64,
    lives: f64,
    fitted: Option<Fitted>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Fitted {
    first: Time,
    last: Time,
    count: u32,
}

impl Profits {
    /// No sources yet.
    pub fn new(pooling: Pooling, assumed: Assumed) -> Self {
        Profits {
            pooling,
            assumed,
            hosts: Vec::new(),
            sources: Vec::new(),
            average: assumed.curve,
            scale: 1.0,
            strengths: [1.0; 2],
            strengths_from: None,
            faded: Time::ZERO,
        }
    }

    /// Whether sources learn from one another.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Adds the next source, on a host.
    pub fn add_source(&mut self, host: u32) {
        while self.hosts.len() <= host as usize {
            self.hosts.push(Group::new(self.hosts.len() as u32));
        }
        self.sources.push(Group::new(host));
    }

    /// A source shows a new page for the first time; `is_discovery` if that made the page known.
    pub fn add_page(&mut self, source: usize, page: PageId, is_first: bool) {
        let group = &mut self.sources[source];
        group.add(page);
        if is_first && self.pooling != Pooling::Alone {
            self.hosts[group.host as usize].add(page);
        }
    }

    /// Whether a source has shown a page that is not over.
    pub fn has(&self, source: usize, page: PageId) -> bool {
        self.sources[source].pages.contains(&page)
    }

    /// Profit and decay of a source's pages.
    pub fn curve(&self, source: usize) -> ProfitCurve {
        let curve = self.counted_curve(source);
        ProfitCurve { profit: self.scale * curve.profit, ..curve }
    }

    /// The same in counted clicks.
    fn counted_curve(&self, source: usize) -> ProfitCurve {
        let group = &self.sources[source];
        if group.fitted.is_some() {
            return group.curve;
        }
        let host = &self.hosts[group.host as usize];
        match self.pooling {
            Pooling::Alone => self.assumed.curve,
            Pooling::All if host.fitted.is_none() => self.average,
            Pooling::Host | Pooling::All => host.curve,
        }
    }

    /// Updates from the log, which is complete until `now`.
    pub fn refit(&mut self, ledger: &mut Ledger, now: Time) {
        let fade = self.fade(now);
        self.scale = ledger.scale();
        let Assumed { curve: assumed, pages: least, lump } = self.assumed;
        // On their own, sources ask for no host: half of the work.
        if self.pooling != Pooling::Alone {
            self.refit_hosts(ledger, fade, now);
        }
        let lump = ledger.lumpiness(lump);
        let pages = |strength: f64, about: &ProfitCurve| match self.pooling {
            Pooling::Alone => least,
            Pooling::Host | Pooling::All => least.min(FILLING) + strength * lump / about.profit,
        };
        for source in &mut self.sources {
            if source.is_due(now) || fade < 1.0 {
                let Some(bins) = source.gather(ledger, fade) else { continue };
                let about = match self.pooling {
                    Pooling::Alone => assumed,
                    Pooling::Host | Pooling::All => self.hosts[source.host as usize].curve,
                };
                source.fit(&bins, &about, pages(self.strengths[1], &about), now);
            }
        }
        ledger.forget(LEAVE);
    }

    /// Fits the average of all hosts, how alike they are, and every host about the average.
    fn refit_hosts(&mut self, ledger: &Ledger, fade: f32, now: Time) {
        let mut all = EMPTY;
        let of_hosts: Vec<Option<Bins>> = self
            .hosts
            .iter_mut()
            .map(|host| {
                let bins = host.gather(ledger, fade)?;
                all.add(&bins);
                Some(bins)
            })
            .collect();
        let Assumed { curve: assumed, pages: least, lump } = self.assumed;
        self.average = all.fit(&assumed, least, Some(self.average.decay));
        self.learn_strengths(ledger, now);
        let strength = self.strengths[0] * ledger.lumpiness(lump) / self.average.profit;
        let (typical, more) = match self.pooling {
            Pooling::Alone | Pooling::Host => (assumed, 1.0),
            Pooling::All => (self.average, least.min(FILLING) + strength),
        };
        for (host, bins) in self.hosts.iter_mut().zip(&of_hosts) {
            if let Some(bins) = bins {
                host.fit(bins, &typical, more, now);
            }
        }
    }

    /// The factor for pages that are over; less than one once a day.
    fn fade(&mut self, now: Time) -> f32 {
        let passed = now.since(self.faded);
        if passed < LONGEST {
            return 1.0;
        }
        self.faded = now;
        (-passed.seconds() / HALF_LIFE.seconds()).exp2() as f32
    }

    /// Estimates how alike sources of a host are, and hosts. Once a day: it changes slowly.
    fn learn_strengths(&mut self, ledger: &Ledger, now: Time) {
        if self.strengths_from.is_some_and(|from| now.since(from) < LONGEST) {
            return;
        }
        if ledger.clicks() <= 0.0 {
            return;
        }
        self.strengths_from = Some(now);
        let lump = ledger.lumpiness(self.assumed.lump);
        let node = |group: &Group, mean: f64| {
            let (changes, time) = (group.clicks / lump, group.lives / lump);
            (group.lives > 0.0).then_some((Evidence { changes, time }, mean))
        };
        let average = self.average.profit;
        let hosts: Vec<_> = self.hosts.iter().filter_map(|host| node(host, average)).collect();
        let host_mean = |source: &Group| self.hosts[source.host as usize].curve.profit;
        let sources: Vec<_> =
            self.sources.iter().filter_map(|source| node(source, host_mean(source))).collect();
        self.strengths =
            [fit_shape(|| hosts.iter().copied()), fit_shape(|| sources.iter().copied())];
    }
}

impl Group {
    fn new(host: u32) -> Self {
        let (pages, over, count) = (Vec::new(), None, 0);
        Group {
            host,
            pages,
            over,
            count,
            curve: Assumed::PESSIMISTIC.curve,
            clicks: 0.0,
            lives: 0.0,
            fitted: None,
        }
    }

    fn add(&mut self, page: PageId) {
        self.pages.push(page);
        self.count += 1;
    }

    fn is_due(&self, now: Time) -> bool {
        let Some(fitted) = self.fitted else { return self.count > 0 };
        let since = now.since(fitted.last);
        let known = fitted.last.since(fitted.first);
        f64::from(self.count) >= f64::from(fitted.count) * (1.0 + GROWTH)
            || since.seconds() >= GROWTH * known.seconds()
            || since >= LONGEST
    }

    /// n_k and c_k of all pages; those that are over move to the past. `None` without pages.
    fn gather(&mut self, ledger: &Ledger, fade: f32) -> Option<Bins> {
        if let Some(over) = self.over.as_deref_mut().filter(|_| fade < 1.0) {
            over.open.iter_mut().chain(&mut over.clicks).for_each(|x| *x *= fade);
        }
        if self.pages.iter().any(|&page| ledger.is_over(page)) {
            let over = self.over.get_or_insert_with(|| Box::new(EMPTY));
            let mut steps = Steps::new();
            self.pages.retain(|&page| {
                let is_over = ledger.is_over(page);
                if is_over {
                    steps.take(ledger, page);
                }
                !is_over
            });
            steps.add_to(over);
        }
        if self.count == 0 {
            return None;
        }
        let mut bins = self.over.as_deref().cloned().unwrap_or(EMPTY);
        let mut steps = Steps::new();
        self.pages.iter().for_each(|&page| steps.take(ledger, page));
        steps.add_to(&mut bins);
        Some(bins)
    }

    /// Fits the curve with `pages` more pages that follow the curve `about`.
    fn fit(&mut self, bins: &Bins, about: &ProfitCurve, pages: f64, now: Time) {
        self.curve = bins.fit(about, pages, self.fitted.map(|_| self.curve.decay));
        (self.clicks, self.lives) = bins.seen(about);
        if self.lives > 0.0 {
            let first = self.fitted.map_or(now, |fitted| fitted.first);
            self.fitted = Some(Fitted { first, last: now, count: self.count });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_core::{Interest, InterestKind};
    use tidewatch_math::Draws;

    const TRUTH: ProfitCurve = ProfitCurve { profit: 4.0, decay: 1.0 / 40_000.0 };

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds).unwrap()
    }

    /// Pages born one every `gap` seconds, fetched after up to `delay`, clicked by the truth's law.
    fn run(pages: u32, gap: f64, delay: f64, until: f64, pooling: Pooling) -> (Profits, Ledger) {
        let (mut ledger, mut profits) =
            (Ledger::new(HORIZON), Profits::new(pooling, Assumed::PESSIMISTIC));
        profits.add_source(0);
        let mut rows = Vec::new();
        for page in 0..pages {
            let mut draws = Draws::new(3, page.into());
            let born = gap * f64::from(page);
            let opened = born + delay * draws.uniform();
            ledger.expect(PageId(page), at(born));
            ledger.open(PageId(page), at(opened));
            profits.add_page(0, PageId(page), true);
            // Poisson clicks: exponential gaps in the time that the curve measures.
            let mut mass = draws.exponential(1.0);
            while mass < TRUTH.profit {
                let click = born - (1.0 - mass / TRUTH.profit).ln() / TRUTH.decay;
                if click >= opened && click < until {
                    let (page, count, kind) = (PageId(page), 1.0, InterestKind::Click);
                    rows.push(Interest { page, at: at(click), count, kind });
                }
                mass += draws.exponential(1.0);
            }
        }
        ledger.push(&rows, at(until));
        profits.refit(&mut ledger, at(until));
        (profits, ledger)
    }

    /// Three standard errors: 2,000 pages with 4 clicks each are known to 1/√8000, and the curve's
    /// two parameters together cost some of it.
    const NOISE: f64 = 0.06;

    #[test]
    fn young_pages_and_late_fetches_do_not_bias() {
        // The last page is ten minutes old; the average page has seen a third of its life.
        let until = 2000.0 * 30.0 + 600.0;
        for delay in [0.0, 20_000.0] {
            let (profits, _) = run(2000, 30.0, delay, until, Pooling::Alone);
            let found = profits.curve(0);
            assert!((found.profit / TRUTH.profit - 1.0).abs() < 2.0 * NOISE, "{delay}: {found:?}");
            assert!((found.decay / TRUTH.decay - 1.0).abs() < 3.0 * NOISE, "{delay}: {found:?}");
        }
        let (profits, _) = run(2000, 30.0, 0.0, 3.0 * 604_800.0, Pooling::Alone);
        let found = profits.curve(0);
        assert!((found.profit / TRUTH.profit - 1.0).abs() < NOISE, "{found:?}");
    }

    #[test]
    fn pages_that_are_over_count_as_before() {
        let (mut profits, mut ledger) = run(500, 60.0, 0.0, 5.0 * 86_400.0, Pooling::Alone);
        let before = profits.curve(0);
        let later = at(9.0 * 86_400.0);
        ledger.push(&[], later);
        profits.refit(&mut ledger, later);
        assert!(profits.sources[0].pages.is_empty() && profits.sources[0].over.is_some());
        let after = profits.curve(0);
        // Nothing new was learnt but that old pages stayed quiet.
        assert!((after.profit / before.profit - 1.0).abs() < 0.02, "{before:?} {after:?}");
    }

    #[test]
    fn no_clicks_at_all_leave_a_profit_above_zero() {
        let (mut ledger, mut profits) =
            (Ledger::new(HORIZON), Profits::new(Pooling::Host, Assumed::PESSIMISTIC));
        profits.add_source(0);
        profits.add_source(1);
        for page in 0..100 {
            ledger.expect(PageId(page), at(0.0));
            ledger.open(PageId(page), at(10.0));
            profits.add_page(0, PageId(page), true);
        }
        for day in 1..20 {
            let now = at(86_400.0 * f64::from(day));
            ledger.push(&[], now);
            profits.refit(&mut ledger, now);
        }
        let (seen, unseen) = (profits.curve(0), profits.curve(1));
        assert!(seen.profit > 0.0 && seen.profit < Assumed::PESSIMISTIC.curve.profit, "{seen:?}");
        assert_eq!(unseen, Assumed::PESSIMISTIC.curve);
    }

    /// Of ten pages clicked with probability 1/16, none is clicked half of the time, (15/16)¹⁰. That must
    /// not be enough to give a source up: it would never be visited again.
    #[test]
    fn a_few_pages_without_clicks_refute_nothing() {
        let (mut ledger, mut profits) =
            (Ledger::new(HORIZON), Profits::new(Pooling::All, Assumed::A_CLICK));
        for number in 0..10 {
            profits.add_source(number);
            let page = PageId(number);
            ledger.expect(page, at(0.0));
            // Fetched late: of their first hours nothing was seen.
            ledger.open(page, at(30_000.0));
            profits.add_page(number as usize, page, true);
        }
        let now = at(6.9 * 86_400.0);
        ledger.push(&[], now);
        profits.refit(&mut ledger, now);
        let (before, after) = (Assumed::A_CLICK.curve, profits.curve(0));
        assert!(after.profit > 0.5 * before.profit, "{after:?}");
        // Nor do late hours without clicks say that early ones had all of them.
        assert!(after.decay < 2.0 * before.decay, "{after:?}");
    }

    #[test]
    fn few_pages_lean_on_their_host() {
        let (mut ledger, mut profits) =
            (Ledger::new(HORIZON), Profits::new(Pooling::Host, Assumed::PESSIMISTIC));
        profits.add_source(0);
        profits.add_source(0);
        let (mut rows, mut page) = (Vec::new(), 0);
        // 400 pages with a click each, and on the other source two with none.
        for i in 0..402 {
            ledger.expect(PageId(page), at(0.0));
            ledger.open(PageId(page), at(0.0));
            let source = usize::from(i >= 400);
            profits.add_page(source, PageId(page), true);
            if source == 0 {
                let (page, kind) = (PageId(page), InterestKind::Click);
                rows.push(Interest { page, at: at(100.0 * f64::from(i + 1)), count: 1.0, kind });
            }
            page += 1;
        }
        let now = at(6.9 * 86_400.0);
        ledger.push(&rows, now);
        profits.refit(&mut ledger, now);
        let (many, few) = (profits.curve(0), profits.curve(1));
        assert!((many.profit - 1.0).abs() < 0.1, "{many:?}");
        assert!(few.profit > 0.2 && few.profit < many.profit, "{few:?} {many:?}");
    }
}
