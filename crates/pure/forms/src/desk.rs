//! The forms of one host: what is asked next, how much a day, and when it ends.
//!
//! The owner of a desk tells it the forms of pages ([`Desk::meet`]), asks it for queries ([`Desk::next`]),
//! fetches them as it fetches any URL, and brings back answers ([`Desk::answer`]) and failures
//! ([`Desk::fail`]). It tells its [`Quota`] apart from what it learnt, because that must survive a crash.
//! Invariants: never more than [`DeskLimits::per_day`] queries a day, never more than
//! [`DeskLimits::at_once`] unanswered, none while it is stopped.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};

use crate::answer::{Answer, Place, Record};
use crate::fields::{Fields, FieldsAsk};
use crate::keywords::{KeywordLimits, Keywords, KeywordsAsk, Seen};
use crate::question::Question;

/// Limits of a [`Desk`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeskLimits {
    /// Most queries a day; every result page counts.
    pub per_day: u32,
    /// Most queries without an answer.
    pub at_once: usize,
    /// Most forms.
    pub forms: usize,
    /// Limits for the choice of words.
    pub keywords: KeywordLimits,
}

impl Default for DeskLimits {
    fn default() -> Self {
        DeskLimits { per_day: 100, at_once: 2, forms: 4, keywords: KeywordLimits::default() }
    }
}

/// Why no more is asked for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The host asked for fewer requests.
    #[error("the host asked for fewer requests")]
    TooManyRequests,
    /// A wall stood where an answer should be.
    #[error("the host showed a wall")]
    Wall,
    /// Answers take much longer than at first.
    #[error("answers take more than {SLOW} times as long as at first")]
    Slow,
    /// The host refuses queries.
    #[error("queries fail or are refused")]
    Refused,
}

/// A stop in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Until then.
    pub until: Time,
    /// Why.
    pub why: Stop,
}

/// What limits the queries of a host: how many were asked today, and the stop in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Days since the crawl began, and queries of that day.
    day: u64,
    today: u32,
    stopped: Option<Stopped>,
    /// Stops so far: each lasts twice as long as the one before.
    stops: u32,
}

impl Quota {
    /// Counts days from their beginning.
    fn begin_day(&mut self, now: Time) {
        let day = now.as_micros() / Span::DAY.as_micros();
        if day != self.day {
            (self.day, self.today) = (day, 0);
        }
    }

    /// Begins a stop, unless one is in force: pages that were under way when it began are no news.
    fn stop(&mut self, why: Stop, now: Time) {
        if self.stopped(now).is_some() {
            return;
        }
        let doublings = self.stops.min(MOST_DOUBLINGS);
        self.stopped = Some(Stopped { until: now + FIRST_STOP.times(1 << doublings), why });
        self.stops += 1;
    }

    fn stopped(&self, now: Time) -> Option<Stopped> {
        self.stopped.filter(|stopped| stopped.until > now)
    }
}

/// A query to fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Its URL.
    pub url: CanonicalUrl,
    /// The page that the form is on.
    pub page: CanonicalUrl,
}

/// Figures of a desk.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeskFigures {
    /// Forms that are asked.
    pub forms: usize,
    /// Result pages that came.
    pub pages: u64,
    /// Records that they held.
    pub records: usize,
    /// Records that there are, at least, where that can be told.
    pub size_at_least: Option<f64>,
    /// Queries today.
    pub today: u32,
}

/// The forms of one host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Desk {
    limits: DeskLimits,
    forms: Vec<Asked>,
    quota: Quota,
    failures: u32,
    /// Seconds that the first answers took, and a moving mean.
    first_s: Vec<f64>,
    lately_s: f64,
    /// The form to ask next.
    turn: usize,
}

/// A form that is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Asked {
    question: Question,
    /// The page that it is on.
    page: String,
    way: Way,
    place: Option<Place>,
    /// Answers in a row that had records and none of them new.
    stale: u8,
    /// Queries without an answer, and when they were asked.
    open: FxHashMap<String, (Ask, Time)>,
    /// The next page of each list.
    next: FxHashMap<usize, String>,
    is_done: bool,
}

/// How a form is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "there are a handful of forms a host")]
enum Way {
    Words(Keywords),
    Fields(Fields),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Ask {
    Words(KeywordsAsk),
    Fields(FieldsAsk),
}

/// How many times longer than at first answers may take.
const SLOW: f64 = 3.0;
/// Answers faster than this never count as slow.
const FAST_S: f64 = 0.5;
/// Number of first answers whose median is the usual time, and weight of the newest answer in the mean.
const FIRST: usize = 8;
const NEWEST: f64 = 0.3;
/// After this many answers in a row without a new record, the place of records is searched again.
const MOST_STALE: u8 = 3;
/// How long the first stop lasts, and how often that doubles.
const FIRST_STOP: Span = Span::DAY;
const MOST_DOUBLINGS: u32 = 5;
/// Failures in a row that stop a desk.
const MOST_FAILURES: u32 = 3;
/// A query that has had no answer for so long is given up.
const MOST_WAIT: Span = Span::DAY.times(7);

impl Desk {
    /// A host without forms.
    pub fn new(limits: DeskLimits) -> Desk {
        Desk {
            limits,
            forms: Vec::new(),
            quota: Quota::default(),
            failures: 0,
            first_s: Vec::new(),
            lately_s: 0.0,
            turn: 0,
        }
    }

    /// Sets other limits.
    pub const fn limit(&mut self, limits: DeskLimits) {
        self.limits = limits;
    }

    /// Queries of today, and the stop in force.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    /// Goes on with the quota of a desk that was lost.
    pub const fn set_quota(&mut self, quota: Quota) {
        self.quota = quota;
    }

    /// Adds a form of `page`. Known forms and forms beyond the limit are ignored.
    pub fn meet(&mut self, page: &CanonicalUrl, question: Question) {
        let is_known = self.forms.iter().any(|form| form.question.key() == question.key());
        if is_known || self.forms.len() >= self.limits.forms {
            return;
        }
        let keywords = self.limits.keywords;
        let way = match Fields::of(&question, keywords.least_new) {
            Some(fields) if question.words().is_none() => Way::Fields(fields),
            _ if question.words().is_some() => Way::Words(Keywords::new(keywords)),
            _ => return,
        };
        self.forms.push(Asked {
            question,
            page: page.as_str().to_owned(),
            way,
            place: None,
            stale: 0,
            open: FxHashMap::default(),
            next: FxHashMap::default(),
            is_done: false,
        });
    }

    /// Adds the words of a page of the host as candidates for the first queries.
    pub fn hear(&mut self, text: &str) {
        for form in &mut self.forms {
            if let Way::Words(keywords) = &mut form.way
                && keywords.pages() == 0
            {
                keywords.hear(text);
            }
        }
    }

    /// The next query, which then counts as asked; `None` for now.
    pub fn next(&mut self, now: Time) -> Option<Query> {
        self.quota.begin_day(now);
        if self.stopped(now).is_some() {
            return None;
        }
        self.give_up(now);
        let open: usize = self.forms.iter().map(|form| form.open.len()).sum();
        if self.quota.today >= self.limits.per_day || open >= self.limits.at_once {
            return None;
        }
        for _ in 0..self.forms.len() {
            self.turn = (self.turn + 1) % self.forms.len();
            if let Some(query) = self.forms[self.turn].next(now) {
                self.quota.today += 1;
                return Some(query);
            }
        }
        None
    }

    fn give_up(&mut self, now: Time) {
        for form in &mut self.forms {
            let late = form.open.iter().filter(|(_, (_, at))| now.since(*at) > MOST_WAIT);
            let late: Vec<String> = late.map(|(url, _)| url.clone()).collect();
            late.iter().for_each(|url| form.fail(url));
        }
    }

    /// Whether a URL asks one of the forms.
    pub fn is_query(&self, url: &CanonicalUrl) -> bool {
        self.form_of(url).is_some()
    }

    /// Where the records of a query stood before, if that is known.
    pub fn place_of(&self, url: &CanonicalUrl) -> Option<Place> {
        self.form_of(url).and_then(|form| form.place)
    }

    fn form_of(&self, url: &CanonicalUrl) -> Option<&Asked> {
        let asks = |form: &&Asked| {
            form.open.contains_key(url.as_str()) || form.question.asked(url).is_some()
        };
        self.forms.iter().find(asks)
    }

    /// Takes in an answer; returns how many of its records are new. A visit to a query that was answered
    /// before teaches nothing here.
    pub fn answer(
        &mut self,
        url: &CanonicalUrl,
        answer: &Answer,
        took: Span,
        now: Time,
    ) -> Option<usize> {
        let form = self.forms.iter_mut().find(|form| form.open.contains_key(url.as_str()))?;
        let new = form.answer(url, answer);
        self.failures = 0;
        self.note_time(took, now);
        Some(new)
    }

    /// Notes that a query was redirected: its answer comes from `to`, at the cost of another query.
    pub fn moved(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) {
        for form in &mut self.forms {
            if let Some(asked) = form.open.remove(from.as_str()) {
                form.open.insert(to.as_str().to_owned(), asked);
                self.quota.today += 1;
            }
        }
    }

    /// Notes that a query failed. `why` is set if that may be a reason to stop asking the host.
    pub fn fail(&mut self, url: &CanonicalUrl, why: Option<Stop>, now: Time) {
        for form in &mut self.forms {
            form.fail(url.as_str());
        }
        self.failures += u32::from(why == Some(Stop::Refused));
        match why {
            Some(Stop::Refused) if self.failures < MOST_FAILURES => {}
            Some(why) => self.stop(why, now),
            None => {}
        }
    }

    fn stop(&mut self, why: Stop, now: Time) {
        self.quota.stop(why, now);
        self.failures = 0;
        self.lately_s = 0.0;
    }

    fn note_time(&mut self, took: Span, now: Time) {
        let took = took.seconds();
        if self.first_s.len() < FIRST {
            self.first_s.push(took);
            return;
        }
        let mut first = self.first_s.clone();
        first.sort_by(f64::total_cmp);
        let usual = first[FIRST / 2];
        self.lately_s = if self.lately_s == 0.0 {
            usual
        } else {
            NEWEST * took + (1.0 - NEWEST) * self.lately_s
        };
        if self.lately_s > (SLOW * usual).max(FAST_S) {
            self.stop(Stop::Slow, now);
        }
    }

    /// The stop in force at `now`, if there is one.
    pub fn stopped(&self, now: Time) -> Option<Stopped> {
        self.quota.stopped(now)
    }

    /// What a query asks, as a sentence; `None` if `url` asks none of the forms.
    pub fn told(&self, url: &CanonicalUrl, now: Time) -> Option<String> {
        let form = self.form_of(url)?;
        let asked = form.question.asked(url).unwrap_or_default();
        let asks = if asked.is_empty() {
            "everything".to_owned()
        } else {
            format!("\u{201c}{asked}\u{201d}")
        };
        let (held, pages, lately) = form.figures();
        let so_far = if pages == 0 {
            "no answer has come through it yet".to_owned()
        } else {
            format!(
                "{pages} result pages have shown {held} records, {lately:.1} new ones a page lately"
            )
        };
        let rest = self.stopped(now).map_or_else(String::new, |stopped| {
            format!(" No more is asked for now: {}.", stopped.why)
        });
        Some(format!("It is a query of the form on {}, for {asks}: {so_far}.{rest}", form.page))
    }

    /// Figures of the host.
    pub fn figures(&self) -> DeskFigures {
        let mut sum = DeskFigures {
            forms: self.forms.len(),
            today: self.quota.today,
            ..DeskFigures::default()
        };
        for form in &self.forms {
            let (held, pages, _) = form.figures();
            sum.records += held;
            sum.pages += pages;
            if let Way::Words(keywords) = &form.way
                && let Some(size) = keywords.size_at_least()
            {
                *sum.size_at_least.get_or_insert(0.0) += size;
            }
        }
        sum
    }
}

impl Asked {
    fn next(&mut self, now: Time) -> Option<Query> {
        // Every turn either asks, drops something that cannot be asked, or ends.
        while !self.is_done {
            let Some(ask) = self.choose() else {
                // Before the first answer, words may still be heard.
                self.is_done = self.open.is_empty() && self.figures().1 > 0;
                return None;
            };
            let Some(url) = self.url(&ask).filter(|url| !self.open.contains_key(url.as_str()))
            else {
                self.forget(&ask);
                continue;
            };
            self.open.insert(url.as_str().to_owned(), (ask, now));
            let page = CanonicalUrl::parse(&self.page).ok()?;
            return Some(Query { url, page });
        }
        None
    }

    fn choose(&mut self) -> Option<Ask> {
        match &mut self.way {
            Way::Words(keywords) => keywords.choose().map(Ask::Words),
            Way::Fields(fields) => fields.choose().map(Ask::Fields),
        }
    }

    fn url(&self, ask: &Ask) -> Option<CanonicalUrl> {
        let next = |list: usize| CanonicalUrl::parse(self.next.get(&list)?).ok();
        match (ask, &self.way) {
            (Ask::Words(KeywordsAsk::Word(word)), _) => self.question.ask_words(word),
            (Ask::Words(KeywordsAsk::More(list)), _) => next(*list),
            (Ask::Fields(ask), Way::Fields(fields)) if ask.is_first => {
                self.question.ask(&fields.chosen(ask.query))
            }
            (Ask::Fields(ask), _) => next(ask.query),
        }
    }

    fn forget(&mut self, ask: &Ask) {
        if let (Ask::Words(ask), Way::Words(keywords)) = (ask, &mut self.way) {
            keywords.fail(ask);
        }
    }

    fn fail(&mut self, url: &str) {
        if let Some((ask, _)) = self.open.remove(url) {
            self.forget(&ask);
        }
    }

    fn answer(&mut self, url: &CanonicalUrl, answer: &Answer) -> usize {
        let Some((ask, _)) = self.open.remove(url.as_str()) else { return 0 };
        if answer.records.len() >= 3 {
            self.place = self.place.or(answer.place);
        }
        let list = match (&ask, &self.way) {
            (Ask::Words(ask), Way::Words(keywords)) => keywords.list_of(ask),
            (Ask::Fields(ask), _) => Some(ask.query),
            _ => None,
        };
        if let (Some(list), Some(next)) = (list, &answer.next) {
            self.next.insert(list, next.as_str().to_owned());
        }
        let has_more = answer.next.is_some();
        let new = match (&ask, &mut self.way) {
            (Ask::Words(ask), Way::Words(keywords)) => {
                let seen = answer.records.iter().map(|r| Seen { key: r.key(), text: &r.text });
                keywords.learn(ask, seen, has_more)
            }
            (Ask::Fields(ask), Way::Fields(fields)) => {
                fields.learn(ask, answer.records.iter().map(Record::key), has_more, answer.total)
            }
            _ => 0,
        };
        self.stale = if new == 0 && !answer.records.is_empty() { self.stale + 1 } else { 0 };
        if self.stale >= MOST_STALE {
            // What was taken for records may be a list that every page shows.
            (self.place, self.stale) = (None, 0);
        }
        new
    }

    fn figures(&self) -> (usize, u64, f64) {
        match &self.way {
            Way::Words(keywords) => (keywords.held(), keywords.pages(), keywords.lately()),
            Way::Fields(fields) => (fields.held(), fields.pages(), fields.lately()),
        }
    }
}
