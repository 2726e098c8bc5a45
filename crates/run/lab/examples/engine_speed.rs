//! How fast the engine is, how much memory it takes, and how both grow.
//!
//! Runs three weeks of the echo web at N = 0.2 fetches/s (times the scale)
//! under a policy that costs next to nothing, at several scales, and prints
//! wall time, simulated fetches per second, and time and memory per page
//! relative to the smallest scale: both stay near 1 if growth is linear.
//!
//! cargo run --release -p tidewatch-lab --example engine_speed [SEED]

#![allow(clippy::print_stdout)]

use std::time::Instant;

use tidewatch_core::{Event, PageId, Rate, Span, Time};
use tidewatch_lab::generate::echo::{self, EchoConfig};
use tidewatch_lab::{Settings, World, engine, policies};
use tidewatch_policy::{Choice, Gate, Policy};

const SCALES: [f64; 3] = [0.5, 1.0, 2.0];
const BUDGET: f64 = 0.2;

/// New pages as they come, sources in turn: a cursor and a list.
#[derive(Default)]
struct Costless {
    sources: Vec<PageId>,
    new: Vec<PageId>,
    turn: usize,
}

impl Policy for Costless {
    fn learn(&mut self, event: &Event<'_>) {
        if let Event::Discovered(found) = event {
            if found.is_source {
                self.sources.push(found.page);
            } else if !found.is_held {
                self.new.push(found.page);
            }
        }
    }

    fn choose(&mut self, _: Time, _: &dyn Gate) -> Choice {
        if let Some(page) = self.new.pop() {
            return Choice::Fetch(page);
        }
        self.turn = (self.turn + 1) % self.sources.len();
        Choice::Fetch(self.sources[self.turn])
    }
}

/// Resident memory of this process now, MiB; zero where the system does not tell.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    println!("scale      pages  policy     wall s  fetches/s  time/page  world MiB  memory/page");
    let mut first: Option<(f64, f64)> = None;
    for scale in SCALES {
        let before = resident_mib();
        let config = EchoConfig { scale, ..EchoConfig::default() };
        let world = World::new(echo::generate(&config, seed).trace)?;
        let memory = resident_mib() - before;
        let budget = Rate::per_second(BUDGET * scale).ok_or("no such budget")?;
        let settings = Settings { measure_last: Some(Span::WEEK), ..Settings::new(budget) };
        let bfs = policies::find("bfs")?;
        let contestants: [(&str, Box<dyn Policy>); 2] =
            [("costless", Box::new(Costless::default())), ("bfs", bfs.make(&world, seed))];
        for (name, mut policy) in contestants {
            let start = Instant::now();
            engine::run(&world, policy.as_mut(), &settings)?;
            let wall = start.elapsed().as_secs_f64();
            let fetches = settings.budget.as_per_second() * world.trace().duration.seconds();
            let pages = world.len() as f64;
            let per_page = (wall / pages, memory / pages);
            let base = *first.get_or_insert(per_page);
            println!(
                "{scale:<5} {pages:>10}  {name:<8} {wall:>8.2} {:>10.0} {:>9.2}x {memory:>10.0} {:>11.2}x",
                fetches / wall,
                per_page.0 / base.0,
                per_page.1 / base.1,
            );
        }
    }
    Ok(())
}
