use tidewatch_core::url::Base;

use super::*;
use crate::html::scan;
use crate::links::Links;

fn forms(html: &str) -> Vec<Form> {
    let base = Base::parse("http://a.example/dir/page?q").unwrap();
    let mut links = Links::new("tidewatch");
    scan(html, &mut links);
    links.finish(&base).forms
}

fn form(html: &str) -> Form {
    let mut all = forms(html);
    assert_eq!(all.len(), 1, "{html}");
    all.remove(0)
}

#[test]
fn options_have_values_labels_and_a_default() {
    let form = form(
        "<form><select name=a><option>One &amp; all<option value=2 selected>Two<optgroup label=g>\
         <option value=3 label=Three></select><select name=b><option value=x>X</select>\
         <select name=c multiple><option value=y>Y</select></form>",
    );
    let [a, b, c] = &form.fields[..] else { panic!("{form:?}") };
    let options: Vec<_> = a.options.iter().map(|o| (o.value.as_str(), o.label.as_str())).collect();
    assert_eq!(options, [("One & all", "One & all"), ("2", "Two"), ("3", "Three")]);
    assert_eq!((a.value.as_str(), b.value.as_str(), c.value.as_str()), ("2", "x", ""));
}

#[test]
fn labels_are_found_wherever_they_stand() {
    let form = form(
        "<label for=late>Before</label><form>Year: <input name=y type=number min=1900 max=2000 step=5>\
         <label>Author <input name=a></label><input name=t aria-label=Title placeholder='a title'>\
         <input id=late name=l><input name=bare></form>",
    );
    let said: Vec<_> = form.fields.iter().map(|field| field.label.as_str()).collect();
    assert_eq!(said, ["Year:", "Author", "Title", "Before", ""]);
    let year = &form.fields[0];
    let range = [&year.min, &year.max, &year.step].map(|bound| bound.as_deref().unwrap());
    assert_eq!(range, ["1900", "2000", "5"]);
    assert_eq!(form.fields[2].hint, "a title");
}

#[test]
fn buttons_text_areas_and_suggestions() {
    use FieldKind::{Button, Checkbox, Submit, Text, Textarea};
    let form = form(
        "<form class=big role=search><textarea name=m>\nHi <b>x</textarea><button>Find it</button>\
         <button type=button>x</button><input list=l name=s><datalist id=l><option value=v></datalist>\
         <input type=checkbox name=c checked><input type=weird name=w></form>",
    );
    let kinds: Vec<_> = form.fields.iter().map(|field| field.kind).collect();
    assert_eq!(kinds, [Textarea, Submit, Button, Text, Checkbox, Text]);
    assert_eq!(form.fields[0].value.trim(), "Hi <b>x");
    assert_eq!(form.fields[1].label, "Find it");
    assert_eq!(form.fields[3].options[0].value, "v");
    assert!(form.is_search && form.fields[4].is_checked && form.fields[4].value == "on");
    assert!(form.names.contains("big"));
}

/// A browser sends a field with the form that it names, and knows no form in a form.
#[test]
fn fields_go_to_their_form() {
    let all = forms(
        "<form id=f action=/f><input name=a><form action=/g><input name=b></form><input name=c>\
         <form id=h><input name=d></form><input name=e form=f><input name=x form=none>",
    );
    let names = |form: &Form| form.fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    assert_eq!(all.iter().map(names).collect::<Vec<_>>(), [vec!["a", "b", "e"], vec!["d"]]);
    assert_eq!(all[0].action.as_ref().unwrap().as_str(), "http://a.example/f");
}

/// A field that is not seen may be one that forbids to submit the form.
#[test]
fn a_field_before_the_form_that_it_names_marks_the_form_as_cut() {
    let cut = |html: &str| forms(html).iter().map(|form| form.is_cut).collect::<Vec<_>>();
    let html = "<input type=password form=f><form id=g></form><form id=f><input name=q></form>";
    assert_eq!(cut(html), [false, true]);
    let flood: Vec<String> = (0..1000).map(|n| format!("<input form=x{n}>")).collect();
    let html = format!("{}<form id=f></form><form></form>", flood.concat());
    assert_eq!(cut(&html), [true, false]);
}

/// Inputs may share a list of suggestions: 200 KB of HTML must not become hundreds of megabytes.
#[test]
fn copies_of_a_list_have_a_limit() {
    let label = "x".repeat(10_000);
    let options = format!("<option label={label} value=v>").repeat(MAX_OPTIONS);
    let inputs = "<input list=l>".repeat(MAX_FIELDS);
    let inputs = format!("<form>{inputs}</form>").repeat(MAX_FORMS);
    let all = forms(&format!("<datalist id=l>{options}</datalist>{inputs}"));
    let fields = || all.iter().flat_map(|form| &form.fields);
    let bytes = |choice: &Choice| choice.value.len() + choice.label.len();
    let copied: usize = fields().flat_map(|field| &field.options).map(bytes).sum();
    assert!(copied < 1 << 20, "{copied} bytes");
    let (first, last) = (fields().next().unwrap(), fields().last().unwrap());
    assert_eq!((first.options.len(), first.is_cut), (MAX_OPTIONS, false));
    assert_eq!((last.options.len(), last.is_cut), (0, true));
}

#[test]
fn floods_are_cut_and_said_to_be() {
    let many = form(&format!("<form>{}</form>", "<input name=a>".repeat(MAX_FIELDS + 1)));
    assert!(many.is_cut && many.fields.len() == MAX_FIELDS);
    let options = "<option>x".repeat(MAX_OPTIONS + 1);
    let many = form(&format!("<form><select name=a>{options}</select></form>"));
    assert!(many.fields[0].is_cut && many.fields[0].options.len() == MAX_OPTIONS);
    assert_eq!(forms(&"<form></form>".repeat(MAX_FORMS + 1)).len(), MAX_FORMS);
    let label = form(&format!("<form><label>{}<input></label></form>", "word ".repeat(100_000)));
    assert!(label.fields[0].label.len() <= 512);
    let started = std::time::Instant::now();
    forms(&"<form><label for=a><select><option>".repeat(200_000));
    assert!(started.elapsed().as_secs() < 5);
}
