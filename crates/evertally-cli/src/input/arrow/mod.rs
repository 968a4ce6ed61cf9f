//! Arrow, as files (Feather's second version) and as streams. Only flat columns are read: a list has no
//! single value per row. A member of a struct is named by its path.
//!
//! **Definition.** The messages of the file ([`messages`]) hold batches, whose layout follows from the
//! schema ([`schema`]). The values of the requested fields become cells row by row ([`array`]).
//! **Guarantee.** Any bytes give rows or an error. Memory is bounded by the size of the file, and by the
//! size of what its compressed buffers hold. The tests read what the reference implementation writes.
//! **Why here.** The reference implementation would be compiled in every first build. The flatbuffers of
//! messages come from a library that the service uses as well.

mod array;
mod held;
mod messages;
mod schema;

use super::columns::positions;
use super::{Cell, Row, RowReader};
use crate::error::{CliError, Result, shown};
use crate::input::meaning::Meaning;
use array::{Array, Batch, Presence};
use held::Held;
use messages::{Message, Messages};
use polars_arrow_format::ipc::{DictionaryBatchRef, MessageHeaderRef, RecordBatchRef};
use schema::{Codes, Field, Kind, Place};
use std::collections::HashMap;
use std::path::Path;

pub(crate) struct ArrowReader {
    messages: Messages,
    columns: Vec<Column>,
    dictionaries: HashMap<i64, Dictionary>,
    /// The rows of the present batch, and how many of them are read.
    rows: usize,
    at: usize,
    /// How many rows are read.
    rows_read: u64,
}

/// A requested field.
struct Column {
    name: String,
    kind: Kind,
    place: Place,
    around: Vec<Place>,
    codes: Option<Codes>,
    batch: Option<ColumnBatch>,
}

/// Its values in the present batch: its own, or codes.
struct ColumnBatch {
    array: Array,
    around: Vec<Presence>,
}

/// The values that codes stand for, in the parts in which they came.
#[derive(Default)]
struct Dictionary {
    parts: Vec<Array>,
    /// The number of values before each part.
    starts: Vec<usize>,
    count: usize,
}

impl ArrowReader {
    /// The names of all columns.
    pub(crate) fn names(path: &Path) -> Result<Vec<String>> {
        let (_, schema) = Messages::open(not_empty(Held::open(path)?)?)?;
        Ok(schema.fields.iter().map(|field| field.path.join(".")).collect())
    }

    pub(crate) fn open(path: &Path, columns: &[String]) -> Result<Self> {
        Self::new(not_empty(Held::open(path)?)?, columns)
    }

    /// The same for a file in memory.
    pub(crate) fn held(name: &str, bytes: Vec<u8>, columns: &[String]) -> Result<Self> {
        Self::new(Held::memory(name, bytes), columns)
    }

    fn new(held: Held, columns: &[String]) -> Result<Self> {
        let (messages, schema) = Messages::open(held)?;
        let name = messages.held().name();
        let present: Vec<&[String]> = schema.fields.iter().map(|field| &*field.path).collect();
        let columns = positions(name, &present, columns, "")?
            .into_iter()
            .map(|index| Column::new(name, &schema.fields[index]))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { messages, columns, dictionaries: HashMap::new(), rows: 0, at: 0, rows_read: 0 })
    }

    /// Goes to the next batch; `false` at the end.
    fn next_batch(&mut self) -> Result<bool> {
        while let Some(message) = self.messages.next()? {
            match message.header()? {
                MessageHeaderRef::DictionaryBatch(batch) => self.add_dictionary(&message, &batch)?,
                MessageHeaderRef::RecordBatch(batch) => {
                    self.start_batch(&message, batch)?;
                    return Ok(true);
                }
                _ => return Err(message.damaged()),
            }
        }
        Ok(false)
    }

    fn start_batch(&mut self, message: &Message, batch: RecordBatchRef<'_>) -> Result<()> {
        let batch = Batch::new(message, batch)?;
        for column in &mut self.columns {
            let around = column.around.iter().map(|&place| batch.presence(place)).collect::<Result<_>>()?;
            let array = batch.array(column.place, column.stored_kind())?;
            column.batch = Some(ColumnBatch { array, around });
        }
        (self.rows, self.at) = (batch.rows, 0);
        Ok(())
    }

    /// Adds values to a dictionary, or puts them in place of its values.
    fn add_dictionary(&mut self, message: &Message, batch: &DictionaryBatchRef<'_>) -> Result<()> {
        let read = || Some((batch.id().ok()?, batch.is_delta().ok()?, batch.data().ok()??));
        let (id, is_delta, data) = read().ok_or_else(|| message.damaged())?;
        let is_it = |column: &&Column| column.codes.is_some_and(|codes| codes.id == id);
        let Some(kind) = self.columns.iter().find(is_it).map(|column| column.kind) else { return Ok(()) };
        let dictionary = self.dictionaries.entry(id).or_default();
        if !is_delta {
            if !dictionary.parts.is_empty() && !self.messages.may_replace() {
                return Err(message.damaged());
            }
            *dictionary = Dictionary::default();
        }
        let values = Batch::new(message, data)?.array(Place::default(), kind)?;
        dictionary.starts.push(dictionary.count);
        dictionary.count = dictionary.count.checked_add(values.rows).ok_or_else(|| message.damaged())?;
        dictionary.parts.push(values);
        Ok(())
    }
}

fn not_empty(held: Held) -> Result<Held> {
    if held.length() == 0 { Err(held.refused("is empty: expected an Arrow file")) } else { Ok(held) }
}

impl Column {
    fn new(source: &str, field: &Field) -> Result<Self> {
        Ok(Self {
            name: field.path.join("."),
            kind: field.usable_kind(source)?,
            place: field.place,
            around: field.around.clone(),
            codes: field.dictionary,
            batch: None,
        })
    }

    /// The kind of what stands in a batch.
    fn stored_kind(&self) -> Kind {
        match self.codes {
            Some(Codes { storage, .. }) => Kind::Integer { storage, meaning: Meaning::Number },
            None => self.kind,
        }
    }

    /// Sets a cell to the value of a row; `None` if it is none.
    fn set(&self, row: usize, dictionaries: &HashMap<i64, Dictionary>, cell: &mut Cell) -> Option<()> {
        let ColumnBatch { array, around } = self.batch.as_ref()?;
        if !around.iter().all(|presence| presence.has(row)) {
            *cell = Cell::Missing;
            return Some(());
        }
        let Some(codes) = self.codes else { return array.set(row, cell) };
        match array.code(row)? {
            Some(code) => dictionaries.get(&codes.id)?.set(code, cell),
            None => {
                *cell = Cell::Missing;
                Some(())
            }
        }
    }
}

impl Dictionary {
    fn set(&self, code: usize, cell: &mut Cell) -> Option<()> {
        // The last part that starts at or before the code. Empty parts before it start there too.
        let part = self.starts.partition_point(|&start| start <= code).checked_sub(1)?;
        let row = code - self.starts[part];
        let part = self.parts.get(part).filter(|part| row < part.rows)?;
        part.set(row, cell)
    }
}

impl RowReader for ArrowReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        while self.at == self.rows {
            if !self.next_batch()? {
                return Ok(false);
            }
        }
        self.rows_read += 1;
        row.line = self.rows_read;
        for (column, cell) in self.columns.iter().zip(&mut row.cells) {
            column.set(self.at, &self.dictionaries, cell).ok_or_else(|| {
                let (name, column) = (self.messages.held().name(), shown(&column.name));
                CliError::bad(format!(
                    "{name}, row {}, column {column}: expected text in UTF-8, numbers, dates or times",
                    row.line
                ))
            })?;
        }
        self.at += 1;
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        Some(self.messages.fraction_read().clamp(0.0, 1.0))
    }

    fn holds_names(&self, column: usize) -> bool {
        self.columns.get(column).is_none_or(|column| column.kind.holds_names())
    }

    fn unit(&self) -> &'static str {
        "row"
    }
}

#[cfg(test)]
mod tests;
