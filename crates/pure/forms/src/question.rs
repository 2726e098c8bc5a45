//! A form that may be asked, and the URLs of its queries.

use encoding_rs::{Encoding, UTF_8};
use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_parse::forms::{Field, FieldKind};
use xxhash_rust::xxh3::xxh3_64;

/// A form that may be asked.
///
/// It makes URLs as a browser does (WHATWG HTML, "form submission algorithm", and URL,
/// "application/x-www-form-urlencoded"): all its inputs in order, in its encoding, and the query of its
/// address replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its address without a query.
    action: String,
    encoding: String,
    inputs: Vec<Input>,
}

/// An input that is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The default value.
    pub value: String,
    /// Which values a query may set.
    pub role: Role,
    /// Whether the form requires a value.
    pub is_required: bool,
}

/// Which values a query may set for an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Role {
    /// Any words.
    Words,
    /// One of these values.
    Choice(Vec<String>),
    /// A number within bounds.
    Number {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// Only the default.
    Fixed,
}

impl Input {
    pub(crate) fn of(field: &Field, role: Role) -> Input {
        let is_off = field.kind == FieldKind::Radio && !field.is_checked;
        let value = if is_off { String::new() } else { field.value.clone() };
        Input { name: field.name.clone(), value, role, is_required: field.is_required }
    }

    pub(crate) fn add_radio(&mut self, field: &Field) {
        if field.is_checked {
            self.value.clone_from(&field.value);
        }
        if let Role::Choice(values) = &mut self.role {
            values.push(field.value.clone());
        }
    }
}

impl Question {
    pub(crate) fn new(
        action: &CanonicalUrl,
        encoding: &'static Encoding,
        inputs: Vec<Input>,
    ) -> Question {
        let path = action.as_str().split('?').next().unwrap_or_default();
        Question { action: path.to_owned(), encoding: encoding.name().to_owned(), inputs }
    }

    /// Its inputs, in the order in which they are sent.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Its address, without a query.
    pub fn action(&self) -> &str {
        &self.action
    }

    /// The index of its text box.
    pub fn words(&self) -> Option<usize> {
        self.inputs.iter().position(|input| input.role == Role::Words)
    }

    /// A hash of its address and the names of its inputs.
    pub fn key(&self) -> u64 {
        let names = self.inputs.iter().flat_map(|input| ["\n", &input.name]);
        xxh3_64([self.action.as_str()].into_iter().chain(names).collect::<String>().as_bytes())
    }

    /// The URL that asks for words.
    pub fn ask_words(&self, words: &str) -> Option<CanonicalUrl> {
        self.ask(&[(self.words()?, words)])
    }

    /// The URL with `chosen` values for some inputs, by index. `None` if no URL can hold them.
    pub fn ask(&self, chosen: &[(usize, &str)]) -> Option<CanonicalUrl> {
        let encoding = Encoding::for_label(self.encoding.as_bytes()).unwrap_or(UTF_8);
        let mut url = self.action.clone();
        for (at, input) in self.inputs.iter().enumerate() {
            let value = chosen.iter().find(|(place, _)| *place == at).map(|(_, value)| *value);
            // A radio group without a choice sends nothing.
            if value.is_none() && input.value.is_empty() && matches!(input.role, Role::Choice(_)) {
                let Role::Choice(values) = &input.role else { continue };
                if !values.iter().any(String::is_empty) {
                    continue;
                }
            }
            url.push(if url.len() == self.action.len() { '?' } else { '&' });
            push_encoded(&mut url, &input.name, encoding);
            url.push('=');
            push_encoded(&mut url, value.unwrap_or(&input.value), encoding);
        }
        CanonicalUrl::parse(&url).ok()
    }

    /// The words or chosen values in `url`; `None` if it is no query of this form.
    pub fn asked(&self, url: &CanonicalUrl) -> Option<String> {
        let query = url.as_str().strip_prefix(self.action.as_str())?.strip_prefix('?')?;
        let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
        let is_choice = |input: &&Input| !matches!(input.role, Role::Fixed);
        let mut said = Vec::new();
        for input in self.inputs.iter().filter(is_choice) {
            let found = pairs().find(|(name, _)| decoded(name) == input.name);
            let value = found.map(|(_, value)| decoded(value)).unwrap_or_default();
            match input.role {
                _ if value.is_empty() || value == input.value && input.role != Role::Words => {}
                Role::Words => said.push(value),
                _ => said.push(format!("{} {value}", input.name)),
            }
        }
        let names =
            || self.inputs.iter().any(|input| pairs().any(|(name, _)| decoded(name) == input.name));
        (!said.is_empty() || self.words().is_none() && names()).then(|| said.join(", "))
    }
}

fn push_encoded(url: &mut String, text: &str, encoding: &'static Encoding) {
    // What the encoding lacks becomes a character reference, as in browsers.
    let (bytes, _, _) = encoding.encode(text);
    for byte in bytes.iter() {
        match byte {
            b' ' => url.push('+'),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'*' | b'-' | b'.' | b'_' => {
                url.push(char::from(*byte));
            }
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                url.push('%');
                url.push(char::from(DIGITS[usize::from(byte >> 4)]));
                url.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
}

/// Percent-decodes a piece of a query. Invalid UTF-8 becomes U+FFFD.
fn decoded(piece: &str) -> String {
    let (bytes, mut out, mut at) = (piece.as_bytes(), Vec::with_capacity(piece.len()), 0);
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
