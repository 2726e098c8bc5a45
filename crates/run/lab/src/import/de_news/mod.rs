//! `de-news-hubs`: front and section pages of news sites, visited every hour.
//!
//! Reads a directory of `pages.tsv` (page_id, url: the sources),
//! `snapshots.tsv` (ts, page_id, status, n_links, n_retitled, order_changed: one row per visit),
//! `events.tsv` (ts, page_id, op `+`, `-` or `~`, article_id, pos: differences between listings) and `articles.tsv` (article_id, url).
//!
//! Rules, beyond those common to all importers:
//!
//! - **One page, one URL.** Articles are merged by canonical URL, under the id of the first. A link
//!   exists while any of its spellings does. An article may be a source. Page ids: those of the
//!   sources, then article ids offset by the largest source id.
//! - **Outages.** A visit with a status other than 200 or without links failed: links that it lacks and
//!   the next good visit has never disappeared; links that the next good visit lacks too disappear
//!   then. During outages of more than a day ([`snapshots::LONGEST_OUTAGE`]) the source counts as empty.
//!   Hours without a visit need no rule.
//! - **Old pages.** Links of a source's first good visit are older: they appear, and their pages are
//!   born, at the start of the data. Other pages are born with the first good visit that lists them.
//! - **Changes** are changes of sources: a good visit whose set of pages differs from the previous good
//!   visit or, right after a good visit, whose order or titles differ. Articles are never visited
//!   again, so the trace has no changes of them.
//! - Sources without a good visit, and pages that no source shows within the window, are dropped.
//!   Pages do not die. Hosts have no rate limit.
//!
//! With `--clicks` pages get click curves of another data set; see [`super::join`].

mod articles;
mod replay;
mod snapshots;

use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_trace::{Change, Trace, TraceLink};

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
    draft.fact("sources dropped: no visit listed a link", silent);
    draft.fact("visits read", snapshots.read);
    draft.fact("failed visits: error status", snapshots.errors);
    draft.fact("failed visits: no links", snapshots.empty);
    draft.fact("gaps between visits above 6 h", snapshots.long_gaps);
    draft.fact("articles read", articles.read);
    draft.fact("articles dropped: URL refused", articles.refused);
    draft.fact("articles merged: same canonical URL as an earlier one", articles.merged);
    draft.fact("articles that are sources", articles.are_sources);
    draft.fact("events read", replay.read);
    draft.fact("events without effect: retitled", replay.retitled);
    draft.fact("events dropped: invalid URL of the article", replay.refused);
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
    trace.links.extend(replay.stays.iter().map(|&(source, stay)| TraceLink {
        source: numbers[source as usize],
        page: numbers[stay.page as usize],
        appears: window.at(stay.since),
        disappears: stay.until.filter(|&until| until < window.end).map(|until| window.at(until)),
        position: stay.position,
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
