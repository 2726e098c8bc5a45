//! Estimates, allocations and timetables against what they must be.

use std::fmt::Write;

use serde_json::Value;

use crate::golden::{CRAWLS, LAWS, PAGES, SLOTS, VISITS};
use crate::tool::{Folder, rows};

/// Closed forms and the command round differently, in the last digits.
const ROUNDING: f64 = 1e-9;

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= ROUNDING * b.abs().max(1e-12), "{a} is not {b}");
}

#[test]
fn one_change_in_two_equal_gaps_has_a_closed_form() {
    let folder = Folder::with(&[("v.csv", "page,at,changed\na,0,1\na,10,1\na,20,0\n")]);
    // Half of the gaps of 10 saw a change: 1 − e^(−10λ) = ½.
    for (method, rate) in [("mle", 2_f64.ln() / 10.0), ("naive", 0.05)] {
        let found = rows(&folder.run(&format!("estimate v.csv --method {method}")).ok());
        close(number(&found[0][1]), rate);
    }
}

#[test]
fn the_order_of_visits_does_not_matter_and_the_order_of_pages_is_that_of_the_file() {
    let lines: Vec<&str> = VISITS.lines().collect();
    let mut reversed = vec![lines[0]];
    reversed.extend(lines[1..].iter().rev());
    let folder = Folder::with(&[("a.csv", VISITS), ("b.csv", &(reversed.join("\n") + "\n"))]);
    let sorted = |file: &str| {
        let mut found = rows(&folder.run(&format!("estimate {file}")).ok());
        let first = found[0][0].clone();
        found.sort();
        (first, found)
    };
    let ((first_a, a), (first_b, b)) = (sorted("a.csv"), sorted("b.csv"));
    assert_eq!(a, b);
    assert_eq!((first_a.as_str(), first_b.as_str()), ("daily", "a,b"));
}

#[test]
fn pages_of_a_host_inform_one_another() {
    let mut visits = String::from("page,at,changed,url\n");
    for page in 0..20 {
        for at in 0..30 {
            let changed = u8::from(at % (if page % 2 == 0 { 2 } else { 15 }) == 1);
            let host = if page % 2 == 0 { "busy" } else { "quiet" };
            writeln!(visits, "{page},{at},{changed},http://{host}.test/{page}").unwrap();
        }
    }
    visits += "new-busy,0,0,http://busy.test/900\nnew-quiet,0,0,http://quiet.test/901\n";
    let folder = Folder::with(&[("v.csv", &visits)]);
    let found = rows(&folder.run("estimate v.csv --method bayes").ok());
    let [busy, quiet] = [&found[20], &found[21]].map(|row| number(&row[1]));
    assert!(busy > 3.0 * quiet && quiet > 0.0, "{busy} {quiet}");
    // Without hosts, nothing tells the two apart.
    let folder = Folder::with(&[("v.csv", &visits.replace(",url\n", ",other\n"))]);
    let found = rows(&folder.run("estimate v.csv --method bayes").ok());
    assert_eq!(found[20][1..], found[21][1..]);
}

#[test]
fn memoryless_rates_have_a_closed_form() {
    // f = √(wλ/ω) − λ with λ = 1: rates 2s − 1 and s − 1 sum to 4 at s = 2.
    let folder = Folder::with(&[("p.csv", "page,weight,change_rate\na,4,1\nb,1,1\n")]);
    let found = rows(&folder.run("allocate p.csv --budget 4 --objective memoryless").ok());
    close(number(&found[0][1]), 3.0);
    close(number(&found[1][1]), 1.0);
}

#[test]
fn rates_use_the_budget_and_keep_the_bounds() {
    let folder = Folder::with(&[("p.csv", PAGES), ("h.csv", "host,max_rate\nx,1\n")]);
    for objective in ["freshness", "age", "harmonic", "memoryless"] {
        let args = format!("allocate p.csv --budget 1.5 --host-cap h.csv --objective {objective}");
        let rates: Vec<f64> = rows(&folder.run(&args).ok()).iter().map(|r| number(&r[1])).collect();
        assert!(rates[0] + rates[1] <= 1.0 + ROUNDING && rates[1] <= 0.75, "{rates:?}");
        close(rates[3], 0.25);
        assert_eq!(rates[4].to_bits(), 0.0_f64.to_bits());
        let gives_up = ["freshness", "memoryless"].contains(&objective);
        close(rates.iter().sum(), if gives_up { 1.25 } else { 1.5 });
    }
}

#[test]
fn what_no_page_can_use_stays_unspent() {
    let worthless = "page,weight,change_rate\na,0,1\nb,0,2\n";
    let folder = Folder::with(&[("p.csv", worthless), ("none.csv", "page,weight,change_rate\n")]);
    let run = folder.run("allocate p.csv --budget 5 --json");
    let json: Value = serde_json::from_str(&run.ok()).unwrap();
    assert_eq!((json["spent"].as_f64(), json["unspent"].as_f64()), (Some(0.0), Some(5.0)));
    assert_eq!(folder.run("allocate none.csv --budget 5").ok(), "page,rate\n");
    assert_eq!(folder.run("allocate p.csv --budget 0").ok(), "page,rate\na,0.0\nb,0.0\n");
}

#[test]
fn all_solvers_agree() {
    let folder = Folder::with(&[("l.csv", LAWS)]);
    let solve =
        |s: &str| folder.run(&format!("allocate l.csv --crawls 12 --window 24 --solver {s}"));
    let relax = solve("relax").ok();
    for solver in ["fox", "galil-megiddo", "frederickson-johnson", "dp"] {
        assert_eq!(solve(solver).ok(), relax, "{solver}");
    }
    let crawls: f64 = rows(&relax).iter().map(|row| number(&row[1])).sum();
    close(crawls, 12.0);
}

#[test]
fn poisson_crawls_are_the_best_of_all_splits() {
    let folder = Folder::with(&[("l.csv", "page,weight,change_rate\na,3,0.2\nb,1,1.5\n")]);
    let run = folder.run("allocate l.csv --crawls 9 --window 10");
    let total = number(run.err.trim().rsplit(' ').next().unwrap());
    let found = rows(&run.ok());
    // Average staleness of x crawls at even intervals: 1 − (1 − e⁻ʳ)/r, r = λT/(x + 1).
    let stale = |rate: f64, x: f64| {
        let r = rate * 10.0 / (x + 1.0);
        1.0 - (1.0 - (-r).exp()) / r
    };
    let cost = |x: f64| 3.0 * stale(0.2, x) + stale(1.5, 9.0 - x);
    let best = (0..=9).map(|x| cost(f64::from(x))).fold(f64::INFINITY, f64::min);
    close(total, best);
    close(cost(number(&found[0][1])), best);
    close(number(&found[0][2]), stale(0.2, number(&found[0][1])));
}

#[test]
fn a_timetable_holds_every_crawl_once_at_the_cost_it_states() {
    let folder = Folder::with(&[("l.csv", LAWS), ("c.csv", CRAWLS), ("s.csv", SLOTS)]);
    let run = folder.run("timetable c.csv --window 24 --crawlers s.csv --json");
    let json: Value = serde_json::from_str(&run.ok()).unwrap();
    let fetches = json["fetches"].as_array().unwrap();
    let of = |page: &str| fetches.iter().filter(|f| f["page"] == page).count();
    assert_eq!((of("a"), of("b"), of("c")), (3, 1, 2));
    let slots: std::collections::HashSet<String> =
        fetches.iter().map(|f| format!("{} {}", f["crawler"], f["slot"])).collect();
    assert_eq!(slots.len(), fetches.len());
    let time = |f: &Value, name: &str| f[name].as_f64().unwrap();
    let cost: f64 = fetches.iter().map(|f| (time(f, "at") - time(f, "ideal_at")).abs()).sum();
    close(cost, json["cost"].as_f64().unwrap());
    assert!(json["gap"].as_f64().unwrap() <= ROUNDING);
    // Updates at 3 and 7 are certain, the one at 20 is not: the crawls wait for the first two.
    let c: Vec<_> = fetches.iter().filter(|f| f["page"] == "c").collect();
    assert!(c.iter().all(|f| time(f, "at") >= time(f, "ideal_at")), "{c:?}");
}

#[test]
fn an_allocation_of_crawls_goes_straight_into_a_timetable() {
    let folder = Folder::with(&[("l.csv", LAWS), ("s.csv", "crawler,slot,at\nx,7,2\nx,8,9.5\n")]);
    let crawls = folder.run("allocate l.csv --crawls 2 --window 24").ok();
    let placed = folder.run_with("timetable - --window 24 --crawlers s.csv", crawls.as_bytes());
    let placed = rows(&placed.ok());
    assert_eq!(placed.len(), 2);
    assert_eq!((placed[0][1].as_str(), placed[1][1].as_str()), ("7", "8"));
}

#[test]
fn json_says_what_csv_says() {
    let folder = Folder::with(&[("v.csv", VISITS)]);
    let csv = rows(&folder.run("estimate v.csv").ok());
    let json: Value = serde_json::from_str(&folder.run("estimate v.csv --json").ok()).unwrap();
    let json = json.as_array().unwrap();
    assert_eq!(json.len(), csv.len());
    for (object, row) in json.iter().zip(&csv) {
        assert_eq!(object["page"], row[0].as_str());
        let rate = (!row[1].is_empty()).then(|| number(&row[1]));
        assert_eq!(object["change_rate"].as_f64(), rate);
    }
}

#[test]
fn a_file_holds_what_would_have_been_printed_and_nothing_else_is_left() {
    let folder = Folder::with(&[("v.csv", VISITS), ("out.csv", "old")]);
    let printed = folder.run("estimate v.csv").ok();
    assert_eq!(folder.run("estimate v.csv -o out.csv").ok(), "");
    assert_eq!(folder.read("out.csv"), printed);
    // A file may even replace its own input.
    folder.run("estimate v.csv -o v.csv").ok();
    assert_eq!(folder.read("v.csv"), printed);
    assert_eq!(folder.names(), ["out.csv", "v.csv"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_pipes_are_written_to() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = Folder::with(&[("v.csv", VISITS), ("out.csv", "old")]);
    let printed = folder.run("estimate v.csv").ok();
    symlink("out.csv", folder.path().join("link")).unwrap();
    folder.run("estimate v.csv -o link").ok();
    assert!(folder.path().join("link").is_symlink());
    assert_eq!(folder.read("out.csv"), printed);
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    folder.run("estimate v.csv -o pipe").ok();
    assert!(pipe.metadata().unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap(), printed);
}

#[test]
fn spreadsheets_may_add_a_mark_blanks_columns_and_other_line_ends() {
    let folder = Folder::with(&[
        ("plain.csv", "page,at,changed\na,0,0\na,10,1\na,20,0\n"),
        ("odd.csv", "\u{feff}note, at ,page,changed\r\nx, 0 ,a,0\r\n\r\n,10,a,true\r\n,2e1,a,0"),
    ]);
    assert_eq!(folder.run("estimate odd.csv").ok(), folder.run("estimate plain.csv").ok());
}
