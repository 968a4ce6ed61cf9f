//! The lines of a text, in a buffer that is reused.

use super::Source;
use crate::input::{MAX_LINE_BYTES, too_long};
use crate::memory;
use std::io::{self, ErrorKind, Read};

/// The size of the buffer, unless a line is longer.
const BUFFER_BYTES: usize = 1 << 17;

/// A source, and what was read of it and not yet consumed.
pub(super) struct Lines {
    source: Source,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The first quote or carriage return from `start` on, as far as was read.
    special: usize,
    /// The number of the line at `start`, from 1.
    number: u64,
    is_over: bool,
    /// The last line that was advanced over.
    last: (usize, usize),
}

impl Lines {
    pub(super) fn new(source: Source) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self { source, buffer, start: 0, end: 0, special: 0, number: 1, is_over: false, last: (0, 0) }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The number of the line that comes next.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Reads more bytes behind those that are there; `false` at the end of the source.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.end, self.special) = (self.end - self.start, self.special - self.start);
                self.start = 0;
            } else if self.end >= MAX_LINE_BYTES {
                return Err(too_long(format_args!("line {}", self.number)));
            } else {
                let length = self.buffer.len();
                memory::make_room(&mut self.buffer, length)?;
                self.buffer.resize(2 * length, 0);
            }
        }
        let count = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        let had_none = self.special == self.end;
        self.end += count;
        if had_none {
            self.find_special(self.end - count);
        }
        self.is_over = count == 0;
        Ok(count > 0)
    }

    fn find_special(&mut self, from: usize) {
        let found = memchr::memchr2(b'"', b'\r', &self.buffer[from..self.end]);
        self.special = found.map_or(self.end, |at| from + at);
    }

    /// The place of the next line's end, if it is complete among the bytes that were read.
    fn line_end(&self, from: usize) -> Option<usize> {
        memchr::memchr(b'\n', &self.buffer[from..self.end]).map(|at| from + at)
    }

    /// Where the text of a line ends that reaches to `end`; `None` if it has quotes, or a carriage
    /// return elsewhere than at its end.
    fn plain_end(&self, end: usize) -> Option<usize> {
        match self.special {
            special if special >= end => Some(end),
            special if special + 1 == end && self.buffer[special] == b'\r' => Some(special),
            _ => None,
        }
    }

    /// The next line without its end, if it has no quotes. `None` at the end, and for any other line.
    pub(super) fn plain_line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut from = self.start;
        let end = loop {
            match self.line_end(from) {
                Some(end) => break end,
                None => {
                    let searched = self.end - self.start;
                    if !self.fill()? {
                        break self.end;
                    }
                    from = self.start + searched;
                }
            }
        };
        if end == self.start && end == self.end {
            return Ok(None);
        }
        let plain = self.plain_end(end);
        self.last = (self.start, plain.unwrap_or(end));
        Ok(plain.map(|plain| &self.buffer[self.start..plain]))
    }

    /// Goes past the line that [`plain_line`](Self::plain_line) gave, and returns its number.
    pub(super) fn advance(&mut self) -> u64 {
        let text_end = self.last.1;
        let end = self.line_end(text_end).map_or(self.end, |end| end + 1);
        self.go_to(end);
        self.number += 1;
        self.number - 1
    }

    /// The line that was last advanced over, until more is read.
    pub(super) fn last_line(&self) -> &[u8] {
        &self.buffer[self.last.0..self.last.1]
    }

    fn go_to(&mut self, place: usize) {
        self.start = place;
        if self.special < place {
            self.find_special(place);
        }
    }

    /// Reads until there are so many bytes, or the source ends.
    pub(super) fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.end - self.start < count && self.fill()? {}
        Ok(())
    }

    /// Some bytes; none at the end of the source.
    pub(super) fn some_bytes(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Goes past bytes that were parsed.
    pub(super) fn consume(&mut self, count: usize) {
        self.number += count_lines(&self.buffer[self.start..self.start + count]);
        self.go_to(self.start + count);
    }

    /// Hands over lines until one is refused or has quotes, or the buffer is used up. Blank lines are
    /// skipped. Returns whether there may be more lines of this kind.
    pub(super) fn take_plain_lines(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
        loop {
            let Some(end) = self.line_end(self.start) else {
                // The last line may have no end. It is read by rows.
                return self.fill();
            };
            let Some(plain) = self.plain_end(end) else { return Ok(false) };
            if plain > self.start && !take(&self.buffer[self.start..plain]) {
                return Ok(false);
            }
            self.go_to(end + 1);
            self.number += 1;
        }
    }
}

/// The number of line ends.
fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
