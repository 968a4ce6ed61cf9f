//! Names as numbers, in little memory.
//!
//! **Definition.** The n-th new name has the number n. **Cost.** The bytes of each name once, and 12 to 16
//! bytes more for each name.

use std::hash::{BuildHasher, RandomState};

/// No name has this number.
const FREE: u32 = u32::MAX;

/// Slots of the first table.
const FIRST_SLOTS: usize = 1 << 10;

/// All names so far. No `Debug`: names are private.
pub(super) struct Interner {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<usize>,
    /// Numbers by the hashes of their names, with linear probing. At most half of the slots are taken.
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Interner {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            slots: vec![FREE; FIRST_SLOTS],
            hasher: RandomState::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + 8 * self.ends.capacity() + 4 * self.slots.len()
    }

    pub(super) fn name(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// The number of a name. `None` if there are too many names for another.
    pub(super) fn number(&mut self, name: &str) -> Option<u32> {
        let slot = self.slot(name);
        if self.slots[slot] != FREE {
            return Some(self.slots[slot]);
        }
        let number = u32::try_from(self.len()).ok().filter(|number| *number != FREE)?;
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.slots[slot] = number;
        if 2 * self.len() > self.slots.len() {
            self.grow();
        }
        Some(number)
    }

    /// The slot that holds a name, or the free one in which it belongs.
    fn slot(&self, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(name) as usize & mask;
        while self.slots[slot] != FREE && self.name(self.slots[slot]) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![FREE; 2 * self.slots.len()];
        for number in 0..self.len() as u32 {
            let slot = self.slot(self.name(number));
            self.slots[slot] = number;
        }
    }

    /// The place of each number in the order of the names.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by(|one, other| self.name(*one).cmp(self.name(*other)));
        let mut ranks = vec![0; self.len()];
        for (rank, number) in (0..).zip(order) {
            ranks[number as usize] = rank;
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn numbers_are_those_of_a_map() {
        let mut interner = Interner::new();
        let mut map = HashMap::new();
        for i in 0..20_000_u64 {
            let name = format!("n{}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 7001);
            let next = map.len() as u32;
            let number = *map.entry(name.clone()).or_insert(next);
            assert_eq!(interner.number(&name), Some(number));
            assert_eq!(interner.name(number), name);
        }
        assert_eq!(interner.len(), map.len());
    }

    #[test]
    fn ranks_follow_names() {
        let mut interner = Interner::new();
        for name in ["b", "ä", "", "a", "ab"] {
            interner.number(name);
        }
        assert_eq!(interner.ranks(), [3, 4, 0, 1, 2]);
    }
}
