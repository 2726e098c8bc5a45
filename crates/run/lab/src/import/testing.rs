//! Data sets for tests.

use std::path::{Path, PathBuf};

use super::{ImportArgs, ImportError, Imported, Importer};

/// A directory with files in it, removed at the end.
pub(super) struct Files(tempfile::TempDir);

impl Files {
    /// `files` are names and contents; `|` stands for a tab.
    pub(super) fn tabs(files: &[(&str, &str)]) -> Self {
        let with_tabs: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (*name, text.replace('|', "\t"))).collect();
        Self::plain(&with_tabs)
    }

    pub(super) fn plain(files: &[(&str, impl AsRef<str>)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text.as_ref()).unwrap();
        }
        Files(dir)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn args(&self) -> ImportArgs {
        ImportArgs { path: self.path().to_owned(), ..ImportArgs::default() }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

pub(super) fn run(format: &str, args: &ImportArgs) -> Result<Imported, ImportError> {
    Importer::named(format).unwrap().run(args)
}

/// The count of a fact.
pub(super) fn fact(imported: &Imported, what: &str) -> u64 {
    let found = imported.facts.iter().find(|fact| fact.what == what);
    found.unwrap_or_else(|| panic!("no fact '{what}' in {:?}", imported.facts)).count
}
