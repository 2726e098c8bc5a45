//! `kill -9` at random moments under load: nothing that was reported as stored is lost.
//!
//! In full: `TIDEWATCH_KILLS=50 TIDEWATCH_HOSTS=200 cargo test --release -p tidewatch-cli
//! --test it kill -- --nocapture`; with `TIDEWATCH_KEEP=DIR` the crawl's directory is left
//! there for `warcio check`.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{Partitions, owner};
use tidewatch_testing::living::size;
use tidewatch_web::Served;

use crate::living::{Living, all_readable};

/// The crawler must be ready again this long after it was started.
const READY: Duration = Duration::from_secs(5);
/// Requests under way at once, as the settings say.
const IN_FLIGHT: usize = 32;
/// Requests a second that a host allows, as the settings say.
const HOST_RATE: usize = 10;
/// Seconds of fetches that a kill may lose on a slow disk: half a second passes between two commits,
/// and one may take as long. None of these fetches was reported as stored.
const UNSYNCED_S: usize = 1;

/// Moments that no clock chooses.
struct Dice(u64);

impl Dice {
    fn between(&mut self, least: u64, most: u64) -> u64 {
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
