//! One JSON object on one line, as every command prints it with `--json`.

use crate::error::{CliError, Result};
use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// An object with its members in the order in which they are added.
#[derive(Default)]
pub(crate) struct JsonObject(Vec<(&'static str, serde_json::Result<Box<RawValue>>)>);

impl JsonObject {
    pub(crate) fn with(mut self, name: &'static str, value: impl Serialize) -> Self {
        self.0.push((name, to_raw_value(&value)));
        self
    }

    /// Adds a member if there is a value for it.
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Serialize>) -> Self {
        if let Some(value) = value { self.with(name, value) } else { self }
    }

    pub(crate) fn line(&self) -> Result<String> {
        json_line(self)
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value.as_ref().map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

pub(crate) fn json_line(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value);
    text.map(|text| text + "\n")
        .map_err(|error| CliError::Failure(format!("the result cannot be printed as JSON: {error}")))
}
