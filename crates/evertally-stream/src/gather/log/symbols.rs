//! The keys of events as numbers.
//!
//! A claim stores the number of its key. Declared keys have theirs from the start. Any other key gets
//! one when it is first seen, because the order of the rule compares keys by their texts even where
//! they count under `other`.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::keys::KeySet;
use crate::names::given_name;

/// The number of an event without a key.
const NO_KEY: u32 = 0;

/// Texts and places of keys by their numbers.
pub(super) struct Symbols {
    keys: Option<KeySet>,
    /// The place of undeclared keys.
    other: usize,
    undeclared: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    text_bytes: usize,
}

impl Symbols {
    pub(super) fn new(keys: Option<KeySet>) -> Self {
        let other = keys.as_ref().map_or(0, |keys| keys.position(""));
        Self { keys, other, undeclared: Vec::new(), numbers: HashMap::new(), text_bytes: 0 }
    }

    /// The number of a key.
    pub(super) fn number_of(&mut self, key: Option<&str>) -> u32 {
        let (Some(keys), Some(key)) = (&self.keys, given_name(key)) else { return NO_KEY };
        let place = keys.position(key);
        if place != self.other {
            return place as u32 + 1;
        }
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = (keys.names().len() + self.undeclared.len()) as u32 + 1;
        self.numbers.insert(key.into(), number);
        self.undeclared.push(key.into());
        self.text_bytes += 2 * key.len();
        number
    }

    /// The place of the total of a key.
    pub(super) fn place_of(&self, number: u32) -> usize {
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
        let entry = size_of::<(Box<str>, u32)>() + 1 + size_of::<Box<str>>();
        self.text_bytes + self.undeclared.len() * 2 * entry
    }

    fn declared(&self) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.names().len())
    }

    fn text_of(&self, number: u32) -> Option<&str> {
        let place = (number as usize).checked_sub(1)?;
        let names = self.keys.as_ref().map(KeySet::names).unwrap_or_default();
        match names.get(place) {
            Some(name) => Some(name),
            None => self.undeclared.get(place - names.len()).map(|key| &**key),
        }
    }
}
