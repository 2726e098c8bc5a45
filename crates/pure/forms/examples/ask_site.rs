//! Asks the first form that may be asked on a page of this machine, and counts the records that come:
//! `cargo run --release -p tidewatch-forms --example ask_site -- http://127.0.0.1:18081/hn/items 800`
//!
//! Loopback only, and without any politeness: it is for test beds. Prints result pages, records, new records
//! lately and the size believed, after 100, 200, 400 and 800 pages and at the end.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{Span, Time};
use tidewatch_forms::{Desk, DeskLimits, judge, read_at};
use tidewatch_parse::html::scan;
use tidewatch_parse::links::Links;

/// Most bytes of an answer that are read.
const MOST_BYTES: u64 = 16 << 20;

/// The body of a page.
fn get(url: &CanonicalUrl) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", url.port()))?;
    let (path, host) = (url.path_and_query(), url.host());
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {host}:{}\r\nConnection: close\r\n\r\n",
        url.port()
    )?;
    let mut bytes = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let place = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then_some(value)
    });
    // A result page at a tidier address.
    if let Some(to) =
        place.and_then(|to| url.join(to).ok()).filter(|to| to.origin() == url.origin() && to != url)
    {
        return get(&to);
    }
    Ok(body.to_owned())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let page = CanonicalUrl::parse(&args.next().ok_or("name a page of 127.0.0.1")?)?;
    let most: u32 = args.next().map_or(Ok(800), |pages| pages.parse())?;
    if page.host() != "127.0.0.1" {
        return Err("only pages of 127.0.0.1 are asked".into());
    }
    let html = get(&page)?;
    let mut links = Links::new("Tidewatch");
    scan(&html, &mut links);
    let found = links.finish(&Base::of(&page)?);
    let mut desk = Desk::new(DeskLimits { per_day: most, forms: 1, ..DeskLimits::default() });
    for form in &found.forms {
        match judge(form, &page) {
            Ok(question) => desk.meet(&page, question),
            Err(refusal) => println!("a form is refused: {refusal}"),
        }
    }
    found.links.iter().for_each(|link| desk.hear(&link.anchor));
    found.title.iter().for_each(|title| desk.hear(title));
    let (mut asked, mut last, now) = (0, String::new(), Time::ZERO);
    while let Some(query) = desk.next(now) {
        let began = Instant::now();
        let answer = read_at(&get(&query.url)?, &query.url, desk.place_of(&query.url));
        let took = Span::from_micros(u64::try_from(began.elapsed().as_micros())?);
        let new = desk.answer(&query.url, &answer, took, now).unwrap_or(0);
        asked += 1;
        last = format!(
            "{} ({} records, {new} new, total {:?})",
            query.url,
            answer.records.len(),
            answer.total
        );
        if asked <= 3 || [100, 200, 400, 800].contains(&asked) {
            println!("{asked}\t{last}\t{:?}", desk.figures());
        }
    }
    println!("end after {asked}: {last}\t{:?}\t{:?}", desk.figures(), desk.stopped(now));
    Ok(())
}
