//! Lists the forms of HTML files, one a line, with what can be asked of them:
//! `cargo run -p tidewatch-forms --example forms_of -- page.html …`
//!
//! A page is taken to lie where its canonical link says.

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_forms::judge;
use tidewatch_parse::charset::decode;
use tidewatch_parse::html::scan;
use tidewatch_parse::links::{Links, Page};

fn page(html: &str, address: &Base) -> Page {
    let mut links = Links::new("Tidewatch");
    scan(html, &mut links);
    links.finish(address)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file)?;
        let html = decode(&bytes, None).text;
        let unknown = CanonicalUrl::parse("http://page.example/")?;
        let url = page(&html, &Base::of(&unknown)?).canonical.unwrap_or(unknown);
        let page = page(&html, &Base::of(&url)?);
        for (number, form) in page.forms.iter().enumerate() {
            let verdict = match judge(form, &url) {
                Ok(question) => format!(
                    "ask\t{}",
                    question.ask_words("tide").map_or_else(String::new, CanonicalUrl::into_string)
                ),
                Err(refusal) => format!("refuse\t{refusal}"),
            };
            let fields: Vec<String> =
                form.fields.iter().map(|f| format!("{:?} {}", f.kind, f.name)).collect();
            println!(
                "{file}\t{number}\t{verdict}\t{:?}\t{}\t{}",
                form.method,
                form.names,
                fields.join(", ")
            );
        }
    }
    Ok(())
}
