//! Which sources show a page, and from when until when.
//!
//! Every source keeps a list: new links enter at the top, old ones leave at the bottom. A link leaves
//! after as many later entries as it has slots, which vary around the source's capacity (editors keep
//! some links longer, preferred ones longest on the front page). A busy source turns over within
//! hours, a slow one within weeks.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use tidewatch_core::Time;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::TraceLink;

use super::config::EchoConfig;
use super::publish::{Birth, key};
use super::site::{Shows, Site};

const LINK: u64 = purpose("echo.link");
/// Mean seconds until the page's own category shows it…
const OWN_LAG_S: f64 = 60.0;
/// …and until another source does that is edited at once.
const PROMPT_LAG_S: f64 = 180.0;
/// Mean hours until another host links to a page.
const PARTNER_LAG_S: f64 = 2.0 * 3600.0;
/// Growth of ln(slots) on a front page with the editors' preference.
const LIKED_STAY: f64 = 0.25;

/// A link entering a source's list.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Number among all sources.
    source: u32,
    /// Number among all births.
    page: u32,
    /// Microseconds from the start, negative before it.
    at: i64,
    /// Number of later entries after which it leaves.
    slots: u32,
}

/// Thresholds of preference above which a page is on the front page and in the side columns.
pub(super) struct Choice {
    front: f64,
    column: f64,
}

/// Thresholds of every site. Those of the side columns are set so that the web has the configured
/// number of links.
pub(super) fn choices(config: &EchoConfig, sites: &[Site], births: &[Vec<Birth>]) -> Vec<Choice> {
    let plain: f64 = sites.iter().zip(births).map(|(site, born)| plain_links(site, born)).sum();
    let pages: f64 = births.iter().map(|born| new(born).count() as f64).sum();
    let wanted = config.links as f64 * config.scale - plain - config.partner_share * pages;
    let columns: f64 = sites
        .iter()
        .zip(births)
        .map(|(site, born)| shown_by(site, Shows::Column) * new(born).count() as f64)
        .sum();
    let share = if columns > 0.0 { (wanted / columns).clamp(0.0, 1.0) } else { 0.0 };
    let choose = |(site, born): (&Site, &Vec<Birth>)| {
        let mut likings: Vec<f64> = born.iter().map(|birth| birth.liking).collect();
        likings.sort_by(|a, b| b.total_cmp(a));
        Choice { front: cut(&likings, site.front_share), column: cut(&likings, share) }
    };
    sites.iter().zip(births).map(choose).collect()
}

fn new(births: &[Birth]) -> impl Iterator<Item = &Birth> {
    births.iter().filter(|birth| birth.at >= 0.0)
}

fn shown_by(site: &Site, shows: Shows) -> f64 {
    site.sources.iter().filter(|source| source.shows == shows).count() as f64
}

/// Links to a site's new pages from all its sources but the side columns.
fn plain_links(site: &Site, births: &[Birth]) -> f64 {
    let always = 1.0 + shown_by(site, Shows::Latest) + site.front_share;
    new(births)
        .map(|birth| {
            let section = site.categories[usize::from(birth.category)]
                .section_of(u64::from(birth.topic))
                .is_some();
            always + f64::from(u8::from(section)) + f64::from(u8::from(birth.second.is_some()))
        })
        .sum()
}

/// The value at a share of descending values; infinite at zero.
fn cut(descending: &[f64], share: f64) -> f64 {
    let count = (share * descending.len() as f64).round() as usize;
    if count == 0 { f64::INFINITY } else { descending[count.min(descending.len()) - 1] }
}

/// All links to the pages of a site; `first` is the number of its first page among all births.
pub(super) fn place(
    config: &EchoConfig,
    seed: u64,
    sites: &[Site],
    (site, births, choice): (&Site, &[Birth], &Choice),
    first: u32,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, birth) in births.iter().enumerate() {
        let draws = Draws::keyed(seed, LINK, key(site, index));
        let mut page = Placing { config, birth, page: first + index as u32, draws };
        for (source, details) in (site.first_source..).zip(&site.sources) {
            if let Some(lag) = page.lag(site, choice, details.shows) {
                let slots = page.slots(details.capacity, details.shows);
                entries.extend(page.entry(source, lag, slots));
            }
        }
        if page.draws.chance(config.partner_share) {
            let partner = &sites[page.draws.below(sites.len() as u64) as usize];
            if partner.number != site.number {
                let lag = page.draws.exponential(1.0 / PARTNER_LAG_S);
                let slots = page.slots(partner.sources[0].capacity, Shows::Front);
                entries.extend(page.entry(partner.first_source, lag, slots));
            }
        }
    }
    entries
}

/// Placement of one page.
struct Placing<'a> {
    config: &'a EchoConfig,
    birth: &'a Birth,
    page: u32,
    draws: Draws,
}

impl Placing<'_> {
    /// Seconds after birth at which a source shows the page, if it does.
    fn lag(&mut self, site: &Site, choice: &Choice, shows: Shows) -> Option<f64> {
        let birth = self.birth;
        let edited = match shows {
            Shows::Category(category) if category == birth.category => {
                return Some(self.draws.exponential(1.0 / OWN_LAG_S));
            }
            Shows::Latest => return Some(self.draws.exponential(1.0 / PROMPT_LAG_S)),
            Shows::Front => birth.liking >= choice.front,
            Shows::Column => birth.liking >= choice.column,
            Shows::Category(category) => birth.second == Some(category),
            Shows::Section { category, part } => {
                let own = &site.categories[usize::from(category)];
                category == birth.category && own.section_of(u64::from(birth.topic)) == Some(part)
            }
            Shows::Quiet => false,
        };
        edited.then(|| self.edited_lag())
    }

    fn edited_lag(&mut self) -> f64 {
        let late = self.draws.chance(self.config.late_share);
        let mean = if late { 3600.0 * self.config.late_hours } else { PROMPT_LAG_S };
        mean * self.draws.exponential(1.0)
    }

    /// Number of later links that push this one out: lognormal around the capacity.
    fn slots(&mut self, capacity: f64, shows: Shows) -> u32 {
        let spread = self.config.stay_spread;
        let chance: f64 = StandardNormal.sample(&mut self.draws);
        let liked = if shows == Shows::Front { LIKED_STAY * self.birth.liking } else { 0.0 };
        let slots = capacity * (spread * chance - 0.5 * spread * spread + liked).exp();
        slots.round().clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// The entry, unless it falls after the end.
    fn entry(&self, source: u32, lag: f64, slots: u32) -> Option<Entry> {
        let at = self.birth.at + lag;
        let in_time = at < self.config.duration.seconds();
        in_time.then(|| Entry { source, page: self.page, at: micros(at), slots })
    }
}

/// Seconds as whole microseconds.
pub(super) fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// The links shown at or after the start, sorted as a trace requires, with pages numbered among all
/// births.
pub(super) fn scroll(mut entries: Vec<Entry>) -> Vec<TraceLink> {
    entries.par_sort_unstable_by_key(|entry| (entry.source, entry.at, entry.page));
    let lists: Vec<&[Entry]> = entries.chunk_by(|a, b| a.source == b.source).collect();
    let links: Vec<Vec<TraceLink>> = lists.par_iter().map(|list| scroll_list(list)).collect();
    links.concat()
}

fn scroll_list(list: &[Entry]) -> Vec<TraceLink> {
    let shown = |(index, entry): (usize, &Entry)| {
        let leaves = list.get(index + entry.slots as usize).map(|pusher| pusher.at);
        let (from, to) = (entry.at.max(0), leaves.unwrap_or(i64::MAX));
        (from < to).then(|| TraceLink {
            source: entry.source,
            page: entry.page,
            appears: instant(from),
            disappears: leaves.map(instant),
            // The newest link is at the top.
            position: Some(0),
        })
    };
    let mut links: Vec<TraceLink> = list.iter().enumerate().filter_map(shown).collect();
    // Links shown since before the start appear at zero.
    links.sort_unstable_by_key(|link| (link.appears, link.page));
    links
}

fn instant(micros: i64) -> Time {
    Time::from_micros(micros.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(page: u32, at: i64, slots: u32) -> Entry {
        Entry { source: 0, page, at, slots }
    }

    fn times(links: &[TraceLink]) -> Vec<(u32, u64, Option<u64>)> {
        let row = |link: &TraceLink| {
            (link.page, link.appears.as_micros(), link.disappears.map(Time::as_micros))
        };
        links.iter().map(row).collect()
    }

    #[test]
    fn a_link_leaves_when_its_slots_are_taken() {
        let links = scroll(vec![entry(2, 30, 1), entry(0, 10, 2), entry(1, 20, 1)]);
        assert_eq!(times(&links), [(0, 10, Some(30)), (1, 20, Some(30)), (2, 30, None)]);
    }

    #[test]
    fn what_was_shown_before_the_start_appears_at_zero_or_is_gone() {
        let list = vec![entry(5, -50, 1), entry(4, -40, 3), entry(3, -30, 2), entry(2, 20, 9)];
        let links = scroll(list);
        assert_eq!(times(&links), [(3, 0, None), (4, 0, None), (2, 20, None)]);
    }

    #[test]
    fn a_cut_passes_the_given_share() {
        let likings = [4.0, 3.0, 2.0, 1.0];
        assert!((cut(&likings, 0.5) - 3.0).abs() < f64::EPSILON);
        assert!(cut(&likings, 0.0).is_infinite());
        assert!((cut(&likings, 1.0) - 1.0).abs() < f64::EPSILON);
        assert!(cut(&[], 0.5).is_infinite());
    }
}
