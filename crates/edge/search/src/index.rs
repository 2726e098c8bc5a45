//! The index on disk: opening it, writing to it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::Schema;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError};

use crate::bits::PageSets;
use crate::schema::{ANALYSER, Fields, schema};
use crate::words::analyser;
use crate::{IndexDocument, PageRef, SearchError, Searcher};

/// Least memory that the engine accepts for new pages.
const LEAST_MEMORY: usize = 15 << 20;
/// Segments of fewer pages count as equally small when merging.
const SMALL_SEGMENT: u32 = 1_000;
/// A segment with a larger share of deleted pages is rewritten.
const MOST_DELETED: f32 = 0.3;

/// Longest wait of a page for its commit, by default.
pub(crate) const COMMIT_AFTER: Duration = Duration::from_millis(1_500);
/// Most pages in one commit, so that it takes about a second.
const COMMIT_PAGES: usize = 4_096;

/// An index in one directory.
#[derive(Clone)]
pub struct Index {
    engine: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
    path: PathBuf,
    is_new: bool,
}

impl Index {
    /// Opens an index, or creates an empty one if there is none or it cannot be used: it can always
    /// be rebuilt from store and archive.
    pub fn open(path: &Path) -> Result<Index, SearchError> {
        let (schema, _) = schema();
        let is_usable = |index: &tantivy::Index| index.schema() == schema && is_whole(index, path);
        let found = tantivy::Index::open_in_dir(path).ok().filter(is_usable);
        if let Some(index) = found
            && let Ok(index) = Self::with(index, path, false)
        {
            return Ok(index);
        }
        if path.exists() {
            std::fs::remove_dir_all(path).map_err(SearchError::io(path))?;
        }
        std::fs::create_dir_all(path).map_err(SearchError::io(path))?;
        Self::with(Self::create(path, schema)?, path, true)
    }

    fn create(path: &Path, schema: Schema) -> Result<tantivy::Index, TantivyError> {
        tantivy::Index::create_in_dir(path, schema)
    }

    fn with(index: tantivy::Index, path: &Path, is_new: bool) -> Result<Index, SearchError> {
        index.tokenizers().register(ANALYSER, analyser());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Index { engine: index, reader, fields: schema().1, path: path.to_owned(), is_new })
    }

    /// Whether it is new and must be filled from store and archive.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// The only writer, with `memory` bytes for uncommitted pages.
    pub fn writer(&self, memory: usize) -> Result<Writer, SearchError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(memory.max(LEAST_MEMORY))
            .build();
        let writer = self.engine.writer_with_options(options).map_err(|error| match error {
            TantivyError::LockFailure(..) => SearchError::InUse { path: self.path.clone() },
            error => error.into(),
        })?;
        let mut merges = LogMergePolicy::default();
        merges.set_min_layer_size(SMALL_SEGMENT);
        merges.set_del_docs_ratio_before_merge(MOST_DELETED);
        writer.set_merge_policy(Box::new(merges));
        let (reader, fields) = (self.reader.clone(), self.fields);
        let mut held = PageSets::default();
        self.searcher().each_page(|page| held.set(page))?;
        let (patience, waiting, oldest) = (COMMIT_AFTER, 0, None);
        Ok(Writer { engine: writer, reader, fields, held, patience, waiting, oldest })
    }

    /// A searcher over the pages that this process's writer has committed.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.reader.clone(), self.fields)
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        let files = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum()
    }
}

/// Whether every segment has all its files. The engine opens a segment that lacks its positions and
/// fails at the first phrase.
fn is_whole(index: &tantivy::Index, path: &Path) -> bool {
    use SegmentComponent::{FastFields, FieldNorms, Positions, Postings, Store, Terms};
    let has_all = |segment: SegmentMeta| {
        let parts = [Postings, Positions, Terms, Store, FastFields, FieldNorms];
        parts.into_iter().all(|part| path.join(segment.relative_path(part)).exists())
    };
    index.searchable_segment_metas().is_ok_and(|segments| segments.into_iter().all(has_all))
}

/// The damaged or missing files of the index at `path`, which need not be in use; `None` if there is no
/// index. Changes nothing.
pub fn check_index(path: &Path) -> Option<Vec<PathBuf>> {
    if !path.exists() {
        return None;
    }
    let index = tantivy::Index::open_in_dir(path);
    let damaged = index.ok().and_then(|index| index.validate_checksum().ok());
    // An index that cannot be opened is damaged as a whole.
    Some(damaged.map_or_else(|| vec![path.to_owned()], |files| files.into_iter().collect()))
}

/// Adds and removes pages.
pub struct Writer {
    engine: IndexWriter<TantivyDocument>,
    reader: IndexReader,
    fields: Fields,
    /// Pages in the index, committed or not. Only these are deleted: every deletion searches every
    /// segment.
    held: PageSets,
    /// Longest wait of a page for its commit.
    patience: Duration,
    waiting: usize,
    /// When the oldest uncommitted change was made.
    oldest: Option<Instant>,
}

impl Writer {
    /// The same with another longest wait of a page for its commit.
    pub(crate) fn with_patience(self, patience: Duration) -> Writer {
        Writer { patience, ..self }
    }

    /// Adds or replaces a page.
    pub fn put(&mut self, document: &IndexDocument) -> Result<(), SearchError> {
        self.remove(document.page);
        self.engine.add_document(self.fields.row(document))?;
        self.held.set(document.page);
        Ok(())
    }

    /// Removes a page.
    pub fn remove(&mut self, page: PageRef) {
        self.waiting += 1;
        self.oldest.get_or_insert_with(Instant::now);
        if self.held.has(page) {
            self.engine.delete_term(self.fields.page_is(page));
            self.held.clear(page);
        }
    }

    /// Pages in the index, committed or not.
    pub(crate) const fn held(&self) -> &PageSets {
        &self.held
    }

    /// When the oldest uncommitted change was made.
    pub const fn oldest(&self) -> Option<Instant> {
        self.oldest
    }

    /// How long the next commit may wait; `None` if nothing is uncommitted.
    pub fn due_in(&self) -> Option<Duration> {
        let patience = if self.waiting < COMMIT_PAGES { self.patience } else { Duration::ZERO };
        Some(patience.saturating_sub(self.oldest?.elapsed()))
    }

    /// Makes all changes searchable and stores `marks`, one a partition, with them.
    pub fn commit(&mut self, marks: &[u64]) -> Result<(), SearchError> {
        let mut commit = self.engine.prepare_commit()?;
        let marks: Vec<String> = marks.iter().map(u64::to_string).collect();
        commit.set_payload(&marks.join(" "));
        commit.commit()?;
        (self.waiting, self.oldest) = (0, None);
        Ok(self.reader.reload()?)
    }

    /// The marks of the last commit, by partition. Partitions beyond them have none.
    pub fn marks(&self) -> Vec<u64> {
        let payload = self.engine.index().load_metas().ok().and_then(|metas| metas.payload);
        let marks = payload.unwrap_or_default();
        marks.split(' ').map_while(|mark| mark.parse().ok()).collect()
    }

    /// Waits for running merges and ends. Uncommitted changes are lost.
    pub fn finish(self) -> Result<(), SearchError> {
        Ok(self.engine.wait_merging_threads()?)
    }
}
