//! JSON lines: one object per line.

use super::object::Wanted;
use crate::error::{CliError, Result};
use crate::input::{BYTE_ORDER_MARK, MAX_LINE_BYTES, Row, RowReader, Source, too_long};
use crate::memory;
use std::io::{self, BufRead, BufReader};

pub(crate) struct JsonLinesReader {
    source: BufReader<Source>,
    wanted: Wanted,
    line: u64,
    text: Vec<u8>,
}

impl JsonLinesReader {
    /// An input without rows is valid: whether anything happened is private, so an empty input must
    /// not look different from others.
    pub(crate) fn new(source: BufReader<Source>, columns: &[String]) -> Self {
        Self { source, wanted: Wanted::new(columns), line: 0, text: Vec::new() }
    }

    /// Reads a line with its end, and returns its length.
    fn read_line(&mut self) -> io::Result<usize> {
        loop {
            let bytes = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let end = memchr::memchr(b'\n', bytes);
            let count = end.map_or(bytes.len(), |end| end + 1);
            if self.text.len() + count > MAX_LINE_BYTES {
                return Err(too_long(format_args!("line {}", self.line)));
            }
            memory::make_room(&mut self.text, count)?;
            self.text.extend_from_slice(&bytes[..count]);
            self.source.consume(count);
            if end.is_some() || count == 0 {
                return Ok(self.text.len());
            }
        }
    }

    /// The error for a line that cannot be read. No other line is concerned.
    fn bad_line(&self, message: &str) -> CliError {
        CliError::BadRow(format!("{}, line {}: {message}", self.source.get_ref().name(), self.line))
    }
}

impl RowReader for JsonLinesReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            self.text.clear();
            self.line += 1;
            if self.read_line().map_err(|error| super::failure(&self.source, &error))? == 0 {
                return Ok(false);
            }
            let mut mark = [0; 4];
            let mark = BYTE_ORDER_MARK.encode_utf8(&mut mark).as_bytes();
            if self.line == 1 && self.text.starts_with(mark) {
                self.text.drain(..mark.len());
            }
            if !self.text.trim_ascii().is_empty() {
                break;
            }
        }
        row.line = self.line;
        let text = std::str::from_utf8(&self.text).map_err(|_| self.bad_line("expected text in UTF-8"))?;
        self.wanted.pick(text, &mut row.cells).map_err(|character| {
            self.bad_line(&format!("expected a JSON object, stopped at character {character}"))
        })?;
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        self.source.get_ref().fraction_read()
    }

    /// A member has no type of its own. Each cell says whether it is a name.
    fn holds_names(&self, _column: usize) -> bool {
        true
    }
}
