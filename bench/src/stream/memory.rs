//! What a task adds to the memory of the process, as the system tells it. Zero where it does not.

use std::fs;

#[derive(Default)]
pub(crate) struct Memory {
    before: u64,
    peak: u64,
    resident: u64,
}

impl Memory {
    pub(crate) fn begin(&mut self) {
        // Forgets the highest mark so far. Where that is not allowed, a fresh process has none to speak of.
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
