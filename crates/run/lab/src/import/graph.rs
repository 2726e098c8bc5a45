//! `web-graph`: a static crawled graph, for experiments on discovery.
//!
//! The path is a file of one of two kinds:
//!
//! - `NAME.adj`: line k lists the successors of node k (from 0), ascending, the first absolute and the
//!   others as differences; an empty line has none. URLs are invented: nodes of such files are sorted
//!   by URL, so neighbours mostly share a host, and every [`HOST_NODES`] consecutive nodes get one.
//! - `NAME_links.txt` (`start end` by spaces, with header) beside `NAME_urls.txt`
//!   (`link url`): nodes are the rows of the latter. URLs are canonicalised; a node with the URL of
//!   another is marked `page=ID`.
//!
//! Either may end in `.gz` or `.xz`. All pages and links exist from time 0; the trace lasts
//! [`DURATION`] unless `--days` is given. Duplicate links count once, self-links are dropped. Seeds are
//! the pages without inlinks and one page of every cycle without inlinks, so that every page can be
//! found.

use std::path::{Path, PathBuf};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_trace::TraceLink;

use super::input::Lines;
use super::pages::{Addresses, MADE_UP, Pages};
use super::rows::{Rows, Style};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, cover};

const NAME: &str = "web-graph";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "a static crawled graph (.adj, or _links.txt with _urls.txt)",
    takes: &[Opt::Length],
    import,
};

/// Consecutive nodes that share an invented host: a few hundred hosts for a few hundred thousand pages
/// of one large institution.
const HOST_NODES: u32 = 500;

/// The graph has no time; a month is arbitrary.
const DURATION: Span = Span::from_micros(30 * Span::DAY.as_micros());

/// Pages, and links by (source, target) in file order.
struct Graph {
    pages: Pages,
    links: Vec<(u32, u32)>,
}

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let mut draft = Draft::default();
    let file = args.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut graph = if args.path.is_dir() {
        let problem = "is a directory; name the graph's file, NAME.adj.gz or NAME_links.txt.gz";
        return Err(ImportError::useless(&args.path, problem));
    } else if let Some(urls) = urls_beside(&args.path, file) {
        read_edges(&mut draft, &args.path, &urls)?
    } else {
        read_adjacency(&mut draft, &args.path)?
    };
    let read = graph.links.len();
    graph.links.retain(|&(source, target)| source != target);
    draft.fact("links read", read);
    draft.fact("links dropped: self-links", read - graph.links.len());
    let read = graph.links.len();
    graph.links.sort_unstable();
    graph.links.dedup();
    draft.fact("links dropped: given twice", read - graph.links.len());
    let seeds = cover::seeds(graph.pages.len(), &graph.links);
    draft.fact("seeds", seeds.len());
    seeds.into_iter().for_each(|seed| graph.pages.list[seed as usize].is_seed = true);
    file.split(['.', '_']).next().unwrap_or(NAME).clone_into(&mut draft.trace.name);
    draft.trace.duration = args.length.unwrap_or(DURATION);
    graph.pages.into_trace(&mut draft.trace);
    let link = |(source, page)| TraceLink {
        source,
        page,
        appears: Time::ZERO,
        disappears: None,
        position: None,
    };
    draft.trace.links = graph.links.into_iter().map(link).collect();
    draft.finish()
}

/// The file of URLs that belongs to a file of links.
fn urls_beside(path: &Path, file: &str) -> Option<PathBuf> {
    let (before, after) = file.rsplit_once("links.txt")?;
    Some(path.with_file_name(format!("{before}urls.txt{after}")))
}

fn read_adjacency(draft: &mut Draft, file: &Path) -> Result<Graph, ImportError> {
    let mut graph = Graph { pages: Pages::default(), links: Vec::new() };
    let mut lines = Lines::open(file)?;
    let mut farthest: Option<(u32, u64)> = None;
    let mut node: u32 = 0;
    while let Some(line) = lines.next()? {
        let before = graph.links.len();
        let wrong = add_successors(line, node, &mut graph.links);
        wrong.map_err(|problem| lines.refuse(problem))?;
        let last = graph.links[before..].last().map(|link| link.1);
        farthest = farthest.max(last.map(|last| (last, u64::from(node) + 1)));
        graph.pages.push(u64::from(node), &adjacency_url(node));
        node =
            node.checked_add(1).ok_or_else(|| lines.refuse("there are too many nodes".into()))?;
    }
    if let Some((target, line)) = farthest.filter(|far| far.0 >= node) {
        let problem = format!("line {line} names node {target}, but the file has {node} lines");
        return Err(ImportError::useless(file, problem));
    }
    draft.note(
        "A static crawled graph; URLs and hosts are invented (500 consecutive nodes per host).",
    );
    draft.fact("nodes read", u64::from(node));
    Ok(graph)
}

fn add_successors(line: &str, node: u32, links: &mut Vec<(u32, u32)>) -> Result<(), String> {
    let mut last: Option<u32> = None;
    for word in line.split_ascii_whitespace() {
        let number: u32 =
            word.parse().map_err(|_| format!("'{}' is not a number", word.escape_debug()))?;
        let next = last.unwrap_or(0).checked_add(number);
        let next = next.ok_or_else(|| "the differences do not add up to a node".to_owned())?;
        links.push((node, next));
        last = Some(next);
    }
    Ok(())
}

fn adjacency_url(node: u32) -> CanonicalUrl {
    let host = node / HOST_NODES;
    CanonicalUrl::parse(&format!("https://h{host}.{MADE_UP}/{node}")).expect("letters and digits")
}

fn read_edges(draft: &mut Draft, links: &Path, urls: &Path) -> Result<Graph, ImportError> {
    let mut graph = Graph { pages: Pages::default(), links: Vec::new() };
    let mut addresses = Addresses::default();
    let mut rows = Rows::open(urls, Style::Spaces, ["link", "url"])?;
    while rows.advance()? {
        let id = rows.number(0)?;
        if graph.pages.list.last().is_some_and(|last| last.id >= id) {
            return Err(rows.refuse(0, "does not ascend; sort the rows by number"));
        }
        graph.pages.push(id, &addresses.give(rows.text(1)?, "graph", id));
    }
    let mut rows = Rows::open(links, Style::Spaces, ["start", "end"])?;
    while rows.advance()? {
        let find = |column| {
            let id: u64 = rows.number(column)?;
            let found = graph.pages.list.binary_search_by_key(&id, |page| page.id);
            found.map_err(|_| rows.refuse(column, "has no URL in the file of URLs"))
        };
        graph.links.push((find(0)? as u32, find(1)? as u32));
    }
    draft.note("A static crawled graph.");
    draft.fact("nodes read", graph.pages.len());
    draft.fact("nodes whose URL is invented", addresses.made_up);
    draft.fact("nodes whose URL is marked: another has the same", addresses.shared);
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;

    fn args(files: &Files, name: &str) -> ImportArgs {
        ImportArgs { path: files.file(name), ..ImportArgs::default() }
    }

    fn links(imported: &Imported) -> Vec<(u32, u32)> {
        imported.trace.links.iter().map(|link| (link.source, link.page)).collect()
    }

    #[test]
    fn adjacency_lists_are_differences() {
        let files = Files::plain(&[("g.adj", "1 2\n0 1 0\n\n1 2\n")]);
        let imported = run(NAME, &args(&files, "g.adj")).unwrap();
        assert_eq!(links(&imported), [(0, 1), (0, 3), (1, 0), (3, 1)]);
        assert_eq!(fact(&imported, "links dropped: self-links"), 3);
        let seeds: Vec<bool> = imported.trace.pages.iter().map(|page| page.is_seed).collect();
        assert_eq!(seeds, [true, false, true, false]);
        assert_eq!(&*imported.trace.pages[3].url, "https://h0.invalid/3");
        assert_eq!(imported.trace.name, "g");
    }

    #[test]
    fn edge_lists_have_real_urls() {
        let urls = "link url\n1 http://a.example/ \n4 http://a.example/#x \n7 http://b.example/y\n";
        let edges = "start end\n1 7\n7 1\n1 7\n4 4\n";
        let files = Files::plain(&[("u_urls.txt", urls), ("u_links.txt", edges)]);
        let imported = run(NAME, &args(&files, "u_links.txt")).unwrap();
        assert_eq!(links(&imported), [(0, 2), (2, 0)]);
        let pages: Vec<_> =
            imported.trace.pages.iter().map(|p| (p.id, &*p.url, p.is_seed)).collect();
        assert_eq!(
            pages,
            [
                (1, "http://a.example/", true),
                (4, "http://a.example/?page=4", true),
                (7, "http://b.example/y", false),
            ]
        );
    }

    #[test]
    fn broken_graphs_are_refused() {
        let wrong = |text: &str| {
            let files = Files::plain(&[("g.adj", text)]);
            run(NAME, &args(&files, "g.adj")).unwrap_err().to_string()
        };
        assert!(wrong("1\nx\n").ends_with("g.adj, line 2: 'x' is not a number"));
        assert!(wrong("1\n9\n").ends_with("line 2 names node 9, but the file has 2 lines"));
        assert!(wrong("4294967295 1\n").contains("do not add up to a node"));
        let files = Files::plain(&[("g.adj", "")]);
        let text = run(NAME, &files.args()).unwrap_err().to_string();
        assert!(text.contains("is a directory; name the graph's file"));
    }
}
