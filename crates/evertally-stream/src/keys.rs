//! The declared set of keys.
//!
//! Which keys exist is private: a key that appears in the output because it appeared in the input
//! gives its only visitor away. So the set is declared beforehand, every declared key is released
//! at every step, and what was not declared is counted under `other`.
//!
//! Keys of events are compared as names ([`given_name`]): the whitespace around them does not
//! matter. So a declared key must not have any.

use crate::error::{Error, Result};
use crate::names::given_name;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The key that takes every undeclared one.
pub const OTHER: &str = "other";

/// Declared keys in the order in which they were declared, then [`OTHER`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySet {
    names: Vec<String>,
    index: HashMap<String, usize, BuildHasherDefault<ShortTexts>>,
}

/// A fast hash of short texts. Every event looks up a key, and the table holds declared keys only, so
/// nobody who sends events can fill it with colliding ones.
#[derive(Default)]
struct ShortTexts(u64);

impl Hasher for ShortTexts {
    fn write(&mut self, bytes: &[u8]) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |state: u64, word: u64| {
            let product = u128::from(state ^ word) * u128::from(FACTOR);
            product as u64 ^ (product >> 64) as u64
        };
        let (words, rest) = bytes.as_chunks::<8>();
        self.0 = words.iter().fold(self.0, |state, word| mix(state, u64::from_le_bytes(*word)));
        let rest = rest.iter().fold(bytes.len() as u64, |word, byte| word << 8 | u64::from(*byte));
        self.0 = mix(self.0.wrapping_add(FACTOR), rest);
    }

    fn write_u8(&mut self, _end_of_text: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl KeySet {
    /// The declared keys. `other` is added at the end unless it was declared in a place of its own.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] without a key, for a blank one, for one with whitespace
    /// around it, and for one that is declared twice.
    pub fn new(declared: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        let declared: Vec<String> = declared.into_iter().map(Into::into).collect();
        let is_name = |text: &String| given_name(Some(text)) == Some(text);
        if let Some(place) = declared.iter().position(|text| !is_name(text)) {
            // Identified by position, because names may be confidential.
            let got = format!("another one in place {}, counted from 1", place + 1);
            return Err(Error::bad("a key", "a name without whitespace around it", got));
        }
        Self::stored(declared)
    }

    /// Keys that were declared before they were compared as names. They may have whitespace around
    /// them, and two may differ in it alone. The first of them takes the events of both.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] without a key, for a blank one, and for one that is
    /// declared twice.
    pub fn stored(declared: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        let mut set = Self { names: Vec::new(), index: HashMap::default() };
        let mut places = HashMap::new();
        for name in declared {
            let (name, number) = (name.into(), set.names.len());
            let Some(key) = given_name(Some(&name)) else {
                return Err(Error::bad("a key", "a name that is not empty", "one of nothing but spaces"));
            };
            if let Some(earlier) = places.insert(name.clone(), number) {
                // Identified by position, because names may be confidential.
                let got =
                    format!("number {} of them like number {}, counted from 1", number + 1, earlier + 1);
                return Err(Error::bad("a key", "declared once", got));
            }
            set.index.entry(key.to_owned()).or_insert(number);
            set.names.push(name);
        }
        if set.names.is_empty() {
            return Err(Error::bad("the set of keys", "at least one key", "none"));
        }
        if !set.index.contains_key(OTHER) {
            set.index.insert(OTHER.to_owned(), set.names.len());
            set.names.push(OTHER.to_owned());
        }
        Ok(set)
    }

    /// The names in order, `other` included.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of a key; an undeclared key has the place of `other`.
    #[must_use]
    pub fn position(&self, key: &str) -> usize {
        let declared = given_name(Some(key)).and_then(|key| self.index.get(key));
        declared.or_else(|| self.index.get(OTHER)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeclared_keys_go_to_other() {
        let keys = KeySet::new(["north", "south"]).unwrap();
        assert_eq!(keys.names(), ["north", "south", "other"]);
        assert_eq!(["south", "west", "", "other"].map(|key| keys.position(key)), [1, 2, 2, 2]);
    }

    #[test]
    fn other_keeps_the_place_it_was_declared_in() {
        let keys = KeySet::new(["other", "south"]).unwrap();
        assert_eq!(keys.names(), ["other", "south"]);
        assert_eq!(["south", "west"].map(|key| keys.position(key)), [1, 0]);
    }

    #[test]
    fn the_whitespace_around_a_key_does_not_matter() {
        let keys = KeySet::new(["north", "south"]).unwrap();
        assert_eq!([" north", "north\u{2003}", "south"].map(|key| keys.position(key)), [0, 0, 1]);
        let refusal = KeySet::new(["north", "south\t"]).unwrap_err().to_string();
        let expected =
            "a key must be a name without whitespace around it, got another one in place 2, counted from 1";
        assert_eq!(refusal, expected);
        // A ledger of version 0.1 that declared both can still be opened.
        let keys = KeySet::stored(["north", "north "]).unwrap();
        assert_eq!((keys.names().len(), keys.position("north ")), (3, 0));
        assert!(KeySet::stored(["north", "north"]).is_err());
    }

    #[test]
    fn empty_and_repeated_names_are_refused() {
        for declared in [vec![], vec![""], vec!["a", " "], vec!["a", "a"], vec!["other", "a", "other"]] {
            assert!(KeySet::new(declared).is_err());
        }
        let refusal = KeySet::new(["north", "ward-seven", "south", "ward-seven"]).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "a key must be declared once, got number 4 of them like number 2, counted from 1"
        );
    }
}
