//! The documents name only what exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::layers::root;

/// ARCHITECTURE.md is read in one go.
const MOST_WORDS: usize = 1500;

fn documents() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// Paths within the workspace that a document names in code type.
fn named_paths(text: &str) -> Vec<&str> {
    let words = text.split('`').skip(1).step_by(2);
    let words = words.flat_map(|code| code.split([' ', ':', ',']));
    words.filter(|word| word.starts_with("crates/") || word.starts_with("docs/")).collect()
}

/// Functions that a document names in code type as `FILE.rs:FUNCTION`.
fn named_functions(text: &str) -> Vec<(&str, &str)> {
    let words = text.split('`').skip(1).step_by(2);
    words.filter(|code| code.contains(".rs:")).filter_map(|code| code.rsplit_once(':')).collect()
}

/// Targets of relative links, without their anchors.
fn linked_paths(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    relative.filter_map(|target| target.split('#').next()).collect()
}

#[test]
fn named_and_linked_files_exist() {
    let documents = documents();
    assert!(documents.len() >= 8, "{documents:?}");
    let mut missing = Vec::new();
    for document in &documents {
        let text = std::fs::read_to_string(document).unwrap();
        let folder = document.parent().unwrap();
        let named = named_paths(&text).into_iter().map(|path| root().join(path));
        let linked = linked_paths(&text).into_iter().map(|path| folder.join(path));
        for path in named.chain(linked).filter(|path| !path.exists()) {
            missing.push(format!("{}: {}", document.display(), path.display()));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn architecture_names_files_and_folders_from_the_root() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let code = text.split('`').skip(1).step_by(2).filter_map(|code| code.split(':').next());
    let is_path =
        |code: &&str| code.ends_with('/') || Path::new(code).extension() == Some("rs".as_ref());
    for path in code.filter(is_path) {
        assert!(root().join(path).exists(), "{path}");
    }
}

#[test]
fn named_functions_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let functions = named_functions(&text);
    assert!(functions.len() > 10, "{functions:?}");
    for (file, function) in functions {
        let source = std::fs::read_to_string(root().join(file)).expect(file);
        assert!(has_function(&source, function), "{file} has no function {function}");
    }
}

/// Whether `source` defines a function of exactly this name.
fn has_function(source: &str, name: &str) -> bool {
    let defined = format!("fn {name}");
    let rests = source.match_indices(&defined).map(|(at, _)| &source[at + defined.len()..]);
    rests.into_iter().any(|rest| rest.starts_with(['(', '<']))
}

#[test]
fn a_longer_name_is_another_function() {
    let source = "fn seed_as() {} fn run<T>() {}";
    assert!(has_function(source, "seed_as") && has_function(source, "run"));
    assert!(!has_function(source, "seed") && !has_function(source, "ru"));
}

#[test]
fn architecture_is_short_and_names_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = text.split_whitespace().count();
    assert!(words < MOST_WORDS, "{words} words");
    for layer in ["pure", "edge", "run"] {
        for entry in std::fs::read_dir(root().join("crates").join(layer)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap();
            let is_named = text.contains(&format!("`crates/{layer}/{name}`"));
            assert!(is_named || !path.is_dir(), "crates/{layer}/{name} is not named");
        }
    }
}

/// Words that follow an option in a document.
fn named_after<'t>(text: &'t str, options: &[&str]) -> BTreeSet<&'t str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| options.contains(&pair[0]));
    pairs.map(|pair| pair[1].trim_matches(['`', '.', ',', ')'])).collect()
}

/// Whoever types the commands of a document in order must not find a crawl where a trace should be.
#[test]
fn a_name_in_a_document_is_a_crawl_or_a_trace() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let crawls = named_after(&text, &["--dir"]);
        let traces = named_after(&text, &["-o", "--trace"]);
        let both: Vec<_> = crawls.intersection(&traces).collect();
        assert!(both.is_empty(), "{}: {both:?}", document.display());
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(named_after(&readme, &["--dir"]).contains("news"));
    assert!(named_after(&readme, &["-o", "--trace"]).contains("web"));
}
