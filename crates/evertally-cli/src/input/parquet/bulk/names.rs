//! Columns of keys, persons and ids, a batch at a time: each as what its name was looked up as.

use super::numbers::{Numbers, read_present};
use super::{ROWS_PER_BATCH, Shape};
use crate::input::cell::Cell;
use crate::input::meaning::Meaning;
use crate::input::parquet::column::{is_decimal, meaning_of};
use crate::input::parquet::hybrid::decode;
use evertally_stream::{ClaimBatch, Tag};
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::ColumnReader;
use parquet::file::reader::RowGroupReader;
use std::collections::HashMap;

/// The most values of a page that is added here. A larger one is read by rows.
const MAX_VALUES_OF_PAGE: usize = 1 << 22;

/// A column of keys or names, as what they were looked up as.
pub(super) enum Names<T> {
    Texts(Texts<T>),
    Integers(Box<Integers<T>>),
}

/// What looks a name up. There is none in a missing cell.
pub(super) type Lookup<'a, T> = &'a mut dyn FnMut(Option<&str>) -> Option<T>;

impl<T: Copy> Names<T> {
    pub(super) fn open(group: &dyn RowGroupReader, column: &Shape) -> Option<Self> {
        let max_level = column.descriptor.max_def_level();
        if column.descriptor.physical_type() == PhysicalType::BYTE_ARRAY {
            if is_decimal(&column.descriptor) {
                return None;
            }
            let pages = group.get_column_page_reader(column.index).ok()?;
            let (dictionary, ready) = (Vec::new(), Vec::new());
            return Some(Self::Texts(Texts { pages, max_level, dictionary, ready, at: 0 }));
        }
        let meaning = meaning_of(&column.descriptor);
        let column = Numbers::open(group, column)?;
        let (levels, known) = (Vec::new(), HashMap::new());
        Some(Self::Integers(Box::new(Integers { column, meaning, max_level, levels, known })))
    }

    pub(super) fn read(&mut self, count: usize, lookup: Lookup<'_, T>, found: &mut Vec<T>) -> Option<()> {
        match self {
            Self::Texts(texts) => texts.read(count, lookup, found),
            Self::Integers(integers) => integers.read(count, lookup, found),
        }
    }
}

/// A column of integers that are names.
pub(super) struct Integers<T> {
    column: Numbers,
    meaning: Meaning,
    max_level: i16,
    levels: Vec<i16>,
    known: HashMap<i64, T>,
}

impl<T: Copy> Integers<T> {
    /// Reads the integers of the next rows, and which rows have one.
    fn next(&mut self, count: usize) -> Option<()> {
        let Numbers { reader, integers, shorts, .. } = &mut self.column;
        match reader {
            ColumnReader::Int64ColumnReader(reader) => {
                read_present(reader, count, self.max_level, integers, &mut self.levels)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read_present(reader, count, self.max_level, shorts, &mut self.levels)?;
                integers.clear();
                integers.extend(shorts.iter().map(|&value| i64::from(value)));
                Some(())
            }
            _ => None,
        }
    }

    fn read(&mut self, count: usize, lookup: Lookup<'_, T>, found: &mut Vec<T>) -> Option<()> {
        self.next(count)?;
        let mut values = self.column.integers.iter();
        for level in &self.levels {
            if *level != self.max_level {
                found.push(lookup(None)?);
                continue;
            }
            let value = *values.next()?;
            let known = match self.known.get(&value) {
                Some(known) => *known,
                None => {
                    let cell = self.meaning.cell(value)?;
                    let new = lookup(cell.as_name().as_deref())?;
                    // There may be very many values that are no declared key.
                    if self.known.len() < ROWS_PER_BATCH {
                        self.known.insert(value, new);
                    }
                    new
                }
            };
            found.push(known);
        }
        Some(())
    }
}

impl Names<Option<Tag>> {
    /// Reads tags of persons or ids. Integers are not looked up among those before: most are different.
    pub(super) fn read_tags(
        &mut self,
        count: usize,
        batch: &ClaimBatch,
        found: &mut Vec<Option<Tag>>,
    ) -> Option<()> {
        let Self::Integers(integers) = self else {
            return self.read(count, &mut |name| Some(name.and_then(|name| batch.tag_of(name))), found);
        };
        integers.next(count)?;
        let mut values = integers.column.integers.iter();
        for level in &integers.levels {
            if *level != integers.max_level {
                found.push(None);
                continue;
            }
            found.push(match integers.meaning.cell(*values.next()?)? {
                Cell::Integer(number) => Some(batch.tag_of_integer(number)),
                cell => cell.as_name().and_then(|name| batch.tag_of(&name)),
            });
        }
        Some(())
    }
}

/// A column of texts, read from its pages.
pub(super) struct Texts<T> {
    pages: Box<dyn PageReader>,
    max_level: i16,
    /// What each text of the dictionary was looked up as.
    dictionary: Vec<T>,
    /// The same for the rows of the present page, and how many are used.
    ready: Vec<T>,
    at: usize,
}

impl<T: Copy> Texts<T> {
    fn read(&mut self, count: usize, lookup: Lookup<'_, T>, found: &mut Vec<T>) -> Option<()> {
        while found.len() < count {
            if self.at == self.ready.len() {
                self.next_page(lookup)?;
            }
            let end = self.ready.len().min(self.at + count - found.len());
            found.extend_from_slice(&self.ready[self.at..end]);
            self.at = end;
        }
        Some(())
    }

    fn next_page(&mut self, lookup: Lookup<'_, T>) -> Option<()> {
        self.ready.clear();
        self.at = 0;
        match self.pages.get_next_page().ok()?? {
            Page::DictionaryPage { buf, num_values, encoding, .. } => {
                if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                    return None;
                }
                let mut dictionary = Vec::new();
                plain(&buf, num_values as usize, lookup, &mut dictionary)?;
                self.dictionary = dictionary;
                Some(())
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let (levels, values) = if self.max_level == 0 {
                    (&[][..], &buf[..])
                } else if def_level_encoding == Encoding::RLE {
                    let (length, rest) = buf.split_first_chunk::<4>()?;
                    rest.split_at_checked(u32::from_le_bytes(*length) as usize)?
                } else {
                    return None;
                };
                self.add_page(levels, values, num_values as usize, encoding, lookup)
            }
            Page::DataPageV2 {
                buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let (_, rest) = buf.split_at_checked(rep_levels_byte_len as usize)?;
                let (levels, values) = rest.split_at_checked(def_levels_byte_len as usize)?;
                self.add_page(levels, values, num_values as usize, encoding, lookup)
            }
        }
    }

    fn add_page(
        &mut self,
        levels: &[u8],
        values: &[u8],
        count: usize,
        encoding: Encoding,
        lookup: Lookup<'_, T>,
    ) -> Option<()> {
        // The header of a page may claim any number.
        if count > MAX_VALUES_OF_PAGE {
            return None;
        }
        let mut is_present = Vec::new();
        if self.max_level > 0 {
            let width = 32 - u32::from(self.max_level.unsigned_abs()).leading_zeros();
            let max_level = u32::from(self.max_level.unsigned_abs());
            decode(levels, width, count, |level, times| {
                is_present.extend(std::iter::repeat_n(level == max_level, times));
                Some(())
            })?;
        }
        let present = if self.max_level > 0 { is_present.iter().filter(|p| **p).count() } else { count };
        let (dictionary, ready) = (&self.dictionary, &mut self.ready);
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                let (&width, codes) = values.split_first().or((present == 0).then_some((&0, values)))?;
                decode(codes, u32::from(width), present, |code, times| {
                    let known = *dictionary.get(code as usize)?;
                    if times == 1 {
                        ready.push(known);
                    } else {
                        ready.resize(ready.len() + times, known);
                    }
                    Some(())
                })?;
            }
            Encoding::PLAIN => plain(values, present, lookup, ready)?,
            _ => return None,
        }
        if present < count {
            let missing = lookup(None)?;
            let mut found = std::mem::take(ready).into_iter();
            for is_present in is_present {
                ready.push(if is_present { found.next()? } else { missing });
            }
        }
        Some(())
    }
}

/// Looks up texts, each of which stands behind its length.
fn plain<T>(mut bytes: &[u8], count: usize, lookup: Lookup<'_, T>, found: &mut Vec<T>) -> Option<()> {
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        found.push(lookup(Some(std::str::from_utf8(text).ok()?))?);
        bytes = rest;
    }
    Some(())
}
