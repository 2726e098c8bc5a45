//! The simulator of a partition: a seed makes a web, a plan of crashes and a day of crawling.
//!
//! Everything that runs is production code, from the loop (`run_in`) down to the tables and the WARC
//! files. Only the clock and the network are virtual ([`world`]), so a day takes about a second. The
//! storage engine needs real files; they lie in memory where the system has a place for that, and the
//! library `faults.c` stands between. It fails changes, and from its log the states are made that a power
//! cut may leave ([`disk`]). Damage to files at rest is the matter of other tests.
//!
//! [`town`] is the web: hostile for a day, then well. [`judge`] says which promise was broken first. The
//! clock, the web and the plan follow the seed alone. A disk fault strikes a numbered change; the engine
//! writes from threads of its own, so which change that is may differ between two runs of a seed.
//!
//! More seeds: `TIDEWATCH_SEEDS=10000 cargo test -p tidewatch-partition --test faults sim`. One seed:
//! `TIDEWATCH_SEED=17`, and with `TIDEWATCH_TALK=1` each life is told.

mod disk;
mod judge;
mod town;
mod world;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_frontier::{Limits, SlowLane};
use tidewatch_partition::{Config, CrawlError, Ended, Partition, Reach, Stop, run_in};
use tidewatch_testing::living::size;

use self::disk::{Fault, Layer};
use self::judge::{Broken, Judge, Law};
use self::town::{Town, below};
use self::world::{Shared, World};
use crate::child::library;
use crate::disk::Dice;

/// Good days after which every page that can be reached must have been fetched.
const GOOD_DAYS: u64 = 30;
/// Seeds of a usual run. The next one, 7, is a town with a trap without end; such towns take minutes.
const SEEDS: usize = 7;
/// After so many seeds with which nobody notices a sabotage, the judge is blind. What a seed shows depends on
/// every decision of the policy.
const MOST_SEEDS: usize = 12;
/// Simulations at once.
const CHILDREN: usize = 2;
const TEST: &str = "sim::a_child_that_simulates";

/// A rule broken on purpose: the judge must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    None,
    /// The crawl keeps half the gap.
    Gap,
    /// The crawl keeps half the gap of addresses.
    Address,
    /// The crawl ignores Crawl-delay.
    Delay,
    /// The crawl ignores Retry-After.
    Retry,
    /// The crawl reads another robots.txt.
    Robots,
    /// The crawl has three times the budget.
    Budget,
    /// The crawl has more memory.
    Memory,
    /// Syncs do not reach the disk.
    Lie,
    /// Jobs are begun that are not on the tape.
    Tape,
    /// The decision is taken at another time than the explanation.
    Why,
    /// A page that is there is never served.
    Hide,
}

/// Each sabotage by its name in the environment, and the word in which the judge must speak of it.
const SABOTAGES: [(&str, Sabotage, &str); 11] = [
    ("gap", Sabotage::Gap, "before its time"),
    ("address", Sabotage::Address, "address"),
    ("delay", Sabotage::Delay, "before its time"),
    ("retry", Sabotage::Retry, "before its time"),
    ("robots", Sabotage::Robots, "against robots.txt"),
    ("budget", Sabotage::Budget, "more than the budget"),
    ("memory", Sabotage::Memory, "fit in memory"),
    ("lie", Sabotage::Lie, "is lost"),
    ("tape", Sabotage::Tape, "replay differs"),
    ("why", Sabotage::Why, "why: "),
    ("hide", Sabotage::Hide, "not fetched"),
];

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The operator stops it.
    Stop,
    /// It is killed between two steps.
    Kill,
    /// It is killed at some change to the disk.
    KillAtChange,
    /// Power fails at some change to the disk.
    Cut,
    /// A change fails with EIO.
    Broken,
    /// The disk is full for a while.
    Full,
}

/// What came of a seed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Story {
    lives: u64,
    crashes: u64,
    requests: u64,
    checked: u64,
    audits: u64,
    decisions: u64,
    hours: u64,
}

/// The settings of a seed's crawl.
fn config(seed: u64) -> Config {
    let pick = |what, least: u64, most: u64| least + below(seed, what, 0, 0, most - least + 1);
    let mut config = Config {
        budget: Rate::per_second(pick("budget", 2, 40) as f64 / 100.0).unwrap(),
        seed,
        robots_retry: Span::MINUTE.times(pick("robots retry", 10, 60)),
        limits: Limits {
            requests: pick("requests", 3, 8) as usize,
            jobs: pick("jobs", 4, 20) as usize,
        },
        slow_lane: SlowLane { after: Span::SECOND, requests: pick("slow requests", 2, 4) as usize },
        probe_pages: [0, 5, 20][pick("probe", 0, 2) as usize],
        archive_file_mb: 1,
        free_disk_mb: 1,
        cache_mb: 1,
        sieve_mb: 1,
        pages_mb: if Town::new(seed).has_trap { 1 } else { 64 },
        ..Config::default()
    };
    config.scope.reach = Reach::Everything;
    config.politeness.least_gap = Span::SECOND.times(pick("gap", 1, 5));
    config.politeness.address_gap = Span::from_micros(500_000 * pick("address gap", 1, 4));
    config.politeness.most_rest = Span::HOUR.times(pick("rest", 1, 4));
    config.revisit.usual = Span::MINUTE.times(pick("revisit", 20, 120));
    config.revisit.most = Span::HOUR.times(6);
    config
}

fn law(config: &Config) -> Law {
    Law {
        least_gap: config.politeness.least_gap,
        address_gap: config.politeness.address_gap,
        most_delay: config.politeness.most_delay,
        most_rest: config.politeness.most_rest,
        budget: config.budget.as_per_second(),
        most_pages: config.most_pages(),
        most_requests: config.limits.requests + config.slow_lane.requests,
    }
}

fn half(span: Span) -> Span {
    Span::from_micros(span.as_micros() / 2)
}

fn sabotaged(mut config: Config, sabotage: Sabotage) -> Config {
    match sabotage {
        Sabotage::Gap => config.politeness.least_gap = half(config.politeness.least_gap),
        Sabotage::Address => {
            config.politeness.least_gap = Span::ZERO;
            config.politeness.address_gap = half(config.politeness.address_gap);
        }
        Sabotage::Delay => config.politeness.most_delay = Span::ZERO,
        Sabotage::Retry => config.politeness.most_rest = Span::SECOND,
        Sabotage::Budget => {
            let budget = config.budget.as_per_second() * 3.0;
            config.budget = Rate::per_second(budget).unwrap();
        }
        Sabotage::Memory => config.pages_mb = 64,
        _ => {}
    }
    config
}

/// A crawl from its first seed to the last page.
struct Simulation {
    seed: u64,
    config: Config,
    world: Rc<RefCell<World>>,
    layer: Layer,
    has_cuts: bool,
    talks: bool,
    /// The directory's number: power cuts leave a new one.
    dir: u64,
    story: Story,
}

impl Simulation {
    fn new(seed: u64, sabotage: Sabotage, layer: Layer) -> Simulation {
        let (own, has_cuts) = (config(seed), seed % 4 == 1 || sabotage == Sabotage::Lie);
        // Requests of hosts at one address are told apart from those of one host.
        let mut law = law(&own);
        if sabotage == Sabotage::Address {
            law.least_gap = Span::ZERO;
        }
        let world = World::new(seed, Judge::new(law), layer.clone(), sabotage);
        layer.clear(has_cuts);
        layer.lie(sabotage == Sabotage::Lie);
        Simulation {
            seed,
            config: sabotaged(own, sabotage),
            world: Rc::new(RefCell::new(world)),
            layer,
            has_cuts,
            talks: std::env::var_os("TIDEWATCH_TALK").is_some(),
            dir: 1,
            story: Story::default(),
        }
    }

    fn below(&self, what: &str, most: u64) -> u64 {
        below(self.seed, what, self.story.lives, 0, most)
    }

    fn now(&self) -> Time {
        self.world.borrow().now()
    }

    /// How this life ends, and how long it lasts.
    fn plan(&self) -> (End, Span) {
        let minutes = 1 + self.below("life", 8 * 60);
        let end = match self.below("end", 12) {
            0 | 1 => End::Stop,
            2..=4 => End::Kill,
            _ if self.seed % 4 == 2 => End::Kill,
            5 | 6 if self.has_cuts => End::Cut,
            5..=8 => End::KillAtChange,
            9 => End::Broken,
            _ => End::Full,
        };
        (end, Span::MINUTE.times(minutes))
    }

    fn run(mut self) -> Result<Story, Broken> {
        let heals = Town::HEALS;
        while self.now() < heals {
            let (end, lasts) = self.plan();
            let lasts = lasts.min(heals.since(self.now()) + Span::SECOND);
            self.live(end, lasts)?;
        }
        let good = Span::DAY.times(GOOD_DAYS);
        let is_done = Arc::clone(&self.world.borrow().done);
        while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
            let left = (heals + good).since(self.now());
            if left == Span::ZERO {
                break;
            }
            self.live(End::Stop, left.min(Span::DAY.times(7)))?;
        }
        self.finish()
    }

    /// One life of the process, and the time until the next.
    fn live(&mut self, end: End, lasts: Span) -> Result<(), Broken> {
        self.story.lives += 1;
        let (began, is_early) = (self.now(), self.below("early", 5) == 0);
        let until = began + lasts;
        {
            let mut world = self.world.borrow_mut();
            let number = 1 + self.below("change", 60);
            let from = if is_early { began } else { until };
            match end {
                End::Stop => {}
                End::Kill => world.killed_at = until,
                End::KillAtChange | End::Cut => world.arm(from, number, Fault::Dead, until),
                End::Broken => world.arm(from, number, Fault::Broken, until),
                End::Full => {
                    let long = Span::SECOND.times(1 + self.below("full", 3_000));
                    world.arm(from, number, Fault::Full, from + long);
                }
            }
        }
        // A disk fault that comes at the end of a life needs some time to be met.
        let more = if matches!(end, End::Stop | End::Kill) { Span::ZERO } else { Span::HOUR };
        let ended = self.crawl(lasts + more);
        if self.talks {
            let told =
                ended.as_ref().map_or_else(ToString::to_string, |ended| format!("{ended:?}"));
            let requests = self.world.borrow().judge.requests;
            eprintln!("{end:?} from {began} to {}: {told}, {requests} requests", self.now());
        }
        let is_met = self.world.borrow().is_armed() || end == End::Kill;
        let broken = self.world.borrow().judge.broken().cloned();
        match ended {
            _ if broken.is_some() => return Err(broken.unwrap()),
            Err(error) if !is_met => return Err(Broken::Ended(error.to_string())),
            Err(_) => self.story.crashes += 1,
            Ok(_) => {}
        }
        self.layer.work();
        self.world.borrow_mut().die();
        if end == End::Cut {
            let mut dice = Dice(self.seed ^ self.story.lives << 32);
            self.layer.cut(self.dir, &mut dice);
            self.dir += 1;
        }
        let down = Span::SECOND.times(1 + self.below("down", 1_200));
        self.world.borrow_mut().pass(down);
        Ok(())
    }

    /// Opens the crawl, runs it, and leaves it as a process that ends or dies does.
    fn crawl(&mut self, lasts: Span) -> Result<Ended, CrawlError> {
        let dir = self.layer.dir(self.dir);
        let unix = self.world.borrow().unix_micros();
        self.world.borrow_mut().pass(Span::ZERO);
        let mut partition = Partition::open(&dir, self.config.clone(), unix)?;
        self.world.borrow_mut().judge.opened(&partition);
        let now = partition.time(unix);
        let seeds = self.world.borrow().town.seeds();
        for url in seeds {
            partition.seed(&url, now)?;
        }
        let stop = Stop {
            after: Some(Duration::from_micros(lasts.as_micros())),
            flag: Arc::clone(&self.world.borrow().done),
            ..Stop::default()
        };
        let (mut outside, mut watch) =
            (Shared(Rc::clone(&self.world)), Shared(Rc::clone(&self.world)));
        let ended = run_in(&mut partition, &mut outside, &stop, &mut watch);
        if self.world.borrow().is_killed() {
            // Nothing that is done while the partition is taken apart reaches the disk.
            self.layer.fail(1, Fault::Dead);
        }
        drop(partition);
        ended
    }

    /// Looks at the end result.
    fn finish(mut self) -> Result<Story, Broken> {
        let dir = self.layer.dir(self.dir);
        let unix = self.world.borrow().unix_micros();
        let mut world = self.world.borrow_mut();
        let mut partition =
            Partition::look(&dir, unix).map_err(|error| Broken::Unopened(error.to_string()))?;
        world.judge.opened(&partition);
        let missing = world.missing(&partition);
        if let Some(first) = missing.first().filter(|_| !world.town.has_trap) {
            let (days, all) = (GOOD_DAYS, world.town.reachable(world.now()).len());
            let url = CanonicalUrl::parse(first).unwrap();
            let (missing, last) = (missing.len(), partition.last());
            let (why, way) =
                (partition.why(&url).unwrap(), partition.obstacle(&url, last).unwrap());
            let first = format!("{first} at {last}: {why:?} {way:?}");
            return Err(Broken::Unfetched { days, missing, all, first });
        }
        drop(partition);
        let replayed =
            Partition::replay(&dir, unix).map_err(|error| Broken::Replay(error.to_string()))?;
        if replayed.decisions < world.begun {
            let told = format!("{} decisions, {} jobs", replayed.decisions, world.begun);
            return Err(Broken::Replay(told));
        }
        if let Some(broken) = world.judge.broken() {
            return Err(broken.clone());
        }
        self.story.decisions = replayed.decisions;
        (self.story.requests, self.story.checked) = (world.judge.requests, world.judge.checked);
        self.story.audits = world.audits;
        self.story.hours = world.now().as_micros() / Span::HOUR.as_micros();
        drop(world);
        Ok(self.story)
    }
}

#[test]
fn a_child_that_simulates() {
    let Ok(sabotage) = std::env::var("SIM_SABOTAGE") else { return };
    let number = |name: &str| size(name, 0) as u64;
    let (from, step, end) = (number("SIM_FROM"), number("SIM_STEP"), number("SIM_END"));
    let found = SABOTAGES.iter().find(|(name, ..)| *name == sabotage);
    let sabotage = found.map_or(Sabotage::None, |(_, sabotage, _)| *sabotage);
    for seed in (from..end).step_by(step as usize) {
        match Simulation::new(seed, sabotage, Layer::of_env()).run() {
            Ok(story) => println!("kept {seed} {story:?}"),
            Err(broken) => println!("broken {seed} {broken}"),
        }
    }
    println!("all told");
}

/// A directory in memory, if there is one.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Starts simulations of the seeds `from`, `from + step`, … below `end`.
fn start(root: &Path, library: &PathBuf, sabotage: &str, [from, step, end]: [usize; 3]) -> Child {
    let root = root.join(format!("{sabotage}{from}"));
    fs::create_dir(&root).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", TEST, "--nocapture"]).env("LD_PRELOAD", library);
    child.env("FAULT_DIR", root.join("disk")).env("FAULT_LOG", root.join("log"));
    child.env("FAULT_CONTROL", root.join("control")).env("SIM_SABOTAGE", sabotage);
    child.env("SIM_FROM", from.to_string()).env("SIM_STEP", step.to_string());
    child.env("SIM_END", end.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().unwrap()
}

/// What simulations tell.
fn tell(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    let (told, errors) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(told.contains("all told"), "a simulation died: {told}{errors}");
    told.into_owned()
}

/// The sum of a figure over all stories.
fn sum(told: &str, figure: &str) -> u64 {
    let values = told.lines().filter_map(|line| line.split_once(&format!("{figure}: ")));
    let digits = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse();
    values.map(|(_, value)| digits(value).unwrap_or(0u64)).sum()
}

#[test]
fn no_seed_breaks_a_promise() {
    let folder = folder();
    let library = library(folder.path());
    let (from, end) = match size("TIDEWATCH_SEED", usize::MAX) {
        usize::MAX => (0, size("TIDEWATCH_SEEDS", SEEDS)),
        seed => (seed, seed + 1),
    };
    let seeds = |child| [from + child, CHILDREN, end];
    let children: Vec<Child> =
        (0..CHILDREN).map(|child| start(folder.path(), &library, "none", seeds(child))).collect();
    let told: String = children.into_iter().map(tell).collect();
    let figures = ["lives", "crashes", "requests", "checked", "audits", "decisions", "hours"];
    let figures = figures.map(|figure| format!("{} {figure}", sum(&told, figure))).join(", ");
    if std::env::var_os("TIDEWATCH_TALK").is_some() {
        eprintln!("{told}");
    }
    let broken: Vec<&str> =
        told.lines().filter_map(|line| line.split_once("broken ").map(|(_, told)| told)).collect();
    eprintln!("{} seeds: {figures}; {} broken", end - from, broken.len());
    for told in &broken {
        let seed = told.split(' ').next().unwrap();
        eprintln!(
            "{told}\n  again: TIDEWATCH_SEED={seed} cargo test -p tidewatch-partition --test faults \
             sim::no_seed -- --nocapture"
        );
    }
    assert!(broken.is_empty(), "{} seeds break a promise", broken.len());
    let kept = told.lines().filter(|line| line.contains("kept ")).count();
    assert_eq!(kept, end - from);
}

#[test]
fn the_judge_notices_every_sabotage() {
    let folder = folder();
    let library = library(folder.path());
    for (name, _, word) in SABOTAGES {
        // Traps are in every eighth town, power cuts in every fourth.
        let (first, step) = match name {
            "memory" => (7, 8),
            "lie" => (1, 4),
            _ => (1, 1),
        };
        let is_noticed = |seed: &usize| {
            let told = tell(start(folder.path(), &library, name, [*seed, 1, seed + 1]));
            told.lines().any(|line| line.contains("broken ") && line.contains(word))
        };
        let noticed = (first..).step_by(step).take(MOST_SEEDS).find(is_noticed);
        eprintln!("{name}: noticed with seed {noticed:?}");
        assert!(noticed.is_some(), "nobody noticed {name} with {MOST_SEEDS} seeds");
    }
}
