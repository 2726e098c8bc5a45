//! How much memory a piece of work takes, measured in a process of its own.
//!
//! A test calls [`extra_kib`] for every case. The first time, the test binary
//! runs itself again with that one test and that one case; the second process
//! does the work, and prints how far it drove the peak of its resident memory
//! above what it had before.

use std::process::Command;

/// Tells the second process which case it is for.
const CASE: &str = "TIDEWATCH_MEMORY_CASE";
/// Begins the line that it prints.
const MARK: &str = "extra KiB: ";

/// KiB that `work` adds to what `prepare` left; `None` in the second process, for other
/// cases, and where the system cannot tell. `test` is the full name of the calling test.
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
    field("VmHWM:")?;
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

/// Forgets the peak so far; what is resident now, in KiB.
fn reset_peak() -> Option<u64> {
    // Where it is not allowed the peak so far counts as what was there before.
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
