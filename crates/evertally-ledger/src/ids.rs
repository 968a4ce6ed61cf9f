//! The ids of events that counted, for a while: the ledger's store of ids for admission.
//!
//! **Definition.** An id is known from the step it counted in until `window` further steps are
//! closed, and up to an eighth of the window, or of the steps that are open at once, longer.
//!
//! **Guarantee.** A copy of an event that comes while its id is known does not count. After that, a
//! copy with a time is late; only a copy without a time would count again, as another event.
//!
//! **Cost.** 13 to 26 bytes per id. Ids stand in sets by generations of steps, at most some twenty
//! of them, so forgetting is dropping a set.

use crate::intake::Id;
use evertally_stream::IdStore;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

const GENERATIONS: u64 = 8;

/// Takes the bits of an id as they are.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only ids are hashed here, and they come as a word.
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

pub(crate) struct RecentIds {
    window: u64,
    span: u64,
    generations: BTreeMap<u64, HashSet<Id, BuildHasherDefault<IdentityHasher>>>,
}

impl RecentIds {
    /// For a window of this many steps, with this many steps open at once.
    pub(crate) fn new(window: u64, open: u64) -> Self {
        Self { window, span: (window.max(open) / GENERATIONS).max(1), generations: BTreeMap::new() }
    }

    /// Whether ids that counted in a step are forgotten once the steps before `open` are closed.
    pub(crate) fn are_forgotten(&self, step: u64, open: u64) -> bool {
        let end = (step / self.span + 1).saturating_mul(self.span);
        end.saturating_add(self.window) <= open
    }

    /// Forgets what is old enough once the steps before `open` are closed.
    pub(crate) fn forget(&mut self, open: u64) {
        while let Some(oldest) = self.generations.first_entry() {
            let step = oldest.key().saturating_mul(self.span);
            if step.saturating_add(self.span).saturating_add(self.window) > open {
                break;
            }
            oldest.remove();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.generations.clear();
    }
}

impl IdStore for RecentIds {
    type Id<'a> = Id;

    fn contains(&self, id: Id) -> bool {
        self.generations.values().rev().any(|ids| ids.contains(&id))
    }

    fn insert(&mut self, id: Id, step: u64) {
        self.generations.entry(step / self.span).or_default().insert(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u64) -> Id {
        let [a, b, c, d, ..] = *blake3::hash(&number.to_le_bytes()).as_bytes();
        Id([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, number as u8])
    }

    #[test]
    fn ids_with_equal_words_are_told_apart() {
        let mut ids = RecentIds::new(10, 1);
        ids.insert(Id([0; 12]), 0);
        assert!(ids.contains(Id([0; 12])));
        assert!(!ids.contains(Id([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])));
    }

    proptest! {
        /// Beside a list of (step, id) that is searched from end to end.
        #[test]
        fn ids_are_remembered_for_the_window_and_an_eighth(
            window in 0_u64..100, ahead in 0_u64..50, steps in prop::collection::vec((0_u64..3, 0_u64..50), 1..200),
        ) {
            let mut ids = RecentIds::new(window, ahead);
            let (mut open, mut all) = (0, Vec::new());
            for (number, (by, early)) in steps.into_iter().enumerate() {
                let step = open + early.min(ahead);
                ids.insert(id(number as u64), step);
                all.push((step, id(number as u64)));
                open += by;
                ids.forget(open);
                let longer = (window.max(ahead) / 8).max(1);
                for (step, id) in &all {
                    prop_assert!(step + window < open || ids.contains(*id), "{step} of {open}");
                    prop_assert_eq!(ids.contains(*id), !ids.are_forgotten(*step, open));
                    prop_assert!(step + window + longer >= open || !ids.contains(*id), "{step} of {open}");
                }
            }
            prop_assert!(ids.generations.len() <= 22);
        }
    }
}
