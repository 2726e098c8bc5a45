//! The settings of a crawl, with a sentence on every key.
//!
//! A configuration is TOML. Missing keys have a default. An unknown key is refused and the nearest known
//! one is named, because a setting that is silently ignored is worse than none. The table [`KEYS`] gives
//! every key its field and its comment.

mod site;
mod value;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span};
use tidewatch_frontier::{Limits, Politeness, Revisit, SlowLane};
use tidewatch_robots::Use;
use toml::{Table, Value};

pub use self::site::{Secret, Site};
use self::value::Setting;
use crate::forms::FormRules;
use crate::scope::{Reach, ScopeRules};
use crate::topic::TopicRules;

/// Everything that can be set.
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Fetches per second.
    pub budget: Rate,
    /// The policy that chooses pages.
    pub policy: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Product token, as robots.txt files name it.
    pub agent: String,
    /// A page or address where people reach the operator.
    pub contact: String,
    /// What the crawl is for; content whose owner denies all of it is not kept.
    pub uses: Vec<Use>,
    /// How servers are treated.
    pub politeness: Politeness,
    /// How long a page rests between two fetches.
    pub revisit: Revisit,
    /// Whether private addresses may be fetched from.
    pub allow_private: bool,
    /// Wait before a host whose robots.txt cannot be read is tried again.
    pub robots_retry: Span,
    /// A file of names with fixed addresses; none if empty.
    pub hosts_file: String,
    /// A PEM file of certificates to trust besides Mozilla's; none if empty.
    pub roots_file: String,
    /// `host:port` of a proxy; none if empty.
    pub proxy: String,
    /// Value of Proxy-Authorization; none if empty.
    pub proxy_authorization: Secret,
    /// How much one fetch may cost.
    pub fetch: tidewatch_fetch::Limits,
    /// Requests and jobs at once.
    pub limits: Limits,
    /// Slots for slow requests.
    pub slow_lane: SlowLane,
    /// Connections kept open for the next request to their hosts.
    pub idle_connections: usize,
    /// Files of the tables that are kept open.
    pub table_files: usize,
    /// Which URLs are taken in.
    pub scope: ScopeRules,
    /// The wanted topic.
    pub topic: TopicRules,
    /// Which forms are asked.
    pub forms: FormRules,
    /// Pages known of a host after which it is probed for soft 404s; 0 for never.
    pub probe_pages: u32,
    /// Whether duplicates within a host are skipped.
    pub drop_duplicates: bool,
    /// Whether rules about duplicate and worthless URLs are learnt.
    pub learn_rules: bool,
    /// Megabytes for these rules and their evidence.
    pub hygiene_mb: u64,
    /// Megabytes at which an archive file is closed.
    pub archive_file_mb: u64,
    /// Compression of the archive, 1 to 9.
    pub archive_level: u32,
    /// Free megabytes on the disk below which the crawl pauses.
    pub free_disk_mb: u64,
    /// Megabytes for the tables' cache.
    pub cache_mb: u64,
    /// Megabytes for recently seen URLs.
    pub sieve_mb: u64,
    /// Megabytes for the state of pages.
    pub pages_mb: u64,
    /// Whether a crawl that serves HTTP keeps a search index.
    pub index: bool,
    /// Megabytes for pages that wait to be written to the index.
    pub index_mb: u64,
    /// Most that one client's clicks can weigh, in percent of all.
    pub client_percent: u32,
    /// Days that the log of searches and clicks is kept.
    pub keep_days: u32,
    /// Settings of single hosts.
    pub sites: Vec<Site>,
    /// Keys that were set by name, which overrule what a crawl was begun with.
    pub named: BTreeSet<&'static str>,
}

/// Memory of frontier and policy per known page, at the worst moment: every page fetched twice, with
/// 30 links, and all vectors just doubled. `tests/it/memory.rs` measures it.
const PAGE_BYTES: u64 = 1_792;

impl Default for Config {
    fn default() -> Self {
        Config {
            budget: Rate::per_second(5.0).unwrap_or(Rate::ZERO),
            policy: "price".into(),
            seed: 1,
            agent: "Tidewatch".into(),
            contact: String::new(),
            uses: vec![Use::Search, Use::Archive],
            politeness: Politeness::default(),
            revisit: Revisit::default(),
            allow_private: false,
            robots_retry: Span::HOUR,
            hosts_file: String::new(),
            roots_file: String::new(),
            proxy: String::new(),
            proxy_authorization: Secret::default(),
            fetch: tidewatch_fetch::Limits::default(),
            limits: Limits { requests: 256, jobs: 4_096 },
            slow_lane: SlowLane::default(),
            idle_connections: 1_024,
            table_files: 512,
            scope: ScopeRules::default(),
            topic: TopicRules::default(),
            forms: FormRules::default(),
            probe_pages: 20,
            drop_duplicates: true,
            learn_rules: true,
            hygiene_mb: 64,
            archive_file_mb: 1_024,
            archive_level: 1,
            free_disk_mb: 256,
            cache_mb: 64,
            sieve_mb: 128,
            pages_mb: 4_096,
            index: true,
            index_mb: 64,
            client_percent: 5,
            keep_days: 30,
            sites: Vec::new(),
            named: BTreeSet::new(),
        }
    }
}

/// A key: where it stands, what it means, how it is read and shown.
struct Key {
    name: &'static str,
    about: &'static str,
    read: fn(&mut Config, &Value) -> Result<(), &'static str>,
    show: fn(&Config) -> String,
    copy: fn(&mut Config, &Config),
}

macro_rules! keys {
    ($($name:literal => $($field:ident).+, $about:literal;)*) => {
        &[$(Key {
            name: $name,
            about: $about,
            read: |config, value| Setting::read(&mut config.$($field).+, value),
            show: |config| config.$($field).+.show(),
            copy: |config, other| config.$($field).+ = other.$($field).+.clone(),
        }),*]
    };
}

/// Every key, sections in order. The first name of a dotted key is its section.
const KEYS: &[Key] = keys! {
    "budget" => budget, "Fetches per time of the whole crawl: 5/s, 300/min, 2/h.";
    "policy" => policy, "Which policy chooses pages; `tidewatch lab list` names them.";
    "seed" => seed, "Seed of all randomness: the same seed and events give the same choices.";
    "use" => uses,
        "What you use pages for: \"search\", \"archive\", \"ai-input\", \"train-ai\". A page whose owner \
         denies all of it (Content-Signal, Content-Usage, TDMRep, noai) is neither fetched nor kept.";
    "agent.name" => agent, "Product token, as robots.txt files name it.";
    "agent.contact" => contact,
        "Where people reach you: a page or mail address, sent with every request.";
    "politeness.least_gap" => politeness.least_gap, "Least time between two requests to a host.";
    "politeness.most_gap" => politeness.most_gap,
        "Longest gap that slow answers alone can cause.";
    "politeness.patience" => politeness.patience,
        "The gap, as a multiple of the time the last answer took.";
    "politeness.address_gap" => politeness.address_gap,
        "Least time between two requests to one address, whatever the host.";
    "politeness.most_delay" => politeness.most_delay,
        "Longest Crawl-delay that is obeyed; a longer one counts as this.";
    "politeness.first_rest" => politeness.first_rest,
        "Back-off after 429, 503 or no answer; doubles each time in a row.";
    "politeness.most_rest" => politeness.most_rest,
        "Longest back-off, and longest Retry-After that is obeyed.";
    "politeness.robots_retry" => robots_retry,
        "Wait before a host whose robots.txt cannot be read is tried again.";
    "politeness.allow_private" => allow_private,
        "Fetch from private and loopback addresses. For your own network only.";
    "revisit.usual" => revisit.usual,
        "Least time between the first two visits to a page; 0s for no limit at all. It doubles after \
         a visit that saw no change, and halves after one that saw a change or a new link. Seeds, feeds \
         and sitemaps begin with a sixteenth.";
    "revisit.least" => revisit.least,
        "Shortest such time, of a page that changed at every visit; also after a hint from a feed or \
         sitemap.";
    "revisit.most" => revisit.most, "Longest such time, of a page that never changed.";
    "network.hosts_file" => hosts_file,
        "File of lines `ADDRESS[:PORT] NAME…`, used instead of the DNS for these names.";
    "network.roots_file" => roots_file,
        "PEM file of certificates trusted besides Mozilla's, such as that of your own network.";
    "network.proxy" => proxy, "HTTP proxy for all requests, as \"host:port\"; empty for none.";
    "network.proxy_authorization" => proxy_authorization,
        "Value of Proxy-Authorization, such as \"Basic …\"; empty for none.";
    "fetch.connect" => fetch.connect, "Time limit for a connection, TLS included.";
    "fetch.idle" => fetch.idle, "Time limit for the next byte.";
    "fetch.total" => fetch.total, "Time limit for a whole answer.";
    "fetch.min_bytes_per_s" => fetch.min_bytes_per_s, "Slowest rate that is accepted.";
    "fetch.slow_window" => fetch.slow_window, "How long the rate may be lower.";
    "fetch.headers" => fetch.headers, "Most header fields of an answer.";
    "fetch.head_bytes" => fetch.head_bytes, "Most bytes of an answer's head.";
    "fetch.html_bytes" => fetch.html_bytes, "Most decoded bytes of a page; the rest is cut.";
    "fetch.other_bytes" => fetch.other_bytes, "Most decoded bytes of anything else; the rest is cut.";
    "fetch.robots_bytes" => fetch.robots_bytes, "Most bytes of a robots.txt; the rest is ignored.";
    "fetch.sitemap_bytes" => fetch.sitemap_bytes, "Most decoded bytes of a sitemap.";
    "fetch.encodings" => fetch.encodings, "Most content encodings on top of each other.";
    "fetch.robots_redirects" => fetch.robots_redirects, "Most redirects in a row of a robots.txt.";
    "limits.requests" => limits.requests,
        "Most requests under way at once, besides slow ones. Hosts that answer slowly or were never \
         asked get a part of them.";
    "limits.slow_requests" => slow_lane.requests,
        "Most slow requests under way at once; the more there are, the sooner one that makes no \
         progress is given up.";
    "limits.slow_after" => slow_lane.after,
        "A request is slow after this time, or sooner where answers usually take less.";
    "limits.idle_connections" => idle_connections,
        "Most connections kept open for the next request to their hosts.";
    "limits.table_files" => table_files, "Most files of the tables kept open.";
    "limits.jobs" => limits.jobs, "Most hosts with a page under way or waiting for its turn.";
    "limits.free_disk_mb" => free_disk_mb,
        "Pause while the disk has fewer megabytes free than this.";
    "scope.reach" => scope.reach,
        "How far from the seeds: \"host\" (their hosts, with and without www.), \"domain\" (their \
         registrable domains), \"everything\", or \"rules\" (listed hosts and include patterns alone).";
    "scope.hosts" => scope.hosts,
        "Hosts in scope besides those of the seeds: \"a.example\", or \"*.a.example\" with all subdomains.";
    "scope.include" => scope.include,
        "If not empty, a URL must match one of these patterns: \"/docs/*\" (path and query), \
         \"https://a.example/*\" (whole URL), \"*.pdf\" (URL without scheme).";
    "scope.exclude" => scope.exclude, "A URL must match none of these patterns.";
    "scope.types" => scope.types,
        "File types wanted, such as \"html\" and \"pdf\"; all if empty. Links are followed \
         from \"html\" only if it is among them; sitemaps and feeds are always read.";
    "scope.requisites" => scope.requisites,
        "Fetch style sheets, scripts, images and fonts of the pages taken in too, from any host.";
    "topic.words" => topic.words,
        "Words that name what you want; pages on that topic, and those that should lead to them, are \
         fetched before others.";
    "topic.like" => topic.like,
        "Example pages of what you want: files, or URLs, which are fetched first. Ten will do.";
    "topic.languages" => topic.languages,
        "Languages wanted, by ISO code: \"en\", \"deu\"; all if empty.";
    "topic.elsewhere_percent" => topic.elsewhere_percent,
        "What a page that is surely not wanted is still worth, in percent of one that is. Other pages lead \
         to wanted ones, so 0 finds fewer.";
    "forms.hosts" => forms.hosts,
        "Hosts whose search forms are asked, by GET alone: \"a.example\", or \"*.a.example\" with all \
         subdomains. None if empty. Name only hosts that would not mind.";
    "forms.per_day" => forms.per_day, "Most result pages asked for on one host and day.";
    "hygiene.depth" => scope.tolerance.depth, "Most links and redirects from a seed to a page.";
    "hygiene.pages_per_host" => scope.tolerance.pages_per_host, "Most pages known of one host.";
    "hygiene.segments" => scope.tolerance.segments, "Most path segments of an address.";
    "hygiene.repeats" => scope.tolerance.repeats, "Most occurrences of one segment in a path.";
    "hygiene.parameters" => scope.tolerance.parameters, "Most query parameters of an address.";
    "hygiene.probe_pages" => probe_pages,
        "After this many pages of a host, request one URL that cannot exist, to learn what its 404 \
         looks like; 0 for never.";
    "hygiene.drop_duplicates" => drop_duplicates,
        "Skip duplicates within a host.";
    "hygiene.learn_rules" => learn_rules,
        "Learn which URLs repeat a page or lead to nothing: links to other addresses of a known page \
         are links to it, and doubtful pages are worth less (tidewatch rules).";
    "hygiene.calendar_years" => scope.tolerance.calendar_years,
        "Most years that a calendar may reach into the future.";
    "archive.file_mb" => archive_file_mb, "Megabytes at which a WARC file is closed.";
    "archive.level" => archive_level, "Compression of WARC records: 1 fast, 9 small.";
    "memory.cache_mb" => cache_mb, "Megabytes for the tables' cache.";
    "memory.sieve_mb" => sieve_mb, "Megabytes for recently seen URLs; older ones are on disk.";
    "memory.hygiene_mb" => hygiene_mb, "Megabytes for what is learnt about URLs; the hosts used \
         least are forgotten.";
    "memory.pages_mb" => pages_mb,
        "Megabytes for the state of pages; no new page is taken once they are full.";
    "memory.index_mb" => index_mb,
        "Megabytes for pages waiting to be written to the search index, at least 15.";
    "search.index" => index, "Keep a search index while the crawl serves HTTP.";
    "search.client_percent" => client_percent,
        "Most that one client's clicks of a day can weigh, in percent of all clicks; 100 for no \
         bound.";
    "search.keep_days" => keep_days,
        "Days that searches and clicks are kept; who made them is forgotten after one day.";
};

/// Keys of earlier versions, and what to write now.
const REPLACED: &[(&str, &str)] = &[(
    "hygiene.leave_seed_hosts",
    "write `reach = \"host\"` in the section [scope] for false, `reach = \"everything\"` for true",
)];

/// Whether a key is stored with the crawl as a part of its scope.
fn is_of_scope(name: &str) -> bool {
    const TRAPS: [&str; 6] = [
        "hygiene.depth",
        "hygiene.pages_per_host",
        "hygiene.segments",
        "hygiene.repeats",
        "hygiene.parameters",
        "hygiene.calendar_years",
    ];
    name.starts_with("scope.") || name.starts_with("topic.") || TRAPS.contains(&name)
}

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadConfig {
    /// Not valid TOML.
    #[error("the configuration is not valid TOML: {0}")]
    Syntax(String),
    /// A key does not exist.
    #[error("there is no setting `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// The unknown key.
        key: String,
        /// The most similar known key.
        nearest: &'static str,
    },
    /// A section of a host is wrong.
    #[error("[host.\"{site}\"]: {why}")]
    BadSite {
        /// The section's name.
        site: String,
        /// What is wrong, without a value that may be secret.
        why: String,
    },
    /// A key has been replaced.
    #[error("the setting `{key}` has been replaced: {instead}")]
    Replaced {
        /// The old key.
        key: &'static str,
        /// What to write.
        instead: &'static str,
    },
    /// `scope.reach = "rules"` without a rule.
    #[error(
        "the scope `rules` takes in nothing without a rule: name hosts (--hosts, scope.hosts) or \
         include patterns (--include, scope.include)"
    )]
    NoRules,
    /// A value does not fit its key.
    #[error("`{key}` must be {wanted}, not {found}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// What the key accepts.
        wanted: &'static str,
        /// The value given.
        found: String,
    },
}

impl Config {
    /// One of `count` equal parts of the budget, the limits and the memory, for a partition.
    #[must_use]
    pub fn divided(&self, count: u32) -> Config {
        let (mut own, parts) = (self.clone(), u64::from(count.max(1)));
        let budget = self.budget.as_per_second() / parts as f64;
        own.budget = Rate::per_second(budget).unwrap_or(self.budget);
        own.limits.requests = (self.limits.requests / parts as usize).max(1);
        own.table_files = (self.table_files / parts as usize).max(1);
        own.slow_lane.requests = self.slow_lane.requests.div_ceil(parts as usize);
        own.limits.jobs = (self.limits.jobs / parts as usize).max(1);
        (own.cache_mb, own.sieve_mb) =
            ((self.cache_mb / parts).max(1), (self.sieve_mb / parts).max(1));
        own.pages_mb = self.pages_mb.div_ceil(parts);
        own
    }

    /// Reads a configuration.
    pub fn parse(text: &str) -> Result<Config, BadConfig> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            BadConfig::Syntax(error.message().to_owned() + &place(text, error.span()))
        })?;
        let mut config = Config::default();
        for (name, value) in &table {
            match value {
                Value::Table(sites) if name == "host" => config.read_sites(sites)?,
                Value::Table(section) => {
                    for (key, value) in section {
                        config.set(&format!("{name}.{key}"), value)?;
                    }
                }
                _ => config.set(name, value)?,
            }
        }
        Ok(config)
    }

    fn read_sites(&mut self, sites: &Table) -> Result<(), BadConfig> {
        for (name, section) in sites {
            let why = "each host is a section of its own, such as [host.\"a.example\"]";
            let bad = || BadConfig::BadSite { site: name.clone(), why: why.to_owned() };
            self.sites.push(Site::read(name, section.as_table().ok_or_else(bad)?)?);
        }
        Ok(())
    }

    /// The hosts whose robots.txt is not obeyed, as they were named.
    pub fn own_hosts(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().filter(|site| site.is_own()).map(Site::name)
    }

    /// Whether a URL is on a host that the operator named as an own one.
    pub(crate) fn is_own(&self, url: &CanonicalUrl) -> bool {
        self.sites.iter().any(|site| site.is_own() && site.is_of(url))
    }

    /// Least time between two requests to a URL's origin, if it has one of its own.
    pub(crate) fn delay_of(&self, url: &CanonicalUrl) -> Option<Span> {
        self.sites.iter().filter(|site| site.is_of(url)).find_map(Site::delay)
    }

    /// Checks what no single setting shows.
    pub fn check(&self) -> Result<(), BadConfig> {
        let ScopeRules { reach, hosts, include, .. } = &self.scope;
        let is_empty = *reach == Reach::Rules && hosts.is_empty() && include.is_empty();
        if is_empty { Err(BadConfig::NoRules) } else { Ok(()) }
    }

    /// Takes over the stored scope of a crawl, except for what is set here.
    pub(crate) fn inherit_scope(&mut self, stored: &str) -> Result<(), BadConfig> {
        let (stored, usual) = (Config::parse(stored)?, Config::default());
        for key in KEYS.iter().filter(|key| is_of_scope(key.name)) {
            let is_set = self.named.contains(key.name) || (key.show)(self) != (key.show)(&usual);
            if !is_set {
                (key.copy)(self, &stored);
            }
        }
        Ok(())
    }

    /// The settings that make up the scope, as TOML.
    pub(crate) fn scope_toml(&self) -> String {
        self.lines(is_of_scope, false)
    }

    /// The settings of the topic, as TOML.
    pub(crate) fn topic_toml(&self) -> String {
        self.lines(|name| name.starts_with("topic."), false)
    }

    /// Most pages that fit in the memory for them.
    pub fn most_pages(&self) -> u32 {
        u32::try_from((self.pages_mb << 20) / PAGE_BYTES).unwrap_or(u32::MAX)
    }

    /// Sets one key.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), BadConfig> {
        if let Some(&(key, instead)) = REPLACED.iter().find(|(key, _)| *key == name) {
            return Err(BadConfig::Replaced { key, instead });
        }
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err(BadConfig::UnknownKey { key: name.to_owned(), nearest: nearest(name) });
        };
        let bad = |wanted| BadConfig::BadValue { key: key.name, wanted, found: value.to_string() };
        (key.read)(self, value).map_err(bad)?;
        self.named.insert(key.name);
        Ok(())
    }

    /// The whole configuration as TOML, with a comment on every key.
    pub fn to_toml(&self) -> String {
        let sites: String = self.sites.iter().map(Site::show).collect();
        self.lines(|_| true, true) + &sites
    }

    fn lines(&self, is_wanted: fn(&str) -> bool, with_comments: bool) -> String {
        let mut text = String::new();
        let mut section = "";
        for key in KEYS.iter().filter(|key| is_wanted(key.name)) {
            let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
            if of != section {
                let _ = write!(text, "\n[{of}]\n");
                section = of;
            }
            if with_comments {
                let _ = writeln!(text, "# {}", key.about);
            }
            let _ = writeln!(text, "{name} = {}", (key.show)(self));
        }
        text
    }
}

fn place(text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    before.map_or_else(String::new, |before| format!(" (line {})", before.lines().count().max(1)))
}

/// The key that is fewest letters away; a key named without its section counts as near.
fn nearest(name: &str) -> &'static str {
    let bare = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let away =
        |key: &&Key| letters_away(name, key.name).min(letters_away(name, bare(key.name)) + 1);
    KEYS.iter().min_by_key(away).map_or("budget", |key| key.name)
}

/// Insertions, deletions and changes of a letter between two words (Levenshtein).
fn letters_away(a: &str, b: &str) -> usize {
    // Keys are short; this bounds the work for a hostile name.
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_settings_parse_again() {
        let config = Config { seed: 9, allow_private: true, ..Config::default() };
        let read = Config::parse(&config.to_toml()).unwrap();
        assert_eq!(read.named.len(), KEYS.len());
        assert_eq!(Config { named: BTreeSet::new(), ..read }, config);
        assert_eq!(Config::parse(""), Ok(Config::default()));
    }

    #[test]
    fn every_key_has_its_own_name_and_a_sentence() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(key.about.ends_with('.'), "{}", key.name);
            assert!(KEYS[..at].iter().all(|other| other.name != key.name), "{} twice", key.name);
        }
    }

    #[test]
    fn a_wrong_key_names_the_nearest() {
        let cases = [
            ("bugdet = \"5/s\"", "budget"),
            ("[politeness]\nleast_gab = \"1s\"", "politeness.least_gap"),
            ("least_gap = \"1s\"", "politeness.least_gap"),
            ("[archive]\nlvl = 3", "archive.level"),
        ];
        for (text, expected) in cases {
            match Config::parse(text) {
                Err(BadConfig::UnknownKey { nearest, .. }) => assert_eq!(nearest, expected),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn wrong_values_and_files_give_a_sentence() {
        let error = |text| Config::parse(text).expect_err(text).to_string();
        assert_eq!(
            error("[politeness]\nleast_gap = 3"),
            "`politeness.least_gap` must be a time such as \"90s\", \"30m\" or \"7d\", not 3"
        );
        assert!(error("budget = \"many\"").contains("a rate such as \"5/s\""));
        assert!(error("seed = -1").contains("a whole number"));
        assert!(error("a = 1\nb = = 2").contains("line 2"), "{}", error("a = 1\nb = = 2"));
    }

    #[test]
    fn a_scope_is_inherited_where_nothing_else_is_set() {
        let mut begun = Config::default();
        begun.set("scope.reach", &Value::String("everything".into())).unwrap();
        begun.set("scope.exclude", &Value::Array(vec![Value::String("*.pdf".into())])).unwrap();
        let mut later = Config::parse("[hygiene]\ndepth = 5").unwrap();
        later.inherit_scope(&begun.scope_toml()).unwrap();
        assert_eq!(later.scope.reach, Reach::Everything);
        assert_eq!((later.scope.exclude.len(), later.scope.tolerance.depth), (1, 5));
        let mut narrowed = Config::parse("[scope]\nreach = \"domain\"").unwrap();
        narrowed.inherit_scope(&begun.scope_toml()).unwrap();
        assert_eq!(
            narrowed.scope.reach,
            Reach::Domain,
            "even the default overrules if it is named"
        );
    }

    #[test]
    fn a_scope_of_rules_needs_rules_and_an_old_key_names_the_new_one() {
        let rules = Config::parse("[scope]\nreach = \"rules\"").unwrap();
        assert_eq!(rules.check(), Err(BadConfig::NoRules));
        let listed = Config::parse("[scope]\nreach = \"rules\"\nhosts = [\"a.example\"]").unwrap();
        assert_eq!(listed.check(), Ok(()));
        let old = Config::parse("[hygiene]\nleave_seed_hosts = false").unwrap_err().to_string();
        assert!(old.contains("reach = \"host\""), "{old}");
    }
}
