//! What is missing is counted, and fails in CI.
//!
//! The tests run this binary again, with the one test [`needs_a_suite`] and an environment in which
//! the suite is missing.

use std::process::{Command, Output};

use tidewatch_testing::suites;

/// The environment variable that lets [`needs_a_suite`] look for its suite.
const INNER: &str = "TIDEWATCH_TEST_OF_SKIPPING";

#[test]
fn needs_a_suite() {
    if std::env::var_os(INNER).is_some() {
        assert_eq!(suites::bytes("no/such-suite"), None);
    }
}

fn run(ci: Option<&str>, list: &std::path::Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["skips::needs_a_suite", "--exact"])
        .env(INNER, "1")
        .env("TIDEWATCH_SHARED", "/nonexistent")
        .env("TIDEWATCH_SKIPPED", list)
        .env_remove("CI");
    command.envs(ci.map(|value| ("CI", value))).output().unwrap()
}

#[test]
fn a_missing_suite_is_counted_outside_ci() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("skipped");
    for ci in [None, Some(""), Some("false")] {
        let output = run(ci, &list);
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no/such-suite"), "{output:?}");
    }
    let lines = std::fs::read_to_string(list).unwrap();
    assert_eq!(lines.lines().count(), 3, "{lines}");
    let why = "skips::needs_a_suite: there is no /nonexistent/suites/no/such-suite";
    assert!(lines.lines().all(|line| line.ends_with(why)), "{lines}");
}

#[test]
fn a_missing_suite_fails_in_ci() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(Some("true"), &folder.path().join("skipped"));
    assert!(!output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("no test may be skipped while CI is set"), "{printed}");
}

#[test]
#[should_panic(expected = "9 cases, at least 10 expected")]
fn a_suite_that_shrank_fails() {
    suites::judge("a suite", 9, 10, &[]);
}

#[test]
#[should_panic(expected = "case 3")]
fn a_failing_case_fails_the_suite() {
    suites::judge("a suite", 10, 10, &["case 3".to_owned()]);
}
