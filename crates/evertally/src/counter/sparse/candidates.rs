//! Keys that may be found: a record of true counts for each, and no noise.
//!
//! **Definition.** A candidate has a number of persons, a total in units, and the number of what its
//! caller keeps of it besides, if anything. It is found by its tag, as a key of the counter of open keys.
//!
//! **Cost.** The words of a record, of which one is the number of persons: 51 bytes per candidate.

use super::store::{MAX_KEYS, Store};
use crate::key_record::Layout;
use crate::noise::LaneTag;
use crate::workload::Workload;

/// Words of a record for the number of persons.
const PERSONS: usize = 1;

/// What is counted of a candidate. There is no `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub(crate) struct Candidate {
    /// The distinct persons so far.
    pub(crate) persons: u64,
    /// The total so far, in units.
    pub(crate) total: i128,
    /// The number that the caller gave it.
    pub(crate) number: Option<u32>,
}

/// All candidates.
pub(crate) struct Candidates {
    store: Store,
}

impl Candidates {
    /// The most candidates.
    pub(crate) const MAX: usize = MAX_KEYS;

    pub(crate) fn new() -> Self {
        Self { store: Store::new(Self::layout()) }
    }

    fn layout() -> Layout {
        Layout::new(Workload::PrefixSum, PERSONS)
    }

    /// Bytes that a candidate holds.
    pub(crate) fn bytes_per_candidate() -> u64 {
        Self::layout().bytes_per_key()
    }

    pub(crate) fn len(&self) -> usize {
        self.store.len()
    }

    /// Where the candidate with this tag is.
    pub(crate) fn find(&self, tag: LaneTag) -> Option<u32> {
        self.store.find(tag)
    }

    pub(crate) fn insert(&mut self, tag: LaneTag) -> u32 {
        self.store.insert(tag)
    }

    pub(crate) fn get(&self, place: u32) -> Candidate {
        let record = self.store.get(place);
        Candidate {
            persons: record.lane().first().copied().unwrap_or_default(),
            total: record.kept().0,
            // The counter of open keys has the steps of noise here, of which a candidate has none.
            number: record.made().checked_sub(1).map(|number| number as u32),
        }
    }

    pub(crate) fn set(&mut self, place: u32, candidate: Candidate) {
        let mut record = self.store.get_mut(place);
        record.set_total(candidate.total, 0);
        let number = candidate.number.map_or(0, |number| u64::from(number) + 1);
        record.set_lane(number, std::iter::once(candidate.persons));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_kept_as_it_was_set() {
        let mut candidates = Candidates::new();
        let tag = |number: u32| {
            LaneTag::from_bytes(*blake3::hash(&number.to_le_bytes()).as_bytes().first_chunk().unwrap())
        };
        for number in 0..1000 {
            assert!(candidates.find(tag(number)).is_none());
            let place = candidates.insert(tag(number));
            let fresh = candidates.get(place);
            assert!((fresh.persons, fresh.total, fresh.number) == (0, 0, None));
            let total = -(i128::from(number) << 90);
            let number = Some(number).filter(|number| number % 3 > 0);
            candidates.set(place, Candidate { persons: u64::MAX - u64::from(place), total, number });
        }
        for number in 0..1000 {
            let place = candidates.find(tag(number)).unwrap();
            let Candidate { persons, total, number: given } = candidates.get(place);
            assert!(persons == u64::MAX - u64::from(place) && total == -(i128::from(number) << 90));
            assert_eq!(given, Some(number).filter(|number| number % 3 > 0));
        }
        assert_eq!(candidates.len(), 1000);
        assert!(Candidates::bytes_per_candidate() <= 64);
    }
}
