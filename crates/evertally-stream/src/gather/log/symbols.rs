//! The keys of events as numbers.
//!
//! A claim stores the number of its key. Declared keys have theirs from the start. Any other key gets
//! one when it is first seen, because the order of the rule compares keys by their texts even where
//! they count under `other`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::texts::Texts;
use crate::keys::KeySet;
use crate::names::given_name;

/// The number of an event without a key.
pub(super) const NO_KEY: u32 = 0;

/// Texts and places of keys by their numbers.
pub(in crate::gather) struct Symbols {
    /// Shared, because a reader may make a batch for every few rows.
    keys: Option<Arc<KeySet>>,
    /// No key is declared, and every key has a place of its own: its number.
    is_open: bool,
    /// The place of undeclared keys.
    other: usize,
    undeclared: Texts,
}

impl Symbols {
    pub(super) fn new(keys: Option<KeySet>) -> Self {
        let other = keys.as_ref().map_or(0, |keys| keys.position(""));
        Self { keys: keys.map(Arc::new), is_open: false, other, undeclared: Texts::default() }
    }

    /// The same if no key is declared and every key counts for itself.
    pub(super) fn open() -> Self {
        Self { is_open: true, ..Self::new(None) }
    }

    /// The keys that are not declared. The first has number one if no key is declared.
    pub(in crate::gather) fn into_undeclared(self) -> Texts {
        self.undeclared.without_table()
    }

    /// How many keys are not declared.
    pub(in crate::gather) fn undeclared_len(&self) -> usize {
        self.undeclared.len()
    }

    /// The same declared keys, before any other is seen.
    pub(super) fn declared_only(&self) -> Self {
        let Self { is_open, other, .. } = *self;
        Self { keys: self.keys.clone(), is_open, other, ..Self::new(None) }
    }

    /// Forgets the keys that are not declared.
    pub(super) fn forget(&mut self) {
        self.undeclared = Texts::default();
    }

    /// The place among undeclared keys, and the text, of one of them.
    #[inline]
    pub(super) fn undeclared(&self, number: u32) -> Option<(usize, &str)> {
        let at = (number as usize).checked_sub(self.declared() + 1)?;
        Some((at, self.undeclared.get(at)?))
    }

    /// The number of a key.
    pub(super) fn number_of(&mut self, key: Option<&str>) -> u32 {
        let Some(key) = given_name(key) else { return NO_KEY };
        match &self.keys {
            Some(keys) => {
                let place = keys.position(key);
                if place != self.other {
                    return place as u32 + 1;
                }
            }
            None if self.is_open => {}
            None => return NO_KEY,
        }
        (self.declared() + self.undeclared.number_of(key)) as u32 + 1
    }

    /// The place of the total of a key.
    pub(super) fn place_of(&self, number: u32) -> usize {
        if self.is_open {
            return number as usize;
        }
        match (number as usize).checked_sub(1) {
            Some(place) if place < self.declared() => place,
            _ => self.other,
        }
    }

    /// The order of two keys: a missing one first, then by the bytes of their texts.
    pub(super) fn order(&self, one: u32, other: u32) -> Ordering {
        if one == other { Ordering::Equal } else { self.text_of(one).cmp(&self.text_of(other)) }
    }

    /// About how many bytes of memory are held.
    pub(super) fn bytes(&self) -> usize {
        self.undeclared.bytes()
    }

    fn declared(&self) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.names().len())
    }

    fn text_of(&self, number: u32) -> Option<&str> {
        let place = (number as usize).checked_sub(1)?;
        let names = self.keys.as_deref().map(KeySet::names).unwrap_or_default();
        match names.get(place) {
            Some(name) => Some(name),
            None => self.undeclared.get(place - names.len()),
        }
    }
}
