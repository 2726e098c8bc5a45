//! Which words to ask a text box for, and when to stop.
//!
//! Every answer is a sample of the database. Greedy policies ask for the most frequent word of the records
//! held `[NZC05]`. But records are held *because* they match the words asked, so the frequency of a word
//! among them says little about the missing ones. Records seen only once are a better sample: without a
//! single query they would be missing, like the species seen once in Good's estimate `[Goo53]`. So their
//! words are counted:
//!
//! new(w) ≈ f₁(w) · û/f₁,  û = f₁²/(2·f₂) `[Cha84]`
//!
//! where f₁ and f₂ are the numbers of records seen once and twice, and f₁(w) is the number of those seen once
//! that have word w. û is a lower bound of the number of missing records; the errors of earlier predictions
//! correct it. A query has ⌈(held(w) + new(w)) / page⌉ pages, so its first page is worth new(w) divided by
//! that number. Among new words, the one whose whole list should bring the most records comes first. Lists
//! already begun compete with new words by what their last pages brought: a list is left when it runs dry and
//! continued when nothing better is left. Sites show the same records first, so a new word is preferred only
//! if it promises clearly more.
//!
//! It stops when no page is expected to bring as many new records as [`KeywordLimits::least_new`].
//!
//! `[NZC05]` A. Ntoulas, P. Zerfos, J. Cho: Downloading textual hidden web content through keyword queries.
//! JCDL 2005. `[Goo53]` I. J. Good: The population frequencies of species. Biometrika 40, 1953.
//! `[Cha84]` A. Chao: Nonparametric estimation of the number of classes. Scand. J. Statist. 11, 1984.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Limits of [`Keywords`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeywordLimits {
    /// New records that a page must be expected to bring.
    pub least_new: f64,
    /// Most pages of one list.
    pub list_pages: u32,
    /// Most words remembered.
    pub words: usize,
    /// Most records remembered.
    pub records: usize,
}

impl Default for KeywordLimits {
    fn default() -> Self {
        KeywordLimits { least_new: 0.5, list_pages: 50, words: 50_000, records: 1 << 20 }
    }
}

/// A page to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeywordsAsk {
    /// The first page for a word.
    Word(String),
    /// The next page of a list, by the number of its query.
    More(usize),
}

/// A record on a page.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What it is known by.
    pub key: u64,
    /// Its text.
    pub text: &'a str,
}

/// Chooses words for one text box.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Keywords {
    limits: KeywordLimits,
    words: FxHashMap<String, Word>,
    /// How often each record came.
    records: FxHashMap<u64, u8>,
    once: u32,
    twice: u32,
    lists: Vec<List>,
    pages: u64,
    page_size: f64,
    /// Sums of new records that first pages were predicted to bring, and brought.
    predicted: f64,
    brought: f64,
    /// Mean new records of the last pages.
    lately: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Word {
    /// Records held that have it.
    held: u32,
    /// Of these, the ones that came once.
    once: u32,
    /// Times it was read elsewhere on the host.
    heard: u32,
    is_asked: bool,
}

/// The answers to a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct List {
    word: String,
    pages: u32,
    /// New records of its last pages, a moving mean.
    lately: f64,
    has_more: bool,
    is_busy: bool,
    /// What its first page was predicted to bring, before the correction.
    predicted: f64,
}

/// A list is continued if its next page should bring at least this share of what the best new word promises.
const LOYALTY: f64 = 0.8;
/// Weight of the newest page in a list's mean.
const NEWEST: f64 = 0.6;
/// Weight of the newest page in the mean of all.
const LATELY: f64 = 0.1;
/// Pages before the mean of all can end the search.
const PATIENCE: u64 = 10;
/// New records expected of a word that was only heard.
const HEARD: f64 = 1.0;
/// Weight of earlier pages in the correction. It fades, because predictions rise with the records held.
const KEPT: f64 = 0.8;
/// Bounds of the correction of predictions.
const CORRECTION: (f64, f64) = (0.1, 4.0);

/// The words of a text that may be asked for; addresses are rarely searched in.
fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    const LONGEST: usize = 32;
    let is_address = |piece: &&str| piece.contains("://") || piece.starts_with("www.");
    let pieces = text.split_whitespace().filter(move |piece| !is_address(piece));
    let words = pieces.flat_map(|piece| piece.split(|c: char| !c.is_alphanumeric()));
    let words = words.filter(|word| word.len() <= LONGEST);
    let is_word =
        |word: &&str| word.chars().any(char::is_alphabetic) && word.chars().nth(1).is_some();
    words.filter(is_word).map(str::to_lowercase)
}

impl Keywords {
    /// Nothing is known yet.
    pub fn new(limits: KeywordLimits) -> Keywords {
        Keywords {
            limits,
            words: FxHashMap::default(),
            records: FxHashMap::default(),
            once: 0,
            twice: 0,
            lists: Vec::new(),
            pages: 0,
            page_size: 10.0,
            predicted: 0.0,
            brought: 0.0,
            lately: f64::INFINITY,
        }
    }

    /// Takes in words of other pages of the host, with which to begin.
    pub fn hear(&mut self, text: &str) {
        let words: FxHashSet<String> = words_of(text).collect();
        for word in words {
            self.word(word, |word| word.heard = word.heard.saturating_add(1));
        }
    }

    fn word(&mut self, word: String, change: impl FnOnce(&mut Word)) {
        if self.words.len() >= self.limits.words && !self.words.contains_key(&word) {
            self.words.retain(|_, word| word.is_asked || word.held > 1 || word.heard > 1);
            if self.words.len() * 2 > self.limits.words {
                return;
            }
        }
        change(self.words.entry(word).or_default());
    }

    /// Records held.
    pub fn held(&self) -> usize {
        self.records.len()
    }

    /// Result pages taken in.
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Words asked.
    pub const fn asked(&self) -> usize {
        self.lists.len()
    }

    /// New records a page lately; infinite before the first page.
    pub const fn lately(&self) -> f64 {
        self.lately
    }

    /// Records missing, at least: û = f₁²/(2·f₂) in the form that needs no f₂ > 0 `[Cha84]`.
    fn missing(&self) -> f64 {
        let (once, twice) = (f64::from(self.once), f64::from(self.twice));
        once * (once - 1.0).max(0.0) / (2.0 * (twice + 1.0))
    }

    /// How many records there are, at least; `None` before any came twice. It is biased low, because long and
    /// prominent records match more words than others.
    pub fn size_at_least(&self) -> Option<f64> {
        (self.twice > 0).then(|| self.held() as f64 + self.missing())
    }

    fn correction(&self) -> f64 {
        const PRIOR: f64 = 5.0;
        ((self.brought + PRIOR) / (self.predicted + PRIOR)).clamp(CORRECTION.0, CORRECTION.1)
    }

    /// New records that the first page for a word is expected to bring.
    fn worth(&self, word: &Word, of_once: f64) -> f64 {
        if word.held == 0 {
            let rank = f64::from(word.heard) / (1.0 + f64::from(word.heard));
            return HEARD * rank;
        }
        let new = f64::from(word.once) * of_once;
        let matches = f64::from(word.held) + new;
        let pages = (matches / self.page_size).max(1.0);
        self.correction() * (new / pages).min(self.page_size)
    }

    /// New records that all pages for a word are expected to bring, weighed by their share: a long list costs
    /// one query, and lists that hold little else are read to their end.
    fn reach(&self, word: &Word, of_once: f64) -> f64 {
        let new = f64::from(word.once) * of_once;
        let matches = (f64::from(word.held) + new).max(1.0);
        let shown = matches.min(f64::from(self.limits.list_pages) * self.page_size);
        let heard = f64::from(word.heard) / (1.0 + f64::from(word.heard));
        shown * new / matches + f64::from(word.held).sqrt() + heard
    }

    /// The page that is expected to bring most; `None` if none is worth it. Several may be under way at once.
    pub fn choose(&mut self) -> Option<KeywordsAsk> {
        if self.records.len() >= self.limits.records || self.is_dry() {
            return None;
        }
        let of_once = self.missing() / f64::from(self.once.max(1));
        let fresh = self.words.iter().filter(|(_, word)| !word.is_asked);
        let fresh =
            fresh.map(|(text, word)| (self.worth(word, of_once), self.reach(word, of_once), text));
        let fresh = fresh.max_by(|a, b| a.1.total_cmp(&b.1).then(b.2.cmp(a.2)));
        let lists =
            self.lists.iter().enumerate().filter(|(_, list)| list.has_more && !list.is_busy);
        let list = lists.max_by(|a, b| a.1.lately.total_cmp(&b.1.lately));
        let least = self.limits.least_new;
        match (fresh, list) {
            (Some((worth, ..)), Some((at, list)))
                if list.lately >= (LOYALTY * worth).max(least) =>
            {
                Some(self.go_on(at))
            }
            (None, Some((at, list))) if list.lately >= least => Some(self.go_on(at)),
            (Some((worth, _, text)), _) if worth >= least || self.pages < PATIENCE => {
                let text = text.clone();
                Some(self.begin(text, worth))
            }
            _ => None,
        }
    }

    /// Whether answers have brought too little for a while.
    fn is_dry(&self) -> bool {
        self.pages >= PATIENCE && self.lately < self.limits.least_new
    }

    fn go_on(&mut self, list: usize) -> KeywordsAsk {
        self.lists[list].is_busy = true;
        KeywordsAsk::More(list)
    }

    fn begin(&mut self, word: String, worth: f64) -> KeywordsAsk {
        let predicted = worth / self.correction();
        self.word(word.clone(), |word| word.is_asked = true);
        let list = List {
            word: word.clone(),
            pages: 0,
            lately: 0.0,
            has_more: false,
            is_busy: true,
            predicted,
        };
        self.lists.push(list);
        KeywordsAsk::Word(word)
    }

    /// The number of the query that an ask belongs to.
    pub fn list_of(&self, ask: &KeywordsAsk) -> Option<usize> {
        match ask {
            KeywordsAsk::Word(word) => self.lists.iter().rposition(|list| list.word == *word),
            KeywordsAsk::More(list) => (*list < self.lists.len()).then_some(*list),
        }
    }

    /// The word of a query.
    pub fn word_of(&self, list: usize) -> Option<&str> {
        self.lists.get(list).map(|list| list.word.as_str())
    }

    /// Takes in the page that an ask brought; returns how many of its records are new.
    pub fn learn<'a>(
        &mut self,
        ask: &KeywordsAsk,
        records: impl IntoIterator<Item = Seen<'a>>,
        has_more: bool,
    ) -> usize {
        let Some(at) = self.list_of(ask) else { return 0 };
        let (mut new, mut on_page) = (0, FxHashSet::default());
        for record in records {
            if on_page.insert(record.key) {
                new += usize::from(self.meet(record));
            }
        }
        let (is_first, all) = (self.lists[at].pages == 0, on_page.len());
        let fresh = new as f64;
        let list = &mut self.lists[at];
        list.lately = if is_first { fresh } else { NEWEST * fresh + (1.0 - NEWEST) * list.lately };
        list.pages += 1;
        list.is_busy = false;
        list.has_more = has_more && all > 0 && list.pages < self.limits.list_pages;
        if is_first && self.pages > 0 {
            self.predicted = KEPT * self.predicted + list.predicted;
            self.brought = KEPT * self.brought + fresh;
        }
        self.pages += 1;
        if has_more || all as f64 > self.page_size {
            self.page_size = (all as f64).max(1.0);
        }
        let before = if self.lately.is_finite() { self.lately } else { fresh };
        self.lately = LATELY * fresh + (1.0 - LATELY) * before;
        new
    }

    /// Gives up a page that did not come.
    pub fn fail(&mut self, ask: &KeywordsAsk) {
        if let Some(at) = self.list_of(ask) {
            self.lists[at].is_busy = false;
            self.lists[at].has_more = false;
        }
    }

    /// Counts a record; returns whether it is new.
    fn meet(&mut self, record: Seen<'_>) -> bool {
        let times = self.records.get(&record.key).copied().unwrap_or(0);
        if times == 0 && self.records.len() >= self.limits.records {
            return false;
        }
        self.records.insert(record.key, times.saturating_add(1));
        match times {
            0 => self.once += 1,
            1 => (self.once, self.twice) = (self.once.saturating_sub(1), self.twice + 1),
            2 => self.twice = self.twice.saturating_sub(1),
            _ => {}
        }
        if times < 2 {
            let words: FxHashSet<String> = words_of(record.text).collect();
            for word in words {
                self.word(word, |word| {
                    if times == 0 {
                        word.held += 1;
                        word.once += 1;
                    } else {
                        word.once = word.once.saturating_sub(1);
                    }
                });
            }
        }
        times == 0
    }
}
