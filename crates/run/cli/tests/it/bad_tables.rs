//! Tables and options that make no sense: one sentence, exit code 1 or 2, nothing written.

use crate::tool::Folder;

/// Runs a command that must fail: `-o out.csv` is added, and no such file may appear.
fn refused(folder: &Folder, args: &str, says: &[&str]) {
    let before = folder.names();
    let run = folder.run(&format!("{args} -o out.csv"));
    let usage = run.code == 2 && run.err.starts_with("error: ");
    let sentence = run.code == 1 && run.err.starts_with("tidewatch: ");
    assert!(usage || sentence, "{args}: exit {}: {}", run.code, run.err);
    assert!(usage || run.err.trim_end().lines().count() == 1, "{args}: {}", run.err);
    assert!(!run.err.contains("panicked") && run.out.is_empty(), "{args}: {}", run.err);
    for part in says {
        assert!(run.err.contains(part), "{args}: '{part}' is not in: {}", run.err);
    }
    assert_eq!(folder.names(), before, "{args} left something behind");
}

/// Files that no command can read, whatever columns it wants.
fn unreadable(args: &str, header: &str, row: &str) {
    let folder = Folder::with(&[("empty.csv", ""), ("slots.csv", "crawler,slots\nx,9\n")]);
    let on = |file: &str| args.replace("IN", file);
    refused(&folder, &on("empty.csv"), &["empty.csv", "is empty"]);
    refused(&folder, &on("absent.csv"), &["cannot open absent.csv"]);
    refused(&folder, &on("."), &["cannot read ."]);
    for column in header.split(',') {
        let without = header.replace(column, "nothing");
        folder.put("in.csv", format!("{without}\n{row}\n").as_bytes());
        refused(&folder, &on("in.csv"), &["in.csv", &format!("no column '{column}'")]);
    }
    folder.put("in.csv", format!("{header},page\n{row},x\n").as_bytes());
    refused(&folder, &on("in.csv"), &["two columns are called 'page'"]);
    folder.put("in.csv", format!("{header}\n{row}\n{row},9\n").as_bytes());
    refused(&folder, &on("in.csv"), &["in.csv, line 3", "fields"]);
    folder.put("in.csv", format!("{header}\n{row}\nlast\n").as_bytes());
    refused(&folder, &on("in.csv"), &["in.csv, line 3", "1 fields"]);
    folder.put("in.csv", format!("{header}\n\"{row}\n").as_bytes());
    refused(&folder, &on("in.csv"), &["in.csv, line 2"]);
    let bytes = [header.as_bytes(), b"\n\xff\xfe", row.as_bytes(), b"\n"].concat();
    folder.put("in.csv", &bytes);
    refused(&folder, &on("in.csv"), &["in.csv, line 2, column 'page'", "not UTF-8"]);
    folder.put("in.csv", format!("{header}\n{}\n", row.replacen('a', "", 1)).as_bytes());
    refused(&folder, &on("in.csv"), &["in.csv, line 2, column 'page'", "empty"]);
}

#[test]
fn files_that_are_not_tables() {
    unreadable("estimate IN", "page,at,changed", "a,0,1");
    unreadable("allocate IN --budget 1", "page,weight,change_rate", "a,1,1");
    unreadable("allocate IN --crawls 1 --window 9", "page,weight,change_rate", "a,1,1");
    unreadable("timetable IN --window 9 --crawlers slots.csv", "page,crawls", "a,1");
}

/// A cell that is wrong: line 3 of the table, in the column named.
fn cells(args: &str, header: &str, row: &str, wrong: &[(&str, &[&str])]) {
    let names: Vec<&str> = header.split(',').collect();
    for (column, values) in wrong {
        let index = names.iter().position(|name| name == column).unwrap();
        for value in *values {
            let mut fields: Vec<&str> = row.split(',').collect();
            fields[index] = value;
            let second = fields.join(",").replacen('a', "b", 1);
            let folder = Folder::with(&[
                ("in.csv", &format!("{header}\n{row}\n{second}\n")),
                ("slots.csv", "crawler,slots\nx,9\n"),
                ("hosts.csv", "host,max_rate\nh,9\n"),
            ]);
            let place = format!("in.csv, line 3, column '{column}'");
            refused(&folder, args, &[&place]);
        }
    }
}

const NO_AMOUNT: &[&str] = &["NaN", "-1", "inf", "1e300", "1e-300", "x", "", "0x10"];

#[test]
fn visits_that_cannot_be() {
    cells(
        "estimate in.csv",
        "page,at,changed,last_modified",
        "a,0,1,",
        &[
            ("at", &["NaN", "inf", "-inf", "1e300", "5e-324", "noon", ""]),
            ("changed", &["2", "-1", "yes", "", "NaN"]),
            ("last_modified", &["NaN", "never", "1e300"]),
        ],
    );
    let folder = Folder::with(&[("in.csv", "page,at,changed,url\na,0,1,not a url\n")]);
    refused(&folder, "estimate in.csv --method bayes", &["line 2, column 'url'"]);
    refused(&folder, "estimate in.csv --method last-modified", &["no column 'last_modified'"]);
    refused(&folder, "estimate in.csv --method best", &["mle"]);
}

#[test]
fn pages_that_cannot_be() {
    cells(
        "allocate in.csv --budget 9 --host-cap hosts.csv",
        "page,weight,change_rate,host,min,max",
        "a,1,1,h,,5",
        &[
            ("weight", NO_AMOUNT),
            ("change_rate", &["NaN", "-1", "-inf", "1e300", "often", ""]),
            ("min", &["NaN", "-1", "inf", "x"]),
            ("max", &["NaN", "-1", "x"]),
        ],
    );
    let folder = Folder::with(&[("in.csv", "page,weight,change_rate,min,max\na,1,1,3,2\n")]);
    refused(&folder, "allocate in.csv --budget 9", &["line 2, column 'max'", "min, 3"]);
    folder.put("in.csv", b"page,weight,change_rate\na,1,1\nb,1,1\na,1,1\n");
    refused(&folder, "allocate in.csv --budget 9", &["line 4, column 'page'", "'a'", "already"]);
    refused(&folder, "allocate in.csv --crawls 9 --window 1", &["line 4", "'a'", "already"]);
}

#[test]
fn budgets_that_cannot_be() {
    let pages = "page,weight,change_rate,host,min,max\na,1,1,h,2,3\nb,1,1,h,2,3\n";
    let hosts = "host,max_rate\nh,3\n";
    let folder = Folder::with(&[("in.csv", pages), ("hosts.csv", hosts), ("dup.csv", "")]);
    folder.put("dup.csv", b"host,max_rate\nh,1\nh,2\n");
    refused(&folder, "allocate in.csv --budget 3", &["minima", "sum to 4", "budget of 3"]);
    refused(&folder, "allocate in.csv --budget 9 --host-cap hosts.csv", &["host 'h'", "cap of 3"]);
    refused(&folder, "allocate in.csv --budget 9 --host-cap dup.csv", &["dup.csv, line 3", "'h'"]);
    for budget in ["NaN", "-1", "inf", "1e300", "x"] {
        refused(&folder, &format!("allocate in.csv --budget {budget}"), &["--budget"]);
        refused(&folder, &format!("allocate in.csv --crawls 9 --window {budget}"), &["--window"]);
    }
    for crawls in ["-1", "1.5", "NaN", "99999999999999999999"] {
        refused(&folder, &format!("allocate in.csv --crawls {crawls} --window 9"), &[]);
    }
    refused(&folder, "allocate in.csv --crawls 3 --window 9", &["minima", "sum to 4"]);
    refused(&folder, "allocate in.csv --crawls 7 --window 9", &["maxima sum to 6"]);
    refused(&folder, "allocate in.csv --crawls 7", &["--window"]);
    refused(&folder, "allocate in.csv", &["--budget"]);
    refused(&folder, "allocate in.csv --budget 5 --crawls 5 --window 9", &["cannot be used"]);
    // A page with three update times has no use for a fourth crawl.
    folder.put("in.csv", b"page,weight,law,times,probs\na,1,quasi,1 2 3,1 1 1\n");
    refused(&folder, "allocate in.csv --crawls 4 --window 9", &["maxima sum to 3"]);
    folder.put("in.csv", b"page,weight,change_rate\na,1,1\nb,1,1\n");
    let many = "allocate in.csv --crawls 4000000000 --window 9 --solver";
    refused(&folder, &format!("{many} dp"), &["dp", "relax"]);
    refused(&folder, &format!("{many} fox"), &["fox", "relax"]);
}

#[test]
fn laws_that_cannot_be() {
    let (args, header) = (
        "allocate in.csv --crawls 2 --window 24",
        "page,weight,law,change_rate,shape,scale,times,probs,min,max",
    );
    let whole = ["-1", "1.5", "NaN", "x", "4294967296"];
    cells(
        args,
        header,
        "a,1,weibull,1,1.5,4,1 2,1 1,,",
        &[
            ("weight", NO_AMOUNT),
            ("law", &["gauss", "Poisson"]),
            ("shape", &["0", "-1", "NaN", "1e9", ""]),
            ("scale", &["0", "-1", "inf", ""]),
            ("min", &whole),
            ("max", &whole),
        ],
    );
    cells(args, header, "a,1,pareto,1,2.5,4,,,,", &[("shape", &["-1", "0"]), ("scale", &["0"])]);
    cells(args, header, "a,1,,1,,,,,,", &[("change_rate", &["-1", "NaN", "inf", ""])]);
    cells(
        args,
        header,
        "a,1,quasi,,,,1 2,0.5 1,,",
        &[
            ("times", &["2 1", "1 1", "1", "1 25", "-1 2", "1 NaN", "1 x"]),
            ("probs", &["0.5 1.5", "0.5 -1", "1 NaN"]),
        ],
    );
}

#[test]
fn timetables_that_cannot_be() {
    let args = "timetable in.csv --window 24 --crawlers slots.csv";
    let times = ["NaN", "-1", "25", "inf", "x", ""];
    cells(args, "page,ideal_at,kind", "a,1,", &[("ideal_at", &times), ("kind", &["odd"])]);
    cells(args, "page,crawls", "a,1", &[("crawls", &["-1", "1.5", "x", "", "4000000000"])]);
    cells(args, "page,crawls,times,probs", "a,1,1 2,1 1", &[("crawls", &["3"])]);
    let folder = Folder::with(&[
        ("in.csv", "page,crawls\na,4\nb,6\n"),
        ("late.csv", "page,ideal_at,kind\nz,23.9,quasi\n"),
        ("slots.csv", "crawler,slots\nx,9\n"),
        ("twice.csv", "crawler,slots\nx,9\nx,9\n"),
        ("same.csv", "crawler,slot,at\nx,1,2\nx,1,3\n"),
        ("far.csv", "crawler,slot,at\nx,1,2\nx,2,30\n"),
    ]);
    refused(&folder, args, &["10 crawls do not fit into 9 slots"]);
    refused(&folder, &args.replace("in.csv", "late.csv"), &["page 'z'", "23.9"]);
    refused(&folder, &args.replace("slots.csv", "twice.csv"), &["twice.csv, line 3", "'x'"]);
    refused(&folder, &args.replace("slots.csv", "same.csv"), &["same.csv, line 3", "slot 1"]);
    refused(&folder, &args.replace("slots.csv", "far.csv"), &["far.csv, line 3, column 'at'"]);
    refused(&folder, "timetable - --window 24 --crawlers -", &["standard input"]);
    refused(&folder, "timetable in.csv --crawlers slots.csv", &["--window"]);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::with(&[("v.csv", "page,at,changed\na,0,1\n")]);
    let run = folder.run("estimate v.csv -o nowhere/out.csv");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("cannot write nowhere/out.csv"), "{}", run.err);
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    let run = folder.run("estimate v.csv -o taken");
    assert!(run.code == 1 && run.err.contains("cannot write taken"), "{}", run.err);
    assert_eq!(folder.names(), ["taken", "v.csv"]);
}
