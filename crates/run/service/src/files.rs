//! A crawl's directory, read or added to without running the crawl.

use std::io::{BufRead, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_node::is_home;
use tidewatch_partition::explain::what_if_of_json;
use tidewatch_partition::rules::{HostRow, Label, RuleName, RuleRow, Ruling};
use tidewatch_partition::{
    OtherBudget, Outlook, Partition, Partitions, Question, Replayed, Status, ask_running, owner,
};
use tidewatch_search::clicks::{Desk, Imported, Log, import};
use tidewatch_search::shards::Coverage;

use crate::{ServiceError, now_micros, now_s};

/// A crawl's directory has this file, and that of every partition.
const FORMAT: &str = "format";

/// The directories of a crawl's partitions. An error unless there is a crawl.
pub(crate) fn parts(dir: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let parts = Partitions::dirs(dir)?;
    // Opening a store would make one.
    let is_crawl = parts.iter().all(|part| part.join(FORMAT).exists());
    is_crawl.then_some(parts).ok_or_else(|| ServiceError::NoCrawl(dir.to_owned()))
}

/// Why a page is fetched when it is, as JSON and in sentences.
#[derive(Clone, Debug)]
pub struct WhyAnswer {
    /// As `tidewatch why --json` prints it.
    pub json: Json,
    /// In sentences.
    pub told: String,
}

impl WhyAnswer {
    /// Reads what a running crawl answered.
    pub fn read(mut answer: Json) -> Result<WhyAnswer, ServiceError> {
        if let Some(error) = answer["error"].as_str() {
            return Err(ServiceError::Refused(error.to_owned()));
        }
        let told = answer["told"].as_str().unwrap_or_default().to_owned();
        Ok(WhyAnswer { json: answer["why"].take(), told })
    }
}

/// Explains a page of a crawl: asks the crawl if it runs, and otherwise opens its directory as it was
/// when the crawl ended.
pub fn why(dir: &Path, url: &CanonicalUrl) -> Result<WhyAnswer, ServiceError> {
    if is_home(dir) {
        return WhyAnswer::read(ask_node(dir, &Question::Why(url.clone()))?);
    }
    let mut parts = parts(dir)?;
    let number = owner(url, parts.len() as u32) as usize;
    let dir = parts.swap_remove(number);
    let unreadable = |source| ServiceError::Unreadable { path: dir.join("ask.sock"), source };
    let running = ask_running(&dir, &Question::Why(url.clone())).map_err(unreadable)?;
    WhyAnswer::read(if let Some(answer) = running {
        answer
    } else {
        let mut crawl = Partition::look(&dir, now_micros())?;
        let now = crawl.last();
        crawl.answer_why(url, now)?
    })
}

/// Predicted figures at another budget.
#[derive(Clone, Debug)]
pub struct WhatIfAnswer {
    /// The figures.
    pub outlook: Outlook,
    /// A sentence, if part of the crawl did not answer.
    pub missing: Option<String>,
}

/// Predicts the effect of another budget on a crawl: asks the node that runs in its directory, and otherwise
/// opens the crawl as it was when it ended. `None` if its policy has no price.
pub fn what_if(dir: &Path, other: OtherBudget) -> Result<Option<WhatIfAnswer>, ServiceError> {
    if is_home(dir) {
        let mut answer = ask_node(dir, &Question::WhatIf(other))?;
        let both = what_if_of_json(&answer["now"]).zip(what_if_of_json(&answer["then"]));
        let coverage: Coverage =
            serde_json::from_value(answer["partitions"].take()).unwrap_or_default();
        return Ok(both.map(|(now, then)| WhatIfAnswer {
            outlook: Outlook { now, then },
            missing: coverage.told(),
        }));
    }
    let crawl = look(dir)?;
    let too_large = || ServiceError::Refused(format!("{other} is too large a budget"));
    let outlook = crawl.outlook(other.of(crawl.budget()).ok_or_else(too_large)?);
    Ok(outlook.map(|outlook| WhatIfAnswer { outlook, missing: None }))
}

/// Asks the node that runs in a directory.
fn ask_node(dir: &Path, question: &Question) -> Result<Json, ServiceError> {
    ask(dir, question)?.ok_or_else(|| ServiceError::NodeAtRest(dir.to_owned()))
}

/// Rules about URLs of one page.
#[derive(Clone, Debug)]
pub struct RulesAnswer {
    /// Those that spare the most first.
    pub rules: Vec<RuleRow>,
    /// A sentence, if part of the crawl did not answer.
    pub missing: Option<String>,
}

/// The rules that a crawl, running or not, has learnt about URLs of one page, at most `most`.
pub fn rules(dir: &Path, most: usize) -> Result<RulesAnswer, ServiceError> {
    if is_home(dir) {
        let mut answer = ask_node(dir, &Question::Rules)?;
        let rules: Vec<RuleRow> = serde_json::from_value(answer["rules"].take())
            .map_err(|error| ServiceError::Refused(error.to_string()))?;
        let coverage: Coverage =
            serde_json::from_value(answer["partitions"].take()).unwrap_or_default();
        let rules = RuleRow::merge(vec![rules], most);
        return Ok(RulesAnswer { rules, missing: coverage.told() });
    }
    let mut all = Vec::new();
    for part in parts(dir)? {
        all.push(match ask(&part, &Question::Rules)? {
            Some(mut answer) => serde_json::from_value(answer["rules"].take())
                .map_err(|error| ServiceError::Refused(error.to_string()))?,
            None => Partition::look(&part, now_micros())?.rules(most),
        });
    }
    Ok(RulesAnswer { rules: RuleRow::merge(all, most), missing: None })
}

/// Hosts of a crawl, running or not, that the operator labelled or that are probably spam, at most `most`.
pub fn labels(dir: &Path, most: usize) -> Result<Vec<HostRow>, ServiceError> {
    let read = |mut answer: Json| -> Result<Vec<HostRow>, ServiceError> {
        serde_json::from_value(answer["hosts"].take())
            .map_err(|error| ServiceError::Refused(error.to_string()))
    };
    if is_home(dir) {
        return read(ask_node(dir, &Question::Labels)?);
    }
    let mut all = Vec::new();
    for part in parts(dir)? {
        all.push(match ask(&part, &Question::Labels)? {
            Some(answer) => read(answer)?,
            None => Partition::look(&part, now_micros())?.labels(most)?,
        });
    }
    Ok(HostRow::merge(all, most))
}

/// Labels the host of a URL as spam or good, or takes its label back, whether the crawl runs or not. Every
/// partition is told, since each sees links to the host.
pub fn label(dir: &Path, url: &CanonicalUrl, label: Option<Label>) -> Result<(), ServiceError> {
    let question = Question::Label(label, url.clone());
    if is_home(dir) {
        return ask_node(dir, &question).map(|_| ());
    }
    for part in parts(dir)? {
        if ask(&part, &question)?.is_none() {
            Partition::label_at_rest(&part, url, label)?;
        }
    }
    Ok(())
}

/// Vetoes or pins a rule, or withdraws that, whether the crawl runs or not. `false` if it knows no such rule.
pub fn decide(dir: &Path, rule: RuleName, ruling: Ruling) -> Result<bool, ServiceError> {
    if is_home(dir) {
        let answer = ask_node(dir, &Question::Decide(ruling, rule))?;
        return Ok(answer["decided"].as_bool().unwrap_or_default());
    }
    let mut is_known = false;
    for part in parts(dir)? {
        is_known |= match ask(&part, &Question::Decide(ruling, rule))? {
            Some(answer) => answer["decided"].as_bool().unwrap_or_default(),
            None => Partition::decide_at_rest(&part, rule.0, ruling)?,
        };
    }
    Ok(is_known)
}

/// Asks the partition that runs in `part`, if one does.
fn ask(part: &Path, question: &Question) -> Result<Option<Json>, ServiceError> {
    let unreadable = |source| ServiceError::Unreadable { path: part.join("ask.sock"), source };
    let answer = ask_running(part, question).map_err(unreadable)?;
    match answer.as_ref().and_then(|answer| answer["error"].as_str()) {
        Some(error) => Err(ServiceError::Refused(error.to_owned())),
        None => Ok(answer),
    }
}

/// Opens a crawl as it was when it ended. It must not be running.
pub fn look(dir: &Path) -> Result<Partitions, ServiceError> {
    parts(dir)?;
    Ok(Partitions::look(dir, now_micros())?)
}

/// Takes every decision of a crawl again, with the policy of today. An error if one differs.
pub fn replay(dir: &Path) -> Result<Replayed, ServiceError> {
    let mut all = Replayed::default();
    for dir in parts(dir)? {
        let part = Partition::replay(&dir, now_micros())?;
        all.inputs += part.inputs;
        all.decisions += part.decisions;
        all.panics += part.panics;
        all.reproduced += part.reproduced;
    }
    Ok(all)
}

/// The figures that a crawl, running or not, wrote last.
pub fn read_status(dir: &Path) -> Result<Status, ServiceError> {
    Status::read(dir).map_err(|source| match source.kind() {
        ErrorKind::NotFound if parts(dir).is_ok() => ServiceError::NoFigures(dir.to_owned()),
        ErrorKind::NotFound | ErrorKind::NotADirectory => ServiceError::NoCrawl(dir.to_owned()),
        ErrorKind::InvalidData => ServiceError::DamagedFigures { dir: dir.to_owned(), source },
        _ => ServiceError::Unreadable { path: dir.join("status.json"), source },
    })
}

/// Adds views and clicks from another search engine's log, which the crawl reads within seconds, or
/// when it next runs.
pub fn import_clicks(dir: &Path, log: impl BufRead) -> Result<Imported, ServiceError> {
    if !is_home(dir) {
        parts(dir)?;
    }
    let mut own = Log::open(&Desk::log_dir(dir))?;
    Ok(import(log, &mut own, now_s())?)
}
