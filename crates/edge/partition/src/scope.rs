//! Which URLs a crawl takes in.
//!
//! A URL becomes a page if every rule of the [`Scope`] agrees: its host is within reach of the seeds or
//! listed, an include pattern matches (if there are any) and no exclude pattern does, its file type is
//! wanted, and it is neither too far from a seed nor a trap, on a host that is not full. If requisites of
//! pages (style sheets, scripts, images) are wanted, they may be on any host, need no include pattern and may
//! have any type. Every URL left out has a [`DropReason`]. Seeds are always taken in: the operator named
//! them.
//!
//! Rules and the seeds' hosts are stored with the crawl, so it goes on with the same scope.

mod kind;
mod pattern;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashSet;
use tidewatch_core::DropReason;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_frontier::hygiene::{Found, Tolerance};

pub use self::kind::{BadFileType, FileType};
pub use self::pattern::{BadPattern, UrlPattern};

/// How far from the seeds a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// The seeds' hosts, with and without `www.`.
    Host,
    /// The seeds' registrable domains, as `example.co.uk`, with all hosts in them. A host without one
    /// (an address, `localhost`) stands for itself.
    #[default]
    Domain,
    /// The whole web.
    Everything,
    /// Listed hosts and include patterns alone, whatever the seeds.
    Rules,
}

/// A word that names no [`Reach`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scope must be host, domain, everything or rules, not `{0}`")]
pub struct BadReach(String);

impl Reach {
    const ALL: [Reach; 4] = [Reach::Host, Reach::Domain, Reach::Everything, Reach::Rules];

    const fn name(self) -> &'static str {
        match self {
            Reach::Host => "host",
            Reach::Domain => "domain",
            Reach::Everything => "everything",
            Reach::Rules => "rules",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Reach {
    type Err = BadReach;

    fn from_str(text: &str) -> Result<Self, BadReach> {
        let found = Reach::ALL.into_iter().find(|reach| reach.name() == text);
        found.ok_or_else(|| BadReach(text.to_owned()))
    }
}

/// A host of a list: a name, or `*.name` for a name and all below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedHost(String);

/// A text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host; write a name such as example.com, or *.example.com for all below it")]
pub struct BadHost(String);

impl ListedHost {
    /// Whether it names a host.
    pub(crate) fn covers(&self, host: &str) -> bool {
        match self.0.strip_prefix("*.") {
            Some(name) => {
                host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            None => self.0 == host,
        }
    }
}

impl FromStr for ListedHost {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let bad = || BadHost(text.to_owned());
        let (star, name) = text.strip_prefix("*.").map_or(("", text), |name| ("*.", name));
        let url = CanonicalUrl::parse(&format!("http://{name}/")).map_err(|_| bad())?;
        // Neither a path nor a user nor a port may hide in the name.
        let is_host = url.path_and_query() == "/" && !name.contains(['/', '@', '?', '#']);
        let has_port = url.port() != 80 || name.ends_with(":80");
        if is_host && !has_port {
            Ok(ListedHost(format!("{star}{}", url.host())))
        } else {
            Err(bad())
        }
    }
}

impl fmt::Display for ListedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The operator's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeRules {
    /// How far from the seeds.
    pub reach: Reach,
    /// Hosts in scope besides those of the seeds.
    pub hosts: Vec<ListedHost>,
    /// If there are any, a URL must match one of these.
    pub include: Vec<UrlPattern>,
    /// A URL must match none of these.
    pub exclude: Vec<UrlPattern>,
    /// File types wanted; all if empty.
    pub types: Vec<FileType>,
    /// Whether requisites of pages are taken in too.
    pub requisites: bool,
    /// Depth, pages of a host, and traps.
    pub tolerance: Tolerance,
}

/// Admission to a crawl: the rules, and the seeds that they refer to.
pub struct Scope {
    rules: ScopeRules,
    /// Hosts of the seeds.
    seeds: BTreeSet<String>,
    /// Hosts or domains within reach, as the rules want them.
    near: FxHashSet<String>,
    /// Listed hosts, as written.
    listed: FxHashSet<String>,
    /// Whether `seeds` grew since [`Scope::take_new_seeds`].
    has_new_seed: bool,
}

impl Scope {
    pub(crate) fn new(rules: ScopeRules, seeds: impl IntoIterator<Item = String>) -> Scope {
        let listed = rules.hosts.iter().map(|host| host.0.clone()).collect();
        let mut scope = Scope {
            rules,
            seeds: BTreeSet::new(),
            near: FxHashSet::default(),
            listed,
            has_new_seed: false,
        };
        seeds.into_iter().for_each(|host| scope.add_host(host));
        scope.has_new_seed = false;
        scope
    }

    /// Counts a URL's host among those of the seeds.
    pub(crate) fn add_seed(&mut self, url: &CanonicalUrl) {
        if !self.seeds.contains(url.host()) {
            self.add_host(url.host().to_owned());
        }
    }

    fn add_host(&mut self, host: String) {
        match self.rules.reach {
            Reach::Host => _ = self.near.insert(bare(&host).to_owned()),
            Reach::Domain => {
                let url = CanonicalUrl::parse(&format!("http://{host}/"));
                _ = self
                    .near
                    .insert(url.map_or_else(|_| host.clone(), |url| domain(&url).to_owned()));
            }
            Reach::Everything | Reach::Rules => {}
        }
        self.seeds.insert(host);
        self.has_new_seed = true;
    }

    /// The seeds' hosts, one a line, if one was added since the last call.
    pub(crate) fn take_new_seeds(&mut self) -> Option<String> {
        let lines = |seeds: &BTreeSet<String>| {
            seeds.iter().flat_map(|host| [host.as_str(), "\n"]).collect()
        };
        std::mem::take(&mut self.has_new_seed).then(|| lines(&self.seeds))
    }

    /// Whether a URL is on a host of the seeds.
    pub(crate) fn is_seed_host(&self, url: &CanonicalUrl) -> bool {
        self.seeds.contains(url.host())
    }

    /// Whether a URL that was found may become a page. Sources (sitemaps, feeds) need no include pattern
    /// and no file type: they are read for the links in them.
    pub(crate) fn admit(
        &self,
        url: &CanonicalUrl,
        is_source: bool,
        found: Found,
    ) -> Result<(), DropReason> {
        self.covers(url, is_source)?;
        self.rules.tolerance.judge(url, found)
    }

    /// Whether the requisite of a page that is in scope may become a page: on any host, of any type,
    /// but for the exclude patterns.
    pub(crate) fn admit_requisite(
        &self,
        url: &CanonicalUrl,
        found: Found,
    ) -> Result<(), DropReason> {
        self.covers_requisite(url)?;
        self.rules.tolerance.judge(url, found)
    }

    pub(crate) fn covers_requisite(&self, url: &CanonicalUrl) -> Result<(), DropReason> {
        if !self.rules.requisites {
            return Err(DropReason::OtherHost);
        }
        let is_excluded = self.rules.exclude.iter().any(|pattern| pattern.matches(url));
        if is_excluded { Err(DropReason::Excluded) } else { Ok(()) }
    }

    /// Whether a page that became known under other rules may be fetched.
    pub(crate) fn still_covers(
        &self,
        url: &CanonicalUrl,
        is_source: bool,
        depth: u16,
    ) -> Result<(), DropReason> {
        if depth == 0 && self.is_seed_host(url) {
            return Ok(());
        }
        if depth > self.rules.tolerance.depth {
            return Err(DropReason::FarFromSeed);
        }
        self.covers(url, is_source)
    }

    /// Whether the rules on hosts, patterns and file types agree.
    pub fn covers(&self, url: &CanonicalUrl, is_source: bool) -> Result<(), DropReason> {
        let rules = &self.rules;
        if !self.reaches(url) {
            return Err(DropReason::OtherHost);
        }
        if rules.exclude.iter().any(|pattern| pattern.matches(url)) {
            return Err(DropReason::Excluded);
        }
        let is_included = |pattern: &UrlPattern| pattern.matches(url);
        if !is_source && !rules.include.is_empty() && !rules.include.iter().any(is_included) {
            return Err(DropReason::NotIncluded);
        }
        let is_other = |of: FileType| !rules.types.is_empty() && !rules.types.contains(&of);
        if !is_source && FileType::of_url(url).is_some_and(is_other) {
            return Err(DropReason::FileType);
        }
        Ok(())
    }

    /// Whether content of a media type is wanted. An unstated type is.
    pub(crate) fn wants_media(&self, media: &str) -> bool {
        let types = &self.rules.types;
        media.is_empty() || types.is_empty() || types.iter().any(|of| of.has_media(media))
    }

    fn reaches(&self, url: &CanonicalUrl) -> bool {
        let is_near = match self.rules.reach {
            Reach::Everything => true,
            Reach::Host => self.near.contains(bare(url.host())),
            Reach::Domain => self.near.contains(domain(url)),
            Reach::Rules => self.listed.is_empty(),
        };
        is_near || self.is_listed(url.host())
    }

    fn is_listed(&self, host: &str) -> bool {
        if self.listed.is_empty() {
            return false;
        }
        let mut below = Some(host);
        let is_below = |name: &str| self.listed.contains(format!("*.{name}").as_str());
        while let Some(name) = below {
            if is_below(name) {
                return true;
            }
            below = name.split_once('.').map(|(_, rest)| rest);
        }
        self.listed.contains(host)
    }

    /// The scope in one line.
    pub fn describe(&self) -> String {
        let (rules, usual) = (&self.rules, Tolerance::default());
        let listed = || format!("the listed hosts: {}", some(self.listed.iter()));
        let mut parts = vec![match rules.reach {
            Reach::Everything => "the whole web".to_owned(),
            Reach::Host => format!("the seeds' hosts: {}", some(self.near.iter())),
            Reach::Domain => format!("the seeds' domains: {}", some(self.near.iter())),
            Reach::Rules if self.listed.is_empty() => "any host".to_owned(),
            Reach::Rules => listed(),
        }];
        if !self.listed.is_empty() && matches!(rules.reach, Reach::Host | Reach::Domain) {
            parts.push(listed());
        }
        let mut add = |begin: &str, names: Vec<String>| {
            if !names.is_empty() {
                parts.push(format!("{begin} {}", some(names.iter())));
            }
        };
        add("only URLs like", rules.include.iter().map(UrlPattern::to_string).collect());
        add("no URLs like", rules.exclude.iter().map(UrlPattern::to_string).collect());
        add("only files of type", rules.types.iter().map(FileType::to_string).collect());
        if rules.requisites {
            parts.push("the requisites of pages on any host".to_owned());
        }
        if rules.tolerance.depth != usual.depth {
            parts.push(format!("at most {} links from a seed", rules.tolerance.depth));
        }
        if rules.tolerance.pages_per_host != usual.pages_per_host {
            parts.push(format!("at most {} pages of a host", rules.tolerance.pages_per_host));
        }
        parts.join("; ")
    }

    /// Why the scope leaves a URL out, as a sentence.
    pub fn tell(&self, url: &CanonicalUrl, dropped: DropReason) -> String {
        let first = |patterns: &[UrlPattern]| {
            patterns.iter().find(|p| p.matches(url)).map_or_else(String::new, UrlPattern::to_string)
        };
        let why = match dropped {
            DropReason::OtherHost => {
                format!("its host {} is not within reach ({})", url.host(), self.describe())
            }
            DropReason::Excluded => {
                format!("the exclude pattern {} matches it", first(&self.rules.exclude))
            }
            DropReason::NotIncluded => "no include pattern matches it".to_owned(),
            DropReason::FileType => "its file type is not wanted".to_owned(),
            DropReason::FarFromSeed => {
                format!("it is more than {} links from a seed", self.rules.tolerance.depth)
            }
            other => return format!("It is left out: {other}."),
        };
        format!("It is out of scope: {why}.")
    }
}

/// A host name without `www.`: most sites redirect one to the other.
fn bare(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// The registrable domain of a URL's host, or the host if it has none.
fn domain(url: &CanonicalUrl) -> &str {
    url.registrable_domain().unwrap_or(url.host())
}

/// The first of some names, in order.
fn some<'n>(names: impl Iterator<Item = &'n String>) -> String {
    const SHOWN: usize = 5;
    let names: BTreeSet<&String> = names.collect();
    let shown: Vec<&str> = names.iter().take(SHOWN).map(|name| name.as_str()).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: Found = Found { depth: 1, host_pages: 0, year: 2026 };

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn scope(rules: ScopeRules, seeds: &[&str]) -> Scope {
        let mut scope = Scope::new(rules, []);
        seeds.iter().for_each(|seed| scope.add_seed(&url(seed)));
        scope
    }

    fn list<T: FromStr<Err: fmt::Debug>>(items: &[&str]) -> Vec<T> {
        items.iter().map(|item| item.parse().unwrap()).collect()
    }

    #[test]
    fn reach_goes_by_host_domain_everything_or_list() {
        let seeds = ["https://docs.example.co.uk/", "http://127.0.0.1:8000/", "http://localhost/"];
        let urls = [
            "http://docs.example.co.uk/x",
            "https://www.example.co.uk/",
            "https://other.co.uk/",
            "http://127.0.0.1:9000/",
            "http://127.0.0.2/",
            "http://localhost:1/",
            "https://a.listed.example/",
        ];
        let cases = [
            (Reach::Host, [true, false, false, true, false, true, true]),
            (Reach::Domain, [true, true, false, true, false, true, true]),
            (Reach::Everything, [true; 7]),
            (Reach::Rules, [false, false, false, false, false, false, true]),
        ];
        for (reach, expected) in cases {
            let hosts = list(&["*.listed.example"]);
            let scope = scope(ScopeRules { reach, hosts, ..ScopeRules::default() }, &seeds);
            for (text, expected) in urls.iter().zip(expected) {
                assert_eq!(scope.covers(&url(text), false).is_ok(), expected, "{reach} {text}");
            }
        }
    }

    #[test]
    fn skipped_urls_have_a_reason() {
        let mut rules = ScopeRules {
            include: list(&["/docs/*"]),
            exclude: list(&["*/old/*"]),
            types: list(&["html", "pdf"]),
            ..ScopeRules::default()
        };
        rules.tolerance.depth = 3;
        let scope = scope(rules, &["https://a.example/"]);
        let judge = |text: &str, is_source| scope.admit(&url(text), is_source, FOUND);
        assert_eq!(judge("https://a.example/docs/x", false), Ok(()));
        assert_eq!(judge("https://a.example/blog/x", false), Err(DropReason::NotIncluded));
        assert_eq!(judge("https://a.example/docs/old/x", false), Err(DropReason::Excluded));
        assert_eq!(judge("https://a.example/docs/x.png", false), Err(DropReason::FileType));
        assert_eq!(judge("https://b.example/docs/x", false), Err(DropReason::OtherHost));
        assert_eq!(
            judge("https://a.example/sitemap.xml", true),
            Ok(()),
            "a source is read for links"
        );
        let far = Found { depth: 4, ..FOUND };
        let deep = url("https://a.example/docs/deep");
        assert_eq!(scope.admit(&deep, false, far), Err(DropReason::FarFromSeed));
        assert!(scope.wants_media("text/html") && !scope.wants_media("image/png"));
        let said = scope.describe();
        for part in ["a.example", "/docs/*", "*/old/*", "html, pdf", "3 links"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    #[test]
    fn a_host_list_takes_names_alone() {
        for good in ["example.com", "*.example.com", "127.0.0.1", "[::1]", "B\u{fc}cher.example"] {
            assert!(good.parse::<ListedHost>().is_ok(), "{good}");
        }
        for bad in ["", "http://a.example/", "a.example/x", "a.example:8080", "me@a.example", "a b"]
        {
            assert!(bad.parse::<ListedHost>().is_err(), "{bad}");
        }
    }
}
