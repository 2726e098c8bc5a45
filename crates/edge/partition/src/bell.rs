//! Questions to a crawl that runs in another process.
//!
//! A running crawl locks its directory, so nobody else can open its tables. It listens on the Unix socket
//! `ask.sock` in that directory instead (of each partition, where there are several). Who may write to the
//! socket may ask:
//!
//! ```text
//! why https://example.com/⏎
//! {"why": {…}, "told": "…"}      as [`why_json`] and [`told`] give them
//! {"error": "…"}
//! ```
//!
//! One connection asks one question. A thread of its own talks to it, with time limits, and passes the
//! question to the loop, which answers between two turns.

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
use crate::{CrawlError, Partition};

const NAME: &str = "ask.sock";
/// Longest question: the longest URL that a crawl knows is shorter.
const MOST_BYTES: u64 = 1 << 16;
/// How long a client may take to ask or to read.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a client waits for the loop, which may be writing a snapshot.
const ANSWERED: Duration = Duration::from_secs(30);

/// A page asked about, and the way back.
struct Question {
    url: CanonicalUrl,
    reply: SyncSender<Json>,
}

/// Listens for questions until it is dropped.
pub(crate) struct Bell {
    dir: PathBuf,
    questions: Receiver<Question>,
    is_over: Arc<AtomicBool>,
}

impl Bell {
    /// Listens in a directory that this process has locked. A crawl goes on without a bell, so a
    /// failure is no error.
    pub(crate) fn hang(dir: &Path) -> Option<Bell> {
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
        Some(Bell { dir: dir.to_owned(), questions, is_over })
    }

    /// Answers the question that waits, if there is one.
    pub(crate) fn answer(&self, partition: &mut Partition, now: Time) {
        if let Ok(Question { url, reply }) = self.questions.try_recv() {
            let answer = partition.answer_why(&url, now);
            let answer = answer.unwrap_or_else(|error| json!({ "error": error.to_string() }));
            // The client may have gone.
            let _ = reply.send(answer);
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = connect(&self.dir);
        let _ = fs::remove_file(self.dir.join(NAME));
    }
}

fn listen(listener: &UnixListener, questions: &SyncSender<Question>, is_over: &AtomicBool) {
    for stream in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = stream else { return };
        let answer = read(&mut stream).and_then(|url| put(questions, url));
        let answer = answer.unwrap_or_else(|why| json!({ "error": why }));
        // The client may have gone.
        let _ = writeln!(stream, "{answer}");
    }
}

/// Reads a question.
fn read(stream: &mut UnixStream) -> Result<CanonicalUrl, String> {
    let failed = |error: io::Error| format!("the question cannot be read: {error}");
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut line = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut line).map_err(failed)?;
    let url = line.trim_end().strip_prefix("why ").ok_or("the only question is `why URL`")?;
    CanonicalUrl::parse(url).map_err(|refused| refused.to_string())
}

/// Passes a question to the loop and waits for the answer.
fn put(questions: &SyncSender<Question>, url: CanonicalUrl) -> Result<Json, String> {
    let (reply, answer) = sync_channel(1);
    let ended = || "the crawl has just ended; ask again".to_owned();
    questions.try_send(Question { url, reply }).map_err(|_| ended())?;
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

/// Asks the crawl that runs in `dir` why it treats a page as it does; `None` if none runs there. The
/// answer has `why` and `told`, or `error`.
pub fn ask_running(dir: &Path, url: &CanonicalUrl) -> io::Result<Option<Json>> {
    let Ok(mut stream) = connect(dir) else { return Ok(None) };
    stream.set_read_timeout(Some(ANSWERED + PATIENCE))?;
    stream.write_all(format!("why {}\n", url.as_str()).as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(Some(serde_json::from_str(&answer)?))
}

impl Partition {
    /// The answer to `why URL` at `now`: JSON with `why` and `told`, or with `error`.
    pub fn answer_why(&mut self, url: &CanonicalUrl, now: Time) -> Result<Json, CrawlError> {
        let obstacle = self.obstacle(url, now)?.or(self.remark(url)?);
        let first = obstacle.as_ref().map_or_else(String::new, |told| format!("{told}\n"));
        let refuse = |why: &str| Ok(json!({ "error": format!("{why} {url}. {first}").trim_end() }));
        let Some(found) = self.portrait(url, now)? else {
            return refuse("this crawl does not know");
        };
        let Some(why) = found.why else { return refuse("this crawl's policy cannot explain") };
        let mut json = why_json(&why, url.as_str(), now);
        json["in_the_way"] = obstacle.into();
        Ok(json!({ "why": json, "told": format!("{first}{}", told(&why, now)) }))
    }
}
