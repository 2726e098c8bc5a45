//! `tidewatch estimate`: change rates from a log of visits.
//!
//! The log is read into columns and sorted by page with one counting sort, so rows may come in any
//! order and memory is about 30 bytes per visit. Pages are then estimated in parallel.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use rayon::prelude::*;
use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_science::estimate::{
    Gamma, Member, Method, Pool, RateEstimate, Visits, estimate, url_pattern,
};

use crate::ids::Ids;
use crate::progress;
use crate::table_in::{Column, Rule, Table, shown};
use crate::table_out::{Destination, Outcome};

/// Times outside these bounds are most likely in a wrong unit.
const AT: Rule = Rule {
    fits: |at| at == 0.0 || (1e-15..=1e15).contains(&at.abs()),
    expected: "0 or a number from 1e-15 to 1e15, of either sign",
};

const EXAMPLE: &str = "\
Example:
  printf 'page,at,changed\\na,0,0\\na,3600,1\\na,7200,0\\n' | tidewatch estimate -

Input: a header and the columns page,at,changed[,last_modified]; others are ignored. Rows may come
in any order. 'at' is a number in any unit (seconds by convention), rates are per that unit; only
its differences matter, so it may be negative.
'changed' is 1 or 0: has the page changed since the visit before? That of a page's first visit does
not count. 'last_modified' is the date the server gave, on the same clock, or empty; a date that
cannot be (in the future, or before the previous visit although the page changed since) is dropped
and its visit counts undated. Of two visits to a page at the same time the first in the file counts.

Output: page,change_rate,low,high in the order in which pages first appear; low and high bound the
95% interval, high is 'inf' where the visits set no bound (every visit saw a change). A page with
no usable visit has empty cells (with bayes it gets what its host's other pages suggest). A page
that was never seen to change has rate 0, with bayes more.

The method bayes learns from other pages: of the same host if there is a column 'host', of similar
URLs if there is a column 'url' (which also tells the host when there is no 'host').";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Args {
    /// Visits as CSV; - for standard input.
    #[arg(value_name = "VISITS.csv")]
    visits: PathBuf,
    /// How to estimate. The default allows for uneven gaps and hidden changes, and needs neither
    /// dates nor other pages.
    #[arg(long, value_enum, default_value_t = MethodArg::Mle)]
    method: MethodArg,
    #[command(flatten)]
    to: Destination,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    /// Maximum likelihood.
    Mle,
    /// Changes seen over time watched; low when changes hide one another.
    Naive,
    /// Naive, corrected for hidden changes; wants even gaps.
    BiasReduced,
    /// Uses the dates of the last change; needs the column 'last_modified'.
    LastModified,
    /// Method of moments: the rate whose expected number of changed visits equals the observed one.
    Moment,
    /// Posterior mean under a prior learned from all pages.
    Bayes,
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::Mle => Method::MaximumLikelihood,
            MethodArg::Naive => Method::Naive,
            MethodArg::BiasReduced => Method::BiasReduced,
            MethodArg::LastModified => Method::LastModified,
            MethodArg::Moment => Method::Moment,
            MethodArg::Bayes => Method::Bayes,
        }
    }
}

#[derive(Serialize)]
struct Row<'a> {
    page: &'a str,
    change_rate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let log = Log::read(&args.visits, args.method)?;
    let busy = progress::spinner("estimating");
    let (by_page, ignored) = log.by_page();
    let rates = match args.method {
        MethodArg::Bayes => log.pooled(&by_page),
        method => log.alone(&by_page, method.into()),
    };
    busy.finish_and_clear();
    let rows = rates.iter().enumerate().map(|(page, rate)| Row {
        page: log.pages.name(page as u32),
        change_rate: rate.map(|rate| rate.rate),
        low: rate.map(|rate| rate.low),
        high: rate.map(|rate| rate.high),
    });
    let columns = &["page", "change_rate", "low", "high"];
    args.to.write(Outcome { columns, summary: None::<(&(), &str)>, rows })?;
    if ignored > 0 {
        eprintln!("ignored {ignored} visits at the same time as another of their page");
    }
    Ok(())
}

/// Visits as columns, in the order of the file.
#[derive(Default)]
struct Log {
    pages: Ids,
    page: Vec<u32>,
    at: Vec<f64>,
    changed: Vec<bool>,
    /// NaN for an empty cell; no elements if the column is missing.
    last_modified: Vec<f64>,
    /// Host and URL pattern of each page, for method `bayes`; empty for other methods.
    kin: Vec<(u32, u32)>,
}

/// Row numbers grouped by page, each group sorted by time.
struct ByPage {
    rows: Vec<u32>,
    /// End of each page's group in `rows`.
    ends: Vec<usize>,
}

impl ByPage {
    fn of(&self, page: usize) -> &[u32] {
        let start = if page == 0 { 0 } else { self.ends[page - 1] };
        &self.rows[start..self.ends[page]]
    }
}

impl Log {
    fn read(path: &Path, method: MethodArg) -> Result<Self> {
        let mut table = Table::open(path)?;
        let page = table.column("page")?;
        let at = table.column("at")?;
        let changed = table.column("changed")?;
        let dates = match method {
            MethodArg::LastModified => Some(table.column("last_modified")?),
            _ => table.optional("last_modified"),
        };
        let mut kinship = (method == MethodArg::Bayes).then(|| Kinship::new(&table));
        let mut log = Log::default();
        while table.advance()? {
            let (id, is_new) = log.pages.add(table.name(page)?);
            if is_new && let Some(kinship) = &mut kinship {
                log.kin.push(kinship.of(&table)?);
            }
            log.page.push(id);
            log.at.push(table.number(at, &AT)?);
            log.changed.push(table.flag(changed)?);
            if let Some(dates) = dates {
                log.last_modified.push(table.maybe_number(dates, &AT)?.unwrap_or(f64::NAN));
            }
        }
        Ok(log)
    }

    /// Rows grouped by page, and the number of rows ignored because another has the same page and
    /// time.
    fn by_page(&self) -> (ByPage, usize) {
        let mut next = vec![0_usize; self.pages.len()];
        self.page.iter().for_each(|&page| next[page as usize] += 1);
        let mut start = 0;
        for count in &mut next {
            start += std::mem::replace(count, start);
        }
        let mut rows = vec![0_u32; self.page.len()];
        for (row, &page) in self.page.iter().enumerate() {
            rows[next[page as usize]] = row as u32;
            next[page as usize] += 1;
        }
        // After the loop, `next` is the end of each group.
        let mut by_page = ByPage { rows, ends: next };
        let ignored = self.sort_by_time(&mut by_page);
        (by_page, ignored)
    }

    /// Sorts each group by time, stably, and counts rows with the time of their predecessor.
    fn sort_by_time(&self, by_page: &mut ByPage) -> usize {
        let at = |row: u32| self.at[row as usize];
        let (mut rest, mut start, mut equal) = (&mut by_page.rows[..], 0, 0);
        for &end in &by_page.ends {
            let (rows, after) = rest.split_at_mut(end - start);
            if !rows.is_sorted_by(|&a, &b| at(a) <= at(b)) {
                rows.sort_by(|&a, &b| at(a).total_cmp(&at(b)));
            }
            equal += rows.windows(2).filter(|pair| at(pair[0]) >= at(pair[1])).count();
            (rest, start) = (after, end);
        }
        equal
    }

    fn visits(&self, rows: &[u32]) -> Visits {
        let mut visits = Visits::new();
        for row in rows.iter().map(|&row| row as usize) {
            let date = self.last_modified.get(row).copied().filter(|date| !date.is_nan());
            visits.record(self.at[row], self.changed[row], date);
        }
        visits
    }

    /// Estimates each page from its own visits.
    fn alone(&self, by_page: &ByPage, method: Method) -> Vec<Option<RateEstimate>> {
        // These methods ignore the prior.
        let prior = Gamma { shape: 1.0, rate: 1.0 };
        let pages = (0..self.pages.len()).into_par_iter();
        pages.map(|page| estimate(method, &self.visits(by_page.of(page)), &prior)).collect()
    }

    /// Estimates each page with a prior fitted to pages of its host and URL pattern.
    fn pooled(&self, by_page: &ByPage) -> Vec<Option<RateEstimate>> {
        let pages = || (0..self.pages.len()).into_par_iter();
        let member = |page: usize| {
            let (host, pattern) = self.kin[page];
            let counts = *self.visits(by_page.of(page)).counts();
            Member { host: host.into(), pattern: pattern.into(), counts }
        };
        let pool = Pool::fit(&pages().map(member).collect::<Vec<_>>());
        let rate = |page: usize| {
            let (host, pattern) = self.kin[page];
            let prior = pool.as_ref()?.prior(host.into(), pattern.into());
            estimate(Method::Bayes, &self.visits(by_page.of(page)), &prior)
        };
        pages().map(rate).collect()
    }
}

/// Assigns pages to the groups (host, URL pattern) that share a prior.
struct Kinship {
    host: Option<Column>,
    url: Option<Column>,
    hosts: Ids,
    patterns: Ids,
}

impl Kinship {
    fn new(table: &Table) -> Self {
        let (host, url) = (table.optional("host"), table.optional("url"));
        Kinship { host, url, hosts: Ids::default(), patterns: Ids::default() }
    }

    /// Numbers of the current row's host and URL pattern; 0 for a missing column.
    fn of(&mut self, table: &Table) -> Result<(u32, u32)> {
        let url = self.url.map(|column| table.text(column)).transpose()?;
        let host = match (self.host, self.url, url) {
            (Some(host), _, _) => self.hosts.add(table.text(host)?).0,
            (None, Some(column), Some(url)) => {
                let host = host_of(url).map_err(|why| table.refuse(column, &why.to_string()))?;
                self.hosts.add(&host).0
            }
            _ => 0,
        };
        Ok((host, url.map_or(0, |url| self.patterns.add(&url_pattern(url)).0)))
    }
}

fn host_of(url: &str) -> Result<String> {
    match CanonicalUrl::parse(url) {
        Ok(read) => Ok(read.host().to_owned()),
        Err(why) => Err(anyhow!("{} is not a URL: {why}", shown(url))),
    }
}
