//! A web with everything that is not worth fetching, and the truth about it.
//!
//! Underneath lies an [`echo`] web: news sites, their sources, articles and clicks. Then, by what
//! [`UncleanConfig`] says:
//!
//! 1. [`guides`]: good pages that only articles link to, so that not everything off the sources is waste;
//! 2. [`repeats`]: articles are renamed, linked by second addresses and with session numbers, hosts are
//!    mirrored;
//! 3. [`traps`]: facets, calendars, mazes and dead links on hosts that have good pages too;
//! 4. [`spam`]: parked hosts and link farms;
//! 5. [`contents`]: what every page says.
//!
//! Some hosts have addresses that only look like waste: numbers that are no ids, parameters that name an
//! article. The table `truth` tells every page's class and which page it repeats. All clicks belong to pages with content of their own; who holds a
//! repeat instead serves its readers as well.
//!
//! Nothing but what the web underneath shows at the start is there at time 0, so that a warm start holds
//! no waste.

mod config;
mod contents;
mod guides;
mod repeats;
mod roles;
mod spam;
mod traps;
mod web;

pub use config::UncleanConfig;

use tidewatch_core::{Span, Time};
use tidewatch_trace::{Trace, TruthClass};

use super::echo;
use super::shared::{known, shape};
use super::{Fact, Generated};
use web::Web;

const MOMENT: Span = Span::from_micros(1);
/// When that is there which a warm start must not hold.
const SOON: Time = Time::from_micros(1);

/// Generates the web. Panics if [`UncleanConfig::check`] fails.
pub fn generate(config: &UncleanConfig, seed: u64) -> Generated {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let base = echo::generate(&config.base(), seed).trace;
    let mut web = Web::of(base, config, seed);
    repeats::name(&mut web);
    guides::add(&mut web);
    repeats::rename(&mut web);
    repeats::mirror(&mut web);
    repeats::alias(&mut web);
    repeats::tag_sessions(&mut web);
    traps::add(&mut web);
    spam::add(&mut web);
    contents::add(&mut web);
    let mut trace = web.finish();
    "unclean".clone_into(&mut trace.name);
    trace.note = Some(format!("Synthetic unclean web, scale {}, seed {seed}.", config.scale));
    let facts = facts(&trace);
    Generated { trace, facts }
}

fn facts(trace: &Trace) -> Vec<Fact> {
    let rows = trace.truth.as_deref().unwrap_or_default();
    let of_class = |class| rows.iter().filter(|row| row.class == class).count() as f64;
    let hosts = trace.hosts.len() as f64;
    let own = trace.pages.len() as f64 - rows.len() as f64;
    let renamed = of_class(TruthClass::Renamed);
    let mut facts = vec![
        shape("hosts", hosts, "setting"),
        shape("pages with content of their own", own, "setting"),
        known(
            "share of renamed addresses among articles and guides",
            0.126,
            renamed / (own + renamed),
            "[DEN22]",
        ),
    ];
    for &class in TruthClass::ALL.iter().filter(|class| **class != TruthClass::Own) {
        facts.push(shape(&format!("pages of class {class}"), of_class(class), "setting"));
    }
    facts
}

#[cfg(test)]
mod tests;
