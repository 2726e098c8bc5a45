//! Pages, copies and hosts: the committed rows and those of the next commit, read as one.
//!
//! Reports add rows to one [`Batch`]; [`Pages::commit`] writes it. Until then every reader here looks
//! into the batch first, so nobody need know what is committed. A batch that cannot be written stays
//! and is tried again.

use std::net::IpAddr;

use rustc_hash::FxHashMap;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, PageId};
use tidewatch_frontier::tape::{Input, Names};
use tidewatch_frontier::{ServerId, network_of};
use tidewatch_store::{
    Absent, Batch, CopyRow, HostRow, PageRow, Parcel, RobotsRow, Setback, SetbackOf, Store,
    StoreError, TwinKey,
};

use crate::taped::FallibleNames;

/// In-memory state of a host.
#[derive(Clone, Debug)]
struct Host {
    origin: String,
    /// Pages known of it.
    pages: u32,
    /// What it answers for a page that cannot exist, once asked.
    absent: Option<Absent>,
    /// The same by folder, and how many folders were probed in this run.
    folders: Vec<(String, Absent)>,
    probed: u8,
    /// The address it resolved to last.
    address: Option<IpAddr>,
}

/// Folders of a host that are probed: a host may invent them without end.
const MOST_FOLDERS: usize = 16;

impl Host {
    fn of(row: HostRow) -> Host {
        let HostRow { origin, absent, folders, .. } = row;
        Host { origin, pages: 0, absent, folders, probed: 0, address: None }
    }
}

/// The rows of a partition.
pub(crate) struct Pages {
    store: Store,
    batch: Batch,
    hosts: Vec<Host>,
    /// Addresses, numbered as they come up.
    servers: FxHashMap<IpAddr, ServerId>,
    next_parcel: u64,
}

impl Pages {
    /// Reads the hosts of a store; [`Pages::count_pages`] or a replay counts their pages.
    pub(crate) fn new(store: Store) -> Result<Pages, StoreError> {
        let hosts = store.tables()?.hosts().map(|row| Ok(Host::of(row?.1)));
        let hosts = hosts.collect::<Result<Vec<Host>, StoreError>>()?;
        // Never used before: every start adds a batch to the tape, and no batch a million parcels.
        let next_parcel = store.next_tape() << 20;
        Ok(Pages {
            store,
            batch: Batch::default(),
            hosts,
            servers: FxHashMap::default(),
            next_parcel,
        })
    }

    /// The store, for reading what is committed.
    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// The page of a URL, if it is known.
    pub(crate) fn page_of(&self, url: &str) -> Result<Option<PageId>, StoreError> {
        self.store.page_of(url)
    }

    /// The host of an origin, if it is known.
    pub(crate) fn host_of(&self, origin: &str) -> Option<HostId> {
        self.store.host_of(origin)
    }

    /// Hosts known.
    pub(crate) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// A host's scheme, name and port.
    pub(crate) fn origin(&self, host: HostId) -> &str {
        &self.hosts[host.index()].origin
    }

    /// Pages known of a host.
    pub(crate) fn pages_of(&self, host: HostId) -> u32 {
        self.hosts[host.index()].pages
    }

    /// Sets how many pages each host has.
    pub(crate) fn count_pages(&mut self, pages: Vec<u32>) {
        self.hosts.iter_mut().zip(pages).for_each(|(host, pages)| host.pages = pages);
    }

    /// What a host answers for a page that cannot exist, once asked.
    pub(crate) fn absent(&self, host: HostId) -> Option<&Absent> {
        self.hosts[host.index()].absent.as_ref()
    }

    /// The address that a host resolved to last.
    pub(crate) fn address_of(&self, host: HostId) -> Option<IpAddr> {
        self.hosts[host.index()].address
    }

    /// Notes a host's address and returns its number.
    pub(crate) fn resolved(&mut self, host: HostId, address: IpAddr) -> ServerId {
        self.hosts[host.index()].address = Some(address);
        let next = ServerId(self.servers.len() as u32);
        *self.servers.entry(network_of(address)).or_insert(next)
    }

    /// Adds the next host.
    pub(crate) fn add_host(&mut self, origin: &str) -> HostId {
        let (origin, folders) = (origin.to_owned(), Vec::new());
        let row = HostRow { origin, robots: None, absent: None, folders };
        self.hosts.push(Host::of(row.clone()));
        self.store.add_host(row, &mut self.batch)
    }

    /// Adds the next page, whose URL has not been seen before.
    pub(crate) fn add_page(&mut self, url: &str, row: PageRow) -> Result<PageId, StoreError> {
        self.hosts[row.host.index()].pages += 1;
        self.store.add_page(url, row, &mut self.batch)
    }

    /// How a page was found.
    pub(crate) fn page_row(&self, page: PageId) -> Result<PageRow, StoreError> {
        let first = self.batch.pages.first().map_or(PageId(u32::MAX), |(page, _)| *page);
        let row = if page >= first {
            let at = (page.0 - first.0) as usize;
            self.batch.pages.get(at).map(|(_, row)| row.clone())
        } else {
            self.store.tables()?.page(page)?
        };
        row.ok_or(StoreError::Damaged { table: "pages", key: u64::from(page.0) })
    }

    /// A page's copy.
    pub(crate) fn copy(&self, page: PageId) -> Result<Option<CopyRow>, StoreError> {
        match self.batch.copies.get(&page) {
            Some(copy) => Ok(Some(copy.clone())),
            None if self.batch.gone.contains(&page) => Ok(None),
            None => self.store.tables()?.copy(page),
        }
    }

    /// Replaces a page's copy.
    pub(crate) fn put_copy(&mut self, page: PageId, row: CopyRow) {
        self.batch.gone.remove(&page);
        self.batch.copies.insert(page, row);
    }

    /// Removes a page's copy; returns whether there was one.
    pub(crate) fn remove_copy(&mut self, page: PageId) -> Result<bool, StoreError> {
        let is_held = self.copy(page)?.is_some();
        if is_held {
            self.batch.copies.remove(&page);
            self.batch.gone.insert(page);
        }
        Ok(is_held)
    }

    /// A host's row.
    pub(crate) fn host_row(&self, host: HostId) -> Result<HostRow, StoreError> {
        if let Some(row) = self.batch.hosts.get(&host) {
            return Ok(row.clone());
        }
        let row = self.store.tables()?.host(host)?;
        row.ok_or(StoreError::Damaged { table: "hosts", key: u64::from(host.0) })
    }

    /// Replaces what a host's robots.txt said.
    pub(crate) fn put_robots(&mut self, host: HostId, robots: RobotsRow) -> Result<(), StoreError> {
        let row = self.host_row(host)?;
        self.batch.hosts.insert(host, HostRow { robots: Some(robots), ..row });
        Ok(())
    }

    /// Notes what a host answers for a page that cannot exist.
    pub(crate) fn put_absent(&mut self, host: HostId, absent: Absent) -> Result<(), StoreError> {
        let row = self.host_row(host)?;
        self.batch.hosts.insert(host, HostRow { absent: Some(absent.clone()), ..row });
        self.hosts[host.index()].absent = Some(absent);
        Ok(())
    }

    /// A host's answer to the probe of a folder, if it was probed.
    pub(crate) fn absent_in(&self, host: HostId, folder: &str) -> Option<&Absent> {
        let folders = &self.hosts[host.index()].folders;
        folders.iter().find(|(known, _)| known == folder).map(|(_, absent)| absent)
    }

    /// Whether one more folder of a host may be probed; counts it.
    pub(crate) fn may_probe_folder(&mut self, host: HostId) -> bool {
        let host = &mut self.hosts[host.index()];
        let may = host.folders.len() + usize::from(host.probed) < MOST_FOLDERS;
        host.probed += u8::from(may);
        may
    }

    /// Notes a host's answer to the probe of a folder.
    pub(crate) fn put_absent_in(
        &mut self,
        host: HostId,
        folder: &str,
        absent: Absent,
    ) -> Result<(), StoreError> {
        let mut row = self.host_row(host)?;
        row.folders.retain(|(known, _)| known != folder);
        row.folders.push((folder.to_owned(), absent));
        row.folders.truncate(MOST_FOLDERS);
        self.hosts[host.index()].folders.clone_from(&row.folders);
        self.batch.hosts.insert(host, row);
        Ok(())
    }

    /// The first page of a host with that smallest fragment hash.
    pub(crate) fn twin(&self, key: TwinKey) -> Result<Option<PageId>, StoreError> {
        match self.batch.twins.get(&key) {
            Some(&page) => Ok(Some(page)),
            None => self.store.tables()?.twin(key),
        }
    }

    /// Makes a page the first of its host with that smallest fragment hash.
    pub(crate) fn put_twin(&mut self, key: TwinKey, page: PageId) {
        self.batch.twins.insert(key, page);
    }

    /// Why the newest request of a host or page brought no copy.
    pub(crate) fn setback(&self, of: SetbackOf) -> Result<Option<Setback>, StoreError> {
        match self.batch.setbacks.get(&of) {
            Some(setback) => Ok(setback.clone()),
            None => self.store.tables()?.setback(of),
        }
    }

    /// Notes why a request brought no copy; `None` once one did.
    pub(crate) fn put_setback(&mut self, of: SetbackOf, setback: Option<Setback>) {
        self.batch.setbacks.insert(of, setback);
    }

    /// The URL of a path on a host.
    pub(crate) fn url(&self, host: HostId, path: &str) -> Result<CanonicalUrl, StoreError> {
        let text = format!("{}{path}", self.origin(host));
        let damaged = |_| StoreError::Damaged { table: "hosts", key: u64::from(host.0) };
        CanonicalUrl::parse(&text).map_err(damaged)
    }

    /// A page's URL.
    pub(crate) fn address(&self, page: PageId) -> Result<CanonicalUrl, StoreError> {
        let row = self.page_row(page)?;
        self.url(row.host, &row.path)
    }

    /// A named fact about the crawl.
    pub(crate) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.batch.meta.get(name) {
            Some(value) => Ok(Some(value.clone())),
            None => self.store.tables()?.meta(name),
        }
    }

    /// Sets a named fact about the crawl.
    pub(crate) fn put_meta(&mut self, name: &str, value: Vec<u8>) {
        self.batch.meta.insert(name.to_owned(), value);
    }

    /// The URL of the page of another partition whose link named a page first.
    pub(crate) fn foreign_via(&self, page: PageId) -> Result<Option<String>, StoreError> {
        match self.batch.vias.get(&page) {
            Some(url) => Ok(Some(url.clone())),
            None => self.store.tables()?.via(page),
        }
    }

    /// Notes the page of another partition whose link named a page first.
    pub(crate) fn put_foreign_via(&mut self, page: PageId, url: String) {
        self.batch.vias.insert(page, url);
    }

    /// Numbers the parcels that follow from `first` on.
    pub(crate) fn number_parcels_from(&mut self, first: u64) {
        self.next_parcel = first;
    }

    /// The number of the next parcel.
    pub(crate) const fn next_parcel(&self) -> u64 {
        self.next_parcel
    }

    /// Adds links for another partition to the outbox and returns their number.
    pub(crate) fn put_parcel(&mut self, parcel: Parcel) -> u64 {
        let number = self.next_parcel;
        self.batch.outbox.insert(number, parcel);
        self.next_parcel += 1;
        number
    }

    /// The parcels in the outbox.
    pub(crate) fn outbox(&self) -> Result<Vec<(u64, Parcel)>, StoreError> {
        self.store.tables()?.outbox().collect()
    }

    /// Removes a parcel that the other partition has committed.
    pub(crate) fn acknowledge(&mut self, number: u64) {
        self.batch.delivered.push(number);
    }

    /// Whether there is something to commit.
    pub(crate) fn is_clean(&self) -> bool {
        self.batch.is_empty()
    }

    /// Rows that wait for the next commit, roughly.
    pub(crate) fn waiting(&self) -> usize {
        self.batch.pages.len() + self.batch.copies.len() + self.batch.tape.len()
    }

    /// The inputs that go with the next commit.
    pub(crate) fn tape_mut(&mut self) -> &mut Vec<Input> {
        &mut self.batch.tape
    }

    /// Writes the batch as one. If it fails, the batch stays.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        if !self.batch.is_empty() {
            self.store.commit(&self.batch)?;
            self.batch = Batch::default();
        }
        self.store.tidy()
    }

    /// Syncs everything committed to disk.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.store.sync()
    }

    /// Writes the sieve's recent entries out, so that the next start need not collect them.
    pub(crate) fn spill(&mut self) -> Result<(), StoreError> {
        self.store.spill()
    }

    /// The inputs on the tape from `batch` on, and the URLs of the pages that they add, starting
    /// with `first`. Reading the URLs counts the pages of each host.
    #[allow(clippy::type_complexity, reason = "named only here")]
    pub(crate) fn tape_from(
        &mut self,
        batch: u64,
        first: PageId,
    ) -> Result<(impl Iterator<Item = Result<Input, StoreError>>, StoredUrls<'_>), StoreError> {
        let inputs = self.store.tape(batch)?;
        let rows = Box::new(self.store.tables()?.pages_from(first));
        Ok((inputs, StoredUrls { hosts: &mut self.hosts, rows, failed: None }))
    }
}

/// URLs of pages in the order of their numbers, as a tape wants them.
pub(crate) struct StoredUrls<'s> {
    hosts: &'s mut [Host],
    rows: Box<dyn Iterator<Item = Result<(PageId, PageRow), StoreError>> + 's>,
    failed: Option<StoreError>,
}

impl Names for StoredUrls<'_> {
    fn next_url(&mut self) -> String {
        let missing = Err(StoreError::Damaged { table: "pages", key: 0 });
        match self.rows.next().unwrap_or(missing) {
            Ok((_, row)) => {
                let Some(host) = self.hosts.get_mut(row.host.index()) else {
                    self.failed = Some(StoreError::Damaged { table: "hosts", key: 0 });
                    return String::new();
                };
                host.pages += 1;
                format!("{}{}", host.origin, row.path)
            }
            Err(error) => {
                self.failed = Some(error);
                String::new()
            }
        }
    }
}

impl FallibleNames for StoredUrls<'_> {
    fn names(&mut self) -> &mut dyn Names {
        self
    }

    fn failure(&mut self) -> Result<(), StoreError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
