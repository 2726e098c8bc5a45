//! The crawl's log on standard error: plain lines, or JSON.

use std::time::SystemTime;

use serde_json::{Map, Value};

/// The form of log lines.
#[derive(Clone, Copy, Debug)]
pub(super) enum Log {
    /// A sentence a line.
    Plain,
    /// An object a line: `at`, `event`, `message`, and figures by name.
    Json,
}

impl Log {
    /// Logs an event: its name for programs, a sentence for people, figures for both.
    pub(super) fn say(self, event: &str, message: &str, figures: &[(&str, Value)]) {
        match self {
            Log::Plain => eprintln!("{message}"),
            Log::Json => eprintln!("{}", line(event, message, figures, SystemTime::now())),
        }
    }
}

fn line(event: &str, message: &str, figures: &[(&str, Value)], at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut fields = Map::new();
    fields.insert("at_unix_ms".into(), (since.as_millis() as u64).into());
    fields.insert("event".into(), event.into());
    fields.insert("message".into(), message.into());
    fields.extend(figures.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Value::Object(fields).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object() {
        let text = line("ready", "all \"well\"\n", &[("pages", 3.into())], SystemTime::UNIX_EPOCH);
        assert!(!text.contains('\n'));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["event"], &read["pages"]), (&"ready".into(), &3.into()));
    }
}
