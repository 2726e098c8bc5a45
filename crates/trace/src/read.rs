//! From a directory to a [`Trace`].

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::Time;

use crate::arrange;
use crate::columns::{events, hosts, links, pages};
use crate::error::TraceError;
use crate::ids::Ids;
use crate::locate;
use crate::manifest::{FILE_NAME, Manifest};
use crate::model::{Change, Count, Host, Link, Page, Signal, Signals, Trace, Version, Versions};
use crate::rows::Rows;
use crate::rules::{self, Problem};
use crate::table::{Table, TableFile};

/// Reads and checks the trace in `dir`.
pub fn read(dir: &Path) -> Result<Trace, TraceError> {
    let meta = std::fs::metadata(dir).map_err(|error| crate::write::missing(dir, error))?;
    if !meta.is_dir() {
        return Err(TraceError::file(
            dir,
            "a trace is a directory; give the one that holds 'pages'",
        ));
    }
    let manifest = Manifest::read(dir)?;
    let mut trace = read_tables(dir)?;
    if let Some(Manifest { name, duration, start, note }) = manifest {
        return Ok(Trace { name, duration, start, note, ..trace });
    }
    trace.name = directory_name(dir);
    trace.duration = trace.latest().since(Time::ZERO);
    let path = dir.join(FILE_NAME);
    rules::duration(Time::ZERO + trace.duration).map_err(|text| TraceError::file(&path, text))?;
    Ok(trace)
}

fn directory_name(dir: &Path) -> String {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    full.file_name().map_or("trace".into(), |name| name.to_string_lossy().into_owned())
}

fn read_tables(dir: &Path) -> Result<Trace, TraceError> {
    let file = Table::Pages.find(dir)?.ok_or_else(|| {
        TraceError::file(dir, "there is no table 'pages'; a trace needs pages.csv or pages.parquet")
    })?;
    let mut read = read_pages(&file)?;
    if let Some(file) = Table::Hosts.find(dir)? {
        read_hosts(&file, &mut read.hosts)?;
    }
    let resolve = Resolve { ids: Ids::of(&read.pages), pages: &read.pages };
    let links = Table::Links.find(dir)?.map(|file| read_links(&file, &resolve)).transpose()?;
    let counts = |table: Table| -> Result<Option<Vec<Count>>, TraceError> {
        table.find(dir)?.map(|file| read_counts(&file, &resolve)).transpose()
    };
    let (clicks, views) = (counts(Table::Clicks)?, counts(Table::Views)?);
    let changes =
        Table::Changes.find(dir)?.map(|file| read_changes(&file, &resolve)).transpose()?;
    let versions =
        Table::Versions.find(dir)?.map(|file| read_versions(&file, &resolve)).transpose()?;
    let signals =
        Table::Signals.find(dir)?.map(|file| read_signals(&file, &resolve)).transpose()?;
    let links = links.unwrap_or_default();
    if !read.seeds_given {
        seed(&mut read.pages, &links);
    }
    let PagesRead { pages, hosts, .. } = read;
    let named = Trace::default();
    Ok(Trace { pages, hosts, links, clicks, views, changes, versions, signals, ..named })
}

/// Where no column says so: sources are seeds, and what no link leads to.
fn seed(pages: &mut [Page], links: &[Link]) {
    let mut linked = vec![false; pages.len()];
    for link in links {
        linked[link.page as usize] = true;
    }
    for (page, linked) in pages.iter_mut().zip(linked) {
        page.is_seed = page.is_source || !linked;
    }
}

struct PagesRead {
    pages: Vec<Page>,
    hosts: Vec<Host>,
    seeds_given: bool,
}

fn read_pages(file: &TableFile) -> Result<PagesRead, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut names = Names::default();
    let mut pages = Vec::new();
    let seeds_given = rows.has(pages::SEED);
    while rows.advance()? {
        let host = names.number(rows.name(pages::HOST, "the host's name")?);
        let page = Page {
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

/// Sorts pages by id, numbers hosts by first mention.
fn order_pages(pages: &mut [Page], mut names: Vec<Box<str>>) -> Vec<Host> {
    let order = arrange::pages(pages, names.len());
    let name = |old: u32| std::mem::take(&mut names[old as usize]);
    order.into_iter().map(name).map(|name| Host { name, max_rate: None }).collect()
}

/// Names numbered by first appearance. Neighbouring rows often share one.
#[derive(Default)]
struct Names {
    numbers: HashMap<Box<str>, u32>,
    by_number: Vec<Box<str>>,
    last: u32,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if self.by_number.get(self.last as usize).is_some_and(|last| **last == *name) {
            return self.last;
        }
        self.last = self.numbers.get(name).copied().unwrap_or_else(|| {
            let number = self.by_number.len() as u32;
            self.numbers.insert(name.into(), number);
            self.by_number.push(name.into());
            number
        });
        self.last
    }
}

fn read_hosts(file: &TableFile, known: &mut [Host]) -> Result<(), TraceError> {
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

/// What rows of the other tables refer to.
struct Resolve<'a> {
    ids: Ids,
    pages: &'a [Page],
}

impl Resolve<'_> {
    fn page(&self, rows: &Rows, column: usize) -> Result<u32, TraceError> {
        let id = rows.id(column)?;
        self.ids.get(id).ok_or_else(|| {
            let text = format!("there is no page {id} in the table 'pages'; add it there");
            rows.wrong(column, text)
        })
    }

    fn id(&self, page: u32) -> u64 {
        self.pages[page as usize].id
    }
}

fn read_links(file: &TableFile, resolve: &Resolve<'_>) -> Result<Vec<Link>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut read = Vec::new();
    while rows.advance()? {
        let link = Link {
            source: resolve.page(&rows, links::SOURCE)?,
            page: resolve.page(&rows, links::PAGE)?,
            appears: rows.time(links::APPEARS)?,
            disappears: rows.maybe_time(links::DISAPPEARS)?,
        };
        rules::link(&link, resolve.pages).map_err(|problem| rows.refuse(problem))?;
        read.push(link);
    }
    arrange::links(&mut read);
    if let Some((first, second)) = rules::overlap(&read) {
        return Err(refuse_overlap(file, resolve, &read[first], &read[second]));
    }
    read.shrink_to_fit();
    Ok(read)
}

fn refuse_overlap(file: &TableFile, resolve: &Resolve<'_>, a: &Link, b: &Link) -> TraceError {
    let (source, page) = (resolve.id(b.source), resolve.id(b.page));
    let problem = rules::shown_twice(source, page, b.appears);
    locate::refuse(file, problem, |rows| {
        let ends = rows.id(links::SOURCE)? == source && rows.id(links::PAGE)? == page;
        Ok(ends && [a.appears, b.appears].contains(&rows.time(links::APPEARS)?))
    })
}

/// Follows the times of each page through a table of events.
struct Clocks {
    /// One more than the microsecond of the page's last row; 0 before the first.
    last: Vec<u64>,
    /// Whether a page may have several rows at a time.
    repeats: bool,
}

impl Clocks {
    fn new(resolve: &Resolve<'_>, repeats: bool) -> Self {
        Clocks { last: vec![0; resolve.pages.len()], repeats }
    }

    /// Page and time of the current row, refused if the page's clock goes
    /// backwards, stands still, or starts before its birth.
    fn read(&mut self, rows: &Rows, resolve: &Resolve<'_>) -> Result<(u32, Time), TraceError> {
        let page = resolve.page(rows, events::PAGE)?;
        let at = rows.time(events::AT)?;
        rules::event(page, at, resolve.pages).map_err(|problem| rows.refuse(problem))?;
        let now = at.as_micros() + 1;
        let last = std::mem::replace(&mut self.last[page as usize], now);
        if last > now {
            let last = Time::from_micros(last - 1);
            return Err(rows.refuse(rules::backwards(resolve.id(page), last, at)));
        }
        if last == now && !self.repeats {
            return Err(rows.refuse(rules::twice(rows.table(), resolve.id(page), at)));
        }
        Ok((page, at))
    }
}

fn read_counts(file: &TableFile, resolve: &Resolve<'_>) -> Result<Vec<Count>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        read.push(Count { page, at, count: rows.amount(events::COUNT)? });
    }
    arrange::counts(&mut read);
    read.shrink_to_fit();
    Ok(read)
}

fn read_changes(file: &TableFile, resolve: &Resolve<'_>) -> Result<Vec<Change>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        read.push(Change { page, at });
    }
    arrange::changes(&mut read);
    read.shrink_to_fit();
    Ok(read)
}

fn read_versions(file: &TableFile, resolve: &Resolve<'_>) -> Result<Versions, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Versions::default();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        let start = read.fragments.len() as u64;
        let added = fragments(&rows, events::ADDED, &mut read.fragments)?;
        let removed = fragments(&rows, events::REMOVED, &mut read.fragments)?;
        read.rows.push(Version { page, at, start, added, removed });
    }
    arrange::versions(&mut read);
    rules::contents(&read, resolve.pages)
        .map_err(|(row, problem)| refuse_version(file, resolve, &read.rows[row], problem))?;
    read.rows.shrink_to_fit();
    read.fragments.shrink_to_fit();
    Ok(read)
}

fn refuse_version(
    file: &TableFile,
    resolve: &Resolve<'_>,
    version: &Version,
    problem: Problem,
) -> TraceError {
    let id = resolve.id(version.page);
    locate::refuse(file, problem, |rows| {
        Ok(rows.id(events::PAGE)? == id && rows.time(events::AT)? == version.at)
    })
}

/// Appends the fragment hashes of a cell; how many there are.
fn fragments(rows: &Rows, column: usize, into: &mut Vec<u64>) -> Result<u32, TraceError> {
    let before = into.len();
    for word in rows.text(column)?.split_ascii_whitespace() {
        let digits = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = digits.then(|| u64::from_str_radix(word, 16).ok()).flatten();
        into.push(hash.ok_or_else(|| {
            let word = crate::cell::shown(word);
            let text = format!("{word} is not a fragment hash; write up to 16 hexadecimal digits");
            rows.wrong(column, text)
        })?);
    }
    // A row is too short to hold 2³² hashes.
    Ok((into.len() - before) as u32)
}

fn read_signals(file: &TableFile, resolve: &Resolve<'_>) -> Result<Signals, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, true);
    let mut names = Names::default();
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        let kind = names.number(rows.name(events::KIND, "what kind of signal it is")?);
        read.push(Signal { page, at, kind });
    }
    let mut signals = Signals { kinds: names.by_number, rows: read };
    arrange::signals(&mut signals);
    if let Some(second) = rules::repeated_signal(&signals.rows) {
        return Err(refuse_signal(file, resolve, &signals, signals.rows[second]));
    }
    signals.rows.shrink_to_fit();
    Ok(signals)
}

fn refuse_signal(
    file: &TableFile,
    resolve: &Resolve<'_>,
    signals: &Signals,
    row: Signal,
) -> TraceError {
    let (id, kind) = (resolve.id(row.page), &*signals.kinds[row.kind as usize]);
    locate::refuse(file, rules::same_signal_twice(id, row.at, kind), |rows| {
        let when = rows.id(events::PAGE)? == id && rows.time(events::AT)? == row.at;
        Ok(when && rows.text(events::KIND)? == kind)
    })
}
