//! Named experiments: tables and figures of the papers, next to the published figures.
//!
//! Each is a function from a [`Setup`] to a report. Generated webs are
//! calibrated to facts about data, so where a result differs from a paper's the
//! report says so and why; nothing is tuned until it agrees.

mod echo;
mod estimators;
mod frontier;
mod halves;
mod longevity;
mod mixed;
mod orders;
mod reach;
mod reader_changes;
mod refresh_on_line;
mod rhythm;
mod staleness_curves;
mod two_pages;
mod uniform_vs_proportional;

use std::path::Path;

use tidewatch_report::Report;

use crate::LabError;

/// The conditions that all experiments share.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Seed of the first repetition; the next ones count up from it.
    pub seed: u64,
    /// Repetitions.
    pub repeat: u32,
    /// Size of generated webs, as a multiple of the experiment's own setting.
    pub scale: f64,
    /// Folder of a data set.
    pub data: Option<&'a Path>,
    /// Folder of a trace.
    pub trace: Option<&'a Path>,
    /// Says what is being done, for a person who waits.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl Setup<'_> {
    /// The seeds of the repetitions.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..u64::from(self.repeat)).map(move |i| first.wrapping_add(i))
    }
}

/// An experiment that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Setup<'_>) -> Result<Report, LabError>,
}

/// Every experiment.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "orders",
        about: "freshness and age of three visiting orders: formulas against simulation",
        run: orders::run,
    },
    Experiment {
        name: "two-pages",
        about: "the web of two pages: expected benefits and best splits of few visits",
        run: two_pages::run,
    },
    Experiment {
        name: "uniform-vs-proportional",
        about: "equal visits against visits in proportion to change",
        run: uniform_vs_proportional::run,
    },
    Experiment {
        name: "staleness-curves",
        about: "weighted staleness against crawls per page for four populations",
        run: staleness_curves::run,
    },
    Experiment {
        name: "estimators",
        about: "bias of every change-rate estimator",
        run: |setup| Ok(estimators::run(setup)),
    },
    Experiment {
        name: "refresh-on-line",
        about: "refresh policies that estimate while they crawl (--data: folder mdn_site)",
        run: refresh_on_line::run,
    },
    Experiment {
        name: "refresh-rhythm",
        about: "copies whose hosts sleep: what the hours at which pages change are worth",
        run: rhythm::run,
    },
    Experiment {
        name: "echo-table1",
        about: "ECHO and its rivals at three budgets, beside the published figures",
        run: echo::table1::run,
    },
    Experiment {
        name: "echo-parameters",
        about: "what the log push period and other settings of ECHO matter",
        run: echo::parameters::run,
    },
    Experiment {
        name: "echo-window",
        about: "dynamic profit of ECHO and its rivals over windows of five hours",
        run: echo::window::run,
    },
    Experiment {
        name: "echo-real",
        about: "ECHO and its rivals on recorded news sites (--data: folder of the data sets)",
        run: echo::real::run,
    },
    Experiment {
        name: "price-vs-echo",
        about: "one price for every fetch against ECHO, and what each of its parts brings",
        run: echo::price::run,
    },
    Experiment {
        name: "price-vs-longevity",
        about: "one price against curve-fit and oracles at equal cost (--data: folder ota_terms)",
        run: longevity::price::run,
    },
    Experiment {
        name: "price-mixed",
        about: "one price against the best fixed split of the budget on a web of every kind",
        run: mixed::run,
    },
    Experiment {
        name: "reach",
        about: "how few sources reach how many new pages, and which pages last (--trace, --data)",
        run: reach::run,
    },
    Experiment {
        name: "frontier-impact",
        about: "search impact of the frontier's first percents for every method, on two webs",
        run: frontier::impact::run,
    },
    Experiment {
        name: "coverage",
        about: "weighted coverage over time of every order of first fetches",
        run: frontier::coverage::run,
    },
    Experiment {
        name: "graph-real",
        about: "PageRank, walks, coverage and scoped orders on real graphs (--data: folder web_graphs)",
        run: frontier::real::run,
    },
    Experiment {
        name: "lifetimes",
        about: "lifetimes of churning and scrolling content: simulation against closed forms",
        run: |setup| Ok(longevity::lifetimes::run(setup)),
    },
    Experiment {
        name: "longevity-offline",
        about: "cost and staleness of policies that know how pages diverge (--data: folder ota_terms)",
        run: longevity::offline::run,
    },
    Experiment {
        name: "longevity-online",
        about: "curve-fit and bound-based while they learn, by memory a page (--data: folder ota_terms)",
        run: longevity::online::run,
    },
    Experiment {
        name: "longevity-vs-cgm",
        about: "what equal staleness costs by longevity and by change frequency (--data: folder ota_terms)",
        run: longevity::versus::run,
    },
    Experiment {
        name: "reader-changes",
        about: "which byte changes a reader would see, against labels (--data: folder ota_html_pairs)",
        run: reader_changes::run,
    },
];

/// The experiment of that name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
