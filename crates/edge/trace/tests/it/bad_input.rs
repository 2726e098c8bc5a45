//! What the reader says to each kind of mistake: whole sentences, as users see them.

use tidewatch_trace::read;

use crate::samples::{TINY, directory};

/// The tiny trace with one file replaced or added, and the error without the
/// path of the directory.
fn refusal(name: &str, text: &[u8]) -> String {
    let dir = directory(&TINY);
    std::fs::write(dir.path().join(name), text).unwrap();
    let error = read(dir.path()).expect_err("the input is bad").to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

fn assert_refused(cases: &[(&str, &str, &str)]) {
    for (name, text, expected) in cases {
        assert_eq!(refusal(name, text.as_bytes()), *expected, "\nfor {name}:\n{text}");
    }
}

const PAGES: &str = "page,url,host,born,died,is_source\n3,u,h,0,,1\n7,v,h,10,60,0\n";

/// The tiny `pages` without its optional columns, one more row, and what is said to it.
fn assert_page_refused(cases: &[(&str, &str)]) {
    for (row, expected) in cases {
        let text = format!("{PAGES}{row}\n");
        assert_eq!(refusal("pages.csv", text.as_bytes()), format!("pages.csv, line 4{expected}"));
    }
}

#[test]
fn files_without_a_table_are_refused() {
    assert_refused(&[
        ("clicks.csv", "", "clicks.csv: the file is empty; its first line must be page,at,count"),
        (
            "pages.csv",
            "page,url,host,born,died,is_source\n",
            "pages.csv: the file has a header but no pages; a trace needs at least one",
        ),
        (
            "pages.parquet",
            "",
            "pages.parquet: the table 'pages' is also in pages.csv; keep one of the two files",
        ),
        (
            "clicks.csv",
            "page,count\n7,1\n",
            "clicks.csv: the column 'at' is missing; the header 'page,count' must have \
             page,at,count",
        ),
        (
            "clicks.csv",
            "page,at,count,at\n7,30,1,30\n",
            "clicks.csv: the column 'at' is there twice; keep one",
        ),
        (
            "clicks.csv",
            "page,at,count\n7,30\n",
            "clicks.csv, line 2: the row has 2 fields and the header 3; quote fields that \
             contain commas",
        ),
        (
            "clicks.csv",
            "page,at,count\r\n7,30,1\r\n7,31\r\n",
            "clicks.csv, line 3: the row has 2 fields and the header 3; quote fields that \
             contain commas",
        ),
        (
            "pages.csv",
            "page,url,host,born,died,is_source\n3,\"u\nv\",h,0,,1\n\n\n7,v,h,x,,1",
            "pages.csv, line 6, column 'born': 'x' is not a time; write seconds since the start, \
             like 86400 or 12.5",
        ),
        (
            "clicks.csv",
            "page,at,count\n7,30,1\n\n7,31,1,9\n",
            "clicks.csv, line 4: the row has 4 fields and the header 3; quote fields that \
             contain commas",
        ),
    ]);
}

#[test]
fn non_utf8_files_are_refused() {
    assert_eq!(
        refusal("clicks.csv", b"page,at,count\n7,30,\xff1\n"),
        "clicks.csv, line 2, column 'count': '\u{fffd}1' is not UTF-8; save the file as UTF-8"
    );
    assert_eq!(
        refusal("clicks.csv", b"page,at,\xffcount\n7,30,1\n"),
        "clicks.csv, line 1: the header is not UTF-8; save the file as UTF-8"
    );
    let mut endless = b"page,at,count\n7,30,\"".to_vec();
    endless.resize(18 << 20, b'1');
    assert_eq!(
        refusal("clicks.csv", &endless),
        "clicks.csv, line 2: the row is longer than 16 MiB; look for a quote that is not closed"
    );
}

#[test]
fn invalid_pages_are_refused() {
    assert_page_refused(&[
        (
            "x,u,h,0,,0",
            ", column 'page': 'x' is not a page id; write a whole number from 0 to \
             18446744073709551615",
        ),
        (
            "-1,u,h,0,,0",
            ", column 'page': '-1' is not a page id; write a whole number from 0 to \
             18446744073709551615",
        ),
        (
            "18446744073709551616,u,h,0,,0",
            ", column 'page': '18446744073709551616' is not a page id; write a whole number \
             from 0 to 18446744073709551615",
        ),
        ("8,,h,0,,0", ", column 'url': the cell is empty; write the page's URL"),
        ("8,u,,0,,0", ", column 'host': the cell is empty; write the host's name"),
        (
            "8,u,h,,,0",
            ", column 'born': the cell is empty; write seconds since the start, like 86400 or 12.5",
        ),
        (
            "8,u,h,NaN,,0",
            ", column 'born': 'NaN' is not a time; write seconds since the start, like 86400 or \
             12.5",
        ),
        (
            "8,u,h,-0.5,,0",
            ", column 'born': '-0.5' is not a time; write seconds since the start, like 86400 or \
             12.5",
        ),
        (
            "8,u,h,0,inf,0",
            ", column 'died': 'inf' is not a time; write seconds since the start, like 86400 or \
             12.5",
        ),
        (
            "8,u,h,1714521600000,,0",
            ", column 'born': '1714521600000' is more than 1000 years after the start; times are \
             in seconds",
        ),
        (
            "8,u,h,10,9.5,0",
            ", column 'died': page 8 dies at 9.5, before it is born at 10; correct one",
        ),
        ("8,u,h,0,,2", ", column 'is_source': '2' is neither yes nor no; write 1 or 0"),
        ("8,u,h,0,,", ", column 'is_source': the cell is empty; write 1 or 0"),
        (
            "3,u,h,0,,0",
            ", column 'page': page 3 is given twice; ids must differ (the other is line 2)",
        ),
    ]);
    assert_refused(&[
        (
            "pages.csv",
            "page,url,host,born,died,is_source,weight\n3,u,h,0,,1,-1\n",
            "pages.csv, line 2, column 'weight': '-1' is not an amount; write a finite number \
             that is not negative",
        ),
        (
            "pages.csv",
            "page,url,host,born,died,is_source,seed\n3,u,h,0,,1,\n",
            "pages.csv, line 2, column 'seed': the cell is empty; write 1 or 0",
        ),
    ]);
}

#[test]
fn invalid_hosts_are_refused() {
    let rate = "write fetches per second above 0, or leave the cell empty for no limit";
    for bad in ["0", "-1", "NaN", "inf", "fast"] {
        assert_eq!(
            refusal("hosts.csv", format!("host,max_rate\na.test,{bad}\n").as_bytes()),
            format!("hosts.csv, line 2, column 'max_rate': '{bad}' is not a rate; {rate}")
        );
    }
    assert_refused(&[
        (
            "hosts.csv",
            "host,max_rate\na.test,1\na.test,2\n",
            "hosts.csv, line 3, column 'host': host 'a.test' is given twice; keep one row",
        ),
        (
            "hosts.csv",
            "host,max_rate\nc.test,1\n",
            "hosts.csv, line 2, column 'host': no page is on host 'c.test'; correct the name or \
             remove the row",
        ),
    ]);
}

#[test]
fn invalid_links_are_refused() {
    assert_refused(&[
        (
            "links.csv",
            "source,page,appears,disappears\n3,8,10,\n",
            "links.csv, line 2, column 'page': there is no page 8 in the table 'pages'; add it \
             there",
        ),
        (
            "links.csv",
            "source,page,appears,disappears\n3,7,9,\n",
            "links.csv, line 2, column 'appears': the link appears at 9, before its page 7 is \
             born at 10; correct one",
        ),
        (
            "links.csv",
            "source,page,appears,disappears\n7,3,9,\n",
            "links.csv, line 2, column 'appears': the link appears at 9, before its source 7 is \
             born at 10; correct one",
        ),
        (
            "links.csv",
            "source,page,appears,disappears\n3,7,20,19\n",
            "links.csv, line 2, column 'disappears': the link disappears at 19, before it appears \
             at 20; correct one",
        ),
        (
            "links.csv",
            "source,page,appears,disappears\n3,7,30,40\n3,1000000,25,\n3,7,20,31\n",
            "links.csv, line 4, column 'appears': the link from page 3 to page 7 is already there \
             at 30; join the two rows or end the earlier one first (the other is line 2)",
        ),
        (
            "links.csv",
            "source,page,appears,disappears\n3,7,20,20\n3,7,20,\n",
            "links.csv, line 3, column 'appears': the link from page 3 to page 7 is already there \
             at 20; join the two rows or end the earlier one first (the other is line 2)",
        ),
    ]);
}

#[test]
fn invalid_events_are_refused() {
    assert_refused(&[
        (
            "clicks.csv",
            "page,at,count\n7,30,-1\n",
            "clicks.csv, line 2, column 'count': '-1' is not an amount; write a finite number \
             that is not negative",
        ),
        (
            "views.csv",
            "page,at,count\n7,30,inf\n",
            "views.csv, line 2, column 'count': 'inf' is not an amount; write a finite number \
             that is not negative",
        ),
        (
            "clicks.csv",
            "page,at,count\n7,9,1\n",
            "clicks.csv, line 2, column 'at': 9 is before page 7 is born at 10; correct one or \
             remove the row",
        ),
        (
            "clicks.csv",
            "page,at,count\n7,30,1\n3,30,1\n7,30,1\n",
            "clicks.csv, line 4, column 'at': page 7 has two rows at 30; give one row with the \
             total",
        ),
        (
            "clicks.csv",
            "page,at,count\n7,30,1\n3,5,1\n7,20,1\n",
            "clicks.csv, line 4, column 'at': page 7 goes back from 30 to 20; sort the rows by \
             time, or by page and time",
        ),
        (
            "changes.csv",
            "page,at\n7,30\n7,30.0\n",
            "changes.csv, line 3, column 'at': page 7 has two rows at 30; keep one of them",
        ),
        (
            "changes.csv",
            "page,at\n9,30\n",
            "changes.csv, line 2, column 'page': there is no page 9 in the table 'pages'; add it \
             there",
        ),
        (
            "signals.csv",
            "page,at,kind\n3,10,feed\n7,10,feed\n3,10,feed\n",
            "signals.csv, line 4, column 'kind': page 3 has two signals 'feed' at 10; keep one of \
             them (the other is line 2)",
        ),
        (
            "signals.csv",
            "page,at,kind\n3,10,\n",
            "signals.csv, line 2, column 'kind': the cell is empty; write what kind of signal it \
             is",
        ),
    ]);
}

#[test]
fn invalid_versions_are_refused() {
    let header = "page,at,added,removed\n";
    let cases = [
        (
            "3,0,1 xyz,\n",
            "line 2, column 'added': 'xyz' is not a fragment hash; write up to 16 hexadecimal \
             digits",
        ),
        (
            "3,0,+1,\n",
            "line 2, column 'added': '+1' is not a fragment hash; write up to 16 hexadecimal \
             digits",
        ),
        (
            "3,0,10000000000000000,\n",
            "line 2, column 'added': '10000000000000000' is not a fragment hash; write up to 16 \
             hexadecimal digits",
        ),
        (
            "3,0,1,2\n",
            "line 2, column 'removed': the first version of page 3 removes '2'; it can only add",
        ),
        (
            "3,0,1 a A,\n",
            "line 2, column 'added': page 3 already holds the fragment 'a' that this version adds",
        ),
        (
            "3,0,1,\n7,10,1,\n3,10,2,1\n3,20,2,\n",
            "line 5, column 'added': page 3 already holds the fragment '2' that this version adds",
        ),
        (
            "3,0,1,\n3,10,1,1\n",
            "line 3, column 'added': page 3 already holds the fragment '1' that this version adds",
        ),
        (
            "3,0,1,\n3,10,2,2\n",
            "line 3, column 'removed': page 3 does not hold the fragment '2' that this version \
             removes",
        ),
        ("3,0,1,\n3,0,2,\n", "line 3, column 'at': page 3 has two rows at 0; keep one of them"),
    ];
    for (rows, expected) in cases {
        let text = format!("{header}{rows}");
        assert_eq!(refusal("versions.csv", text.as_bytes()), format!("versions.csv, {expected}"));
    }
}

#[test]
fn invalid_manifests_are_refused() {
    let length = "is not a duration; write seconds, like 86400 or 12.5";
    let moment = "is not a date and time; write it like 2024-05-01T00:00:00Z";
    let cases = [
        ("duration = 5\n", "1: missing field `name`".to_owned()),
        ("name = 'x'\n", "1: missing field `duration`".to_owned()),
        ("name = 'x'\nduration = -1\n", format!("2: 'duration': '-1' {length}")),
        ("name = 'x'\nduration = nan\n", format!("2: 'duration': 'nan' {length}")),
        ("name = 'x'\nduration = '7d'\n", format!("2: 'duration': ''7d'' {length}")),
        (
            "name = 'x'\nduration = 0\n",
            "2: 'duration': the trace has no duration; set 'duration' in seconds in trace.toml"
                .to_owned(),
        ),
        (
            "name = 'x'\nduration = 1e300\n",
            "2: 'duration': the duration exceeds 1000 years; it must be in seconds".to_owned(),
        ),
        (
            "name = 'x'\nduration = 5\nstart = 'yesterday'\n",
            format!("3: 'start': the start 'yesterday' {moment}"),
        ),
        (
            "name = 'x'\nduration = 5\nstart = 2024-02-30T00:00:00Z\n",
            "3: invalid date, expected day between 01 and 29".to_owned(),
        ),
        (
            "name = 'x'\nduration = 5\nstart = '2024-05-01T00:00:00'\n",
            format!("3: 'start': the start '2024-05-01T00:00:00' {moment}"),
        ),
        (
            "name = 'x'\nduration = 5\nstart = 2024-05-01\n",
            format!("3: 'start': the start '2024-05-01' {moment}"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal("trace.toml", text.as_bytes()), format!("trace.toml, line {expected}"));
    }
}

#[test]
fn truth_that_cannot_be_is_refused() {
    let header = "page,class,same_as,declared\n";
    let cases = [
        (
            "7,copy,3,0\n",
            "2, column 'class': 'copy' is not a class; choose from own, alias, renamed, session, \
             mirror, facet, calendar, maze, parked, farm, missing",
        ),
        (
            "7,alias,,0\n",
            "2, column 'same_as': page 7 is of class 'alias'; name the page whose content it repeats",
        ),
        (
            "7,alias,7,0\n",
            "2, column 'same_as': page 7 cannot repeat itself; name the page whose content it \
             repeats",
        ),
        ("7,own,3,0\n", "2, column 'same_as': page 7 has content of its own; leave the cell empty"),
        (
            "7,maze,,1\n",
            "2, column 'declared': page 7 repeats no page that it could declare; write 0",
        ),
        (
            "7,alias,9,0\n",
            "2, column 'same_as': there is no page 9 in the table 'pages'; add it there",
        ),
        (
            "7,maze,,0\n3,own,,0\n7,farm,,0\n",
            "4, column 'page': page 7 has two rows; keep one of them (the other is line 2)",
        ),
        (
            "1000000,alias,7,0\n7,alias,3,0\n",
            "2, column 'same_as': page 7 repeats another page itself; name that one",
        ),
    ];
    for (rows, expected) in cases {
        let text = format!("{header}{rows}");
        let said = refusal("truth.csv", text.as_bytes());
        assert_eq!(said, format!("truth.csv, line {expected}"), "\nfor {rows}");
    }
}

#[test]
fn directories_without_a_trace_are_refused() {
    let dir = directory(&[("links.csv", "source,page,appears,disappears\n")]);
    assert_eq!(
        read(dir.path()).unwrap_err().to_string(),
        format!(
            "{}: there is no table 'pages'; a trace needs pages.csv or pages.parquet",
            dir.path().display()
        )
    );
    let file = dir.path().join("links.csv");
    assert_eq!(
        read(&file).unwrap_err().to_string(),
        format!("{}: a trace is a directory; name the one with the table 'pages'", file.display())
    );
    let absent = dir.path().join("absent");
    assert_eq!(
        read(&absent).unwrap_err().to_string(),
        format!(
            "cannot open the trace '{}': No such file or directory (os error 2)",
            absent.display()
        )
    );
}
