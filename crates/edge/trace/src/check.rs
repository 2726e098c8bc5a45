//! Checks a trace built in memory by the rules for files.

use tidewatch_core::Time;

use crate::error::{At, Place, TraceError};
use crate::model::{Count, Signals, Trace, TracePage, Versions};
use crate::rules::{self, Problem, Verdict, problem};
use crate::table::Table;
use crate::truth::Truth;

impl Trace {
    /// Checks that every table is sorted, every reference resolves and every rule of the file format
    /// holds; the error names the first row that breaks a rule.
    pub fn check(&self) -> Result<(), TraceError> {
        let end = Time::ZERO + self.duration;
        rules::duration(end).map_err(|text| whole("trace", text))?;
        if let Some(start) = &self.start {
            crate::manifest::check_start(start).map_err(|text| whole("trace", text))?;
        }
        self.check_pages()?;
        self.check_hosts()?;
        self.check_links()?;
        self.check_counts(Table::Clicks, self.clicks.as_deref())?;
        self.check_counts(Table::Views, self.views.as_deref())?;
        self.check_changes()?;
        self.versions.as_ref().map_or(Ok(()), |versions| self.check_versions(versions))?;
        self.signals.as_ref().map_or(Ok(()), |signals| self.check_signals(signals))?;
        self.check_truth(self.truth.as_deref().unwrap_or_default())
    }

    fn check_pages(&self) -> Result<(), TraceError> {
        if self.pages.is_empty() {
            return Err(whole("pages", "a trace needs at least one page".into()));
        }
        if self.pages.len() >= u32::MAX as usize {
            return Err(whole("pages", "there are more pages than a trace can number".into()));
        }
        for (i, page) in self.pages.iter().enumerate() {
            let verdict = rules::page(page).and_then(|()| self.check_page_order(i, page));
            at(Table::Pages, i, verdict)?;
        }
        Ok(())
    }

    fn check_page_order(&self, i: usize, page: &TracePage) -> Verdict {
        match i.checked_sub(1).map(|before| self.pages[before].id) {
            Some(before) if before == page.id => Err(rules::same_id_twice(page.id)),
            Some(before) if before > page.id => Err(problem("page", "pages are sorted by id")),
            _ => Ok(()),
        }
    }

    /// Hosts are numbered by first mention, which also proves each one used.
    fn check_hosts(&self) -> Result<(), TraceError> {
        let mut seen = 0;
        for (i, page) in self.pages.iter().enumerate() {
            let text = "hosts are numbered in the order in which pages first name them";
            let host = page.host as usize;
            let fits = host <= seen && host < self.hosts.len();
            at(Table::Pages, i, if fits { Ok(()) } else { Err(problem("host", text)) })?;
            seen = seen.max(host + 1);
        }
        if seen < self.hosts.len() {
            return at(Table::Hosts, seen, Err(problem("host", "no page is on this host")));
        }
        let mut names = std::collections::HashSet::new();
        for (i, host) in self.hosts.iter().enumerate() {
            at(Table::Hosts, i, check_host(host, names.insert(&host.name)))?;
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), TraceError> {
        let key = |i: usize| {
            let link = &self.links[i];
            (link.source, link.appears, link.page)
        };
        for (i, link) in self.links.iter().enumerate() {
            let verdict = self
                .exists("source", link.source)
                .and_then(|()| self.exists("page", link.page))
                .and_then(|()| rules::link(link, &self.pages))
                .and_then(|()| sorted(i == 0 || key(i - 1) <= key(i), "(source, appears, page)"));
            at(Table::Links, i, verdict)?;
        }
        let Some((_, second)) = rules::overlap(&self.links) else { return Ok(()) };
        let link = &self.links[second];
        let [source, page] = [link.source, link.page].map(|index| self.pages[index as usize].id);
        at(Table::Links, second, Err(rules::shown_twice(source, page, link.appears)))
    }

    fn check_counts(&self, table: Table, rows: Option<&[Count]>) -> Result<(), TraceError> {
        let rows = rows.unwrap_or_default();
        self.check_events(table, rows.iter().map(|row| (row.page, row.at)))?;
        rows.iter().enumerate().try_for_each(|(i, row)| at(table, i, rules::amount(row.count)))
    }

    fn check_changes(&self) -> Result<(), TraceError> {
        let rows = self.changes.as_deref().unwrap_or_default();
        self.check_events(Table::Changes, rows.iter().map(|row| (row.page, row.at)))
    }

    /// Rows by (page, at), no two alike.
    fn check_events(
        &self,
        table: Table,
        rows: impl Iterator<Item = (u32, Time)>,
    ) -> Result<(), TraceError> {
        let mut last = None;
        for (i, row) in rows.enumerate() {
            let (page, time) = row;
            let verdict = self
                .exists("page", page)
                .and_then(|()| rules::event(page, time, &self.pages))
                .and_then(|()| sorted(last.is_none_or(|last| last <= row), "(page, at)"));
            at(table, i, verdict)?;
            if last == Some(row) {
                return at(table, i, Err(rules::twice(table, self.pages[page as usize].id, time)));
            }
            last = Some(row);
        }
        Ok(())
    }

    fn check_versions(&self, versions: &Versions) -> Result<(), TraceError> {
        self.check_events(Table::Versions, versions.rows.iter().map(|row| (row.page, row.at)))?;
        let mut end = 0;
        for (i, row) in versions.rows.iter().enumerate() {
            let in_place = row.start == end;
            let text = "fragments are laid out in the order of the rows, as Versions::push does";
            at(Table::Versions, i, if in_place { Ok(()) } else { Err(problem("added", text)) })?;
            end += u64::from(row.added) + u64::from(row.removed);
        }
        if end != versions.fragments.len() as u64 {
            let text = "rows and fragments do not add up; build them with Versions::push";
            return Err(whole("versions", text.into()));
        }
        rules::contents(versions, &self.pages)
            .or_else(|(i, found)| at(Table::Versions, i, Err(found)))
    }

    fn check_signals(&self, signals: &Signals) -> Result<(), TraceError> {
        let mut used = vec![false; signals.kinds.len()];
        let rows = &signals.rows;
        for (i, row) in rows.iter().enumerate() {
            let known = used.get_mut(row.kind as usize).map(|used| *used = true);
            let key = |i: usize| (rows[i].at, rows[i].page, rows[i].kind);
            let verdict = self
                .exists("page", row.page)
                .and_then(|()| rules::event(row.page, row.at, &self.pages))
                .and_then(|()| known.ok_or_else(|| problem("kind", "no such kind")))
                .and_then(|()| sorted(i == 0 || key(i - 1) <= key(i), "(at, page, kind)"));
            at(Table::Signals, i, verdict)?;
        }
        let named = signals.kinds.iter().all(|kind| !kind.is_empty());
        if !named || !signals.kinds.is_sorted_by(|a, b| a < b) || used.contains(&false) {
            let text = "kinds have names, ascending, and are all used; call Trace::arrange";
            return Err(whole("signals", text.into()));
        }
        let Some(second) = rules::repeated_signal(rows) else { return Ok(()) };
        let (row, id) = (rows[second], self.pages[rows[second].page as usize].id);
        let kind = &signals.kinds[row.kind as usize];
        at(Table::Signals, second, Err(rules::same_signal_twice(id, row.at, kind)))
    }

    fn check_truth(&self, rows: &[Truth]) -> Result<(), TraceError> {
        for (i, row) in rows.iter().enumerate() {
            let verdict = self
                .exists("page", row.page)
                .and_then(|()| self.exists("same_as", row.same_as.unwrap_or(0)))
                .and_then(|()| rules::truth(row, &self.pages))
                .and_then(|()| sorted(i == 0 || rows[i - 1].page <= row.page, "page"));
            at(Table::Truth, i, verdict)?;
        }
        rules::truths(rows, &self.pages).or_else(|(i, found)| at(Table::Truth, i, Err(found)))
    }

    fn exists(&self, column: &'static str, page: u32) -> Verdict {
        let pages = self.pages.len();
        if (page as usize) < pages {
            return Ok(());
        }
        Err(problem(column, format!("page number {page} is beyond the {pages} pages of the trace")))
    }
}

fn check_host(host: &crate::Host, new: bool) -> Verdict {
    if host.name.is_empty() {
        return Err(problem("host", "the name is empty"));
    }
    if host.max_rate.is_some_and(|rate| crate::cell::positive_rate(rate.as_per_second()).is_none())
    {
        return Err(problem("max_rate", "a rate of 0 would never fetch; use None for no limit"));
    }
    if new { Ok(()) } else { Err(rules::host_twice(&host.name)) }
}

fn sorted(holds: bool, order: &str) -> Verdict {
    let text = || format!("the rows are not sorted by {order}; call Trace::arrange");
    if holds { Ok(()) } else { Err(Problem { column: None, text: text() }) }
}

fn at(table: Table, index: usize, verdict: Verdict) -> Result<(), TraceError> {
    verdict.map_err(|Problem { column, text }| {
        let place = Place { file: table.name().to_owned(), at: At::Row(index as u64 + 1), column };
        TraceError::Invalid { place, problem: text }
    })
}

fn whole(table: &str, problem: String) -> TraceError {
    let place = Place { file: table.to_owned(), at: At::Whole, column: None };
    TraceError::Invalid { place, problem }
}
