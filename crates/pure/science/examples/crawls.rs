//! Twelve fetches in a day for four pages: how many for each, and which crawler makes them when?

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_science::allocate::crawls::{Crawls, PageLaws, Solver, solve};
use tidewatch_science::law::{Law, Poisson, UpdateTimes, Weibull};
use tidewatch_science::timetable::{Fetch, Punctuality, even_slots, ideal_times, schedule};

const DAY: f64 = 24.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A bulletin that may be updated at 8, 13 and 18 o'clock, each with its chance.
    let bulletin = UpdateTimes::new(DAY, &[8.0, 13.0, 18.0], &[0.9, 0.5, 0.8])?;
    let plan = bulletin.exact();
    let laws: [Law<'_>; 4] = [
        Poisson::new(0.2)?.into(),            // a change every five hours
        Poisson::new(20.0)?.into(),           // hopeless
        Weibull::with_rate(0.6, 0.2)?.into(), // as the first, but in bursts
        plan.law().into(),
    ];
    let gain = PageLaws { weight: &[1.0, 1.0, 1.0, 2.0], law: &laws, window: DAY };
    let problem = Crawls { gain: &gain, min: &[0; 4], max: &[12; 4], total: 12 };
    let crawls = solve(&problem, Solver::Relax)?;
    for (page, &crawls) in crawls.iter().enumerate() {
        let stale = 100.0 * gain.staleness(page, crawls);
        println!("page {page}: {crawls} fetches, stale {stale:.0} % of the day");
    }

    // Pages that change at random want even gaps; the bulletin must not be fetched too early.
    let mut fetches = Vec::new();
    for &count in &crawls[..3] {
        let even = ideal_times(count, DAY);
        fetches.extend(even.map(|ideal_at| Fetch { ideal_at, punctuality: Punctuality::Near }));
    }
    fetches.extend(
        bulletin
            .best(crawls[3] as usize)
            .into_iter()
            .map(|k| Fetch { ideal_at: bulletin.times()[k], punctuality: Punctuality::NotBefore }),
    );

    // Two crawlers with a slot every two hours.
    let slots: Vec<_> = (0..2).flat_map(|crawler| even_slots(crawler, 12, DAY)).collect();
    let timetable = schedule(&fetches, &slots)?;
    for (fetch, &slot) in fetches.iter().zip(&timetable.slots) {
        let slot = slots[slot];
        println!("wanted at {:>5.2}: crawler {} at {:>4}", fetch.ideal_at, slot.crawler, slot.at);
    }
    println!("{:.1} hours off in all, {:.1} at least", timetable.cost, timetable.lower_bound);
    Ok(())
}
