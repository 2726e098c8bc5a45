//! Articles merged by canonical URL.
//!
//! The file is read twice, so that memory holds only the URLs of pages in the trace.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::PageKey;
use tidewatch_core::url::CanonicalUrl;

use super::super::ImportError;
use super::super::rows::{Rows, Style};
use super::Source;

/// Marks an article with an invalid URL.
const REFUSED: u32 = u32::MAX;

/// Groups of articles that are one page. Sources come first, then groups by their first article.
pub(super) struct Articles {
    group_of: HashMap<u64, u32>,
    groups: usize,
    /// Offset of article ids.
    base: u64,
    pub(super) read: u64,
    pub(super) refused: u64,
    pub(super) merged: u64,
    pub(super) are_sources: u64,
}

/// What an article id stands for.
pub(super) enum Known {
    Group(u32),
    Refused,
    Unknown,
}

impl Articles {
    pub(super) fn read(file: &Path, sources: &[Source]) -> Result<Self, ImportError> {
        let mut by_key: HashMap<PageKey, u32> = sources
            .iter()
            .zip(0..)
            .map(|(s, group)| (PageKey::of(s.url.as_str()), group))
            .collect();
        let base = sources.last().map_or(0, |last| last.id + 1);
        let (group_of, groups) = (HashMap::new(), sources.len());
        let (read, refused, merged, are_sources) = (0, 0, 0, 0);
        let mut all = Articles { group_of, groups, base, read, refused, merged, are_sources };
        let mut rows = Rows::open(file, Style::Tabs, ["article_id", "url"])?;
        let mut last = None;
        while rows.advance()? {
            let id = id(&rows, &mut last)?;
            all.read += 1;
            let Ok(url) = CanonicalUrl::parse(rows.text(1)?) else {
                all.refused += 1;
                all.group_of.insert(id, REFUSED);
                continue;
            };
            let new = all.groups as u32;
            let group = *by_key.entry(PageKey::of(url.as_str())).or_insert(new);
            all.groups += usize::from(group == new);
            all.merged += u64::from(group < new);
            all.are_sources += u64::from((group as usize) < sources.len());
            all.group_of.insert(id, group);
        }
        Ok(all)
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    pub(super) fn group(&self, id: u64) -> Known {
        match self.group_of.get(&id) {
            None => Known::Unknown,
            Some(&REFUSED) => Known::Refused,
            Some(&group) => Known::Group(group),
        }
    }

    /// Reads the file again and passes on every article: group, page id, URL.
    pub(super) fn each(
        &self,
        file: &Path,
        mut each: impl FnMut(u32, u64, &CanonicalUrl),
    ) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["article_id", "url"])?;
        let mut last = None;
        while rows.advance()? {
            let id = id(&rows, &mut last)?;
            let Known::Group(group) = self.group(id) else { continue };
            if let Ok(url) = CanonicalUrl::parse(rows.text(1)?) {
                each(group, self.base + id, &url);
            }
        }
        Ok(())
    }
}

/// The article's id, which must exceed the last.
fn id(rows: &Rows<2>, last: &mut Option<u32>) -> Result<u64, ImportError> {
    let id: u32 = rows.number(0)?;
    if last.is_some_and(|last| last >= id) {
        return Err(rows.refuse(0, "does not ascend; sort the rows by article_id"));
    }
    *last = Some(id);
    Ok(u64::from(id))
}
