//! Directories with tables for tests.

use std::path::Path;

use tempfile::TempDir;

/// A directory that holds these files.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

pub(crate) fn text(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

/// A small web with every table: a hub, two articles, one of which dies.
pub(crate) const TINY: [(&str, &str); 10] = [
    (
        "trace.toml",
        "name = \"tiny\"\nduration = 100.25\nstart = \"2024-05-01T00:00:00Z\"\nnote = \"by hand\"\n",
    ),
    (
        "pages.csv",
        "page,url,host,born,died,is_source,weight,seed\n\
         3,http://a.test/,a.test,0,,1,1,1\n\
         7,\"http://b.test/x,y\",b.test,10,60.5,0,2.5,0\n\
         1000000,http://a.test/z,a.test,20.000001,,0,0.001,0\n",
    ),
    ("hosts.csv", "host,max_rate\na.test,0.5\n"),
    ("links.csv", "source,page,appears,disappears,position\n3,7,10,50,4\n3,1000000,25,,\n"),
    ("clicks.csv", "page,at,count\n7,30,2\n7,40.5,1\n1000000,200,0.25\n"),
    ("views.csv", "page,at,count\n7,30,20\n"),
    ("changes.csv", "page,at\n3,10\n3,25\n"),
    ("versions.csv", "page,at,added,removed\n3,0,1 a ffffffffffffffff,\n3,10,b,1\n7,10,,\n"),
    ("signals.csv", "page,at,kind\n3,10,feed\n3,10,ping\n3,25,feed\n"),
    ("truth.csv", "page,class,same_as,declared\n1000000,renamed,7,1\n"),
];
