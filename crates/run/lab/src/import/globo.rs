//! `globo-clicks`: clicks of news articles in bins of 20 minutes.
//!
//! Reads a directory of `articles.tsv` (article_id, first_click_ms) and
//! `article_20min_clicks.tsv` (article_id, bin_20min_epoch = Unix seconds / 1200,
//! clicks).
//!
//! Rules, beyond those common to all importers:
//!
//! - **Births.** The data have no publication times; an article is born at its first click. Articles
//!   first clicked in the first three days ([`WARM_UP`]) may be older and are dropped.
//! - **End.** The data end in a thin tail. They count as ended with the bin by which [`BULK`] of all
//!   clicks have come; articles born later are dropped, later clicks of the others are kept.
//! - **Clicks** of a bin are placed in its middle, those of the first bin in the middle of the part
//!   after the birth.
//! - URLs are invented. There are no links: every page is a seed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tidewatch_core::Span;
use tidewatch_trace::Count;

use super::clock::{Moment, Window};
use super::pages::{Pages, made_up};
use super::rows::{Rows, Style};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, input};

const NAME: &str = "globo-clicks";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "clicks of news articles in 20-minute bins: pages born at their first click",
    takes: &[Opt::From, Opt::Length],
    import,
};

const BIN_S: i64 = 1200;
const BIN: Span = Span::from_micros(BIN_S as u64 * 1_000_000);

/// Articles first clicked within this time may be older, as the description of the data says.
const WARM_UP: Span = Span::from_micros(3 * Span::DAY.as_micros());

/// The share of clicks after which the data count as ended.
const BULK: f64 = 0.999;

/// An article and its clicks, in chronological order.
pub(super) struct Curve {
    pub(super) id: u64,
    pub(super) born: Moment,
    pub(super) clicks: Vec<(Moment, f64)>,
}

/// Every kept article, by id.
pub(super) struct Curves {
    pub(super) list: Vec<Curve>,
    /// From the end of the warm-up to the end of the bulk.
    pub(super) first: Moment,
    pub(super) last: Moment,
    articles: u64,
    early: u64,
    bins: u64,
    early_bins: u64,
}

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let all = Curves::read(&args.path)?;
    let window = Window::choose(args, all.first, all.last)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft.note(
        "Clicks of news articles in 20-minute bins; births are first clicks, URLs are invented.",
    );
    all.tell(&mut draft);
    let mut pages = Pages::default();
    let mut clicks = Vec::new();
    let inside = |curve: &&Curve| window.start <= curve.born && curve.born < window.end;
    for curve in all.list.iter().filter(inside) {
        let number = pages.len() as u32;
        let page = pages.push(curve.id, &made_up("globo", curve.id));
        (page.born, page.is_seed) = (window.at(curve.born), true);
        let count = |&(at, count): &(Moment, f64)| Count { page: number, at: window.at(at), count };
        clicks.extend(curve.clicks.iter().map(count));
    }
    draft.fact("articles dropped: born outside the window", all.list.len() - pages.len());
    pages.into_trace(&mut draft.trace);
    draft.trace.clicks = Some(clicks);
    draft.finish()
}

impl Curves {
    pub(super) fn read(dir: &Path) -> Result<Self, ImportError> {
        let (mut births, file) = read_births(dir)?;
        let beginning = births.values().min().copied();
        let beginning = beginning.ok_or_else(|| ImportError::useless(&file, "no articles"))?;
        let first = beginning.plus(WARM_UP);
        let articles = births.len() as u64;
        let early = births.values().filter(|&&born| born < first).count() as u64;
        let mut all = Curves {
            list: Vec::new(),
            first,
            last: first,
            articles,
            early,
            bins: 0,
            early_bins: 0,
        };
        let mut by_id = HashMap::new();
        let totals = all.read_bins(dir, &mut births, &mut by_id)?;
        all.last = end_of_bulk(totals).max(first);
        all.list = by_id.into_values().collect();
        all.list.sort_unstable_by_key(|curve| curve.id);
        all.list.iter_mut().for_each(|curve| curve.clicks.sort_unstable_by_key(|c| c.0));
        if all.list.is_empty() {
            let problem = "no article is first clicked after the first three days";
            return Err(ImportError::useless(dir, problem));
        }
        Ok(all)
    }

    /// Returns the clicks of every bin, including those of dropped articles.
    fn read_bins(
        &mut self,
        dir: &Path,
        births: &mut HashMap<u64, Moment>,
        by_id: &mut HashMap<u64, Curve>,
    ) -> Result<Vec<(i64, f64)>, ImportError> {
        let file = input::find(dir, "article_20min_clicks.tsv", NAME)?;
        let mut rows = Rows::open(&file, Style::Tabs, ["article_id", "bin_20min_epoch", "clicks"])?;
        let mut totals: HashMap<i64, f64> = HashMap::new();
        while rows.advance()? {
            let (id, bin, clicks) = (rows.number(0)?, rows.number(1)?, rows.number::<u32>(2)?);
            let &born = births.get(&id).ok_or_else(|| rows.refuse(0, "is not in articles.tsv"))?;
            let at = middle_of_life(bin, born)
                .ok_or_else(|| rows.refuse(1, "is not a bin in which the article was clicked"))?;
            self.bins += 1;
            *totals.entry(bin).or_default() += f64::from(clicks);
            if born < self.first {
                self.early_bins += 1;
                continue;
            }
            let curve = by_id.entry(id).or_insert_with(|| Curve { id, born, clicks: Vec::new() });
            curve.clicks.push((at, f64::from(clicks)));
        }
        Ok(totals.into_iter().collect())
    }

    fn tell(&self, draft: &mut Draft) {
        draft.fact("articles read", self.articles);
        draft.fact("articles dropped: first clicked in the first three days", self.early);
        draft.fact("bins read", self.bins);
        draft.fact("bins dropped with their article", self.early_bins);
    }
}

/// Time of each article's first click, and the file.
fn read_births(dir: &Path) -> Result<(HashMap<u64, Moment>, PathBuf), ImportError> {
    let file = input::find(dir, "articles.tsv", NAME)?;
    let mut rows = Rows::open(&file, Style::Tabs, ["article_id", "first_click_ms"])?;
    let mut births = HashMap::new();
    while rows.advance()? {
        let born = Moment::from_unix_millis(rows.number(1)?)
            .ok_or_else(|| rows.refuse(1, "is not a time; write milliseconds since 1970"))?;
        if births.insert(rows.number(0)?, born).is_some() {
            return Err(rows.refuse(0, "is given twice; keep one row"));
        }
    }
    Ok((births, file))
}

/// The middle of the part of a bin after the article's birth; `None` if the bin ends before, or does
/// not exist.
fn middle_of_life(bin: i64, born: Moment) -> Option<Moment> {
    let start = Moment::from_unix_seconds(bin.checked_mul(BIN_S)?)?;
    let end = start.plus(BIN);
    (born < end).then(|| start.max(born).middle(end))
}

/// The end of the bin by which [`BULK`] of the clicks have come.
fn end_of_bulk(mut totals: Vec<(i64, f64)>) -> Moment {
    totals.sort_unstable_by_key(|total| total.0);
    let all: f64 = totals.iter().map(|total| total.1).sum();
    let mut so_far = 0.0;
    let reached = totals.iter().find(|total| {
        so_far += total.1;
        so_far >= BULK * all
    });
    // `middle_of_life` has checked that the bins are valid.
    let start = reached.and_then(|total| Moment::from_unix_seconds(total.0 * BIN_S));
    start.map_or(Moment::MAX, |start| start.plus(BIN))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;

    /// Day 0 is 1200000 s = bin 1000; the warm-up ends at bin 1216.
    fn files(bins: &str) -> Files {
        let articles = "article_id|first_click_ms\n1|1200000000\n2|1459260000\n3|1462000500\n";
        let bins = format!("article_id|bin_20min_epoch|clicks\n{bins}");
        Files::tabs(&[("articles.tsv", articles), ("article_20min_clicks.tsv", &bins)])
    }

    #[test]
    fn young_articles_become_pages_and_bins_clicks() {
        let files = files("1|1000|5\n1|1300|1\n2|1217|2\n2|1216|7\n3|1218|4\n");
        let imported = run(NAME, &files.args()).unwrap();
        let trace = &imported.trace;
        assert_eq!(trace.start.as_deref(), Some("1970-01-17T21:20:00Z"));
        let births: Vec<_> = trace.pages.iter().map(|p| (p.id, p.born.seconds())).collect();
        assert_eq!(births, [(2, 60.0), (3, 2800.5)]);
        assert_eq!(&*trace.pages[0].url, "https://globo.invalid/2");
        let clicks = trace.clicks.as_deref().unwrap();
        let rows: Vec<_> = clicks.iter().map(|c| (c.page, c.at.seconds(), c.count)).collect();
        // Bin 1216 lasts from 0 to 1200 s, of which article 2 lives from 60 s on.
        assert_eq!(rows, [(0, 630.0, 7.0), (0, 1800.0, 2.0), (1, 3200.25, 4.0)]);
        assert_eq!(fact(&imported, "articles dropped: first clicked in the first three days"), 1);
        assert_eq!(fact(&imported, "bins dropped with their article"), 2);
    }

    #[test]
    fn the_thin_tail_is_dropped() {
        let files = files("2|1216|100000\n2|1300|1\n3|1218|1\n");
        let trace = run(NAME, &files.args()).unwrap().trace;
        assert_eq!(trace.duration, BIN);
        assert_eq!(trace.pages.len(), 1);
        assert_eq!(trace.clicks.as_deref().unwrap().len(), 2);
    }

    #[test]
    fn errors_name_row_and_column() {
        let wrong = |bins: &str| run(NAME, &files(bins).args()).unwrap_err().to_string();
        let unknown = wrong("2|1216|1\n9|1216|1\n");
        assert!(unknown.ends_with(
            "article_20min_clicks.tsv, line 3, column 'article_id': '9' is not in articles.tsv"
        ));
        assert!(wrong("3|1216|1\n").contains("'1216' is not a bin in which"));
        assert!(wrong("2|9223372036854775807|1\n").contains("column 'bin_20min_epoch'"));
        assert!(wrong("2|1216|-1\n").contains("'-1' is not a whole number"));
        assert!(wrong("2|1216\n").contains("line 2: the row has 2 fields where 3 are expected"));
    }
}
