//! Values of settings, to and from TOML.

use std::time::Duration;

use tidewatch_core::{Rate, Span};
use toml::Value;

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
