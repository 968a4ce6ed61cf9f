//! The table of mechanisms, and what each entry answers.
//!
//! A mechanism is one file. The file implements [`Factorization`] and declares a `static` [`Kind`]:
//! its name, its number, its noise, and how it is made. One entry of the table below registers it.
//! Names, parsing, [`Mechanism::ALL`], the choice by a plan and the noise name all follow from that
//! entry. The tests of this module and those in `crates/evertally/tests` run over the whole table.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{
    Cost, Factorization, Request, banded, binary, blt, endless_square_root, graded_square_root,
    group_algebra, honaker_full, honaker_streaming, input_perturbation, laplace_tree, markov,
    normalized_square_root, optimal, output_perturbation, smooth_binary, square_root,
};
use crate::privacy::NoiseKind;
use crate::workload::Workload;
use crate::{Error, Result};

/// A factorization, or the reason why there is none.
pub(super) type Factorized = Result<Arc<dyn Factorization>>;

/// What the file of a mechanism declares, besides its [`Factorization`].
pub(crate) struct Kind {
    /// The name without a parameter. Noise names of version 1 contain it, so it never changes.
    pub(super) name: &'static str,
    /// The number in noise names of version 2. It never changes and is never used again.
    pub(super) code: u8,
    /// The noise that the privacy of the mechanism is proved for.
    pub(super) noise: NoiseKind,
    /// Whether its noise can consist of integers, at least for some workloads.
    pub(super) has_exact_path: bool,
    /// Makes the factorization; the number is the parameter after the colon.
    pub(super) factorize: fn(&Request<'_>, Option<u64>) -> Factorized,
    /// See [`Mechanism::preparation`].
    pub(super) preparation: fn(u64, Workload, Option<u64>) -> f64,
    /// See [`Mechanism::min_cost`].
    pub(super) min_cost: fn(u64, Workload) -> Cost,
}

impl Kind {
    /// The answers of a mechanism that needs neither arrays nor preparation. It has no name, number
    /// or factorization: every file states those.
    pub(super) const DEFAULT: Self = Self {
        name: "",
        code: u8::MAX,
        noise: NoiseKind::Gaussian,
        has_exact_path: false,
        factorize: |_, _| Err(Error::unsupported("a mechanism without a factorization", "none is made")),
        preparation: |_, _, _| 1.0,
        min_cost: |_, _| Cost::arrays(0, 0, 0),
    };
}

/// Declares [`Mechanism`] from the table: one entry per mechanism, and the order of
/// [`Mechanism::ALL`].
macro_rules! mechanisms {
    (
        $(#[$table_doc:meta])*
        $vis:vis enum $table:ident {
            $($(#[$doc:meta])* $variant:ident $({ $(#[$field_doc:meta])* $field:ident })? = $kind:path,)+
        }
    ) => {
        $(#[$table_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        $vis enum $table {
            $($(#[$doc])* $variant $({ $(#[$field_doc])* $field: Option<u64> })?,)+
        }

        impl $table {
            /// Every mechanism, in the order of the documentation.
            $vis const ALL: [Self; [$(stringify!($variant)),+].len()] =
                [$(Self::$variant $({ $field: None })?),+];

            fn kind(&self) -> &'static Kind {
                match self {
                    $(Self::$variant $({ $field: _ })? => &$kind,)+
                }
            }

            /// The number after the colon, if the caller named or the plan chose one.
            pub(crate) fn parameter(&self) -> Option<u64> {
                match *self {
                    $(Self::$variant $({ $field })? => None$(.or($field))?,)+
                }
            }

            /// The same mechanism with this number after the colon, if it takes one.
            fn with_parameter(self, number: u64) -> Option<Self> {
                match self {
                    $(Self::$variant $({ $field: _ })? => {
                        None$(.or(Some(Self::$variant { $field: Some(number) })))?
                    })+
                }
            }
        }
    };
}

mechanisms! {
    /// The mechanisms by name.
    ///
    /// ```
    /// use evertally::Mechanism;
    /// let mechanism: Mechanism = "banded-square-root:64".parse()?;
    /// assert_eq!(mechanism, Mechanism::BandedSquareRoot { band: Some(64) });
    /// assert_eq!(mechanism.to_string(), "banded-square-root:64");
    /// assert_eq!("blt:6".parse::<Mechanism>()?.to_string(), "blt:6");
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub enum Mechanism {
        /// Fresh noise on every input: R = I.
        InputPerturbation = input_perturbation::KIND,
        /// Fresh noise on every output: L = I.
        OutputPerturbation = output_perturbation::KIND,
        /// The binary tree with Gaussian nodes.
        Binary = binary::KIND,
        /// The binary tree, each node re-estimated from its own subtree.
        HonakerStreaming = honaker_streaming::KIND,
        /// The binary tree, every node re-estimated from all of them.
        HonakerFull = honaker_full::KIND,
        /// The binary tree with items on balanced leaves only.
        SmoothBinary = smooth_binary::KIND,
        /// The root of a circulant matrix of twice the size.
        GroupAlgebra = group_algebra::KIND,
        /// The square root of A: the paper's mechanism.
        SquareRoot = square_root::KIND,
        /// The square root with its columns normalised.
        NormalizedSquareRoot = normalized_square_root::KIND,
        /// The square root with graded rows and normalised columns, streamed: the default.
        GradedSquareRoot {
            /// The number of decays J. The default is within 0.02 % of the least error that any number
            /// gives; fewer save memory per lane.
            decays
        } = graded_square_root::KIND,
        /// A sum of Markov chains: the optimum of running and decayed totals, streamed.
        Markov {
            /// The number of chains J. By default, enough for the optimum to within 10⁻⁵ up to 2^20
            /// steps; fewer save memory per lane.
            chains
        } = markov::KIND,
        /// The square root with rows graded by a power of time, for a stream without a known end.
        EndlessSquareRoot = endless_square_root::KIND,
        /// The best pair of a few decays, fitted to the plan.
        Blt {
            /// The largest number of decays in R. By default the plan chooses it.
            buffers
        } = blt::KIND,
        /// The first coefficients of the square root in R.
        BandedSquareRoot {
            /// The number of coefficients kept. By default the plan chooses it.
            band
        } = banded::SQUARE_ROOT,
        /// The first coefficients of the inverse square root in R⁻¹.
        BandedInverseSquareRoot {
            /// The number of coefficients kept. By default the plan chooses it.
            band
        } = banded::INVERSE_SQUARE_ROOT,
        /// The factorization of least mean squared error.
        Optimal = optimal::KIND,
        /// A balanced tree with Laplace nodes, for pure ε.
        LaplaceTree = laplace_tree::KIND,
    }
}

impl Mechanism {
    /// The name without a parameter.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().name
    }

    /// The number that stands for the mechanism in noise names.
    pub(crate) fn code(&self) -> u8 {
        self.kind().code
    }

    /// The noise that the privacy of the mechanism is proved for.
    #[must_use]
    pub fn noise(&self) -> NoiseKind {
        self.kind().noise
    }

    /// Whether its noise can consist of integers, at least for some workloads.
    pub(crate) fn has_exact_path(&self) -> bool {
        self.kind().has_exact_path
    }

    /// Operations to prepare the factorization, in units of which about 10⁹ take a second. A plan
    /// leaves out mechanisms that would keep the caller waiting.
    pub(crate) fn preparation(&self, horizon: u64, workload: Workload) -> f64 {
        (self.kind().preparation)(horizon, workload, self.parameter())
    }

    /// A lower bound on the bytes that the factorization and its correlator hold, known before
    /// anything is allocated.
    pub(crate) fn min_cost(&self, horizon: u64, workload: Workload) -> Cost {
        (self.kind().min_cost)(horizon, workload)
    }

    /// Makes the factorization.
    pub(crate) fn factorize(self, request: Request<'_>) -> Factorized {
        (self.kind().factorize)(&request, self.parameter())
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parameter() {
            Some(parameter) => write!(f, "{}:{parameter}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl FromStr for Mechanism {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            let names: Vec<_> = Self::ALL.iter().map(Self::name).collect();
            Error::bad("mechanism", format!("one of {}", names.join(", ")), format!("{text:?}"))
        };
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let mechanism = *Self::ALL.iter().find(|m| m.name() == name).ok_or_else(unknown)?;
        let Some(parameter) = parameter else { return Ok(mechanism) };
        let number = parameter.parse().ok().filter(|number| *number >= 1);
        let number = number.ok_or_else(|| {
            Error::bad("mechanism", format!("{name}:N with an integer N from 1"), format!("{text:?}"))
        })?;
        mechanism.with_parameter(number).ok_or_else(|| {
            Error::bad("mechanism", format!("{name} without a parameter"), format!("{text:?}"))
        })
    }
}

#[cfg(test)]
mod tests;
