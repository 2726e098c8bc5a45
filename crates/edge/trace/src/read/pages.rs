//! The tables `pages` and `hosts`.

use std::collections::HashMap;

use super::names::Names;
use crate::arrange;
use crate::columns::{hosts, pages};
use crate::error::TraceError;
use crate::locate;
use crate::model::{Host, TracePage};
use crate::rows::Rows;
use crate::rules;
use crate::table::TableFile;

pub(super) struct PagesRead {
    pub(super) pages: Vec<TracePage>,
    pub(super) hosts: Vec<Host>,
    pub(super) seeds_given: bool,
}

pub(super) fn read_pages(file: &TableFile) -> Result<PagesRead, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut names = Names::default();
    let mut pages = Vec::new();
    let seeds_given = rows.has(pages::SEED);
    while rows.advance()? {
        let host = names.number(rows.name(pages::HOST, "the host's name")?);
        let page = TracePage {
            id: rows.id(pages::PAGE)?,
            url: rows.name(pages::URL, "the page's URL")?.into(),
            host,
            born: rows.time(pages::BORN)?,
            died: rows.maybe_time(pages::DIED)?,
            is_source: rows.flag(pages::IS_SOURCE)?,
            weight: rows.amount_or(pages::WEIGHT, 1.0)?,
            is_seed: seeds_given && rows.flag(pages::SEED)?,
        };
        rules::page(&page).map_err(|problem| rows.refuse(problem))?;
        pages.push(page);
        if pages.len() >= u32::MAX as usize {
            return Err(TraceError::file(&file.path, "there are more pages than can be numbered"));
        }
    }
    if pages.is_empty() {
        let problem = "the file has a header but no pages; a trace needs at least one";
        return Err(TraceError::file(&file.path, problem));
    }
    let hosts = order_pages(&mut pages, names.by_number);
    if let Some(pair) = pages.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let id = pair[0].id;
        let same = |rows: &Rows| Ok(rows.id(pages::PAGE)? == id);
        return Err(locate::refuse(file, rules::same_id_twice(id), same));
    }
    pages.shrink_to_fit();
    Ok(PagesRead { pages, hosts, seeds_given })
}

/// Sorts pages by id and numbers hosts by first mention.
fn order_pages(pages: &mut [TracePage], mut names: Vec<Box<str>>) -> Vec<Host> {
    let order = arrange::pages(pages, names.len());
    let name = |old: u32| std::mem::take(&mut names[old as usize]);
    order.into_iter().map(name).map(|name| Host { name, max_rate: None }).collect()
}

pub(super) fn read_hosts(file: &TableFile, known: &mut [Host]) -> Result<(), TraceError> {
    let numbers: HashMap<Box<str>, usize> =
        known.iter().enumerate().map(|(i, host)| (host.name.clone(), i)).collect();
    let mut given = vec![false; known.len()];
    let mut rows = Rows::open(file)?;
    while rows.advance()? {
        let name = rows.name(hosts::HOST, "the host's name")?;
        let Some(&number) = numbers.get(name) else {
            let name = crate::cell::shown(name);
            let text = format!("no page is on host {name}; correct the name or remove the row");
            return Err(rows.wrong(hosts::HOST, text));
        };
        if std::mem::replace(&mut given[number], true) {
            return Err(rows.refuse(rules::host_twice(name)));
        }
        known[number].max_rate = rows.maybe_rate(hosts::MAX_RATE)?;
    }
    Ok(())
}
