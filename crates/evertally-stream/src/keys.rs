//! The declared set of keys.
//!
//! Which keys exist is private: a key that appears in the output because it appeared in the input
//! gives its only visitor away. So the set is declared beforehand, every declared key is released
//! at every step, and what was not declared is counted under `other`.

use crate::error::{Error, Result};
use std::collections::HashMap;

/// The key that takes every undeclared one.
pub const OTHER: &str = "other";

/// Declared keys in the order in which they were declared, then [`OTHER`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySet {
    names: Vec<String>,
    index: HashMap<String, usize>,
}

impl KeySet {
    /// The declared keys. `other` is added at the end unless it was declared in a place of its own.
    pub fn new<I>(declared: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let mut set = Self { names: Vec::new(), index: HashMap::new() };
        for name in declared {
            set.add(name.into())?;
        }
        if set.names.is_empty() {
            return Err(Error::bad("the set of keys", "at least one key", "none"));
        }
        if !set.index.contains_key(OTHER) {
            set.add(OTHER.to_owned())?;
        }
        Ok(set)
    }

    fn add(&mut self, name: String) -> Result<()> {
        if name.trim().is_empty() {
            return Err(Error::bad("a key", "a name that is not empty", "one of nothing but spaces"));
        }
        let number = self.names.len() + 1;
        if let Some(earlier) = self.index.get(&name) {
            // Told by their places, because names may be confidential.
            let got = format!("number {number} of them like number {}, counted from 1", earlier + 1);
            return Err(Error::bad("a key", "declared once", got));
        }
        self.index.insert(name.clone(), self.names.len());
        self.names.push(name);
        Ok(())
    }

    /// The names in order, `other` included.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of a key; an undeclared key has the place of `other`.
    #[must_use]
    pub fn position(&self, key: &str) -> usize {
        self.index.get(key).or_else(|| self.index.get(OTHER)).copied().unwrap_or_default()
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
