//! Peak memory of a piece of work, measured in a process of its own.
//!
//! A test calls [`extra_kib`] for every case. For each, the test binary runs itself again with that
//! one test and that one case. The child does the work and prints by how much its peak resident
//! memory rose.

use std::process::Command;

use crate::skip::skip;

/// The environment variable that names the child's case.
const CASE: &str = "TIDEWATCH_MEMORY_CASE";
/// Begins the line that the child prints.
const MARK: &str = "extra KiB: ";

/// KiB that `work` adds to what `prepare` left. `test` is the full name of the calling test.
///
/// `None` in the child, where the caller's assertions must hold without a figure, and where there is
/// no `/proc`, which [skips](skip) the test.
pub fn extra_kib<T>(
    test: &str,
    case: &str,
    prepare: impl FnOnce() -> T,
    work: impl FnOnce(T),
) -> Option<u64> {
    match std::env::var(CASE) {
        Ok(wanted) if wanted == case => {
            let prepared = prepare();
            let before = reset_peak()?;
            work(prepared);
            eprintln!("{MARK}{}", field("VmHWM:")?.saturating_sub(before));
            None
        }
        Ok(_) => None,
        Err(_) => ask_child(test, case),
    }
}

fn ask_child(test: &str, case: &str) -> Option<u64> {
    if field("VmHWM:").is_none() {
        skip("/proc/self/status does not tell the peak of memory");
        return None;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{case}: {said}");
    let line = said.lines().find_map(|line| line.strip_prefix(MARK));
    let line = line.unwrap_or_else(|| panic!("{case} was not measured: {said}"));
    Some(line.parse().unwrap())
}

/// Resets the peak and returns what is resident now, in KiB.
fn reset_peak() -> Option<u64> {
    // Where the peak cannot be reset, it is the base to measure from.
    let is_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    if is_reset { field("VmRSS:") } else { field("VmHWM:") }
}

/// A field of this process's status, in KiB.
fn field(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_buffer_is_seen() {
        let name = "memory::tests::a_buffer_is_seen";
        let fill = |length: usize| {
            let buffer = vec![1u8; length];
            assert_eq!(buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>(), length as u64);
        };
        for (case, megabytes) in [("small", 1), ("large", 40)] {
            let extra = super::extra_kib(name, case, || megabytes << 20, fill);
            let about = |kib: u64| (megabytes as u64 * 1024).abs_diff(kib) < 2048;
            assert!(extra.is_none_or(about), "{case}: {extra:?}");
        }
    }
}
