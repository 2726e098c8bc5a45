//! Fetch rates under a budget per unit time.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde::Serialize;
use tidewatch_science::allocate::{AllocateError, Allocation, Pages, allocate};

use super::{AMOUNT, AMOUNT_OR_INF, Args, add_page, explain};
use crate::ids::Ids;
use crate::progress;
use crate::table_in::{Table, shown};
use crate::table_out::Outcome;

#[derive(Serialize)]
struct Summary {
    price: f64,
    spent: f64,
    unspent: f64,
    given_up: usize,
}

#[derive(Serialize)]
struct Row<'a> {
    page: &'a str,
    rate: f64,
}

pub(super) fn run(args: &Args, budget: f64) -> Result<()> {
    let hosts = args.host_cap.as_deref().map(Hosts::read).transpose()?;
    let input = Input::read(&args.pages, hosts.as_ref())?;
    let busy = progress::spinner("allocating");
    let caps = hosts.as_ref().map(|hosts| hosts.caps.as_slice());
    let allocation = allocate(&input.columns(), budget, args.objective.into(), caps)
        .map_err(|error| name_host(error, hosts.as_ref(), &input.pages))?;
    busy.finish_and_clear();
    let Allocation { price, spent, unspent, given_up, .. } = allocation;
    let summary = Summary { price, spent, unspent, given_up };
    let rows = allocation.rates.iter().enumerate();
    let rows = rows.map(|(page, &rate)| Row { page: input.pages.name(page as u32), rate });
    let columns = &["page", "rate"];
    args.to.write(Outcome { columns, summary: Some((&summary, "pages")), rows })?;
    eprintln!("price {price}, spent {spent}, unspent {unspent}, pages given up {given_up}");
    Ok(())
}

/// The pages, one vector per column; empty where the file lacks the column.
#[derive(Default)]
struct Input {
    pages: Ids,
    weight: Vec<f64>,
    change_rate: Vec<f64>,
    min: Vec<f64>,
    max: Vec<f64>,
    host: Vec<u32>,
}

impl Input {
    fn read(path: &Path, hosts: Option<&Hosts>) -> Result<Self> {
        let mut table = Table::open(path)?;
        let page = table.column("page")?;
        let weight = table.column("weight")?;
        let change_rate = table.column("change_rate")?;
        let (min, max) = (table.optional("min"), table.optional("max"));
        let host = hosts.map(|hosts| Ok::<_, anyhow::Error>((hosts, table.column("host")?)));
        let host = host.transpose()?;
        let mut input = Input::default();
        while table.advance()? {
            add_page(&mut input.pages, &table, page)?;
            input.weight.push(table.number(weight, &AMOUNT)?);
            input.change_rate.push(table.number(change_rate, &AMOUNT_OR_INF)?);
            let mut least = 0.0;
            if let Some(min) = min {
                least = table.maybe_number(min, &AMOUNT)?.unwrap_or(0.0);
                input.min.push(least);
            }
            if let Some(max) = max {
                let most = table.maybe_number(max, &AMOUNT_OR_INF)?.unwrap_or(f64::INFINITY);
                if most < least {
                    return Err(table.not(max, &format!("at least the page's min, {least}")));
                }
                input.max.push(most);
            }
            if let Some((hosts, column)) = host {
                input.host.push(hosts.row(table.text(column)?));
            }
        }
        Ok(input)
    }

    fn columns(&self) -> Pages<'_> {
        let given = |column| Some(column).filter(|column: &&Vec<f64>| !column.is_empty());
        Pages {
            min: given(&self.min).map(Vec::as_slice),
            max: given(&self.max).map(Vec::as_slice),
            // Empty without caps, when the column is not read.
            host: Some(&self.host[..]).filter(|host| host.len() == self.weight.len()),
            ..Pages::new(&self.weight, &self.change_rate)
        }
    }
}

/// Hosts and their caps; the last cap, infinite, stands for hosts that are not listed.
struct Hosts {
    names: Ids,
    caps: Vec<f64>,
}

impl Hosts {
    fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let (host, max_rate) = (table.column("host")?, table.column("max_rate")?);
        let mut hosts = Hosts { names: Ids::default(), caps: Vec::new() };
        while table.advance()? {
            let name = table.name(host)?;
            if !hosts.names.add(name).1 {
                let why = format!("the host {} has a row already", shown(name));
                return Err(table.refuse(host, &why));
            }
            let cap = table.maybe_number(max_rate, &AMOUNT_OR_INF)?;
            hosts.caps.push(cap.unwrap_or(f64::INFINITY));
        }
        hosts.caps.push(f64::INFINITY);
        Ok(hosts)
    }

    fn row(&self, name: &str) -> u32 {
        self.names.get(name).unwrap_or(self.names.len() as u32)
    }
}

/// Replaces row numbers in the library's errors by names of hosts and pages.
fn name_host(error: AllocateError, hosts: Option<&Hosts>, pages: &Ids) -> anyhow::Error {
    match (error, hosts) {
        (AllocateError::HostBelowMinimum { host, minimum, cap }, Some(hosts)) => anyhow!(
            "the minima of the pages of host {} sum to {minimum}, above its cap of {cap}; \
             lower the minima or raise the cap",
            shown(hosts.names.name(host))
        ),
        (error, _) => explain(error, pages),
    }
}
