//! The virtual clock and network around a partition, and what its plan says happens next.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Span, Time};
use tidewatch_fetch::{End, Fetched, Hop, Response};
use tidewatch_frontier::audit::Statements;
use tidewatch_partition::work::{Job, Report};
use tidewatch_partition::{CrawlError, Next, Outside, Partition, Pass, Reporter, Settled, Watch};

use super::Sabotage;
use super::disk::{Fault, Layer};
use super::judge::{Broken, Judge};
use super::town::{Answer, Rules, Town, below, draw};
use crate::small::START;

/// The longest that a crawl sleeps when it waits for nothing.
const LONGEST_NAP: Duration = Duration::from_mins(5);
/// One turn in so many is audited: do explanations agree with the next decision?
const AUDIT_EVERY: u64 = 20;
/// How often the end of the crawl is looked for.
const LOOK_EVERY: Span = Span::HOUR;

/// A request under way.
struct Flight {
    job: Job,
    host: u64,
    address: Option<IpAddr>,
    began: Time,
    answer: Landing,
}

/// When and how the disk fails.
struct DiskPlan {
    from: Time,
    until: Time,
    number: u64,
    fault: Fault,
    is_armed: bool,
    is_over: bool,
}

enum Landing {
    Address(Result<Vec<IpAddr>, tidewatch_fetch::Failure>, Duration),
    Robots(Answer, Rules),
    Page(Answer),
}

/// Everything outside of a crawl.
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) town: Town,
    pub(super) judge: Judge,
    pub(super) layer: Layer,
    sabotage: Sabotage,
    now: Time,
    flights: BTreeMap<(Time, u64), Flight>,
    serial: u64,
    turns: u64,
    reporter: Reporter,
    /// When the process is killed.
    pub(super) killed_at: Time,
    plan: Option<DiskPlan>,
    /// Jobs begun since the crawl began that are on the tape; after a crash, those begun before the last sync.
    pub(super) begun: u64,
    /// Of these, the ones begun before the last sync.
    synced: u64,
    pub(super) audits: u64,
    looked: Time,
    /// Set once every page that can be reached was fetched.
    pub(super) done: Arc<AtomicBool>,
}

impl World {
    pub(super) fn new(seed: u64, judge: Judge, layer: Layer, sabotage: Sabotage) -> World {
        World {
            seed,
            town: Town::new(seed),
            judge,
            layer,
            sabotage,
            now: Time::ZERO,
            flights: BTreeMap::new(),
            serial: 0,
            turns: 0,
            reporter: Reporter::new("Tidewatch", 1),
            killed_at: Time::NEVER,
            plan: None,
            begun: 0,
            synced: 0,
            audits: 0,
            looked: Time::ZERO,
            done: Arc::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn unix_micros(&self) -> i64 {
        START + self.now.as_micros().cast_signed()
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, time: Span) {
        self.now = self.now + time;
        let Some(plan) = &mut self.plan else { return };
        if !plan.is_armed && self.now >= plan.from {
            plan.is_armed = true;
            self.layer.fail(plan.number, plan.fault);
        }
        if plan.fault == Fault::Full && !plan.is_over && self.now >= plan.until {
            plan.is_over = true;
            self.layer.work();
        }
    }

    /// From a moment on, the `number`-th change to the disk fails; a full disk has room again at `until`.
    pub(super) fn arm(&mut self, from: Time, number: u64, fault: Fault, until: Time) {
        let (is_armed, is_over) = (false, false);
        self.plan = Some(DiskPlan { from, until, number, fault, is_armed, is_over });
    }

    /// Whether the disk has, or may have, failed in this life.
    pub(super) fn is_armed(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.is_armed)
    }

    /// Whether the process was killed, so that it cannot change anything any more.
    pub(super) fn is_killed(&self) -> bool {
        self.now >= self.killed_at
            || self.plan.as_ref().is_some_and(|plan| plan.is_armed && plan.fault == Fault::Dead)
    }

    fn is_full(&self) -> bool {
        self.plan
            .as_ref()
            .is_some_and(|plan| plan.fault == Fault::Full && plan.is_armed && !plan.is_over)
    }

    /// The process is gone, and with it its requests.
    pub(super) fn die(&mut self) {
        self.flights.clear();
        self.begun = self.synced;
        self.judge.dies(self.now);
        self.killed_at = Time::NEVER;
        self.plan = None;
    }

    /// How late the machine wakes a crawl that has no request under way. An idle crawl looks about itself
    /// every second, which costs a simulation more than all else; some seeds have punctual machines.
    fn nap(&self) -> Duration {
        let most = match self.seed % 16 {
            _ if self.now >= Town::HEALS => 300_000,
            4 => 1,
            _ => 40_000,
        };
        Duration::from_millis(below(self.seed, "nap", self.turns, 0, most))
    }

    fn begin(&mut self, job: Job) {
        let now = self.now;
        self.begun += 1;
        let (host, answer, took) = match &job {
            Job::Resolve { name, .. } => {
                let host = Town::host(name);
                let (found, took) = self.town.resolve(host, now);
                (host, Landing::Address(found, took), span(took))
            }
            Job::Robots { url, .. } => {
                let host = Town::host(url.host());
                let (answer, rules) = self.town.robots(host, now);
                let took = answer.took;
                (host, Landing::Robots(self.sabotaged(answer), rules), took)
            }
            Job::Page { url, held, .. } => {
                let host = Town::host(url.host());
                let etag = held.as_ref().and_then(|held| held.etag.as_deref());
                let path = url.path_and_query();
                let answer = if self.sabotage == Sabotage::Hide && path == "/p/0" {
                    self.town.answer(host, "/nowhere", etag, now)
                } else {
                    self.town.answer(host, path, etag, now)
                };
                let took = answer.took;
                (host, Landing::Page(answer), took)
            }
        };
        let path = match &job {
            Job::Page { url, .. } => Some(url.path_and_query().to_owned()),
            _ => None,
        };
        let is_request = !matches!(job, Job::Resolve { .. });
        let address = is_request.then(|| self.town.address(host));
        if let Some(address) = address {
            self.judge.asks(host, address, path.as_deref(), now);
        }
        self.serial += 1;
        let flight = Flight { job, host, address, began: now, answer };
        self.flights.insert((now + took, self.serial), flight);
    }

    /// Hides the rules of a robots.txt from the crawl.
    fn sabotaged(&self, mut answer: Answer) -> Answer {
        if self.sabotage == Sabotage::Robots {
            let text = String::from_utf8_lossy(&answer.body).replace("Disallow", "Allow");
            answer.body = text.into_bytes();
        }
        answer
    }

    /// The report that is there now.
    fn land(&mut self) -> Option<Report> {
        let entry = self.flights.first_entry().filter(|entry| entry.key().0 <= self.now)?;
        let ((at, _), flight) = entry.remove_entry();
        let Flight { job, host, address, began, answer } = flight;
        let answer = match answer {
            Landing::Address(found, took) => {
                let Job::Resolve { host, .. } = job else { return None };
                return Some(Reporter::resolved(host, found, took));
            }
            Landing::Robots(answer, rules) => {
                self.judge.reads(host, rules, self.now);
                answer
            }
            Landing::Page(answer) => answer,
        };
        let retry = answer.header("retry-after").and_then(|text| text.parse().ok());
        let retry = retry.map(|seconds: u64| Span::SECOND.times(seconds));
        if let Some(address) = address {
            self.judge.ends(host, address, retry, at);
        }
        if let Job::Page { url, .. } = &job {
            match &answer.confirmed {
                Some(body) => self.judge.serves(url.as_str(), body),
                None if (200..300).contains(&answer.status) => {
                    self.judge.serves(url.as_str(), &answer.body);
                }
                None => {}
            }
        }
        let asked = UNIX_EPOCH + Duration::from_micros(START as u64 + began.as_micros());
        let url = match &job {
            Job::Robots { url, .. } | Job::Page { url, .. } => url.clone(),
            Job::Resolve { .. } => return None,
        };
        let fetched = fetched(url, address, answer, asked);
        Some(self.reporter.report(&job, &fetched, asked))
    }

    /// Pages that can be reached and are not held.
    pub(super) fn missing(&self, partition: &Partition) -> Vec<String> {
        let tables = partition.store().tables().unwrap();
        let is_missing = |url: &String| {
            let page = partition.store().page_of(url).unwrap();
            page.is_none_or(|page| tables.copy(page).unwrap().is_none())
        };
        self.town.reachable(self.now).into_iter().filter(is_missing).collect()
    }
}

fn span(duration: Duration) -> Span {
    Span::from_micros(u64::try_from(duration.as_micros()).unwrap())
}

/// An answer as the network hands it over.
fn fetched(
    url: CanonicalUrl,
    address: Option<IpAddr>,
    answer: Answer,
    asked: SystemTime,
) -> Fetched {
    let location = answer.header("location").and_then(|to| url.join(to).ok());
    let end = match (answer.failure, location) {
        (Some(failure), _) => End::Failed(failure),
        (None, Some(to)) => End::Redirect(to),
        (None, None) => End::Answered,
    };
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    let is_answered = !matches!(end, End::Failed(_));
    #[expect(clippy::default_trait_access, reason = "the map's crate is no dependency")]
    let mut response = Response {
        status: answer.status,
        head: Vec::new(),
        is_h2: false,
        headers: Default::default(),
        wire_bytes: answer.body.len() as u64,
        body: answer.body,
        is_cut: false,
        is_damaged: answer.is_half,
    };
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {value}\r\n");
        response.headers.insert(*name, value.parse().unwrap());
    }
    response.head = (head + "\r\n").into_bytes();
    let request_head = format!("GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", url.path(), url.host());
    let hop = Hop {
        url,
        at: asked,
        address,
        request_head: request_head.into_bytes(),
        response: is_answered.then_some(response),
        connect: None,
        first_byte: None,
        total: Duration::from_micros(answer.took.as_micros()),
    };
    Fetched { hops: vec![hop], end }
}

/// What a run sees of the world, and how the world watches it.
#[derive(Clone)]
pub(super) struct Shared(pub(super) Rc<RefCell<World>>);

impl Outside for Shared {
    fn unix_micros(&self) -> i64 {
        self.0.borrow().unix_micros()
    }

    fn passed(&self) -> Duration {
        Duration::from_micros(self.0.borrow().now.as_micros())
    }

    fn sleep(&mut self, time: Duration) {
        self.0.borrow_mut().pass(span(time));
    }

    fn begin(&mut self, job: Job, _: Option<Pass>) {
        self.0.borrow_mut().begin(job);
    }

    fn under_way(&self) -> usize {
        self.0.borrow().flights.len()
    }

    fn wait(&mut self, longest: Duration) -> Option<Report> {
        let mut world = self.0.borrow_mut();
        let longest = if world.flights.is_empty() { longest.max(world.nap()) } else { longest };
        let until = world.now + span(longest.min(LONGEST_NAP));
        let until = until.min(world.killed_at.max(world.now));
        let next = world.flights.first_key_value().map_or(Time::NEVER, |(at, _)| at.0);
        let passed = next.min(until).since(world.now);
        world.pass(passed);
        world.land()
    }

    fn ready(&mut self) -> Option<Report> {
        self.0.borrow_mut().land()
    }
}

impl Watch for Shared {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        let mut world = self.0.borrow_mut();
        world.judge.synced();
        world.synced = world.begun;
        for page in pages {
            world.judge.stores(partition.address(*page).unwrap().as_str());
        }
    }

    fn settled(&mut self, partition: &Partition, settled: Settled, _: Time) {
        let (page, is_held) = match settled {
            Settled::Held(page) => (page, true),
            Settled::Gone(page) => (page, false),
            Settled::Nothing => return,
        };
        // A disk that fails closes the tables; the run ends.
        let Ok(url) = partition.address(page) else { return };
        self.0.borrow_mut().judge.settles(url.as_str(), is_held);
    }

    fn turn(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        let (turn, sabotage) = {
            let mut world = self.0.borrow_mut();
            world.turns += 1;
            let requests = world.flights.len();
            world.judge.weighs(partition, requests);
            if world.now >= world.killed_at || world.judge.broken().is_some() {
                // Any error ends the run at once, as a kill does.
                return Err(CrawlError::NotBegun);
            }
            (world.turns, world.sabotage)
        };
        if turn % AUDIT_EVERY == 0 {
            self.audit(partition, now, sabotage)?;
        }
        let mut world = self.0.borrow_mut();
        if below(world.seed, "save", turn, 0, 400) == 0 {
            drop(world);
            return partition.save();
        }
        if world.now >= Town::HEALS && world.now >= world.looked + LOOK_EVERY {
            world.looked = world.now;
            if world.missing(partition).is_empty() {
                world.done.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn tick(&mut self, _: &Partition, _: Time) {
        let mut world = self.0.borrow_mut();
        let turn = world.turns;
        // A slow sync.
        if below(world.seed, "slow sync", turn, 1, 200) == 0 {
            let millis = draw(world.seed, "slow sync", turn, 2) % 20_000;
            world.pass(Span::from_micros(millis * 1_000));
        }
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(if self.0.borrow().is_full() { 0 } else { 1 << 40 })
    }
}

impl Shared {
    /// Asks about every page and then for the next decision.
    fn audit(
        &mut self,
        partition: &mut Partition,
        now: Time,
        sabotage: Sabotage,
    ) -> Result<(), CrawlError> {
        let (said, before) = (Statements::of(partition.frontier(), now), partition.tally().clone());
        let asked = if sabotage == Sabotage::Why { now + Span::DAY } else { now };
        if let Next::Job(job) = partition.next(asked)? {
            self.0.borrow_mut().begin(job);
        }
        if *partition.tally() != before {
            // A page was chosen and found to be disallowed, and then another was chosen.
            return Ok(());
        }
        let found = said.check(partition.frontier()).map_err(|lie| Broken::Why(lie.to_string()));
        let mut world = self.0.borrow_mut();
        world.audits += 1;
        world.judge.note(found);
        if sabotage == Sabotage::Tape {
            world.begun += 1;
        }
        Ok(())
    }
}
