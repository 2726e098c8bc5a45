//! Pages without end on hosts that have good ones too: facets, calendars, mazes, dead links.

use tidewatch_core::{Time, calendar};
use tidewatch_math::rng::Draws;
use tidewatch_trace::{TraceLink, TruthClass};

use super::web::Web;
use crate::generate::echo::{START_DAY, words};
use crate::generate::shared::instant;

/// Names and numbers of values of the parameters of a list.
const FACETS: [(&str, u32); 4] = [("colour", 5), ("size", 4), ("sort", 3), ("page", 4)];
/// Links from a page of a maze to the next ones.
const MAZE_LINKS: u32 = 8;
/// Folders whose pages are gone.
const DEAD_FOLDERS: [&str; 3] = ["gallery", "archive", "video"];
/// How long a dead link stays on its source.
const DEAD_LINK_S: f64 = 86_400.0;
/// Share of the pages in such a folder that are still there.
const ALIVE: f64 = 0.25;

/// Adds the traps of every host.
pub(super) fn add(web: &mut Web<'_>) {
    let fronts = web.fronts();
    for (host, roles) in (0..).zip(web.roles()) {
        let front = fronts[host as usize];
        let origin = format!("https://{}", web.trace.hosts[host as usize].name);
        if roles.has_facets {
            facets(web, host, &origin, front);
        }
        if roles.has_calendar {
            days(web, host, &origin, front);
        }
        if roles.has_maze {
            maze(web, host, &origin, front);
        }
        if roles.has_missing {
            missing(web, host, &origin);
        }
    }
}

/// A list, and one page for every choice of filters; each links to those that differ in one.
fn facets(web: &mut Web<'_>, host: u32, origin: &str, front: u32) {
    let list = web.add(format!("{origin}/offers/"), host, Time::ZERO, TruthClass::Own);
    web.link(front, list, Time::ZERO);
    let counts = FACETS.map(|(_, count)| count);
    let total: u32 = counts.iter().product();
    let first = web.len();
    for number in 0..total {
        let values = digits(number, counts);
        let pairs = FACETS.iter().zip(values).map(|((name, _), value)| format!("{name}={value}"));
        let query = pairs.collect::<Vec<_>>().join("&");
        web.add(format!("{origin}/offers/?{query}"), host, Time::ZERO, TruthClass::Facet);
    }
    (0..counts[0]).for_each(|choice| web.link(list, first + choice, Time::ZERO));
    for number in 0..total {
        let mut step = 1;
        for count in counts {
            let digit = number / step % count;
            let next = number - digit * step + (digit + 1) % count * step;
            web.link(first + number, first + next, Time::ZERO);
            step *= count;
        }
    }
}

/// The digits of a number in a system of mixed radix, lowest first.
fn digits<const N: usize>(number: u32, radix: [u32; N]) -> [u32; N] {
    let mut rest = number;
    radix.map(|base| {
        let digit = rest % base;
        rest /= base;
        digit
    })
}

/// One page a day, which links to the days before and after and to the next month.
fn days(web: &mut Web<'_>, host: u32, origin: &str, front: u32) {
    let (before, after) = (web.config.calendar_days / 3, web.config.calendar_days);
    let first = web.len();
    for day in 0..before + after {
        let date = START_DAY + i64::from(day) - i64::from(before);
        let (year, month, day) = calendar::date(date);
        let url = format!("{origin}/events/{year}/{month:02}/{day:02}");
        web.add(url, host, Time::ZERO, TruthClass::Calendar);
    }
    web.link(front, first + before, Time::ZERO);
    let end = before + after;
    for day in 0..end {
        for other in [day.checked_sub(1), Some(day + 1), Some(day + 30)].into_iter().flatten() {
            if other < end {
                web.link(first + day, first + other, Time::ZERO);
            }
        }
    }
}

/// A tree of babble, grown downwards; paths are words.
fn maze(web: &mut Web<'_>, host: u32, origin: &str, front: u32) {
    let mut draws = web.draws("unclean.maze", u64::from(host));
    let first = web.len();
    let mut paths = vec![String::new()];
    for number in 0..web.config.maze_pages {
        let parent = number / MAZE_LINKS;
        let [one, two] = words::fillers(&mut draws);
        let folder = if number == 0 { "" } else { paths[parent as usize].as_str() };
        let path =
            if draws.chance(0.5) { format!("{folder}/{one}") } else { format!("/{one}/{two}") };
        let page = web.add(format!("{origin}{path}"), host, Time::ZERO, TruthClass::Maze);
        let source = if number == 0 { front } else { first + parent };
        if page > source && web.truth(page).class == TruthClass::Maze {
            web.link(source, page, Time::ZERO);
        }
        if number == 0 { paths[0] = path } else { paths.push(path) }
    }
}

/// Links on the sources of a host to pages of which most are gone.
fn missing(web: &mut Web<'_>, host: u32, origin: &str) {
    let pages = web.pages_of(host);
    let sources: Vec<u32> = pages.iter().copied().filter(|&p| web.row(p).is_source).collect();
    let count = (web.config.missing_pages * (pages.len() - sources.len()) as f64) as u64;
    let mut draws = web.draws("unclean.missing", u64::from(host));
    for number in 0..count {
        let (url, class) = dead_link(origin, number, &mut draws);
        let at = draws.uniform() * web.trace.duration.seconds();
        let page = web.add(url, host, instant(at), class);
        let source = sources[draws.below(sources.len() as u64) as usize];
        let appears = web.row(page).born;
        let disappears =
            Some(instant(at + DEAD_LINK_S * draws.exponential(1.0))).filter(|&gone| gone > appears);
        web.trace.links.push(TraceLink { source, page, appears, disappears, position: Some(0) });
    }
}

fn dead_link(origin: &str, number: u64, draws: &mut Draws) -> (String, TruthClass) {
    let folder = DEAD_FOLDERS[draws.below(DEAD_FOLDERS.len() as u64) as usize];
    let [one, two] = words::fillers(draws);
    let class = if draws.chance(ALIVE) { TruthClass::Own } else { TruthClass::Missing };
    (format!("{origin}/{folder}/{one}-{two}-{number}"), class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_filters_has_its_number() {
        assert_eq!(digits(0, [5, 4, 3]), [0, 0, 0]);
        assert_eq!(digits(59, [5, 4, 3]), [4, 3, 2]);
        assert_eq!(digits(7, [5, 4, 3]), [2, 1, 0]);
    }
}
