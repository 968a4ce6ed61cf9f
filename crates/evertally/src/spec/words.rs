//! The choices of a plan in JSON: the words that `Display` writes and `FromStr` reads. Numbers are
//! JSON numbers, and keys are a list.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Arithmetic, Horizon, Shape};
use crate::factorization::Mechanism;
use crate::objective::Objective;
use crate::privacy::{BudgetSpec, Contribution, Neighbours, Participation};
use crate::report::Report;
use crate::workload::Workload;

macro_rules! in_words {
    ($($choice:ty),*) => {$(
        impl Serialize for $choice {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $choice {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

in_words!(
    Workload,
    BudgetSpec,
    Mechanism,
    Neighbours,
    Participation,
    Objective,
    Report,
    Contribution,
    Arithmetic
);

/// Words, or a native JSON value.
#[derive(Deserialize)]
#[serde(untagged)]
enum OrWords<T> {
    Own(T),
    Words(String),
}

impl Serialize for Horizon {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Steps(steps) => serializer.serialize_u64(*steps),
            Self::Unbounded => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Horizon {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match OrWords::deserialize(deserializer)? {
            OrWords::Own(steps) => Ok(Self::Steps(steps)),
            OrWords::Words(words) => words.parse().map_err(D::Error::custom),
        }
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keyed { keys } => keys.serialize(serializer),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match OrWords::deserialize(deserializer)? {
            OrWords::Own(keys) => Ok(Self::Keyed { keys }),
            OrWords::Words(words) => words.parse().map_err(D::Error::custom),
        }
    }
}

/// Bytes as hexadecimal digits.
pub(super) mod hexadecimal {
    use super::{Deserialize, Deserializer, Serializer};
    use serde::de::Error as _;
    use std::fmt::Write as _;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = String::with_capacity(2 * bytes.len());
        bytes.iter().for_each(|byte| {
            let _ = write!(digits, "{byte:02x}");
        });
        serializer.serialize_str(&digits)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
            [high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()
            }
            _ => None,
        });
        let bytes: Option<Vec<u8>> = pairs.collect();
        bytes.ok_or_else(|| {
            D::Error::custom("definition must be pairs of hexadecimal digits, got another text")
        })
    }
}
