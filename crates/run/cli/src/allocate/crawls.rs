//! Whole numbers of crawls in a window, for pages of any law.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;
use tidewatch_science::allocate::crawls::{Crawls, PageLaws, Solver, solve};
use tidewatch_science::law::{Law, Plan};

use super::laws::{Laws, PageLaw};
use super::{AMOUNT, Args, add_page, explain};
use crate::ids::Ids;
use crate::progress;
use crate::table_in::{Column, Table};
use crate::table_out::Outcome;

/// Most crawls for solver `fox`, which assigns one at a time: about half a minute.
const MOST_FOX: u64 = 100_000_000;
/// Most steps of solver `dp`: pages × crawls².
const MOST_DP: u128 = 1 << 34;

#[derive(Serialize)]
struct Summary {
    total_weighted_staleness: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    page: &'a str,
    crawls: u32,
    staleness: f64,
}

pub(super) fn run(args: &Args, total: u64, window: f64) -> Result<()> {
    let input = Input::read(&args.pages, window)?;
    let solver = args.solver.into();
    check_effort(solver, total, input.pages.len())?;
    let busy = progress::spinner("allocating");
    let law: Vec<Law<'_>> = input.law.iter().map(|law| law.resolve(&input.plans)).collect();
    let laws = PageLaws { weight: &input.weight, law: &law, window };
    let problem = Crawls { gain: &laws, min: &input.min, max: &input.max, total };
    let crawls = solve(&problem, solver).map_err(|error| explain(error, &input.pages))?;
    let total_weighted_staleness = laws.total(&crawls);
    busy.finish_and_clear();
    let rows = crawls.iter().enumerate().map(|(page, &crawls)| Row {
        page: input.pages.name(page as u32),
        crawls,
        staleness: laws.staleness(page, crawls),
    });
    let summary = Summary { total_weighted_staleness };
    let columns = &["page", "crawls", "staleness"];
    args.to.write(Outcome { columns, summary: Some((&summary, "pages")), rows })?;
    eprintln!("total weighted staleness {total_weighted_staleness}");
    Ok(())
}

/// Refuses `fox` and `dp` on problems that would take them hours.
fn check_effort(solver: Solver, total: u64, pages: usize) -> Result<()> {
    let steps = u128::from(total) * u128::from(total) * pages as u128;
    ensure!(
        solver != Solver::Fox || total <= MOST_FOX,
        "the solver fox takes a step for each of the {total} crawls; use relax above {MOST_FOX}"
    );
    ensure!(
        solver != Solver::Dp || steps <= MOST_DP,
        "the solver dp would take {steps} steps for {pages} pages and {total} crawls; use relax"
    );
    Ok(())
}

#[derive(Default)]
struct Input {
    pages: Ids,
    weight: Vec<f64>,
    law: Vec<PageLaw>,
    plans: Vec<Plan>,
    min: Vec<u32>,
    max: Vec<u32>,
}

impl Input {
    fn read(path: &Path, window: f64) -> Result<Self> {
        let mut table = Table::open(path)?;
        let page = table.column("page")?;
        let weight = table.column("weight")?;
        let (min, max) = (table.optional("min"), table.optional("max"));
        let mut laws = Laws::new(&table, window)?;
        let mut input = Input::default();
        while table.advance()? {
            add_page(&mut input.pages, &table, page)?;
            input.weight.push(table.number(weight, &AMOUNT)?);
            let law = laws.read(&table)?;
            let (least, most) = bounds(&table, min, max)?;
            input.min.push(least);
            input.max.push(most.unwrap_or_else(|| laws.useful(law).max(least)));
            input.law.push(law);
        }
        input.plans = laws.into_plans();
        Ok(input)
    }
}

/// The least and, if there is one, the greatest number of crawls of a page.
fn bounds(table: &Table, min: Option<Column>, max: Option<Column>) -> Result<(u32, Option<u32>)> {
    let whole = |column: Option<Column>| column.map(|c| table.maybe_whole(c)).transpose();
    let least = whole(min)?.flatten().unwrap_or(0);
    let most = whole(max)?.flatten();
    match (max, most) {
        (Some(column), Some(most)) if most < least => {
            Err(table.not(column, &format!("at least the page's min, {least}")))
        }
        _ => Ok((least, most)),
    }
}
