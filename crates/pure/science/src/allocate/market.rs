//! All pages at one price: demand, and the rates themselves.
//!
//! A [`Market`] is the columns with an objective; asking it for its demand is one pass over the
//! columns in parallel. The pass is cut into blocks by index, each block is summed in a fixed
//! order and the blocks' sums are added, compensated, in order, so the result is the same to the
//! last bit on any number of threads. Nothing is allocated for a page.

use rayon::prelude::*;
use tidewatch_math::{Draws, Sum};

use super::kernel::{self, TILE};
use super::search::{self, Bracket, Start};
use super::{Objective, Pages};

/// Pages in one unit of parallel work: long enough to hide its cost, short enough to balance.
pub(super) const BLOCK: usize = 64 * TILE;
/// Above this many pages a sample is searched first. A sample of n finds the price to about
/// 1/√n, which saves the passes that would only tell its first two digits.
const SAMPLE_ABOVE: usize = 1 << 16;
/// One page in so many is sampled, but at most [`SAMPLE_MOST`].
const SAMPLE_ONE_IN: usize = 64;
const SAMPLE_MOST: usize = 1 << 17;
/// A fixed seed: the sample only decides where the search starts.
const SAMPLE_SEED: u64 = 0x7469_6465;

/// A price, or two prices very close to each other whose rates are mixed to meet the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Share of the low price's rates; the rest is of the high price's.
    pub(super) share: f64,
}

impl Price {
    pub(super) const fn exactly(price: f64) -> Self {
        Self { low: price, high: price, share: 0.0 }
    }

    /// The price in between that the mixture stands for.
    pub(super) fn value(&self) -> f64 {
        self.high + if self.share > 0.0 { self.share * (self.low - self.high) } else { 0.0 }
    }

    fn of(found: &Bracket, budget: f64) -> Self {
        let (low, high) = (found.low, found.high);
        let jump = low.demand - high.demand;
        let share = if jump > 0.0 { ((budget - high.demand) / jump).clamp(0.0, 1.0) } else { 0.0 };
        Self { low: low.at.exp(), high: high.at.exp(), share }
    }
}

/// How a market was cleared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clearing {
    pub(super) price: Price,
    pub(super) passes: u32,
    found: Bracket,
}

/// Pages asking for fetches.
pub(super) struct Market<'a> {
    pub(super) objective: Objective,
    pub(super) pages: Pages<'a>,
    /// Price above which each host's cap does not bind, and the cap; empty without caps.
    pub(super) saturation: &'a [(Price, f64)],
    /// How many pages each page stands for: one, or more in a sample.
    scale: f64,
}

impl<'a> Market<'a> {
    pub(super) fn new(
        objective: Objective,
        pages: Pages<'a>,
        saturation: &'a [(Price, f64)],
    ) -> Self {
        Self { objective, pages, saturation, scale: 1.0 }
    }

    /// The price at which demand is `budget`, which lies strictly between least and most demand.
    pub(super) fn clear(&self, budget: f64) -> Clearing {
        let start = self.start(budget);
        let found = search::find(start, budget, |price| self.demand(price));
        Clearing { price: Price::of(&found, budget), passes: found.passes, found }
    }

    /// A sample's clearing price, when there are pages enough for one and it has one.
    fn start(&self, budget: f64) -> Start {
        if self.pages.len() <= SAMPLE_ABOVE {
            return Start::default();
        }
        let sample = Sample::draw(&self.pages);
        let scale = self.pages.len() as f64 / sample.weight.len() as f64;
        let market = Market { pages: sample.pages(), scale, ..*self };
        let found = market.clear(budget).found;
        let near = (0.5..2.0).contains(&(found.high.demand / budget));
        if near { Start { at: found.high.at, slope: found.slope } } else { Start::default() }
    }

    /// Σ of the rates at a price; one pass. Pages of saturated hosts count by their host's cap.
    pub(super) fn demand(&self, price: f64) -> f64 {
        let blocks = self.pages.len().div_ceil(BLOCK);
        let sums: Vec<Sum> =
            (0..blocks).into_par_iter().map(|block| self.block_demand(block, price)).collect();
        let mut total = Sum::new();
        for sum in &sums {
            total.merge(sum);
        }
        let capped = self.saturation.iter().filter(|(own, _)| own.high > price);
        capped.map(|(_, cap)| cap).copied().collect::<Sum>().value() + self.scale * total.value()
    }

    fn block_demand(&self, block: usize, price: f64) -> Sum {
        let mut sum = Sum::new();
        let mut buffer = Buffer::new(price);
        let end = self.pages.len().min((block + 1) * BLOCK);
        for start in (block * BLOCK..end).step_by(TILE) {
            let tile = self.pages.slice(start, end.min(start + TILE));
            let rates = &mut buffer.rates[..tile.len()];
            kernel::rates(
                self.objective,
                &buffer.prices[..tile.len()],
                tile.weight,
                tile.change_rate,
                rates,
            );
            tile.clamp(rates);
            self.mask_saturated(&tile, price, rates);
            sum.add(kernel::sum(rates));
        }
        sum
    }

    fn mask_saturated(&self, tile: &Pages<'_>, price: f64, rates: &mut [f64]) {
        if self.saturation.is_empty() {
            return;
        }
        if let Some(hosts) = tile.host {
            for (rate, &host) in rates.iter_mut().zip(hosts) {
                if self.saturation[host as usize].0.high > price {
                    *rate = 0.0;
                }
            }
        }
    }

    /// Writes the rates at a clearing price; gives their sum and the number of pages given up.
    pub(super) fn fill(&self, price: Price, rates: &mut [f64]) -> (f64, usize) {
        let blocks: Vec<(Sum, usize)> = rates
            .par_chunks_mut(BLOCK)
            .enumerate()
            .map(|(block, rates)| self.fill_block(block * BLOCK, price, rates))
            .collect();
        let (mut total, mut given_up) = (Sum::new(), 0);
        for (sum, count) in &blocks {
            total.merge(sum);
            given_up += count;
        }
        (total.value(), given_up)
    }

    fn fill_block(&self, start: usize, price: Price, rates: &mut [f64]) -> (Sum, usize) {
        let mut buffer = Buffer::new(price.low);
        let (mut sum, mut given_up) = (Sum::new(), 0);
        for (k, out) in rates.chunks_mut(TILE).enumerate() {
            let tile = self.pages.slice(start + k * TILE, start + k * TILE + out.len());
            given_up += self.tile_rates(&tile, price.high, out);
            if price.share > 0.0 {
                let low = &mut buffer.rates[..out.len()];
                self.tile_rates(&tile, price.low, low);
                mix(out, low, |_| price.share);
            }
            sum.add(kernel::sum(out));
        }
        (sum, given_up)
    }

    /// Rates of a tile at a price, within bounds and caps, and how many pages are given up.
    fn tile_rates(&self, tile: &Pages<'_>, price: f64, rates: &mut [f64]) -> usize {
        let mut high = [price; TILE];
        let saturated = self.own_prices(tile, price, &mut high, |own| own.high);
        kernel::rates(self.objective, &high[..tile.len()], tile.weight, tile.change_rate, rates);
        let given_up = tile.given_up(rates);
        tile.clamp(rates);
        if saturated {
            let (mut low, mut shares) = (Buffer::new(price), [0.0; TILE]);
            self.own_prices(tile, price, &mut low.prices, |own| own.low);
            self.own_prices(tile, price, &mut shares, |own| own.share);
            let (prices, low) = (&low.prices[..tile.len()], &mut low.rates[..tile.len()]);
            kernel::rates(self.objective, prices, tile.weight, tile.change_rate, low);
            tile.clamp(low);
            mix(rates, low, |k| shares[k]);
        }
        given_up
    }

    /// Writes a figure of the host's own price for every page whose host is saturated at `price`;
    /// says whether there is such a page.
    fn own_prices(
        &self,
        tile: &Pages<'_>,
        price: f64,
        column: &mut [f64; TILE],
        figure: impl Fn(&Price) -> f64,
    ) -> bool {
        let (Some(hosts), false) = (tile.host, self.saturation.is_empty()) else { return false };
        let mut any = false;
        for (out, &host) in column.iter_mut().zip(hosts) {
            let own = &self.saturation[host as usize].0;
            if own.high > price {
                *out = figure(own);
                any = true;
            }
        }
        any
    }
}

/// rates + share·(other − rates), so that equal rates stay as they are.
fn mix(rates: &mut [f64], other: &[f64], share: impl Fn(usize) -> f64) {
    for (k, (rate, other)) in rates.iter_mut().zip(other).enumerate() {
        *rate += share(k) * (other - *rate);
    }
}

/// Working space for one tile, on the stack of the thread that handles it.
struct Buffer {
    prices: [f64; TILE],
    rates: [f64; TILE],
}

impl Buffer {
    fn new(price: f64) -> Self {
        Self { prices: [price; TILE], rates: [0.0; TILE] }
    }
}

/// Columns of a few pages, copied together.
#[derive(Default)]
pub(super) struct Sample {
    weight: Vec<f64>,
    change_rate: Vec<f64>,
    min: Option<Vec<f64>>,
    max: Option<Vec<f64>>,
    host: Option<Vec<u32>>,
}

impl Sample {
    /// One page at random from each of equal stretches of the columns.
    fn draw(pages: &Pages<'_>) -> Self {
        let count = (pages.len() / SAMPLE_ONE_IN).clamp(1, SAMPLE_MOST);
        let stretch = pages.len() / count;
        let mut draws = Draws::of(SAMPLE_SEED, "allocate.sample", 0);
        let rows: Vec<usize> =
            (0..count).map(|k| k * stretch + draws.below(stretch as u64) as usize).collect();
        Self::gather(pages, &rows)
    }

    /// The given rows.
    pub(super) fn gather(pages: &Pages<'_>, rows: &[usize]) -> Self {
        let take = |column: &[f64]| rows.iter().map(|&row| column[row]).collect();
        Self {
            weight: take(pages.weight),
            change_rate: take(pages.change_rate),
            min: pages.min.map(take),
            max: pages.max.map(take),
            host: pages.host.map(|column| rows.iter().map(|&row| column[row]).collect()),
        }
    }

    pub(super) fn pages(&self) -> Pages<'_> {
        Pages {
            weight: &self.weight,
            change_rate: &self.change_rate,
            min: self.min.as_deref(),
            max: self.max.as_deref(),
            host: self.host.as_deref(),
        }
    }
}
