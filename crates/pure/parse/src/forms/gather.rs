//! Gathers forms in the one pass over a page.

use encoding_rs::{Encoding, UTF_8};
use tidewatch_core::url::CanonicalUrl;

use super::{Choice, Field, FieldKind, Form, MAX_FIELDS, MAX_FORMS, MAX_OPTIONS, Method};
use crate::html::{Name, Tag, names};
use crate::links::{MAX_TEXT_BYTES, collapse};

/// Most labels and lists of suggestions kept per page.
const MAX_LABELS: usize = 256;
/// Most options read per page, and most that inputs copy from lists of suggestions.
const MAX_ALL_OPTIONS: usize = 4096;
/// Longest text of an option.
const MAX_OPTION_BYTES: usize = 128;
/// Longest text before a field that is taken for its label.
const MAX_LEAD_BYTES: usize = 64;

/// The forms of a page as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    found: Vec<Raw>,
    /// The form that is open.
    open: Option<usize>,
    /// The field whose options or text are being read: form and field.
    inside: Option<(usize, usize)>,
    /// The text that is being read for an option, a button or a text area.
    text: Option<String>,
    /// Whether that text is what its option sends.
    text_is_sent: bool,
    labels: Vec<Label>,
    /// The label that is being read.
    label: Option<Label>,
    /// Lists of suggestions by id; the last is the one being read, if `in_list`.
    lists: Vec<(String, Vec<Choice>)>,
    in_list: bool,
    options: usize,
    /// Forms that fields named before they came.
    early: Vec<String>,
    /// The text since the last field.
    lead: String,
    searches: u32,
}

/// A form as written.
#[derive(Debug)]
struct Raw {
    id: String,
    action: String,
    charset: Option<&'static Encoding>,
    /// The list that each field names.
    lists: Vec<String>,
    form: Form,
}

/// A label: the id of its field, or the fields inside it.
#[derive(Debug, Default)]
struct Label {
    of: Option<String>,
    around: Vec<(usize, usize)>,
    text: String,
}

fn attribute(tag: &Tag<'_>, name: &str) -> String {
    tag.value(name).map(|value| collapse(&value)).unwrap_or_default()
}

fn push(into: &mut String, text: &str, most: usize) {
    if into.len() < most {
        into.push_str(&text[..text.floor_char_boundary(most)]);
    }
}

fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

impl Raw {
    fn of(tag: &Tag<'_>, is_in_search: bool) -> Raw {
        let said = ["id", "name", "class", "role", "aria-label", "data-testid"];
        let names: Vec<String> = said.iter().map(|name| attribute(tag, name)).collect();
        let enctype = attribute(tag, "enctype").to_ascii_lowercase();
        let usual = "application/x-www-form-urlencoded";
        let charset = attribute(tag, "accept-charset");
        let charset = charset.split([' ', ',']).next().unwrap_or_default();
        Raw {
            id: attribute(tag, "id"),
            action: tag.value("action").unwrap_or_default().trim().to_owned(),
            charset: Encoding::for_label(charset.as_bytes()),
            lists: Vec::new(),
            form: Form {
                action: None,
                method: Method::of(&attribute(tag, "method")),
                enctype: if enctype.is_empty() { usual.to_owned() } else { enctype },
                encoding: UTF_8,
                names: collapse(&names.join(" ")),
                text: String::new(),
                is_search: is_in_search || attribute(tag, "role").eq_ignore_ascii_case("search"),
                fields: Vec::new(),
                is_cut: false,
            },
        }
    }
}

fn field_of(tag: &Tag<'_>, kind: FieldKind) -> Field {
    let has = |name: &str| tag.attribute(name).is_some();
    let bound = |name: &str| tag.value(name).map(|value| collapse(&value));
    let label = ["aria-label", "title"].map(|name| attribute(tag, name));
    let usual = if matches!(kind, FieldKind::Checkbox | FieldKind::Radio) { "on" } else { "" };
    Field {
        name: attribute(tag, "name"),
        id: attribute(tag, "id"),
        kind,
        // A value is sent as written, but for its length.
        value: tag.value("value").map_or(usual.into(), |value| cut(&value, MAX_TEXT_BYTES)),
        label: label.into_iter().find(|label| !label.is_empty()).unwrap_or_default(),
        hint: attribute(tag, "placeholder"),
        options: Vec::new(),
        min: bound("min"),
        max: bound("max"),
        step: bound("step"),
        autocomplete: attribute(tag, "autocomplete").to_ascii_lowercase(),
        is_required: has("required") || attribute(tag, "aria-required") == "true",
        is_checked: has("checked"),
        is_disabled: has("disabled"),
        is_multiple: has("multiple"),
        is_cut: false,
        method: tag.value("formmethod").map(|method| Method::of(&method)),
        is_detour: has("formaction"),
    }
}

impl Forms {
    /// An element starts.
    pub(crate) fn open(&mut self, tag: &Tag<'_>) {
        match tag.name {
            names::FORM => self.open_form(tag),
            names::INPUT => {
                let kind = FieldKind::of_input(attribute(tag, "type").as_str());
                self.field(tag, kind);
            }
            names::SELECT => self.around(tag, FieldKind::Select),
            names::TEXTAREA => self.around(tag, FieldKind::Textarea),
            names::BUTTON => {
                let kind = match FieldKind::of_input(&attribute(tag, "type")) {
                    kind @ (FieldKind::Reset | FieldKind::Button) => kind,
                    _ => FieldKind::Submit,
                };
                self.around(tag, kind);
            }
            names::OPTION => self.option(tag),
            names::DATALIST if !tag.is_leaf && self.lists.len() < MAX_LABELS => {
                self.lists.push((attribute(tag, "id"), Vec::new()));
                self.in_list = true;
            }
            names::LABEL if !tag.is_leaf => {
                let of = tag.value("for").map(|of| collapse(&of));
                self.label = Some(Label { of, ..Label::default() });
            }
            names::SEARCH if !tag.is_leaf => self.searches += 1,
            name if self.is_reading() && crate::html::is_block(name) => self.gather(" "),
            _ => {}
        }
    }

    /// A piece of text.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        if self.is_reading() {
            self.gather(text);
        }
    }

    #[inline]
    fn is_reading(&self) -> bool {
        self.open.is_some() || self.text.is_some() || self.label.is_some()
    }

    fn gather(&mut self, text: &str) {
        if let Some(own) = &mut self.text {
            return push(own, text, MAX_TEXT_BYTES);
        }
        if self.inside.is_some() {
            return;
        }
        if let Some(label) = &mut self.label {
            return push(&mut label.text, text, MAX_TEXT_BYTES);
        }
        let Some(open) = self.open else { return };
        push(&mut self.found[open].form.text, text, 4 * MAX_TEXT_BYTES);
        if self.lead.len() + text.len() > 4 * MAX_LEAD_BYTES {
            self.lead.clear();
        }
        push(&mut self.lead, text, 4 * MAX_LEAD_BYTES);
    }

    /// An element ends.
    pub(crate) fn close(&mut self, name: Name) {
        match name {
            names::FORM => self.open = None,
            names::OPTION => self.end_option(),
            names::SELECT => self.inside = None,
            names::TEXTAREA | names::BUTTON => self.end_text(),
            names::DATALIST => self.in_list = false,
            names::LABEL => {
                let label = self.label.take().filter(|_| self.labels.len() < MAX_LABELS);
                self.labels.extend(label);
            }
            names::SEARCH => self.searches = self.searches.saturating_sub(1),
            _ => {}
        }
    }

    /// A form inside another is none, by the standard.
    fn open_form(&mut self, tag: &Tag<'_>) {
        if self.open.is_some() || self.found.len() >= MAX_FORMS {
            return;
        }
        self.open = (!tag.is_leaf).then_some(self.found.len());
        self.lead.clear();
        let mut raw = Raw::of(tag, self.searches > 0);
        raw.form.is_cut = self.was_named_early(&raw.id);
        self.found.push(raw);
    }

    /// Whether a field that was dropped may belong to the form with this id.
    fn was_named_early(&self, id: &str) -> bool {
        let is_full = self.early.len() >= MAX_LABELS;
        !id.is_empty() && (is_full || self.early.iter().any(|early| early == id))
    }

    /// The form that a field belongs to. One that comes later is noted as cut.
    fn owner(&mut self, tag: &Tag<'_>) -> Option<usize> {
        let Some(id) = tag.value("form").map(|id| collapse(&id)) else { return self.open };
        let owner = self.found.iter().position(|form| form.id == id);
        if owner.is_none() && self.early.len() < MAX_LABELS {
            self.early.push(id);
        }
        owner
    }

    /// Adds a field; returns its place, or `None` if it belongs to no form that is kept.
    fn field(&mut self, tag: &Tag<'_>, kind: FieldKind) -> Option<(usize, usize)> {
        let form = self.owner(tag)?;
        let raw = &mut self.found[form];
        if raw.form.fields.len() >= MAX_FIELDS {
            raw.form.is_cut = true;
            return None;
        }
        let mut field = field_of(tag, kind);
        let lead = collapse(&std::mem::take(&mut self.lead));
        if field.label.is_empty() && !kind.is_button() && lead.len() <= MAX_LEAD_BYTES {
            field.label = lead;
        }
        raw.lists.push(attribute(tag, "list"));
        raw.form.fields.push(field);
        let place = (form, raw.form.fields.len() - 1);
        if let Some(label) = &mut self.label {
            label.around.push(place);
        }
        Some(place)
    }

    /// Adds a field with an inside: options, or text that is its value.
    fn around(&mut self, tag: &Tag<'_>, kind: FieldKind) {
        let place = self.field(tag, kind);
        if tag.is_leaf {
            return;
        }
        self.inside = place;
        let has_text = kind != FieldKind::Select && place.is_some();
        self.text = has_text.then(String::new);
    }

    fn end_text(&mut self) {
        let (Some((form, field)), Some(text)) = (self.inside.take(), self.text.take()) else {
            return;
        };
        let field = &mut self.found[form].form.fields[field];
        match field.kind {
            FieldKind::Textarea => field.value = text,
            _ if field.label.is_empty() => field.label = collapse(&text),
            _ => {}
        }
    }

    fn option(&mut self, tag: &Tag<'_>) {
        self.end_option();
        let Some(into) = self.choices() else { return };
        let is_full = into.len() >= MAX_OPTIONS;
        if is_full || self.options >= MAX_ALL_OPTIONS {
            if let Some((form, field)) = self.inside {
                self.found[form].form.fields[field].is_cut = true;
            }
            return;
        }
        self.options += 1;
        let value = tag.value("value").map(|value| cut(&value, MAX_OPTION_BYTES));
        let label = cut(&attribute(tag, "label"), MAX_OPTION_BYTES);
        let is_selected = tag.attribute("selected").is_some();
        self.text_is_sent = value.is_none();
        let choice = Choice { value: value.unwrap_or_default(), label, is_selected };
        if let Some(into) = self.choices() {
            into.push(choice);
        }
        self.text = (!tag.is_leaf).then(String::new);
    }

    fn choices(&mut self) -> Option<&mut Vec<Choice>> {
        if self.in_list {
            return self.lists.last_mut().map(|(_, options)| options);
        }
        let (form, field) = self.inside?;
        let field = &mut self.found[form].form.fields[field];
        (field.kind == FieldKind::Select).then_some(&mut field.options)
    }

    fn end_option(&mut self) {
        let is_option = self.in_list || self.inside.is_some_and(|place| self.is_select(place));
        let Some(text) = self.text.take_if(|_| is_option) else { return };
        let (shown, is_sent) = (collapse(&text), self.text_is_sent);
        let Some(choice) = self.choices().and_then(|options| options.last_mut()) else { return };
        if is_sent {
            choice.value = cut(&shown, MAX_OPTION_BYTES);
        }
        if choice.label.is_empty() {
            choice.label = cut(&shown, MAX_OPTION_BYTES);
        }
    }

    fn is_select(&self, (form, field): (usize, usize)) -> bool {
        self.found[form].form.fields[field].kind == FieldKind::Select
    }

    /// The forms of a page in `encoding`, with their addresses resolved by `join`.
    pub(crate) fn finish(
        mut self,
        encoding: &'static Encoding,
        join: impl Fn(&str) -> Option<CanonicalUrl>,
    ) -> Vec<Form> {
        self.end_text();
        let labels = self.labels.drain(..).chain(self.label.take()).collect::<Vec<_>>();
        for label in &labels {
            let text = collapse(&label.text);
            let named = label.of.as_ref().and_then(|id| self.field_by_id(id));
            for (form, field) in named.into_iter().chain(label.around.iter().copied()) {
                let field = &mut self.found[form].form.fields[field];
                if !text.is_empty() && !field.kind.is_button() {
                    field.label.clone_from(&text);
                }
            }
        }
        let mut lists = Lists { lists: self.lists, left: MAX_ALL_OPTIONS };
        self.found.into_iter().map(|raw| raw.finish(encoding, &mut lists, &join)).collect()
    }

    fn field_by_id(&self, id: &str) -> Option<(usize, usize)> {
        let mut fields = self.found.iter().enumerate().flat_map(|(at, raw)| {
            raw.form.fields.iter().enumerate().map(move |(field, of)| (at, field, of))
        });
        fields.find(|(.., field)| !id.is_empty() && field.id == id).map(|(at, of, _)| (at, of))
    }
}

impl Raw {
    fn finish(
        self,
        encoding: &'static Encoding,
        lists: &mut Lists,
        join: &impl Fn(&str) -> Option<CanonicalUrl>,
    ) -> Form {
        let mut form = self.form;
        form.action = join(&self.action);
        form.encoding = self.charset.unwrap_or(encoding).output_encoding();
        form.text = collapse(&form.text);
        for (field, list) in form.fields.iter_mut().zip(&self.lists) {
            if field.kind == FieldKind::Select && !field.is_multiple {
                field.value = chosen(&field.options);
            } else if !list.is_empty() {
                lists.suggest(list, field);
            }
        }
        form
    }
}

/// The lists of suggestions of a page. Many inputs may name the same one, so copies have a limit too.
struct Lists {
    lists: Vec<(String, Vec<Choice>)>,
    /// Options that may still be copied.
    left: usize,
}

impl Lists {
    /// Gives a field the options of the list that it names.
    fn suggest(&mut self, list: &str, field: &mut Field) {
        let Some((_, options)) = self.lists.iter().find(|(id, _)| id == list) else { return };
        match self.left.checked_sub(options.len()) {
            Some(left) => {
                self.left = left;
                field.options.clone_from(options);
            }
            None => field.is_cut = true,
        }
    }
}

/// What a list sends if nobody changes it: the last option that is selected, or the first.
fn chosen(options: &[Choice]) -> String {
    let chosen = options.iter().rfind(|option| option.is_selected).or(options.first());
    chosen.map(|option| option.value.clone()).unwrap_or_default()
}
