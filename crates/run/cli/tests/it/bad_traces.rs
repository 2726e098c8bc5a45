//! Traces, policies and budgets that make no sense.

use crate::lab::TINY;
use crate::tool::{Folder, Run};

fn compare(folder: &Folder, policy: &str, budget: &str) -> Run {
    let args = format!("lab compare --trace tiny --policies {policy} --budget {budget}");
    folder.run(&format!("{args} --json out.json --report out.html"))
}

/// One sentence, or the parser's word on the option; nothing written.
fn refused(folder: &Folder, run: &Run, says: &[&str]) {
    let usage = run.code == 2 && run.err.starts_with("error: ");
    let code = if run.err.contains("there is no policy") { 2 } else { 1 };
    let sentence = run.code == code && run.err.trim_end().lines().count() == 1;
    assert!(usage || sentence, "exit {}: {}", run.code, run.err);
    assert!(!run.err.contains("panicked") && run.out.is_empty(), "{}", run.err);
    says.iter().for_each(|part| assert!(run.err.contains(part), "no '{part}' in: {}", run.err));
    assert_eq!(folder.names(), ["tiny"]);
}

#[test]
fn tables_that_cannot_be() {
    let pages = "page,url,host,born,died,is_source\n";
    let table: &[(&str, &str, &[&str])] = &[
        ("pages.csv", "", &["pages.csv", "empty"]),
        ("pages.csv", pages, &["pages.csv", "no pages"]),
        (
            "pages.csv",
            "page,url,host,born,died,is_source\n0,http://a.test/,a.test,0,,1\n\
             0,http://a.test/x,a.test,0,,0\n",
            &["pages.csv, line 3, column 'page'", "twice"],
        ),
        (
            "pages.csv",
            "page,url,host,born,died,is_source\n0,http://a.test/,a.test,9,5,1\n",
            &["pages.csv, line 2"],
        ),
        ("pages.csv", "page,url,host\n0,http://a.test/,a.test\n", &["pages.csv", "'born'"]),
        ("changes.csv", "page\n0\n", &["changes.csv", "'at'"]),
        ("changes.csv", "page,at\n0,33\n0,20\n", &["changes.csv, line 3, column 'at'", "sort"]),
        ("changes.csv", "page,at\n0,33\n0,33\n", &["changes.csv, line 3, column 'at'"]),
        ("changes.csv", "page,at\n0,-3\n", &["changes.csv, line 2, column 'at'", "'-3'"]),
        ("changes.csv", "page,at\n0,NaN\n", &["changes.csv, line 2, column 'at'", "'NaN'"]),
        ("changes.csv", "page,at\n0,1e300\n", &["changes.csv, line 2, column 'at'", "'1e300'"]),
        ("changes.csv", "page,at\n7,3\n", &["changes.csv, line 2, column 'page'", "page 7"]),
        ("changes.csv", "page,at\n-7,3\n", &["changes.csv, line 2, column 'page'", "'-7'"]),
        ("changes.csv", "page,at\n0,3\n1", &["changes.csv, line 3", "fields"]),
        ("changes.csv", "page,at\n0,3,4\n", &["changes.csv, line 2", "fields"]),
        ("changes.csv.gz", "not gzip", &["changes"]),
        ("clicks.csv", "page,at,count\n0,3,-1\n", &["clicks.csv, line 2, column 'count'"]),
        ("hosts.csv", "host,max_rate\na.test,-1\n", &["hosts.csv, line 2, column 'max_rate'"]),
        ("trace.toml", "duration = \n", &["trace.toml"]),
        ("trace.toml", "duration = -5\n", &["trace.toml"]),
    ];
    for (file, content, says) in table {
        let folder = Folder::with(TINY);
        folder.put(&format!("tiny/{file}"), content.as_bytes());
        refused(&folder, &compare(&folder, "uniform", "0.1"), says);
    }
}

#[test]
fn a_table_cut_short_is_found_out() {
    let folder = Folder::with(&[]);
    folder.run("lab generate renewal --seed 3 --scale 0.02 -o tiny").ok();
    let path = folder.path().join("tiny/changes.csv.zst");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    refused(&folder, &compare(&folder, "uniform", "0.1"), &["changes.csv.zst", "cut short"]);
    std::fs::write(&path, b"").unwrap();
    refused(&folder, &compare(&folder, "uniform", "0.1"), &["changes.csv.zst"]);
}

#[test]
fn requests_that_cannot_be() {
    let folder = Folder::with(TINY);
    refused(&folder, &compare(&folder, "nonsense", "0.1"), &["'nonsense'", "uniform"]);
    refused(&folder, &compare(&folder, "uniform,", "0.1"), &["''"]);
    for budget in ["0", "1e300", "NaN", "-1", "inf", "x"] {
        refused(&folder, &compare(&folder, "uniform", budget), &["budget"]);
    }
    let base = "lab compare --policies uniform --budget 0.1 --trace";
    refused(&folder, &folder.run(&format!("{base} absent")), &["'absent'"]);
    refused(&folder, &folder.run(&format!("{base} tiny --measure-last 9d")), &["measure"]);
    refused(&folder, &folder.run(&format!("{base} tiny --log-push 0s")), &["log push"]);
    refused(&folder, &folder.run(&format!("{base} tiny --repeat 0")), &["--repeat"]);
}

#[test]
fn webs_that_cannot_be_generated() {
    let folder = Folder::with(TINY);
    refused(&folder, &folder.run("lab generate nonsense -o web"), &["'nonsense'", "renewal"]);
    for scale in ["0", "NaN", "1e300", "x", "-1"] {
        let run = folder.run(&format!("lab generate renewal -o web --scale={scale}"));
        refused(
            &folder,
            &run,
            &["scale"].map(|word| if scale == "1e300" { "pages" } else { word }),
        );
    }
    // What is there already is not touched.
    refused(&folder, &folder.run("lab generate renewal --scale 0.02 -o tiny"), &["tiny"]);
    assert_eq!(folder.read("tiny/changes.csv"), TINY[2].1);
}
