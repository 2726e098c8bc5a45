//! What owners say about the use of their content.
//!
//! robots.txt says what may be *fetched*; these say what fetched content may be *used* for. Five ways
//! are read:
//!
//! | where | example | about |
//! |---|---|---|
//! | robots.txt `Content-Signal` (contentsignals.org) | `search=yes, ai-train=no` | the group's paths |
//! | robots.txt `Content-Usage` (IETF aipref) | `/private train-ai=n` | the group's paths |
//! | header `Content-Usage` (IETF aipref) | `train-ai=n, search=y` | the response |
//! | header and meta `tdm-reservation` (TDMRep) | `1` | the page |
//! | `X-Robots-Tag` and meta robots | `noai`, `noindex`, `noarchive` | the page |
//!
//! They add up in [`Wishes`], and the most restrictive wins: a use that anything denies is denied.
//! A use that nothing speaks of is neither granted nor denied.

use serde::{Deserialize, Serialize};

/// Something that content is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// Find it: an index, results with links and short excerpts.
    Search,
    /// Keep and show copies.
    Archive,
    /// Hand it to a model at the time of a question.
    AiInput,
    /// Train or tune models.
    TrainAi,
}

impl std::fmt::Display for Use {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

impl std::str::FromStr for Use {
    type Err = ();

    fn from_str(name: &str) -> Result<Use, ()> {
        Use::ALL.into_iter().find(|used| used.name() == name).ok_or(())
    }
}

impl Use {
    /// All of them.
    pub const ALL: [Use; 4] = [Use::Search, Use::Archive, Use::AiInput, Use::TrainAi];

    /// Its name in settings and exports.
    pub const fn name(self) -> &'static str {
        match self {
            Use::Search => "search",
            Use::Archive => "archive",
            Use::AiInput => "ai-input",
            Use::TrainAi => "train-ai",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which uses an owner grants and denies. One byte: granted uses in the low half, denied ones in the
/// high half.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wishes(u8);

/// Statements of one header or line that are read.
const MAX_STATEMENTS: usize = 64;

/// What TDMRep calls text and data mining. Search engines index pages with `tdm-reservation: 1`, and
/// its authors do not ask them to stop.
const MINING: [Use; 2] = [Use::AiInput, Use::TrainAi];

impl Wishes {
    /// Nothing said.
    pub const NONE: Wishes = Wishes(0);

    /// Adds the wish for one use.
    pub fn add(&mut self, used: Use, is_granted: bool) {
        self.0 |= if is_granted { used.bit() } else { used.bit() << 4 };
    }

    fn add_all(&mut self, uses: &[Use], is_granted: bool) {
        uses.iter().for_each(|&used| self.add(used, is_granted));
    }

    /// Both wishes; what either denies is denied.
    #[must_use]
    pub const fn and(self, other: Wishes) -> Wishes {
        Wishes(self.0 | other.0)
    }

    /// Whether a use is denied.
    pub const fn denies(self, used: Use) -> bool {
        self.0 >> 4 & used.bit() != 0
    }

    /// Whether a use is granted by someone and denied by nobody.
    pub const fn grants(self, used: Use) -> bool {
        !self.denies(used) && self.0 & used.bit() != 0
    }

    /// Whether all of `uses` are denied; `false` if there are none.
    pub fn denies_all(self, uses: &[Use]) -> bool {
        !uses.is_empty() && uses.iter().all(|&used| self.denies(used))
    }

    /// Whether nothing was said.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reads a `Content-Signal`: `search=yes, ai-train=no`.
    pub(crate) fn of_signal(value: &str) -> Wishes {
        let mut wishes = Wishes::NONE;
        for (name, value) in statements(value) {
            let used = match name {
                name if name.eq_ignore_ascii_case("search") => Use::Search,
                name if name.eq_ignore_ascii_case("ai-input") => Use::AiInput,
                name if name.eq_ignore_ascii_case("ai-train") => Use::TrainAi,
                _ => continue,
            };
            if let Some(is_granted) = yes_or_no(value) {
                wishes.add(used, is_granted);
            }
        }
        wishes
    }

    /// Reads a `Content-Usage`: `train-ai=n, search=y`. A category of its own outweighs one that
    /// includes it (`all`, `bots`, `tdm`). The names of all drafts up to now are understood.
    pub fn of_usage(value: &str) -> Wishes {
        let (mut general, mut special) = (Wishes::NONE, Wishes::NONE);
        for (name, value) in statements(value) {
            let Some(is_granted) = yes_or_no(value) else { continue };
            match name {
                "bots" | "all" => general.add_all(&Use::ALL, is_granted),
                "tdm" => general.add_all(&[Use::Search, Use::AiInput, Use::TrainAi], is_granted),
                "search" => special.add(Use::Search, is_granted),
                "train-ai" | "ai" => special.add(Use::TrainAi, is_granted),
                // Leave for generative models alone is no leave for all models.
                "train-genai" | "genai" if !is_granted => special.add(Use::TrainAi, false),
                "ai-use" | "ai-output" | "ai-input" => special.add(Use::AiInput, is_granted),
                _ => {}
            }
        }
        let said = (special.0 | special.0 >> 4) & 0xF;
        Wishes(general.0 & !(said | said << 4)).and(special)
    }

    /// Reads a `tdm-reservation` (TDMRep): 1 reserves the rights, 0 does not, anything else says nothing.
    pub fn of_reservation(value: &str) -> Wishes {
        let mut wishes = Wishes::NONE;
        match value.trim() {
            "0" => wishes.add_all(&MINING, true),
            "1" => wishes.add_all(&MINING, false),
            _ => {}
        }
        wishes
    }

    /// Reads one word of `X-Robots-Tag` or meta robots.
    pub(crate) fn of_directive(word: &str) -> Wishes {
        let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
        let denied: &[Use] = if is(&["noindex", "none"]) {
            &[Use::Search]
        } else if is(&["noarchive", "nocache"]) {
            &[Use::Archive]
        } else if is(&["noai", "noimageai", "noml"]) {
            &MINING
        } else {
            &[]
        };
        let mut wishes = Wishes::NONE;
        wishes.add_all(denied, false);
        wishes
    }
}

/// For JSON that people read.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(crate) fn as_text<S: serde::Serializer>(wishes: &Wishes, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(wishes)
}

impl std::fmt::Display for Wishes {
    /// `search=y, train-ai=n`; empty if nothing was said.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        for used in Use::ALL.into_iter().filter(|&used| self.denies(used) || self.grants(used)) {
            write!(
                out,
                "{separator}{}={}",
                used.name(),
                if self.denies(used) { 'n' } else { 'y' }
            )?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The `name=value` parts of a list. Parameters after a semicolon are passed over.
fn statements(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = value.split(',').take(MAX_STATEMENTS);
    parts.filter_map(|part| {
        let (name, value) = part.split(';').next()?.split_once('=')?;
        Some((name.trim(), value.trim()))
    })
}

/// `y`, `yes`, `n`, `no`, and the booleans of structured fields.
fn yes_or_no(value: &str) -> Option<bool> {
    let is = |names: [&str; 3]| names.iter().any(|name| value.eq_ignore_ascii_case(name));
    if is(["y", "yes", "?1"]) {
        Some(true)
    } else if is(["n", "no", "?0"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_and_usages_are_read() {
        let signal = Wishes::of_signal("search=yes, AI-train = NO, ai-input=maybe, what=no");
        assert_eq!(signal.to_string(), "search=y, train-ai=n");
        let usage = Wishes::of_usage("train-ai=n;note=x, search=y, train-genai=y");
        assert_eq!(usage.to_string(), "search=y, train-ai=n");
        assert_eq!(Wishes::of_usage("train-genai=n").to_string(), "train-ai=n");
        assert!(Wishes::of_usage("train-genai=y").is_empty());
        for nonsense in ["", ",", "=", "train-ai", "train-ai=", "n=train-ai", "\u{0}=\u{ff}"] {
            assert!(Wishes::of_usage(nonsense).is_empty(), "{nonsense:?}");
        }
    }

    #[test]
    fn a_special_category_outweighs_one_that_includes_it() {
        let usage = Wishes::of_usage("all=n, search=y");
        assert_eq!(usage.to_string(), "search=y, archive=n, ai-input=n, train-ai=n");
        let usage = Wishes::of_usage("train-ai=n, tdm=y");
        assert_eq!(usage.to_string(), "search=y, ai-input=y, train-ai=n");
    }

    #[test]
    fn the_most_restrictive_wins() {
        let both = Wishes::of_signal("ai-train=yes").and(Wishes::of_reservation("1"));
        assert!(both.denies(Use::TrainAi) && !both.grants(Use::TrainAi));
        assert!(both.denies_all(&[Use::TrainAi, Use::AiInput]));
        assert!(!both.denies_all(&[Use::TrainAi, Use::Search]));
        assert!(!both.denies_all(&[]), "no declared use, nothing to deny");
        assert!(Wishes::of_reservation("2").is_empty());
        assert!(Wishes::of_reservation("0").grants(Use::TrainAi));
    }

    #[test]
    fn names_are_read_back() {
        for used in Use::ALL {
            assert_eq!(used.name().parse(), Ok(used));
        }
        assert_eq!("ai".parse::<Use>(), Err(()));
    }
}
