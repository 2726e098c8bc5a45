//! A living web for the built command: served here, found through a file of hosts.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewatch_core::Span;
use tidewatch_lab::generate::renewal;
use tidewatch_web::{Accelerated, Habits, Limits, Server, ServerOptions, Site};
use tokio::runtime::Runtime;

use crate::tool::Folder;

/// A web, and a folder with the settings and seeds to crawl it.
pub(crate) struct Living {
    pub(crate) folder: Folder,
    pub(crate) server: Server,
    _runtime: Runtime,
}

impl Living {
    /// Hosts with as many pages each; the crawler may ask each ten times a second.
    pub(crate) fn serve(hosts: usize, pages_each: usize) -> Living {
        let config = renewal::Config {
            pages: hosts * pages_each,
            hosts,
            host_exponent: 0.0,
            duration: Span::MINUTE.times(10),
            ..renewal::Config::default()
        };
        let trace = renewal::generate(&config, 5).trace;
        let site = Arc::new(Site::new(trace, 5, Habits::faultless()).unwrap());
        let runtime = Runtime::new().unwrap();
        let limits = Limits {
            connections: 4 * hosts + 64,
            listeners: hosts,
            idle: Duration::from_mins(2),
            log: 1_000_000,
            ..Limits::default()
        };
        let options = ServerOptions { limits, ..ServerOptions::default() };
        let server = {
            let _inside = runtime.enter();
            Server::start(site, Accelerated::new(Instant::now(), 1.0), &options).unwrap()
        };
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
             address_gap = \"1ms\"\nfirst_rest = \"1s\"\n[limits]\nrequests = 32\n\
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
