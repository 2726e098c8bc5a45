//! How fast is the index? Pages a second in, queries a second out while pages go in, bytes a page.
//!
//! Pages are made up: 200 words each by Zipf's law over 200,000 words, a title of six. Queries are one
//! to three words, each drawn from a title, so that rare and common words come as people type them.
//!
//! `cargo run --release -p tidewatch-search --example search_speed -- 1000000`
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidewatch_core::PageId;
use tidewatch_math::Draws;
use tidewatch_search::{Index, IndexDocument, Popularity, Query, Searcher};

const WORDS: u64 = 200_000;
const TEXT: usize = 200;
const NOW_S: i64 = 1_800_000_000;
const MEMORY: usize = 64 << 20;

/// Makes words up.
struct Dice(Draws);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(Draws::of(seed, "search.speed", 0))
    }

    fn roll(&mut self) -> u64 {
        self.0.word()
    }

    /// A word's rank: P(rank ≤ r) = ln(1 + r)/ln(1 + n), Zipf's law.
    fn rank(&mut self) -> u64 {
        ((self.0.uniform() * ((1 + WORDS) as f64).ln()).exp_m1() as u64).min(WORDS - 1)
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| word(self.rank())).collect();
        words.join(" ")
    }
}

fn word(rank: u64) -> String {
    let mut word = String::new();
    let mut rest = rank + 26;
    while rest > 0 {
        word.push((b'a' + (rest % 26) as u8) as char);
        rest /= 26;
    }
    word
}

fn document(number: u32) -> IndexDocument {
    let mut dice = Dice::new(u64::from(number));
    let host = format!("host{}.example", number % 10_000);
    IndexDocument {
        page: PageId(number).into(),
        url: format!("https://{host}/{number}"),
        host,
        title: dice.words(6),
        text: dice.words(TEXT),
        changed_s: NOW_S - (dice.roll() % 30_000_000).cast_signed(),
        sketch: (0..8).map(|_| dice.roll()).collect(),
        links: (dice.roll() % 50) as u32,
        ..IndexDocument::default()
    }
}

/// Words of a page's title.
fn query(dice: &mut Dice, pages: u32) -> String {
    let page = (dice.roll() % u64::from(pages)) as u32;
    let title = document(page).title;
    let words = 1 + (dice.roll() % 3) as usize;
    title.split(' ').take(words).collect::<Vec<_>>().join(" ")
}

/// One page in a hundred was clicked, some of them often.
fn clicks(pages: u32) -> Popularity {
    let mut dice = Dice::new(1);
    let mut clicks = Popularity::default();
    for rank in 1..=pages / 100 {
        let page = (dice.roll() % u64::from(pages)) as u32;
        clicks.add(PageId(page), 1_000.0 / f64::from(rank));
    }
    clicks
}

/// Asks until told to stop; how long each answer took.
fn ask(searcher: &Searcher, queries: &[String], stop: &AtomicBool, pause: Duration) -> Vec<f64> {
    let mut took = Vec::new();
    for text in queries.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            return took;
        }
        let began = Instant::now();
        searcher.search(&Query::read(text), 0, 10, NOW_S).unwrap();
        took.push(began.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(pause);
    }
    took
}

fn tell(name: &str, mut took: Vec<f64>, seconds: f64) {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "{name}: {:.0} queries/s; p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
        took.len() as f64 / seconds,
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line =
        |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    format!("{} {}", line("RssAnon"), line("VmHWM")).replace('\t', " ")
}

fn main() {
    let pages: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let dir = std::env::temp_dir().join(format!("search-speed-{}", std::process::id()));
    let index = Index::open(&dir).unwrap();
    let mut writer = index.writer(MEMORY).unwrap();
    let searcher = index.searcher();
    searcher.set_popularity(0, clicks(pages));
    let mut dice = Dice::new(u64::MAX);
    let queries: Vec<String> = (0..2_000).map(|_| query(&mut dice, pages)).collect();
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // One searcher asks while the second half goes in.
        let mut asking = None;
        for number in 0..pages {
            writer.put(&document(number)).unwrap();
            if writer.due_in() == Some(Duration::ZERO) || number + 1 == pages {
                let oldest = writer.oldest().unwrap();
                writer.commit(&[]).unwrap();
                slowest = slowest.max(oldest.elapsed());
            }
            if number == pages / 2 {
                let (searcher, queries, stop) = (&searcher, &queries, &stop);
                let pause = Duration::from_millis(5);
                asking = Some((
                    Instant::now(),
                    scope.spawn(move || ask(searcher, queries, stop, pause)),
                ));
            }
        }
        stop.store(true, Ordering::Relaxed);
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{pages} pages in {seconds:.0} s: {:.0}/s, each findable within {:.1} s",
            f64::from(pages) / seconds,
            slowest.as_secs_f64()
        );
        if let Some((since, asking)) = asking {
            tell(
                "one searcher while indexing",
                asking.join().unwrap(),
                since.elapsed().as_secs_f64(),
            );
        }
    });
    println!(
        "{:.0} bytes a page on disk; {}",
        index.disk_bytes() as f64 / f64::from(pages),
        memory()
    );
    stop.store(false, Ordering::Relaxed);
    let seconds = 10.0;
    std::thread::scope(|scope| {
        let one = || scope.spawn(|| ask(&searcher, &queries, &stop, Duration::ZERO));
        let both = [one(), one()];
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        let took = both.into_iter().flat_map(|asking| asking.join().unwrap()).collect();
        tell("two searchers at once, nothing else", took, seconds);
    });
    println!("{}", memory());
    drop(writer);
    let _ = std::fs::remove_dir_all(dir);
}
