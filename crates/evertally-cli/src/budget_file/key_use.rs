//! The use of a noise key by a recorded run.

use crate::error::CliError;
use evertally_keys::Digest;
use serde::{Deserialize, Serialize};

/// A noise key and what it was used for, as tags and digests that reveal nothing about the key or
/// the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyUse {
    /// The tag of the key.
    key: String,
    /// A keyed digest of the name of the noise.
    noise: String,
    /// A keyed digest of the input. Absent if steps are released as they arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

/// How a run relates to an earlier one.
pub(super) enum Relation {
    /// It repeats the same releases and spends nothing more.
    Same,
    /// It would put the same noise on another input.
    OtherInput,
    /// Its noise is independent.
    Independent,
}

impl KeyUse {
    pub(crate) fn new(key_tag: [u8; 8], name: [u8; 32], input: Option<Digest>) -> Self {
        Self { key: hexadecimal(&key_tag), noise: hexadecimal(&name), input: input.map(Digest::to_hex) }
    }

    pub(super) fn relation(&self, before: &Self) -> Relation {
        if (&self.key, &self.noise) != (&before.key, &before.noise) {
            Relation::Independent
        } else if self.input == before.input {
            Relation::Same
        } else {
            Relation::OtherInput
        }
    }

    pub(super) fn has_key(&self, tag: [u8; 8]) -> bool {
        self.key == hexadecimal(&tag)
    }
}

pub(super) fn other_input() -> CliError {
    CliError::bad(
        "the key was used before with the same options and other data: the same noise on both would give their \
         difference away. Use a new key for the new data, or count the earlier data again",
    )
}

/// Bytes in hexadecimal, as in budget files and states.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
