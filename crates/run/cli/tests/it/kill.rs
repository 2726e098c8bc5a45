//! `kill -9` at random moments under load: nothing that was reported as stored is lost.
//!
//! In full: `TIDEWATCH_KILLS=50 TIDEWATCH_HOSTS=200 cargo test --release -p tidewatch-cli
//! --test it kill -- --nocapture`; with `TIDEWATCH_KEEP=DIR` the crawl's directory is left
//! there for `warcio check`. `TIDEWATCH_MOMENTS` is the number of kills while starting, running and
//! stopping, and `TIDEWATCH_SEED` chooses other moments.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{Partitions, owner};
use tidewatch_store::{Memory, Store};
use tidewatch_testing::living::size;
use tidewatch_web::Served;

use crate::living::{Living, all_readable};

/// The crawler must be ready again this long after it was started. It takes a second on an idle machine.
const READY: Duration = Duration::from_secs(30);
/// Requests under way at once, as the settings say.
const IN_FLIGHT: usize = 32;
/// Requests a second that a host allows, as the settings say.
const HOST_RATE: usize = 10;
/// Seconds of fetches that a kill may lose on a slow disk: half a second passes between two commits,
/// and one may take as long. None of these fetches was reported as stored.
const UNSYNCED_S: usize = 1;

/// The web of the kills at any moment.
const MOMENT_HOSTS: usize = 40;
const MOMENT_PAGES: usize = 40;

/// Moments that no clock chooses.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        least + (self.0 >> 33) % (most - least)
    }
}

fn start(living: &Living, partitions: u32) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tidewatch"))
        .args(
            "crawl seeds --dir crawl --config crawl.toml --budget 5000/s --print-stored".split(' '),
        )
        .args(["--log-json", "--partitions", &partitions.to_string()])
        .current_dir(living.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the line that says that the crawl is open.
fn ready(child: &mut Child) -> Duration {
    let began = Instant::now();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("\"event\":\"ready\""), "{line}");
    // Whatever it says later must not fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    began.elapsed()
}

/// Runs and kills; the addresses reported stored, and how long it took to be ready.
fn run_and_kill(living: &Living, partitions: u32, millis: u64) -> (Vec<String>, Duration) {
    let mut child = start(living, partitions);
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        text
    });
    let took = ready(&mut child);
    std::thread::sleep(Duration::from_millis(millis));
    child.kill().unwrap();
    child.wait().unwrap();
    let text = reader.join().unwrap();
    // The last line may be cut off anywhere.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    (whole.lines().map(str::to_owned).collect(), took)
}

#[test]
fn what_was_reported_stored_survives_kill_9() {
    kill_and_check(1);
}

#[test]
fn what_several_partitions_reported_stored_survives_kill_9() {
    kill_and_check(3);
}

fn kill_and_check(partitions: u32) {
    let (kills, hosts) = (size("TIDEWATCH_KILLS", 3), size("TIDEWATCH_HOSTS", 40));
    let living = Living::serve(hosts, (30 * kills).max(100));
    let mut dice = Dice(7);
    let (mut stored, mut slowest) = (HashSet::new(), Duration::ZERO);
    for kill in 0..kills {
        let (lines, took) = run_and_kill(&living, partitions, dice.between(300, 2_500));
        assert!(took < READY, "ready after {took:?} at kill {kill}");
        slowest = slowest.max(took);
        stored.extend(lines);
    }
    let dir = living.path("crawl");
    for (number, part) in (0..).zip(Partitions::dirs(&dir).unwrap()) {
        let is_own =
            |url: &&String| owner(&CanonicalUrl::parse(url).unwrap(), partitions) == number;
        all_readable(&part, stored.iter().filter(is_own));
    }
    let again = fetched_again(&living);
    let requests = living.server.log().counters().requests;
    eprintln!(
        "{kills} kills, {requests} requests, {} pages reported stored and all readable, {again} \
         fetched again, ready after {slowest:.2?} at most",
        stored.len()
    );
    assert!(stored.len() > 10 * kills, "{} pages are no load", stored.len());
    let most = kills * (IN_FLIGHT * partitions as usize + hosts * HOST_RATE * UNSYNCED_S);
    assert!(again <= most, "{again} pages were fetched again, at most {most} may be");
    let ended = living.folder.run("crawl --dir crawl --config crawl.toml --for 1s").ok();
    assert!(ended.contains("its time is up"), "{ended}");
    if let Ok(keep) = std::env::var("TIDEWATCH_KEEP") {
        let kept = Command::new("cp").arg("-r").arg(&dir).arg(keep).status().unwrap();
        assert!(kept.success());
    }
}

/// Pages that were asked for once more without a word of the copy that had come before.
fn fetched_again(living: &Living) -> usize {
    let mut times: HashMap<u32, usize> = HashMap::new();
    for request in living.server.log().requests() {
        if let (Served::Page(page), false) = (request.served, request.is_conditional) {
            *times.entry(page).or_default() += 1;
        }
    }
    times.values().map(|times| times - 1).sum()
}

/// When a crawl is killed, in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After its process began.
    Starting(u64),
    /// After it was ready.
    Running(u64),
    /// After it was told to stop, which was so long after it was ready.
    Stopping(u64, u64),
}

/// Kills a crawl at a moment; the addresses that it reported stored.
fn kill_at(living: &Living, moment: Moment) -> Vec<String> {
    let wait = |millis| std::thread::sleep(Duration::from_millis(millis));
    let mut child = start(living, 1);
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        text
    });
    match moment {
        Moment::Starting(millis) => wait(millis),
        Moment::Running(millis) => {
            ready(&mut child);
            wait(millis);
        }
        Moment::Stopping(millis, later) => {
            ready(&mut child);
            wait(millis);
            let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
            assert!(told.success());
            wait(later);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = reader.join().unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter(|line| line.starts_with("http")).map(str::to_owned).collect()
}

/// Every address that a crawl of the same web reports stored if nothing disturbs it.
fn undisturbed(living: &Living, dir: &str) -> HashSet<String> {
    let args = format!(
        "crawl seeds --dir {dir} --config crawl.toml --once --budget 5000/s --print-stored"
    );
    let out = living.folder.run(&args).ok();
    out.lines().filter(|line| line.starts_with("http")).map(str::to_owned).collect()
}

/// Starts and stops are killed too. After every kill the directory is whole but for a torn tail, and in
/// the end every page that an undisturbed crawl fetches has been fetched.
#[test]
fn kills_at_any_moment_lose_nothing_and_hide_no_page() {
    let kills = size("TIDEWATCH_MOMENTS", 50);
    let living = Living::serve(MOMENT_HOSTS, MOMENT_PAGES);
    let (mut dice, mut stored) = (Dice(size("TIDEWATCH_SEED", 11) as u64), HashSet::new());
    for kill in 0..kills {
        let moment = match kill % 3 {
            0 => Moment::Running(dice.between(50, 700)),
            1 => Moment::Starting(dice.between(0, 150)),
            _ => Moment::Stopping(dice.between(50, 500), dice.between(0, 100)),
        };
        stored.extend(kill_at(&living, moment));
        // Exits with an error if anything stored is lost.
        let checked = living.folder.run("check --dir crawl").ok();
        assert!(checked.contains("archive: "), "after kill {kill} ({moment:?}): {checked}");
    }
    assert!(stored.len() > kills, "{} pages are no load", stored.len());
    let expected = undisturbed(&living, "other");
    stored.extend(undisturbed(&living, "crawl"));
    all_readable(&living.path("crawl"), &stored);
    // A kill may come between a sync and its report: such pages are stored without having been reported.
    let store = Store::open(&living.path("crawl"), Memory::default()).unwrap();
    let has_copy = |url: &&String| {
        let page = store.page_of(url).unwrap();
        page.is_some_and(|page| store.tables().unwrap().copy(page).unwrap().is_some())
    };
    let missing: Vec<_> = expected.iter().filter(|url| !has_copy(url)).collect();
    assert!(missing.is_empty(), "{} of {} never came: {missing:?}", missing.len(), expected.len());
    eprintln!("{kills} kills, {} of {} pages reported stored", stored.len(), expected.len());
}
