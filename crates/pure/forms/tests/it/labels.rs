//! Forms of real pages, labelled by reading them: which of them may be asked.
//!
//! `labels.tsv` names every form of the pages by the page's file and its number on the page, and says what a
//! reader takes it for: a `search` of the site itself, a search that is sent `elsewhere`, or something `other`
//! (log in, subscribe, choose a language, a box without a name that scripts read). One reader labelled them,
//! most of them before the rules were written and those of eight services after; and the pages are terms and
//! policies, of which each comes several times. So figures are given for forms and for kinds of forms.

use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_forms::judge;
use tidewatch_parse::charset::decode;
use tidewatch_parse::forms::Form;
use tidewatch_parse::html::scan;
use tidewatch_parse::links::{Links, Page};
use tidewatch_testing::suites::data;

const LABELS: &str = include_str!("labels.tsv");
/// The aims: a wrong submission harms others, a search that is missed only costs pages.
const PRECISION: f64 = 0.98;
const RECALL: f64 = 0.8;
/// Bytes of a block of a tar file.
const BLOCK: usize = 512;

/// The pages of the data set, by file name without `.html`.
fn pages() -> Option<HashMap<String, Vec<u8>>> {
    let file = std::fs::File::open(data("ota_html_pairs/html.tar.xz")?).unwrap();
    let mut tar = Vec::new();
    lzma_rust2::XzReader::new(std::io::BufReader::new(file), true).read_to_end(&mut tar).unwrap();
    let (mut pages, mut at) = (HashMap::new(), 0);
    while tar.get(at).is_some_and(|byte| *byte != 0) {
        let text = |range: std::ops::Range<usize>| {
            let field = &tar[at + range.start..at + range.end];
            String::from_utf8_lossy(field).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&text(124..136), 8).unwrap();
        let name = text(0..100);
        if let Some(name) = name.rsplit('/').next().and_then(|name| name.strip_suffix(".html")) {
            pages.insert(name.to_owned(), tar[at + BLOCK..at + BLOCK + size].to_vec());
        }
        at += BLOCK + size.next_multiple_of(BLOCK);
    }
    Some(pages)
}

fn read(html: &str, url: &CanonicalUrl) -> Page {
    let mut links = Links::new("Tidewatch");
    scan(html, &mut links);
    links.finish(&Base::of(url).unwrap())
}

/// The forms of a page, and where it lies: where its canonical link says.
fn forms(bytes: &[u8]) -> (Vec<Form>, CanonicalUrl) {
    let html = decode(bytes, None).text;
    let unknown = CanonicalUrl::parse("http://page.example/").unwrap();
    let url = read(&html, &unknown).canonical.unwrap_or(unknown);
    (read(&html, &url).forms, url)
}

#[derive(Default)]
struct Counts {
    right: u32,
    wrong: u32,
    missed: u32,
    refused: u32,
}

impl Counts {
    fn count(&mut self, is_asked: bool, is_search: bool) {
        *match (is_asked, is_search) {
            (true, true) => &mut self.right,
            (true, false) => &mut self.wrong,
            (false, true) => &mut self.missed,
            (false, false) => &mut self.refused,
        } += 1;
    }

    fn judge(&self, what: &str) {
        let precision = f64::from(self.right) / f64::from((self.right + self.wrong).max(1));
        let recall = f64::from(self.right) / f64::from((self.right + self.missed).max(1));
        eprintln!(
            "{what}: asked {} rightly, {} wrongly; missed {}; refused {} rightly; precision {precision:.3}, \
             recall {recall:.3}",
            self.right, self.wrong, self.missed, self.refused
        );
        assert!(precision >= PRECISION && recall >= RECALL, "{what}: {precision} {recall}");
    }
}

#[test]
fn searches_are_told_from_other_forms() {
    let Some(pages) = pages() else { return };
    let (mut all, mut kinds, mut read) = (Counts::default(), BTreeSet::new(), HashMap::new());
    for line in LABELS.lines().skip(1) {
        let [page, number, label] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (forms, url) = read.entry(page).or_insert_with(|| forms(&pages[page]));
        let form =
            forms.get(number.parse::<usize>().unwrap()).unwrap_or_else(|| panic!("no form {line}"));
        let (verdict, is_search) = (judge(form, url), label == "search");
        let is_asked = verdict.is_ok();
        all.count(is_asked, is_search);
        if is_asked != is_search {
            eprintln!(
                "{line}: {:?} {:?}",
                verdict.map(|question| question.action().to_owned()),
                form.names
            );
        }
        let fields: Vec<_> =
            form.fields.iter().map(|field| (field.kind, field.name.len())).collect();
        let action = form.action.as_ref().map(|action| action.path().to_owned());
        let kind = format!("{} {action:?} {fields:?}", url.host());
        kinds.insert((kind, is_asked, is_search));
    }
    let mut of_kinds = Counts::default();
    kinds.iter().for_each(|(_, is_asked, is_search)| of_kinds.count(*is_asked, *is_search));
    all.judge("forms");
    of_kinds.judge("kinds of forms");
}
