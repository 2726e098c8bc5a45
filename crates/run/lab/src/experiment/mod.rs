//! Named experiments: tables and figures of the papers, next to the published figures.
//!
//! Each is a function from a [`Setup`] to a report. Generated webs are calibrated to facts about
//! data, never to a paper's results. Every conclusion in a report is computed from the figures of
//! that run.

mod echo;
mod estimators;
mod frontier;
mod hygiene;
mod hygiene_real;
mod longevity;
mod mixed;
mod orders;
mod peers;
mod price_losses;
mod reach;
mod reader_changes;
mod refresh_on_line;
mod rhythm;
mod staleness_curves;
mod two_pages;
mod uniform_vs_proportional;

use std::path::Path;

use tidewatch_math::sum::Estimate;
use tidewatch_report::{Bar, Cell, Report};

use crate::LabError;

/// The conditions that all experiments share.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Seed of the first repetition; the next ones count up from it.
    pub seed: u64,
    /// Repetitions.
    pub repeat: u32,
    /// Size of generated webs, as a multiple of the experiment's default.
    pub scale: f64,
    /// Folder of a data set.
    pub data: Option<&'a Path>,
    /// Folder of a trace.
    pub trace: Option<&'a Path>,
    /// Reports progress.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl Setup<'_> {
    /// The seeds of the repetitions.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..u64::from(self.repeat)).map(move |i| first.wrapping_add(i))
    }

    #[cfg(test)]
    fn small(seed: u64, repeat: u32, scale: f64) -> Self {
        Setup { seed, repeat, scale, data: None, trace: None, say: &|_: &str| {} }
    }
}

/// Mean and 95% interval; the mean alone where one repetition gives no interval.
fn cell(estimate: &Estimate, decimals: usize) -> Cell {
    Cell::plus_minus(estimate.mean, estimate.half_width, decimals)
}

fn bar(estimate: &Estimate) -> Bar {
    Bar::plus_minus(estimate.mean, estimate.half_width)
}

/// How one method compares with another, from their paired difference: the 95% interval decides.
fn against(difference: &Estimate) -> &'static str {
    match difference.interval() {
        (low, _) if low > 0.0 => "ahead of",
        (_, high) if high < 0.0 => "behind",
        _ => "not distinguishable from",
    }
}

/// `+1.2 ± 0.3`; without interval where there is one repetition.
fn signed(difference: &Estimate, decimals: usize) -> String {
    let Estimate { mean, half_width, .. } = difference;
    if half_width.is_nan() {
        format!("{mean:+.decimals$}")
    } else {
        format!("{mean:+.decimals$} ± {half_width:.decimals$}")
    }
}

/// How many simulated figures lie outside their own 95% interval around the exact value.
fn outside_note(outside: usize, figures: usize) -> String {
    format!(
        "± is the 95% interval over repetitions. {outside} of {figures} exact values lie outside \
         it; chance alone puts one in twenty there."
    )
}

/// An experiment and its name.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
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
        about: "freshness gained by learning the hours of the week at which pages change",
        run: rhythm::run,
    },
    Experiment {
        name: "echo-table1",
        about: "ECHO and its rivals at three budgets, beside the published figures",
        run: echo::table1::run,
    },
    Experiment {
        name: "echo-parameters",
        about: "effect of the log push period and other settings of ECHO",
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
        about: "one price for every fetch against ECHO, with ablations",
        run: echo::price::run,
    },
    Experiment {
        name: "price-vs-longevity",
        about: "one price against curve-fit and oracles at equal cost (--data: folder ota_terms)",
        run: longevity::price::run,
    },
    Experiment {
        name: "price-mixed",
        about: "one price against the best fixed split of the budget on a mixed web",
        run: mixed::run,
    },
    Experiment {
        name: "price-losses",
        about: "worlds on which one price was seen to lose to simpler rules (--data: folder mdn_site)",
        run: price_losses::run,
    },
    Experiment {
        name: "peers",
        about: "price, other crawlers' rules and newer policies on worlds of every kind (--data: folder of the data sets)",
        run: peers::run,
    },
    Experiment {
        name: "reach",
        about: "share of new pages that the best sources reach, and how long interest lasts (--trace, --data)",
        run: reach::run,
    },
    Experiment {
        name: "frontier-impact",
        about: "search impact of the first 1 to 10% of the frontier by method, on two webs",
        run: frontier::impact::run,
    },
    Experiment {
        name: "impact-real",
        about: "the same on a real site with real views (--data: folder mdn_site with popularities.json)",
        run: frontier::impact::run_real,
    },
    Experiment {
        name: "coverage",
        about: "weighted coverage over time for every frontier order",
        run: frontier::coverage::run,
    },
    Experiment {
        name: "graph-real",
        about: "PageRank, walks, coverage and scoped orders on real graphs (--data: folder web_graphs)",
        run: frontier::real::run,
    },
    Experiment {
        name: "hygiene",
        about: "nothing, filters and learnt rules against duplicates, traps, mirrors and spam",
        run: hygiene::run,
    },
    Experiment {
        name: "lifetimes",
        about: "lifetimes of churning and scrolling content: simulation against closed forms",
        run: |setup| Ok(longevity::lifetimes::run(setup)),
    },
    Experiment {
        name: "longevity-offline",
        about: "cost and staleness of policies that know each page's divergence curve (--data: folder ota_terms)",
        run: longevity::offline::run,
    },
    Experiment {
        name: "longevity-online",
        about: "on-line curve-fit and bound-based by memory per page (--data: folder ota_terms)",
        run: longevity::online::run,
    },
    Experiment {
        name: "longevity-vs-cgm",
        about: "cost of equal staleness: longevity against change frequency (--data: folder ota_terms)",
        run: longevity::versus::run,
    },
    Experiment {
        name: "hygiene-real",
        about: "renamed articles and redirects recognised by learnt rules (--data: folder of the data sets)",
        run: hygiene_real::run,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_follows_the_interval() {
        let difference = |mean, half_width| Estimate { mean, half_width, n: 3 };
        assert_eq!(against(&difference(0.2, 0.1)), "ahead of");
        assert_eq!(against(&difference(-0.2, 0.1)), "behind");
        assert_eq!(against(&difference(0.2, 0.3)), "not distinguishable from");
        assert_eq!(against(&difference(0.2, f64::NAN)), "not distinguishable from");
        assert_eq!(signed(&difference(0.2, f64::NAN), 1), "+0.2");
        assert_eq!(signed(&difference(-0.2, 0.1), 1), "-0.2 ± 0.1");
    }
}
