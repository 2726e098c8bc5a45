//! How fast is the price? A sweep over all copies, the solution of the market, and pops of the queue,
//! each beside reading the same memory once, in one run.
//!
//! `cargo run --release -p tidewatch-policy --example price_speed -- 10000000`

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;
use tidewatch_core::{Content, HostId, PageId, Span, Time};
use tidewatch_math::Draws;
use tidewatch_policy::price::clearing::clear_to;
use tidewatch_policy::price::copies::Copies;
use tidewatch_policy::price::demand::demand;
use tidewatch_policy::price::{Value, value::Staling};
use tidewatch_policy::{Agenda, AlwaysOpen};

/// Pages of one host.
const PER_HOST: u32 = 100;

fn main() {
    let count: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut copies = copies(count);
    let threads = rayon::current_num_threads();
    println!("{count} copies of {} bytes, {threads} threads", size_of_val(copies.page(PageId(0))));
    let read = seconds(|| {
        let sum: u64 = (0..count)
            .into_par_iter()
            .map(|page| u64::from(copies.page(PageId(page)).host().0))
            .sum();
        black_box(sum);
    });
    println!("reading them once: {read:.3} s");
    let pool = seconds(|| copies.repool());
    println!("what hosts and patterns say about their pages: {pool:.3} s, {:.1}×", pool / read);
    let price = 1e-4;
    let sweep = seconds(|| {
        let due: f64 = (0..count)
            .into_par_iter()
            .map(|page| copies.value(PageId(page)).not_before(price))
            .sum();
        black_box(due);
    });
    println!("a sweep that finds when each could be due: {sweep:.3} s, {:.1}×", sweep / read);
    let exact = seconds(|| {
        let due: f64 = (0..count)
            .into_par_iter()
            .map(|page| copies.value(PageId(page)).wait(price).min(1e9))
            .sum();
        black_box(due);
    });
    println!("a sweep that finds when each is due: {exact:.3} s, {:.1}×", exact / read);
    let values: Vec<Value> = (0..count).map(|page| copies.value(PageId(page))).collect();
    let budget = f64::from(count) / (7.0 * 86_400.0);
    let passes = std::cell::Cell::new(0);
    let solve = seconds(|| {
        let wanted = |price: f64| {
            passes.set(passes.get() + 1);
            demand(&values, price)
        };
        black_box(clear_to(1e-3, wanted, budget, price));
    });
    println!(
        "solving for the price of {budget:.1} fetches/s: {solve:.3} s in {} passes",
        passes.get()
    );
    pops(count.min(4_000_000));
    let stale = values
        .iter()
        .filter(|value| matches!(value, Value::Refresh { staling: Staling::Whole(_), .. }));
    println!("{} of them go stale as a whole", stale.count());
}

/// Pages with gaps of change from hours to years, looked at a few times.
fn copies(count: u32) -> Copies {
    let mut copies = Copies::new(true, false);
    let mut draws = Draws::of(1, "price.speed", 0);
    for page in 0..count {
        let host = HostId(page / PER_HOST);
        copies.add(host, "http://a.test/x", draws.exponential(1.0), None, Time::ZERO);
        for visit in 0..3u64 {
            let changed = (visit > 0).then(|| draws.uniform() < 0.3);
            let content = Content { changed, ..Content::default() };
            copies.fetched(PageId(page), Time::ZERO + Span::DAY.times(visit), &content);
        }
    }
    copies
}

fn pops(count: u32) {
    let mut agenda = Agenda::default();
    let mut draws = Draws::of(2, "price.speed", 0);
    for page in 0..count {
        let due = Time::from_micros((draws.uniform() * 1e12) as u64);
        agenda.push((due, page), HostId(page / PER_HOST), PageId(page));
    }
    let most = count / 2;
    let time = seconds(|| {
        for _ in 0..most {
            let popped = agenda.pop(Time::NEVER, &AlwaysOpen);
            let ((due, key), page) = popped.expect("half of what was pushed is left");
            // Put back for later, as a page that was fetched is.
            agenda.push((due + Span::WEEK, key), HostId(page.0 / PER_HOST), page);
        }
    });
    println!("{:.2} million pops and pushes a second on one thread", f64::from(most) / time / 1e6);
}

fn seconds(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}
