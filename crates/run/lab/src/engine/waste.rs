//! How well waste was told from what is worth fetching, judged by the trace's table `truth`.
//!
//! A fetch is *wasted* if it brings nothing of its own: the page's class says so, or another page with the
//! same content was fetched before. A page is *met* when a link leads to it; it is *merged* if the crawl
//! takes it for a page that it knows, so that it is never fetched. Content is *lost* if a page was merged with one
//! that shows other content, and no page with that content became known.
//!
//! The address of a page that is no other address of anything known is a page of its own, whatever the trace
//! calls it: who meets a renamed page first under its new title has nothing to recognise. So classes count
//! only pages of which another address was known when a link first led to them.

use rustc_hash::FxHashSet;
use tidewatch_core::Time;
use tidewatch_math::sum::Sum;
use tidewatch_trace::TruthClass;

use super::mirrors::Mirrors;
use crate::world::World;

/// Number of classes.
const CLASSES: usize = TruthClass::ALL.len();
/// Upper ends of the bins of doubt.
pub const DOUBT_BINS: [f64; 10] = [0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0];
/// From this doubt on a page counts as left aside.
const LEFT: f64 = 0.5;

/// Pages or fetches by class, in the order of [`TruthClass::ALL`].
pub type ByClass = [u64; CLASSES];

/// Pages whose doubts were nearly the same when they became known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubtBin {
    /// Pages.
    pub pages: u64,
    /// Their mean doubt.
    pub doubt: f64,
    /// Share of them that had nothing of their own.
    pub waste: f64,
    /// Those that had nothing of their own, by class.
    pub classes: ByClass,
    /// Clicks that the policy expected, had it not known of the doubt, of those that were fetched.
    pub expected: f64,
    /// Clicks that came.
    pub came: f64,
}

/// What was recognised and what was missed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waste {
    /// Fetches in the window that brought nothing of their own, by the class of the page. Class `own`:
    /// pages of which a repeat had been fetched before.
    pub fetches: ByClass,
    /// Pages that a link led to.
    pub met: ByClass,
    /// Of these: met after the first right merge on their host.
    pub late: ByClass,
    /// Of those met late: merged or left, and not fetched.
    pub late_recognised: ByClass,
    /// Of those met: fetched.
    pub fetched: ByClass,
    /// Of these: taken for a known page with the same content, and not fetched.
    pub merged: ByClass,
    /// Of these: neither, and in doubt by at least one half at the end. Class `own`: good pages left aside.
    pub left: ByClass,
    /// Clicks that those of class `own` would have got from when a link first led to them.
    pub left_clicks: f64,
    /// Contents lost because a page was merged with another one.
    pub lost: u64,
    /// Clicks on them.
    pub lost_clicks: f64,
    /// For every host on which a page was rightly merged: fetches from it before the first.
    pub before_first_merge: Vec<u64>,
    /// Doubts when a link first led to a page, by size.
    pub bins: Vec<DoubtBin>,
    /// The same of the doubts by which the price decided last: when a page was first fetched, or at the end.
    /// Merged pages do not count.
    pub decided: Vec<DoubtBin>,
    /// Mirrors recognised.
    pub mirrors: Mirrors,
}

impl Waste {
    /// The sum over some classes.
    pub fn sum(counts: &ByClass, classes: &[TruthClass]) -> u64 {
        classes.iter().map(|&class| counts[class as usize]).sum()
    }

    /// All wasted fetches in the window.
    pub fn wasted(&self) -> u64 {
        self.fetches.iter().sum()
    }
}

/// What happened to a page.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each happens or not, whatever the others do")]
struct Fate {
    is_met: bool,
    is_known: bool,
    is_fetched: bool,
    is_merged: bool,
    is_lost: bool,
    /// Whether it had nothing of its own when a link first led to it.
    is_waste: bool,
    /// Whether a page of its host had been rightly merged by then.
    is_late: bool,
    doubt: f64,
    /// The doubt when it was first fetched, and whether that fetch was wasted.
    doubt_then: f64,
    was_wasted: bool,
    /// When a link first led to it.
    at: Time,
}

/// Sums of pages whose doubts were nearly the same.
#[derive(Clone, Debug, Default)]
struct Bin {
    pages: u64,
    doubt: Sum,
    waste: ByClass,
    expected: Sum,
    came: Sum,
}

impl Bin {
    fn of(doubt: f64) -> usize {
        DOUBT_BINS.iter().position(|&end| doubt <= end).unwrap_or(DOUBT_BINS.len() - 1)
    }

    fn add(&mut self, doubt: f64, waste: Option<TruthClass>) {
        self.pages += 1;
        self.doubt.add(doubt);
        if let Some(class) = waste {
            self.waste[class as usize] += 1;
        }
    }

    fn show(&self) -> DoubtBin {
        let share = |of: f64| if self.pages > 0 { of / self.pages as f64 } else { f64::NAN };
        DoubtBin {
            pages: self.pages,
            doubt: share(self.doubt.value()),
            waste: share(self.waste.iter().sum::<u64>() as f64),
            classes: self.waste,
            expected: self.expected.value(),
            came: self.came.value(),
        }
    }
}

/// Watches a crawl.
pub(super) struct WasteMeter<'w> {
    world: &'w World,
    fates: Vec<Fate>,
    /// Per page with content of its own: known pages that show it.
    known: Vec<u32>,
    host_fetches: Vec<u64>,
    merging_hosts: FxHashSet<u32>,
    bins: [Bin; DOUBT_BINS.len()],
    decided: [Bin; DOUBT_BINS.len()],
    out: Waste,
}

impl<'w> WasteMeter<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        WasteMeter {
            world,
            fates: vec![Fate::default(); world.len()],
            known: vec![0; world.len()],
            host_fetches: vec![0; world.trace().hosts.len()],
            merging_hosts: FxHashSet::default(),
            bins: Default::default(),
            decided: Default::default(),
            out: Waste::default(),
        }
    }

    fn class(&self, page: u32) -> TruthClass {
        self.world.truth(page).class
    }

    fn is_waste(&self, page: u32) -> bool {
        let class = self.class(page);
        class != TruthClass::Own && !class.repeats()
            || self.known[self.world.root(page) as usize] > 0
    }

    /// A link led to a page that is not known, and was judged.
    pub(super) fn judged(&mut self, page: u32, doubt: f64, at: Time) {
        let (is_waste, class) = (self.is_waste(page), self.class(page));
        let is_late = self.merging_hosts.contains(&self.world.trace().pages[page as usize].host);
        let fate = &mut self.fates[page as usize];
        if !fate.is_met {
            self.bins[Bin::of(doubt)].add(doubt, is_waste.then_some(class));
            (fate.at, fate.is_waste, fate.is_late) = (at, is_waste, is_late);
        }
        (fate.is_met, fate.doubt) = (true, doubt);
    }

    /// The doubt about a known page moved.
    pub(super) fn doubted(&mut self, page: u32, doubt: f64) {
        self.fates[page as usize].doubt = doubt;
    }

    /// What a page brought that was fetched a while ago, and what the policy had expected but for its doubt.
    pub(super) fn returned(&mut self, page: u32, expected: f64, clicks: f64) {
        let fate = self.fates[page as usize];
        if fate.is_met {
            let bin = &mut self.decided[Bin::of(fate.doubt_then)];
            bin.expected.add(expected);
            bin.came.add(clicks);
        }
    }

    /// Judges the hosts that were taken for mirrors.
    pub(super) fn mirrors(&mut self, named: &[(String, String)]) {
        self.out.mirrors = Mirrors::judge(self.world, named, &self.host_fetches);
    }

    /// A link to `page` counts as one to the known page `other`.
    pub(super) fn merged(&mut self, page: u32, other: u32) {
        let is_right = self.world.root(page) == self.world.root(other);
        let fate = &mut self.fates[page as usize];
        fate.is_merged |= is_right;
        fate.is_lost |= !is_right;
        let host = self.world.trace().pages[page as usize].host;
        if is_right && self.merging_hosts.insert(host) {
            self.out.before_first_merge.push(self.host_fetches[host as usize]);
        }
    }

    pub(super) fn discovered(&mut self, page: u32) {
        self.fates[page as usize].is_known = true;
        self.known[self.world.root(page) as usize] += 1;
    }

    /// A page was fetched; `is_new` if nobody had fetched its content before.
    pub(super) fn fetched(&mut self, page: u32, is_first_of_content: bool, is_measured: bool) {
        let class = self.class(page);
        let is_waste = class != TruthClass::Own && !class.repeats() || !is_first_of_content;
        let fate = &mut self.fates[page as usize];
        if !fate.is_fetched {
            (fate.doubt_then, fate.was_wasted, fate.is_fetched) = (fate.doubt, is_waste, true);
        }
        self.host_fetches[self.world.trace().pages[page as usize].host as usize] += 1;
        self.out.fetches[class as usize] += u64::from(is_waste && is_measured);
    }

    pub(super) fn finish(mut self) -> Waste {
        for page in 0..self.world.len() as u32 {
            self.close(page);
        }
        let show = |bins: &[Bin]| bins.iter().filter(|bin| bin.pages > 0).map(Bin::show).collect();
        (self.out.bins, self.out.decided) = (show(&self.bins), show(&self.decided));
        self.out
    }

    /// Sorts a page by the doubt that decided about it last.
    fn close_doubt(&mut self, page: u32, fate: &Fate) {
        let class = self.class(page);
        let is_elsewhere = self.known[self.world.root(page) as usize] > u32::from(fate.is_known);
        let (doubt, is_waste) = match fate.is_fetched {
            true => (fate.doubt_then, fate.was_wasted),
            false if fate.is_known => {
                (fate.doubt, class != TruthClass::Own && !class.repeats() || is_elsewhere)
            }
            false => return,
        };
        self.decided[Bin::of(doubt)].add(doubt, is_waste.then_some(class));
    }

    fn close(&mut self, page: u32) {
        let fate = self.fates[page as usize];
        if !fate.is_met {
            return;
        }
        self.close_doubt(page, &fate);
        let class = match self.class(page) {
            class if class.repeats() && !fate.is_waste => TruthClass::Own,
            // Its content is known under another address, and it is the address that the trace calls first.
            TruthClass::Own if fate.is_waste => return,
            class => class,
        } as usize;
        let clicks = self.world.clicks_after(page, fate.at);
        self.out.met[class] += 1;
        self.out.late[class] += u64::from(fate.is_late);
        self.out.fetched[class] += u64::from(fate.is_fetched);
        if fate.is_lost && self.known[self.world.root(page) as usize] == 0 {
            self.out.lost += 1;
            self.out.lost_clicks += clicks;
        }
        if fate.is_fetched {
            return;
        }
        self.out.merged[class] += u64::from(fate.is_merged);
        let is_recognised = fate.is_merged || fate.doubt >= LEFT;
        self.out.late_recognised[class] += u64::from(fate.is_late && is_recognised);
        if fate.is_known && fate.doubt >= LEFT {
            self.out.left[class] += 1;
            self.out.left_clicks += if class == TruthClass::Own as usize { clicks } else { 0.0 };
        }
    }
}
