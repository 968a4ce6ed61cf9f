//! Row groups added to totals by columns, on all cores.
//!
//! **Definition.** A thread takes a row group and reads its columns in batches: times as integers, values
//! as doubles, and keys and names as codes of the group's dictionary, each of which is looked up once.
//! Events that compete are handed over after each batch. Where ids are compared within persons, rows are
//! left to the reading by rows, because ids are texts then.
//! **Guarantee.** A batch is checked as a whole before any of it is added. The first batch with anything
//! unusual (a missing time, an error of any kind, an encoding that is rare) is left, with the rest of its
//! group, to the reading by rows. Totals are integers, so the order of threads does not matter.
//! **Cost.** One table of totals per thread, if they are small enough. Otherwise there is one thread.

mod names;
mod numbers;

use super::column::meaning_of;
use super::{Bulk, Column, Group, ParquetReader, without_panic};
use crate::error::Result;
use crate::input::bulk::{Drops, Found, Key, LeftOut, Pending, Roles};
use crate::input::meaning::Meaning;
use evertally_stream::time::TimeReader;
use evertally_stream::{Gather, Tag};
use names::Names;
use numbers::Numbers;
use parquet::basic::Type as PhysicalType;
use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const ROWS_PER_BATCH: usize = 1 << 14;

/// The same where events compete: their rows are wider, and a batch should stay in the cache.
const ROWS_PER_CONTEST: usize = 1 << 12;

/// How many row groups are read before progress is shown.
const GROUPS_PER_ROUND: usize = 32;

/// The most memory for tables of threads, in bytes.
const MAX_TABLES: usize = 256 << 20;

/// What a thread did with a group: the rows that it added, and what it left out.
#[derive(Default)]
struct Added {
    rows: usize,
    left_out: LeftOut,
}

/// The groups that a thread has read, by their numbers, and its totals.
type Done = (Gather, Vec<(usize, Added)>);

impl ParquetReader {
    /// Adds the next row groups. Returns whether another call may add more.
    pub(super) fn add_groups(&mut self, bulk: &mut Bulk<'_>) -> Result<bool> {
        // Once rows have been read one by one, the rest of their group is as well.
        let is_between_groups = self.at == self.filled && self.rows_left_in_group == 0;
        let count = self.groups.iter().take_while(|group| group.skip == 0).count().min(GROUPS_PER_ROUND);
        let has_texts_of_ids = bulk.roles.person.is_some() && bulk.roles.id.is_some();
        let is_unusual = has_texts_of_ids || !self.columns.iter().all(is_supported);
        if !is_between_groups || count == 0 || is_unusual {
            return Ok(false);
        }
        let groups: Vec<Group> = self.groups.drain(..count).collect();
        let added = self.add_on_all_cores(&groups, bulk)?;
        added.iter().for_each(|added| bulk.left_out += added.left_out);
        self.rows_read += added.iter().map(|added| added.rows as u64).sum::<u64>();
        let rest = |(group, added): (&Group, &Added)| Group { skip: added.rows, ..*group };
        let unfinished: Vec<Group> =
            groups.iter().zip(&added).map(rest).filter(|group| group.skip < group.rows).collect();
        let is_finished = unfinished.is_empty();
        // Rows are read in the order of the file, so that the first error is reported.
        unfinished.into_iter().rev().for_each(|group| self.groups.push_front(group));
        Ok(is_finished && !self.groups.is_empty())
    }

    fn add_on_all_cores(&self, groups: &[Group], bulk: &mut Bulk<'_>) -> Result<Vec<Added>> {
        let shape =
            |column: &Column| Shape { index: column.index, descriptor: Arc::clone(&column.descriptor) };
        let (file, columns): (_, Vec<Shape>) = (self.file.as_ref(), self.columns.iter().map(shape).collect());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let tables = (MAX_TABLES / bulk.gather.table_bytes().max(1)).max(1);
        let threads = cores.min(groups.len()).min(tables);
        let (roles, times, drops) = (bulk.roles, bulk.times, bulk.drops);
        let share = || (bulk.gather.zeroed(), Pending::new(bulk.gather, roles));
        let shares: Vec<(Gather, Pending)> = (0..threads).map(|_| share()).collect();
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let all = Mutex::new(&mut *bulk.gather);
        let work = |table: Gather, pending: Pending| -> Result<Done> {
            let mut into = Into { table, roles, times, drops, all: &all, batch: Batch::new(pending) };
            let mut done = Vec::new();
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                if has_failed.load(Ordering::Relaxed) {
                    break;
                }
                let added = into.add(file, &columns, group);
                has_failed.fetch_or(added.is_err(), Ordering::Relaxed);
                done.push((group.index, added?));
            }
            Ok((into.table, done))
        };
        let finished: Vec<Result<Done>> = if threads == 1 {
            shares.into_iter().map(|(table, pending)| work(table, pending)).collect()
        } else {
            std::thread::scope(|scope| {
                let work = &work;
                // What no thread takes, because the system gives none, is left to the reading by rows.
                let workers: Vec<_> = shares
                    .into_iter()
                    .filter_map(|(table, pending)| {
                        let work = move || work(table, pending);
                        std::thread::Builder::new().spawn_scoped(scope, work).ok()
                    })
                    .collect();
                let finished = workers
                    .into_iter()
                    .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                finished.collect()
            })
        };
        let mut added: HashMap<usize, Added> = HashMap::new();
        for done in finished {
            let (table, done) = done?;
            bulk.gather.add_all(&table);
            added.extend(done);
        }
        Ok(groups.iter().map(|group| added.remove(&group.index).unwrap_or_default()).collect())
    }
}

/// Where a thread adds rows.
struct Into<'a, 'g> {
    /// Its own totals.
    table: Gather,
    roles: Roles,
    times: &'a TimeReader,
    drops: Drops,
    /// What takes the events that compete.
    all: &'a Mutex<&'g mut Gather>,
    batch: Batch,
}

impl Into<'_, '_> {
    /// Adds the rows of a group in batches, up to the first one that is unusual.
    fn add(&mut self, file: &dyn FileReader, columns: &[Shape], group: &Group) -> Result<Added> {
        let mut added = Added::default();
        // The library may panic. What was added before stays added and is not read again.
        let mut reader = without_panic(|| GroupReader::open(file, columns, group, self.roles)).flatten();
        let size = if self.batch.pending.batch.is_some() { ROWS_PER_CONTEST } else { ROWS_PER_BATCH };
        while let Some(reader) = reader.as_mut().filter(|_| added.rows < group.rows) {
            let count = (group.rows - added.rows).min(size);
            if without_panic(|| reader.read(count, self)).flatten().is_none() {
                break;
            }
            added.left_out += self.batch.pending.left_out;
            added.rows += count;
            self.batch.pending.add_to(&mut self.table);
            if self.batch.pending.batch.is_some() {
                let mut all = self.all.lock().unwrap_or_else(|_| panic!("another thread has failed"));
                self.batch.pending.hand_over(&mut all)?;
            }
        }
        self.batch.pending.clear();
        if let Some(batch) = &mut self.batch.pending.batch {
            // The numbers of keys are looked up for each group.
            batch.forget_keys();
        }
        Ok(added)
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
    keys: Option<Names<Key>>,
    claimants: Option<Names<Option<Tag>>>,
}

impl GroupReader {
    fn open(file: &dyn FileReader, columns: &[Shape], group: &Group, roles: Roles) -> Option<Self> {
        let group = file.get_row_group(group.index).ok()?;
        let numbers = |role: usize| {
            Some((Numbers::open(&*group, &columns[role])?, meaning_of(&columns[role].descriptor)))
        };
        let (times, meaning) = numbers(roles.time)?;
        let values = roles.value.map(numbers);
        let keys = roles.key.map(|role| Names::open(&*group, &columns[role]));
        let claimants = roles.claimant().map(|role| Names::open(&*group, &columns[role]));
        // An absent role is fine; an open one must have worked.
        Some(Self {
            times,
            meaning,
            values: values.map_or(Some(None), |v| v.map(Some))?,
            keys: keys.map_or(Some(None), |k| k.map(Some))?,
            claimants: claimants.map_or(Some(None), |c| c.map(Some))?,
        })
    }

    /// Reads a batch and finds where its events count.
    fn read(&mut self, count: usize, into: &mut Into<'_, '_>) -> Option<()> {
        let Into { table, times: reader, drops, batch, .. } = into;
        let Batch { times, values, keys, claimants, pending } = batch;
        pending.clear();
        self.times.read_times(count, self.meaning, reader, times)?;
        if let Some((column, meaning)) = &mut self.values {
            column.read_values(count, *meaning, values)?;
        }
        keys.clear();
        if let Some(column) = &mut self.keys {
            column.read(count, &mut |key| pending.key(table, key), keys)?;
        } else {
            keys.resize(count, pending.key(table, None)?);
        }
        claimants.clear();
        if let Some(column) = &mut self.claimants {
            column.read_tags(count, pending.batch.as_ref()?, claimants)?;
        } else {
            claimants.resize(count, None);
        }
        let has_values = self.values.is_some();
        for (index, ((&time, &key), &claimant)) in times.iter().zip(&*keys).zip(&*claimants).enumerate() {
            let value = if has_values { Some(*values.get(index)?) } else { None };
            pending.take(table, *drops, &Found { time, key, value, claimant, id: None })?;
        }
        Some(())
    }
}

/// The rows of a batch, in memory that is reused.
struct Batch {
    times: Vec<i64>,
    values: Vec<f64>,
    keys: Vec<Key>,
    claimants: Vec<Option<Tag>>,
    pending: Pending,
}

impl Batch {
    fn new(pending: Pending) -> Self {
        let (times, values, keys, claimants) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { times, values, keys, claimants, pending }
    }
}
