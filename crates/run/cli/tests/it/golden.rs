//! Outputs as users' scripts see them.

use crate::tool::Folder;

pub(crate) const VISITS: &str = "page,at,changed,last_modified\n\
    daily,0,0,\nrare,0,0,\ndaily,3600,1,3000\nlone,5,1,\nrare,3600,0,\n\
    daily,7200,1,\nbusy,0,0,\nbusy,100,1,\nbusy,200,1,\ndaily,10800,0,\n\"a,b\",1,0,\n";

pub(crate) const PAGES: &str = "page,weight,change_rate,host,min,max\n\
    news,2,0.5,x,,\nblog,1,4,x,,0.75\nchat,1,inf,y,,\nspam,0,1,y,0.25,\nfixed,1,0,z,,1\n";

pub(crate) const LAWS: &str = "page,weight,law,change_rate,shape,scale,times,probs,min,max\n\
    a,2,poisson,0.5,,,,,,\nb,1,weibull,,1.5,4,,,,\nc,1,pareto,,2.5,3,,,1,2\n\
    d,3,quasi,,,,1 5 9,0.5 0.9 1,,2\n";

pub(crate) const CRAWLS: &str = "page,crawls,times,probs\na,3,,\nb,1,,\nc,2,3 7 20,1 1 0.2\n";

pub(crate) const SLOTS: &str = "crawler,slots\nwest,4\neast,5\n";

fn folder() -> Folder {
    Folder::with(&[
        ("visits.csv", VISITS),
        ("pages.csv", PAGES),
        ("hosts.csv", "host,max_rate\nx,1\nz,\n"),
        ("laws.csv", LAWS),
        ("crawls.csv", CRAWLS),
        ("slots.csv", SLOTS),
    ])
}

#[test]
fn estimate() {
    let folder = folder();
    for method in ["mle", "naive", "bias-reduced", "last-modified", "moment", "bayes"] {
        let run = folder.run(&format!("estimate visits.csv --method {method}"));
        insta::assert_snapshot!(format!("estimate_{method}"), run.golden());
    }
    insta::assert_snapshot!("estimate_json", folder.run("estimate visits.csv --json").golden());
}

#[test]
fn allocate_rates() {
    let folder = folder();
    for objective in ["freshness", "age", "harmonic", "memoryless"] {
        let run = folder.run(&format!("allocate pages.csv --budget 3 --objective {objective}"));
        insta::assert_snapshot!(format!("allocate_{objective}"), run.golden());
    }
    let capped = folder.run("allocate pages.csv --budget 3 --host-cap hosts.csv --json");
    insta::assert_snapshot!("allocate_capped_json", capped.golden());
}

#[test]
fn allocate_crawls() {
    let folder = folder();
    let run = folder.run("allocate laws.csv --crawls 12 --window 24");
    insta::assert_snapshot!("crawls", run.golden());
    let run = folder.run("allocate laws.csv --crawls 12 --window 24 --json");
    insta::assert_snapshot!("crawls_json", run.golden());
}

#[test]
fn timetable() {
    let folder = folder();
    let run = folder.run("timetable crawls.csv --window 24 --crawlers slots.csv");
    insta::assert_snapshot!("timetable", run.golden());
    let run = folder.run("timetable crawls.csv --window 24 --crawlers slots.csv --json");
    insta::assert_snapshot!("timetable_json", run.golden());
}

#[test]
fn url() {
    let folder = folder();
    let run = folder.run("url HTTP://Example.COM:80/a/../b?utm_source=x#top ftp://x.test/");
    insta::assert_snapshot!("url", run.golden());
    let run = folder.run_with("url - --json", b"http://b\xc3\xbccher.example/\n");
    insta::assert_snapshot!("url_json", run.golden());
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let folder = folder();
    let lab = ["generate", "import", "compare", "run", "list"].map(|c| format!("lab {c}"));
    let others = ["estimate", "allocate", "timetable", "url", "demo"].map(str::to_owned);
    for command in lab.into_iter().chain(others) {
        let help = folder.run(&format!("{command} --help")).ok();
        assert!(help.contains("Example"), "{command}: {help}");
    }
}
