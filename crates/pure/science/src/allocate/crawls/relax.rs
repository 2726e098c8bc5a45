//! Search for the price of a crawl over all pages at once, then exact rounding.
//!
//! At a price p page i takes every unit with gain ≥ p. The relaxation (gains as slopes, see
//! [`Gain::crawls_at`]) says almost exactly how many; one or two gains settle it. The number over
//! all pages falls with p, so p is searched as in the continuous problem, from the price of a
//! sample, in parallel passes that narrow a range of crawls for each page. Once few units lie
//! between the two prices around the answer, they are looked at one by one and the most urgent are
//! granted. If two neighbouring prices still have many units between them, these all have the
//! same gain, and the lowest pages get them. Counting is in whole numbers, so the result does not
//! depend on the number of threads.

use rayon::prelude::*;

use super::{Crawls, Gain, Unit, front};
use crate::allocate::AllocateError;
use crate::allocate::search::{Search, Start, Trial};

/// Above this many pages a sample gives the first price.
const SAMPLE_ABOVE: usize = 1 << 15;
/// Pages in a sample, at most, and one page in so many.
const SAMPLE_MOST: usize = 1 << 16;
const SAMPLE_ONE_IN: usize = 16;
/// Pages in one unit of parallel work.
const BLOCK: usize = 4096;
/// Units looked at one by one: at least this many, or one for eight pages.
const SINGLY: u64 = 4096;
const SINGLY_ONE_IN: u64 = 8;

pub(super) fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    free: u64,
) -> Result<Vec<u32>, AllocateError> {
    if free == 0 {
        return Ok(problem.min.to_vec());
    }
    let mut ranges = Ranges::new(problem, free)?;
    if ranges.most_taken() < problem.total {
        return Ok(ranges.fill_worthless());
    }
    let start = ranges.start()?;
    ranges.search(start)?;
    ranges.round()
}

/// Crawls of each page at two prices around the answer.
struct Ranges<'a, 'b, G: ?Sized> {
    problem: &'a Crawls<'b, G>,
    /// At the high price: taken for certain.
    few: Vec<u32>,
    /// At the low price: nothing beyond is taken.
    many: Vec<u32>,
    /// The prices as positive numbers.
    low: f64,
    high: f64,
}

impl<'a, 'b, G: Gain + ?Sized> Ranges<'a, 'b, G> {
    /// From no crawl above the minimum to all that have a gain.
    fn new(problem: &'a Crawls<'b, G>, free: u64) -> Result<Self, AllocateError> {
        let few = problem.min.to_vec();
        let many = (0..few.len()).map(|page| problem.reach(page, free)).collect();
        // The smallest number above zero, and one that no gain reaches.
        let (low, high) = (f64::from_bits(1), f64::INFINITY);
        let mut ranges = Self { problem, few, many, low, high };
        ranges.many = ranges.taken(low)?;
        Ok(ranges)
    }

    fn most_taken(&self) -> u64 {
        total(&self.many)
    }

    /// All units with a gain are taken; the rest goes to the lowest pages.
    fn fill_worthless(self) -> Vec<u32> {
        let mut left = self.problem.total - self.most_taken();
        let mut crawls = self.many;
        for (x, &max) in crawls.iter_mut().zip(self.problem.max) {
            let extra = u64::from(max - *x).min(left);
            *x += extra as u32;
            left -= extra;
        }
        crawls
    }

    /// Crawls of every page with a gain of at least `price`, within the present ranges.
    fn taken(&self, price: f64) -> Result<Vec<u32>, AllocateError> {
        let mut taken = vec![0; self.few.len()];
        let blocks: Vec<Result<(), AllocateError>> = taken
            .par_chunks_mut(BLOCK)
            .enumerate()
            .map(|(block, taken)| {
                let pages = block * BLOCK..;
                pages.zip(taken).try_for_each(|(page, x)| {
                    *x = self.taken_by(page, price)?;
                    Ok(())
                })
            })
            .collect();
        // In order, so that the first error is the one reported.
        blocks.into_iter().collect::<Result<(), _>>()?;
        Ok(taken)
    }

    /// Finds the edge by growing strides away from the relaxation's number, or by bisection.
    fn taken_by(&self, page: usize, price: f64) -> Result<u32, AllocateError> {
        // Invariant: units before `from` are taken, units from `to` on are not.
        let (mut from, mut to) = (self.few[page], self.many[page]);
        if from == to {
            return Ok(from);
        }
        let hint = self.problem.gain.crawls_at(page, price);
        let mut at = hint.map_or(from + (to - from) / 2, |hint| hint.clamp(from, to - 1));
        let mut stride = if hint.is_some() { 0 } else { u32::MAX };
        loop {
            let taken = self.problem.value(page, at)? >= price;
            if taken {
                from = at + 1;
            } else {
                to = at;
            }
            if from == to {
                return Ok(from);
            }
            let away = stride.min((to - from) / 2);
            at = if taken { from + away } else { to - 1 - away };
            stride = stride.saturating_mul(2).saturating_add(1);
        }
    }

    /// The price for a sample of the pages, if it has one.
    fn start(&self) -> Result<Start, AllocateError> {
        let pages = self.few.len();
        if pages <= SAMPLE_ABOVE {
            return Ok(Start::default());
        }
        let stride = (pages / SAMPLE_MOST).max(SAMPLE_ONE_IN);
        let gain = &Sampled { gain: self.problem.gain, stride };
        let pick = |column: &[u32]| column.iter().copied().step_by(stride).collect::<Vec<u32>>();
        let (min, max) = (pick(self.problem.min), pick(&self.many));
        let free = (self.problem.total - total(self.problem.min)) as f64;
        let free = (free * min.len() as f64 / pages as f64) as u64;
        let sample = Crawls { gain, min: &min, max: &max, total: total(&min) + free };
        let mut ranges = Ranges::new(&sample, free)?;
        if free == 0 || ranges.most_taken() <= sample.total {
            return Ok(Start::default());
        }
        ranges.search(Start::default())
    }

    /// Narrows the prices until few units lie between them; gives the last price and slope.
    fn search(&mut self, start: Start) -> Result<Start, AllocateError> {
        let singly = SINGLY.max(self.few.len() as u64 / SINGLY_ONE_IN);
        let goal = self.problem.total;
        let mut search = Search::new(start.slope);
        let mut at = start.at;
        while self.between() > singly && self.low.next_up() < self.high {
            let price = self.inside(at.exp());
            let taken = self.taken(price)?;
            let count = total(&taken);
            if count >= goal {
                (self.low, self.many) = (price, taken);
            } else {
                (self.high, self.few) = (price, taken);
            }
            search.note(Trial::new(price.ln(), count as f64, goal as f64));
            if count == goal {
                self.few.clone_from(&self.many);
            }
            at = search.next_at().unwrap_or(f64::NAN);
        }
        Ok(Start { at: self.low.ln(), slope: search.slope() })
    }

    fn between(&self) -> u64 {
        total(&self.many) - total(&self.few)
    }

    /// The price itself if it lies between the two, else the middle in the order of the floating
    /// point numbers, which makes the worst case 64 passes.
    fn inside(&self, price: f64) -> f64 {
        if self.low < price && price < self.high {
            price
        } else {
            f64::from_bits(u64::midpoint(self.low.to_bits(), self.high.to_bits()))
        }
    }

    /// Grants the most urgent of the units between the two prices.
    fn round(self) -> Result<Vec<u32>, AllocateError> {
        let mut left = self.problem.total - total(&self.few);
        let mut crawls = self.few;
        if self.low.next_up() >= self.high {
            // All of one gain.
            for (x, &many) in crawls.iter_mut().zip(&self.many) {
                let extra = u64::from(many - *x).min(left);
                *x += extra as u32;
                left -= extra;
            }
            return Ok(crawls);
        }
        let units: Result<Vec<Unit>, AllocateError> = (0..crawls.len())
            .flat_map(|page| (crawls[page]..self.many[page]).map(move |crawl| (page, crawl)))
            .map(|(page, crawl)| self.problem.unit(page, crawl))
            .collect();
        for unit in front(&mut units?, left as usize) {
            crawls[unit.page] += 1;
        }
        Ok(crawls)
    }
}

fn total(crawls: &[u32]) -> u64 {
    crawls.iter().map(|&x| u64::from(x)).sum()
}

/// Every so many-th page.
struct Sampled<'a, G: ?Sized> {
    gain: &'a G,
    stride: usize,
}

impl<G: Gain + ?Sized> Gain for Sampled<'_, G> {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        self.gain.gain(page * self.stride, crawls)
    }

    fn crawls_at(&self, page: usize, price: f64) -> Option<u32> {
        self.gain.crawls_at(page * self.stride, price)
    }
}
