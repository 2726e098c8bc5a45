//! Converts public data sets and users' logs to traces.
//!
//! There is one module per format. Each streams its files row by row, keeps only what the trace needs,
//! and returns a [`Trace`] that passes [`Trace::check`]. The same files and options give the same
//! trace.
//!
//! Real records are incomplete: pages are visited every hour, clicks are counted in bins, and the
//! oldest rows belong to pages that existed earlier. The documentation of each importer states how it
//! derives times, and [`Imported::facts`] counts what it read, merged and dropped. Invented parts (a
//! URL, a join of two data sets) are named in [`Imported::notes`] and in the note of the trace.
//!
//! Common rules: a trace covers a window of the data ([`ImportArgs::from`], [`ImportArgs::length`]),
//! whose start is the origin. Events before the start move to the start; events after the end are
//! dropped, except clicks. A change seen by an observation happens at that observation.

pub(crate) mod addresses;
mod bing;
mod clock;
mod cover;
mod de_news;
mod error;
mod globo;
mod graph;
mod hn;
pub(crate) mod html_pairs;
mod input;
mod join;
mod mdn;
mod ota;
mod pages;
mod rank;
mod rows;
mod shown;
#[cfg(test)]
mod testing;
mod visits;

use std::path::PathBuf;
use std::str::FromStr;

use tidewatch_core::Span;
use tidewatch_trace::Trace;

pub use clock::{Moment, NotATime};
pub use error::ImportError;
pub(crate) use rank::pagerank;

/// The default seed.
const DEFAULT_SEED: u64 = 1;

/// Path and options of an import. Options that the format does not support are refused.
#[derive(Clone, Debug, Default)]
pub struct ImportArgs {
    /// Directory or file of the data set, depending on the format.
    pub path: PathBuf,
    /// Start of the trace; the start of the data if `None`.
    pub from: Option<Moment>,
    /// Length of the trace; to the end of the data if `None`.
    pub length: Option<Span>,
    /// Seed of random choices; 1 if `None`.
    pub seed: Option<u64>,
    /// Directory of a globo-clicks data set whose click curves are assigned to the pages.
    pub clicks: Option<PathBuf>,
    /// How click curves are assigned to pages; by rank if `None`.
    pub join: Option<Join>,
    /// Keep changes by commits that touch many pages.
    pub keep_mass_commits: bool,
    /// Time of a change between two visits; the midpoint if `None`.
    pub place: Option<ChangePlace>,
}

impl ImportArgs {
    fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }

    fn is_set(&self, option: Opt) -> bool {
        match option {
            Opt::From => self.from.is_some(),
            Opt::Length => self.length.is_some(),
            Opt::Seed => self.seed.is_some(),
            Opt::Clicks => self.clicks.is_some(),
            Opt::Join => self.join.is_some(),
            Opt::KeepMassCommits => self.keep_mass_commits,
            Opt::Place => self.place.is_some(),
        }
    }
}

/// How click curves of one data set are assigned to pages of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// By rank: the page shown by most sources gets the curve with most clicks.
    #[default]
    Rank,
    /// Every page draws a curve at random.
    Random,
}

/// Time of a change that the second of two visits saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangePlace {
    /// Half-way between them.
    #[default]
    Midpoint,
    /// Uniformly at random.
    Uniform,
}

/// An unknown value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value '{word}'; choose {known}")]
pub struct UnknownChoice {
    word: String,
    known: &'static str,
}

impl FromStr for Join {
    type Err = UnknownChoice;
    fn from_str(word: &str) -> Result<Self, UnknownChoice> {
        match word {
            "rank" => Ok(Join::Rank),
            "random" => Ok(Join::Random),
            _ => Err(UnknownChoice { word: word.to_owned(), known: "rank or random" }),
        }
    }
}

impl FromStr for ChangePlace {
    type Err = UnknownChoice;
    fn from_str(word: &str) -> Result<Self, UnknownChoice> {
        match word {
            "midpoint" => Ok(ChangePlace::Midpoint),
            "uniform" => Ok(ChangePlace::Uniform),
            _ => Err(UnknownChoice { word: word.to_owned(), known: "midpoint or uniform" }),
        }
    }
}

/// An option that some formats take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opt {
    /// [`ImportArgs::from`]
    From,
    /// [`ImportArgs::length`]
    Length,
    /// [`ImportArgs::seed`]
    Seed,
    /// [`ImportArgs::clicks`]
    Clicks,
    /// [`ImportArgs::join`]
    Join,
    /// [`ImportArgs::keep_mass_commits`]
    KeepMassCommits,
    /// [`ImportArgs::place`]
    Place,
}

impl Opt {
    const ALL: [Opt; 7] = [
        Opt::From,
        Opt::Length,
        Opt::Seed,
        Opt::Clicks,
        Opt::Join,
        Opt::KeepMassCommits,
        Opt::Place,
    ];

    /// The name on the command line.
    pub fn flag(self) -> &'static str {
        match self {
            Opt::From => "--from",
            Opt::Length => "--days",
            Opt::Seed => "--seed",
            Opt::Clicks => "--clicks",
            Opt::Join => "--join",
            Opt::KeepMassCommits => "--keep-mass-commits",
            Opt::Place => "--place",
        }
    }
}

/// An imported trace with notes and counts.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The trace; it has passed [`Trace::check`].
    pub trace: Trace,
    /// Origin and invented parts, one sentence each.
    pub notes: Vec<String>,
    /// Counts of the import.
    pub facts: Vec<ImportCount>,
}

/// A count of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportCount {
    /// What was counted.
    pub what: &'static str,
    /// How many.
    pub count: u64,
}

/// Converts one format to traces.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// Name of the format.
    pub name: &'static str,
    /// What it reads, in one line.
    pub about: &'static str,
    /// The options it takes.
    pub takes: &'static [Opt],
    /// Imports. Call [`Importer::run`], which checks the options first.
    pub import: fn(&ImportArgs) -> Result<Imported, ImportError>,
}

/// Every importer.
pub const FORMATS: &[Importer] = &[
    de_news::IMPORTER,
    globo::IMPORTER,
    hn::IMPORTER,
    ota::IMPORTER,
    mdn::IMPORTER,
    graph::IMPORTER,
    bing::IMPORTER,
    visits::IMPORTER,
];

impl Importer {
    /// The importer of that name.
    pub fn named(name: &str) -> Result<&'static Importer, ImportError> {
        FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            ImportError::UnknownFormat { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Imports, unless an option would have no effect.
    pub fn run(&self, args: &ImportArgs) -> Result<Imported, ImportError> {
        let useless = Opt::ALL.iter().find(|&&o| args.is_set(o) && !self.takes.contains(&o));
        if let Some(option) = useless {
            let (format, option) = (self.name, option.flag());
            return Err(ImportError::UselessOption { format, option });
        }
        if args.join.is_some() && args.clicks.is_none() {
            return Err(ImportError::Incomplete { option: "--join", needs: "--clicks" });
        }
        (self.import)(args)
    }
}

/// An import in progress.
#[derive(Default)]
struct Draft {
    trace: Trace,
    notes: Vec<String>,
    facts: Vec<ImportCount>,
}

impl Draft {
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn fact(&mut self, what: &'static str, count: impl TryInto<u64>) {
        // Counts of things in memory fit.
        self.facts.push(ImportCount { what, count: count.try_into().unwrap_or(u64::MAX) });
    }

    /// Names the trace after its window.
    fn cover(&mut self, name: &str, window: clock::Window) {
        name.clone_into(&mut self.trace.name);
        self.trace.duration = window.duration();
        self.trace.start = Some(window.start.to_string());
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        self.trace.note = Some(self.notes.join(" "));
        self.trace.arrange();
        self.trace.check()?;
        Ok(Imported { trace: self.trace, notes: self.notes, facts: self.facts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_lead_to_their_importer() {
        for format in FORMATS {
            assert_eq!(Importer::named(format.name).unwrap().about, format.about);
        }
        let text = Importer::named("warc").unwrap_err().to_string();
        assert!(text.starts_with("unknown format 'warc'; choose one of de-news-hubs, "));
    }

    #[test]
    fn options_without_effect_are_refused() {
        let args = ImportArgs { keep_mass_commits: true, ..ImportArgs::default() };
        let text = Importer::named("globo-clicks").unwrap().run(&args).unwrap_err().to_string();
        assert_eq!(text, "the format globo-clicks does not support --keep-mass-commits");
        let args = ImportArgs { join: Some(Join::Random), ..ImportArgs::default() };
        let text = Importer::named("de-news-hubs").unwrap().run(&args).unwrap_err().to_string();
        assert_eq!(text, "--join has no effect without --clicks");
    }
}
