//! Bytes that are handed on in whole lines.

use super::source::may_be_text;
use super::{MAX_LINE_BYTES, too_long};
use crate::memory;
use std::io;
use zeroize::Zeroizing;

/// Holds the start of a line back until its end has come, so that half a row is never read.
///
/// Compressed data may have no line for ever. Bytes that start as no text does are handed on at once,
/// so that the reader can refuse them.
#[derive(Default)]
pub(super) struct WholeLines {
    bytes: Zeroizing<Vec<u8>>,
    taken: usize,
    /// The end of the last whole line.
    ready: usize,
    /// Whether anything was handed on.
    has_begun: bool,
}

impl WholeLines {
    /// Adds bytes to the end.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.drain(..self.taken);
        self.ready -= self.taken;
        self.taken = 0;
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.ready = self.bytes.len() + end + 1;
        }
        if self.bytes.len() + bytes.len() - self.ready > MAX_LINE_BYTES {
            return Err(too_long(format_args!("a line")));
        }
        memory::make_room(&mut self.bytes, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        if !self.has_begun && !may_be_text(&self.bytes) {
            self.ready = self.bytes.len();
        }
        Ok(())
    }

    /// Moves bytes of whole lines to a buffer, and returns their number.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.ready - self.taken);
        buffer[..count].copy_from_slice(&self.bytes[self.taken..self.taken + count]);
        self.taken += count;
        self.has_begun |= count > 0;
        count
    }

    /// Nothing more will come: what is left is a whole line as well.
    pub(super) fn end(&mut self) {
        self.ready = self.bytes.len();
    }

    /// Forgets the bytes after the last whole line.
    pub(super) fn forget_half_line(&mut self) {
        self.bytes.truncate(self.ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &mut WholeLines) -> String {
        let mut buffer = [0; 3];
        let mut all = Vec::new();
        loop {
            match lines.take(&mut buffer) {
                0 => return String::from_utf8(all).unwrap(),
                count => all.extend(&buffer[..count]),
            }
        }
    }

    #[test]
    fn half_a_line_waits_for_its_end() {
        let mut lines = WholeLines::default();
        lines.push(b"one\ntw").unwrap();
        assert_eq!(taken(&mut lines), "one\n");
        lines.push(b"o").unwrap();
        assert_eq!(taken(&mut lines), "");
        lines.push(b"\nthree\nfo").unwrap();
        assert_eq!(taken(&mut lines), "two\nthree\n");
        lines.forget_half_line();
        lines.push(b"five").unwrap();
        assert_eq!(taken(&mut lines), "");
        lines.end();
        assert_eq!(taken(&mut lines), "five");
    }

    #[test]
    fn what_is_no_text_is_not_held_back() {
        let mut lines = WholeLines::default();
        lines.push(b"\x1f").unwrap();
        assert_eq!(lines.take(&mut [0; 8]), 0);
        lines.push(b"\x8b\x08").unwrap();
        assert_eq!(lines.take(&mut [0; 8]), 3);
        // Only the first bytes decide.
        let mut lines = WholeLines::default();
        lines.push(b"n\n").unwrap();
        assert_eq!(lines.take(&mut [0; 8]), 2);
        lines.push(b"\x1f\x8b").unwrap();
        assert_eq!(lines.take(&mut [0; 8]), 0);
    }

    /// A line without an end once grew until the program was ended.
    #[test]
    fn a_line_that_is_too_long_is_an_error() {
        let mut lines = WholeLines::default();
        let half = vec![b'x'; MAX_LINE_BYTES / 2];
        for _ in 0..3 {
            lines.push(&half).unwrap();
            lines.push(b"\n").unwrap();
            while lines.take(&mut [0; 1 << 16]) > 0 {}
        }
        lines.push(&half).unwrap();
        lines.push(&half).unwrap();
        assert!(lines.push(b"x").is_err_and(|error| error.to_string().contains("longer than 64 MiB")));
    }
}
