//! The CPU time of all processes that a task started, including those that were left behind.
//!
//! The kernel adds the time of a process to its parent's account when the parent waits for it. Some
//! processes are not waited for: Python leaves the Java of Spark behind. So a task adopts what its
//! children leave behind, and waits for it.

use std::time::Duration;

/// How long a task waits for processes that were left behind.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes this process the parent of all orphans among its descendants.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() {
    use rustix::process::{getpid, set_child_subreaper};
    // Without it, the account is incomplete, and nothing else changes.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Waits for the orphans, and returns the seconds that all descendants have used.
#[cfg(target_os = "linux")]
pub(crate) fn of_descendants() -> Option<f64> {
    use rustix::process::{WaitOptions, wait};
    let begun = std::time::Instant::now();
    while begun.elapsed() < PATIENCE {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            // There are no more.
            Err(_) => break,
        }
    }
    of_waited_children().ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn of_descendants() -> Option<f64> {
    None
}

/// The seconds that all children used that this process has waited for.
pub(crate) fn of_waited_children() -> Result<f64, String> {
    let stat = std::fs::read_to_string("/proc/self/stat")
        .map_err(|error| format!("the CPU time of a program needs Linux: /proc/self/stat: {error}"))?;
    in_stat(&stat).ok_or_else(|| "/proc/self/stat has no times".to_owned())
}

/// The sum of `cutime` and `cstime` in `/proc/PID/stat`, in seconds.
fn in_stat(stat: &str) -> Option<f64> {
    /// Linux reports these times in hundredths of a second on all platforms.
    const TICKS_PER_SECOND: f64 = 100.0;
    // The name of the program is in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::in_stat;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 350 75 20 0 1 0";
        assert_eq!(in_stat(stat), Some(4.25));
        assert_eq!(in_stat("7 (a) S 1 7"), None);
    }
}
