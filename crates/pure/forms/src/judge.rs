//! Which forms may be asked.
//!
//! A wrong submission harms others, so a form must pass every rule, and what is not known to be a search is
//! refused. Rules in order: how and where it is sent; what its fields ask for; what its words say; whether
//! something is left to search by.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_parse::forms::{Field, FieldKind, Form, Method};

use crate::lexicon::{
    asks_for, clear_purpose, is_presentation, is_token, may_name_box, names_box, purpose,
    says_search,
};
use crate::question::{Input, Question, Role};
use crate::refusal::Refusal;

/// Evidence that is enough to call a form a search.
const ENOUGH: u32 = 2;

/// The question that a form of `page` lets one ask, or why it must not be asked.
pub fn judge(form: &Form, page: &CanonicalUrl) -> Result<Question, Refusal> {
    let action = address(form, page)?;
    form.fields.iter().try_for_each(harmless)?;
    speaks_of_nothing_else(form, action)?;
    let inputs = inputs(form);
    let has = |is_it: fn(&Role) -> bool| inputs.iter().any(|input| is_it(&input.role));
    if !has(|role| !matches!(role, Role::Fixed)) {
        return Err(Refusal::NothingToAsk);
    }
    if evidence(form, action) < ENOUGH {
        return Err(Refusal::NotASearch);
    }
    let is_unfilled = |input: &Input| {
        matches!(input.role, Role::Fixed) && input.is_required && input.value.is_empty()
    };
    if inputs.iter().any(is_unfilled) {
        return Err(Refusal::Required);
    }
    Ok(Question::new(action, form.encoding, inputs))
}

/// Where a form is sent by GET, if that is on its own host.
fn address<'f>(form: &'f Form, page: &CanonicalUrl) -> Result<&'f CanonicalUrl, Refusal> {
    let is_sent = |field: &&Field| field.kind.is_button();
    let mut buttons = form.fields.iter().filter(is_sent);
    if form.method != Method::Get
        || buttons.clone().any(|b| b.method.is_some_and(|m| m != Method::Get))
    {
        return Err(Refusal::NotGet);
    }
    if form.is_cut {
        return Err(Refusal::TooLarge);
    }
    if buttons.any(|button| button.is_detour) {
        return Err(Refusal::Detour);
    }
    let action = form.action.as_ref().ok_or(Refusal::NoAddress)?;
    if action.origin() == page.origin() { Ok(action) } else { Err(Refusal::OtherHost) }
}

/// Whether a field may stand in a form that is asked.
fn harmless(field: &Field) -> Result<(), Refusal> {
    match field.kind {
        FieldKind::Password => return Err(Refusal::Password),
        FieldKind::File => return Err(Refusal::File),
        FieldKind::Email => return Err(Refusal::Mail),
        FieldKind::Tel => return Err(Refusal::Telephone),
        FieldKind::Textarea => return Err(Refusal::Message),
        FieldKind::Hidden if is_token(&field.name, &field.value) => return Err(Refusal::Token),
        FieldKind::Hidden => return asks_for(&field.name).map_or(Ok(()), Err),
        _ => {}
    }
    let fill = field.autocomplete.split_ascii_whitespace().find_map(|word| match word {
        "current-password" | "new-password" | "one-time-code" => Some(Refusal::Password),
        "email" => Some(Refusal::Mail),
        "username" => Some(Refusal::Person),
        word if word.starts_with("tel") => Some(Refusal::Telephone),
        word if word.starts_with("cc-") => Some(Refusal::Payment),
        word if word.ends_with("name")
            || word.starts_with("bday")
            || word.starts_with("street") =>
        {
            Some(Refusal::Person)
        }
        _ => None,
    });
    let is_text = matches!(
        field.kind,
        FieldKind::Text | FieldKind::Search | FieldKind::Url | FieldKind::Number
    );
    let said = [&field.name, &field.id, &field.label, &field.hint];
    let said = said.into_iter().filter(|_| is_text).find_map(|text| asks_for(text));
    fill.or(said).map_or(Ok(()), Err)
}

/// Whether names, address, hidden fields and buttons say nothing of another purpose.
fn speaks_of_nothing_else(form: &Form, action: &CanonicalUrl) -> Result<(), Refusal> {
    let said = [form.names.as_str(), action.path()].into_iter().find_map(purpose);
    let of_field = |field: &Field| {
        let named = purpose(&field.name);
        match field.kind {
            FieldKind::Hidden => named.or_else(|| purpose(&field.value)),
            kind if kind.is_button() => {
                named.or_else(|| purpose(&field.value)).or_else(|| purpose(&field.label))
            }
            FieldKind::Text => {
                named.or_else(|| clear_purpose(&field.label)).or_else(|| clear_purpose(&field.hint))
            }
            _ => named.or_else(|| purpose(&field.label)),
        }
    };
    let said = said
        .or_else(|| form.fields.iter().find_map(of_field))
        .or_else(|| clear_purpose(&form.text));
    said.map_or(Ok(()), |purpose| Err(Refusal::Purpose(purpose)))
}

/// How much says that a form searches.
fn evidence(form: &Form, action: &CanonicalUrl) -> u32 {
    let texts = || form.fields.iter().filter(|field| is_box(field));
    let any = |is_it: &dyn Fn(&Field) -> bool| texts().any(is_it);
    let strong = [
        form.is_search,
        any(&|field| field.kind == FieldKind::Search),
        any(&|field| names_box(&field.name)),
    ];
    let weak = [
        says_search(&form.names),
        says_search(action.path()),
        any(&|field| may_name_box(&field.name)),
        any(&|field| {
            says_search(&field.label) || says_search(&field.hint) || says_search(&field.id)
        }),
        form.fields.iter().any(|field| {
            field.kind.is_button() && (says_search(&field.label) || says_search(&field.value))
        }),
        says_search(&form.text),
    ];
    let count = |all: &[bool]| all.iter().filter(|is_so| **is_so).count() as u32;
    2 * count(&strong) + count(&weak)
}

/// Whether a field is one line of text that is sent.
fn is_box(field: &Field) -> bool {
    let is_text = matches!(field.kind, FieldKind::Text | FieldKind::Search);
    is_text && !field.name.is_empty() && !field.is_disabled
}

/// What a browser would send, in order, and what of it may be chosen.
fn inputs(form: &Form) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::new();
    let the_box = the_box(form);
    let button =
        form.fields.iter().position(|field| field.kind == FieldKind::Submit && !field.is_disabled);
    for (at, field) in form.fields.iter().enumerate() {
        if field.name.is_empty() || field.is_disabled {
            continue;
        }
        if field.kind == FieldKind::Radio
            && let Some(group) = inputs.iter_mut().find(|input| input.name == field.name)
        {
            group.add_radio(field);
            continue;
        }
        let is_sent = match field.kind {
            FieldKind::Checkbox => field.is_checked,
            kind if kind.is_button() => Some(at) == button,
            _ => true,
        };
        if is_sent {
            inputs.push(Input::of(field, role(field, Some(at) == the_box)));
        }
    }
    inputs
}

/// The box for words: the one that says so loudest.
fn the_box(form: &Form) -> Option<usize> {
    let loudness = |field: &Field| {
        u32::from(names_box(&field.name)) * 4
            + u32::from(field.kind == FieldKind::Search) * 4
            + u32::from(says_search(&field.label) || says_search(&field.hint)) * 2
            + u32::from(may_name_box(&field.name))
    };
    let boxes = form.fields.iter().enumerate().filter(|(_, field)| is_box(field));
    let found = boxes.clone().max_by_key(|(at, field)| (loudness(field), std::cmp::Reverse(*at)));
    let is_only = boxes.count() == 1;
    found.filter(|(_, field)| is_only || loudness(field) > 0).map(|(at, _)| at)
}

/// What may be filled into a field.
fn role(field: &Field, is_words: bool) -> Role {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.trim().parse().ok());
    match field.kind {
        _ if is_words => Role::Words,
        _ if is_presentation(&field.name) => Role::Fixed,
        FieldKind::Select if !field.is_multiple && !field.is_cut && field.options.len() > 1 => {
            Role::Choice(field.options.iter().map(|option| option.value.clone()).collect())
        }
        FieldKind::Radio => Role::Choice(vec![field.value.clone()]),
        FieldKind::Number | FieldKind::Range => match (number(&field.min), number(&field.max)) {
            (Some(min), Some(max)) if min < max => Role::Number { min, max },
            _ => Role::Fixed,
        },
        _ => Role::Fixed,
    }
}
