//! Clicks on new pages so far, each click counted once.
//!
//! The life of a page here: *expected* when a source reveals it, with a guess of when it was born;
//! *open* from its first fetch, since nobody clicks what the engine does not show; clicked, as the
//! log comes in; *closed* when it is older than the horizon, after which its rows are dropped.
//!
//! **A faulty log.** A row is identified by page and time. Repeating it changes nothing, and of two
//! counts for one page and time the larger stands, so that logs may repeat, overlap or come out of order. A click before the page was found
//! or fetched proves that it was there and could be clicked: birth and opening move back to it. A
//! click from the future waits until its time has come. A clock that jumps ahead closes pages early;
//! what is clicked on them later is not counted, and nothing else is lost.
//!
//! **Popular pages.** The most popular hundredth of the clicked pages has more than half of all clicks
//! (`[GLO17]`), so a mean is decided by whether a source happened to have one of them. A page
//! therefore counts for no more than the average clicked page, each of its clicks for a part; what that
//! takes away is given back to all alike ([`Ledger::scale`]).

use serde::{Deserialize, Serialize};
use tidewatch_core::{Interest, InterestKind, PageId, Span, Time};

/// Lower bound of the clicks that one page may count for: about what the average clicked page has in
/// `[LOSS13]` (0.72 clicks a second on 0.23 new pages a second, of which a fifth is clicked).
pub(super) const ENOUGH_CLICKS: f64 = 16.0;
/// The limit follows the average in steps of this share, because each step recomputes all sums.
const STEP: f64 = 0.1;

/// Clicks on all new pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ledger {
    lives: Vec<Life>,
    /// Until when the log has been read.
    read_until: Time,
    horizon: Span,
    /// Σ clicks over pages, and pages with any.
    clicks: f64,
    clicked: u64,
    /// Clicks that one page counts for at most.
    most: f64,
    /// Σ clicks and Σ clicks² with at most that many each.
    counted: f64,
    squares: f64,
}

/// One page.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Life {
    /// [`Time::NEVER`] for pages that are not followed.
    born: Time,
    open: Time,
    /// By time, one row a time.
    rows: Vec<(Time, f32)>,
    clicks: f32,
}

const UNFOLLOWED: Life =
    Life { born: Time::NEVER, open: Time::NEVER, rows: Vec::new(), clicks: 0.0 };

/// What a page has shown of its curve so far.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// When it was born, as far as is known.
    pub born: Time,
    /// Age at which it could first be clicked.
    pub open: Span,
    /// Age until which the log is complete, the horizon at most.
    pub lived: Span,
    /// Whether that is the horizon.
    pub is_over: bool,
    rows: &'a [(Time, f32)],
    /// What each of its clicks counts.
    part: f64,
}

impl Shown<'_> {
    /// Ages and counts of its clicks between opening and `lived`, as far as they count.
    pub fn clicks(&self) -> impl Iterator<Item = (Span, f64)> {
        let rows = self.rows.iter();
        let rows = rows.map(|&(at, count)| (at.since(self.born), self.part * f64::from(count)));
        rows.filter(|(age, _)| *age >= self.open && *age < self.lived)
    }
}

impl Ledger {
    /// An empty ledger that follows every page until age `horizon`.
    pub fn new(horizon: Span) -> Self {
        let (lives, read_until) = (Vec::new(), Time::ZERO);
        let (clicks, clicked, counted, squares) = (0.0, 0, 0.0, 0.0);
        let most = ENOUGH_CLICKS;
        Ledger { lives, read_until, horizon, clicks, clicked, most, counted, squares }
    }

    /// Follows a new page, born about then. Only the first call for a page counts.
    pub fn expect(&mut self, page: PageId, born: Time) {
        if self.lives.len() <= page.index() {
            self.lives.resize(page.index() + 1, UNFOLLOWED);
        }
        let life = &mut self.lives[page.index()];
        life.born = life.born.min(born);
    }

    /// Whether a page is followed.
    pub fn follows(&self, page: PageId) -> bool {
        self.lives.get(page.index()).is_some_and(|life| life.born != Time::NEVER)
    }

    /// A page was fetched: it can be clicked from now on.
    pub fn open(&mut self, page: PageId, at: Time) {
        if let Some(life) = self.lives.get_mut(page.index()) {
            life.open = life.open.min(at);
        }
    }

    /// Takes in a part of the log that is complete until `now`.
    pub fn push(&mut self, rows: &[Interest], now: Time) {
        self.read_until = now;
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            // Not for NaN either.
            if row.count > 0.0 && row.count.is_finite() && self.follows(row.page) {
                self.note(row);
            }
        }
        let average = self.clicks / self.clicked.max(1) as f64;
        let steps = ((average / ENOUGH_CLICKS).ln() / STEP.ln_1p()).ceil().max(0.0);
        let most = ENOUGH_CLICKS * (1.0 + STEP).powf(steps);
        if most.to_bits() != self.most.to_bits() {
            self.limit_to(most);
        }
    }

    /// Recounts all pages with another limit of clicks per page.
    fn limit_to(&mut self, most: f64) {
        self.most = most;
        let counted = self.lives.iter().map(|life| f64::from(life.clicks).min(most));
        (self.counted, self.squares) =
            counted.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    }

    fn note(&mut self, row: &Interest) {
        let life = &mut self.lives[row.page.index()];
        life.born = life.born.min(row.at);
        life.open = life.open.min(row.at);
        let count = row.count as f32;
        let more = match life.rows.binary_search_by_key(&row.at, |known| known.0) {
            Ok(at) => {
                let more = (count - life.rows[at].1).max(0.0);
                life.rows[at].1 += more;
                more
            }
            Err(at) => {
                life.rows.insert(at, (row.at, count));
                count
            }
        };
        self.clicks += f64::from(more);
        self.clicked += u64::from(life.clicks <= 0.0 && more > 0.0);
        let capped = |clicks: f32| f64::from(clicks).min(self.most);
        let (before, after) = (capped(life.clicks), capped(life.clicks + more));
        life.clicks += more;
        self.counted += after - before;
        self.squares += after * after - before * before;
    }

    /// The clicks of a page; `None` if it is not followed or could never be clicked.
    pub fn shown(&self, page: PageId) -> Option<Shown<'_>> {
        let life = self.lives.get(page.index())?;
        if life.open == Time::NEVER || life.born == Time::NEVER {
            return None;
        }
        let age = self.read_until.since(life.born);
        Some(Shown {
            born: life.born,
            open: life.open.since(life.born),
            lived: age.min(self.horizon),
            is_over: age >= self.horizon,
            rows: &life.rows,
            part: (self.most / f64::from(life.clicks)).min(1.0),
        })
    }

    /// Whether no more clicks of a page will count: it is older than the horizon, or not followed.
    pub fn is_over(&self, page: PageId) -> bool {
        let life = self.lives.get(page.index());
        life.is_none_or(|life| {
            life.born == Time::NEVER || self.read_until.since(life.born) >= self.horizon
        })
    }

    /// Drops the rows of pages that have been closed for `spare` or longer.
    pub fn forget(&mut self, spare: Span) {
        let keep = self.horizon + spare;
        for life in &mut self.lives {
            if !life.rows.is_empty() && self.read_until.since(life.born) >= keep {
                life.rows = Vec::new();
                // A repeated row would count again; the page is no longer followed.
                (life.born, life.open) = (Time::NEVER, Time::NEVER);
            }
        }
    }

    /// Clicks so far.
    pub fn clicks(&self) -> f64 {
        self.clicks
    }

    /// All clicks over those that count.
    pub fn scale(&self) -> f64 {
        if self.counted > 0.0 { self.clicks / self.counted } else { 1.0 }
    }

    /// Overdispersion of clicks among pages: Σx²/Σx over pages with x counted clicks, with one page of
    /// `usual` clicks added in case there are none yet.
    pub fn lumpiness(&self, usual: f64) -> f64 {
        let (squares, clicks) = (self.squares + usual * usual, self.counted + usual);
        if clicks > 0.0 { (squares / clicks).max(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::SECOND.times(seconds)
    }

    fn click(page: u32, seconds: u64, count: f64) -> Interest {
        Interest { page: PageId(page), at: at(seconds), count, kind: InterestKind::Click }
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(Span::WEEK);
        for page in 0..4 {
            ledger.expect(PageId(page), at(100));
            ledger.open(PageId(page), at(200));
        }
        ledger
    }

    fn ages(ledger: &Ledger, page: u32) -> Vec<(u64, u64)> {
        let shown = ledger.shown(PageId(page)).unwrap();
        shown.clicks().map(|(age, count)| (age.as_micros() / 1_000_000, count as u64)).collect()
    }

    proptest! {
        /// In any order, in any parts, any part any number of times: the same ledger.
        #[test]
        fn pushes_may_come_twice_and_out_of_order(
            rows in prop::collection::btree_map((0..4_u32, 200..5000_u64), 1..9_u8, 0..40),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
        ) {
            let rows: Vec<Interest> =
                rows.into_iter().map(|((page, s), n)| click(page, s, n.into())).collect();
            let mut clean = ledger();
            clean.push(&rows, at(9000));
            let mut messy = ledger();
            for index in order.iter().filter(|_| !rows.is_empty()) {
                let from = index.index(rows.len());
                messy.push(&rows[from..], at(9000));
            }
            messy.push(&rows, at(9000));
            for page in 0..4 {
                prop_assert_eq!(ages(&clean, page), ages(&messy, page));
            }
            prop_assert_eq!(clean.clicks().to_bits(), messy.clicks().to_bits());
        }
    }

    #[test]
    fn clicks_before_discovery_move_the_birth() {
        let mut ledger = ledger();
        ledger.push(&[click(0, 50, 2.0), click(0, 300, 1.0)], at(1000));
        assert_eq!(ages(&ledger, 0), [(0, 2), (250, 1)]);
        assert_eq!(ledger.shown(PageId(0)).unwrap().lived, Span::SECOND.times(950));
    }

    #[test]
    fn clicks_of_the_future_wait() {
        let mut ledger = ledger();
        ledger.push(&[click(1, 5000, 3.0)], at(1000));
        assert_eq!(ages(&ledger, 1), []);
        ledger.push(&[], at(6000));
        assert_eq!(ages(&ledger, 1), [(4900, 3)]);
        // The clock goes back, and forth again: nothing is lost, nothing counted twice.
        ledger.push(&[click(1, 5000, 3.0)], at(10));
        assert_eq!(ages(&ledger, 1), []);
        ledger.push(&[], at(6000));
        assert_eq!(ages(&ledger, 1), [(4900, 3)]);
        assert!((ledger.clicks() - 3.0).abs() < f64::EPSILON);
    }

    #[test]
    fn nonsense_and_strangers_are_passed_over() {
        let mut ledger = ledger();
        let view = Interest { kind: InterestKind::View, ..click(0, 300, 1.0) };
        let rows =
            [click(0, 300, f64::NAN), click(0, 300, -1.0), click(0, 300, f64::INFINITY), view];
        ledger.push(&rows, at(1000));
        ledger.push(&[click(77, 300, 1.0)], at(1000));
        assert_eq!(ages(&ledger, 0), []);
        assert!(ledger.clicks().abs() < f64::EPSILON && ledger.shown(PageId(77)).is_none());
    }

    #[test]
    fn one_popular_page_does_not_decide() {
        let mut ledger = ledger();
        let others = (1..4).map(|page| click(page, 300, 4.0));
        let rows: Vec<_> =
            [click(0, 300, 10.0), click(0, 400, 30.0)].into_iter().chain(others).collect();
        ledger.push(&rows, at(1000));
        // Sixteen of forty count, early and late alike.
        assert_eq!(ages(&ledger, 0), [(200, 4), (300, 12)]);
        assert!((ledger.scale() - 52.0 / 28.0).abs() < 1e-12, "{}", ledger.scale());
        assert!((ledger.lumpiness(0.0) - (256.0 + 48.0) / 28.0).abs() < 1e-12);
        assert!((ledger.lumpiness(4.0) - (256.0 + 64.0) / 32.0).abs() < 1e-12);
    }

    #[test]
    fn where_all_are_popular_all_count() {
        let mut ledger = ledger();
        let rows: Vec<_> = (0..4).map(|page| click(page, 300, 1000.0)).collect();
        ledger.push(&rows, at(1000));
        assert_eq!(ages(&ledger, 2), [(200, 1000)]);
        assert!((ledger.scale() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ended_clicks_are_forgotten_once() {
        let mut ledger = ledger();
        let week = Span::WEEK.as_micros() / 1_000_000;
        ledger.push(&[click(0, 300, 1.0)], at(week + 200));
        assert!(ledger.shown(PageId(0)).unwrap().is_over && ledger.is_over(PageId(0)));
        ledger.forget(Span::DAY);
        assert_eq!(ages(&ledger, 0), [(200, 1)]);
        ledger.push(&[], at(2 * week));
        ledger.forget(Span::DAY);
        assert!(!ledger.follows(PageId(0)));
        ledger.push(&[click(0, 300, 1.0)], at(2 * week));
        assert!((ledger.clicks() - 1.0).abs() < f64::EPSILON);
    }
}
