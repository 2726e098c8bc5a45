//! Rules and doubts of hygiene for people and programs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
pub use tidewatch_hygiene::spam::{Label, SpamChance};
use tidewatch_hygiene::{ByHand, Detector, RuleId, RuleView};
use tidewatch_policy::Explanation;

use crate::Suspicion;

/// A doubt below this is not worth a sentence.
const LEAST_TOLD: f64 = 0.01;

/// The number of a rule, as it is printed and typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleName(pub RuleId);

impl RuleName {
    /// The name of a rule's number.
    pub const fn of_number(number: u64) -> RuleName {
        RuleName(RuleId(number))
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0.0
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:016x}", self.0.0)
    }
}

impl FromStr for RuleName {
    type Err = String;

    fn from_str(text: &str) -> Result<RuleName, String> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
        let refused = || {
            format!(
                "`{text}` is no rule's ID: 16 hexadecimal digits, as tidewatch rules prints them"
            )
        };
        number.map(|number| RuleName(RuleId(number))).ok_or_else(refused)
    }
}

/// An operator's decision about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Never apply it.
    Veto,
    /// Apply it, whatever its trials say.
    Pin,
    /// Leave it to its trials.
    Undo,
}

impl Ruling {
    /// All, in the order of the command line.
    pub const ALL: [Ruling; 3] = [Ruling::Veto, Ruling::Pin, Ruling::Undo];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Ruling::Veto => "veto",
            Ruling::Pin => "pin",
            Ruling::Undo => "undo",
        }
    }

    /// As hygiene takes it.
    pub(crate) const fn by_hand(self) -> Option<ByHand> {
        match self {
            Ruling::Veto => Some(ByHand::Vetoed),
            Ruling::Pin => Some(ByHand::Pinned),
            Ruling::Undo => None,
        }
    }
}

/// A rule that unites URLs of one page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleRow {
    /// Its number: 16 hexadecimal digits.
    pub id: String,
    /// The host: scheme, name and port.
    pub host: String,
    /// The rule in words.
    pub says: String,
    /// Fetches that proved it right, and wrong.
    pub right: f64,
    /// See `right`.
    pub wrong: f64,
    /// Chance that a URL that it unites with another brings nothing of its own.
    pub chance: f64,
    /// Whether it is applied.
    pub is_applied: bool,
    /// The operator's decision.
    pub decided: Option<Ruling>,
    /// Fetches that it has spared.
    pub spared: u64,
}

impl RuleRow {
    pub(crate) fn of(view: RuleView) -> RuleRow {
        RuleRow {
            id: RuleName(view.id).to_string(),
            host: view.origin,
            says: view.says,
            right: view.hits,
            wrong: view.misses,
            chance: view.chance,
            is_applied: view.is_applied,
            decided: view.by_hand.map(|by_hand| match by_hand {
                ByHand::Pinned => Ruling::Pin,
                ByHand::Vetoed => Ruling::Veto,
            }),
            spared: view.spared,
        }
    }

    /// Rows of several partitions: those that spare the most first, at most `most`.
    pub fn merge(parts: Vec<Vec<RuleRow>>, most: usize) -> Vec<RuleRow> {
        let mut all: Vec<RuleRow> = parts.into_iter().flatten().collect();
        all.sort_by(|a, b| {
            let by_use = (b.is_applied, b.spared).cmp(&(a.is_applied, a.spared));
            by_use.then(b.chance.total_cmp(&a.chance)).then_with(|| a.id.cmp(&b.id))
        });
        all.truncate(most);
        all
    }

    /// Whether it is applied, in a word or two.
    pub const fn state(&self) -> &'static str {
        match (self.decided, self.is_applied) {
            (Some(Ruling::Veto), _) => "vetoed",
            (Some(_), _) => "pinned",
            (None, true) => "applied",
            (None, false) => "on trial",
        }
    }
}

/// Reads what an operator says of a host: `spam`, `good`, or `none` to take it back.
pub fn label_of(word: &str) -> Option<Option<Label>> {
    match word {
        "spam" => Some(Some(Label::Spam)),
        "good" => Some(Some(Label::Good)),
        "none" => Some(None),
        _ => None,
    }
}

/// The word that [`label_of`] reads.
pub const fn label_name(label: Option<Label>) -> &'static str {
    match label {
        Some(Label::Spam) => "spam",
        Some(Label::Good) => "good",
        None => "none",
    }
}

/// A host that the operator labelled, or one that is probably spam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRow {
    /// The host: scheme, name and port.
    pub host: String,
    /// What the operator said.
    pub label: Option<Label>,
    /// Chance that the host is spam.
    pub chance: f64,
    /// Pages of which the text was measured.
    pub pages: u32,
}

impl HostRow {
    pub(crate) fn of(host: &str, spam: SpamChance, label: Option<Label>) -> HostRow {
        HostRow { host: host.to_owned(), label, chance: spam.chance, pages: spam.pages }
    }

    /// Rows of several partitions: labelled hosts first, then by chance, at most `most`. Of rows of one host
    /// that counts which rests on most pages.
    pub fn merge(parts: Vec<Vec<HostRow>>, most: usize) -> Vec<HostRow> {
        let mut all: Vec<HostRow> = parts.into_iter().flatten().collect();
        all.sort_by(|a, b| a.host.cmp(&b.host).then(b.pages.cmp(&a.pages)));
        all.dedup_by(|later, first| later.host == first.host);
        all.sort_by(|a, b| {
            let by_label = b.label.is_some().cmp(&a.label.is_some());
            by_label.then(b.chance.total_cmp(&a.chance)).then_with(|| a.host.cmp(&b.host))
        });
        all.truncate(most);
        all
    }
}

/// Why a page is doubted, in a sentence; `None` if nothing speaks against it.
pub fn suspected(said: &Suspicion) -> Option<String> {
    if said.doubt < LEAST_TOLD {
        return None;
    }
    let percent = 100.0 * said.doubt;
    let (trials, fruitless) = (said.evidence.trials, said.evidence.fruitless);
    let rule = said.evidence.rule.map_or_else(String::new, |rule| format!(" {}", RuleName(rule)));
    let because = match said.detector {
        Detector::None => "which is what holds for any URL".to_owned(),
        Detector::Rule => {
            format!(
                "because rule{rule} makes it another address of a page; {fruitless:.0} of {trials:.0} trials proved it right"
            )
        }
        Detector::Mirror => format!(
            "because its host mirrors another one (rule{rule}); {fruitless:.0} of {trials:.0} pages compared were the same"
        ),
        Detector::Worthless => {
            format!(
                "because {trials:.0} fetches of URLs like it brought fewer clicks than expected"
            )
        }
        Detector::Spam => format!(
            "because its host is spam with a probability of {:.0}%, by the text of {trials:.0} pages and by links",
            100.0 * fruitless
        ),
        Detector::Labelled => "because you labelled its host as spam".to_owned(),
        Detector::Fruitless => format!(
            "because {fruitless:.0} of {trials:.0} fetches of URLs like it brought nothing of their own"
        ),
    };
    Some(format!(
        "A fetch brings nothing of its own with a probability of {percent:.0}%, {because}."
    ))
}

/// The doubt in JSON: as it is now, and as the policy counts it.
pub fn suspicion_json(said: &Suspicion, why: Option<&Explanation>) -> Json {
    json!({
        "doubt": said.doubt, "counted": why.map(|why| why.doubt), "detector": name(said.detector),
        "rule": said.evidence.rule.map(|rule| RuleName(rule).to_string()),
        "trials": said.evidence.trials, "fruitless": said.evidence.fruitless,
    })
}

/// A detector's name in JSON.
fn name(detector: Detector) -> String {
    format!("{detector:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_as_they_are_printed() {
        let name = RuleName(RuleId(0x00ab_cdef));
        assert_eq!(name.to_string().parse(), Ok(name));
        for bad in ["", "abcdef", "+0000000000abcde", "000000000000000g", "00000000000000000"] {
            assert!(bad.parse::<RuleName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_spares_the_most_comes_first() {
        let row = |id: &str, is_applied, spared| RuleRow {
            id: id.into(),
            host: String::new(),
            says: String::new(),
            right: 0.0,
            wrong: 0.0,
            chance: 0.5,
            is_applied,
            decided: None,
            spared,
        };
        let parts = vec![vec![row("c", false, 9), row("a", true, 1)], vec![row("b", true, 7)]];
        let ids: Vec<String> = RuleRow::merge(parts, 2).into_iter().map(|row| row.id).collect();
        assert_eq!(ids, ["b", "a"]);
    }
}
