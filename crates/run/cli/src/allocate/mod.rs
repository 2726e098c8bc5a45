//! `tidewatch allocate`: allocates a budget of fetches to pages.

mod crawls;
pub(crate) mod laws;
mod rates;

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{ArgGroup, ValueEnum};
use tidewatch_core::Span;
use tidewatch_science::allocate::crawls::Solver;
use tidewatch_science::allocate::{AllocateError, MAGNITUDES, Objective};

use crate::ids::Ids;
use crate::table_in::{Column, Rule, Table, shown};
use crate::table_out::Destination;

const AMOUNT: Rule = Rule { fits: is_amount, expected: "0 or a number from 1e-50 to 1e50" };
const AMOUNT_OR_INF: Rule = Rule {
    fits: |value| is_amount(value) || value == f64::INFINITY,
    expected: "0, a number from 1e-50 to 1e50, or inf",
};

const EXAMPLE: &str = "\
Examples:
  printf 'page,weight,change_rate\\na,2,0.5\\nb,1,4\\n' | tidewatch allocate - --budget 3
  printf 'page,weight,law,change_rate\\na,2,poisson,0.5\\nb,1,poisson,4\\n' |
    tidewatch allocate - --crawls 12 --window 24

Rates (--budget): columns page,weight,change_rate[,host][,min][,max] -> page,rate. Rates and budget
are per one unit of time. A page of weight 0, or one that never changes (change_rate 0), gets its
'min' (0 when empty or absent). A change_rate of 'inf' is allowed: freshness and memoryless give
the page up, age and harmonic share by weight. What no page has a use for, because all are at their
'max' or of weight 0, stays unspent. The price, what was spent and unspent and the number of pages
given up (worth less than the price at any rate) go to standard error. Minima above the budget,
or above a host's cap, are an error. --host-cap reads host,max_rate; a host that is not there, or
with an empty max_rate, has no cap.

Crawls (--crawls): columns page,weight[,law][,change_rate][,shape][,scale][,times][,probs]
[,min][,max] -> page,crawls,staleness. 'law' is poisson (change_rate; the law where none is
given), weibull or pareto (shape, scale; the time between changes; a pareto shape of at most 1 has
an infinite mean and never goes stale), or quasi (possible update 'times' within the window and the
chance of each in 'probs', separated by spaces). All crawls are handed out, so their number must lie
between the sums of the minima and of the maxima; without 'max' a page takes any number (quasi: one
for each time). 'staleness' is the average share of the window that the copy is stale; the sum
weighted by 'weight' goes to standard error. Where crawls are worth the same (all weights 0, for
example), pages that come first get them.

Page names must differ. Columns may come in any order; others are ignored.";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLE, group = ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// Pages as CSV; - for standard input.
    #[arg(value_name = "PAGES.csv")]
    pages: PathBuf,
    /// Allocate rates: total fetches per unit time.
    #[arg(
        long, group = "what", value_name = "R", value_parser = amount, allow_negative_numbers = true
    )]
    budget: Option<f64>,
    /// What the rates optimise.
    #[arg(long, value_enum, default_value_t = ObjectiveArg::Freshness, conflicts_with = "crawls")]
    objective: ObjectiveArg,
    /// Greatest total rate of each host, as CSV: host,max_rate.
    #[arg(long, value_name = "HOSTS.csv", conflicts_with = "crawls")]
    host_cap: Option<PathBuf>,
    /// Allocate whole numbers: total crawls in the window.
    #[arg(long, group = "what", value_name = "R", requires = "window")]
    crawls: Option<u64>,
    /// Length of the window, in the unit of the file, or like 7d for seconds.
    #[arg(
        long, value_name = "T", value_parser = window, conflicts_with = "budget",
        allow_negative_numbers = true
    )]
    window: Option<f64>,
    /// Method for whole numbers; all give the same answer.
    #[arg(long, value_enum, default_value_t = SolverArg::Relax, conflicts_with = "budget")]
    solver: SolverArg,
    #[command(flatten)]
    to: Destination,
}

#[derive(Clone, Copy, ValueEnum)]
enum ObjectiveArg {
    /// Most weight fresh, pages fetched at even intervals.
    Freshness,
    /// Least age.
    Age,
    /// Least harmonic number of missed changes; starves nobody.
    Harmonic,
    /// Most weight fresh, pages fetched at random times.
    Memoryless,
}

impl From<ObjectiveArg> for Objective {
    fn from(objective: ObjectiveArg) -> Self {
        match objective {
            ObjectiveArg::Freshness => Objective::Freshness,
            ObjectiveArg::Age => Objective::Age,
            ObjectiveArg::Harmonic => Objective::Harmonic,
            ObjectiveArg::Memoryless => Objective::Memoryless,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum SolverArg {
    /// Search for the price of a crawl; parallel.
    Relax,
    /// Greedy, one crawl at a time.
    Fox,
    /// Medians of medians.
    GalilMegiddo,
    /// Selection at halving resolution.
    FredericksonJohnson,
    /// Dynamic program, for small problems.
    Dp,
}

impl From<SolverArg> for Solver {
    fn from(solver: SolverArg) -> Self {
        match solver {
            SolverArg::Relax => Solver::Relax,
            SolverArg::Fox => Solver::Fox,
            SolverArg::GalilMegiddo => Solver::GalilMegiddo,
            SolverArg::FredericksonJohnson => Solver::FredericksonJohnson,
            SolverArg::Dp => Solver::Dp,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match (args.budget, args.crawls, args.window) {
        (_, Some(crawls), Some(window)) => crawls::run(args, crawls, window),
        (Some(budget), ..) => rates::run(args, budget),
        _ => unreachable!("the parser asks for --budget, or --crawls with --window"),
    }
}

fn is_amount(value: f64) -> bool {
    value == 0.0 || MAGNITUDES.contains(&value)
}

fn amount(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|&value| is_amount(value));
    value.ok_or_else(|| format!("write {}", AMOUNT.expected))
}

/// Parses a positive duration: a number in the unit of the file, or a span such as 7d in seconds.
pub(crate) fn window(text: &str) -> Result<f64, String> {
    let plain = text.parse::<f64>().ok();
    let value = plain.or_else(|| text.parse().ok().map(Span::seconds));
    let value = value.filter(|value| MAGNITUDES.contains(value));
    value.ok_or_else(|| "write a number above 0, or a span like 90s, 6h, 7d".to_owned())
}

/// Adds a page; an error if it has a row already.
pub(crate) fn add_page(pages: &mut Ids, table: &Table, column: Column) -> Result<()> {
    let name = table.name(column)?;
    let (_, is_new) = pages.add(name);
    if is_new {
        return Ok(());
    }
    Err(table.refuse(column, &format!("the page {} has a row already", shown(name))))
}

/// Replaces row numbers in the library's errors by page names.
fn explain(error: AllocateError, pages: &Ids) -> anyhow::Error {
    let name = |page: usize| shown(pages.name(page as u32));
    match error {
        AllocateError::Bounds { page, min, max } => {
            anyhow!("page {} has a min of {min}, above its max of {max}", name(page))
        }
        AllocateError::Gain { page, crawl, gain } => anyhow!(
            "crawl {} of page {} is worth {gain}, which is no amount; check its weight and law",
            u64::from(crawl) + 1,
            name(page)
        ),
        other => other.into(),
    }
}
