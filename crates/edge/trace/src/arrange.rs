//! Sorts tables.
//!
//! Row order in files carries little meaning; in memory there is one order, so that equal traces are
//! equal vectors and equal bytes.

use std::collections::HashMap;

use crate::model::{Change, Count, Signals, Trace, TraceLink, TracePage, Versions};
use crate::truth::Truth;

impl Trace {
    /// Sorts every table except `pages` and `hosts`, to which other tables refer by index. Fill the
    /// vectors in any order, then call this before [`Trace::check`].
    pub fn arrange(&mut self) {
        links(&mut self.links);
        self.clicks.iter_mut().for_each(|rows| counts(rows));
        self.views.iter_mut().for_each(|rows| counts(rows));
        self.changes.iter_mut().for_each(|rows| changes(rows));
        self.versions.iter_mut().for_each(versions);
        self.signals.iter_mut().for_each(signals);
        self.truth.iter_mut().for_each(|rows| truth(rows));
    }
}

/// Sorts unless already sorted, as files written by this crate are.
fn sort_by<T, K: Ord>(rows: &mut [T], key: impl Fn(&T) -> K) {
    if !rows.is_sorted_by_key(&key) {
        rows.sort_unstable_by_key(key);
    }
}

pub(crate) fn links(rows: &mut [TraceLink]) {
    sort_by(rows, |l| (l.source, l.appears, l.page, l.disappears, l.position));
}

pub(crate) fn counts(rows: &mut [Count]) {
    // Stable: rows at the same time keep their order, and an error names the later one.
    if !rows.is_sorted_by_key(|r| (r.page, r.at)) {
        rows.sort_by_key(|r| (r.page, r.at));
    }
}

pub(crate) fn changes(rows: &mut [Change]) {
    sort_by(rows, |r| (r.page, r.at));
}

pub(crate) fn truth(rows: &mut [Truth]) {
    sort_by(rows, |r| (r.page, r.same_as));
}

/// Sorts the rows and their fragments. A table with invalid ranges of fragments is left as it is, for
/// the check to refuse.
pub(crate) fn versions(versions: &mut Versions) {
    if versions.rows.is_sorted_by_key(|r| (r.page, r.at)) {
        return;
    }
    let held = versions.fragments.len() as u64;
    let end = |r: &crate::Version| {
        r.start.checked_add(u64::from(r.added))?.checked_add(u64::from(r.removed))
    };
    if versions.rows.iter().any(|r| end(r).is_none_or(|end| end > held)) {
        return;
    }
    let mut rows = std::mem::take(&mut versions.rows);
    rows.sort_by_key(|r| (r.page, r.at));
    let mut sorted = Versions::default();
    sorted.rows.reserve_exact(rows.len());
    sorted.fragments.reserve_exact(versions.fragments.len());
    for row in &rows {
        sorted.push(row.page, row.at, versions.added(row), versions.removed(row));
    }
    *versions = sorted;
}

/// Sorts the kinds by name, drops unused ones, then sorts the rows. If a row has an unknown kind, the
/// kinds are left as they are, for the check to refuse.
pub(crate) fn signals(signals: &mut Signals) {
    name_kinds(signals);
    sort_by(&mut signals.rows, |r| (r.at, r.page, r.kind));
}

fn name_kinds(signals: &mut Signals) {
    let mut used = vec![false; signals.kinds.len()];
    for row in &signals.rows {
        let Some(used) = used.get_mut(row.kind as usize) else { return };
        *used = true;
    }
    let mut order: Vec<usize> = (0..used.len()).filter(|&kind| used[kind]).collect();
    order.sort_by_key(|&kind| &signals.kinds[kind]);
    let mut numbers = vec![0; used.len()];
    let mut kinds: Vec<Box<str>> = Vec::with_capacity(order.len());
    for kind in order {
        let name = &signals.kinds[kind];
        if kinds.last() != Some(name) {
            kinds.push(name.clone());
        }
        numbers[kind] = kinds.len() as u32 - 1;
    }
    signals.rows.iter_mut().for_each(|row| row.kind = numbers[row.kind as usize]);
    signals.kinds = kinds;
}

/// Sorts pages by id and renumbers their hosts by first mention in that order.
/// Returns the old number of each host. Only for the reader: nothing may refer
/// to a page or host yet.
pub(crate) fn pages(pages: &mut [TracePage], hosts: usize) -> Vec<u32> {
    sort_by(pages, |p| p.id);
    let mut numbers: HashMap<u32, u32> = HashMap::with_capacity(hosts);
    let mut order = Vec::with_capacity(hosts);
    for page in pages {
        page.host = *numbers.entry(page.host).or_insert_with(|| {
            order.push(page.host);
            order.len() as u32 - 1
        });
    }
    order
}
