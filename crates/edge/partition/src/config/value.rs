//! Values of settings, to and from TOML.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use tidewatch_core::{Rate, Span};
use tidewatch_robots::Use;
use toml::Value;

use crate::scope::{FileType, ListedHost, Reach, UrlPattern};
use crate::topic::{Example, Language};

/// A type that a setting can have.
pub(super) trait Setting: Sized {
    /// Takes over `value`; the error says what is accepted.
    fn read(&mut self, value: &Value) -> Result<(), &'static str>;
    /// The value as TOML.
    fn show(&self) -> String;
}

fn put<T>(into: &mut T, value: Option<T>, wanted: &'static str) -> Result<(), &'static str> {
    *into = value.ok_or(wanted)?;
    Ok(())
}

impl Setting for String {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        put(self, value.as_str().map(str::to_owned), "text in quotes")
    }

    fn show(&self) -> String {
        Value::String(self.clone()).to_string()
    }
}

impl Setting for bool {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        put(self, value.as_bool(), "true or false")
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for Span {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        let span = value.as_str().and_then(|text| text.parse().ok());
        put(self, span, "a time such as \"90s\", \"30m\" or \"7d\"")
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Setting for Duration {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        let mut span = Span::ZERO;
        span.read(value)?;
        *self = Duration::from_micros(span.as_micros());
        Ok(())
    }

    fn show(&self) -> String {
        Span::from_micros(u64::try_from(self.as_micros()).unwrap_or(u64::MAX)).show()
    }
}

impl Setting for Rate {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        let rate = value.as_str().and_then(|text| text.parse().ok());
        put(self, rate, "a rate such as \"5/s\", \"300/min\" or \"2/h\"")
    }

    fn show(&self) -> String {
        format!("\"{}/s\"", self.as_per_second())
    }
}

macro_rules! whole_number {
    ($($number:ty),*) => {$(
        impl Setting for $number {
            fn read(&mut self, value: &Value) -> Result<(), &'static str> {
                let number = value.as_integer().and_then(|number| number.try_into().ok());
                put(self, number, "a whole number, not below 0 and not too large")
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

whole_number!(u16, u32, u64, usize);

impl Setting for Reach {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        let reach = value.as_str().and_then(|text| text.parse().ok());
        put(self, reach, "\"host\", \"domain\", \"everything\" or \"rules\"")
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

/// Something that a list of settings holds.
trait Item: FromStr + Display {
    const WANTED: &'static str;
}

impl Item for UrlPattern {
    const WANTED: &'static str = "a list of patterns such as [\"/docs/*\", \"*.pdf\"]";
}

impl Item for ListedHost {
    const WANTED: &'static str = "a list of hosts such as [\"a.example\", \"*.b.example\"]";
}

impl Item for FileType {
    const WANTED: &'static str = "a list of file types: html, pdf, text, xml, json, office, image, \
                                  audio, video, style, script, font, archive";
}

impl Item for Use {
    const WANTED: &'static str = "a list of uses: search, archive, ai-input, train-ai";
}

impl Item for Example {
    const WANTED: &'static str = "a list of files and URLs, none empty";
}

impl Item for Language {
    const WANTED: &'static str = "a list of languages by ISO code, such as [\"en\", \"deu\"]";
}

impl<T: Item> Setting for Vec<T> {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        let item = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let items = value.as_array().and_then(|list| list.iter().map(item).collect());
        put(self, items, T::WANTED)
    }

    fn show(&self) -> String {
        Value::Array(self.iter().map(|item| Value::String(item.to_string())).collect()).to_string()
    }
}
