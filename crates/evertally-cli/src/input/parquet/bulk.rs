//! Row groups added to totals by columns, on all cores.
//!
//! **Definition.** A thread takes a row group and reads its columns in batches: times as integers, values
//! as doubles, and keys as codes of the group's dictionary, each of which is looked up once.
//! **Guarantee.** A batch is checked as a whole before any of it is added. The first batch with anything
//! unusual (a missing time, an error of any kind, an encoding that is rare) is left, with the rest of its
//! group, to the reading by rows. Totals are integers, so the order of threads does not matter.
//! **Cost.** One table of totals per thread, if they are small enough. Otherwise there is one thread.

use super::column::{is_decimal, meaning_of};
use super::hybrid::decode;
use super::{Bulk, Column, Group, ParquetReader, without_panic};
use crate::input::bulk::{Pending, Taken, taken};
use crate::input::meaning::Meaning;
use evertally_stream::Gather;
use evertally_stream::time::TimeReader;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS_PER_BATCH: usize = 1 << 14;

/// The most values of a page that is added here. A larger one is read by rows.
const MAX_VALUES_OF_PAGE: usize = 1 << 22;

/// How many row groups are read before progress is shown.
const GROUPS_PER_ROUND: usize = 32;

/// The most memory for tables of threads, in bytes.
const MAX_TABLES: usize = 256 << 20;

/// What a thread did with a group: the rows that it added, and whether any was outside the range.
#[derive(Default)]
struct Added {
    rows: usize,
    has_dropped: bool,
}

impl ParquetReader {
    /// Adds the next row groups. Returns whether another call may add more.
    pub(super) fn add_groups(&mut self, bulk: &mut Bulk<'_>) -> bool {
        // Once rows have been read one by one, the rest of their group is as well.
        let is_between_groups = self.at == self.filled && self.rows_left_in_group == 0;
        let count = self.groups.iter().take_while(|group| group.skip == 0).count().min(GROUPS_PER_ROUND);
        if !is_between_groups || count == 0 || !self.columns.iter().all(is_supported) {
            return false;
        }
        let groups: Vec<Group> = self.groups.drain(..count).collect();
        let added = self.add_on_all_cores(&groups, bulk);
        bulk.has_dropped |= added.iter().any(|added| added.has_dropped);
        self.rows_read += added.iter().map(|added| added.rows as u64).sum::<u64>();
        let rest = |(group, added): (&Group, &Added)| Group { skip: added.rows, ..*group };
        let unfinished: Vec<Group> =
            groups.iter().zip(&added).map(rest).filter(|group| group.skip < group.rows).collect();
        let is_finished = unfinished.is_empty();
        // Rows are read in the order of the file, so that the first error is reported.
        unfinished.into_iter().rev().for_each(|group| self.groups.push_front(group));
        is_finished && !self.groups.is_empty()
    }

    fn add_on_all_cores(&self, groups: &[Group], bulk: &mut Bulk<'_>) -> Vec<Added> {
        let shape =
            |column: &Column| Shape { index: column.index, descriptor: Arc::clone(&column.descriptor) };
        let (file, columns): (_, Vec<Shape>) = (self.file.as_ref(), self.columns.iter().map(shape).collect());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let tables = MAX_TABLES / bulk.gather.table_bytes().max(1);
        let threads = cores.min(groups.len()).min(tables);
        let add = |group: &Group, into: &mut Bulk<'_>| {
            let mut added = Added::default();
            // If the library panics, what was added before stays added and is not read again.
            without_panic(|| {
                let reader = GroupReader::open(file, &columns, group, into)?;
                reader.add(group.rows, into, &mut added);
                Some(())
            });
            added
        };
        if threads <= 1 {
            return groups.iter().map(|group| add(group, bulk)).collect();
        }
        let next = AtomicUsize::new(0);
        let work = |mut table: Gather, bulk: &Bulk<'_>| {
            let mut into = bulk.with(&mut table);
            let mut done = Vec::new();
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((group.index, add(group, &mut into)));
            }
            (table, done)
        };
        let finished: Vec<_> = std::thread::scope(|scope| {
            let shared = &*bulk;
            let start = || {
                let work = || work(shared.gather.zeroed(), shared);
                std::thread::Builder::new().spawn_scoped(scope, work).ok()
            };
            // What no thread takes, because the system gives none, is left to the reading by rows.
            let workers: Vec<_> = (0..threads).filter_map(|_| start()).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        let mut added: HashMap<usize, Added> = HashMap::new();
        for (table, done) in finished {
            bulk.gather.add_all(&table);
            added.extend(done);
        }
        groups.iter().map(|group| added.remove(&group.index).unwrap_or_default()).collect()
    }
}

/// What threads share of a column.
struct Shape {
    index: usize,
    descriptor: ColumnDescPtr,
}

fn is_supported(column: &Column) -> bool {
    column.descriptor.physical_type() != PhysicalType::FIXED_LEN_BYTE_ARRAY
}

/// The columns of one row group.
struct GroupReader {
    times: Numbers,
    meaning: Meaning,
    values: Option<(Numbers, Meaning)>,
    keys: Option<Keys>,
}

impl GroupReader {
    fn open(file: &dyn FileReader, columns: &[Shape], group: &Group, bulk: &Bulk<'_>) -> Option<Self> {
        let group = file.get_row_group(group.index).ok()?;
        let numbers = |role: usize| {
            Some((Numbers::open(&*group, &columns[role])?, meaning_of(&columns[role].descriptor)))
        };
        let (times, meaning) = numbers(bulk.roles.time)?;
        let values = bulk.roles.value.map(numbers);
        let keys = bulk.roles.key.map(|role| Keys::open(&*group, &columns[role]));
        // An absent role is fine; an open one must have worked.
        Some(Self {
            times,
            meaning,
            values: values.map_or(Some(None), |v| v.map(Some))?,
            keys: keys.map_or(Some(None), |k| k.map(Some))?,
        })
    }

    /// Adds the rows in batches, up to the first one that is unusual.
    fn add(mut self, rows: usize, bulk: &mut Bulk<'_>, added: &mut Added) {
        let mut batch = Batch::default();
        while added.rows < rows {
            let count = (rows - added.rows).min(ROWS_PER_BATCH);
            if self.read(count, bulk, &mut batch).is_none() {
                break;
            }
            added.has_dropped |= batch.has_dropped;
            added.rows += count;
            batch.counted.add_to(bulk.gather);
        }
    }

    /// Reads a batch and finds where its events count.
    fn read(&mut self, count: usize, bulk: &Bulk<'_>, batch: &mut Batch) -> Option<()> {
        let Batch { times, values, places, counted, has_dropped } = batch;
        counted.clear();
        *has_dropped = false;
        self.times.read_times(count, self.meaning, bulk.times, times)?;
        if let Some((column, meaning)) = &mut self.values {
            column.read_values(count, *meaning, values)?;
        }
        if let Some(keys) = &mut self.keys {
            keys.read(count, bulk.gather, places)?;
        } else {
            places.clear();
            places.resize(count, bulk.gather.place_of(None) as u32);
        }
        let has_values = self.values.is_some();
        for (index, (&time, &place)) in times.iter().zip(&*places).enumerate() {
            let value = if has_values { Some(*values.get(index)?) } else { None };
            match taken(bulk.gather, bulk.drops_outside, time, place as usize, value)? {
                Taken::Counts(cell, amount) => counted.push(cell, amount),
                Taken::Outside => *has_dropped = true,
            }
        }
        Some(())
    }
}

/// The rows of a batch, in memory that is reused.
#[derive(Default)]
struct Batch {
    times: Vec<i64>,
    values: Vec<f64>,
    places: Vec<u32>,
    counted: Pending,
    has_dropped: bool,
}

/// A column of numbers.
struct Numbers {
    reader: ColumnReader,
    integers: Vec<i64>,
    shorts: Vec<i32>,
    doubles: Vec<f64>,
    singles: Vec<f32>,
}

impl Numbers {
    fn open(group: &dyn RowGroupReader, column: &Shape) -> Option<Self> {
        let reader = group.get_column_reader(column.index).ok()?;
        Some(Self {
            reader,
            integers: Vec::new(),
            shorts: Vec::new(),
            doubles: Vec::new(),
            singles: Vec::new(),
        })
    }

    fn read_times(
        &mut self,
        count: usize,
        meaning: Meaning,
        times: &TimeReader,
        out: &mut Vec<i64>,
    ) -> Option<()> {
        out.clear();
        match &mut self.reader {
            ColumnReader::Int64ColumnReader(reader) => {
                read_all(reader, count, &mut self.integers)?;
                extend(out, &self.integers, |value| meaning.time(value, times))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read_all(reader, count, &mut self.shorts)?;
                extend(out, &self.shorts, |value| meaning.time(i64::from(value), times))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read_all(reader, count, &mut self.doubles)?;
                extend(out, &self.doubles, |value| times.parse_decimal(value))
            }
            _ => None,
        }
    }

    fn read_values(&mut self, count: usize, meaning: Meaning, out: &mut Vec<f64>) -> Option<()> {
        let integer = |value: i64| meaning.cell(value)?.as_value();
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        out.clear();
        match &mut self.reader {
            ColumnReader::Int64ColumnReader(reader) => {
                read_all(reader, count, &mut self.integers)?;
                extend(out, &self.integers, integer)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read_all(reader, count, &mut self.shorts)?;
                extend(out, &self.shorts, |value| integer(i64::from(value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read_all(reader, count, &mut self.doubles)?;
                extend(out, &self.doubles, finite)
            }
            ColumnReader::FloatColumnReader(reader) => {
                read_all(reader, count, &mut self.singles)?;
                extend(out, &self.singles, |value| finite(f64::from(value)))
            }
            _ => None,
        }
    }
}

/// Reads exactly `count` rows, none of which is missing.
fn read_all<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    values: &mut Vec<T::T>,
) -> Option<()> {
    values.clear();
    let mut levels = Vec::new();
    while values.len() < count {
        levels.clear();
        let (rows, read, _) =
            reader.read_records(count - values.len(), Some(&mut levels), None, values).ok()?;
        if rows == 0 || rows != read {
            return None;
        }
    }
    Some(())
}

/// Converts all values, or stops at one that does not convert.
fn extend<T: Copy, U>(out: &mut Vec<U>, values: &[T], convert: impl Fn(T) -> Option<U>) -> Option<()> {
    out.reserve(values.len());
    for &value in values {
        out.push(convert(value)?);
    }
    Some(())
}

/// A column of keys, as their places among the totals.
enum Keys {
    Texts(Texts),
    Integers { column: Box<Numbers>, meaning: Meaning, known: HashMap<i64, u32> },
}

impl Keys {
    fn open(group: &dyn RowGroupReader, column: &Shape) -> Option<Self> {
        if column.descriptor.physical_type() == PhysicalType::BYTE_ARRAY {
            if is_decimal(&column.descriptor) {
                return None;
            }
            let pages = group.get_column_page_reader(column.index).ok()?;
            let max_level = column.descriptor.max_def_level();
            return Some(Self::Texts(Texts {
                pages,
                max_level,
                dictionary: Vec::new(),
                ready: Vec::new(),
                at: 0,
            }));
        }
        let column_meaning = meaning_of(&column.descriptor);
        let column = Box::new(Numbers::open(group, column)?);
        Some(Self::Integers { column, meaning: column_meaning, known: HashMap::new() })
    }

    fn read(&mut self, count: usize, gather: &Gather, places: &mut Vec<u32>) -> Option<()> {
        places.clear();
        match self {
            Self::Texts(texts) => texts.read(count, gather, places),
            Self::Integers { column, meaning, known } => {
                let Numbers { reader, integers, shorts, .. } = &mut **column;
                match reader {
                    ColumnReader::Int64ColumnReader(reader) => read_all(reader, count, integers)?,
                    ColumnReader::Int32ColumnReader(reader) => {
                        read_all(reader, count, shorts)?;
                        integers.clear();
                        integers.extend(shorts.iter().map(|&value| i64::from(value)));
                    }
                    _ => return None,
                }
                for &value in &*integers {
                    let place = match known.get(&value) {
                        Some(place) => *place,
                        None => {
                            let cell = meaning.cell(value)?;
                            let place = place_of(gather, cell.as_name().as_deref())?;
                            // There may be very many values that are no declared key.
                            if known.len() < ROWS_PER_BATCH {
                                known.insert(value, place);
                            }
                            place
                        }
                    };
                    places.push(place);
                }
                Some(())
            }
        }
    }
}

fn place_of(gather: &Gather, key: Option<&str>) -> Option<u32> {
    u32::try_from(gather.place_of(key)).ok()
}

/// A column of texts, read from its pages.
struct Texts {
    pages: Box<dyn PageReader>,
    max_level: i16,
    /// The place of each text of the dictionary.
    dictionary: Vec<u32>,
    /// The places of the rows of the present page, and how many are used.
    ready: Vec<u32>,
    at: usize,
}

impl Texts {
    fn read(&mut self, count: usize, gather: &Gather, places: &mut Vec<u32>) -> Option<()> {
        while places.len() < count {
            if self.at == self.ready.len() {
                self.next_page(gather)?;
            }
            let end = self.ready.len().min(self.at + count - places.len());
            places.extend_from_slice(&self.ready[self.at..end]);
            self.at = end;
        }
        Some(())
    }

    fn next_page(&mut self, gather: &Gather) -> Option<()> {
        self.ready.clear();
        self.at = 0;
        match self.pages.get_next_page().ok()?? {
            Page::DictionaryPage { buf, num_values, encoding, .. } => {
                if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                    return None;
                }
                let mut places = Vec::new();
                plain(&buf, num_values as usize, gather, &mut places)?;
                self.dictionary = places;
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
                self.add_page(levels, values, num_values as usize, encoding, gather)
            }
            Page::DataPageV2 {
                buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let (_, rest) = buf.split_at_checked(rep_levels_byte_len as usize)?;
                let (levels, values) = rest.split_at_checked(def_levels_byte_len as usize)?;
                self.add_page(levels, values, num_values as usize, encoding, gather)
            }
        }
    }

    fn add_page(
        &mut self,
        levels: &[u8],
        values: &[u8],
        count: usize,
        encoding: Encoding,
        gather: &Gather,
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
                    let place = *dictionary.get(code as usize)?;
                    if times == 1 {
                        ready.push(place);
                    } else {
                        ready.resize(ready.len() + times, place);
                    }
                    Some(())
                })?;
            }
            Encoding::PLAIN => plain(values, present, gather, ready)?,
            _ => return None,
        }
        if present < count {
            let missing = place_of(gather, None)?;
            let mut found = std::mem::take(ready).into_iter();
            for is_present in is_present {
                ready.push(if is_present { found.next()? } else { missing });
            }
        }
        Some(())
    }
}

/// The places of texts, each of which stands behind its length.
fn plain(mut bytes: &[u8], count: usize, gather: &Gather, places: &mut Vec<u32>) -> Option<()> {
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        places.push(place_of(gather, Some(std::str::from_utf8(text).ok()?))?);
        bytes = rest;
    }
    Some(())
}
