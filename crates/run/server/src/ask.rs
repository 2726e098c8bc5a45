//! Questions to the partitions of a crawl.
//!
//! Partitions of this process are asked through their threads. A question waits in a short queue until the
//! thread has a moment. If this takes too long, or too many wait, the reader is told so: the crawl goes
//! first. Partitions that may be elsewhere are asked through their [`Owners`]; those that do not answer
//! in time are left out, and the answer says so ([`Partial`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{HintRow, Received, Sender};
use tidewatch_partition::rules::{RuleName, RuleRow, Ruling};
use tidewatch_partition::{
    CrawlError, HostView, Ledger, OtherBudget, Outlook, Partition, Portrait, SourceView, Status,
    owner,
};
use tidewatch_policy::WhatIf;
use tidewatch_search::shards::Coverage;
use tokio::sync::oneshot;

pub use crate::owners::{Owners, Partial};
use crate::question::{Asked, PageView, ROWS, Told, take_hints};

/// Questions that may wait.
const MOST_WAITING: usize = 64;
/// How long a reader waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the crawl answers questions between two turns.
const MOMENT: Duration = Duration::from_millis(20);
/// URLs of a list that one question hands over. Between two of them the crawl goes on.
const HINTS_AT_ONCE: usize = 500;
/// Most bytes of URLs in one message.
const MOST_BYTES: usize = 256 << 10;

/// A question, with the way back for its answer.
type Question = Box<dyn FnOnce(&mut Partition, Time) + Send>;

/// Asks questions, from any thread. Callers need not know where the partitions are.
#[derive(Clone)]
pub struct Asker(Way);

#[derive(Clone)]
enum Way {
    /// To threads of this process, one for each partition.
    Here(Arc<[SyncSender<Question>]>),
    /// To owners that may be elsewhere.
    Owners(Arc<dyn Owners>),
}

/// Answers the questions to a partition, on the thread that runs it.
pub struct Questions(Receiver<Question>);

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The crawl had no time.
    Busy,
    /// The crawl is not running.
    Ended,
    /// The crawl failed to answer.
    Failed(CrawlError),
    /// The question is refused, for this reason.
    Refused(String),
}

/// The ends of a queue of questions for each partition.
pub fn channel(partitions: usize) -> (Asker, Vec<Questions>) {
    let ends = (0..partitions.max(1)).map(|_| sync_channel(MOST_WAITING));
    let (senders, receivers): (Vec<_>, Vec<_>) = ends.unzip();
    (Asker(Way::Here(senders.into())), receivers.into_iter().map(Questions).collect())
}

impl Questions {
    /// Answers what waits, for a moment.
    pub fn answer(&self, crawl: &mut Partition, now: Time) {
        let began = Instant::now();
        while began.elapsed() < MOMENT
            && let Ok(question) = self.0.try_recv()
        {
            question(crawl, now);
        }
    }

    /// Waits for a question for at most `patience`, and answers it.
    pub fn wait_and_answer(&self, crawl: &mut Partition, now: Time, patience: Duration) {
        if let Ok(question) = self.0.recv_timeout(patience) {
            question(crawl, now);
        }
    }
}

impl Asker {
    /// Asks partitions that may be elsewhere.
    pub fn over(owners: Arc<dyn Owners>) -> Asker {
        Asker(Way::Owners(owners))
    }

    /// How many partitions there are.
    fn count(&self) -> u32 {
        match &self.0 {
            Way::Here(partitions) => partitions.len() as u32,
            Way::Owners(owners) => owners.count(),
        }
    }

    /// The crawl's figures.
    pub async fn status(&self) -> Result<Status, NoAnswer> {
        let parts = self.everywhere(Asked::Status).await?.found;
        let status = |told| if let Told::Status(status) = told { Some(status) } else { None };
        Ok(Status::sum(parts.into_iter().filter_map(status).collect()))
    }

    /// What is known of a page of a partition of this process. `None` if the crawl does not know it.
    pub async fn page(&self, url: CanonicalUrl) -> Result<Option<Portrait>, NoAnswer> {
        let Way::Here(partitions) = &self.0 else {
            return Err(elsewhere("what is known of a page"));
        };
        let partition = owner(&url, partitions.len() as u32) as usize;
        wait(put(&partitions[partition], move |crawl, now| crawl.portrait(&url, now))?).await
    }

    /// The view of a page.
    pub(crate) async fn page_view(&self, url: &CanonicalUrl) -> Result<PageView, NoAnswer> {
        match self.owner_of(url, Asked::Page(url.as_str().to_owned())).await? {
            Told::Page(view) => Ok(view),
            _ => Err(NoAnswer::Busy),
        }
    }

    /// The answer to `tidewatch why`: an object with `why` and `told`, or with `error`.
    pub async fn why(&self, url: &CanonicalUrl) -> Result<Value, NoAnswer> {
        let told = self.owner_of(url, Asked::Why(url.as_str().to_owned())).await?;
        let Told::Why(json) = told else { return Err(NoAnswer::Busy) };
        serde_json::from_str(&json).map_err(|error| NoAnswer::Refused(error.to_string()))
    }

    /// Predicted figures at another budget. `None` if the policy has no price.
    pub async fn what_if(&self, other: OtherBudget) -> Result<Option<Partial<Outlook>>, NoAnswer> {
        let partitions = match &self.0 {
            Way::Here(partitions) => partitions,
            Way::Owners(owners) => return what_if_over(&**owners, other).await,
        };
        if partitions.len() > 1 {
            let declare = |crawl: &mut Partition, _| {
                crawl.declare_demand();
                Ok(())
            };
            ask_all(partitions, declare).await?;
        }
        let both = move |crawl: &mut Partition, _| {
            let now = crawl.crawl_budget();
            let both = crawl.what_if(now).zip(crawl.what_if(other.of(now).unwrap_or(now)));
            Ok((both, crawl.status()))
        };
        let coverage = all_of(partitions.len() as u32);
        Ok(outlook(ask_all(partitions, both).await?).map(|found| Partial { found, coverage }))
    }

    pub(crate) async fn hosts(&self) -> Result<Partial<Vec<HostView>>, NoAnswer> {
        let hosts = |told| if let Told::Hosts(rows) = told { rows } else { Vec::new() };
        let parts = self.everywhere(Asked::Hosts).await?;
        Ok(parts.map(|parts| HostView::merge(parts.into_iter().map(hosts).collect(), ROWS)))
    }

    pub(crate) async fn sources(&self) -> Result<Partial<Vec<SourceView>>, NoAnswer> {
        let sources = |told| if let Told::Sources(rows) = told { rows } else { Vec::new() };
        let parts = self.everywhere(Asked::Sources).await?;
        Ok(parts.map(|parts| SourceView::merge(parts.into_iter().map(sources).collect(), ROWS)))
    }

    /// The rules that spare the most.
    pub async fn rules(&self) -> Result<Partial<Vec<RuleRow>>, NoAnswer> {
        let rules = |told| if let Told::Rules(rows) = told { rows } else { Vec::new() };
        let parts = self.everywhere(Asked::Rules).await?;
        Ok(parts.map(|parts| RuleRow::merge(parts.into_iter().map(rules).collect(), ROWS)))
    }

    /// Vetoes or pins a rule, or withdraws that. `false` if no partition knows it.
    pub async fn decide(&self, rule: RuleName, ruling: Ruling) -> Result<Partial<bool>, NoAnswer> {
        let parts = self.everywhere(Asked::Decide(ruling, rule.number())).await?;
        Ok(parts.map(|parts| parts.into_iter().any(|told| matches!(told, Told::Decided(true)))))
    }

    pub(crate) async fn hints(&self) -> Result<Partial<Vec<HintRow>>, NoAnswer> {
        let hints = |told| if let Told::Hints(rows) = told { rows } else { Vec::new() };
        let parts = self.everywhere(Asked::Hints).await?;
        Ok(parts.map(|parts| HintRow::merge(parts.into_iter().map(hints).collect(), ROWS)))
    }

    pub(crate) async fn set_budget(&self, budget: Rate) -> Result<(), NoAnswer> {
        let Way::Here(partitions) = &self.0 else {
            let why = "the budget of a cluster is set when its first node starts";
            return Err(NoAnswer::Refused(why.to_owned()));
        };
        let set = move |crawl: &mut Partition, now| {
            crawl.check_writable()?;
            crawl.set_budget(budget, now)?;
            crawl.sync()
        };
        ask_all(partitions, set).await.map(|_| ())
    }

    /// Adds seeds.
    pub async fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Result<(), NoAnswer> {
        let partitions = match &self.0 {
            Way::Here(partitions) => partitions,
            Way::Owners(owners) => {
                return owners.add_seeds(seeds).await.map_err(NoAnswer::Refused);
            }
        };
        let seeds: Arc<[CanonicalUrl]> = seeds.into();
        let add = move |crawl: &mut Partition, now| {
            crawl.check_writable()?;
            seeds.iter().try_for_each(|seed| crawl.seed_or_allow(seed, now))?;
            crawl.sync()
        };
        ask_all(partitions, add).await.map(|_| ())
    }

    /// Whether a page of this address would be taken in.
    pub async fn covers(&self, url: CanonicalUrl) -> Result<bool, NoAnswer> {
        let Way::Here(partitions) = &self.0 else {
            return Err(elsewhere("what is taken in"));
        };
        let partition = owner(&url, partitions.len() as u32) as usize;
        wait(put(&partitions[partition], move |crawl, _| Ok(crawl.covers(&url)))?).await
    }

    /// The hubs that feeds have named since the last call, in partitions of this process.
    pub async fn take_announced(&self) -> Result<Vec<Announced>, NoAnswer> {
        let Way::Here(partitions) = &self.0 else { return Ok(Vec::new()) };
        let take = |crawl: &mut Partition, _| Ok(crawl.take_announced());
        let answers: Vec<_> = partitions.iter().map(|partition| put(partition, take)).collect();
        let mut all = Vec::new();
        // What a busy partition has heard stays there until the next call.
        for answer in answers.into_iter().flatten() {
            all.extend(wait(answer).await.into_iter().flatten());
        }
        Ok(all)
    }

    /// Takes in hints of a sender.
    pub async fn take_hints(
        &self,
        sender: Sender,
        urls: Vec<CanonicalUrl>,
    ) -> Result<Received, NoAnswer> {
        let partitions = match &self.0 {
            Way::Here(partitions) => partitions,
            Way::Owners(_) => return self.pass_hints(&sender, &urls).await,
        };
        let (mut received, mut left) = (Vec::new(), urls.len());
        for part in urls.chunks(HINTS_AT_ONCE) {
            let (sender, part): (_, Arc<[CanonicalUrl]>) = (sender.clone(), part.into());
            let count = part.len();
            let take = move |crawl: &mut Partition, now| take_hints(crawl, &sender, &part, now);
            match ask_all(partitions, take).await {
                Ok(parts) => received.extend(parts),
                Err(why) if received.is_empty() => return Err(why),
                // What was taken so far counts; the sender may say the rest again.
                Err(_) => {
                    received.push(Received { refused: left as u32, ..Received::default() });
                    break;
                }
            }
            left -= count;
        }
        Ok(Received::sum(received))
    }

    /// Passes each URL to its owner, in messages of limited length.
    async fn pass_hints(
        &self,
        sender: &Sender,
        urls: &[CanonicalUrl],
    ) -> Result<Received, NoAnswer> {
        let mut messages: BTreeMap<u32, Vec<(usize, Vec<String>)>> = BTreeMap::new();
        for url in urls {
            let all = messages.entry(owner(url, self.count())).or_default();
            if all.last().is_none_or(|(bytes, _)| bytes + url.as_str().len() > MOST_BYTES) {
                all.push((0, Vec::new()));
            }
            let last = all.last_mut().into_iter();
            last.for_each(|(bytes, list)| {
                *bytes += url.as_str().len();
                list.push(url.as_str().to_owned());
            });
        }
        let mut received = Vec::new();
        for (partition, lists) in messages {
            for (_, urls) in lists {
                let asked = Asked::TakeHints(sender.to_string(), urls);
                if let Told::Received(part) = self.one(partition, asked).await? {
                    received.push(part);
                }
            }
        }
        Ok(Received::sum(received))
    }

    /// Answers a question that came from another machine, if there is a partition here; `None` if it
    /// cannot be read or the partition has no time.
    pub async fn relay(&self, question: &[u8]) -> Option<Vec<u8>> {
        let asked: Asked = postcard::from_bytes(question).ok()?;
        let Way::Here(partitions) = &self.0 else { return None };
        let answer = put(partitions.first()?, move |crawl, now| asked.answer(crawl, now)).ok()?;
        let told = match wait(answer).await {
            Ok(told) => Ok(told),
            Err(NoAnswer::Failed(error)) => Err(error.to_string()),
            Err(_) => return None,
        };
        postcard::to_stdvec(&told).ok()
    }

    /// Asks the owner of a URL.
    async fn owner_of(&self, url: &CanonicalUrl, asked: Asked) -> Result<Told, NoAnswer> {
        self.one(owner(url, self.count()), asked).await
    }

    async fn one(&self, partition: u32, asked: Asked) -> Result<Told, NoAnswer> {
        match &self.0 {
            Way::Here(partitions) => {
                let answer = move |crawl: &mut Partition, now| asked.answer(crawl, now);
                wait(put(&partitions[partition as usize], answer)?).await
            }
            Way::Owners(owners) => {
                let question = postcard::to_stdvec(&asked).unwrap_or_default();
                let answers = owners.ask(vec![(partition, question)]).await;
                let answer = answers.into_iter().find_map(|(_, bytes)| read(&bytes));
                let silent = || {
                    NoAnswer::Refused(format!(
                        "no node answers for partition {partition} at the moment; try again soon"
                    ))
                };
                answer.ok_or_else(silent)?.map_err(NoAnswer::Refused)
            }
        }
    }

    /// Asks every partition the same.
    async fn everywhere(&self, asked: Asked) -> Result<Partial<Vec<Told>>, NoAnswer> {
        match &self.0 {
            Way::Here(partitions) => {
                let answer = move |crawl: &mut Partition, now| asked.answer(crawl, now);
                let coverage = all_of(partitions.len() as u32);
                Ok(Partial { found: ask_all(partitions, answer).await?, coverage })
            }
            Way::Owners(owners) => {
                let question = postcard::to_stdvec(&asked).unwrap_or_default();
                let questions = (0..owners.count()).map(|number| (number, question.clone()));
                let answers = ask_over(&**owners, questions.collect()).await;
                Ok(answers.map(|all| all.into_iter().map(|(_, told)| told).collect()))
            }
        }
    }
}

/// The coverage when every partition has answered.
const fn all_of(count: u32) -> Coverage {
    Coverage { answered: count, of: count }
}

/// What to say of a rule that no partition knows, while some have not answered, as `told` says.
pub fn nobody_knows(told: &str) -> String {
    format!("{told} None of them knows the rule: try again when all answer.")
}

fn elsewhere(what: &str) -> NoAnswer {
    NoAnswer::Refused(format!("only the owner of a partition can tell {what}"))
}

/// An answer from elsewhere; `None` if it cannot be read.
fn read(bytes: &[u8]) -> Option<Result<Told, String>> {
    postcard::from_bytes(bytes).ok()
}

/// The answers of the owners that have one.
async fn ask_over(
    owners: &dyn Owners,
    questions: Vec<(u32, Vec<u8>)>,
) -> Partial<Vec<(u32, Told)>> {
    let answers = owners.ask(questions).await.into_iter();
    let found: Vec<_> =
        answers.filter_map(|(number, bytes)| Some((number, read(&bytes)?.ok()?))).collect();
    let coverage = Coverage { answered: found.len() as u32, of: owners.count() };
    Partial { found, coverage }
}

/// Predicted figures at another budget for a crawl on several machines. As on one machine, the budget is divided
/// by the demand of all partitions at one price.
async fn what_if_over(
    owners: &dyn Owners,
    other: OtherBudget,
) -> Result<Option<Partial<Outlook>>, NoAnswer> {
    let question = postcard::to_stdvec(&Asked::Demand).unwrap_or_default();
    let questions = (0..owners.count()).map(|number| (number, question.clone()));
    let demands = ask_over(owners, questions.collect()).await;
    let share = f64::from(demands.coverage.answered) / f64::from(demands.coverage.of.max(1));
    let scaled = |rate: Rate| Rate::per_second(share * rate.as_per_second()).unwrap_or(Rate::ZERO);
    let (now, then) =
        (scaled(owners.budget()), scaled(other.of(owners.budget()).unwrap_or(owners.budget())));
    let ledger = Ledger::new(now, 1.0);
    let mut numbers = Vec::new();
    for (number, told) in demands.found {
        if let Told::Demand(account) = told {
            ledger.enter(number);
            ledger.report(number, account);
            numbers.push(number);
        }
    }
    let question = |number: u32| {
        let at = |total| ledger.share_of(number, total).as_per_second();
        let asked = Asked::WhatIf(at(now), at(then));
        (number, postcard::to_stdvec(&asked).unwrap_or_default())
    };
    let answers = ask_over(owners, numbers.into_iter().map(question).collect()).await;
    let both = |(_, told)| match told {
        Told::WhatIf(both, status) => Some((both, status)),
        _ => None,
    };
    if answers.found.is_empty() {
        return Err(NoAnswer::Busy);
    }
    let Partial { found, coverage } = answers;
    let found = outlook(found.into_iter().filter_map(both).collect());
    Ok(found.map(|found| Partial { found, coverage }))
}

/// Predictions for each partition and its figures. `None` if a partition cannot predict.
type Predicted = Vec<(Option<(WhatIf, WhatIf)>, Status)>;

fn outlook(parts: Predicted) -> Option<Outlook> {
    let (both, statuses): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let both = both.into_iter().collect::<Option<Vec<_>>>()?;
    let (now, then): (Vec<_>, Vec<_>) = both.into_iter().unzip();
    let (now, then) = WhatIf::sum(&now).zip(WhatIf::sum(&then))?;
    Some(Outlook::new(now, then, &Status::sum(statuses)))
}

/// Asks every partition of this process the same, and returns their answers in order.
async fn ask_all<T: Send + 'static>(
    partitions: &[SyncSender<Question>],
    question: impl Fn(&mut Partition, Time) -> Result<T, CrawlError> + Clone + Send + 'static,
) -> Result<Vec<T>, NoAnswer> {
    let answers = partitions.iter().map(|partition| put(partition, question.clone()));
    let answers = answers.collect::<Result<Vec<_>, NoAnswer>>()?;
    let mut all = Vec::with_capacity(answers.len());
    for answer in answers {
        all.push(wait(answer).await?);
    }
    Ok(all)
}

/// Queues a question to a partition. Its reader may have gone when the answer is there.
fn put<T: Send + 'static>(
    partition: &SyncSender<Question>,
    question: impl FnOnce(&mut Partition, Time) -> Result<T, CrawlError> + Send + 'static,
) -> Result<Answer<T>, NoAnswer> {
    let (reply, answer) = oneshot::channel();
    let question: Question = Box::new(move |crawl, now| drop(reply.send(question(crawl, now))));
    partition.try_send(question).map_err(|refused| match refused {
        TrySendError::Full(_) => NoAnswer::Busy,
        TrySendError::Disconnected(_) => NoAnswer::Ended,
    })?;
    Ok(answer)
}

/// The receiving end of an answer.
type Answer<T> = oneshot::Receiver<Result<T, CrawlError>>;

async fn wait<T>(answer: Answer<T>) -> Result<T, NoAnswer> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(found)) => found.map_err(NoAnswer::Failed),
        _ => Err(NoAnswer::Busy),
    }
}
