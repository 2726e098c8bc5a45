//! Issues signed result links and accepts clicks.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::clients::Clients;
use super::log::{Entry, Log, Mark, Rows};
use super::ticket::{BadTicket, Signer, Ticket, random};
use crate::date::DAY_S;
use crate::document::cut;
use crate::{PageRef, SearchError};

/// Most bytes of a query in the log.
const MOST_QUERY: usize = 200;
/// Most clicks remembered until their links expire, so that each counts once. Beyond it, the oldest
/// are dropped and could count again.
const MOST_USED: usize = 1 << 20;
/// Lines read at once when the desk opens.
const LINES: usize = 1 << 16;

/// Settings of the click log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClickSettings {
    /// Seconds after which a link no longer counts.
    pub expires_s: i64,
    /// Days that the log is kept.
    pub keep_days: u32,
}

impl Default for ClickSettings {
    /// A link counts for an hour; the log is kept for a month.
    fn default() -> Self {
        ClickSettings { expires_s: 3_600, keep_days: 30 }
    }
}

/// An accepted click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clicked {
    /// The result.
    pub ticket: Ticket,
    /// Whether it counts: false if the same link was clicked before.
    pub is_first: bool,
}

/// Issues signed links and accepts clicks. Shared by all serving threads.
pub struct Desk {
    settings: ClickSettings,
    signer: Signer,
    state: Mutex<State>,
    dir: PathBuf,
}

struct State {
    clients: Clients,
    log: Log,
    /// Links that have been clicked, and when they expire.
    used: FxHashSet<(u64, u16)>,
    order: VecDeque<(i64, (u64, u16))>,
    tidied: i64,
}

impl Desk {
    /// The directory of a crawl's log.
    pub fn log_dir(dir: &Path) -> PathBuf {
        dir.join("clicks")
    }

    /// Opens the desk in a crawl's directory; `now_s` is in seconds of Unix time.
    pub fn open(dir: &Path, settings: ClickSettings, now_s: i64) -> Result<Desk, SearchError> {
        let dir = Self::log_dir(dir);
        let log = Log::open(&dir)?;
        let clients = Clients::open(&dir.join("salt"), now_s)?;
        let signer = Signer::open(&dir.join("key"))?;
        let (used, order) = (FxHashSet::default(), VecDeque::new());
        let mut state = State { clients, log, used, order, tidied: i64::MIN };
        state.remember(&dir, settings.expires_s, now_s)?;
        state.tidy(settings.keep_days, now_s)?;
        Ok(Desk { settings, signer, state: Mutex::new(state), dir })
    }

    /// The directory of the log.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of a client today.
    pub fn client(&self, address: IpAddr, now_s: i64) -> Result<u64, SearchError> {
        self.state().clients.number(address, now_s)
    }

    /// Logs that results were shown from position `first` on, and returns a signed link for each.
    pub fn show(
        &self,
        query: &str,
        first: u16,
        pages: &[PageRef],
        client: u64,
        now_ms: i64,
    ) -> Result<Vec<String>, SearchError> {
        let (shown, now_s) = (u64::from_le_bytes(random()?), now_ms.div_euclid(1_000));
        let expires_s = now_s.saturating_add(self.settings.expires_s);
        let entry = Entry::Shown {
            at_ms: now_ms,
            id: shown,
            client,
            query: cut(query, MOST_QUERY).to_owned(),
            first,
            pages: pages.to_vec(),
        };
        let mut state = self.state();
        state.tidy(self.settings.keep_days, now_s)?;
        state.log.append(&[entry], now_s)?;
        let ticket = |(&page, position)| Ticket { shown, position, page, expires_s };
        Ok(pages.iter().zip(first..).map(|row| self.signer.sign(&ticket(row))).collect())
    }

    /// Accepts a clicked link.
    pub fn click(
        &self,
        text: &str,
        client: u64,
        now_ms: i64,
    ) -> Result<Result<Clicked, BadTicket>, SearchError> {
        let now_s = now_ms.div_euclid(1_000);
        let ticket = match self.signer.read(text, now_s) {
            Ok(ticket) => ticket,
            Err(bad) => return Ok(Err(bad)),
        };
        let mut state = self.state();
        let is_first = state.use_up(&ticket, now_s);
        if is_first {
            let Ticket { shown, position, page, .. } = ticket;
            let entry = Entry::Clicked { at_ms: now_ms, id: shown, client, position, page };
            state.log.append(&[entry], now_s)?;
        }
        Ok(Ok(Clicked { ticket, is_first }))
    }

    /// Syncs the log to disk.
    pub fn sync(&self) -> Result<(), SearchError> {
        self.state().log.sync()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a ticket is used for the first time.
    fn use_up(&mut self, ticket: &Ticket, now_s: i64) -> bool {
        let is_over = |&(expires_s, _): &(i64, _)| expires_s < now_s;
        while self.order.front().is_some_and(is_over) || self.order.len() >= MOST_USED {
            if let Some((_, oldest)) = self.order.pop_front() {
                self.used.remove(&oldest);
            }
        }
        let key = (ticket.shown, ticket.position);
        let is_first = self.used.insert(key);
        if is_first {
            self.order.push_back((ticket.expires_s, key));
        }
        is_first
    }

    /// Loads recent clicks, which must not count again.
    fn remember(&mut self, dir: &Path, expires_s: i64, now_s: i64) -> Result<(), SearchError> {
        let since_s = now_s.saturating_sub(expires_s);
        let mut from = Mark { day: since_s.div_euclid(DAY_S), offset: 0 };
        loop {
            let rows = Rows::read(dir, from, LINES)?;
            for entry in rows.entries {
                if let Entry::Clicked { at_ms, id, position, page, .. } = entry
                    && at_ms / 1_000 >= since_s
                {
                    let expires_s = at_ms / 1_000 + expires_s;
                    let ticket = Ticket { shown: id, position, page, expires_s };
                    self.use_up(&ticket, now_s);
                }
            }
            from = rows.end;
            if !rows.has_more {
                return Ok(());
            }
        }
    }

    /// Removes old days, once a day.
    fn tidy(&mut self, keep_days: u32, now_s: i64) -> Result<(), SearchError> {
        let day = now_s.div_euclid(DAY_S);
        if std::mem::replace(&mut self.tidied, day) == day {
            return Ok(());
        }
        self.log.tidy(keep_days, now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    fn page(number: u32) -> PageRef {
        tidewatch_core::PageId(number).into()
    }

    #[test]
    fn a_click_counts_once_even_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Desk::open(dir.path(), ClickSettings::default(), NOW_MS / 1_000).unwrap();
        let desk = open();
        let links = desk.show("tide", 11, &[page(4), page(5)], 9, NOW_MS).unwrap();
        let first = desk.click(&links[1], 9, NOW_MS + 5).unwrap().unwrap();
        assert_eq!((first.ticket.page, first.ticket.position, first.is_first), (page(5), 12, true));
        assert!(!desk.click(&links[1], 9, NOW_MS + 6).unwrap().unwrap().is_first);
        drop(desk);
        let desk = open();
        assert!(!desk.click(&links[1], 8, NOW_MS + 7).unwrap().unwrap().is_first);
        assert!(desk.click(&links[0], 9, NOW_MS + 8).unwrap().unwrap().is_first);
        let late = desk.click(&links[0], 9, NOW_MS + 3_600_000 + 1_000).unwrap();
        assert!(matches!(late, Err(BadTicket::Expired(_))));
        assert_eq!(desk.click("nonsense", 9, NOW_MS).unwrap(), Err(BadTicket::Forged));
        let rows = Rows::read(desk.dir(), Mark::default(), 100).unwrap();
        assert_eq!(rows.entries.len(), 3, "one showing and two clicks: {:?}", rows.entries);
    }

    #[test]
    fn old_days_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::open(dir.path(), ClickSettings::default(), NOW_MS / 1_000).unwrap();
        desk.show("tide", 1, &[page(4)], 9, NOW_MS).unwrap();
        desk.show("tide", 1, &[page(4)], 9, NOW_MS + 40 * 86_400_000).unwrap();
        let rows = Rows::read(desk.dir(), Mark::default(), 100).unwrap();
        assert_eq!(rows.entries.len(), 1);
    }
}
