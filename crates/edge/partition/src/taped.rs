//! A frontier and its tape, kept in step.
//!
//! Every input goes through [`Taped::tell`], [`Taped::tell_page`] or [`Taped::next`], which play it
//! and note it for the tape. So the tape on disk always leads to the frontier in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use tidewatch_core::{FetchKind, HostId, PageId, Rate, Time};
use tidewatch_frontier::tape::{Diverged, Input, Names};
use tidewatch_frontier::{Frontier, HostMemo, Limits, Next, Politeness};
use tidewatch_policy::{DemandCurve, Explanation, Policy, Standing, WhatIf};
use tidewatch_store::StoreError;

use crate::snapshot;

/// How many inputs and decisions a replay played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Everything that the frontier was told or asked.
    pub inputs: u64,
    /// The decisions among them, all the same as then.
    pub decisions: u64,
}

/// A frontier whose every input is noted for the tape.
pub(crate) struct Taped {
    frontier: Frontier<'static>,
    /// Inputs that are not in a batch yet.
    noted: Vec<Input>,
    /// The latest time of any input.
    last: Time,
    /// Inputs since the last snapshot.
    unsaved: u64,
    /// How long they took to play, which is how long the next start takes.
    unsaved_took: Duration,
    /// How long the last snapshot took.
    save_took: Duration,
}

/// The URL of the one page that is told.
struct OneUrl<'u>(&'u str);

impl Names for OneUrl<'_> {
    fn next_url(&mut self) -> String {
        self.0.to_owned()
    }
}

impl Taped {
    /// A frontier that was told nothing. The tape sets rules and budget as they were, and
    /// `Partition::resume` as they are now.
    pub(crate) fn new(policy: Box<dyn Policy>) -> Taped {
        let (rules, limits) = (Politeness::default(), Limits { requests: 1, jobs: 1 });
        Taped {
            frontier: Frontier::new(policy, rules, limits, Rate::ZERO, Time::ZERO),
            noted: Vec::new(),
            last: Time::ZERO,
            unsaved: 0,
            unsaved_took: Duration::ZERO,
            save_took: Duration::ZERO,
        }
    }

    /// Plays an input that names no new page, and notes it for the tape.
    pub(crate) fn tell(&mut self, input: Input) -> Result<(), Diverged> {
        self.tell_page(input, "")
    }

    /// Plays the input that makes the page of `url` known, and notes it for the tape.
    pub(crate) fn tell_page(&mut self, input: Input, url: &str) -> Result<(), Diverged> {
        self.frontier.play(&input, &mut OneUrl(url))?;
        self.note(input);
        Ok(())
    }

    /// Asks the frontier what to do. The question is noted only if it changed the frontier.
    pub(crate) fn next(&mut self, now: Time) -> Next {
        let before = self.frontier.moves();
        let next = self.frontier.next(now);
        let decided = match next {
            Next::Do(command) => Some(command),
            Next::Wait(_) => None,
        };
        if self.frontier.moves() != before {
            self.note(Input::Asked { at: now, decided });
        }
        next
    }

    fn note(&mut self, input: Input) {
        self.last = self.last.max(input.at().unwrap_or(self.last));
        self.unsaved += 1;
        self.noted.push(input);
    }

    /// Moves the noted inputs to the end of a batch.
    pub(crate) fn drain_into(&mut self, tape: &mut Vec<Input>) {
        tape.append(&mut self.noted);
    }

    /// Loads the snapshot of `dir`, if there is one from before batch `next`; returns the first
    /// batch that is still to be played.
    pub(crate) fn load(&mut self, dir: &Path, policy: Box<dyn Policy>, next: u64) -> u64 {
        let Some(found) = snapshot::read(dir, policy, next) else { return 0 };
        (self.frontier, self.last) = (found.frontier, found.last);
        found.batch
    }

    /// Plays inputs that are on the tape already. Every decision among them is taken again and must
    /// come out the same.
    pub(crate) fn replay(
        &mut self,
        inputs: impl Iterator<Item = Result<Input, StoreError>>,
        names: &mut dyn FallibleNames,
    ) -> Result<Replayed, crate::CrawlError> {
        let mut replayed = Replayed::default();
        let began = Instant::now();
        for input in inputs {
            let input = input?;
            replayed.inputs += 1;
            replayed.decisions += u64::from(matches!(input, Input::Asked { decided: Some(_), .. }));
            self.last = self.last.max(input.at().unwrap_or(self.last));
            self.frontier.play(&input, names.names())?;
            names.failure()?;
        }
        self.unsaved = replayed.inputs;
        self.unsaved_took = began.elapsed();
        Ok(replayed)
    }

    /// Writes a snapshot that has seen every batch before `batch`. Without one the next start only
    /// takes longer, so a failure is no error.
    pub(crate) fn save(&mut self, dir: &Path, batch: u64) {
        let began = Instant::now();
        let _ = snapshot::write(dir, &self.frontier, batch, self.last);
        (self.unsaved, self.unsaved_took) = (0, Duration::ZERO);
        self.save_took = began.elapsed();
    }

    /// Counts time spent on inputs since the last snapshot.
    pub(crate) fn count_time(&mut self, took: Duration) {
        self.unsaved_took += took;
    }

    /// Whether a snapshot is worth its time: the next start would take longer than `longest`, and
    /// saving takes at most 1/`share` of that.
    pub(crate) fn wants_save(&self, longest: Duration, share: u32) -> bool {
        self.unsaved_took >= longest.max(share * self.save_took)
    }

    /// Inputs that the next start would have to play.
    pub(crate) const fn unsaved(&self) -> u64 {
        self.unsaved
    }

    /// The latest time of any input.
    pub(crate) const fn last(&self) -> Time {
        self.last
    }

    /// What the next fetch of a page is for.
    pub(crate) fn fetch_kind(&self, page: PageId) -> FetchKind {
        self.frontier.fetch_kind(page)
    }

    /// The page that a host's job is about.
    pub(crate) fn job_of(&self, host: HostId) -> Option<PageId> {
        self.frontier.job_of(host)
    }

    /// Pages that were chosen and have no outcome yet.
    pub(crate) fn under_way(&self) -> Vec<PageId> {
        self.frontier.under_way().collect()
    }

    /// The host of a page.
    pub(crate) fn host_of(&self, page: PageId) -> HostId {
        self.frontier.host_of(page)
    }

    /// The number of the next page.
    pub(crate) fn next_page(&self) -> PageId {
        self.frontier.next_page()
    }

    /// How many pages each host has, by host number.
    pub(crate) fn pages_by_host(&self) -> Vec<u32> {
        self.frontier.pages_by_host()
    }

    /// What politeness remembers of a host.
    pub(crate) fn memo(&self, host: HostId) -> HostMemo {
        self.frontier.memo(host)
    }

    /// Hosts that have a job, and requests under way.
    pub(crate) const fn activity(&self) -> (usize, usize) {
        self.frontier.activity()
    }

    /// The policy's explanation of a page.
    pub(crate) fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.frontier.why(page, now)
    }

    /// What another budget would bring, per second of crawl time.
    pub(crate) fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        self.frontier.what_if(budget)
    }

    /// Price and freshness, as far as the policy can tell.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.frontier.standing()
    }

    /// The budget that the policy would spend at each price, per second of crawl time.
    pub(crate) fn demand(&self) -> Option<DemandCurve> {
        self.frontier.demand()
    }

    /// The budget, per second of crawl time.
    pub(crate) fn budget(&self) -> Rate {
        self.frontier.budget()
    }
}

/// URLs for a replay, from a source that may fail.
pub(crate) trait FallibleNames {
    /// The URLs, in the order of page numbers.
    fn names(&mut self) -> &mut dyn Names;
    /// What went wrong since the last call.
    fn failure(&mut self) -> Result<(), StoreError>;
}
