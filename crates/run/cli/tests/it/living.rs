//! A living web for the built command: served here, found through a file of hosts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tidewatch_archive::{check, read_at};
use tidewatch_store::{Memory, Store};
use tidewatch_testing::living;
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::tool::Folder;

/// A web, and a folder with the settings and seeds to crawl it.
pub(crate) struct Living {
    pub(crate) folder: Folder,
    pub(crate) server: WebServer,
    _runtime: Runtime,
}

impl Living {
    /// Hosts with as many pages each; the crawler may ask each ten times a second.
    pub(crate) fn serve(hosts: usize, pages_each: usize) -> Living {
        let runtime = Runtime::new().unwrap();
        let web = living::web(hosts, hosts * pages_each);
        let server = living::serve(&runtime, &web, 5, WebHabits::faultless());
        let folder = Folder::with(&[]);
        let living = Living { folder, server, _runtime: runtime };
        living.write_files();
        living
    }

    fn write_files(&self) {
        let (mut hosts, mut seeds) = (String::new(), String::new());
        for (name, at) in self.server.names().iter() {
            writeln!(hosts, "{at} {name}").unwrap();
            writeln!(seeds, "http://{name}/").unwrap();
        }
        let settings = format!(
            "[politeness]\nallow_private = true\nleast_gap = \"100ms\"\nmost_gap = \"500ms\"\n\
             address_gap = \"1ms\"\nfirst_rest = \"1s\"\n[revisit]\nusual = \"0s\"\n[limits]\nrequests = 32\n\
             [network]\nhosts_file = '{}'\n",
            self.path("hosts").display()
        );
        self.folder.put("hosts", hosts.as_bytes());
        self.folder.put("seeds", seeds.as_bytes());
        self.folder.put("crawl.toml", settings.as_bytes());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Fails unless every address that was reported stored is known, has a copy, and that is in the
/// archive, which is whole but for what a kill tore off.
pub(crate) fn all_readable<'u>(dir: &Path, stored: impl IntoIterator<Item = &'u String>) {
    let store = Store::open(dir, Memory::default()).unwrap();
    for url in stored {
        let page = store.page_of(url).unwrap().unwrap_or_else(|| panic!("{url} is not known"));
        let copy = store.tables().unwrap().copy(page).unwrap();
        let place = copy.unwrap_or_else(|| panic!("{url} has no copy")).place;
        let file = dir.join(format!("archive/tidewatch-{:05}.warc.gz", place.file));
        let record = read_at(&file, place.offset).unwrap();
        assert_eq!(record.field("WARC-Target-URI"), Some(url.as_str()));
    }
    for file in std::fs::read_dir(dir.join("archive")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            // What the last kill tore off is cut when the archive is opened next.
            let verdict = check(&path).unwrap();
            let length = std::fs::metadata(&path).unwrap().len();
            assert!(verdict.faults.len() <= 1, "{:?}", verdict.faults);
            assert!(verdict.faults.iter().all(|(range, _)| range.end == length));
        }
    }
}
