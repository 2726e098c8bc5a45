//! A small, hostile web as a function of a seed and the time.
//!
//! Hosts share addresses, are down, time out, hide behind walls, ask for fewer requests, send garbage or
//! half an answer; their robots.txt flaps between rules, errors and silence; pages change, appear, vanish
//! and move. A page that is not there when it is first asked for never comes: the default policy looks
//! again for such pages only if they are sources. All troubles end at [`Town::HEALS`]: from then on every page that exists can be fetched.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_fetch::Failure;
use xxhash_rust::xxh3::xxh3_64;

/// A number that depends on all arguments.
pub(super) fn draw(seed: u64, what: &str, one: u64, two: u64) -> u64 {
    let words = [seed, one, two].map(u64::to_le_bytes).concat();
    xxh3_64(&[&words, what.as_bytes()].concat())
}

/// Below `most`.
pub(super) fn below(seed: u64, what: &str, one: u64, two: u64, most: u64) -> u64 {
    draw(seed, what, one, two) % most
}

/// What is wrong with a host for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Down,
    Silent,
    Wall,
    TooMany,
    Overloaded,
    Broken,
    Garbage,
    Half,
    Forbidden,
    NoName,
    Slow,
    OtherPage,
    Empty,
    Circle,
}

const TROUBLES: [Trouble; 14] = [
    Trouble::Down,
    Trouble::Silent,
    Trouble::Wall,
    Trouble::TooMany,
    Trouble::Overloaded,
    Trouble::Broken,
    Trouble::Garbage,
    Trouble::Half,
    Trouble::Forbidden,
    Trouble::NoName,
    Trouble::Slow,
    Trouble::OtherPage,
    Trouble::Empty,
    Trouble::Circle,
];

/// What a robots.txt means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Paths that begin so are disallowed, and requests must be so far apart.
    Read { disallowed: Vec<&'static str>, delay: Span },
    /// Nothing may be fetched until it can be read.
    Unreadable,
}

impl Rules {
    pub(super) fn allow(&self, path: &str) -> bool {
        match self {
            Rules::Read { disallowed, .. } => {
                !disallowed.iter().any(|prefix| path.starts_with(prefix))
            }
            Rules::Unreadable => false,
        }
    }

    pub(super) fn delay(&self) -> Span {
        if let Rules::Read { delay, .. } = self { *delay } else { Span::ZERO }
    }
}

/// An answer of a server.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) took: Span,
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) is_half: bool,
    /// What a 304 confirms.
    pub(super) confirmed: Option<Vec<u8>>,
    /// There is no answer.
    pub(super) failure: Option<Failure>,
}

impl Answer {
    fn page(took: Span, body: String) -> Answer {
        let headers = vec![("content-type", "text/html; charset=utf-8".to_owned())];
        Answer {
            took,
            status: 200,
            headers,
            body: body.into_bytes(),
            is_half: false,
            confirmed: None,
            failure: None,
        }
    }

    fn status(took: Span, status: u16) -> Answer {
        let body = format!("<html><title>{status}</title><body>Status {status}.</body></html>");
        Answer { status, ..Answer::page(took, body) }
    }

    fn failure(took: Span, failure: Failure) -> Answer {
        Answer { failure: Some(failure), ..Answer::status(took, 0) }
    }

    fn to(took: Span, status: u16, to: &str) -> Answer {
        Answer::status(took, status).with("location", to)
    }

    fn with(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_str())
    }
}

/// All hosts.
#[derive(Clone, Debug)]
pub(super) struct Town {
    seed: u64,
    hosts: u64,
    /// A host that links to itself without end.
    pub(super) has_trap: bool,
}

impl Town {
    /// When all troubles end.
    pub(super) const HEALS: Time = Time::from_micros(24 * 3_600 * 1_000_000);

    pub(super) fn new(seed: u64) -> Town {
        Town { seed, hosts: 3 + below(seed, "hosts", 0, 0, 10), has_trap: seed % 8 == 7 }
    }

    fn below(&self, what: &str, one: u64, two: u64, most: u64) -> u64 {
        below(self.seed, what, one, two, most)
    }

    fn one_in(&self, many: u64, what: &str, one: u64, two: u64) -> bool {
        self.below(what, one, two, many) == 0
    }

    /// The host of a name.
    pub(super) fn host(name: &str) -> u64 {
        name[1..name.find('.').unwrap()].parse().unwrap()
    }

    fn name(host: u64) -> String {
        format!("h{host}.example")
    }

    pub(super) fn url(host: u64, path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{}{path}", Self::name(host))).unwrap()
    }

    /// What a crawl begins with.
    pub(super) fn seeds(&self) -> Vec<CanonicalUrl> {
        (0..self.hosts.min(2)).map(|host| Self::url(host, "/")).collect()
    }

    /// Every third host shares the address of another.
    pub(super) fn address(&self, host: u64) -> IpAddr {
        let own = if self.one_in(3, "address", host, 0) { host / 2 } else { host };
        Ipv4Addr::from(0xcb00_7100 + u32::try_from(own).unwrap()).into()
    }

    /// The look-up of a host's name, and how long it takes.
    pub(super) fn resolve(&self, host: u64, now: Time) -> (Result<Vec<IpAddr>, Failure>, Duration) {
        let name = Self::name(host);
        match self.trouble(host, now) {
            Some(Trouble::NoName) if self.one_in(2, "why", host, 0) => {
                (Err(Failure::NoAddress { host: name }), Duration::from_millis(30))
            }
            Some(Trouble::NoName) => {
                let why = "no server answers".to_owned();
                (Err(Failure::Dns { host: name, why }), Duration::from_secs(5))
            }
            _ => (Ok(vec![self.address(host)]), Duration::from_millis(20)),
        }
    }

    /// How much the host suffers, in percent of the time.
    fn misery(&self, host: u64) -> u64 {
        [0, 5, 20, 45][self.below("misery", host, 0, 4) as usize]
    }

    /// Which part of the day it is, in parts that last as long as a host's troubles.
    fn part(&self, what: &str, host: u64, now: Time) -> u64 {
        let minutes = 10 + self.below(what, host, 1, 200);
        now.as_micros() / Span::MINUTE.times(minutes).as_micros()
    }

    fn trouble(&self, host: u64, now: Time) -> Option<Trouble> {
        let part = self.part("trouble", host, now);
        let is_ill = self.below("ill", host, part, 100) < self.misery(host);
        let kind = self.below("kind", host, part, TROUBLES.len() as u64);
        (is_ill && now < Self::HEALS).then(|| TROUBLES[kind as usize])
    }

    /// How long an answer takes when all is well.
    fn took(&self, host: u64, now: Time) -> Span {
        let slow = if self.one_in(6, "slow", host, 0) { 3_000 } else { 200 };
        let millis = 10 + self.below("took", host, now.as_micros(), slow);
        Span::from_micros(millis * 1_000)
    }

    /// An answer that trouble gives in place of any other; `Err` with how long the others take.
    fn troubled(&self, host: u64, now: Time) -> Result<Answer, Span> {
        let took = self.took(host, now);
        let long = Duration::from_secs(20);
        Ok(match self.trouble(host, now) {
            Some(Trouble::Down) => {
                let why = "connection refused".to_owned();
                Answer::failure(took, Failure::Connect { why })
            }
            Some(Trouble::Silent) => {
                Answer::failure(Span::SECOND.times(20), Failure::IdleTimeout { limit: long })
            }
            Some(Trouble::Wall) => {
                Answer::page(took, "<p>One moment.</p>".into()).with("cf-mitigated", "challenge")
            }
            Some(Trouble::TooMany) => {
                let seconds = 1 + self.below("after", host, now.as_micros(), 3_000);
                Answer::status(took, 429).with("retry-after", &seconds.to_string())
            }
            Some(Trouble::Overloaded) => Answer::status(took, 503),
            Some(Trouble::Broken) => Answer::status(took, 500),
            Some(Trouble::Slow) => {
                return Err(Span::SECOND.times(5 + self.below("drip", host, now.as_micros(), 20)));
            }
            _ => return Err(took),
        })
    }

    fn delay(&self, host: u64) -> Span {
        let most = if self.one_in(3, "delay", host, 0) { 40 } else { 1 };
        Span::SECOND.times(self.below("delay", host, 1, most))
    }

    /// Whether the host's robots.txt changes all the time. A link that was disallowed when it was seen is
    /// only taken in when its page is read again, which a 304 prevents; so such a host has no ETags.
    fn flaps(&self, host: u64) -> bool {
        self.one_in(3, "flaps", host, 0)
    }

    /// The host's robots.txt, and what it means.
    pub(super) fn robots(&self, host: u64, now: Time) -> (Answer, Rules) {
        let took = match self.troubled(host, now) {
            Ok(answer) => return (answer, Rules::Unreadable),
            Err(took) => took,
        };
        let delay = self.delay(host);
        let read = |disallowed: &[&'static str], delay: Span| {
            let mut text = "User-agent: *\n".to_owned();
            for path in disallowed {
                let _ = writeln!(text, "Disallow: {path}");
            }
            if delay > Span::ZERO {
                let _ = writeln!(text, "Crawl-delay: {}", delay.seconds());
            }
            if self.one_in(2, "sitemap", host, 0) {
                let _ = writeln!(text, "Sitemap: {}", Self::url(host, "/sitemap.xml"));
            }
            let answer = Answer {
                headers: vec![("content-type", "text/plain".to_owned())],
                ..Answer::page(took, text)
            };
            (answer, Rules::Read { disallowed: disallowed.to_vec(), delay })
        };
        let all = || Rules::Read { disallowed: Vec::new(), delay: Span::ZERO };
        let part = self.part("robots", host, now);
        let flaps = self.flaps(host) && now < Self::HEALS;
        match if flaps { self.below("flap", host, part, 10) } else { 0 } {
            1 => read(&["/"], delay),
            2 => read(&["/private/", "/p/1"], delay),
            3 => read(&["/private/"], Span::SECOND.times(90)),
            4 => (Answer::status(took, 500), Rules::Unreadable),
            5 => (Answer::status(took, 503).with("retry-after", "600"), Rules::Unreadable),
            6 => {
                let failure = Failure::TotalTimeout { limit: Duration::from_secs(30) };
                (Answer::failure(Span::SECOND.times(30), failure), Rules::Unreadable)
            }
            7 => (Answer::status(took, 404), all()),
            8 => (Answer { body: self.noise(host, part), ..Answer::status(took, 200) }, all()),
            _ => read(&["/private/"], delay),
        }
    }

    fn noise(&self, one: u64, two: u64) -> Vec<u8> {
        (0..60).flat_map(|n| draw(self.seed, "noise", one * 100 + n, two).to_le_bytes()).collect()
    }

    fn pages(&self, host: u64) -> u64 {
        2 + self.below("pages", host, 0, 24)
    }

    fn is_born(&self, host: u64, page: u64, now: Time) -> bool {
        // A redirect leads to page 1 from the beginning.
        let is_late = page > 1 && self.one_in(5, "late", host, page);
        let minutes = if is_late { self.below("born", host, page, 20 * 60) } else { 0 };
        page < self.pages(host) && now >= Time::ZERO + Span::MINUTE.times(minutes)
    }

    /// Whether a page is gone for good.
    fn is_gone(&self, host: u64, page: u64, now: Time) -> bool {
        let after = Time::ZERO + Span::MINUTE.times(self.below("dies", host, page, 22 * 60));
        page > 2 && self.one_in(10, "mortal", host, page) && now >= after
    }

    fn version(&self, host: u64, page: u64, now: Time) -> u64 {
        let minutes = [15, 60, 300, 2_000, 100_000][self.below("pace", host, page, 5) as usize];
        now.as_micros() / Span::MINUTE.times(minutes).as_micros()
    }

    fn words(&self, what: &str, one: u64, two: u64, count: u64) -> String {
        let word = |n| format!("w{:x}", draw(self.seed, what, one * 64 + n, two));
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }

    /// The paths and addresses that a page links to.
    fn links(&self, host: u64, path: &str, now: Time) -> Vec<String> {
        let number = path.strip_prefix("/p/").and_then(|number| number.parse::<u64>().ok());
        let mut links = Vec::new();
        if path == "/" {
            let next = (host + 1) % self.hosts;
            links.extend(["/p/0", "/private/0", "/old/1", "/circle/a"].map(str::to_owned));
            links.push(Self::url(next, "/").to_string());
            if self.has_trap && host == 0 {
                links.push("/trap/0".to_owned());
            }
        }
        if let Some(page) = number {
            let next = [2 * page + 1, 2 * page + 2];
            let next = next.into_iter().filter(|&page| self.is_born(host, page, now));
            links.extend(next.map(|page| format!("/p/{page}")));
            links.push(format!("/private/{page}"));
        }
        if let Some(page) = path.strip_prefix("/trap/").and_then(|page| page.parse::<u64>().ok()) {
            links.extend((1..=20).map(|n| format!("/trap/{}", page * 20 + n)));
        }
        links
    }

    /// What is at an address when nothing is wrong; `None` if nothing is.
    fn content(&self, host: u64, path: &str, now: Time) -> Option<(&'static str, String)> {
        let newest = || (0..self.pages(host)).filter(|&page| self.is_born(host, page, now));
        match path {
            "/feed.xml" => {
                let items = newest()
                    .map(|page| {
                        format!(
                            "<item><link>{}</link></item>",
                            Self::url(host, &format!("/p/{page}"))
                        )
                    })
                    .collect::<Vec<_>>()
                    .concat();
                let text = format!("<rss version=\"2.0\"><channel>{items}</channel></rss>");
                return Some(("application/rss+xml", text));
            }
            "/sitemap.xml" => {
                let items = newest()
                    .map(|page| {
                        format!("<url><loc>{}</loc></url>", Self::url(host, &format!("/p/{page}")))
                    })
                    .collect::<Vec<_>>()
                    .concat();
                let text = format!(
                    "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{items}</urlset>"
                );
                return Some(("application/xml", text));
            }
            _ => {}
        }
        let page = match path.strip_prefix("/p/").and_then(|number| number.parse::<u64>().ok()) {
            Some(page) if self.is_born(host, page, now) && !self.is_gone(host, page, now) => page,
            None if path == "/" => 1_000,
            None if path.starts_with("/trap/") && self.has_trap => {
                xxh3_64(path.as_bytes()) % 1_000_000
            }
            _ => return None,
        };
        let version = self.version(host, page, now);
        let id = host * 1_000_000 + page;
        let mut text = format!("<html><head><title>{host} {path}</title>");
        if path == "/" && self.one_in(2, "feed", host, 0) {
            text += "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">";
        }
        let _ = write!(text, "</head><body><p>{}</p>", self.words("text", id, 0, 25));
        let _ = write!(text, "<p>Version {version}: {}</p>", self.words("news", id, version, 8));
        for link in self.links(host, path, now) {
            let _ = write!(text, "<p><a href=\"{link}\">to {link}</a></p>");
        }
        Some(("text/html", text + "</body></html>"))
    }

    /// The answer to a request for a page; `etag` is that of the copy held.
    pub(super) fn answer(&self, host: u64, path: &str, etag: Option<&str>, now: Time) -> Answer {
        let took = match self.troubled(host, now) {
            Ok(answer) => return answer,
            Err(took) => took,
        };
        match self.trouble(host, now) {
            Some(Trouble::Forbidden) => return Answer::status(took, 403),
            Some(Trouble::Garbage) => {
                return Answer {
                    body: self.noise(host, now.as_micros()),
                    ..Answer::status(took, 200)
                };
            }
            Some(Trouble::OtherPage) => {
                let id = xxh3_64(path.as_bytes());
                return Answer::page(took, format!("<p>{}</p>", self.words("other", host, id, 30)));
            }
            Some(Trouble::Empty) => return Answer::page(took, String::new()),
            Some(Trouble::Circle) => return Answer::to(took, 302, path),
            _ => {}
        }
        if let Some(page) = path.strip_prefix("/old/") {
            return Answer::to(took, 301, &format!("/p/{page}"));
        }
        if let Some(one) = path.strip_prefix("/circle/") {
            return Answer::to(took, 302, if one == "a" { "/circle/b" } else { "/circle/a" });
        }
        let Some((kind, text)) = self.content(host, path, now) else {
            return Answer::status(took, 404);
        };
        let tag = format!("\"{:x}\"", xxh3_64(text.as_bytes()));
        let mut answer = Answer::page(took, text);
        kind.clone_into(&mut answer.headers[0].1);
        if self.one_in(2, "etag", host, 0) && !self.flaps(host) {
            if etag == Some(&tag) {
                let confirmed = Some(std::mem::take(&mut answer.body));
                answer = Answer { status: 304, headers: Vec::new(), confirmed, ..answer };
            }
            answer = answer.with("etag", &tag);
        }
        if self.trouble(host, now) == Some(Trouble::Half) && answer.status == 200 {
            answer.body.truncate(answer.body.len() / 2);
            answer.is_half = true;
        }
        answer
    }

    /// The addresses of all pages that can be reached, once all is well.
    pub(super) fn reachable(&self, now: Time) -> BTreeSet<String> {
        let (mut found, mut todo) = (BTreeSet::new(), self.seeds());
        let mut seen: BTreeSet<String> = todo.iter().map(ToString::to_string).collect();
        while let Some(url) = todo.pop() {
            let (host, path) = (Self::host(url.host()), url.path());
            let mut links = Vec::new();
            if path.starts_with("/private/") || path.starts_with("/trap/") {
                continue;
            }
            if let Some(page) = path.strip_prefix("/old/") {
                links.push(format!("/p/{page}"));
            } else if self.content(host, path, now).is_some() {
                found.insert(url.to_string());
                links = self.links(host, path, now);
            }
            for link in links {
                let link = url.join(&link).unwrap();
                if seen.insert(link.to_string()) {
                    todo.push(link);
                }
            }
        }
        found
    }
}
