//! Crawler traps, recognised by their URL alone, before a page gets a number.
//!
//! The caller counts every dropped URL under its reason. The canonical form has already lost its
//! session and tracking parameters.

use tidewatch_core::DropReason;
use tidewatch_core::url::CanonicalUrl;

/// The operator's limits for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Most path segments.
    pub segments: usize,
    /// Most times that a segment may occur in a path.
    pub repeats: usize,
    /// Most query parameters.
    pub parameters: usize,
    /// Most links from a seed to the page.
    pub depth: u16,
    /// Most pages of one host.
    pub pages_per_host: u32,
    /// Years that a calendar may reach into the future; ten times as many into the past.
    pub calendar_years: u16,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance {
            segments: 24,
            repeats: 3,
            parameters: 12,
            depth: 64,
            pages_per_host: 1_000_000,
            calendar_years: 2,
        }
    }
}

/// Where a URL was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Links from a seed.
    pub depth: u16,
    /// Pages already known of its host.
    pub host_pages: u32,
    /// The present year.
    pub year: u16,
}

impl Tolerance {
    /// Whether the URL may become a page.
    pub fn judge(&self, url: &CanonicalUrl, found: Found) -> Result<(), DropReason> {
        if found.depth > self.depth {
            return Err(DropReason::FarFromSeed);
        }
        if found.host_pages >= self.pages_per_host {
            return Err(DropReason::HostFull);
        }
        self.judge_path(url.path())?;
        if url.query().is_some_and(|query| query.split('&').count() > self.parameters) {
            return Err(DropReason::ManyParameters);
        }
        if self.is_endless_calendar(url, found.year) {
            return Err(DropReason::Calendar);
        }
        Ok(())
    }

    fn judge_path(&self, path: &str) -> Result<(), DropReason> {
        let segments = || path.split('/').filter(|segment| !segment.is_empty());
        if segments().count() > self.segments {
            return Err(DropReason::DeepPath);
        }
        let is_repeated = |segment| segments().filter(|&s| s == segment).count() > self.repeats;
        if segments().any(is_repeated) { Err(DropReason::RepeatedSegment) } else { Ok(()) }
    }

    /// A year with a month, far from today: `/2093/04/`, `month=2093-04`, `year=2093&month=4`. Past
    /// years count only in a query, since old articles have old dates in their paths.
    fn is_endless_calendar(&self, url: &CanonicalUrl, year: u16) -> bool {
        let far_future = |y: u16| y > year.saturating_add(self.calendar_years);
        let far_past = |y: u16| y < year.saturating_sub(10 * self.calendar_years);
        let in_path = years_with_month(url.path()).any(far_future);
        let query = url.query().unwrap_or_default();
        in_path || years_with_month(query).any(|y| far_future(y) || far_past(y))
    }
}

/// Separators between a year and its month.
const BETWEEN: [&str; 7] = ["-", "/", ".", "_", "&month=", "&m=", "&mon="];

/// Numbers of four digits that a month follows.
fn years_with_month(text: &str) -> impl Iterator<Item = u16> {
    let starts = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
    let goes_on = |c: char| c.is_ascii_digit() || c == '%';
    let starts = starts.filter(move |&at| !text[..at].ends_with(goes_on));
    starts.filter_map(|at| {
        let (year, rest) = number(&text[at..]);
        let rest = BETWEEN.iter().find_map(|between| rest.strip_prefix(between))?;
        let month: u8 = number(rest).0.parse().ok()?;
        let is_date = year.len() == 4 && (1..=12).contains(&month);
        is_date.then(|| year.parse().ok()).flatten()
    })
}

/// The digits that `text` begins with, and the rest.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Found = Found { depth: 1, host_pages: 10, year: 2026 };

    fn judge(url: &str) -> Result<(), DropReason> {
        let url = CanonicalUrl::parse(url).expect("a good URL");
        Tolerance::default().judge(&url, HERE)
    }

    #[test]
    fn ordinary_urls_pass() {
        for url in [
            "https://a.example/",
            "https://a.example/news/2026/11/a-story.html?page=2",
            "https://a.example/archive/1998/04/12/",
            "https://a.example/a/b/a/b/a",
            "https://a.example/item?id=1066&size=12",
            "https://a.example/item/20930/4",
            "https://a.example/%2093/04",
        ] {
            assert_eq!(judge(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn traps_are_named() {
        let numbers: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let deep = format!("https://a.example/{}", numbers.join("/"));
        let wide = format!(
            "https://a.example/s?{}",
            (0..20).map(|n| format!("k{n}={n}")).collect::<Vec<_>>().join("&")
        );
        for (url, reason) in [
            (deep.as_str(), DropReason::DeepPath),
            (wide.as_str(), DropReason::ManyParameters),
            ("https://a.example/en/en/en/en/x", DropReason::RepeatedSegment),
            ("https://a.example/events/2093/04/", DropReason::Calendar),
            ("https://a.example/cal?year=2093&month=4", DropReason::Calendar),
            ("https://a.example/cal?month=1901-04", DropReason::Calendar),
        ] {
            assert_eq!(judge(url), Err(reason), "{url}");
        }
    }

    #[test]
    fn depth_and_host_size_are_bounded() {
        let url = CanonicalUrl::parse("https://a.example/").expect("a good URL");
        let rules = Tolerance::default();
        let far = Found { depth: rules.depth + 1, ..HERE };
        assert_eq!(rules.judge(&url, far), Err(DropReason::FarFromSeed));
        let full = Found { host_pages: rules.pages_per_host, ..HERE };
        assert_eq!(rules.judge(&url, full), Err(DropReason::HostFull));
    }
}
