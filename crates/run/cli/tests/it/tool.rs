//! Runs the built command in a folder of its own.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Digits of a number that goldens show: the last few differ between mathematical libraries.
const SHOWN_DIGITS: usize = 10;

/// What a run printed, and its exit code.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Standard output of a run that must have succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// All of it for a golden.
    pub(crate) fn golden(&self) -> String {
        rounded(&format!("exit {}\n{}--- standard error\n{}", self.code, self.out, self.err))
    }
}

/// A folder with input files.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// With these files, by path and content.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, content)| folder.put(path, content.as_bytes()));
        folder
    }

    pub(crate) fn put(&self, path: &str, content: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// Names of everything in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs the command here, words separated by blanks.
    pub(crate) fn run(&self, args: &str) -> Run {
        self.run_with(args, b"")
    }

    /// The same, with something on standard input.
    pub(crate) fn run_with(&self, args: &str, input: &[u8]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidewatch"))
            .args(args.split_whitespace())
            .current_dir(self.path())
            .env("COLUMNS", "100")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its arguments may be gone before it reads.
        let _ = child.stdin.take().unwrap().write_all(input);
        let done = child.wait_with_output().unwrap();
        Run {
            code: done.status.code().unwrap(),
            out: String::from_utf8(done.stdout).unwrap(),
            err: String::from_utf8(done.stderr).unwrap(),
        }
    }
}

/// The rows of a CSV output, by column.
pub(crate) fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let row = |row: Result<csv::StringRecord, _>| row.unwrap().iter().map(str::to_owned).collect();
    reader.records().map(row).collect()
}

/// The text with every decimal number cut to [`SHOWN_DIGITS`].
fn rounded(text: &str) -> String {
    let mut result = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_alphanumeric() || ".-+_".contains(c) {
            word.push(c);
            continue;
        }
        match word.parse::<f64>() {
            Ok(number) if word.contains('.') => {
                let cut: f64 = format!("{number:.*e}", SHOWN_DIGITS - 1).parse().unwrap();
                result.push_str(&cut.to_string());
            }
            _ => result.push_str(&word),
        }
        word.clear();
        result.push(c);
    }
    result.pop();
    result
}

#[test]
fn goldens_show_ten_digits() {
    assert_eq!(rounded("a1.5,0.12345678901234 1.0-x 7\n"), "a1.5,0.123456789 1.0-x 7\n");
    assert_eq!(rounded("[0.30000000000000004]"), "[0.3]");
}
