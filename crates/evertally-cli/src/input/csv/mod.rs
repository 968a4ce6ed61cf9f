//! Values between commas, or another delimiter, with a header line.
//!
//! **Definition.** Records are those of the `csv` crate: quotes, quotes inside quotes, and line ends of
//! every kind. **Guarantee.** A line without quotes is split here, because that is several times
//! faster, and any other record is left to `csv-core`, the parser of that crate. The tests compare the
//! two readers on arbitrary bytes.

mod lines;

use super::bulk::{Bulk, Found, Roles};
use super::columns::positions;
use super::{BYTE_ORDER_MARK, Cell, MAX_LINE_BYTES, Row, RowReader, Source, too_long};
use crate::error::{CliError, Result, shown};
use crate::memory;
use csv_core::ReadRecordResult;
use lines::Lines;
use std::path::Path;

pub(crate) struct CsvReader {
    columns: Vec<String>,
    positions: Vec<usize>,
    records: Records,
}

/// The records of a source, one after another.
struct Records {
    name: String,
    delimiter: u8,
    lines: Lines,
    parser: csv_core::Reader,
    /// The fields of a record that was parsed, and where each ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// Where the fields of the present record are: in `fields`, or among the lines.
    spans: Vec<(usize, usize)>,
    is_parsed: bool,
    /// The line on which the present record starts, and whether it is the only one.
    line: u64,
    is_one_line: bool,
    /// How many fields a record must have.
    width: Option<usize>,
}

/// The names in the header line.
pub(crate) fn names(source: Source, delimiter: u8) -> Result<Vec<String>> {
    header(&mut Records::new(source, delimiter))
}

fn header(records: &mut Records) -> Result<Vec<String>> {
    if !records.next()? {
        return Err(CliError::bad(format!(
            "{} is empty: expected a header line with the names of the columns",
            records.name
        )));
    }
    records.width = Some(records.spans.len());
    Ok((0..records.spans.len()).map(|at| column_name(records.field(at))).collect())
}

/// A column's name without surrounding spaces and without a byte order mark.
fn column_name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim_start_matches(BYTE_ORDER_MARK).trim().to_owned()
}

impl CsvReader {
    pub(crate) fn open(source: Source, delimiter: u8, columns: &[String]) -> Result<Self> {
        let mut records = Records::new(source, delimiter);
        let present: Vec<[String; 1]> = header(&mut records)?.into_iter().map(|name| [name]).collect();
        let hint = " in its first line, which must name the columns";
        let positions = positions(&records.name, &present, columns, hint)?;
        Ok(Self { columns: columns.to_vec(), positions, records })
    }
}

impl RowReader for CsvReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        let Self { columns, positions, records } = self;
        if !records.next()? {
            return Ok(false);
        }
        row.line = records.line;
        records.check_width()?;
        for ((&at, cell), column) in positions.iter().zip(&mut row.cells).zip(columns) {
            match std::str::from_utf8(records.field(at)) {
                Ok(text) => cell.set_text(text),
                Err(_) => {
                    *cell = Cell::Missing;
                    let place = format!("{}, line {}, column {}", records.name, row.line, shown(column));
                    return Err(records.bad_record(format!("{place}: expected text in UTF-8")));
                }
            }
        }
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        self.records.lines.source().fraction_read()
    }

    /// All cells are texts.
    fn holds_names(&self, _column: usize) -> bool {
        true
    }

    fn add_in_bulk(&mut self, bulk: &mut Bulk<'_>) -> Result<bool> {
        let Roles { time, value, key, person, id } = bulk.roles;
        let of = |role: Option<usize>| role.map(|role| self.positions[role]);
        let (time, claimant) = (self.positions[time], of(bulk.roles.claimant()));
        // Without persons the id is the claimant.
        let [value, key, id] = [value, key, id.filter(|_| person.is_some())].map(of);
        let records = &mut self.records;
        let mut spans = std::mem::take(&mut records.spans);
        let (delimiter, width) = (records.delimiter, records.width);
        let mut taken = Ok(true);
        let take = |line: &[u8]| {
            spans.clear();
            split(line, delimiter, &mut spans);
            if Some(spans.len()) == width {
                let found = found(bulk, line, &spans, (time, value, key, claimant, id));
                taken = found.map_or(Ok(false), |found| bulk.take(&found));
                taken == Ok(true)
            } else {
                false
            }
        };
        let may_have_more = records.lines.take_plain_lines(take);
        taken?;
        bulk.finish()?;
        may_have_more.map_err(|error| CliError::reading(Path::new(&records.name), &error))
    }
}

/// A line whose number of cells is not taken for small.
const LONG_LINE: usize = 1 << 16;

/// What a line says; `None` if it needs the reading by rows. The fields are time, value, key, claimant
/// and id.
#[inline]
fn found<'l>(
    bulk: &mut Bulk<'_>,
    line: &'l [u8],
    spans: &[(usize, usize)],
    fields: (usize, Option<usize>, Option<usize>, Option<usize>, Option<usize>),
) -> Option<Found<'l>> {
    let (time, value, key, claimant, id) = fields;
    let bytes = |at: usize| &line[spans[at].0..spans[at].1];
    let text = |at: Option<usize>| match at {
        Some(at) => std::str::from_utf8(bytes(at)).ok().map(Some),
        None => Some(None),
    };
    let time = bulk.times.parse_bytes(bytes(time))?;
    let value = match text(value)? {
        Some(value) => Some(super::cell::parse_value(value.trim())?),
        None => None,
    };
    let key = bulk.key(text(key)?)?;
    let claimant = text(claimant)?.and_then(|name| bulk.tag_of(name));
    Some(Found { time, key, value, claimant, id: text(id)? })
}

impl Records {
    fn new(source: Source, delimiter: u8) -> Self {
        Self {
            name: source.name().to_owned(),
            delimiter,
            lines: Lines::new(source),
            parser: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            fields: vec![0; 1024],
            ends: vec![0; 64],
            spans: Vec::new(),
            is_parsed: true,
            line: 0,
            is_one_line: true,
            width: None,
        }
    }

    /// Goes to the next record; `false` at the end.
    fn next(&mut self) -> Result<bool> {
        let read = self.find_next();
        read.map_err(|error| CliError::reading(Path::new(&self.name), &error))
    }

    fn find_next(&mut self) -> std::io::Result<bool> {
        // The header goes through the parser, which knows byte order marks.
        while self.width.is_some()
            && let Some(line) = self.lines.plain_line()?
        {
            self.spans.clear();
            if !line.is_empty() {
                // Of a long line, each letter may be a delimiter.
                if line.len() > LONG_LINE {
                    self.spans.try_reserve(memchr::memchr_iter(self.delimiter, line).count() + 1)?;
                }
                split(line, self.delimiter, &mut self.spans);
            }
            self.line = self.lines.advance();
            (self.is_parsed, self.is_one_line) = (false, true);
            // A blank line is no record.
            if !self.spans.is_empty() {
                return Ok(true);
            }
        }
        self.parse()
    }

    /// Reads a record with the parser.
    fn parse(&mut self) -> std::io::Result<bool> {
        let (mut length, mut count) = (0, 0);
        if self.width.is_none() {
            // The parser does not know half a byte order mark.
            self.lines.fill_to(BYTE_ORDER_MARK.len_utf8())?;
        }
        (self.line, self.is_parsed) = (self.lines.number(), true);
        loop {
            let input = self.lines.some_bytes()?;
            let (result, read, wrote, ended) =
                self.parser.read_record(input, &mut self.fields[length..], &mut self.ends[count..]);
            self.lines.consume(read);
            (length, count) = (length + wrote, count + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                _ if length + size_of_val(&self.ends[..count]) > MAX_LINE_BYTES => {
                    return Err(too_long(format_args!("the record from line {}", self.line)));
                }
                ReadRecordResult::OutputFull => {
                    let length = self.fields.len();
                    memory::make_room(&mut self.fields, length)?;
                    self.fields.resize(2 * length, 0);
                }
                ReadRecordResult::OutputEndsFull => {
                    let length = self.ends.len();
                    self.ends.try_reserve(length)?;
                    self.ends.resize(2 * length, 0);
                }
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::Record => break,
            }
        }
        self.is_one_line = memchr::memchr2(b'\n', b'\r', &self.fields[..length]).is_none();
        self.spans.clear();
        self.spans.try_reserve(count)?;
        let mut start = 0;
        for &end in &self.ends[..count] {
            self.spans.push((start, end));
            start = end;
        }
        Ok(true)
    }

    /// A field of the present record.
    fn field(&self, at: usize) -> &[u8] {
        let (start, end) = self.spans[at];
        if self.is_parsed { &self.fields[start..end] } else { &self.lines.last_line()[start..end] }
    }

    fn check_width(&self) -> Result<()> {
        match (self.width, self.spans.len()) {
            (Some(expected), got) if expected != got => Err(self.bad_record(format!(
                "{}, line {}: expected {expected} columns as in the header, got {got}",
                self.name, self.line
            ))),
            _ => Ok(()),
        }
    }

    /// The error for a record that cannot be read. One of several lines may hold the rows of others,
    /// behind a quote that was never closed, so it cannot be left out by itself.
    fn bad_record(&self, message: String) -> CliError {
        if self.is_one_line { CliError::BadRow(message) } else { CliError::BadInput(message) }
    }
}

/// The fields of a line without quotes. Fields are short, so eight bytes are compared at a time: a search
/// for each delimiter would take longer to start than to find it.
fn split(line: &[u8], delimiter: u8, spans: &mut Vec<(usize, usize)>) {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let mut start = 0;
    let mut end_at = |at: usize| {
        spans.push((start, at));
        start = at + 1;
    };
    let (words, rest) = line.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        // A byte is 0 where the delimiter is, and then its highest bit is the only one set here.
        let unlike = u64::from_le_bytes(*word) ^ u64::from_ne_bytes([delimiter; 8]);
        let mut found = !(((unlike & LOW) + LOW) | unlike | LOW);
        while found != 0 {
            end_at(number * 8 + found.trailing_zeros() as usize / 8);
            found &= found - 1;
        }
    }
    let start_of_rest = line.len() - rest.len();
    for (number, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == delimiter) {
        end_at(start_of_rest + number);
    }
    end_at(line.len());
}

#[cfg(test)]
mod tests;
