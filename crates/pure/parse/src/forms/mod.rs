//! A page's forms: where they send what, and what may be filled in.
//!
//! [`Forms`] gathers them in the one pass over a page and resolves labels at its end, because a
//! `<label for>` may stand before or after its field. Fields inside a form belong to it, and so do
//! later fields elsewhere that name it by `form=`. What a form may be asked is judged elsewhere (crate
//! `tidewatch-forms`).
//!
//! Bounded: [`MAX_FORMS`] forms of [`MAX_FIELDS`] fields, [`MAX_OPTIONS`] options a field. A form
//! that was cut says so, because a field that is not seen may be one that forbids to submit it.

mod gather;

use encoding_rs::Encoding;
use serde::{Serialize, Serializer};
use tidewatch_core::url::CanonicalUrl;

pub(crate) use self::gather::Forms;

/// Most forms kept per page.
pub const MAX_FORMS: usize = 32;
/// Most fields kept per form.
pub const MAX_FIELDS: usize = 64;
/// Most options kept per field.
pub const MAX_OPTIONS: usize = 256;

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Form {
    /// Its action URL.
    #[serde(serialize_with = "maybe_url")]
    pub action: Option<CanonicalUrl>,
    /// How it is sent.
    pub method: Method,
    /// How a POST is encoded, in lower case; the standard's default if it says nothing.
    pub enctype: String,
    /// The encoding of its values: its `accept-charset`, or that of the page.
    #[serde(serialize_with = "encoding_name")]
    pub encoding: &'static Encoding,
    /// Its id, name, classes, role and label, as written: they often say what it is for.
    pub names: String,
    /// The words in it besides labels and options, white space collapsed.
    pub text: String,
    /// Whether it has the role of a search.
    pub is_search: bool,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Whether fields were dropped: at the limit, or because they came before the form that they name.
    pub is_cut: bool,
}

/// How a form is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// In the query of a URL.
    Get,
    /// In the body of a request.
    Post,
    /// Not at all: it closes a dialog.
    Dialog,
}

impl Method {
    /// The method of a `method` or `formmethod` attribute.
    pub(crate) fn of(written: &str) -> Method {
        match written {
            _ if written.eq_ignore_ascii_case("post") => Method::Post,
            _ if written.eq_ignore_ascii_case("dialog") => Method::Dialog,
            _ => Method::Get,
        }
    }
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools)] // Each is an attribute.
pub struct Field {
    /// Its name; may be empty.
    pub name: String,
    /// Its id; may be empty.
    pub id: String,
    /// Its type.
    pub kind: FieldKind,
    /// What is sent if nobody changes it.
    pub value: String,
    /// Its label: that of the page, or the nearest text before it.
    pub label: String,
    /// Its placeholder.
    pub hint: String,
    /// The values to choose from; suggestions of an input with a list.
    pub options: Vec<Choice>,
    /// Least value, as written.
    pub min: Option<String>,
    /// Greatest value, as written.
    pub max: Option<String>,
    /// The step between values, as written.
    pub step: Option<String>,
    /// Its `autocomplete`, in lower case.
    pub autocomplete: String,
    /// Whether it must be filled in.
    pub is_required: bool,
    /// Whether a checkbox or radio button is on.
    pub is_checked: bool,
    /// Whether it is not sent.
    pub is_disabled: bool,
    /// Whether several values may be sent.
    pub is_multiple: bool,
    /// Whether options were dropped at the limit.
    pub is_cut: bool,
    /// The method of a button that overrules its form's.
    pub method: Option<Method>,
    /// Whether a button sends the form to another address.
    pub is_detour: bool,
}

/// A value that a field offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What a reader sees.
    pub label: String,
    /// Whether it is chosen from the start.
    pub is_selected: bool,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The type of a field.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        pub enum FieldKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl FieldKind {
            /// The type of an input; one that the standard does not know is a text.
            pub(crate) fn of_input(written: &str) -> FieldKind {
                let known = [$((FieldKind::$kind, $name),)*].into_iter();
                let is_input = |kind| !matches!(kind, FieldKind::Select | FieldKind::Textarea);
                let mut known = known.filter(|(kind, _)| is_input(*kind));
                let found = known.find(|(_, name)| written.eq_ignore_ascii_case(name));
                found.map_or(FieldKind::Text, |(kind, _)| kind)
            }
        }
    };
}

kinds! {
    /// One line of text.
    Text = "text",
    /// Words to search for.
    Search = "search",
    /// Sent as it is, and not shown.
    Hidden = "hidden",
    /// A password.
    Password = "password",
    /// A file.
    File = "file",
    /// A mail address.
    Email = "email",
    /// A telephone number.
    Tel = "tel",
    /// A URL.
    Url = "url",
    /// A number.
    Number = "number",
    /// A number on a scale.
    Range = "range",
    /// A day.
    Date = "date",
    /// A month.
    Month = "month",
    /// A week.
    Week = "week",
    /// A time of day.
    Time = "time",
    /// A day and time.
    DatetimeLocal = "datetime-local",
    /// A colour.
    Color = "color",
    /// On or off.
    Checkbox = "checkbox",
    /// One of several of the same name.
    Radio = "radio",
    /// A button that sends the form.
    Submit = "submit",
    /// A picture that sends the form.
    Image = "image",
    /// A button that clears the form.
    Reset = "reset",
    /// A button for scripts.
    Button = "button",
    /// One of a list.
    Select = "select",
    /// Several lines of text.
    Textarea = "textarea",
}

impl FieldKind {
    /// Whether it is a button of any kind.
    pub fn is_button(self) -> bool {
        matches!(self, Self::Submit | Self::Image | Self::Reset | Self::Button)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The signature is serde's.
fn encoding_name<S: Serializer>(encoding: &&'static Encoding, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(encoding.name())
}

#[allow(clippy::ref_option)] // The signature is serde's.
fn maybe_url<S: Serializer>(url: &Option<CanonicalUrl>, to: S) -> Result<S::Ok, S::Error> {
    match url {
        Some(url) => to.serialize_some(url.as_str()),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
