//! The losses by name.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use evertally::internals::noise_name::Value;
use evertally::{Error, Result};

use super::{Hinge, Logistic, Loss, Softmax, Squared};

/// A loss by its name, as written on a command line or in a file.
///
/// ```
/// use evertally_learn::loss::{Loss, Losses};
/// let loss: Losses = "softmax:10".parse()?;
/// assert_eq!(loss.parameters(64), 640);
/// assert_eq!(loss.to_string(), "softmax:10");
/// assert_eq!("squared:2".parse::<Losses>()?.lipschitz(1.0, Some(1.0)), Some(3.0));
/// assert!("softmax".parse::<Losses>().is_err());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Losses {
    /// `squared`, or `squared:B` for labels of magnitude at most B.
    Squared(Squared),
    /// `logistic`.
    Logistic(Logistic),
    /// `softmax:k`, with the number of classes.
    Softmax(Softmax),
    /// `hinge`.
    Hinge(Hinge),
}

impl Losses {
    /// The loss as a field of a noise name.
    #[must_use]
    pub fn name_value(&self) -> Value {
        match self {
            Self::Squared(loss) => match loss.largest_label() {
                Some(largest) => Value::new().code(0).code(1).real(largest),
                None => Value::new().code(0).code(0),
            },
            Self::Logistic(_) => Value::new().code(1),
            Self::Softmax(loss) => Value::new().code(2).integer(loss.classes() as u64),
            Self::Hinge(_) => Value::new().code(3),
        }
    }
}

/// The methods of a loss are those of the one that is named.
impl Deref for Losses {
    type Target = dyn Loss;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Squared(loss) => loss,
            Self::Logistic(loss) => loss,
            Self::Softmax(loss) => loss,
            Self::Hinge(loss) => loss,
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Squared(loss) => match loss.largest_label() {
                Some(largest) => f.pad(&format!("squared:{largest}")),
                None => f.pad("squared"),
            },
            Self::Logistic(_) => f.pad("logistic"),
            Self::Softmax(loss) => f.pad(&format!("softmax:{}", loss.classes())),
            Self::Hinge(_) => f.pad("hinge"),
        }
    }
}

impl FromStr for Losses {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown =
            || Error::bad("loss", "squared, squared:B, logistic, softmax:K or hinge", format!("{text:?}"));
        match text.split_once(':') {
            None => match text {
                "squared" => Ok(Self::Squared(Squared::default())),
                "logistic" => Ok(Self::Logistic(Logistic)),
                "hinge" => Ok(Self::Hinge(Hinge)),
                _ => Err(unknown()),
            },
            Some(("squared", largest)) => {
                let largest = largest.parse().map_err(|_| unknown())?;
                Ok(Self::Squared(Squared::up_to(largest)?))
            }
            Some(("softmax", classes)) => {
                let classes = classes.parse().map_err(|_| unknown())?;
                Ok(Self::Softmax(Softmax::new(classes)?))
            }
            Some(_) => Err(unknown()),
        }
    }
}
