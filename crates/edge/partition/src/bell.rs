//! Questions to a crawl that runs in another process.
//!
//! A running crawl locks its directory, so nobody else can open its tables. It listens on the Unix socket
//! `ask.sock` in that directory instead (of each partition, where there are several). Who may write to the
//! socket may ask:
//!
//! ```text
//! why https://example.com/⏎
//! {"why": {…}, "told": "…"}      as [`why_json`] and [`told`] give them
//! rules⏎
//! {"rules": […]}                 as [`RuleRow`](crate::rules::RuleRow) gives them
//! veto 0123456789abcdef⏎         also pin, undo
//! {"decided": true}              false if there is no such rule
//! label spam https://example.com/⏎   also good, none: what the operator says of the host
//! {"labelled": true}
//! labels⏎
//! {"hosts": [{…}]}               as [`HostRow`](crate::rules::HostRow) gives them
//! what-if 2x⏎                    of a node of a cluster only
//! {"now": {…}, "then": {…}}      as [`what_if_json`](crate::explain::what_if_json) gives them
//! {"error": "…"}                 to any of them
//! ```
//!
//! One connection asks one question. A thread of its own talks to it, with time limits, and passes the
//! question to the loop, which answers between two turns. What the operator decided is synced before the
//! answer says so.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;

use crate::explain::{told, why_json};
use crate::rules::{Label, RuleName, Ruling, label_name, label_of, suspected, suspicion_json};
use crate::topic::{fits, fits_json};
use crate::{CrawlError, OtherBudget, Partition};

const NAME: &str = "ask.sock";
/// Longest question: the longest URL that a crawl knows is shorter.
const MOST_BYTES: u64 = 1 << 16;
/// How long a client may take to ask or to read.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a client waits for the loop, which may be writing a snapshot.
const ANSWERED: Duration = Duration::from_secs(30);

/// Rules that are listed.
const MOST_RULES: usize = 10_000;

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Why a page is treated as it is.
    Why(CanonicalUrl),
    /// The rules learnt about URLs.
    Rules,
    /// Veto or pin a rule, or withdraw that.
    Decide(Ruling, RuleName),
    /// Label the host of this URL, or take its label back.
    Label(Option<Label>, CanonicalUrl),
    /// Hosts that are labelled or probably spam.
    Labels,
    /// Predicted figures at another budget.
    WhatIf(OtherBudget),
}

impl Question {
    /// Reads a line.
    fn of(line: &str) -> Result<Question, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, Ruling::ALL.into_iter().find(|ruling| ruling.name() == word)) {
            (_, Some(ruling)) => Ok(Question::Decide(ruling, rest.parse()?)),
            ("rules", _) => Ok(Question::Rules),
            ("labels", _) => Ok(Question::Labels),
            ("label", _) => {
                let (label, url) = rest.split_once(' ').unwrap_or((rest, ""));
                let label = label_of(label).ok_or("a label is spam, good or none")?;
                let url = CanonicalUrl::parse(url).map_err(|refused| refused.to_string())?;
                Ok(Question::Label(label, url))
            }
            ("what-if", _) => Ok(Question::WhatIf(rest.parse()?)),
            ("why", _) => {
                let url = CanonicalUrl::parse(rest).map_err(|refused| refused.to_string())?;
                Ok(Question::Why(url))
            }
            _ => Err("the questions are `why URL`, `rules`, `veto ID`, `pin ID`, `undo ID`, `label spam URL`, `labels`, `what-if 2x`".into()),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Why(url) => write!(to, "why {url}"),
            Question::Rules => write!(to, "rules"),
            Question::Decide(ruling, rule) => write!(to, "{} {rule}", ruling.name()),
            Question::Label(label, url) => write!(to, "label {} {url}", label_name(*label)),
            Question::Labels => write!(to, "labels"),
            Question::WhatIf(other) => write!(to, "what-if {other}"),
        }
    }
}

/// A question, and the way back.
struct Asked {
    question: Question,
    reply: SyncSender<Json>,
}

/// Listens for questions until it is dropped.
pub(crate) struct Bell {
    dir: PathBuf,
    questions: Receiver<Asked>,
    is_over: Arc<AtomicBool>,
}

impl Bell {
    /// Listens in a directory that this process has locked. A crawl goes on without a bell, so a
    /// failure is no error.
    pub(crate) fn hang(dir: &Path) -> Option<Bell> {
        let (questions, is_over) = open(dir)?;
        Some(Bell { dir: dir.to_owned(), questions, is_over })
    }

    /// Answers the question that waits, if there is one.
    pub(crate) fn answer(&self, partition: &mut Partition, now: Time) {
        if let Ok(Asked { question, reply }) = self.questions.try_recv() {
            let answer = partition.answer(&question, now);
            let answer = answer.unwrap_or_else(|error| json!({ "error": error.to_string() }));
            // The client may have gone.
            let _ = reply.send(answer);
        }
    }
}

/// Listens in a directory until the flag is set.
fn open(dir: &Path) -> Option<(Receiver<Asked>, Arc<AtomicBool>)> {
    // Left by a crawl that was killed.
    let _ = fs::remove_file(dir.join(NAME));
    let (_dir, path) = socket(dir).ok()?;
    let listener = UnixListener::bind(path).ok()?;
    let (sender, questions) = sync_channel(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&is_over);
    std::thread::Builder::new()
        .name("ask".into())
        .spawn(move || listen(&listener, &sender, &ended))
        .ok()?;
    Some((questions, is_over))
}

/// Answers the questions to a process that is no partition, such as a node of a cluster, until it is
/// dropped.
pub struct Doorkeeper {
    dir: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Doorkeeper {
    /// Listens in a directory that this process has locked, and answers on threads of its own. `None` if it
    /// cannot listen there.
    pub fn open(
        dir: &Path,
        answer: impl Fn(Question) -> Json + Send + 'static,
    ) -> Option<Doorkeeper> {
        let (questions, is_over) = open(dir)?;
        let answer_all = move || {
            while let Ok(Asked { question, reply }) = questions.recv() {
                // The client may have gone.
                let _ = reply.send(answer(question));
            }
        };
        std::thread::Builder::new().name("answer".into()).spawn(answer_all).ok()?;
        Some(Doorkeeper { dir: dir.to_owned(), is_over })
    }
}

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        take_down(&self.dir, &self.is_over);
    }
}

/// Ends the listener of a directory.
fn take_down(dir: &Path, is_over: &AtomicBool) {
    is_over.store(true, Ordering::Relaxed);
    // Wakes the listener.
    let _ = connect(dir);
    let _ = fs::remove_file(dir.join(NAME));
}

impl Drop for Bell {
    fn drop(&mut self) {
        take_down(&self.dir, &self.is_over);
    }
}

fn listen(listener: &UnixListener, questions: &SyncSender<Asked>, is_over: &AtomicBool) {
    for stream in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        // A failure to accept, such as too many open files, may pass.
        let Ok(mut stream) = stream else {
            std::thread::sleep(PATIENCE);
            continue;
        };
        let answer = read(&mut stream).and_then(|question| put(questions, question));
        let answer = answer.unwrap_or_else(|why| json!({ "error": why }));
        // The client may have gone.
        let _ = writeln!(stream, "{answer}");
    }
}

/// Reads a question.
fn read(stream: &mut UnixStream) -> Result<Question, String> {
    let failed = |error: io::Error| format!("the question cannot be read: {error}");
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut line = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut line).map_err(failed)?;
    Question::of(line.trim_end())
}

/// Passes a question to the loop and waits for the answer.
fn put(questions: &SyncSender<Asked>, question: Question) -> Result<Json, String> {
    let (reply, answer) = sync_channel(1);
    let ended = || "the crawl has just ended; ask again".to_owned();
    questions.try_send(Asked { question, reply }).map_err(|_| ended())?;
    answer.recv_timeout(ANSWERED).map_err(|_| "the crawl is busy; ask again".to_owned())
}

/// The socket of a directory, through a handle of that directory: a socket's path has at most 107
/// bytes. The path is good as long as the handle lives.
fn socket(dir: &Path) -> io::Result<(File, PathBuf)> {
    let handle = File::open(dir)?;
    let path = if cfg!(target_os = "linux") {
        Path::new("/proc/self/fd").join(handle.as_raw_fd().to_string()).join(NAME)
    } else {
        dir.join(NAME)
    };
    Ok((handle, path))
}

fn connect(dir: &Path) -> io::Result<UnixStream> {
    let (_dir, path) = socket(dir)?;
    UnixStream::connect(path)
}

/// Asks the crawl that runs in `dir`; `None` if none runs there.
pub fn ask_running(dir: &Path, question: &Question) -> io::Result<Option<Json>> {
    let Ok(mut stream) = connect(dir) else { return Ok(None) };
    stream.set_read_timeout(Some(ANSWERED + PATIENCE))?;
    stream.write_all(format!("{question}\n").as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(Some(serde_json::from_str(&answer)?))
}

impl Partition {
    /// The answer to a question at `now`, as JSON.
    pub fn answer(&mut self, question: &Question, now: Time) -> Result<Json, CrawlError> {
        match question {
            Question::Why(url) => self.answer_why(url, now),
            Question::Rules => Ok(json!({ "rules": self.rules(MOST_RULES) })),
            Question::Decide(ruling, rule) => {
                let is_known = self.decide(rule.0, *ruling)?;
                self.sync()?;
                Ok(json!({ "decided": is_known }))
            }
            Question::Label(label, url) => {
                self.label(url, *label)?;
                self.sync()?;
                Ok(json!({ "labelled": true }))
            }
            Question::Labels => Ok(json!({ "hosts": self.labels(MOST_RULES)? })),
            Question::WhatIf(_) => {
                Ok(json!({ "error": "a partition cannot tell this of the whole crawl" }))
            }
        }
    }

    /// The answer to `why URL` at `now`: JSON with `why` and `told`, or with `error`.
    pub fn answer_why(&mut self, url: &CanonicalUrl, now: Time) -> Result<Json, CrawlError> {
        let obstacle = self.obstacle(url, now)?.or(self.remark(url)?);
        let first = obstacle.as_ref().map_or_else(String::new, |told| format!("{told}\n"));
        let refuse = |why: &str| Ok(json!({ "error": format!("{why} {url}. {first}").trim_end() }));
        let Some(found) = self.portrait(url, now)? else {
            if let Some(same) = self.same_as(url)? {
                let told =
                    format!("By a rule learnt this is another address of {same}. Ask why of that.");
                return Ok(json!({ "error": told }));
            }
            return refuse("this crawl does not know");
        };
        let Some(why) = found.why else { return refuse("this crawl's policy cannot explain") };
        let mut json = why_json(&why, url.as_str(), now);
        json["in_the_way"] = obstacle.into();
        json["hygiene"] = suspicion_json(&found.suspicion, Some(&why));
        json["topic"] = fits_json(found.suits.as_ref());
        let doubt = suspected(&found.suspicion).map_or_else(String::new, |told| told + "\n");
        json["form"] = found.form.clone().into();
        let form = found.form.map_or_else(String::new, |told| told + "\n");
        let fit = found.suits.as_ref().map_or_else(String::new, |suits| fits(suits) + "\n");
        Ok(json!({ "why": json, "told": format!("{first}{}{doubt}{fit}{form}", told(&why, now)) }))
    }
}
