//! Texts that are held once, and found by their numbers or by themselves.
//!
//! **Definition.** The first text has number zero. All of them stand one behind the other in one string. A
//! table of numbers finds them by a keyed hash, so nobody can choose texts that fill one place of it.
//!
//! **Cost.** The bytes of a text, eight for its end, and five for each place of the table, which is between
//! seven sixteenths and seven eighths full: at most 20 bytes besides the text, and half of that when the table
//! has grown long ago. While it grows, the old one is held as well.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Texts by their numbers. No `Debug`: they are private.
#[derive(Default)]
pub(in crate::gather) struct Texts {
    all: String,
    /// Where each text ends.
    ends: Vec<usize>,
    table: HashTable<u32>,
    hashing: RandomState,
}

impl Texts {
    pub(in crate::gather) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(in crate::gather) fn get(&self, number: usize) -> Option<&str> {
        text_at(&self.all, &self.ends, number)
    }

    /// The number of a text, which is added if it is new.
    #[inline]
    pub(super) fn number_of(&mut self, text: &str) -> usize {
        let Self { all, ends, table, hashing } = self;
        let hash = hashing.hash_one(text);
        let is_it = |number: &u32| text_at(all, ends, *number as usize) == Some(text);
        if let Some(number) = table.find(hash, is_it) {
            return *number as usize;
        }
        // So many texts would take more memory than there is.
        let number = ends.len();
        all.push_str(text);
        ends.push(all.len());
        let hash_of =
            |number: &u32| hashing.hash_one(text_at(all, ends, *number as usize).unwrap_or_default());
        table.insert_unique(hash, number as u32, hash_of);
        number
    }

    /// Gives back the memory of the table. From now on texts are found by their numbers only.
    pub(in crate::gather) fn without_table(self) -> Self {
        Self { table: HashTable::new(), ..self }
    }

    /// About how many bytes of memory are held.
    pub(super) fn bytes(&self) -> usize {
        self.all.len() + size_of_val(&self.ends[..]) + self.table.allocation_size()
    }
}

#[inline]
fn text_at<'a>(all: &'a str, ends: &[usize], number: usize) -> Option<&'a str> {
    let end = *ends.get(number)?;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    all.get(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn texts_are_numbered_in_the_order_of_their_first_use() {
        let (mut texts, mut map) = (Texts::default(), HashMap::new());
        for step in 0..20_000_usize {
            // Some are prefixes of others, and one is empty.
            let text = "é".repeat(step % 7) + &(step * step % 3001).to_string()[1..];
            let next = map.len();
            let number = *map.entry(text.clone()).or_insert(next);
            assert_eq!(texts.number_of(&text), number);
        }
        assert!(texts.len() == map.len() && texts.len() > 1000);
        assert!(map.iter().all(|(text, number)| texts.get(*number) == Some(text)));
        assert_eq!(texts.get(map.len()), None);
        let held: usize = map.keys().map(String::len).sum();
        assert!(texts.bytes() <= held + 20 * map.len() + 64);
        let few = texts.without_table();
        assert!(few.bytes() <= held + 8 * map.len());
    }
}
