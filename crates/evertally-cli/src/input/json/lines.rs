//! JSON lines: one object per line.

use super::object::Wanted;
use crate::error::{CliError, Result};
use crate::input::{BYTE_ORDER_MARK, MAX_LINE_BYTES, Row, RowReader, Source, too_long};
use std::io::{BufRead, BufReader, Read};

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
            let longest = MAX_LINE_BYTES as u64 + 1;
            let read = self.source.by_ref().take(longest).read_until(b'\n', &mut self.text);
            if read.map_err(|error| super::failure(&self.source, &error))? == 0 {
                return Ok(false);
            }
            if self.text.len() > MAX_LINE_BYTES {
                let error = too_long(format_args!("line {}", self.line));
                return Err(super::failure(&self.source, &error));
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
