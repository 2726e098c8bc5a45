//! ECHO with the true terms of every source: how much does it lose because it has to learn them?

use rustc_hash::FxHashMap;
use tidewatch_core::{PageKey, Time};
use tidewatch_policy::echo::curve::ProfitCurve;
use tidewatch_policy::echo::{Echo, Rule, Settings, Told};

use crate::world::World;

/// Sums over the new pages of a source.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Pages that no other source shows earlier.
    first: f64,
    /// Pages that it shows, clicks on them, and the ages of those clicks in seconds.
    pages: f64,
    clicks: f64,
    ages: f64,
}

/// Decay for sources whose pages are never clicked; their profit is zero, so any value does.
const SOME_DECAY: f64 = 1.0 / 86_400.0;

/// The true terms of every source over the run: clicks of its average new page, how fast they come
/// (the inverse of their mean age), and the rate of pages that it is the first to show, so that
/// Σλ is the rate of new pages however many sources show each.
pub fn source_terms(world: &World) -> FxHashMap<PageKey, Told> {
    let trace = world.trace();
    let is_new = |page: u32| trace.pages[page as usize].born > Time::ZERO;
    let mut first = vec![(Time::NEVER, 0); trace.pages.len()];
    for link in trace.links.iter().filter(|link| is_new(link.page)) {
        let known = &mut first[link.page as usize];
        *known = (*known).min((link.appears, link.source));
    }
    let mut sums: FxHashMap<u32, Sums> = FxHashMap::default();
    for link in trace.links.iter().filter(|link| is_new(link.page)) {
        let sum = sums.entry(link.source).or_default();
        sum.first += f64::from(u8::from(first[link.page as usize].1 == link.source));
        sum.pages += 1.0;
        let born = trace.pages[link.page as usize].born;
        for row in world.clicks_of(link.page) {
            sum.clicks += row.count;
            sum.ages += row.count * row.at.since(born).seconds();
        }
    }
    let duration = trace.duration.seconds();
    let terms = |sum: &Sums| Told {
        curve: Some(ProfitCurve {
            profit: sum.clicks / sum.pages,
            decay: if sum.ages > 0.0 { sum.clicks / sum.ages } else { SOME_DECAY },
        }),
        arrivals: Some(sum.first / duration),
    };
    sums.iter().map(|(&source, sum)| (world.key(source), terms(sum))).collect()
}

/// ECHO by `rule`, with the true terms of all sources: nothing to learn, so no first look.
pub fn known_sources(world: &World, rule: Rule) -> Echo {
    Echo::knowing(rule, Settings { first_look: false, ..Settings::DEFAULT }, source_terms(world))
}

/// ECHO that learns one of the two: how many links sources show, or what these bring.
pub fn partly_known_sources(world: &World, rule: Rule, settings: Settings, learns: Learns) -> Echo {
    let mut truth = source_terms(world);
    for told in truth.values_mut() {
        match learns {
            Learns::Arrivals => told.arrivals = None,
            Learns::Profits => told.curve = None,
        }
    }
    Echo::knowing(rule, settings, truth)
}

/// What a partly told ECHO has to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learns {
    /// New links of every source.
    Arrivals,
    /// Profit and decay of every source.
    Profits,
}
