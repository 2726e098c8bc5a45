//! `de-news-hubs`: front and section pages of news sites, visited every hour.
//!
//! Reads a directory of `pages.tsv` (page_id, url: the sources),
//! `snapshots.tsv` (ts, page_id, status, n_links, n_retitled, order_changed: one
//! row a visit), `events.tsv` (ts, page_id, op `+`, `-` or `~`, article_id: how
//! a listing differs from the one before) and `articles.tsv` (article_id, url).
//!
//! Rules, beyond those common to all importers:
//!
//! - **One page, one URL.** Articles are merged by canonical URL, under the id
//!   of the first. A link stands while any of its spellings does. An article may
//!   be a source. Page ids: those of the sources, then article ids counted on
//!   from the largest source id.
//! - **Outages.** A visit that was not answered with 200 or that lists no link
//!   saw nothing: what it lacks and the next good visit lists again never left;
//!   what the next good visit lacks too left then. Outages of more than a day
//!   ([`snapshots::LONGEST_OUTAGE`]) count as the source being empty. Hours
//!   without a visit need no rule: the next visit tells.
//! - **Old pages.** What a source's first good visit lists had stood there
//!   before: these links appear, and these pages are born, at the beginning of
//!   the data, not at that visit. Other pages are born when the first good visit
//!   lists them.
//! - **Changes** are changes of sources: a good visit whose set of pages differs
//!   from the good visit before, or (right after a good visit) with another
//!   order or other titles. Articles are never re-visited: the data say nothing
//!   of their changes, and the trace has none.
//! - Sources without any good visit, and pages that no source shows within the
//!   window, are left out. Nothing dies. Hosts have no limit.
//!
//! With `--clicks` pages get click curves of another data set; see [`super::join`].

mod articles;
mod replay;
mod snapshots;

use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_trace::{Change, Link, Trace};

use super::clock::Window;
use super::pages::Pages;
use super::rows::{Rows, Style};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, input, join};
use articles::Articles;
use replay::Replay;
use snapshots::Snapshots;

const NAME: &str = "de-news-hubs";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "news front and section pages seen every hour: sources, their links and changes",
    takes: &[Opt::From, Opt::Length, Opt::Seed, Opt::Clicks, Opt::Join],
    import,
};

/// A front or section page.
struct Source {
    id: u64,
    url: CanonicalUrl,
}

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let dir = &args.path;
    let sources = read_sources(dir)?;
    let snapshots = Snapshots::read(&input::find(dir, "snapshots.tsv", NAME)?, &sources)?;
    let (first, last) = snapshots.span().ok_or_else(|| ImportError::useless(dir, "no visits"))?;
    let window = Window::choose(args, first, last)?;
    let articles_file = input::find(dir, "articles.tsv", NAME)?;
    let articles = Articles::read(&articles_file, &sources)?;
    let events_file = input::find(dir, "events.tsv", NAME)?;
    let replay = replay::read(&events_file, &snapshots, &articles, window)?;

    let mut draft = Draft::default();
    draft.cover("de-news-hubs", window);
    draft.note(format!(
        "News front and section pages visited every hour, {} to {}.",
        window.start, window.end
    ));
    tell(&mut draft, &sources, &snapshots, &articles, &replay);
    fill(&mut draft.trace, &articles_file, &sources, &snapshots, &articles, &replay, window)?;
    if let Some(clicks) = &args.clicks {
        join::give_clicks(&mut draft, clicks, args.join.unwrap_or_default(), args.seed())?;
    }
    draft.finish()
}

fn read_sources(dir: &Path) -> Result<Vec<Source>, ImportError> {
    let file = input::find(dir, "pages.tsv", NAME)?;
    let mut rows = Rows::open(&file, Style::Tabs, ["page_id", "url"])?;
    let mut sources: Vec<Source> = Vec::new();
    while rows.advance()? {
        let id: u32 = rows.number(0)?;
        let id = u64::from(id);
        if sources.last().is_some_and(|last| last.id >= id) {
            return Err(rows.refuse(0, "does not ascend; sort the rows by page_id"));
        }
        let url = CanonicalUrl::parse(rows.text(1)?)
            .map_err(|why| rows.refuse(1, &format!("is not the URL of a page: {why}")))?;
        if sources.iter().any(|other| other.url == url) {
            return Err(rows.refuse(1, "is the URL of two sources; keep one"));
        }
        sources.push(Source { id, url });
    }
    Ok(sources)
}

fn tell(
    draft: &mut Draft,
    sources: &[Source],
    snapshots: &Snapshots,
    articles: &Articles,
    replay: &Replay,
) {
    let silent = (0..sources.len()).filter(|&s| snapshots.is_silent(s)).count();
    draft.fact("sources read", sources.len());
    draft.fact("sources dropped: no visit ever listed a link", silent);
    draft.fact("visits read", snapshots.read);
    draft.fact("visits that saw nothing: error status", snapshots.errors);
    draft.fact("visits that saw nothing: no links", snapshots.empty);
    draft.fact("gaps between visits above 6 h", snapshots.long_gaps);
    draft.fact("articles read", articles.read);
    draft.fact("articles dropped: URL refused", articles.refused);
    draft.fact("articles merged: same canonical URL as an earlier one", articles.merged);
    draft.fact("articles that are sources", articles.are_sources);
    draft.fact("events read", replay.read);
    draft.fact("events of no effect: retitled", replay.retitled);
    draft.fact("events dropped: article's URL refused", replay.refused);
    draft.fact("stays that ended before the window", replay.before);
    draft.fact("stays that began after the window", replay.after);
}

/// Fills in pages, links and changes.
fn fill(
    trace: &mut Trace,
    articles_file: &Path,
    sources: &[Source],
    snapshots: &Snapshots,
    articles: &Articles,
    replay: &Replay,
    window: Window,
) -> Result<(), ImportError> {
    let mut wanted = vec![false; articles.groups()];
    replay.stays.iter().for_each(|(_, stay)| wanted[stay.page as usize] = true);
    let mut numbers = vec![u32::MAX; articles.groups()];
    let mut pages = Pages::default();
    for (group, source) in sources.iter().enumerate() {
        if !snapshots.is_silent(group) || wanted[group] {
            numbers[group] = pages.len() as u32;
            let is_source = !snapshots.is_silent(group);
            let page = pages.push(source.id, &source.url);
            (page.is_source, page.is_seed) = (is_source, is_source);
        }
    }
    articles.each(articles_file, |group, id, url| {
        if wanted[group as usize] && numbers[group as usize] == u32::MAX {
            numbers[group as usize] = pages.len() as u32;
            pages.push(id, url).born = window.at(replay.first_seen[group as usize]);
        }
    })?;
    pages.into_trace(trace);
    trace.links.extend(replay.stays.iter().map(|&(source, stay)| Link {
        source: numbers[source as usize],
        page: numbers[stay.page as usize],
        appears: window.at(stay.since),
        disappears: stay.until.filter(|&until| until < window.end).map(|until| window.at(until)),
    }));
    let moved = snapshots.rearranged.iter().chain(&replay.changes);
    let seen = moved.filter(|(_, at)| window.sees(*at));
    let mut changes: Vec<Change> = seen
        .map(|&(source, at)| Change { page: numbers[source as usize], at: window.at(at) })
        .collect();
    changes.sort_unstable_by_key(|change| (change.page, change.at));
    changes.dedup();
    trace.changes = Some(changes);
    Ok(())
}

#[cfg(test)]
mod tests;
