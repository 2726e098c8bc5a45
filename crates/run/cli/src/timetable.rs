//! `tidewatch timetable`: assigns crawls to the slots of crawlers.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use rustc_hash::FxHashSet;
use serde::Serialize;
use tidewatch_science::timetable::{
    Fetch, Punctuality, Slot, TimetableError, even_slots, ideal_times, schedule,
};

use crate::allocate::laws::TimetableColumns;
use crate::allocate::{add_page, window};
use crate::ids::Ids;
use crate::progress;
use crate::table_in::{Column, Rule, Table, is_stdin, shown};
use crate::table_out::{Destination, Outcome};

/// A time; [`time_within`] also checks the window.
const TIME: Rule = Rule { fits: |at| at >= 0.0 && at.is_finite(), expected: "a time from 0 on" };
/// Most crawls or slots: they take a few gigabytes of memory.
const MOST: usize = 50_000_000;

const EXAMPLE: &str = "\
Example:
  printf 'page,crawls\\na,3\\nb,1\\n' > crawls.csv
  printf 'crawler,slots\\nwest,2\\neast,4\\n' > slots.csv
  tidewatch timetable crawls.csv --window 24 --crawlers slots.csv

CRAWLS.csv is one of
  page,crawls[,times,probs]   the output of 'allocate --crawls': so many crawls of each page, at even
                              intervals j*T/(crawls+1). A page with update 'times' (separated by
                              spaces, with the chance of each in 'probs') is crawled at the best
                              'crawls' of those times instead, and not before them.
  page,ideal_at[,kind]        one row a crawl, with its ideal time. 'kind' is stochastic (early and
                              late cost the same; also when empty) or quasi (not before ideal_at).
SLOTS.csv is one of
  crawler,slots               so many slots of each crawler; slot l, from 0, is at l*T/slots
  crawler,slot,at             one row a slot, with its time
Times lie within 0 and the window. Columns may come in any order; others are ignored.

The output, crawler,slot,page,ideal_at,at by crawler and slot, has the least total distance from the
ideal times. That total, and a bound that proves it the least (the gap between them is 0 up to
rounding), go to standard error. Too few slots, or none late enough for a quasi crawl, is an error.";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Args {
    /// Crawls to place, as CSV; - for standard input.
    #[arg(value_name = "CRAWLS.csv")]
    crawls: PathBuf,
    /// Length of the window, in the unit of the files, or like 7d for seconds.
    #[arg(long, value_name = "T", value_parser = window, allow_negative_numbers = true)]
    window: f64,
    /// Slots of the crawlers, as CSV; - for standard input.
    #[arg(long, value_name = "SLOTS.csv")]
    crawlers: PathBuf,
    #[command(flatten)]
    to: Destination,
}

#[derive(Serialize)]
struct Summary {
    cost: f64,
    lower_bound: f64,
    gap: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    crawler: &'a str,
    slot: u32,
    page: &'a str,
    ideal_at: f64,
    at: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let both = is_stdin(&args.crawls) && is_stdin(&args.crawlers);
    ensure!(!both, "standard input can be the crawls or the slots, not both; name a file for one");
    let wanted = Wanted::read(&args.crawls, args.window)?;
    let crawlers = Crawlers::read(&args.crawlers, args.window)?;
    let busy = progress::spinner("placing");
    let table = schedule(&wanted.fetches, &crawlers.slots).map_err(|why| wanted.explain(why))?;
    let mut order: Vec<u32> = (0..wanted.fetches.len() as u32).collect();
    let slot_of = |fetch: u32| &crawlers.slots[table.slots[fetch as usize]];
    order.sort_unstable_by_key(|&fetch| (slot_of(fetch).crawler, slot_of(fetch).slot));
    busy.finish_and_clear();
    let (cost, lower_bound, gap) = (table.cost, table.lower_bound, table.gap());
    let rows = order.iter().map(|&fetch| Row {
        crawler: crawlers.names.name(slot_of(fetch).crawler),
        slot: slot_of(fetch).slot,
        page: wanted.page(fetch as usize),
        ideal_at: wanted.fetches[fetch as usize].ideal_at,
        at: slot_of(fetch).at,
    });
    let columns = &["crawler", "slot", "page", "ideal_at", "at"];
    let summary = Summary { cost, lower_bound, gap };
    args.to.write(Outcome { columns, summary: Some((&summary, "fetches")), rows })?;
    eprintln!("total cost {cost}; proven at least {lower_bound}, gap {gap}");
    Ok(())
}

/// The crawls to place.
#[derive(Default)]
struct Wanted {
    pages: Ids,
    fetches: Vec<Fetch>,
    /// The page of each element of `fetches`.
    page_of: Vec<u32>,
}

impl Wanted {
    fn read(path: &Path, window: f64) -> Result<Self> {
        let mut table = Table::open(path)?;
        let page = table.column("page")?;
        if let Some(ideal_at) = table.optional("ideal_at") {
            return Self::read_times(&mut table, page, ideal_at, window);
        }
        let crawls = table.column("crawls")?;
        Self::read_counts(&mut table, page, crawls, window)
    }

    fn read_times(table: &mut Table, page: Column, ideal: Column, window: f64) -> Result<Self> {
        let kind = table.optional("kind");
        let mut wanted = Wanted::default();
        while table.advance()? {
            let (page, _) = wanted.pages.add(table.name(page)?);
            let ideal_at = time_within(table, ideal, window)?;
            let punctuality = match kind.map(|kind| (kind, table.text(kind))) {
                None | Some((_, Ok("" | "stochastic"))) => Punctuality::Near,
                Some((_, Ok("quasi"))) => Punctuality::NotBefore,
                Some((kind, _)) => return Err(table.not(kind, "stochastic or quasi")),
            };
            room_for(table, ideal, wanted.fetches.len(), 1, "crawls")?;
            wanted.push(page, [ideal_at], punctuality);
        }
        Ok(wanted)
    }

    fn read_counts(table: &mut Table, page: Column, crawls: Column, window: f64) -> Result<Self> {
        let timetable = TimetableColumns::of(table)?;
        let mut wanted = Wanted::default();
        while table.advance()? {
            let id = wanted.pages.len() as u32;
            add_page(&mut wanted.pages, table, page)?;
            let count = table.whole(crawls)?;
            room_for(table, crawls, wanted.fetches.len(), count, "crawls")?;
            let on_time = match timetable {
                Some(columns) if !table.text(columns.times)?.is_empty() => Some(columns),
                _ => None,
            };
            if let Some(columns) = on_time {
                let updates = columns.read(table, window)?;
                if count as usize > updates.len() {
                    let most = format!("at most the number of its update times, {}", updates.len());
                    return Err(table.not(crawls, &most));
                }
                let best = updates.best(count as usize);
                let best = best.into_iter().map(|time| updates.times()[time]);
                wanted.push(id, best, Punctuality::NotBefore);
            } else {
                wanted.push(id, ideal_times(count, window), Punctuality::Near);
            }
        }
        Ok(wanted)
    }

    fn push(&mut self, page: u32, ideals: impl IntoIterator<Item = f64>, punctuality: Punctuality) {
        let fetches = ideals.into_iter().map(|ideal_at| Fetch { ideal_at, punctuality });
        self.fetches.extend(fetches);
        self.page_of.resize(self.fetches.len(), page);
    }

    fn page(&self, fetch: usize) -> &str {
        self.pages.name(self.page_of[fetch])
    }

    /// Replaces row numbers in the library's errors by page names.
    fn explain(&self, error: TimetableError) -> anyhow::Error {
        match error {
            TimetableError::TooFewSlots { fetches, slots, .. } => {
                anyhow!("{fetches} crawls do not fit into {slots} slots; add slots or drop crawls")
            }
            TimetableError::NoSlotAfter { fetch, ideal_at, last } => anyhow!(
                "the crawl of page {} must not be made before {ideal_at}, and the slots from then \
                 on (the last is at {last}) are taken by others that cannot be earlier either; \
                 add later slots",
                shown(self.page(fetch))
            ),
            other => other.into(),
        }
    }
}

/// The crawlers and their slots.
#[derive(Default)]
struct Crawlers {
    names: Ids,
    slots: Vec<Slot>,
}

impl Crawlers {
    fn read(path: &Path, window: f64) -> Result<Self> {
        let mut table = Table::open(path)?;
        let crawler = table.column("crawler")?;
        match table.optional("slots") {
            Some(slots) => Self::read_counts(&mut table, crawler, slots, window),
            None => Self::read_slots(&mut table, crawler, window),
        }
    }

    fn read_counts(table: &mut Table, crawler: Column, slots: Column, window: f64) -> Result<Self> {
        let mut crawlers = Crawlers::default();
        while table.advance()? {
            let name = table.name(crawler)?;
            let (id, is_new) = crawlers.names.add(name);
            if !is_new {
                let why = format!("the crawler {} has a row already", shown(name));
                return Err(table.refuse(crawler, &why));
            }
            let count = table.whole(slots)?;
            room_for(table, slots, crawlers.slots.len(), count, "slots")?;
            crawlers.slots.extend(even_slots(id, count, window));
        }
        Ok(crawlers)
    }

    fn read_slots(table: &mut Table, crawler: Column, window: f64) -> Result<Self> {
        let (slot, at) = (table.column("slot")?, table.column("at")?);
        let (mut crawlers, mut seen) = (Crawlers::default(), FxHashSet::default());
        while table.advance()? {
            let name = table.name(crawler)?;
            let (id, _) = crawlers.names.add(name);
            let number = table.whole(slot)?;
            if !seen.insert((id, number)) {
                let why = format!("slot {number} of crawler {} has a row already", shown(name));
                return Err(table.refuse(slot, &why));
            }
            room_for(table, slot, crawlers.slots.len(), 1, "slots")?;
            let at = time_within(table, at, window)?;
            crawlers.slots.push(Slot { crawler: id, slot: number, at });
        }
        Ok(crawlers)
    }
}

fn time_within(table: &Table, column: Column, window: f64) -> Result<f64> {
    let at = table.number(column, &TIME)?;
    if at > window {
        return Err(table.not(column, &format!("a time from 0 to the window's end, {window}")));
    }
    Ok(at)
}

/// Checks that `so_far + more` is at most [`MOST`].
fn room_for(table: &Table, column: Column, so_far: usize, more: u32, what: &str) -> Result<()> {
    if so_far + more as usize > MOST {
        let why = format!("with this row there are more than {MOST} {what}; split the window");
        return Err(table.refuse(column, &why));
    }
    Ok(())
}
