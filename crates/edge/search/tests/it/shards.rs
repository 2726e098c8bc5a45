//! A search over several indexes gives what one index of all pages gives.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tempfile::TempDir;
use tidewatch_core::PageId;
use tidewatch_math::Draws;
use tidewatch_search::shards::{Answer, Counts, Coverage, Shards, Step, Told, search};
use tidewatch_search::{
    Hit, Index, IndexDocument, PageRef, Popularity, Query, SearchResults, Searcher,
};

const NOW_S: i64 = 1_800_000_000;
const MEMORY: usize = 15 << 20;
const PAGES: u32 = 2_400;
const SHARDS: u32 = 4;
/// Scores are products and sums of a few numbers of single precision.
const ROUNDING: f32 = 1e-5;

struct Indexes {
    _dir: TempDir,
    whole: Searcher,
    shards: Vec<Searcher>,
}

/// Shards in this process; those in `silent` do not answer.
struct Here<'i> {
    shards: &'i [Searcher],
    silent: Vec<usize>,
}

impl Shards for Here<'_> {
    fn take(&self, step: Step) -> Answer<'_> {
        let speaks = |(at, _): &(usize, &Searcher)| !self.silent.contains(at);
        let told = self.shards.iter().enumerate().filter(speaks);
        let told: Vec<Told> = told.map(|(_, shard)| shard.take(&step).unwrap()).collect();
        let coverage = Coverage { answered: told.len() as u32, of: self.shards.len() as u32 };
        Box::pin(async move { (told.into_iter().reduce(Told::join), coverage) })
    }

    fn pages(&self) -> u64 {
        self.shards.iter().map(Searcher::pages).sum()
    }
}

/// The result of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(found) => found,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// A page with Zipf-distributed words. Pages of the last shard are fifty times as long, so that the means
/// of the shards differ; every 40th page repeats the one before it, which is in another shard.
fn page(number: u32) -> IndexDocument {
    let shard = number % SHARDS;
    let of = if number.is_multiple_of(40) && number > 0 { number - 1 } else { number };
    let mut draws = Draws::of(1, "search.shards", u64::from(of));
    let mut word = || format!("w{}", (draws.uniform() * 7.0).exp() as u32);
    let length = if of % SHARDS == SHARDS - 1 { 500 } else { 10 };
    let text: String = (0..length).map(|_| word() + " ").collect();
    IndexDocument {
        page: PageRef::new(shard, PageId(number / SHARDS)),
        url: format!("https://host{}.example/{number}", number % 30),
        host: format!("host{}.example", number % 30),
        title: word(),
        text,
        language: if number.is_multiple_of(3) { "deu" } else { "eng" }.to_owned(),
        changed_s: NOW_S - i64::from(number) * 10_000,
        first_seen_s: NOW_S - i64::from(number) * 10_000,
        links: number % 50,
        sketch: (0..8).map(|n| u64::from(of) << 32 | n).collect(),
        ..IndexDocument::default()
    }
}

fn clicks(searcher: &Searcher) {
    for shard in 0..SHARDS {
        let mut clicks = Popularity::default();
        (0..PAGES / SHARDS).step_by(37).for_each(|page| clicks.add(PageId(page), f64::from(page)));
        searcher.set_popularity(shard, clicks);
    }
}

/// All pages in one index, and each in that of its shard; `commit` says after how many pages.
fn indexes() -> Indexes {
    let dir = tempfile::tempdir().unwrap();
    let fill = |name: &str, commit: usize, pages: &mut dyn Iterator<Item = IndexDocument>| {
        let index = Index::open(&dir.path().join(name)).unwrap();
        let mut writer = index.writer(MEMORY).unwrap();
        for (at, page) in pages.enumerate() {
            writer.put(&page).unwrap();
            if at % commit == commit - 1 {
                writer.commit(&[]).unwrap();
            }
        }
        writer.commit(&[]).unwrap();
        let searcher = index.searcher();
        clicks(&searcher);
        searcher
    };
    let whole = fill("whole", 700, &mut (0..PAGES).map(page));
    let shards = (0..SHARDS).map(|shard| {
        let mut own = (0..PAGES).map(page).filter(|page| page.page.partition() == shard);
        fill(&format!("shard-{shard}"), 250, &mut own)
    });
    Indexes { shards: shards.collect(), whole, _dir: dir }
}

fn is_equal(one: f32, other: f32) -> bool {
    (one - other).abs() <= ROUNDING * one
}

/// Checks that both have the same scores in the same order, and the same page for each score. Pages of equal
/// score may change places, also with pages beyond this part of the list. Returns how many are in both.
fn assert_same(one: &SearchResults, other: &SearchResults, query: &str) -> usize {
    let told = |found: &SearchResults| (found.total, found.is_relaxed, found.has_more);
    assert_eq!(told(one), told(other), "{query}");
    assert_eq!(one.hits.len(), other.hits.len(), "{query}");
    for (one, other) in one.hits.iter().zip(&other.hits) {
        assert!(is_equal(one.score, other.score), "{query}: {one:?} {other:?}");
    }
    let ends = one.hits.first().into_iter().chain(one.hits.last());
    let ends: Vec<f32> = ends.map(|hit| hit.score).collect();
    let mut both = 0;
    for hit in &one.hits {
        let Some(same) = other.hits.iter().find(|other| other.page == hit.page) else {
            assert!(
                ends.iter().any(|end| is_equal(*end, hit.score)),
                "{query}: {hit:?} is missing"
            );
            continue;
        };
        assert!(is_equal(hit.score, same.score), "{query}: {hit:?} {same:?}");
        assert_eq!(*hit, Hit { score: hit.score, ..same.clone() }, "{query}");
        both += 1;
    }
    both
}

#[test]
fn results_over_shards_are_those_of_one_index() {
    let indexes = indexes();
    let here = Here { shards: &indexes.shards, silent: Vec::new() };
    let queries = [
        "w1",
        "w7",
        "w300",
        "w1 w2",
        "w2 w100",
        "w5 w6 w7",
        "\"w1 w1\"",
        "\"w1 w2\" w3",
        "w1 -w2",
        "w1 lang:de",
        "w3 site:host7.example",
        "w2 after:2026-12-01",
        "site:host3.example",
        "w900 w901 w902",
        "-w1 w2",
        "absent",
        "absent w4",
    ];
    let (mut hidden, mut compared) = (0, 0);
    for text in queries {
        let query = Query::read(text);
        for (skip, count) in [(0, 1), (0, 10), (10, 10), (0, 50), (190, 50)] {
            let one = indexes.whole.search(&query, skip, count, NOW_S).unwrap();
            let all = now(search(&here, &query, skip, count, NOW_S));
            assert_eq!(all.coverage, Some(Coverage { answered: SHARDS, of: SHARDS }));
            hidden += one.hits.iter().map(|hit| hit.alike).sum::<usize>();
            compared += assert_same(&one, &all, text);
        }
    }
    assert!(hidden > 0, "no near-duplicate was among the results");
    assert!(compared > 1_000, "{compared} pages are few");
}

/// The counts of one shard alone give other scores, so the test above would notice.
#[test]
fn scores_without_the_counts_of_all_shards_differ() {
    let indexes = indexes();
    let query = Query::read("w1 w2");
    let whole = indexes.whole.search(&query, 0, 50, NOW_S).unwrap();
    let alone = indexes.shards[3].search(&query, 0, 50, NOW_S).unwrap();
    let score = |page| whole.hits.iter().find(|hit| hit.page == page).map(|hit| hit.score);
    let differ = alone.hits.iter().filter_map(|hit| Some((hit.score, score(hit.page)?)));
    let differ: Vec<_> = differ.filter(|(one, other)| (one - other).abs() > 0.01 * other).collect();
    assert!(!differ.is_empty());
}

/// In a block of pages each segment has noted which page is best, by the mean length of its own pages. Among
/// much longer pages of another shard, a longer page of that block is better than the one noted; the block
/// must not be skipped.
#[test]
fn a_block_is_not_skipped_for_what_its_own_shard_thinks_best() {
    let dir = tempfile::tempdir().unwrap();
    let fill = |shard: u32, pages: &[(usize, usize)]| {
        let index = Index::open(&dir.path().join(format!("{shard}"))).unwrap();
        let mut writer = index.writer(MEMORY).unwrap();
        for (number, (said, others)) in pages.iter().enumerate() {
            let document = IndexDocument {
                page: PageRef::new(shard, PageId(number as u32)),
                url: "https://a/".to_owned(),
                text: "tide ".repeat(*said) + &"moon ".repeat(*others),
                sketch: vec![u64::from(shard) << 32 | number as u64],
                ..IndexDocument::default()
            };
            writer.put(&document).unwrap();
        }
        writer.commit(&[]).unwrap();
        index.searcher()
    };
    let (middling, short, best, other) = ((2, 28), (1, 4), (5, 55), (0, 2));
    let mut pages = vec![middling; 128];
    pages.extend([short; 127]);
    pages.push(best);
    pages.extend([other; 600]);
    let shards = [fill(0, &pages), fill(1, &[(0, 20_000); 50])];
    let here = Here { shards: &shards, silent: Vec::new() };
    let found = now(search(&here, &Query::read("tide moon"), 0, 1, NOW_S));
    assert_eq!(found.total, 256);
    assert_eq!(found.hits[0].page, PageRef::new(0, PageId(255)));
}

#[test]
fn a_shard_that_is_silent_is_left_out_and_said_so() {
    let indexes = indexes();
    let query = Query::read("w1");
    let here = Here { shards: &indexes.shards, silent: vec![2] };
    let found = now(search(&here, &query, 0, 50, NOW_S));
    let coverage = found.coverage.unwrap();
    assert_eq!(coverage, Coverage { answered: 3, of: 4 });
    assert_eq!(coverage.told().as_deref(), Some("3 of 4 partitions answered."));
    assert!(found.hits.len() == 50 && found.hits.iter().all(|hit| hit.page.partition() != 2));
    let nobody = Here { shards: &indexes.shards, silent: vec![0, 1, 2, 3] };
    let found = now(search(&nobody, &query, 0, 50, NOW_S));
    assert!(found.hits.is_empty() && found.coverage == Some(Coverage { answered: 0, of: 4 }));
}

/// Answers that a damaged or hostile node may give.
struct Liar(Told);

impl Shards for Liar {
    fn take(&self, step: Step) -> Answer<'_> {
        let told = match (step, &self.0) {
            (Step::Count { .. }, Told::Counts(_)) | (Step::Best { .. }, Told::Best(_)) => {
                self.0.clone()
            }
            (Step::Count { .. }, _) => Told::Counts(Counts::default()),
            _ => Told::Page(None),
        };
        Box::pin(async move { (Some(told), Coverage { answered: 1, of: 1 }) })
    }

    fn pages(&self) -> u64 {
        0
    }
}

#[test]
fn no_answer_panics() {
    let indexes = indexes();
    let query = Query::read("w1 w2");
    // More pages with a word than pages, and no words at all.
    let counts =
        r#"{"pages":1,"tokens":[0,0],"words":{"w1":[99,99],"w2":[18446744073709551615,1]}}"#;
    let best =
        r#"{"total":9,"most":18446744073709551615,"best":[{"score":1e38,"page":3,"sketch":[1]}]}"#;
    let counts = Told::Counts(serde_json::from_str(counts).unwrap());
    let best = Told::Best(serde_json::from_str(best).unwrap());
    for told in [counts.clone(), best, Told::Hits(Vec::new())] {
        now(search(&Liar(told), &query, 0, 10, NOW_S));
    }
    let Told::Counts(counts) = counts.clone().join(counts) else { panic!("counts add up") };
    let step = Step::Best {
        query: "w1 w2".to_owned(),
        counts,
        all_words: true,
        most: usize::MAX,
        now_s: i64::MAX,
    };
    assert!(matches!(indexes.shards[0].take(&step), Ok(Told::Best(_))));
}
