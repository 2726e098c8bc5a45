//! A crawl's history as a trace: the web as far as the crawl saw it.
//!
//! A page is born when the crawl first knew it and dies when a visit found it gone; a link appears
//! with the first copy that shows it and disappears with the first copy that does not; a page
//! changes when a visit saw a change. So every event is as late as the visit that told it, and
//! events that no visit saw are missing. Clicks and views of a page at the same time are one row.
//! Of the links between partitions, those are there that made a page known.

use rustc_hash::FxHashMap;
use tidewatch_core::calendar::rfc3339;
use tidewatch_core::{Interest, InterestKind, PageId, Time};
use tidewatch_frontier::tape::{Came, Fetched, Input};
use tidewatch_trace::{Change, Count, Host, Trace, TraceLink, TracePage};

use super::{Export, ExportPart, of_store};
use crate::ServiceError;

/// Plays the tapes into a trace: first the pages of all partitions, then what happened to them.
pub(super) fn build(export: &Export) -> Result<Trace, ServiceError> {
    let mut web = Seen::default();
    for part in &export.parts {
        web.add_pages(export, part)?;
    }
    for part in &export.parts {
        web.play(part)?;
        for (source, page) in export.foreign_links(part)? {
            // Partitions do not tell each other where on the page a link is.
            web.link(source.0, page.0, (Time::ZERO, None), None);
        }
    }
    Ok(web.finish())
}

#[derive(Default)]
struct Seen {
    trace: Trace,
    hosts: FxHashMap<String, u32>,
    /// Links shown now, by source: the page they lead to, since when, and their position then.
    shown: FxHashMap<u32, FxHashMap<u32, (Time, Option<u32>)>>,
    end: Time,
}

impl Seen {
    fn add_pages(&mut self, export: &Export, part: &ExportPart) -> Result<(), ServiceError> {
        let tables = of_store(part.store.tables())?;
        let epoch = of_store(tables.meta("epoch"))?.and_then(|epoch| epoch.try_into().ok());
        let start = epoch.map(|epoch| rfc3339(i64::from_le_bytes(epoch)));
        self.trace.start = self.trace.start.take().or(start);
        let mut rows = tables.pages_from(PageId(0));
        for input in of_store(part.store.tape(0))? {
            let Input::Page { at, is_source, weight, .. } = of_store(input)? else { continue };
            let Some(row) = rows.next() else { continue };
            let (page, row) = of_store(row)?;
            let is_linked = row.via.is_some() || export.foreign_via(part, page)?.is_some();
            let host = self.host(part.origin(row.host)?);
            self.trace.pages.push(TracePage {
                id: u64::from(part.number(page).0),
                url: part.url(&row)?.into(),
                host,
                born: at,
                died: None,
                is_source,
                weight,
                is_seed: !is_linked,
            });
        }
        Ok(())
    }

    fn play(&mut self, part: &ExportPart) -> Result<(), ServiceError> {
        for input in of_store(part.store.tape(0))? {
            let input = of_store(input)?;
            self.end = self.end.max(input.at().unwrap_or(self.end));
            match input {
                Input::Fetched(fetched) => self.fetched(part, &fetched),
                Input::Log(log) => log.iter().for_each(|row| self.interest(part, row)),
                _ => {}
            }
        }
        Ok(())
    }

    fn host(&mut self, origin: &str) -> u32 {
        let name = origin.split_once("://").map_or(origin, |(_, name)| name);
        let next = self.trace.hosts.len() as u32;
        let host = *self.hosts.entry(name.to_owned()).or_insert(next);
        if host == next {
            self.trace.hosts.push(Host { name: name.into(), max_rate: None });
        }
        host
    }

    fn interest(&mut self, part: &ExportPart, row: &Interest) {
        let page = part.number(row.page);
        // A page may have been shown elsewhere before the crawl knew it.
        let at = row.at.max(self.trace.pages[page.index()].born);
        let table = match row.kind {
            InterestKind::Click => &mut self.trace.clicks,
            InterestKind::View => &mut self.trace.views,
        };
        table.get_or_insert_default().push(Count { page: page.0, at, count: row.count });
    }

    fn fetched(&mut self, part: &ExportPart, fetched: &Fetched) {
        let (page, at) = (part.number(fetched.page), fetched.at);
        match &fetched.outcome {
            Came::Gone => {
                let died = &mut self.trace.pages[page.index()].died;
                *died = died.or(Some(at));
            }
            Came::Failed(_) => {}
            Came::Content { changed, links, .. } => {
                // The page was gone for a while, which a trace cannot say.
                self.trace.pages[page.index()].died = None;
                if *changed == Some(true) {
                    let changes = self.trace.changes.get_or_insert_default();
                    changes.push(Change { page: page.0, at });
                }
                let shown = self.shown.entry(page.0).or_default();
                let links = links.iter().map(|link| part.number(link.page).0);
                let mut now = FxHashMap::default();
                for (position, to) in (0..).zip(links) {
                    let since = shown.get(&to).copied().unwrap_or((at, Some(position)));
                    now.entry(to).or_insert(since);
                }
                let before = std::mem::replace(shown, now);
                let now = &self.shown[&page.0];
                let ended = before.iter().filter(|(to, _)| !now.contains_key(to));
                let ended = ended.map(|(&to, &since)| (to, since)).collect::<Vec<_>>();
                for (to, since) in ended {
                    self.link(page.0, to, since, Some(at));
                }
            }
        }
    }

    fn link(
        &mut self,
        source: u32,
        page: u32,
        since: (Time, Option<u32>),
        disappears: Option<Time>,
    ) {
        let (appears, position) = since;
        // A link appears no earlier than its target is born; one of no duration is left out.
        let appears = appears.max(self.trace.pages[page as usize].born);
        if disappears.is_none_or(|end| end > appears) {
            self.trace.links.push(TraceLink { source, page, appears, disappears, position });
        }
    }

    fn finish(mut self) -> Trace {
        for (source, links) in std::mem::take(&mut self.shown) {
            for (page, since) in links {
                self.link(source, page, since, None);
            }
        }
        self.trace.name = "crawl".into();
        self.trace.duration = self.end.since(Time::ZERO);
        self.trace.note = Some("A crawl as it saw the web; times are those of its visits.".into());
        for page in &mut self.trace.pages {
            // A page found gone as soon as it was known was never there.
            page.died = page.died.filter(|&died| died > page.born);
        }
        self.trace.arrange();
        let counts = [&mut self.trace.clicks, &mut self.trace.views].into_iter().flatten();
        counts.for_each(merge);
        if let Some(changes) = &mut self.trace.changes {
            changes.dedup();
        }
        self.trace
    }
}

/// Adds up rows of a page at the same time, which are neighbours.
fn merge(rows: &mut Vec<Count>) {
    rows.dedup_by(|row, first| {
        let is_same = (row.page, row.at) == (first.page, first.at);
        if is_same {
            first.count += row.count;
        }
        is_same
    });
}
