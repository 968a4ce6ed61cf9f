//! What a step consists of: one number, a vector, or one number per key.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// What the counters of a plan count at each step.
///
/// ```
/// use evertally::Shape;
/// assert_eq!("vector:3".parse::<Shape>()?, Shape::Vector { dimension: 3 });
/// let keys = Shape::Keyed { keys: vec!["north".into(), "south, by the sea".into()] };
/// assert_eq!(keys.to_string(), r"keys:north,south\, by the sea");
/// assert_eq!(keys.to_string().parse::<Shape>()?, keys);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Shape {
    /// One number per step.
    #[default]
    Scalar,
    /// A vector per step.
    Vector {
        /// The dimension d.
        dimension: usize,
    },
    /// One number per step for each declared key.
    Keyed {
        /// The keys, in the order of inputs and releases.
        keys: Vec<String>,
    },
    /// One number per step for every key that appears. No key is declared.
    OpenKeys,
}

impl Shape {
    /// The number of values per step. Zero for open keys, whose number is not known in advance.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vector { dimension } => *dimension,
            Self::Keyed { keys } => keys.len(),
            Self::OpenKeys => 0,
        }
    }

    /// The number of values of a step that one contribution may change, if it counts for this many
    /// keys. The contribution that it replaces may have counted for others.
    pub(crate) fn moved(&self, keys: u64) -> usize {
        let moved = usize::try_from(keys).unwrap_or(usize::MAX).saturating_mul(2);
        match self {
            Self::Scalar => 1,
            Self::Vector { dimension } => *dimension,
            Self::Keyed { keys: declared } => moved.min(declared.len().max(2)),
            Self::OpenKeys => moved,
        }
    }

    /// Whether the noise of each value is derived from the name of its key.
    pub(crate) fn is_keyed(&self) -> bool {
        matches!(self, Self::Keyed { .. } | Self::OpenKeys)
    }

    /// The kind of plan that has this shape, in words, without the names of keys.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Scalar => "one for one number per step",
            Self::Vector { .. } => "one for vectors",
            Self::Keyed { .. } => "one for keys",
            Self::OpenKeys => "one for open keys",
        }
    }
}

/// `scalar`, `vector:D`, `keys:A,B,C` or `open-keys`. Commas and backslashes in a key are escaped
/// with a backslash.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar => f.pad("scalar"),
            Self::Vector { dimension } => write!(f, "vector:{dimension}"),
            Self::OpenKeys => f.pad("open-keys"),
            Self::Keyed { keys } => {
                let escaped: Vec<_> =
                    keys.iter().map(|key| key.replace('\\', r"\\").replace(',', r"\,")).collect();
                write!(f, "keys:{}", escaped.join(","))
            }
        }
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // The text may contain keys, which may be confidential, so the error does not repeat it.
        let refuse = || Error::bad("shape", "scalar, vector:D, keys:A,B,C or open-keys", "another text");
        match text.split_once(':') {
            None if text == "scalar" => Ok(Self::Scalar),
            None if text == "open-keys" => Ok(Self::OpenKeys),
            Some(("vector", dimension)) => {
                Ok(Self::Vector { dimension: dimension.parse().map_err(|_| refuse())? })
            }
            Some(("keys", keys)) => Ok(Self::Keyed { keys: unescaped(keys).ok_or_else(refuse)? }),
            _ => Err(refuse()),
        }
    }
}

/// The keys of a list. `None` if a backslash escapes anything but a comma or a backslash.
fn unescaped(list: &str) -> Option<Vec<String>> {
    let mut keys = vec![String::new()];
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match character {
            ',' => keys.push(String::new()),
            '\\' => {
                let escaped = characters.next().filter(|character| matches!(character, ',' | '\\'))?;
                keys.last_mut()?.push(escaped);
            }
            other => keys.last_mut()?.push(other),
        }
    }
    Some(keys)
}
