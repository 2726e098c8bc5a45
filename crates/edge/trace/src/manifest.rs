//! `trace.toml`: name, duration, start and origin of a trace.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use tidewatch_core::{Span, Time};
use toml::Spanned;

use crate::cell::shown;
use crate::error::{At, Place, TraceError};
use crate::model::Trace;
use crate::rules;

pub(crate) const FILE_NAME: &str = "trace.toml";

/// Largest manifest.
const LONGEST: u64 = 1 << 20;

/// The contents of `trace.toml`.
#[derive(Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) duration: Span,
    pub(crate) start: Option<String>,
    pub(crate) note: Option<String>,
}

/// The unchecked file. Unknown keys are ignored, like unknown columns of tables.
#[derive(Deserialize)]
struct Raw {
    name: String,
    duration: Spanned<toml::Value>,
    start: Option<Spanned<toml::Value>>,
    note: Option<String>,
}

impl Manifest {
    /// Reads it from a trace directory; `None` if it has none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, TraceError> {
        let path = dir.join(FILE_NAME);
        if !path.try_exists().map_err(TraceError::io("look for", &path))? {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(TraceError::io("open", &path))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(TraceError::io("read", &path))?;
        if bytes.len() as u64 > LONGEST {
            return Err(TraceError::file(&path, "the file is larger than 1 MiB; shorten the note"));
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| TraceError::file(&path, "the file is not UTF-8; convert it"))?;
        Self::parse(text, &path).map(Some)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, TraceError> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            wrong(path, line, None, error.message())
        })?;
        let fail = |value: &Spanned<toml::Value>, key, problem: &str| {
            wrong(path, line_of(text, value.span().start), Some(key), problem)
        };
        let duration = duration(&raw.duration, text)
            .map_err(|problem| fail(&raw.duration, "duration", &problem))?;
        let start = raw
            .start
            .map(|value| start(value.get_ref()).map_err(|problem| fail(&value, "start", &problem)));
        Ok(Manifest { name: raw.name, duration, start: start.transpose()?, note: raw.note })
    }

    /// The text of the file for a trace.
    pub(crate) fn text(trace: &Trace) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let duration = Time::ZERO + trace.duration;
        let mut text = format!("name = {}\nduration = {duration}\n", quoted(&trace.name));
        for (key, value) in [("start", &trace.start), ("note", &trace.note)] {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        text
    }
}

/// Parses the text of the number: a float would lose microseconds in long traces.
fn duration(value: &Spanned<toml::Value>, text: &str) -> Result<Span, String> {
    let digits = text.get(value.span()).unwrap_or_default().replace('_', "");
    let number = matches!(value.get_ref(), toml::Value::Integer(_) | toml::Value::Float(_));
    let end: Time = digits.parse().ok().filter(|_| number).ok_or_else(|| {
        format!("{} is not a duration; write seconds, like 86400 or 12.5", shown(&digits))
    })?;
    rules::duration(end)?;
    Ok(end.since(Time::ZERO))
}

fn start(value: &toml::Value) -> Result<String, String> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    check_start(&text).map(|()| text)
}

/// Whether this is a date and time with an offset, as RFC 3339 has it.
pub(crate) fn check_start(text: &str) -> Result<(), String> {
    let complete = text.parse::<toml::value::Datetime>().is_ok_and(|moment| {
        let seconds = moment.time.is_some_and(|time| time.second.is_some());
        moment.date.is_some() && seconds && moment.offset.is_some()
    });
    if complete {
        return Ok(());
    }
    let shown = shown(text);
    Err(format!("the start {shown} is not a date and time; write it like 2024-05-01T00:00:00Z"))
}

fn line_of(text: &str, offset: usize) -> u64 {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() as u64 + 1
}

fn wrong(path: &Path, line: u64, key: Option<&'static str>, problem: &str) -> TraceError {
    let place = Place { file: path.display().to_string(), at: At::Line(line), column: None };
    let problem = key.map_or(problem.to_owned(), |key| format!("'{key}': {problem}"));
    TraceError::Invalid { place, problem }
}
