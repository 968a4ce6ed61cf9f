//! The CPU time of a step: of all processes that it started, including those that were left behind.
//!
//! The kernel adds the time of a process to its parent's account when the parent waits for it. Some
//! processes are not waited for: Python leaves the Java of Spark behind. So a step adopts what its
//! children leave behind, and waits for it.

use std::time::Duration;

/// How long a step waits for processes that were left behind.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes this process the parent of all orphans among its descendants.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() {
    use rustix::process::{getpid, set_child_subreaper};
    // Without it, the account is incomplete, and nothing else changes.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Waits for the orphans, and returns the seconds that all descendants have used.
#[cfg(target_os = "linux")]
pub(super) fn of_descendants() -> Option<f64> {
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
    of_waited_children(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn of_descendants() -> Option<f64> {
    None
}

/// The sum of `cutime` and `cstime` in `/proc/PID/stat`, in seconds.
fn of_waited_children(stat: &str) -> Option<f64> {
    /// Linux reports these times in hundredths of a second on all platforms.
    const TICKS_PER_SECOND: f64 = 100.0;
    // The name of the program is in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::of_waited_children;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 350 75 20 0 1 0";
        assert_eq!(of_waited_children(stat), Some(4.25));
        assert_eq!(of_waited_children("7 (a) S 1 7"), None);
    }
}
