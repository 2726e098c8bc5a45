//! A frontier and its tape, kept in step.
//!
//! Every input goes through [`Taped::tell`], [`Taped::tell_page`] or [`Taped::next`], which play it
//! and note it for the tape. So the tape on disk always leads to the frontier in memory.
//!
//! A policy that panics is replaced by one that visits every page in turn. The tape says over which
//! input it panicked, so the next start replaces it at the same point without asking it again, and
//! [`Partition::replay`](crate::Partition::replay) asks it again to reproduce the panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use tidewatch_core::{FetchKind, HostId, PageId, Rate, Span, Time};
use tidewatch_frontier::tape::{Diverged, Input, Names};
use tidewatch_frontier::{Frontier, HostMemo, KeptBack, Limits, Next, Politeness};
use tidewatch_policy::{DemandCurve, Explanation, HintRecord, Policy, Return, Standing, WhatIf};
use tidewatch_store::StoreError;

use crate::snapshot;

/// How many inputs and decisions a replay played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Everything that the frontier was told or asked.
    pub inputs: u64,
    /// The decisions among them, all the same as then.
    pub decisions: u64,
    /// Panics of the policy, after each of which another one took over.
    pub panics: u64,
    /// Those that happened again.
    pub reproduced: u64,
}

/// A frontier whose every input is noted for the tape.
pub(crate) struct Taped {
    frontier: Frontier<'static>,
    /// Inputs that are not in a batch yet.
    noted: Vec<Input>,
    /// What the policy's panic said, if it was replaced.
    fallen: Option<String>,
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
    /// A frontier without events. Replay restores the recorded rules and budget; `Partition::resume`
    /// then sets the present ones.
    pub(crate) fn new(policy: Box<dyn Policy>) -> Taped {
        let (rules, limits) = (Politeness::default(), Limits { requests: 1, jobs: 1 });
        Taped {
            frontier: Frontier::new(policy, rules, limits, Rate::ZERO, Time::ZERO),
            noted: Vec::new(),
            fallen: None,
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
        match self.guard(|frontier| frontier.play(&input, &mut OneUrl(url))) {
            Ok(played) => {
                played?;
                self.note(input);
            }
            Err(why) => self.fall_back(input, why),
        }
        Ok(())
    }

    /// Asks the frontier what to do. The question is noted only if it changed the frontier.
    pub(crate) fn next(&mut self, now: Time) -> Next {
        let before = self.frontier.moves();
        let next = match self.guard(|frontier| frontier.next(now)) {
            Ok(next) => next,
            Err(why) => {
                self.fall_back(Input::Asked { at: now, decided: None }, why);
                return self.next(now);
            }
        };
        let decided = match next {
            Next::Do(command) => Some(command),
            Next::Wait(_) => None,
        };
        if self.frontier.moves() != before {
            self.note(Input::Asked { at: now, decided });
        }
        next
    }

    /// Calls `act` with the frontier; `Err` with the message if the policy panics. Other panics, and
    /// those of the policy that took over, propagate.
    fn guard<T>(&mut self, act: impl FnOnce(&mut Frontier<'static>) -> T) -> Result<T, String> {
        let done = catch_unwind(AssertUnwindSafe(|| act(&mut self.frontier)));
        done.map_err(|panic| {
            if self.fallen.is_some() || !self.frontier.is_policys_fault() {
                resume_unwind(panic);
            }
            panic_message(panic.as_ref())
        })
    }

    /// Replaces the policy, which panicked over an input.
    fn fall_back(&mut self, over: Input, why: String) {
        self.frontier.fall_back();
        self.fallen = Some(why.clone());
        self.note(Input::FellBack { over: Box::new(over), why });
    }

    /// What the policy's panic said, if it was replaced.
    pub(crate) fn fallen(&self) -> Option<&str> {
        self.fallen.as_deref()
    }

    /// Asks the policy something that changes nothing; `None` if it panics over it.
    fn look<T>(&self, look: impl FnOnce(&Frontier<'static>) -> Option<T>) -> Option<T> {
        catch_unwind(AssertUnwindSafe(|| look(&self.frontier))).ok().flatten()
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
    /// come out the same. With `provoke` the policy is asked again what it panicked over.
    pub(crate) fn replay(
        &mut self,
        inputs: impl Iterator<Item = Result<Input, StoreError>>,
        names: &mut dyn FallibleNames,
        provoke: bool,
    ) -> Result<Replayed, crate::CrawlError> {
        let mut replayed = Replayed::default();
        let began = Instant::now();
        for input in inputs {
            let input = input?;
            replayed.inputs += 1;
            replayed.decisions += u64::from(matches!(input, Input::Asked { decided: Some(_), .. }));
            self.last = self.last.max(input.at().unwrap_or(self.last));
            match &input {
                Input::FellBack { over, why } => {
                    replayed.panics += 1;
                    if provoke {
                        let again = self.guard(|frontier| frontier.provoke(over, names.names()));
                        replayed.reproduced += u64::from(again.is_err());
                        self.frontier.fall_back();
                    } else {
                        self.frontier.play(&input, names.names())?;
                    }
                    self.fallen = Some(why.clone());
                }
                _ => self
                    .guard(|frontier| frontier.play(&input, names.names()))
                    .map_err(crate::CrawlError::Panicked)??,
            }
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

    /// The frontier, for reading.
    pub(crate) const fn frontier(&self) -> &Frontier<'static> {
        &self.frontier
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
    pub(crate) fn activity(&self) -> (usize, usize) {
        self.frontier.activity()
    }

    /// The policy's explanation of a page.
    pub(crate) fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.look(|frontier| frontier.why(page, now))
    }

    /// The doubt about a page that the policy knows; `None` if it does not weigh doubts.
    pub(crate) fn doubt(&self, page: PageId) -> Option<f64> {
        self.look(|frontier| frontier.doubt(page))
    }

    /// Clicks of pages fetched a while ago, since the last call. They are not on the tape: no choice depends
    /// on them.
    pub(crate) fn take_returns(&mut self) -> Vec<Return> {
        self.frontier.take_returns()
    }

    /// Whether nothing can be fetched now nor within `patience`.
    pub(crate) fn is_done(&self, patience: Span, now: Time) -> bool {
        self.frontier.is_done(patience, now)
    }

    /// Pages that may not be fetched now.
    pub(crate) fn kept_back(&self, now: Time) -> KeptBack {
        self.frontier.kept_back(now)
    }

    /// What another budget would bring, per second of crawl time.
    pub(crate) fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        self.look(|frontier| frontier.what_if(budget))
    }

    /// How hints have proved themselves, as far as the policy reads them.
    pub(crate) fn hint_records(&self, most: usize) -> Vec<HintRecord> {
        self.look(|frontier| Some(frontier.hint_records(most))).unwrap_or_default()
    }

    /// Price and freshness, as far as the policy can tell.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.look(Frontier::standing)
    }

    /// The budget that the policy would spend at each price, per second of crawl time.
    pub(crate) fn demand(&self) -> Option<DemandCurve> {
        self.look(Frontier::demand)
    }

    /// The budget, per second of crawl time.
    pub(crate) fn budget(&self) -> Rate {
        self.frontier.budget()
    }
}

/// What a panic said.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

/// URLs for a replay, from a source that may fail.
pub(crate) trait FallibleNames {
    /// The URLs, in the order of page numbers.
    fn names(&mut self) -> &mut dyn Names;
    /// What went wrong since the last call.
    fn failure(&mut self) -> Result<(), StoreError>;
}
