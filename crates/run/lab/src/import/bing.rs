//! `bing-changes`: fourteen weeks of daily visits by a search engine's crawler, with change bits
//! and importance, as published with `[K19]`.
//!
//! Reads a directory of tables without headers, separated by tabs: `url_urlid_hostid.txt` (URL, URL id,
//! host id), `urlid_imp.txt` (URL id, importance), `urlid_offset_history.txt` (URL id, days from the start
//! to the first visit, list of `[days since the visit before, 1 if changed]`), `host_hostid_isconstrained.txt`
//! (host URL, host id, 1 if the host limits crawlers) and, if there, `urlid_chrate_compl_obs_hist.txt` (URL id,
//! changes a day), which lists the pages whose every change a sitemap announced.
//!
//! Rules, beyond those common to all importers:
//!
//! - **Pages** are the rows of `url_urlid_hostid.txt`, all seeds and as old as the data. Rows of other
//!   tables about other ids are counted and dropped, so a part of the 18 million URLs can be imported
//!   by cutting that one file. Importance is the weight. There are no links.
//! - **Changes** lie between two visits: at the midpoint or, with `--place uniform`, at random. Several
//!   changes between two visits count as one.
//! - **Signals.** The data do not give the times of announcements: a signal `sitemap` is invented at
//!   every change of the pages that a sitemap announced.
//! - Which hosts limit crawlers is known, not how much; their number is a fact of the import.
//! - The data do not say when they start, so the trace has no date.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::{Span, Time};
use tidewatch_math::rng::Draws;
use tidewatch_trace::{Change, Signals, TraceSignal};

use super::clock::{Moment, Window};
use super::pages::{Addresses, Pages};
use super::rows::{Rows, Style};
use super::{ChangePlace, Draft, ImportArgs, ImportError, Imported, Importer, Opt, input};

const NAME: &str = "bing-changes";
const URLS: &str = "url_urlid_hostid.txt";
const HOSTS: &str = "host_hostid_isconstrained.txt";
const IMPORTANCE: &str = "urlid_imp.txt";
const HISTORY: &str = "urlid_offset_history.txt";
const ANNOUNCED: &str = "urlid_chrate_compl_obs_hist.txt";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "daily visits of a search engine: change bits and importance, as published in 2019",
    takes: &[Opt::Length, Opt::Seed, Opt::Place],
    import,
};

/// One page of the data.
struct Url {
    id: u64,
    address: Box<str>,
    weight: f64,
    is_announced: bool,
    changes: Vec<Time>,
}

/// Rows of a table and those about pages that are not imported.
#[derive(Default)]
struct Read {
    rows: u64,
    others: u64,
}

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let find = |file| input::find(&args.path, file, NAME);
    let mut urls = read_urls(&find(URLS)?)?;
    let numbers: HashMap<u64, usize> =
        urls.iter().enumerate().map(|(number, url)| (url.id, number)).collect();
    let weighed = read_importance(&find(IMPORTANCE)?, &mut urls, &numbers)?;
    let mut log =
        History { place: args.place.unwrap_or_default(), seed: args.seed(), end: Time::ZERO };
    let visited = log.read(&find(HISTORY)?, &mut urls, &numbers)?;
    let limited = count_limited(&find(HOSTS)?)?;
    if let Ok(file) = find(ANNOUNCED) {
        read_announced(&file, &mut urls, &numbers)?;
    }
    let origin = Moment::from_unix_seconds(0).unwrap_or(Moment::MAX);
    let last = origin.plus(log.end.since(Time::ZERO));
    let window = Window::choose(args, origin, last)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft.trace.start = None;
    draft.note(
        "Daily visits of a search engine's crawler; changes lie somewhere between two visits.",
    );
    draft.fact("pages read", urls.len());
    draft.fact("rows of importance read", weighed.rows);
    draft.fact("rows of importance dropped: another page", weighed.others);
    draft.fact("histories read", visited.rows);
    draft.fact("histories dropped: another page", visited.others);
    draft.fact("hosts that limit crawlers", limited);
    fill(&mut draft, urls, window);
    draft.finish()
}

/// Pages by ascending id.
fn read_urls(file: &Path) -> Result<Vec<Url>, ImportError> {
    let mut rows = Rows::headless(file, Style::Tabs, ["URL", "URL_ID", "Host_ID"])?;
    let mut urls = Vec::new();
    while rows.advance()? {
        let (address, id) = (rows.text(0)?.into(), rows.number(1)?);
        urls.push(Url { id, address, weight: 1.0, is_announced: false, changes: Vec::new() });
    }
    urls.sort_by_key(|url| url.id);
    if let Some(pair) = urls.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let why = format!("two URLs with the id {}", pair[0].id);
        return Err(ImportError::useless(file, why));
    }
    if urls.is_empty() {
        return Err(ImportError::useless(file, "no URLs"));
    }
    Ok(urls)
}

fn read_importance(
    file: &Path,
    urls: &mut [Url],
    numbers: &HashMap<u64, usize>,
) -> Result<Read, ImportError> {
    let mut rows = Rows::headless(file, Style::Tabs, ["URL_ID", "Importance_score"])?;
    let mut read = Read::default();
    while rows.advance()? {
        read.rows += 1;
        let weight = amount(rows.text(1)?)
            .ok_or_else(|| rows.refuse(1, "is not a score; write a number that is not negative"))?;
        match numbers.get(&rows.number(0)?) {
            Some(&number) => urls[number].weight = weight,
            None => read.others += 1,
        }
    }
    Ok(read)
}

fn read_announced(
    file: &Path,
    urls: &mut [Url],
    numbers: &HashMap<u64, usize>,
) -> Result<(), ImportError> {
    let mut rows = Rows::headless(file, Style::Tabs, ["URL_ID", "Poisson_change_rate"])?;
    while rows.advance()? {
        if let Some(&number) = numbers.get(&rows.number(0)?) {
            urls[number].is_announced = true;
        }
    }
    Ok(())
}

fn count_limited(file: &Path) -> Result<u64, ImportError> {
    let mut rows = Rows::headless(file, Style::Tabs, ["Host_URL", "Host_ID", "Is_constrained"])?;
    let mut limited = 0;
    while rows.advance()? {
        limited += match rows.text(2)? {
            "0" => 0,
            "1" => 1,
            _ => return Err(rows.refuse(2, "is neither 1 nor 0")),
        };
    }
    Ok(limited)
}

/// Reads histories.
struct History {
    place: ChangePlace,
    seed: u64,
    /// The last visit of all.
    end: Time,
}

impl History {
    fn read(
        &mut self,
        file: &Path,
        urls: &mut [Url],
        numbers: &HashMap<u64, usize>,
    ) -> Result<Read, ImportError> {
        let names = ["URL_ID", "First_crawl_time_offset", "Crawl_and_change_history"];
        let mut rows = Rows::headless(file, Style::Tabs, names)?;
        let mut read = Read::default();
        while rows.advance()? {
            read.rows += 1;
            let first = amount(rows.text(1)?).and_then(days).ok_or_else(|| {
                rows.refuse(1, "is not a number of days; write one that is not negative")
            })?;
            let visits = visits(rows.text(2)?).ok_or_else(|| {
                rows.refuse(2, "is not a list of pairs like [[1.5, 0], [0.9, 1]]")
            })?;
            let id = rows.number(0)?;
            let Some(&number) = numbers.get(&id) else {
                read.others += 1;
                continue;
            };
            urls[number].changes = self.changes(id, Time::ZERO + first, &visits);
        }
        Ok(read)
    }

    /// Times of change from the visits of a page.
    fn changes(&mut self, id: u64, first: Time, visits: &[(Span, bool)]) -> Vec<Time> {
        let draws = Draws::of(self.seed, "import.bing", id);
        let mut before = first;
        let mut changes = Vec::new();
        for (visit, &(gap, changed)) in (0..).zip(visits) {
            if changed {
                let part = match self.place {
                    ChangePlace::Midpoint => 0.5,
                    ChangePlace::Uniform => draws.uniform_at(visit),
                };
                let wait = Span::from_seconds(gap.seconds() * part).unwrap_or(Span::ZERO);
                changes.push(before + wait);
            }
            before = before + gap;
        }
        self.end = self.end.max(before);
        changes.dedup();
        changes
    }
}

/// A finite number that is not negative.
fn amount(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// At most a thousand years.
fn days(days: f64) -> Option<Span> {
    Span::from_seconds(days * 86_400.0).filter(|_| days <= 365_250.0)
}

/// `[[gap in days, 0 or 1], …]`.
fn visits(text: &str) -> Option<Vec<(Span, bool)>> {
    let mut rest = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut visits = Vec::new();
    while !rest.is_empty() {
        let (pair, after) = rest.strip_prefix('[')?.split_once(']')?;
        let (gap, changed) = pair.split_once(',')?;
        let changed = match changed.trim() {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        visits.push((days(amount(gap)?)?, changed));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => more.trim_start(),
            None if after.is_empty() => "",
            _ => return None,
        };
    }
    Some(visits)
}

fn fill(draft: &mut Draft, urls: Vec<Url>, window: Window) {
    let (mut pages, mut addresses) = (Pages::default(), Addresses::default());
    let (mut changes, mut hints, mut announced) = (Vec::new(), Vec::new(), 0u64);
    let end = Time::ZERO + window.duration();
    for url in urls {
        let number = pages.len() as u32;
        let page = pages.push(url.id, &addresses.give(&url.address, "bing", url.id));
        (page.is_seed, page.weight) = (true, url.weight);
        announced += u64::from(url.is_announced);
        for at in url.changes.into_iter().filter(|&at| at < end) {
            changes.push(Change { page: number, at });
            if url.is_announced {
                hints.push(TraceSignal { page: number, at, kind: 0 });
            }
        }
    }
    pages.into_trace(&mut draft.trace);
    draft.fact("URLs invented: not valid", addresses.made_up);
    draft.fact("URLs marked: another page had them", addresses.shared);
    draft.fact("pages whose changes are announced", announced);
    draft.trace.changes = Some(changes);
    if announced > 0 {
        draft.note(
            "Announcements are invented: a signal at every change of the pages that have them.",
        );
        draft.trace.signals = Some(Signals { kinds: vec!["sitemap".into()], rows: hints });
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;

    const TABLES: [(&str, &str); 5] = [
        (URLS, "http://a.example/x|5|1\nhttp://b.example/|2|7\nnonsense|9|1\n"),
        (HOSTS, "http://a.example|1|1\nhttp://b.example|7|0\n"),
        (IMPORTANCE, "2|40\n5|7\n77|1\n9|0\n"),
        (HISTORY, "5|0.5|[[1.0, 0], [2.0, 1], [1, 1]]\n2|2|[[4, 0]]\n77|0|[]\n9|1|[]\n"),
        (ANNOUNCED, "5|0.25\n"),
    ];

    fn tables(changed: &str, text: &'static str) -> Files {
        let tables = TABLES.map(|(name, old)| (name, if name == changed { text } else { old }));
        Files::tabs(&tables)
    }

    #[test]
    fn histories_become_changes_and_announcements() {
        let imported = run(NAME, &Files::tabs(&TABLES).args()).unwrap();
        let trace = &imported.trace;
        let pages: Vec<_> = trace.pages.iter().map(|p| (p.id, &*p.url, p.weight)).collect();
        assert_eq!(
            pages,
            [
                (2, "http://b.example/", 40.0),
                (5, "http://a.example/x", 7.0),
                (9, "https://bing.invalid/9", 0.0)
            ]
        );
        // Page 5 is visited at 0.5, 1.5, 3.5 and 4.5 days; the last visit of all is at day 6.
        let days = |time: Time| time.seconds() / 86_400.0;
        let changes: Vec<_> =
            trace.changes.iter().flatten().map(|c| (c.page, days(c.at))).collect();
        assert_eq!(changes, [(1, 2.5), (1, 4.0)]);
        let hints: Vec<_> =
            trace.signals.iter().flat_map(|s| &s.rows).map(|s| (s.page, days(s.at))).collect();
        assert_eq!(hints, changes);
        assert_eq!((trace.duration, trace.start.as_deref()), (Span::DAY.times(6), None));
        assert!(trace.pages.iter().all(|page| page.is_seed && page.born == Time::ZERO));
        for (what, count) in [
            ("pages read", 3),
            ("rows of importance dropped: another page", 1),
            ("histories dropped: another page", 1),
            ("hosts that limit crawlers", 1),
            ("pages whose changes are announced", 1),
            ("URLs invented: not valid", 1),
        ] {
            assert_eq!(fact(&imported, what), count, "{what}");
        }
    }

    #[test]
    fn a_part_of_the_data_and_random_places_can_be_had() {
        let files = Files::tabs(&TABLES);
        let args = ImportArgs { length: Some(Span::DAY.times(3)), ..files.args() };
        assert_eq!(run(NAME, &args).unwrap().trace.changes.unwrap().len(), 1);
        let args = ImportArgs { place: Some(ChangePlace::Uniform), ..files.args() };
        let (one, two) = (run(NAME, &args).unwrap().trace, run(NAME, &args).unwrap().trace);
        assert_eq!(one, two);
        let at = one.changes.unwrap()[0].at.seconds() / 86_400.0;
        assert!(1.5 < at && at < 3.5, "{at}");
    }

    #[test]
    fn errors_name_row_and_column() {
        let wrong = |name, text| run(NAME, &tables(name, text).args()).unwrap_err().to_string();
        for (history, column) in [
            ("5|-1|[]\n", "First_crawl_time_offset"),
            ("5|0|[[1, 2]]\n", "Crawl_and_change_history"),
            ("5|0|[[1, 0],]\n", "Crawl_and_change_history"),
            ("5|0|[[1e9, 0]]\n", "Crawl_and_change_history"),
            ("x|0|[[1, 0]]\n", "URL_ID"),
        ] {
            let text = wrong(HISTORY, history);
            assert!(text.contains(HISTORY) && text.contains("line 1"), "{text}");
            assert!(text.contains(column), "{text}");
        }
        assert!(wrong(URLS, "").contains("no URLs"));
        assert!(wrong(URLS, "u|1|1\nv|1|1\n").contains("two URLs with the id 1"));
        assert!(wrong(IMPORTANCE, "2|many\n").contains("is not a score"));
        assert!(wrong(HOSTS, "h|1|yes\n").contains("is neither 1 nor 0"));
    }
}
