//! Addresses and redirects of data sets, for detectors that read URLs.

use std::path::Path;

use super::ImportError;
use super::input::{self, Lines};
use super::rows::{Rows, Style};

const NEWS: &str = "de-news-hubs";
const SITE: &str = "mdn-site";

/// URLs as the front pages of a data set showed them, raw, by the second of their first appearance.
pub(crate) fn shown(dir: &Path) -> Result<Vec<String>, ImportError> {
    let file = input::find(dir, "articles.tsv", NEWS)?;
    let mut rows = Rows::open(&file, Style::Tabs, ["article_id", "first_seen", "url"])?;
    let mut urls: Vec<(u64, u64, String)> = Vec::new();
    while rows.advance()? {
        urls.push((rows.number(1)?, rows.number(0)?, rows.text(2)?.to_owned()));
    }
    urls.sort_unstable();
    Ok(urls.into_iter().map(|(_, _, url)| url).collect())
}

/// Paths of the pages of a site that are alive.
pub(crate) fn alive(dir: &Path) -> Result<Vec<String>, ImportError> {
    let file = input::find(dir, "pages.tsv", SITE)?;
    let mut rows = Rows::open(&file, Style::Tabs, ["alive_at_head", "slug_or_path"])?;
    let mut paths = Vec::new();
    while rows.advance()? {
        if rows.number::<u8>(0)? == 1 {
            paths.push(format!("/en-US/docs/{}", rows.text(1)?));
        }
    }
    Ok(paths)
}

/// Redirects of a site: old path, new path or URL.
pub(crate) fn redirects(dir: &Path) -> Result<Vec<(String, String)>, ImportError> {
    let mut lines = Lines::open(&input::find(dir, "redirects.tsv", SITE)?)?;
    let mut redirects = Vec::new();
    while let Some(line) = lines.next()? {
        let pair = line.split_once('\t').map(|(from, to)| (from.to_owned(), to.to_owned()));
        redirects.push(pair.ok_or_else(|| lines.refuse("needs two columns".to_owned()))?);
    }
    Ok(redirects)
}
