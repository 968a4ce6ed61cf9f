//! The keys of a counter of open keys: one record per key, found by its tag.
//!
//! **Definition.** Records ([`super::record`]) lie in pages, in the order of their first use. They
//! are found by linear hashing: a bucket is a chain of records, and every second key splits one
//! bucket in two. Without the noise key, tags look random. So they are their own hash, and nobody
//! can choose keys that share a bucket.
//!
//! **Cost.** 8 bytes per word, 2 for half a bucket and a fraction for pages: between 98 and 99 bytes
//! for seven numbers per lane. Nothing is ever moved or doubled, so growth causes no pause and takes
//! no memory beyond the new keys. Pages with inputs of the open step hold another 16 bytes per
//! record.
//!
//! **Source.** Litwin, *Linear hashing: a new tool for file and table addressing* (1980).

use zeroize::Zeroize;

use super::record::{Record, RecordMut, TagWords};
use crate::counter::totals::carried;
use crate::key_record::{KEYS_PER_BUCKET, Layout};
use crate::noise::LaneTag;

/// Records in a page.
const PAGE: usize = 128;

/// Buckets in a page of buckets.
const BUCKETS: usize = 1024;

/// The maximum number of keys: key numbers have 32 bits, with room for one more page.
pub(super) const MAX_KEYS: usize = u32::MAX as usize - PAGE;

/// The end of a chain.
const NONE: u32 = u32::MAX;

struct Page {
    records: Vec<u64>,
    /// The inputs of the open step for each record, if there are any.
    inputs: Option<Box<[i128]>>,
}

/// All records.
pub(super) struct Store {
    layout: Layout,
    pages: Vec<Page>,
    len: usize,
    buckets: Buckets,
    /// The pages that have inputs.
    touched: Vec<u32>,
}

impl Store {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, pages: Vec::new(), len: 0, buckets: Buckets::new(), touched: Vec::new() }
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, key: u32) -> Record<'_> {
        let (page, at) = place(key);
        let words = self.layout.words();
        Record { layout: self.layout, words: &self.pages[page].records[at * words..(at + 1) * words] }
    }

    pub(super) fn get_mut(&mut self, key: u32) -> RecordMut<'_> {
        let (page, at) = place(key);
        let words = self.layout.words();
        let records = &mut self.pages[page].records;
        RecordMut { layout: self.layout, words: &mut records[at * words..(at + 1) * words] }
    }

    pub(super) fn find(&self, tag: LaneTag) -> Option<u32> {
        let tag = TagWords::from(tag);
        let mut key = self.buckets.first(tag);
        while key != NONE {
            let record = self.get(key);
            if record.tag_words() == tag {
                return Some(key);
            }
            key = record.next();
        }
        None
    }

    /// The same for several tags. Their chains are followed side by side, because each link waits
    /// for memory.
    pub(super) fn find_each<const N: usize>(&self, tags: &[LaneTag; N]) -> [Option<u32>; N] {
        let tags = tags.map(TagWords::from);
        let mut keys = tags.map(|tag| self.buckets.first(tag));
        let mut found = [None; N];
        let mut is_open = true;
        while is_open {
            is_open = false;
            for i in 0..N {
                if keys[i] != NONE {
                    let record = self.get(keys[i]);
                    let is_found = record.tag_words() == tags[i];
                    if is_found {
                        found[i] = Some(keys[i]);
                    }
                    keys[i] = if is_found { NONE } else { record.next() };
                    is_open = true;
                }
            }
        }
        found
    }

    /// Makes the record of a new tag.
    pub(super) fn insert(&mut self, tag: LaneTag) -> u32 {
        let tag = TagWords::from(tag);
        let (key, words) = (self.len as u32, self.layout.words());
        if self.len.is_multiple_of(PAGE) {
            self.pages.push(Page { records: Vec::with_capacity(PAGE * words), inputs: None });
        }
        let (page, _) = place(key);
        let filled = self.pages[page].records.len() + words;
        self.pages[page].records.resize(filled, 0);
        self.len += 1;
        let bucket = self.buckets.of(tag);
        let next = self.buckets.replace(bucket, key);
        self.get_mut(key).set_tag(tag, next);
        if self.len > KEYS_PER_BUCKET * self.buckets.len {
            self.split();
        }
        key
    }

    /// Adds one bucket, and moves its keys out of the chain that held them.
    fn split(&mut self) {
        let from = self.buckets.add();
        let mut key = self.buckets.replace(from, NONE);
        while key != NONE {
            let record = self.get(key);
            let (tag, following) = (record.tag_words(), record.next());
            let bucket = self.buckets.of(tag);
            let next = self.buckets.replace(bucket, key);
            self.get_mut(key).set_next(next);
            key = following;
        }
    }

    /// Stores a total after `closed` steps, so that its decays are not applied again.
    pub(super) fn settle(&mut self, key: u32, closed: u64) {
        if self.layout.decays() {
            let total = self.get(key).total(closed);
            self.get_mut(key).set_total(total, closed);
        }
    }

    /// The input of the open step for a key.
    pub(super) fn input(&self, key: u32) -> i128 {
        let (page, at) = place(key);
        self.pages[page].inputs.as_ref().map_or(0, |inputs| inputs[at])
    }

    pub(super) fn set_input(&mut self, key: u32, units: i128) {
        let (page, at) = place(key);
        let inputs = &mut self.pages[page].inputs;
        if inputs.is_none() {
            self.touched.push(page as u32);
        }
        inputs.get_or_insert_with(|| vec![0; PAGE].into_boxed_slice())[at] = units;
    }

    /// The keys with an input in the open step, page by page.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (u32, i128)> + '_ {
        self.touched.iter().flat_map(move |page| {
            let inputs = self.pages[*page as usize].inputs.iter().flat_map(|inputs| inputs.iter());
            let first = page * PAGE as u32;
            (first..).zip(inputs.copied()).filter(|(_, units)| *units != 0)
        })
    }

    /// Adds the inputs of the open step to the totals. `closed` steps came before it.
    pub(super) fn close(&mut self, closed: u64) {
        let workload = self.layout.workload();
        for page in std::mem::take(&mut self.touched) {
            let Some(mut inputs) = self.pages[page as usize].inputs.take() else { continue };
            for (key, units) in (page * PAGE as u32..).zip(&*inputs).filter(|(_, units)| **units != 0) {
                // Inputs that would make a total too large were refused earlier.
                let total = carried(workload, self.get(key).total(closed)) + units;
                self.get_mut(key).set_total(total, closed + 1);
            }
            inputs.zeroize();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for page in &mut self.pages {
            page.records.as_mut_slice().zeroize();
            page.inputs.zeroize();
        }
    }
}

/// The page of a key, and its place there.
fn place(key: u32) -> (usize, usize) {
    (key as usize / PAGE, key as usize % PAGE)
}

/// The first key of every chain.
struct Buckets {
    pages: Vec<Vec<u32>>,
    len: usize,
}

impl Buckets {
    fn new() -> Self {
        let mut buckets = Self { pages: Vec::new(), len: 0 };
        buckets.push();
        buckets
    }

    fn push(&mut self) {
        if self.len.is_multiple_of(BUCKETS) {
            self.pages.push(Vec::with_capacity(BUCKETS));
        }
        self.pages[self.len / BUCKETS].push(NONE);
        self.len += 1;
    }

    /// The bucket of a tag: its low bits, or one bit fewer if that bucket does not exist yet.
    fn of(&self, tag: TagWords) -> usize {
        let half = 1 << self.len.ilog2();
        let bucket = tag.low as usize & (2 * half - 1);
        if bucket < self.len { bucket } else { bucket & (half - 1) }
    }

    fn first(&self, tag: TagWords) -> u32 {
        let bucket = self.of(tag);
        self.pages[bucket / BUCKETS][bucket % BUCKETS]
    }

    /// Makes a key the first of a bucket and returns the previous first key.
    fn replace(&mut self, bucket: usize, key: u32) -> u32 {
        std::mem::replace(&mut self.pages[bucket / BUCKETS][bucket % BUCKETS], key)
    }

    /// Adds a bucket and returns the one that held its keys.
    fn add(&mut self) -> usize {
        let from = self.len - (1 << self.len.ilog2());
        self.push();
        from
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::workload::Workload;
    use proptest::prelude::*;

    fn tag(number: u64) -> LaneTag {
        let hash = blake3::hash(&number.to_le_bytes());
        LaneTag::from_bytes(*hash.as_bytes().first_chunk().unwrap())
    }

    #[test]
    fn every_key_is_found_at_every_size() {
        let mut store = Store::new(Layout::new(Workload::PrefixSum, 3));
        for n in 0..5000 {
            assert_eq!(store.find(tag(n)), None);
            assert_eq!(store.insert(tag(n)), n as u32);
            if n < 300 || n % 97 == 0 {
                for key in 0..=n {
                    assert_eq!(store.find(tag(key)), Some(key as u32), "{key} of {n}");
                }
            }
        }
        assert_eq!((store.len(), store.buckets.len), (5000, 2500));
        for first in (0..6000).step_by(8) {
            let found = store.find_each::<8>(&std::array::from_fn(|i| tag(first + i as u64)));
            let want = std::array::from_fn(|i| Some(first as u32 + i as u32).filter(|key| *key < 5000));
            assert_eq!(found, want);
        }
        assert!((0..5000).all(|key| store.get(key).tag() == tag(u64::from(key))));
        let longest = (0..5000).map(|n| {
            let (mut key, mut length) = (store.buckets.first(tag(n).into()), 0);
            while key != NONE {
                (key, length) = (store.get(key).next(), length + 1);
            }
            length
        });
        assert!(longest.max() < Some(20));
    }

    /// Tags that differ only in bits that no bucket uses.
    #[test]
    fn tags_are_told_apart_by_every_bit() {
        let mut store = Store::new(Layout::new(Workload::PrefixSum, 0));
        let tags: Vec<LaneTag> = (0..88)
            .map(|bit| {
                let mut bytes = [0; 11];
                bytes[bit / 8] = 1 << (bit % 8);
                LaneTag::from_bytes(bytes)
            })
            .collect();
        for (n, tag) in tags.iter().enumerate() {
            assert_eq!(store.find(*tag), None);
            assert_eq!(store.insert(*tag), n as u32);
        }
        assert!(tags.iter().enumerate().all(|(n, tag)| store.find(*tag) == Some(n as u32)));
    }

    #[test]
    fn a_record_keeps_its_parts_apart() {
        for workload in [Workload::PrefixSum, Workload::Decay { factor: 0.5 }] {
            let mut store = Store::new(Layout::new(workload, 2));
            for n in 0..300 {
                let key = store.insert(tag(n));
                let mut record = store.get_mut(key);
                record.set_lane(n + 7, [n, 5].into_iter());
                record.set_total((-3 - i128::from(n)) << 100, n);
            }
            for n in 0..300 {
                let record = store.get(n as u32);
                assert_eq!((record.made(), record.tag()), (n + 7, tag(n)));
                assert_eq!(record.kept().0, (-3 - i128::from(n)) << 100);
                assert_eq!(record.lane(), [n, 5]);
                assert_eq!(store.find(tag(n)), Some(n as u32));
            }
        }
    }

    proptest! {
        /// Totals after random inputs at random steps are those of a map that takes every step.
        #[test]
        fn totals_are_those_of_every_step(
            inputs in prop::collection::vec((0_u64..40, 0_u64..300, -(1_i128 << 90)..(1_i128 << 90)), 1..80),
            factor in prop::option::of(0.01..0.999_f64),
        ) {
            let workload = factor.map_or(Workload::PrefixSum, |factor| Workload::Decay { factor });
            let mut store = Store::new(Layout::new(workload, 1));
            let mut map = HashMap::new();
            for step in 0..40 {
                for (_, n, units) in inputs.iter().filter(|(at, ..)| *at == step) {
                    let key = store.find(tag(*n)).unwrap_or_else(|| store.insert(tag(*n)));
                    let sum = store.input(key) + units;
                    store.set_input(key, sum);
                    *map.entry(*n).or_insert((0, 0)) = {
                        let (total, input) = map.get(n).copied().unwrap_or((0_i128, 0_i128));
                        (total, input + units)
                    };
                }
                prop_assert_eq!(store.inputs().map(|(_, units)| units).sum::<i128>(), map.values().map(|v| v.1).sum());
                store.close(step);
                for (total, input) in map.values_mut() {
                    *total = carried(workload, *total) + std::mem::take(input);
                }
                for (n, (total, _)) in &map {
                    let key = store.find(tag(*n)).unwrap();
                    prop_assert_eq!(store.get(key).total(step + 1), *total);
                    prop_assert_eq!(store.input(key), 0);
                }
            }
        }
    }
}
