//! What hygiene learns from real addresses: renamed articles of news sites, redirects of a
//! documentation site.
//!
//! The data hold addresses, not contents. Which addresses of a news site are one article is judged by
//! the ids in them, read by code of this file that hygiene does not share; what a fetch shows follows
//! from that. So the figures tell how fast and how safely the rules are found on the real mix of
//! addresses, not whether a site serves other articles under the same id.

mod walk;

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};
use tidewatch_core::PageKey;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_hygiene::{Hygiene, Met, Seen, Settings, Showed};
use tidewatch_math::rng::Draws;
use tidewatch_report::{Cell, Column, Report, Section, Table};

use self::walk::{Address, Reliability, Tally, Tells, Walk};
use super::Setup;
use crate::LabError;
use crate::import::addresses;

const NEWS: &str = "de_news_hubs_hourly_2022";
const SITE: &str = "mdn_site";
const ORIGIN: &str = "https://developer.mozilla.org";
/// Fewest digits of an article's id.
const ID_DIGITS: usize = 6;
const UUID: usize = 36;
/// Hosts shown one by one.
const HOSTS: usize = 12;
/// Share of fetches that find a text changed a little.
const CHANGED: f64 = 0.5;
/// Redirects are told in an arbitrary order, in so many parts.
const PARTS: usize = 4;
/// The aims.
const RECOGNISED: f64 = 0.9;
const LOST: f64 = 0.005;
const WITHIN: u64 = 200;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let folder = setup.data.ok_or(LabError::NeedsData {
        experiment: "hygiene-real",
        folder: "with the subfolders de_news_hubs_hourly_2022 and mdn_site",
    })?;
    (setup.say)("reading the addresses");
    let met = news(&folder.join(NEWS))?;
    let ways = [Tells::Text, Tells::ChangedText(CHANGED), Tells::Redirect];
    let walks: Vec<Walk> = ways
        .into_iter()
        .map(|tells| {
            (setup.say)(&format!("walking {} addresses: {}", met.len(), name(tells)));
            let draws = Draws::of(setup.seed, "hygiene-real", 0);
            let mut walk = Walk::new(Settings::default(), tells, draws);
            for address in &met {
                walk.meet(address);
            }
            walk
        })
        .collect();
    (setup.say)("redirects");
    let site = redirects(&folder.join(SITE))?;
    let total = walks[0].total();
    Ok(Report::new("Addresses that repeat a page, on real sites")
        .lead(format!(
            "Of {} addresses {} repeat an article met before ({:.1}%). {:.1}% of these are recognised \
             without a fetch, and {} of {} distinct pages are lost.",
            total.addresses,
            total.repeats,
            percent(total.repeats, total.addresses),
            percent(total.recognised, total.repeats),
            total.lost,
            total.distinct(),
        ))
        .section("Renamed articles", |section| by_way(section, &ways, &walks))
        .section("Host by host", |section| by_host(section, &walks[0]))
        .section("Rules", |section| rules(section, &walks[0]))
        .section("What q was worth", |section| reliability(section, &ways, &walks))
        .section("Redirects of a documentation site", |section| site.show(section)))
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn name(tells: Tells) -> &'static str {
    match tells {
        Tells::Text => "the same text",
        Tells::ChangedText(_) => "the same text, half of them changed a little since",
        Tells::Redirect => "redirects to the first address",
    }
}

/// The addresses of news sites, each once, with the article that they lead to.
fn news(folder: &Path) -> Result<Vec<Address>, LabError> {
    let mut met = FxHashSet::default();
    let urls = addresses::shown(folder)?;
    let urls = urls.iter().filter_map(|url| CanonicalUrl::parse(url).ok());
    let fresh = urls.filter(|url| met.insert(PageKey::of(url.as_str())));
    Ok(fresh.map(|url| Address::new(&url, article(&url))).collect())
}

/// The article that an address leads to: its last id, or else the address.
fn article(url: &CanonicalUrl) -> u64 {
    let name = match last_id(url.path()) {
        Some(id) => format!("{} {id}", url.host()),
        None => url.as_str().to_owned(),
    };
    PageKey::of(&name).0
}

/// The last number of at least [`ID_DIGITS`] digits in a path, or UUID.
fn last_id(path: &str) -> Option<&str> {
    let bytes = path.as_bytes();
    let (mut last, mut at) = (None, 0);
    while at < bytes.len() {
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let length = if bytes.get(at..at + UUID).is_some_and(is_uuid) { UUID } else { digits };
        if length >= ID_DIGITS {
            last = Some(&path[at..at + length]);
        }
        at += length.max(1);
    }
    last
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    })
}

fn by_way(section: &mut Section, ways: &[Tells], walks: &[Walk]) {
    let mut table = Table::new([
        Column::text("how a site tells"),
        Column::number("repeats"),
        Column::number("recognised").unit("%"),
        Column::number("distinct lost").unit("%"),
        Column::number("fetched as probes"),
        Column::number("fetched before a rule"),
    ]);
    for (&tells, walk) in ways.iter().zip(walks) {
        let tally = walk.total();
        table.push([
            Cell::text(name(tells)),
            Cell::count(tally.repeats),
            Cell::number(percent(tally.recognised, tally.repeats), 2),
            Cell::number(percent(tally.lost, tally.distinct()), 4),
            Cell::count(tally.probes),
            Cell::count(tally.early),
        ]);
    }
    let is_met = walks.iter().all(|walk| {
        let tally = walk.total();
        tally.recognised as f64 >= RECOGNISED * tally.repeats as f64
            && (tally.lost as f64) < LOST * tally.distinct() as f64
    });
    section.table(table).note(format!(
        "Every address that is not taken for a known page is fetched at once. Aim: at least {:.0}% \
         recognised and fewer than {}% lost: {}.",
        100.0 * RECOGNISED,
        100.0 * LOST,
        if is_met { "reached in every case" } else { "not reached in every case" },
    ));
}

fn by_host(section: &mut Section, walk: &Walk) {
    let mut hosts: Vec<(&String, &Tally)> = walk.by_host.iter().collect();
    hosts.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.repeats));
    hosts.truncate(HOSTS);
    let mut table = Table::new([
        Column::text("host"),
        Column::number("addresses"),
        Column::number("repeats").unit("%"),
        Column::number("recognised").unit("%"),
        Column::number("distinct lost"),
        Column::number("fetches until the first rule"),
        Column::number("of them repeats"),
        Column::number("repeats that pass for new pages, with rules").unit("%"),
    ]);
    let mut soon = 0;
    for (host, tally) in &hosts {
        soon += usize::from(tally.until_rule.is_some_and(|fetches| fetches <= WITHIN));
        table.push([
            Cell::text(host.as_str()),
            Cell::count(tally.addresses),
            Cell::number(percent(tally.repeats, tally.addresses), 1),
            Cell::number(percent(tally.recognised, tally.repeats), 1),
            Cell::count(tally.lost),
            tally.until_rule.map_or(Cell::missing(), Cell::count),
            Cell::count(tally.early),
            Cell::number(percent(tally.repeats - tally.recognised, tally.distinct()), 2),
        ]);
    }
    section.table(table).note(format!(
        "The site shows the same text. {soon} of {} hosts have a rule within {WITHIN} fetches. On the \
         others repeats came late: the column beside tells how many of the fetches were repeats. \
         Repeats let in pose as news of the front pages that show them.",
        hosts.len(),
    ));
}

fn rules(section: &mut Section, walk: &Walk) {
    let mut table = Table::new([
        Column::text("host"),
        Column::text("rule"),
        Column::number("trials stood"),
        Column::number("failed"),
        Column::number("chance"),
        Column::number("fetches spared"),
    ]);
    let mut rules = walk.hygiene.rules();
    rules.retain(|rule| rule.is_applied);
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.spared));
    for rule in rules {
        table.push([
            Cell::text(rule.origin),
            Cell::text(rule.says),
            Cell::number(rule.hits, 0),
            Cell::number(rule.misses, 0),
            Cell::number(rule.chance, 3),
            Cell::count(rule.spared),
        ]);
    }
    section.table(table);
}

fn reliability(section: &mut Section, ways: &[Tells], walks: &[Walk]) {
    let mut table = Table::new([
        Column::text("how a site tells"),
        Column::text("URLs"),
        Column::number("judged"),
        Column::number("mean q"),
        Column::number("share that brought nothing"),
    ]);
    for (&tells, walk) in ways.iter().zip(walks) {
        let kinds: [(&str, &Reliability); 2] =
            [("key taken", &walk.taken), ("key free", &walk.free)];
        for (kind, reliability) in kinds {
            for bin in reliability.bins() {
                table.push([
                    Cell::text(name(tells)),
                    Cell::text(kind),
                    Cell::count(bin.count),
                    Cell::number(bin.said(), 4),
                    Cell::number(bin.happened(), 4),
                ]);
            }
        }
    }
    let error = walks.iter().flat_map(|walk| [walk.taken.error(), walk.free.error()]);
    section.table(table).note(format!(
        "Mean distance of q from what happened, within bins: at most {:.4}.",
        error.fold(0.0, f64::max)
    ));
}

/// Redirects foreseen, part by part.
#[derive(Default)]
struct Foreseen {
    redirects: [u64; PARTS],
    right: [u64; PARTS],
    wrong: [u64; PARTS],
    /// Pages whose keys clash although they are different.
    clashes: u64,
    pages: u64,
}

/// Tells hygiene the redirects of a site one by one, and asks it before each.
fn redirects(folder: &Path) -> Result<Foreseen, LabError> {
    let full = |path: &str| {
        let url = if path.starts_with('/') { format!("{ORIGIN}{path}") } else { path.to_owned() };
        CanonicalUrl::parse(&url).ok().map(CanonicalUrl::into_string)
    };
    let pages: Vec<String> = addresses::alive(folder)?.iter().filter_map(|p| full(p)).collect();
    let pairs = addresses::redirects(folder)?;
    let pairs = pairs.iter().filter_map(|(from, to)| Some((full(from)?, full(to)?)));
    let mut pairs: Vec<(String, String)> = pairs.collect();
    pairs.sort_by_key(|(from, _)| PageKey::of(from));
    let mut hygiene = Hygiene::new(Settings::default());
    let mut index = file(&hygiene, &pages);
    let known: FxHashSet<&str> = pages.iter().map(String::as_str).collect();
    let mut foreseen = Foreseen { pages: pages.len() as u64, ..Foreseen::default() };
    for (i, (from, to)) in pairs.iter().enumerate() {
        let part = PARTS * i / pairs.len();
        if known.contains(to.as_str()) && !known.contains(from.as_str()) {
            foreseen.redirects[part] += 1;
            let guess = index.get(&hygiene.judge(&Met::new(from)).key);
            foreseen.right[part] += u64::from(guess == Some(&to.as_str()));
            foreseen.wrong[part] += u64::from(guess.is_some_and(|guess| guess != to));
        }
        // Between redirects a crawl fetches pages, which speak against wrong rules.
        let page = &pages[i % pages.len()];
        let changed = hygiene.learn(&Seen::new(page, Showed::page(PageKey::of(page).0, &[])));
        let moved = hygiene.learn(&Seen::new(from, Showed::Moved(to)));
        if !(changed.rules.is_empty() && moved.rules.is_empty()) {
            index = file(&hygiene, &pages);
        }
    }
    foreseen.clashes = foreseen.pages - index.len() as u64;
    Ok(foreseen)
}

/// Pages by key.
fn file<'a>(hygiene: &Hygiene, pages: &'a [String]) -> FxHashMap<u64, &'a str> {
    pages.iter().map(|page| (hygiene.judge(&Met::new(page)).key, page.as_str())).collect()
}

impl Foreseen {
    fn show(&self, section: &mut Section) {
        let mut table = Table::new([
            Column::text("part"),
            Column::number("redirects to pages"),
            Column::number("foreseen"),
            Column::number("foreseen wrongly"),
        ]);
        for part in 0..PARTS {
            table.push([
                Cell::text(format!("{} of {PARTS}", part + 1)),
                Cell::count(self.redirects[part]),
                Cell::count(self.right[part]),
                Cell::count(self.wrong[part]),
            ]);
        }
        let sum = |parts: &[u64]| parts.iter().sum::<u64>();
        section.table(table).note(format!(
            "Redirects are told in an arbitrary order, one for every page fetched. {:.2}% of them are \
             foreseen by rules learnt from earlier ones, {} wrongly; {} of {} pages share a key with \
             another at the end.",
            percent(sum(&self.right), sum(&self.redirects)),
            sum(&self.wrong),
            self.clashes,
            self.pages,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(slug: &str, id: u64) -> Address {
        let url = format!("https://a.example/x/{slug}-{id}.html");
        let url = CanonicalUrl::parse(&url).unwrap();
        let class = article(&url);
        Address::new(&url, class)
    }

    #[test]
    fn the_last_id_counts() {
        let uuid = "b8aad463-caab-4ef1-b439-9e2b7ffb6541";
        assert_eq!(last_id("/a-123456/b-7654321.html"), Some("7654321"));
        assert_eq!(last_id(&format!("/a-{uuid}")), Some(uuid));
        assert_eq!(last_id("/a-12345/2022/01"), None);
    }

    /// A walk finds the rule, spares repeats, loses nothing, and counts what it does.
    #[test]
    fn a_walk_recognises_what_it_can() {
        for tells in [Tells::Text, Tells::ChangedText(CHANGED), Tells::Redirect] {
            let mut walk = Walk::new(Settings::default(), tells, Draws::of(1, "test", 0));
            for id in 7_000_000..7_001_000 {
                walk.meet(&address("first", id));
                if id % 4 == 0 {
                    walk.meet(&address("second", id));
                }
            }
            let tally = walk.total();
            assert_eq!((tally.addresses, tally.repeats, tally.distinct()), (1250, 250, 1000));
            assert_eq!(tally.lost, 0);
            assert!(tally.recognised as f64 >= RECOGNISED * 250.0, "{tells:?} {tally:?}");
            assert_eq!(tally.fetches + tally.recognised, 1250);
        }
    }

    /// Pages that are told apart by nothing but what a rule leaves out are lost, and counted so.
    #[test]
    fn what_a_wrong_rule_loses_is_counted() {
        let mut walk = Walk::new(Settings::default(), Tells::Text, Draws::of(1, "test", 0));
        for id in 7_000_000..7_000_100 {
            walk.meet(&address("first", id));
            walk.meet(&address("second", id));
        }
        assert_eq!(walk.total().lost, 0);
        for id in 7_000_100..7_000_200 {
            walk.meet(&address("first", id));
            walk.meet(&Address { class: id, ..address("other", id) });
        }
        assert!(walk.total().lost > 0);
    }
}
