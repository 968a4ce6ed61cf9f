//! The header of every release file: everything that a reader needs to judge the numbers.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Named facts in a fixed order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Header {
    facts: Vec<(&'static str, Value)>,
}

impl Header {
    /// A header that starts with the version of the program.
    pub(crate) fn new() -> Self {
        let mut header = Self::default();
        header.record("version", env!("CARGO_PKG_VERSION"));
        header
    }

    pub(crate) fn record(&mut self, name: &'static str, fact: impl Into<Value>) {
        self.facts.push((name, fact.into()));
    }

    /// The facts as plain text, each on one line with its name.
    pub(crate) fn as_text(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.facts.iter().map(|(name, fact)| {
            let text = match fact {
                Value::String(text) => text.replace(['\r', '\n'], " "),
                Value::Array(parts) if parts.iter().all(|part| part.as_str().is_some_and(is_plain)) => {
                    parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
                }
                other => other.to_string(),
            };
            (*name, text)
        })
    }
}

/// A name that cannot be mistaken for two in a list with commas.
fn is_plain(text: &str) -> bool {
    !text.contains([',', '"', '\r', '\n'])
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.facts.len()))?;
        for (name, fact) in &self.facts {
            map.serialize_entry(name, fact)?;
        }
        map.end()
    }
}
