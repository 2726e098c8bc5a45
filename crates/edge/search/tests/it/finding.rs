//! Queries against pages put in by hand.

use tempfile::TempDir;
use tidewatch_core::PageId;
use tidewatch_search::{Index, IndexDocument, Popularity, Query, SearchResults, Searcher, Writer};

const NOW_S: i64 = 1_800_000_000;
const DAY_S: i64 = 86_400;
const MEMORY: usize = 15 << 20;

fn page(number: u32, title: &str, text: &str) -> IndexDocument {
    IndexDocument {
        page: PageId(number).into(),
        url: format!("https://host{}.example/{number}", number % 3),
        host: format!("host{}.example", number % 3),
        title: title.to_owned(),
        text: text.to_owned(),
        changed_s: NOW_S - 400 * DAY_S,
        first_seen_s: NOW_S - 400 * DAY_S,
        // Nothing in common with any other.
        sketch: (0..8).map(|n| u64::from(number) << 32 | n).collect(),
        ..IndexDocument::default()
    }
}

struct Shelf {
    _dir: TempDir,
    index: Index,
    writer: Writer,
}

impl Shelf {
    fn new(pages: &[IndexDocument]) -> Shelf {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(&dir.path().join("index")).unwrap();
        let writer = index.writer(MEMORY).unwrap();
        let mut shelf = Shelf { _dir: dir, index, writer };
        shelf.put(pages);
        shelf
    }

    fn put(&mut self, pages: &[IndexDocument]) {
        pages.iter().for_each(|page| self.writer.put(page).unwrap());
        self.writer.commit(&[1]).unwrap();
    }

    fn searcher(&self) -> Searcher {
        self.index.searcher()
    }

    fn find(&self, text: &str) -> SearchResults {
        self.searcher().search(&Query::read(text), 0, 10, NOW_S).unwrap()
    }

    fn pages(&self, text: &str) -> Vec<u32> {
        self.find(text).hits.iter().map(|hit| hit.page.page().0).collect()
    }
}

#[test]
fn words_phrases_and_exclusions() {
    let shelf = Shelf::new(&[
        page(1, "Tide tables", "High water at noon, low water at six."),
        page(2, "Moon", "The moon makes the tide. High winds; water rises."),
        page(3, "Recipes", "Crème brûlée and 日本語."),
    ]);
    assert_eq!(shelf.pages("tide"), [1, 2], "a title counts more than text");
    assert_eq!(shelf.pages("\"high water\""), [1]);
    assert_eq!(shelf.pages("tide -moon"), [1]);
    assert_eq!(shelf.pages("CREME"), [3]);
    assert_eq!(shelf.pages("日本"), [3]);
    assert_eq!(shelf.pages("本日"), Vec::<u32>::new(), "in this order only");
    assert_eq!(shelf.pages("host1"), [1], "words of the address count");
    assert_eq!(shelf.pages("absent"), Vec::<u32>::new());
}

#[test]
fn who_knows_a_title_finds_the_page() {
    let said = "harbour plan ".repeat(10);
    let mut pages: Vec<_> = (2..30).map(|n| page(n, "Other news", &said)).collect();
    pages.push(page(1, "Harbour plan", "A decision at last."));
    assert_eq!(Shelf::new(&pages).pages("harbour plan")[0], 1);
}

#[test]
fn a_page_with_some_of_the_words_is_better_than_none() {
    let shelf = Shelf::new(&[page(1, "Tide", "noon"), page(2, "Moon", "midnight")]);
    let found = shelf.find("tide noon absent");
    assert!(found.is_relaxed && found.total == 1, "{found:?}");
    assert!(!shelf.find("tide noon").is_relaxed);
    assert!(shelf.find("-tide").hits.is_empty(), "nothing was asked for");
}

#[test]
fn filters_choose_by_host_date_and_language() {
    let mut new = page(4, "Tide", "today");
    new.changed_s = NOW_S - DAY_S;
    new.language = "eng".into();
    let shelf = Shelf::new(&[page(1, "Tide", "one"), page(2, "Tide", "two"), new]);
    assert_eq!(shelf.pages("tide site:host2.example"), [2]);
    assert_eq!(shelf.pages("tide site:example").len(), 3);
    assert_eq!(shelf.pages("tide site:ost2.example"), Vec::<u32>::new());
    assert_eq!(shelf.pages("tide after:2027-01"), [4]);
    assert_eq!(shelf.pages("tide before:2027-01-01").len(), 2);
    assert_eq!(shelf.pages("lang:en site:host1.example"), [4]);
}

#[test]
fn changed_pages_are_replaced_and_gone_pages_removed() {
    let mut shelf = Shelf::new(&[page(1, "Old", "first version"), page(2, "Other", "version")]);
    shelf.put(&[page(1, "New", "second version")]);
    assert_eq!(shelf.pages("first"), Vec::<u32>::new());
    assert_eq!(shelf.pages("second"), [1]);
    shelf.writer.remove(PageId(1).into());
    shelf.writer.commit(&[2]).unwrap();
    assert_eq!(shelf.pages("version"), [2]);
    assert_eq!(shelf.searcher().page(PageId(1).into()).unwrap(), None);
    assert_eq!(shelf.searcher().page(PageId(2).into()).unwrap().unwrap().title, "Other");
    assert_eq!((shelf.searcher().pages(), shelf.writer.marks()), (1, vec![2]));
}

#[test]
fn near_duplicates_are_shown_once_and_counted() {
    let mut pages: Vec<_> = (0..30).map(|n| page(n, "Tide", "the same")).collect();
    for page in &mut pages[..20] {
        page.sketch = (1..=8).collect();
    }
    let shelf = Shelf::new(&pages);
    let found = shelf.find("tide");
    assert_eq!((found.hits.len(), found.total), (10, 30));
    assert!(found.hits.iter().any(|hit| hit.alike > 0));
    let second = shelf.searcher().search(&Query::read("tide"), 10, 10, NOW_S).unwrap();
    assert_eq!((second.hits.len(), second.has_more), (1, false), "eleven different pages in all");
    assert!(found.has_more);
    assert!(found.hits.iter().all(|hit| second.hits.iter().all(|other| other.page != hit.page)));
}

#[test]
fn news_links_and_clicks_decide_between_equals() {
    let plain = page(1, "Tide", "water");
    let new = IndexDocument { changed_s: NOW_S, ..page(2, "Tide", "water") };
    let linked = IndexDocument { links: 50, ..page(3, "Tide", "water") };
    let clicked = page(4, "Tide", "water");
    let shelf = Shelf::new(&[plain, new, linked, clicked]);
    let searcher = shelf.searcher();
    let mut clicks = Popularity::default();
    clicks.add(PageId(4), 1_000.0);
    searcher.set_popularity(0, clicks);
    let found = searcher.search(&Query::read("tide"), 0, 10, NOW_S).unwrap();
    let order: Vec<_> = found.hits.iter().map(|hit| hit.page.page().0).collect();
    assert_eq!(order, [4, 3, 2, 1]);
}

#[test]
fn any_query_is_answered() {
    let shelf = Shelf::new(&[page(1, "Tide", "water")]);
    let long = "tide ".repeat(3_000);
    let odd = [
        "",
        " ",
        "\"",
        "-",
        "((((",
        "a:b:c:",
        "AND OR NOT",
        "*",
        "[1 TO 2]",
        "\u{0}",
        &long,
        "site:",
        "before:never",
        "\"\" \"\"",
        "-\"",
        "title:tide^4~2 && || !",
    ];
    for query in odd {
        let found = shelf.searcher().search(&Query::read(query), 0, 10, NOW_S).unwrap();
        assert!(found.hits.len() <= 1, "{query}");
    }
    let far = shelf.searcher().search(&Query::read("tide"), usize::MAX / 2, 10, NOW_S);
    assert!(far.unwrap().hits.is_empty());
}

#[test]
fn an_index_outlives_its_process_and_a_broken_one_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let index = Index::open(&path).unwrap();
    assert!(index.is_new());
    let mut writer = index.writer(MEMORY).unwrap();
    assert!(index.writer(MEMORY).is_err_and(|error| error.to_string().contains("in use")));
    writer.put(&page(1, "Tide", "water")).unwrap();
    writer.commit(&[7]).unwrap();
    drop((index, writer));
    let index = Index::open(&path).unwrap();
    assert!(!index.is_new() && index.searcher().pages() == 1);
    drop(index);
    for broken in ["meta.json", ".managed.json"] {
        std::fs::write(path.join(broken), "{").unwrap();
        let index = Index::open(&path).unwrap();
        assert!(index.is_new() && index.searcher().pages() == 0, "{broken}");
    }
}
