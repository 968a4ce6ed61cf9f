//! JSON lines: one object per line.

use super::{BYTE_ORDER_MARK, Cell, Row, RowReader, Source};
use crate::error::{CliError, Result};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, BufReader};

pub(crate) struct JsonLinesReader {
    source: BufReader<Source>,
    columns: Vec<String>,
    line: u64,
    text: String,
}

impl JsonLinesReader {
    /// An input without rows is valid: whether anything happened is private, so an empty input must
    /// not look different from others.
    pub(crate) fn new(source: Source, columns: &[String]) -> Self {
        let source = BufReader::with_capacity(1 << 16, source);
        Self { source, columns: columns.to_vec(), line: 0, text: String::new() }
    }

    fn name(&self) -> &str {
        &self.source.get_ref().name
    }
}

impl RowReader for JsonLinesReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            self.text.clear();
            self.line += 1;
            let count = self.source.read_line(&mut self.text).map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => {
                    CliError::bad(format!("{}, line {}: expected text in UTF-8", self.name(), self.line))
                }
                _ => CliError::reading(std::path::Path::new(self.name()), &error),
            })?;
            if self.line == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
                self.text.drain(..BYTE_ORDER_MARK.len_utf8());
            }
            if count == 0 {
                return Ok(false);
            }
            if !self.text.trim().is_empty() {
                break;
            }
        }
        row.line = self.line;
        row.cells.fill(Cell::Missing);
        let mut parser = serde_json::Deserializer::from_str(&self.text);
        let picked = Pick { columns: &self.columns, cells: &mut row.cells }.deserialize(&mut parser);
        picked.and_then(|()| parser.end()).map_err(|error| {
            // The column is that of the text, not of the table. The message does not repeat data.
            let (name, line) = (self.name(), self.line);
            CliError::bad(format!(
                "{name}, line {line}: expected a JSON object, stopped at character {}",
                error.column()
            ))
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

/// Takes the requested members of an object and skips the rest without parsing it.
struct Pick<'a> {
    columns: &'a [String],
    cells: &'a mut [Cell],
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            // A column may be requested twice, for example as the group and as the person.
            if !self.columns.iter().any(|column| *column == name) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let cell = cell_of(members.next_value::<&RawValue>()?.get());
            for (column, target) in self.columns.iter().zip(&mut *self.cells) {
                if *column == name {
                    *target = cell.clone();
                }
            }
        }
        Ok(())
    }
}

fn is_integer(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A member's cell, from its text. Numbers keep all digits, so that one outside 64 bits is
/// recognised.
fn cell_of(raw: &str) -> Cell {
    match raw.as_bytes().first() {
        Some(b'n') => Cell::Missing,
        Some(b'"') => {
            let mut cell = Cell::Missing;
            cell.set_text(&serde_json::from_str::<Cow<'_, str>>(raw).unwrap_or_default());
            cell
        }
        // A text holds all the digits of an integer that does not fit 64 bits.
        _ if is_integer(raw) => raw.parse().map_or_else(|_| Cell::Text(raw.to_owned()), Cell::Integer),
        _ => Cell::Literal(raw.to_owned()),
    }
}
