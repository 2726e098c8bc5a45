//! Addresses that repeat a page: renamed, aliased, with a session's number, mirrored.

use rustc_hash::FxHashMap;
use tidewatch_core::{Span, Time};
use tidewatch_math::rng::Draws;
use tidewatch_trace::{TraceLink, TruthClass};

use super::roles::{Aliasing, Naming, Roles};
use super::web::Web;
use crate::generate::echo::words;
use crate::generate::shared::instant;

/// Small numbers at the end of addresses.
const SMALL: u64 = 9;
/// Chance that a renamed page is renamed once more.
const AGAIN: f64 = 0.25;
/// Mean hours by which a mirror of another organisation is late.
const MIRROR_LAG_S: f64 = 2.0 * 3600.0;

/// Gives articles the kind of address that their host has.
pub(super) fn name(web: &mut Web<'_>) {
    let roles = web.roles();
    for page in 0..web.len() {
        let row = web.row(page);
        let naming = roles[row.host as usize].naming;
        let Some((folder, slug)) = row.url.rsplit_once('/') else { continue };
        let Some((title, id)) = slug.rsplit_once('-').filter(|_| !row.is_source) else { continue };
        let url = match naming {
            Naming::Plain | Naming::Renames => continue,
            Naming::Numbered => {
                let number = 1 + web.draws("unclean.number", u64::from(page)).below(SMALL);
                format!("{folder}/{title}-{number}")
            }
            Naming::Queried => format!("{folder}/story?id={id}"),
        };
        web.rename(page, url);
    }
}

/// Renames pages: their sources show the new address from then on, the old one keeps working.
pub(super) fn rename(web: &mut Web<'_>) {
    let roles = web.roles();
    let shares: Vec<f64> = (0..roles.len() as u64)
        .map(|host| {
            let (low, high) = web.config.renamed;
            low + (high - low) * web.draws("unclean.renamed", host).uniform()
        })
        .collect();
    let mut steps: FxHashMap<u32, Vec<(Time, u32)>> = FxHashMap::default();
    for page in 0..web.len() {
        let host = web.row(page).host as usize;
        let mut draws = web.draws("unclean.rename", u64::from(page));
        let is_renamed = !web.row(page).is_source
            && roles[host].naming == Naming::Renames
            && draws.chance(shares[host]);
        if is_renamed {
            steps.insert(page, rename_page(web, page, &mut draws));
        }
    }
    relink(web, |link, out| match steps.get(&link.page) {
        Some(steps) => split(link, steps, out),
        None => out.push(link),
    });
}

/// The new addresses of a page, by time.
fn rename_page(web: &mut Web<'_>, page: u32, draws: &mut Draws) -> Vec<(Time, u32)> {
    let (url, host) = (web.row(page).url.clone(), web.row(page).host);
    let mut at = web.row(page).born.seconds();
    let mut steps = Vec::new();
    let (Some((folder, slug)), end) = (url.rsplit_once('/'), web.trace.duration.seconds()) else {
        return steps;
    };
    let mut parts = slug.split('-');
    let (Some(topic), Some(id)) = (parts.next(), parts.next_back()) else { return steps };
    loop {
        at += 3600.0 * web.config.rename_hours * draws.exponential(1.0);
        if at >= end {
            return steps;
        }
        let [one, two] = words::fillers(draws);
        let new = format!("{folder}/{topic}-{one}-{two}-{id}");
        let renamed = web.add_repeat(new, host, TruthClass::Renamed, page);
        if renamed != page && steps.iter().all(|&(_, step)| step != renamed) {
            web.trace.pages[renamed as usize].born = instant(at);
            steps.push((instant(at), renamed));
        }
        if !draws.chance(AGAIN) {
            return steps;
        }
    }
}

/// Replaces every link by those that `make` pushes.
fn relink(web: &mut Web<'_>, mut make: impl FnMut(TraceLink, &mut Vec<TraceLink>)) {
    let links = std::mem::take(&mut web.trace.links);
    let mut made = Vec::with_capacity(links.len());
    links.into_iter().for_each(|link| make(link, &mut made));
    web.trace.links = made;
}

/// A link whose target has another address from each of these times on. A new address stands on top,
/// as an updated article does.
fn split(mut link: TraceLink, steps: &[(Time, u32)], out: &mut Vec<TraceLink>) {
    for &(at, page) in steps {
        if link.disappears.is_some_and(|gone| gone <= at) {
            break;
        }
        if at > link.appears {
            out.push(TraceLink { disappears: Some(at), ..link });
            link.appears = at;
        }
        link.page = page;
    }
    out.push(link);
}

/// Leads the links of some sources to other addresses of the same pages.
pub(super) fn alias(web: &mut Web<'_>) {
    let roles = web.roles();
    let links = std::mem::take(&mut web.trace.links);
    let aliased = links.into_iter().map(|link| {
        let kind = alias_of(web, &roles, &link);
        kind.map_or(link, |kind| {
            let page = aliased(web, kind, &link);
            TraceLink { page, appears: link.appears.max(web.row(page).born), ..link }
        })
    });
    let links: Vec<TraceLink> = aliased.filter(lasts).collect();
    web.trace.links = links;
}

/// Whether a link is shown at all, after it was moved to the birth of its target.
fn lasts(link: &TraceLink) -> bool {
    link.disappears.is_none_or(|gone| gone > link.appears)
}

fn alias_of(web: &Web<'_>, roles: &[Roles], link: &TraceLink) -> Option<Aliasing> {
    let (source, page) = (web.row(link.source), web.row(link.page));
    let kind = roles.get(source.host as usize)?.alias?;
    let is_inside = source.host == page.host && source.is_source && !page.is_source;
    let is_tagged = web.draws("unclean.tagging", u64::from(link.source)).chance(web.config.tagging);
    (is_inside && is_tagged).then_some(kind)
}

fn aliased(web: &mut Web<'_>, kind: Aliasing, link: &TraceLink) -> u32 {
    let (url, host) = (web.row(link.page).url.clone(), web.row(link.page).host);
    let origin = format!("https://{}", web.trace.hosts[host as usize].name);
    let path = &url[origin.len()..];
    let alias = match kind {
        Aliasing::Parameter => with_parameter(&url, "from", &format!("s{}", link.source)),
        Aliasing::Case => {
            let (first, rest) = path[1..].split_at(1);
            format!("{origin}/{}{rest}", first.to_ascii_uppercase())
        }
        Aliasing::Slash if url.contains('?') => url.replacen('?', "/?", 1),
        Aliasing::Slash => format!("{url}/"),
        Aliasing::Print => format!("{origin}/print{path}"),
    };
    web.add_repeat(alias, host, TruthClass::Alias, link.page)
}

fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{name}={value}")
}

/// Puts the number of a session into the links of hosts that do that; every source gets another number
/// from time to time.
pub(super) fn tag_sessions(web: &mut Web<'_>) {
    let roles = web.roles();
    let links = std::mem::take(&mut web.trace.links);
    let mut tagged = Vec::with_capacity(links.len());
    for link in links {
        let (source, page) = (web.row(link.source), web.row(link.page));
        let name = roles.get(source.host as usize).and_then(|roles| roles.session);
        match name.filter(|_| source.host == page.host && source.is_source && !page.is_source) {
            Some(name) => tag_session(web, name, link, &mut tagged),
            None => tagged.push(link),
        }
    }
    web.trace.links = tagged;
}

fn tag_session(web: &mut Web<'_>, name: &str, link: TraceLink, out: &mut Vec<TraceLink>) {
    let period = web.config.session_period;
    let end = Time::ZERO + web.trace.duration;
    let gone = link.disappears.unwrap_or(end).min(end);
    let mut number = link.appears.as_micros() / period.as_micros().max(1);
    loop {
        let (from, to) = (Time::ZERO + period.times(number), Time::ZERO + period.times(number + 1));
        let token = web.draws("unclean.session", u64::from(link.source)).at(number) as u32;
        let (url, host) = (web.row(link.page).url.clone(), web.row(link.page).host);
        let url = with_parameter(&url, name, &format!("{token:08x}"));
        let page = web.add_repeat(url, host, TruthClass::Session, link.page);
        let appears = from.max(link.appears).max(web.row(page).born);
        let piece = TraceLink { page, appears, disappears: Some(to.min(gone)), ..link };
        if lasts(&piece) {
            out.push(piece);
        }
        if to >= gone {
            return;
        }
        number += 1;
    }
}

/// Copies hosts: same paths, same content.
pub(super) fn mirror(web: &mut Web<'_>) {
    let roles = web.roles();
    let fronts = web.fronts();
    for host in (0..roles.len() as u32).filter(|&host| roles[host as usize].is_mirrored) {
        let mut draws = web.draws("unclean.mirror", u64::from(host));
        let is_own = draws.chance(web.config.own_mirrors);
        let name = &web.trace.hosts[host as usize].name;
        let (name, frame) = if is_own {
            (format!("m.{name}"), Some(web.frame(host)))
        } else {
            (format!("copy-{host:03}.example"), None)
        };
        let lag = if is_own { 0.0 } else { MIRROR_LAG_S * draws.exponential(1.0) };
        let lag = Span::from_seconds(lag).unwrap_or(Span::ZERO);
        let copies = copy_host(web, host, name, frame, lag);
        copy_links(web, &copies, lag);
        let from = fronts[draws.below(fronts.len() as u64) as usize];
        let at = instant(0.2 * draws.uniform() * web.trace.duration.seconds());
        if let Some(&front) = copies.get(&fronts[host as usize]) {
            web.link(from, front, at);
        }
    }
}

/// The copies of a host's pages.
fn copy_host(
    web: &mut Web<'_>,
    host: u32,
    name: String,
    frame: Option<u32>,
    lag: Span,
) -> FxHashMap<u32, u32> {
    let origin = format!("https://{}", web.trace.hosts[host as usize].name);
    let own = format!("https://{name}");
    let copy = web.add_host(name, frame);
    let mut copies = FxHashMap::default();
    for page in web.pages_of(host) {
        let url = format!("{own}{}", &web.row(page).url[origin.len()..]);
        let mirrored = web.add_repeat(url, copy, TruthClass::Mirror, page);
        let born = (web.row(page).born + lag).max(super::SOON);
        let is_source = web.row(page).is_source;
        let row = &mut web.trace.pages[mirrored as usize];
        (row.born, row.is_source) = (born, is_source);
        copies.insert(page, mirrored);
    }
    copies
}

fn copy_links(web: &mut Web<'_>, copies: &FxHashMap<u32, u32>, lag: Span) {
    let copied = web.trace.links.iter().filter_map(|link| {
        let (source, page) = (*copies.get(&link.source)?, *copies.get(&link.page)?);
        let appears = (link.appears + lag).max(web.row(source).born).max(web.row(page).born);
        let disappears = link.disappears.map(|gone| gone + lag);
        Some(TraceLink { source, page, appears, disappears, ..*link })
    });
    let copied: Vec<TraceLink> = copied.filter(lasts).collect();
    web.trace.links.extend(copied);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn link(appears: u64, disappears: Option<u64>) -> TraceLink {
        let (appears, disappears) = (at(appears), disappears.map(at));
        TraceLink { source: 0, page: 1, appears, disappears, position: Some(0) }
    }

    fn pieces(link: TraceLink) -> Vec<(u32, u64, Option<u64>)> {
        let mut out = Vec::new();
        split(link, &[(at(10), 2), (at(20), 3)], &mut out);
        let seconds = |time: Time| time.as_micros() / 1_000_000;
        let piece = |l: &TraceLink| (l.page, seconds(l.appears), l.disappears.map(seconds));
        out.iter().map(piece).collect()
    }

    #[test]
    fn a_link_follows_the_names_of_its_page() {
        let whole = [(1, 5, Some(10)), (2, 10, Some(20)), (3, 20, None)];
        assert_eq!(pieces(link(5, None)), whole);
        assert_eq!(pieces(link(5, Some(15))), [(1, 5, Some(10)), (2, 10, Some(15))]);
        assert_eq!(pieces(link(12, Some(20))), [(2, 12, Some(20))]);
        assert_eq!(pieces(link(30, None)), [(3, 30, None)]);
        assert_eq!(pieces(link(3, Some(10))), [(1, 3, Some(10))]);
    }

    #[test]
    fn parameters_are_added_to_any_url() {
        assert_eq!(with_parameter("https://a.example/x", "s", "1"), "https://a.example/x?s=1");
        assert_eq!(
            with_parameter("https://a.example/x?y=2", "s", "1"),
            "https://a.example/x?y=2&s=1"
        );
    }
}
