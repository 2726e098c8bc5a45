//! Rules: which parts of a URL do not matter for what it shows.
//!
//! A rule rewrites a [`Form`]; URLs whose rewritten forms are equal show the same content, if the rule
//! is true. [`propose`] reads rules off two URLs that showed the same. It proposes freely: evidence,
//! not plausibility, decides ([`crate::belief`]).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::form::{Form, IdShape, Looks, Token, name};

/// Segments that a swap may take away or put in: longer ones are not rules but single pages.
const LONGEST_SWAP: usize = 6;
/// Parameters that one rule may drop.
const MOST_DROPPED: usize = 6;
/// Stands for any segment. No canonical URL has a space in it.
const ANY: &str = " ";
/// Longest text of a rule.
const LONGEST_TEXT: usize = 200;

/// A rewriting of URLs of one host. In the order in which true rules are applied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Rewrite {
    /// The host is an alias of another one.
    Alias { to: String },
    /// The leading segments `from` are `to`.
    Swap { from: Vec<String>, to: Vec<String> },
    /// The last segment says nothing; a slash is left in its place, or not.
    Tail { text: String, slash: bool },
    /// A slash at the end says nothing.
    Slash,
    /// Capital letters in the path say nothing.
    Case,
    /// These parameters say nothing.
    Parameters(Vec<String>),
    /// In paths of `count` segments, the one at `at`, which looks like this and follows `before`,
    /// says nothing.
    Segment { count: u8, at: u8, looks: Looks, before: String },
    /// The id alone says what a path shows.
    Id(IdShape),
}

/// The kinds of rules, for evidence that rules of one kind lend one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RuleKind {
    /// A host is an alias or a mirror of another.
    Alias,
    /// Leading segments stand for others.
    Swap,
    /// A last segment can be left out.
    Tail,
    /// A closing slash can be left out.
    Slash,
    /// The path can be written in small letters.
    Case,
    /// Parameters can be left out.
    Parameters,
    /// A segment can be anything.
    Segment,
    /// An id stands for the whole path.
    Id,
}

impl RuleKind {
    /// Number of kinds.
    pub(crate) const COUNT: usize = 8;

    /// Share of proposed rules of this kind that are true, before any evidence: rough guesses that a
    /// handful of rules outweighs.
    pub(crate) const fn guess(self) -> f64 {
        match self {
            RuleKind::Slash | RuleKind::Id => 0.7,
            RuleKind::Alias | RuleKind::Case | RuleKind::Parameters => 0.5,
            RuleKind::Swap | RuleKind::Tail => 0.3,
            RuleKind::Segment => 0.1,
        }
    }
}

impl Rewrite {
    pub(crate) const fn kind(&self) -> RuleKind {
        match self {
            Rewrite::Alias { .. } => RuleKind::Alias,
            Rewrite::Swap { .. } => RuleKind::Swap,
            Rewrite::Tail { .. } => RuleKind::Tail,
            Rewrite::Slash => RuleKind::Slash,
            Rewrite::Case => RuleKind::Case,
            Rewrite::Parameters(_) => RuleKind::Parameters,
            Rewrite::Segment { .. } => RuleKind::Segment,
            Rewrite::Id(_) => RuleKind::Id,
        }
    }

    /// Rewrites a form; `false` if the rule says nothing about it.
    pub(crate) fn apply<'a>(&'a self, form: &mut Form<'a>) -> bool {
        match self {
            Rewrite::Alias { to } => {
                form.origin = to;
                true
            }
            Rewrite::Swap { from, to } => swap(form, from, to),
            Rewrite::Tail { text, slash } => {
                let is_last = form.segments.last().is_some_and(|last| last == text);
                if is_last {
                    form.segments.pop();
                    form.has_slash = *slash && !form.segments.is_empty();
                }
                is_last
            }
            Rewrite::Slash => std::mem::take(&mut form.has_slash),
            Rewrite::Case => lower(form),
            Rewrite::Parameters(names) => {
                let before = form.parameters.len();
                form.parameters.retain(|p| !names.iter().any(|dropped| dropped == name(p)));
                form.parameters.len() < before
            }
            Rewrite::Segment { count, at, looks, before } => {
                wildcard(form, (*count).into(), (*at).into(), *looks, before)
            }
            Rewrite::Id(shape) => {
                let is_meant = form.id.as_ref().is_some_and(|id| id.shape == *shape);
                form.only_id |= is_meant;
                is_meant
            }
        }
    }

    /// Whether the rule says where *one* URL stands that is not an alias, so that a redirect to
    /// another place speaks against it.
    pub(crate) const fn is_pointer(&self) -> bool {
        matches!(self, Rewrite::Swap { .. } | Rewrite::Tail { .. } | Rewrite::Alias { .. })
    }

    /// A number that is the same in every crawl.
    pub(crate) fn id(&self, origin: &str) -> u64 {
        xxh3_64(format!("{origin} {self:?}").as_bytes())
    }
}

fn swap<'a>(form: &mut Form<'a>, from: &[String], to: &'a [String]) -> bool {
    let is_meant =
        form.segments.len() > from.len() && form.segments.iter().zip(from).all(|(a, b)| a == b);
    // What is already in its place stays there: /a → /a/b must not make /a/b/b.
    let is_there = to.len() > from.len()
        && form.segments.len() > to.len()
        && form.segments.iter().zip(to).all(|(a, b)| a == b);
    if is_meant && !is_there {
        form.segments.splice(..from.len(), to.iter().map(|s| Cow::Borrowed(s.as_str())));
    }
    is_meant && !is_there
}

fn lower(form: &mut Form<'_>) -> bool {
    let mut is_changed = false;
    for segment in &mut form.segments {
        // The digits of percent-encoded bytes are capital letters in canonical URLs.
        if segment.bytes().any(|b| b.is_ascii_uppercase()) && !segment.contains('%') {
            segment.to_mut().make_ascii_lowercase();
            is_changed = true;
        }
    }
    is_changed
}

fn wildcard(form: &mut Form<'_>, count: usize, at: usize, looks: Looks, before: &str) -> bool {
    let previous = at.checked_sub(1).and_then(|at| form.segments.get(at));
    let is_meant = form.segments.len() == count
        && form.segments.get(at).is_some_and(|s| Looks::of(s) == looks)
        && previous.map_or("", |s| s) == before;
    if is_meant {
        form.segments[at] = Cow::Borrowed(ANY);
    }
    is_meant
}

/// Rules under which `alias` and `kept` are one page, the most general first. `alias` leads to `kept`, or is
/// the longer one.
pub(crate) fn propose(alias: &Form<'_>, kept: &Form<'_>) -> Vec<Rewrite> {
    let mut rules = Vec::new();
    if alias.origin != kept.origin {
        let is_rest_equal = alias.segments == kept.segments && alias.parameters == kept.parameters;
        if is_rest_equal && alias.has_slash == kept.has_slash {
            rules.push(Rewrite::Alias { to: kept.origin.to_owned() });
        }
        return rules;
    }
    let has_same_path = if alias.only_id && kept.only_id {
        alias.id == kept.id
    } else {
        alias.segments == kept.segments && alias.has_slash == kept.has_slash
    };
    if let (Some(one), Some(other)) = (&alias.id, &kept.id)
        && one == other
        && !has_same_path
    {
        rules.push(Rewrite::Id(one.shape.clone()));
    }
    if alias.parameters != kept.parameters {
        rules.extend(has_same_path.then(|| dropped(alias, kept)).flatten());
    } else if !has_same_path && !alias.only_id && !kept.only_id {
        propose_paths(alias, kept, &mut rules);
    }
    rules.retain(|rule| rule.text_len() <= LONGEST_TEXT && !rule.is_about(ANY));
    rules
}

/// The parameters that one of two URLs has and the other has not, or has with another value.
fn dropped(one: &Form<'_>, other: &Form<'_>) -> Option<Rewrite> {
    let only = |a: &Form<'_>, b: &Form<'_>| {
        let missing = a.parameters.iter().filter(|p| !b.parameters.contains(p));
        missing.map(|p| name(p).to_owned()).collect::<Vec<_>>()
    };
    let mut names = only(one, other);
    names.extend(only(other, one));
    names.sort_unstable();
    names.dedup();
    let is_kept = |p: &&&str| !names.iter().any(|dropped| dropped == name(p));
    let is_rest_equal =
        one.parameters.iter().filter(is_kept).eq(other.parameters.iter().filter(is_kept));
    let is_short = (1..=MOST_DROPPED).contains(&names.len());
    (is_short && is_rest_equal).then_some(Rewrite::Parameters(names))
}

fn propose_paths(alias: &Form<'_>, kept: &Form<'_>, rules: &mut Vec<Rewrite>) {
    let (a, b) = (&alias.segments, &kept.segments);
    if a == b {
        rules.push(Rewrite::Slash);
        return;
    }
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    if head == b.len() && a.len() == head + 1 {
        rules.push(Rewrite::Tail { text: a[head].to_string(), slash: kept.has_slash });
        return;
    }
    if alias.has_slash != kept.has_slash {
        return;
    }
    if a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.eq_ignore_ascii_case(y)) {
        rules.push(Rewrite::Case);
        return;
    }
    let room = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(room).take_while(|(x, y)| x == y).count();
    let is_one = a.len() == b.len() && head + tail + 1 == a.len();
    // Plain words are folders, which swaps are for.
    let is_token = |s: &str| Looks::of(s) != Looks::Word;
    if is_one && is_token(&a[head]) && Looks::of(&a[head]) == Looks::of(&b[head]) {
        rules.push(segment_rule(a, head));
    }
    let (from, to) = (a.len() - tail, b.len() - tail);
    if tail > 0 && from.max(to) <= LONGEST_SWAP {
        let text = |part: &[Cow<'_, str>]| part.iter().map(ToString::to_string).collect();
        rules.push(Rewrite::Swap { from: text(&a[..from]), to: text(&b[..to]) });
    }
}

fn segment_rule(segments: &[Cow<'_, str>], at: usize) -> Rewrite {
    let before = at.checked_sub(1).map(|at| segments[at].to_string()).unwrap_or_default();
    // At most MAX_PARTS segments, so both fit.
    let (count, place) = (segments.len() as u8, at as u8);
    Rewrite::Segment { count, at: place, looks: Looks::of(&segments[at]), before }
}

impl Rewrite {
    /// Whether it names a segment.
    fn is_about(&self, segment: &str) -> bool {
        match self {
            Rewrite::Swap { from, to } => from.iter().chain(to).any(|text| text == segment),
            Rewrite::Tail { text, .. } | Rewrite::Segment { before: text, .. } => text == segment,
            _ => false,
        }
    }

    /// Bytes of text that the rule holds.
    pub(crate) fn text_len(&self) -> usize {
        let sum = |texts: &[String]| texts.iter().map(|t| t.len() + 1).sum::<usize>();
        match self {
            Rewrite::Alias { to } => to.len(),
            Rewrite::Swap { from, to } => sum(from) + sum(to),
            Rewrite::Tail { text, .. } | Rewrite::Segment { before: text, .. } => text.len(),
            Rewrite::Slash | Rewrite::Case => 0,
            Rewrite::Parameters(names) => sum(names),
            Rewrite::Id(shape) => shape.extension.len(),
        }
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rewrite::Alias { to } => write!(f, "the host is an alias of {to}"),
            Rewrite::Swap { from, to } => {
                let folder = |segments: &[String]| match segments {
                    [] => "/…".to_owned(),
                    _ => format!("/{}/…", segments.join("/")),
                };
                write!(f, "{} stands for {}", folder(from), folder(to))
            }
            Rewrite::Tail { text, .. } => write!(f, "/{text} at the end is left out"),
            Rewrite::Slash => write!(f, "a slash at the end is left out"),
            Rewrite::Case => write!(f, "capital letters in the path do not matter"),
            Rewrite::Parameters(names) => write!(f, "parameters left out: {}", names.join(", ")),
            Rewrite::Segment { count, at, before, .. } => {
                let after =
                    if before.is_empty() { String::new() } else { format!(", after {before},") };
                write!(f, "segment {} of {count}{after} does not matter", at + 1)
            }
            Rewrite::Id(IdShape { after, token, extension, .. }) => {
                let token = match token {
                    Token::Digits(digits) => format!("number of {digits} digits"),
                    Token::Hex => "hexadecimal number".to_owned(),
                    Token::Uuid => "UUID".to_owned(),
                };
                let place = if *after == 0 { "last" } else { "last but one" };
                write!(f, "the {token} in the {place} segment ({extension}) names the page")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proposed(alias: &str, kept: &str) -> Vec<String> {
        let rules = propose(&Form::of(alias), &Form::of(kept));
        rules.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_are_read_off_pairs() {
        let cases: &[(&str, &str, &[&str])] = &[
            (
                "/a/x-y-1234567.html",
                "/b/z-1234567.html",
                &["the number of 7 digits in the last segment (.html) names the page"],
            ),
            ("/a?p=1&ref=2", "/a?p=1", &["parameters left out: ref"]),
            ("/a?p=1&q=2", "/a?p=3&q=4", &["parameters left out: p, q"]),
            ("/a?p=1&q=2", "/a?p=1&p=1", &[]),
            ("/a/", "/a", &["a slash at the end is left out"]),
            ("/A/B", "/a/b", &["capital letters in the path do not matter"]),
            ("/a/index.html", "/a/", &["/index.html at the end is left out"]),
            ("/amp/a/b", "/a/b", &["/amp/… stands for /…"]),
            (
                "/s/a1b2/x",
                "/s/c3d4/x",
                &["segment 2 of 3, after s, does not matter", "/s/a1b2/… stands for /s/c3d4/…"],
            ),
        ];
        for (alias, kept, want) in cases {
            let [alias, kept] = [alias, kept].map(|path| format!("https://a.example{path}"));
            assert_eq!(proposed(&alias, &kept), *want, "{alias} {kept}");
        }
        assert_eq!(
            proposed("https://m.a.example/x?y=1", "https://a.example/x?y=1"),
            ["the host is an alias of https://a.example"]
        );
        assert!(proposed("https://m.a.example/x", "https://a.example/y").is_empty());
    }

    #[test]
    fn a_swap_does_not_repeat_itself() {
        let rule = Rewrite::Swap { from: vec!["a".into()], to: vec!["a".into(), "b".into()] };
        let mut there = Form::of("https://a.example/a/b/c");
        assert!(!rule.apply(&mut there));
        let mut elsewhere = Form::of("https://a.example/a/c");
        assert!(rule.apply(&mut elsewhere));
        assert_eq!(there.key(), elsewhere.key());
    }

    proptest! {
        /// Every rule proposed for a pair unites that pair.
        #[test]
        fn a_proposed_rule_explains_its_pair(
            one in "(/[aB1-3]{1,2}){0,4}/?", other in "(/[aB1-3]{1,2}){0,4}/?",
            q in "(\\?[ab]=[12](&[abc]=[12])?)?", r in "(\\?[ab]=[12](&[abc]=[12])?)?",
        ) {
            let of = |path: &str, query: &str| {
                let path = if path.is_empty() { "/" } else { path };
                format!("https://a.example{path}{query}")
            };
            let (one, other) = (of(&one, &q), of(&other, &r));
            let (one, other) = (Form::of(&one), Form::of(&other));
            for rule in propose(&one, &other) {
                let key = |form: &Form<'_>| {
                    let mut form = form.clone();
                    rule.apply(&mut form);
                    form.key()
                };
                let same_rest = one.parameters == other.parameters || !matches!(rule, Rewrite::Id(_));
                prop_assert!(!same_rest || key(&one) == key(&other), "{rule}: {one:?} {other:?}");
            }
        }
    }
}
