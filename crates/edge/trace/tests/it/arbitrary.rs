//! Random small traces, valid by construction.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_trace::{
    Change, Count, Host, Signals, Trace, TraceLink, TracePage, TraceSignal, Truth, TruthClass,
    Versions,
};

/// Parquet holds times exactly up to here.
const LATEST: u64 = (1 << 51) - 1;

/// Times that are often equal, often whole, sometimes anything.
fn time() -> impl Strategy<Value = Time> {
    let micros = prop_oneof![
        0..4_u64,
        (0..100_u64).prop_map(|s| s * 1_000_000),
        0..1_000_000_000_u64,
        0..=LATEST
    ];
    micros.prop_map(Time::from_micros)
}

fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..100.0, (0..1000_u32).prop_map(f64::from), 0.0..f64::MAX]
}

/// Names with what CSV and TOML must quote.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,3}", "[ -~]{1,8}", "[a\",\n\r\t é…]{1,6}"]
}

type PageRow = (String, u32, Time, Option<u32>, [bool; 2], f64);

fn pages() -> impl Strategy<Value = Vec<TracePage>> {
    let id = prop_oneof![0..20_u64, any::<u64>()];
    let row = (text(), 0..4_u32, time(), any::<Option<u32>>(), any::<[bool; 2]>(), amount());
    btree_map(id, row, 1..8).prop_map(|rows| {
        let mut numbers = BTreeMap::new();
        let build = |(id, row): (u64, PageRow)| {
            let (url, host, born, life, [is_source, is_seed], weight) = row;
            let next = numbers.len() as u32;
            let host = *numbers.entry(host).or_insert(next);
            let life = life.map(|life| Span::from_micros(life.into()));
            let died = life.map(|life| Time::from_micros(LATEST).min(born + life));
            TracePage { id, url: url.into(), host, born, died, is_source, weight, is_seed }
        };
        rows.into_iter().map(build).collect()
    })
}

/// Rows of a page number and a time not before its birth, no two alike.
fn events(pages: &[TracePage]) -> impl Strategy<Value = BTreeSet<(u32, Time)>> + use<> {
    let born: Vec<Time> = pages.iter().map(|page| page.born).collect();
    btree_set((0..born.len() as u32, time()), 0..12).prop_map(move |rows| {
        rows.into_iter().map(|(page, at)| (page, at.max(born[page as usize]))).collect()
    })
}

fn counts(pages: &[TracePage]) -> impl Strategy<Value = Option<Vec<Count>>> + use<> {
    let rows = (events(pages), vec(amount(), 12)).prop_map(|(rows, counts)| {
        let row = |((page, at), count)| Count { page, at, count };
        rows.into_iter().zip(counts).map(row).collect()
    });
    proptest::option::of(rows)
}

fn links(pages: &[TracePage]) -> impl Strategy<Value = Vec<TraceLink>> + use<> {
    let born: Vec<Time> = pages.iter().map(|page| page.born).collect();
    let number = 0..born.len() as u32;
    // One link per pair, some shown again after a while.
    let row = (time(), any::<Option<u16>>(), any::<Option<u16>>(), any::<Option<u32>>());
    btree_map((number.clone(), number), row, 0..12).prop_map(move |rows| {
        let mut links = Vec::new();
        for ((source, page), (appears, shown, again, position)) in rows {
            let appears = appears.max(born[source as usize]).max(born[page as usize]);
            let limit = |time: Time| time.min(Time::from_micros(LATEST));
            let after = |from: Time, span: u16| limit(from + Span::from_micros(span.into()));
            let disappears = shown.map(|span| after(appears, span));
            links.push(TraceLink { source, page, appears, disappears, position });
            let (Some(gone), Some(wait)) = (disappears, again) else { continue };
            let back = after(gone, wait);
            if back > appears {
                links.push(TraceLink { source, page, appears: back, disappears: None, position });
            }
        }
        links
    })
}

/// Each version flips the membership of a few fragments.
fn versions(pages: &[TracePage]) -> impl Strategy<Value = Option<Versions>> + use<> {
    let hash = prop_oneof![0..6_u64, any::<u64>()];
    let flips = vec(btree_set(hash, 0..5), 12);
    let table = (events(pages), flips).prop_map(|(rows, flips)| {
        let mut versions = Versions::default();
        let mut held: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for ((page, at), flips) in rows.into_iter().zip(flips) {
            let held = held.entry(page).or_default();
            let (removed, added): (Vec<u64>, Vec<u64>) =
                flips.into_iter().partition(|hash| held.contains(hash));
            held.extend(&added);
            held.retain(|hash| !removed.contains(hash));
            versions.push(page, at, &added, &removed);
        }
        versions
    });
    proptest::option::of(table)
}

fn signals(pages: &[TracePage]) -> impl Strategy<Value = Option<Signals>> + use<> {
    let kinds = btree_set(text(), 1..4);
    let table = (events(pages), kinds, vec(any::<(u32, bool)>(), 12));
    let table = table.prop_map(|(rows, kinds, picks)| {
        let kinds: Vec<Box<str>> = kinds.into_iter().map(Into::into).collect();
        let mut signals = Signals { kinds, rows: Vec::new() };
        let number = signals.kinds.len() as u32;
        for ((page, at), (pick, both)) in rows.into_iter().zip(picks) {
            let kind = pick % number;
            signals.rows.push(TraceSignal { page, at, kind });
            if both && number > 1 {
                signals.rows.push(TraceSignal { page, at, kind: (kind + 1) % number });
            }
        }
        signals
    });
    proptest::option::of(table)
}

type Pick = ((Option<prop::sample::Index>, prop::sample::Index), bool);

/// The first half of the pages has content that the other half may repeat.
fn truth(pages: &[TracePage]) -> impl Strategy<Value = Option<Vec<Truth>>> + use<> {
    let count = pages.len() as u32;
    let row = (proptest::option::of(any::<prop::sample::Index>()), any::<prop::sample::Index>());
    let rows = vec((row, any::<bool>()), pages.len()).prop_map(move |picks| {
        let first = count.div_ceil(2);
        let row = |(page, pick): (u32, Pick)| -> Option<Truth> {
            let ((class, same), is_declared) = pick;
            let class: TruthClass = *class.as_ref()?.get(TruthClass::ALL);
            let may_repeat = page >= first && class != TruthClass::Own;
            let same_as = may_repeat.then(|| same.index(first as usize) as u32);
            let is_whole = same_as.is_some() || !class.repeats();
            let is_declared = is_declared && same_as.is_some();
            is_whole.then_some(Truth { page, class, same_as, is_declared })
        };
        (0..count).zip(picks).filter_map(row).collect()
    });
    proptest::option::of(rows)
}

/// A valid trace.
pub(crate) fn trace() -> impl Strategy<Value = Trace> {
    pages().prop_flat_map(|pages| {
        let tables = (links(&pages), counts(&pages), counts(&pages));
        let changes = proptest::option::of(events(&pages));
        let contents = (changes, versions(&pages), signals(&pages), truth(&pages));
        let rates = vec(proptest::option::of(1e-9..1e9), 4);
        let manifest = (any::<String>(), 1..=LATEST, any::<bool>(), any::<Option<String>>());
        (Just(pages), tables, contents, rates, manifest).prop_map(assemble)
    })
}

type Tables = (Vec<TraceLink>, Option<Vec<Count>>, Option<Vec<Count>>);
type Contents =
    (Option<BTreeSet<(u32, Time)>>, Option<Versions>, Option<Signals>, Option<Vec<Truth>>);
type Manifest = (String, u64, bool, Option<String>);

fn assemble(
    (pages, (links, clicks, views), (changes, versions, signals, truth), rates, manifest): (
        Vec<TracePage>,
        Tables,
        Contents,
        Vec<Option<f64>>,
        Manifest,
    ),
) -> Trace {
    let (name, duration, dated, note) = manifest;
    let hosts = pages.iter().map(|page| page.host + 1).max().unwrap_or(0);
    let host = |(i, rate): (u32, Option<f64>)| Host {
        name: format!("h{i}, \"quoted\"").into(),
        max_rate: rate.and_then(Rate::per_second),
    };
    let change = |(page, at)| Change { page, at };
    let mut trace = Trace {
        name,
        duration: Span::from_micros(duration),
        start: dated.then(|| "1999-12-31T23:59:59.5+01:00".to_owned()),
        note,
        hosts: (0..hosts).zip(rates).map(host).collect(),
        pages,
        links,
        clicks,
        views,
        changes: changes.map(|rows| rows.into_iter().map(change).collect()),
        versions,
        signals,
        truth,
    };
    trace.arrange();
    trace
}
