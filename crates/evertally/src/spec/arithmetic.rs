//! Whether releases are computed with integers or in floating point.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The arithmetic in which noise is drawn and added.
///
/// ```
/// use evertally::{Arithmetic, Budget, Plan};
/// let plan = Plan::prefix_sum(100).budget(Budget::new(1.0, 1e-6)?).build()?;
/// assert_eq!((plan.arithmetic(), plan.grid()), (Arithmetic::Exact, Some(0.25)));
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Integers throughout. Noise from an exact sampler is correlated by a reversible filter, added
    /// to exact totals, and rounded to a public grid. The proof covers the code that runs. It is
    /// available for numbers and keys, with every mechanism except the dense and the prepared ones.
    Exact,
    /// Noise in double precision, added to exact totals. The proof is about real numbers; the threat
    /// model describes the gap. Vectors and mechanisms without an exact path use it.
    Float,
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Float => "float",
        })
    }
}

impl FromStr for Arithmetic {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exact" => Ok(Self::Exact),
            "float" => Ok(Self::Float),
            other => Err(Error::bad("arithmetic", "exact or float", format!("{other:?}"))),
        }
    }
}
