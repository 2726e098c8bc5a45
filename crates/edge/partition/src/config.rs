//! What an operator can set, with a sentence on every key.
//!
//! A configuration is TOML. What it leaves out has a default; a key that does
//! not exist is refused with the nearest one that does, because a setting that
//! is silently ignored is worse than none. One table below gives every key its
//! place, its reader and its comment.

mod value;

use std::fmt::Write as _;

use tidewatch_core::{Rate, Span};
use tidewatch_frontier::hygiene::Tolerance;
use tidewatch_frontier::{Limits, Politeness};
use toml::{Table, Value};

use self::value::Setting;

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
    /// How servers are treated.
    pub politeness: Politeness,
    /// Whether private addresses may be fetched from.
    pub allow_private: bool,
    /// How long a host whose robots.txt cannot be had is left alone.
    pub robots_retry: Span,
    /// A file of names with fixed addresses; none if empty.
    pub hosts_file: String,
    /// `host:port` of a proxy; none if empty.
    pub proxy: String,
    /// What the proxy wants to be told; nothing if empty.
    pub proxy_authorization: String,
    /// How much one fetch may cost.
    pub fetch: tidewatch_fetch::Limits,
    /// How much may go on at once.
    pub limits: Limits,
    /// Which addresses are dropped.
    pub tolerance: Tolerance,
    /// Pages known of a host after which it is probed for soft 404s; 0 for never.
    pub probe_pages: u32,
    /// Whether duplicates within a host are left out.
    pub drop_duplicates: bool,
    /// Whether hosts other than the seeds' are crawled.
    pub leave_seed_hosts: bool,
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
    /// Megabytes for what is known of pages.
    pub pages_mb: u64,
    /// Whether a crawl that listens keeps a search index.
    pub index: bool,
    /// Megabytes for pages that wait to be written to the index.
    pub index_mb: u64,
    /// Percent of all clicks' weight that one client can have.
    pub client_percent: u32,
    /// Days that the log of searches and clicks is kept.
    pub keep_days: u32,
}

/// Memory that frontier and policy are taken to need for a page that they know: an estimate, which
/// `crates/edge/partition/examples/memory.rs` checks.
const PAGE_BYTES: u64 = 256;

impl Default for Config {
    fn default() -> Self {
        Config {
            budget: Rate::per_second(5.0).unwrap_or(Rate::ZERO),
            policy: "price".into(),
            seed: 1,
            agent: "Tidewatch".into(),
            contact: String::new(),
            politeness: Politeness::default(),
            allow_private: false,
            robots_retry: Span::HOUR,
            hosts_file: String::new(),
            proxy: String::new(),
            proxy_authorization: String::new(),
            fetch: tidewatch_fetch::Limits::default(),
            limits: Limits { requests: 256, jobs: 4_096 },
            tolerance: Tolerance::default(),
            probe_pages: 20,
            drop_duplicates: true,
            leave_seed_hosts: true,
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
        }
    }
}

/// A key: where it stands, what it means, how it is read and shown.
struct Key {
    name: &'static str,
    about: &'static str,
    read: fn(&mut Config, &Value) -> Result<(), &'static str>,
    show: fn(&Config) -> String,
}

macro_rules! keys {
    ($($name:literal => $($field:ident).+, $about:literal;)*) => {
        &[$(Key {
            name: $name,
            about: $about,
            read: |config, value| Setting::read(&mut config.$($field).+, value),
            show: |config| config.$($field).+.show(),
        }),*]
    };
}

/// Every key, sections in order. The first name of a dotted key is its section.
const KEYS: &[Key] = keys! {
    "budget" => budget, "Fetches per time that the whole crawl may spend: 5/s, 300/min, 2/h.";
    "policy" => policy, "Which policy chooses pages; `tidewatch lab list` names them.";
    "seed" => seed, "Seed of all randomness: the same seed and events give the same choices.";
    "agent.name" => agent, "Product token that robots.txt files may name.";
    "agent.contact" => contact,
        "Where people reach you: a page or mail address, sent with every request.";
    "politeness.least_gap" => politeness.least_gap, "Least time between two requests to a host.";
    "politeness.most_gap" => politeness.most_gap,
        "Most that slow answers alone stretch that gap to.";
    "politeness.patience" => politeness.patience,
        "The gap as a multiple of the time that the last answer took.";
    "politeness.address_gap" => politeness.address_gap,
        "Least time between two requests to one address, whatever the host.";
    "politeness.most_delay" => politeness.most_delay,
        "Longest Crawl-delay of a robots.txt that is kept; a longer one counts as this.";
    "politeness.first_rest" => politeness.first_rest,
        "Rest after 429, 503 or no answer; doubles each time in a row.";
    "politeness.most_rest" => politeness.most_rest,
        "Longest such rest, and longest Retry-After that is kept.";
    "politeness.robots_retry" => robots_retry,
        "How long a host whose robots.txt cannot be had is left alone.";
    "politeness.allow_private" => allow_private,
        "Whether private and loopback addresses may be fetched from. For your own network only.";
    "network.hosts_file" => hosts_file,
        "File of lines `ADDRESS[:PORT] NAME…`: names that are not looked up in the DNS.";
    "network.proxy" => proxy, "HTTP proxy for all requests, as \"host:port\"; empty for none.";
    "network.proxy_authorization" => proxy_authorization,
        "Value of Proxy-Authorization, such as \"Basic …\"; empty for none.";
    "fetch.connect" => fetch.connect, "Time until there is a connection, TLS included.";
    "fetch.idle" => fetch.idle, "Time until the next byte.";
    "fetch.total" => fetch.total, "Time until an answer is there in full.";
    "fetch.min_bytes_per_s" => fetch.min_bytes_per_s, "Least rate that is waited for.";
    "fetch.slow_window" => fetch.slow_window, "For how long the rate may be lower.";
    "fetch.headers" => fetch.headers, "Most header fields of an answer.";
    "fetch.head_bytes" => fetch.head_bytes, "Most bytes of an answer's head.";
    "fetch.html_bytes" => fetch.html_bytes, "Decoded bytes of a page that are kept.";
    "fetch.other_bytes" => fetch.other_bytes, "Decoded bytes of anything else that are kept.";
    "fetch.robots_bytes" => fetch.robots_bytes, "Bytes of a robots.txt that count.";
    "fetch.sitemap_bytes" => fetch.sitemap_bytes, "Decoded bytes of a sitemap that are read.";
    "fetch.encodings" => fetch.encodings, "Content encodings on top of each other.";
    "fetch.robots_redirects" => fetch.robots_redirects, "Redirects in a row of a robots.txt.";
    "limits.requests" => limits.requests, "Requests under way at once.";
    "limits.jobs" => limits.jobs, "Hosts with a page under way or waiting for its turn.";
    "limits.free_disk_mb" => free_disk_mb,
        "The crawl pauses while the disk has fewer megabytes free than this.";
    "hygiene.leave_seed_hosts" => leave_seed_hosts, "Whether links to other hosts are followed.";
    "hygiene.depth" => tolerance.depth, "Most links and redirects from a seed to a page.";
    "hygiene.pages_per_host" => tolerance.pages_per_host, "Most pages known of one host.";
    "hygiene.segments" => tolerance.segments, "Most path segments of an address.";
    "hygiene.repeats" => tolerance.repeats, "Most times that one segment stands in a path.";
    "hygiene.parameters" => tolerance.parameters, "Most query parameters of an address.";
    "hygiene.probe_pages" => probe_pages,
        "Pages of a host after which it is asked once for one that cannot exist, to know its \
         way of saying so; 0 for never.";
    "hygiene.drop_duplicates" => drop_duplicates,
        "Whether pages that say the same as another of their host are left out.";
    "hygiene.calendar_years" => tolerance.calendar_years,
        "Years that a calendar may reach into the future.";
    "archive.file_mb" => archive_file_mb, "Megabytes at which a WARC file is closed.";
    "archive.level" => archive_level, "Compression of WARC records: 1 fast, 9 small.";
    "memory.cache_mb" => cache_mb, "Megabytes for the tables' cache.";
    "memory.sieve_mb" => sieve_mb, "Megabytes for recently seen URLs; the others are on disk.";
    "memory.pages_mb" => pages_mb,
        "Megabytes for what is known of pages; a full one takes no new page.";
    "memory.index_mb" => index_mb,
        "Megabytes for pages that wait to be written to the search index, at least 15.";
    "search.index" => index, "Whether a crawl that listens keeps a search index.";
    "search.client_percent" => client_percent,
        "Percent of the weight of all clicks that one client's clicks of a day can have; 100 for \
         no bound.";
    "search.keep_days" => keep_days,
        "Days that searches and clicks are kept; who made them is forgotten after one.";
};

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadConfig {
    /// It is no TOML.
    #[error("the configuration is not valid TOML: {0}")]
    Syntax(String),
    /// A key does not exist.
    #[error("there is no setting `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// What it says.
        key: String,
        /// What it may have meant.
        nearest: &'static str,
    },
    /// A value does not fit its key.
    #[error("`{key}` must be {wanted}, not {found}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        found: String,
    },
}

impl Config {
    /// Reads a configuration.
    pub fn parse(text: &str) -> Result<Config, BadConfig> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            BadConfig::Syntax(error.message().to_owned() + &place(text, error.span()))
        })?;
        let mut config = Config::default();
        for (name, value) in &table {
            match value {
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

    /// Most pages that fit in the memory for them.
    pub fn most_pages(&self) -> u32 {
        u32::try_from((self.pages_mb << 20) / PAGE_BYTES).unwrap_or(u32::MAX)
    }

    /// Sets one key.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), BadConfig> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err(BadConfig::UnknownKey { key: name.to_owned(), nearest: nearest(name) });
        };
        let bad = |wanted| BadConfig::BadValue { key: key.name, wanted, found: value.to_string() };
        (key.read)(self, value).map_err(bad)
    }

    /// The whole configuration as TOML, with a comment on every key.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut section = "";
        for key in KEYS {
            let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
            if of != section {
                let _ = write!(text, "\n[{of}]\n");
                section = of;
            }
            let _ = writeln!(text, "# {}\n{name} = {}", key.about, (key.show)(self));
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
    // Keys are short; a hostile name is not worth more of our time.
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
    fn what_is_printed_is_read_back() {
        let config = Config { seed: 9, allow_private: true, ..Config::default() };
        assert_eq!(Config::parse(&config.to_toml()), Ok(config));
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
    fn a_wrong_value_or_file_is_told_in_a_sentence() {
        let error = |text| Config::parse(text).expect_err(text).to_string();
        assert_eq!(
            error("[politeness]\nleast_gap = 3"),
            "`politeness.least_gap` must be a time such as \"90s\", \"30m\" or \"7d\", not 3"
        );
        assert!(error("budget = \"many\"").contains("a rate such as \"5/s\""));
        assert!(error("seed = -1").contains("a whole number"));
        assert!(error("a = 1\nb = = 2").contains("line 2"), "{}", error("a = 1\nb = = 2"));
    }
}
