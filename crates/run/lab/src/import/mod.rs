//! Public data sets and users' logs turned into traces.
//!
//! One module a format. Each streams its files row by row, keeps what the
//! trace needs and no more, and ends with a [`Trace`] that passes
//! [`Trace::check`]. The same files and options give the same trace.
//!
//! Real records are incomplete: pages are seen every hour, not always; clicks
//! are counted in bins; the oldest rows tell of things that began earlier.
//! Every importer states in its module's documentation how it turns such
//! records into times, and counts in [`Imported::facts`] what it read, merged
//! and dropped. Where it makes something up (a URL, a join of two data sets),
//! [`Imported::notes`] says so, and so does the trace's own note.
//!
//! Common rules: a trace covers a window of the data ([`ImportArgs::from`],
//! [`ImportArgs::length`]), whose start is the origin. What began before the
//! start is put at the start; what happens after the end is left out, except
//! clicks, which a trace may have beyond its end. Something that is first seen
//! by an observation is taken to happen at that observation.

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

/// Seed where none is given.
const DEFAULT_SEED: u64 = 1;

/// What to import, and how. An option that the format has no use for is refused.
#[derive(Clone, Debug, Default)]
pub struct ImportArgs {
    /// The data set's directory, or the file, as the format wants it.
    pub path: PathBuf,
    /// Where the trace begins; the beginning of the data if not given.
    pub from: Option<Moment>,
    /// How long it lasts; to the end of the data if not given.
    pub length: Option<Span>,
    /// For what is chosen at random; 1 if not given.
    pub seed: Option<u64>,
    /// Directory of a globo-clicks data set whose click curves are given to the
    /// pages of this one.
    pub clicks: Option<PathBuf>,
    /// How click curves are given to pages; by rank if not given.
    pub join: Option<Join>,
    /// Keep changes by commits that touch very many pages at once.
    pub keep_mass_commits: bool,
    /// Where between two visits a change is put; in the middle if not given.
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

/// How click curves of one data set are given to pages of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// The page shown by most sources gets the curve of most clicks, and so on down.
    #[default]
    Rank,
    /// Every page draws a curve at random.
    Random,
}

/// Where between two visits a change that the second one saw is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangePlace {
    /// Half-way between them.
    #[default]
    Midpoint,
    /// Uniformly at random.
    Uniform,
}

/// A word that names no choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not known here; choose {known}")]
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

    /// As users write it.
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

/// A trace and how it came about.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The trace; it has passed [`Trace::check`].
    pub trace: Trace,
    /// Where it comes from and what about it is made up, one sentence each.
    pub notes: Vec<String>,
    /// What was counted on the way.
    pub facts: Vec<Fact>,
}

/// Something counted during an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Of what.
    pub what: &'static str,
    /// How many.
    pub count: u64,
}

/// Turns one kind of data into traces.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// The name that users choose it by.
    pub name: &'static str,
    /// What it reads, in a line.
    pub about: &'static str,
    /// The options it takes.
    pub takes: &'static [Opt],
    /// Does it. Call [`Importer::run`], which refuses useless options first.
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

    /// Imports, after refusing options that would have no effect.
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

/// An import under way: the trace so far, and what there is to say about it.
#[derive(Default)]
struct Draft {
    trace: Trace,
    notes: Vec<String>,
    facts: Vec<Fact>,
}

impl Draft {
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn fact(&mut self, what: &'static str, count: impl TryInto<u64>) {
        // Counts of things in memory fit.
        self.facts.push(Fact { what, count: count.try_into().unwrap_or(u64::MAX) });
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
        assert!(text.starts_with("there is no format 'warc'; the formats are de-news-hubs, "));
    }

    #[test]
    fn options_without_effect_are_refused() {
        let args = ImportArgs { keep_mass_commits: true, ..ImportArgs::default() };
        let text = Importer::named("globo-clicks").unwrap().run(&args).unwrap_err().to_string();
        assert_eq!(
            text,
            "the format globo-clicks has no use for --keep-mass-commits; leave it out"
        );
        let args = ImportArgs { join: Some(Join::Random), ..ImportArgs::default() };
        let text = Importer::named("de-news-hubs").unwrap().run(&args).unwrap_err().to_string();
        assert_eq!(text, "--join has no effect without --clicks");
    }
}
