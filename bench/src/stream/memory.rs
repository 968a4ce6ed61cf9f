//! The memory that a task adds to the process, as reported by the system. Zero if the system does
//! not report it.

use std::fs;

#[derive(Default)]
pub(crate) struct Memory {
    before: u64,
    peak: u64,
    resident: u64,
}

impl Memory {
    pub(crate) fn start(&mut self) {
        // Resets the peak. If that is not allowed, the peak of a fresh process is still small.
        let _ = fs::write("/proc/self/clear_refs", "5");
        self.before = bytes("VmRSS:");
    }

    pub(crate) fn end(&mut self) {
        self.peak = bytes("VmHWM:").saturating_sub(self.before);
        self.resident = bytes("VmRSS:").saturating_sub(self.before);
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    pub(crate) fn resident(&self) -> u64 {
        self.resident
    }
}

fn bytes(entry: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(entry));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
