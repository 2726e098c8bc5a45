//! Which byte changes would a reader see? The identity of page text, against recorded labels.
//!
//! The label of a pair is whether an archive of legal texts recorded its later snapshot as a new
//! version of the text. The rules of the identity were chosen on one half of the services. The other
//! half was looked at several times meanwhile, so it is not a clean test set: figures on unseen sites
//! may be lower.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use md5::{Digest as _, Md5};
use rayon::prelude::*;
use tidewatch_parse::charset::decode;
use tidewatch_parse::fragments::{Shingling, fragments};
use tidewatch_parse::html::scan;
use tidewatch_parse::reading::{Reader, Reading, Scope};
use tidewatch_report::{Cell, Column, Report, Table};

use super::Setup;
use crate::LabError;
use crate::import::html_pairs::{self, Pair};

/// Share of byte changes that changed the text, over the whole archive. The pairs are a sample in
/// which both kinds are about equally common.
const NATURAL: f64 = 3460.0 / 278_670.0;

/// Confusion matrix of a detector.
#[derive(Clone, Copy, Default)]
struct Counts {
    hit: u32,
    false_alarm: u32,
    missed: u32,
    quiet: u32,
}

impl Counts {
    fn add(&mut self, label: bool, said: bool) {
        let count = match (label, said) {
            (true, true) => &mut self.hit,
            (false, true) => &mut self.false_alarm,
            (true, false) => &mut self.missed,
            (false, false) => &mut self.quiet,
        };
        *count += 1;
    }

    fn precision(self) -> f64 {
        f64::from(self.hit) / f64::from((self.hit + self.false_alarm).max(1))
    }

    fn recall(self) -> f64 {
        f64::from(self.hit) / f64::from((self.hit + self.missed).max(1))
    }

    fn false_alarm_rate(self) -> f64 {
        f64::from(self.false_alarm) / f64::from((self.false_alarm + self.quiet).max(1))
    }

    /// Precision at the natural rate of meaningful changes.
    fn natural_precision(self) -> f64 {
        let (right, wrong) = (self.recall() * NATURAL, self.false_alarm_rate() * (1.0 - NATURAL));
        if right > 0.0 { right / (right + wrong) } else { 0.0 }
    }

    fn cells(self) -> [Cell; 8] {
        [
            Cell::count(self.hit.into()),
            Cell::count(self.false_alarm.into()),
            Cell::count(self.missed.into()),
            Cell::count(self.quiet.into()),
            Cell::number(self.precision(), 3),
            Cell::number(self.recall(), 3),
            Cell::number(self.false_alarm_rate(), 3),
            Cell::number(self.natural_precision(), 3),
        ]
    }
}

/// Whether the rules were chosen on this service: the MD5 of its name begins with an even byte.
/// MD5 records that choice and can be repeated with common tools; nothing here is secret.
fn is_chosen_on(service: &str) -> bool {
    Md5::digest(service.split('/').next().unwrap_or_default())[0].is_multiple_of(2)
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let Some(folder) = setup.data else {
        return Err(LabError::NeedsData { experiment: "reader-changes", folder: "ota_html_pairs" });
    };
    (setup.say)("reading the pairs");
    let set = html_pairs::read(folder)?;
    let read: HashMap<&str, [u64; 2]> = set
        .pages
        .par_iter()
        .map(|(name, body)| {
            let text = decode(body, None).text;
            (name.as_str(), [all_words(&text), fragments(&text, Shingling::default()).identity])
        })
        .collect();
    let bytes = |pair: &Pair| set.pages[&pair.files[0]] != set.pages[&pair.files[1]];
    let differ = |pair: &Pair, by: usize| {
        let [old, new] = [0, 1].map(|i| read[pair.files[i].as_str()][by]);
        old != new
    };
    let words = |pair: &Pair| differ(pair, 0);
    let text = |pair: &Pair| differ(pair, 1);
    let detectors: [(&str, Detector<'_>); 3] = [
        ("byte hash", &bytes),
        ("all words and links", &words),
        ("reader-visible identity", &text),
    ];
    let table = table(&set.pairs, &detectors);
    let all = tally(&set.pairs, &text, |_| true);
    let most = tally(&set.pairs, &words, |_| true);
    Ok(Report::new("Changes that a reader would see")
        .lead(format!(
            "On {} pairs of snapshots whose bytes differ, the reader-visible identity finds \
             meaningful changes with precision {:.2} and recall {:.2}.",
            set.pairs.len(),
            all.precision(),
            all.recall()
        ))
        .section("Against the labels", |section| {
            section.table(table).note(format!(
                "Meaningful changes are {:.2}% of all byte changes in the archive and {:.0}% of these \
                 pairs; the last column is the precision at the former rate, from recall and \
                 false-alarm rate. Labels come from an extraction to Markdown by hand-made rules, which \
                 records link targets, e-mail addresses scrambled at every visit, copyright years and \
                 \"updated 2 months ago\" as changes of the text; a reader-visible identity ignores \
                 those on purpose. In {} of the {} pairs labelled as meaningful no word or link of the \
                 page differs: only formatting or the archive's rules changed. {:.2} is therefore the \
                 highest recall that an identity of words and links can reach; comparing all of them \
                 reaches it at precision {:.2}.",
                100.0 * NATURAL,
                100.0 * f64::from(most.hit + most.missed) / set.pairs.len().max(1) as f64,
                most.missed,
                most.hit + most.missed,
                most.recall(),
                most.precision(),
            ));
        }))
}

/// A hash of every word and link of a page, boilerplate included.
fn all_words(html: &str) -> u64 {
    let mut reading = Reading::new(AllWords::default(), Scope::Everything);
    scan(html, &mut reading);
    reading.reader.end_block();
    reading.reader.hasher.finish()
}

#[derive(Default)]
struct AllWords {
    block: String,
    hasher: DefaultHasher,
}

impl Reader for AllWords {
    fn piece(&mut self, text: &str) {
        self.block.push_str(text);
    }

    fn link(&mut self, target: &str) {
        target.hash(&mut self.hasher);
    }

    fn end_block(&mut self) {
        self.block.split_whitespace().for_each(|word| word.hash(&mut self.hasher));
        self.block.clear();
    }
}

type Detector<'a> = &'a dyn Fn(&Pair) -> bool;

fn tally(pairs: &[Pair], says: Detector<'_>, wanted: impl Fn(&Pair) -> bool) -> Counts {
    let mut counts = Counts::default();
    pairs
        .iter()
        .filter(|pair| wanted(pair))
        .for_each(|pair| counts.add(pair.meaningful, says(pair)));
    counts
}

fn table(pairs: &[Pair], detectors: &[(&str, Detector<'_>)]) -> Table {
    let headers = ["hits", "false alarms", "missed", "rightly quiet"].map(Column::number);
    let rates = ["precision", "recall", "false-alarm rate", "precision at the natural rate"];
    let columns = [Column::text("detector"), Column::text("services")];
    let mut table = Table::new(columns.into_iter().chain(headers).chain(rates.map(Column::number)));
    for (name, says) in detectors {
        let halves: [(&str, Detector<'_>); 3] = [
            ("rules chosen on", &|pair| is_chosen_on(&pair.service)),
            ("other half", &|pair| !is_chosen_on(&pair.service)),
            ("all", &|_| true),
        ];
        for (half, wanted) in halves {
            let counts = tally(pairs, *says, wanted);
            let names = [Cell::text(*name), Cell::text(half)];
            table.push(names.into_iter().chain(counts.cells()));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The halves are fixed: rules were chosen on the first.
    #[test]
    fn a_service_keeps_its_half() {
        // First bytes d4 (RFC 1321: ""), 0c ("a") and f9 ("message digest").
        assert!(is_chosen_on(""));
        assert!(is_chosen_on("a/terms"));
        assert!(!is_chosen_on("message digest/privacy"));
    }
}
