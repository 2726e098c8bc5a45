//! Hints from outside become inputs on the tape, as dates of sitemaps do.

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_frontier::tape::Input;

use super::{CrawlError, Found, Partition};
use crate::announced::Announced;
use crate::hints::{HintRow, Received, Sender};

impl Partition {
    /// Takes in hints of a sender about URLs that this partition owns. They join the next commit.
    pub fn take_hints(
        &mut self,
        sender: &Sender,
        urls: &[CanonicalUrl],
        now: Time,
    ) -> Result<Received, CrawlError> {
        let mut received = Received::default();
        for url in urls.iter().filter(|url| self.owns(url)).cloned().collect::<Vec<_>>() {
            *self.take_hint(sender, &url, now)?.of(&mut received) += 1;
        }
        Ok(received)
    }

    fn take_hint(
        &mut self,
        sender: &Sender,
        url: &CanonicalUrl,
        now: Time,
    ) -> Result<Said, CrawlError> {
        let known = self.pages.page_of(url.as_str())?;
        if let Some(page) = known {
            let fetched = self.pages.copy(page)?.map(|copy| copy.at);
            let is_news = |at| !self.senders.has_said(sender, page, at);
            if !fetched.is_some_and(is_news) {
                return Ok(Said::Waiting);
            }
        }
        if !self.senders.may_say(sender, self.taped.budget(), now) {
            return Ok(Said::Refused);
        }
        let page = match known {
            Some(page) => page,
            // Another address of a known page is a hint about that page.
            None => match self.link(url, Found { depth: 1, ..Found::named(false) }, now)? {
                None => return Ok(Said::Dropped),
                Some(link) if link.is_new => return Ok(Said::New),
                Some(link) => link.page,
            },
        };
        self.senders.note(sender, page, now);
        self.taped.tell(Input::Hint { page, at: now, kind: sender.kind() })?;
        Ok(Said::Hinted)
    }

    /// What feeds have said of their hubs since this was last asked.
    pub fn take_announced(&mut self) -> Vec<Announced> {
        self.announced.take()
    }

    /// Whether a page of this address would be taken in.
    pub fn covers(&self, url: &CanonicalUrl) -> bool {
        self.scope.covers(url, false).is_ok()
    }

    /// How hints have proved themselves, the best tested first, at most `most`.
    pub fn hint_rows(&self, most: usize) -> Vec<HintRow> {
        let records = self.taped.hint_records(most).into_iter().map(|record| HintRow {
            host: self.pages.origin(record.host).to_owned(),
            kind: record.kind,
            hints: record.hints,
            precision: record.precision,
            recall: record.recall,
        });
        records.collect()
    }
}

/// Result of a hint.
enum Said {
    Hinted,
    New,
    Waiting,
    Dropped,
    Refused,
}

impl Said {
    /// Where it is counted.
    const fn of(self, received: &mut Received) -> &mut u32 {
        match self {
            Said::Hinted => &mut received.hinted,
            Said::New => &mut received.new,
            Said::Waiting => &mut received.waiting,
            Said::Dropped => &mut received.dropped,
            Said::Refused => &mut received.refused,
        }
    }
}
