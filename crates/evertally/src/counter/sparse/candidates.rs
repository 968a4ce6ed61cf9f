//! Keys that may be found: a record of true counts for each, and no noise.
//!
//! **Definition.** A candidate has a number of persons and a total in units. It is found by its tag, as a
//! key of the counter of open keys.
//!
//! **Cost.** The words of a record without a lane: 43 bytes per candidate.

use super::store::{MAX_KEYS, Store};
use crate::key_record::Layout;
use crate::noise::LaneTag;
use crate::workload::Workload;

/// What is counted of a candidate. There is no `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub(crate) struct Candidate {
    /// The distinct persons so far.
    pub(crate) persons: u64,
    /// The total so far, in units.
    pub(crate) total: i128,
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
        Layout::new(Workload::PrefixSum, 0)
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
        // The counter of open keys has the steps of noise here, of which a candidate has none.
        Candidate { persons: record.made(), total: record.kept().0 }
    }

    pub(crate) fn tag(&self, place: u32) -> LaneTag {
        self.store.get(place).tag()
    }

    pub(crate) fn set(&mut self, place: u32, candidate: Candidate) {
        let mut record = self.store.get_mut(place);
        record.set_total(candidate.total, 0);
        record.set_lane(candidate.persons, std::iter::empty());
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
            assert!((fresh.persons, fresh.total) == (0, 0));
            let total = -(i128::from(number) << 90);
            candidates.set(place, Candidate { persons: u64::MAX - u64::from(place), total });
        }
        for number in 0..1000 {
            let place = candidates.find(tag(number)).unwrap();
            assert_eq!(candidates.tag(place), tag(number));
            let Candidate { persons, total } = candidates.get(place);
            assert!(persons == u64::MAX - u64::from(place) && total == -(i128::from(number) << 90));
        }
        assert_eq!(candidates.len(), 1000);
        assert!(Candidates::bytes_per_candidate() <= 64);
    }
}
