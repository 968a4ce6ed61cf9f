//! Factorizations A = L R of a workload, one file each.
//!
//! A factorization answers four questions: how much one person can move R x (the sensitivity Δ), how large
//! each row of L is (the error of each step), what it costs to run, and how to turn white noise into rows of
//! L g. The dense L and R of small horizons are written from the definition and serve as the oracle for the
//! fast answers.
//!
//! | room | mechanisms |
//! |---|---|
//! | constant state, by the streaming engine | `graded-square-root`, `square-root`, `blt`, `normalized-square-root` of running totals |
//! | constant state | `input-perturbation`, `output-perturbation`, `banded-square-root`, `banded-inverse-square-root` |
//! | state as long as the window | `square-root` of a sliding window |
//! | trees, O(log n) state | `binary`, `honaker-streaming`, `honaker-full`, `smooth-binary`, `laplace-tree` |
//! | prepared for the whole horizon, O(n) | `group-algebra`, `normalized-square-root` of windows and decays |
//! | dense, O(n²) | `optimal` |

pub(crate) mod banded_inverse_square_root;
pub(crate) mod banded_square_root;
pub(crate) mod binary;
pub(crate) mod blt;
mod code_stack;
#[doc(hidden)]
pub mod graded_square_root;
pub(crate) mod group_algebra;
pub(crate) mod honaker_full;
pub(crate) mod honaker_streaming;
pub(crate) mod input_perturbation;
pub(crate) mod laplace_tree;
pub(crate) mod normalized_square_root;
pub(crate) mod optimal;
pub(crate) mod output_perturbation;
mod series;
pub(crate) mod smooth_binary;
pub(crate) mod square_root;
mod streamed;
mod toeplitz;
mod tree;
mod whole;
mod window_root;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, Recipe, StreamingCorrelator, WhiteField};
use crate::objective::Objective;
use crate::privacy::{NoiseKind, Participation};
use crate::release::Tail;
use crate::workload::Workload;
use crate::{Error, Result};
pub use whole::WholeDecoder;

/// A factorization A = L R of the workload at one horizon.
///
/// Norms of L are those of the matrix that the correlator applies; Δ is rounded up.
pub trait Factorization: Send + Sync {
    /// Which mechanism this is, with its parameters filled in.
    fn mechanism(&self) -> Mechanism;

    /// The number of steps n.
    fn horizon(&self) -> u64;

    /// Δ: the largest ‖Σ ±R\[;i\]‖ over the steps i in which one person may take part, rounded up.
    /// The norm is Euclidean, or the sum of magnitudes where the noise is Laplace's.
    fn sensitivity(&self, participation: Participation) -> f64;

    /// Whether every entry of RᵀR is known to be non-negative, so that contributions of one sign never
    /// lengthen a difference.
    fn gram_is_nonnegative(&self) -> bool;

    /// ‖L\[t;\]‖² for step t, counted from zero.
    fn row_norm_squared(&self, step: u64) -> f64;

    /// ‖L\[t;\] − L\[s;\]‖² for `earlier` s < `later` t.
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64;

    /// ‖L‖_F² / n.
    fn mean_row_norm_squared(&self) -> f64;

    /// max_t ‖L\[t;\]‖².
    fn max_row_norm_squared(&self) -> f64;

    /// What it costs to run.
    fn cost(&self) -> Cost;

    /// An upper bound on the draws that the correlator makes for each coordinate.
    fn draws(&self) -> u64 {
        2 * self.horizon()
    }

    /// L and R written from the definition.
    ///
    /// # Errors
    /// [`Error::TooCostly`] above [`LARGEST_DENSE`] steps.
    fn dense(&self) -> Result<Dense>;

    /// The machine that turns a field of white noise into rows of L g. `progress` hears of long preparation.
    fn correlator(&self, field: Arc<dyn WhiteField>, progress: &dyn Progress) -> Box<dyn Correlator>;

    /// The numbers of L, where the streaming engine can run it: then lanes of either precision, in
    /// any number, cost a few numbers each.
    fn recipe(&self) -> Option<Recipe> {
        None
    }

    /// How the noise is made in whole numbers, where it can be.
    #[doc(hidden)]
    fn whole(&self) -> Option<WholeDecoder> {
        None
    }

    /// A hash of numbers that L depends on and that the plan's choices do not fix: those that
    /// another machine might compute differently in the last place, or that a later version might
    /// fit anew. Noise under other numbers is other noise.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }

    /// The shape of the noise at a step, or of its difference to an earlier one.
    fn tail(&self, _earlier: Option<u64>, _later: u64) -> Tail {
        Tail::Gaussian
    }
}

/// The correlator of a factorization that the streaming engine runs.
pub(crate) fn run_by_engine(
    recipe: &Recipe,
    horizon: u64,
    field: Arc<dyn WhiteField>,
) -> Box<dyn Correlator> {
    Box::new(StreamingCorrelator::<f64>::new(recipe, horizon, field, 1.0))
}

/// The two factors as dense matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    /// L, one row a step.
    pub decoder: Matrix,
    /// R, one column a step.
    pub encoder: Matrix,
}

/// What a mechanism costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Bytes held once, whatever the number of coordinates.
    pub shared_bytes: u64,
    /// Bytes held for each coordinate or key.
    pub bytes_per_coordinate: u64,
    /// Floating-point operations and draws a step and coordinate, on average over the horizon and with
    /// preparation included.
    pub operations_per_step: f64,
}

impl Cost {
    /// Bytes for this many coordinates.
    #[must_use]
    pub fn bytes(&self, coordinates: u64) -> u64 {
        self.shared_bytes.saturating_add(self.bytes_per_coordinate.saturating_mul(coordinates))
    }
}

/// The largest horizon for which dense matrices are made.
pub const LARGEST_DENSE: u64 = 2048;

/// The largest horizon for which arrays of one number a step are made.
pub(crate) const LARGEST_ARRAY: u64 = 1 << 28;

/// Horizon as an index, once it is known to be small enough for dense matrices.
pub(crate) fn dense_size(mechanism: &Mechanism, horizon: u64) -> Result<usize> {
    if horizon > LARGEST_DENSE {
        let reason = format!("dense matrices are made up to {LARGEST_DENSE} steps, not {horizon}");
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(horizon as usize)
}

/// Horizon as an index, once it is known that arrays of that length can be held.
pub(crate) fn array_size(mechanism: &Mechanism, horizon: u64) -> Result<usize> {
    if horizon > LARGEST_ARRAY {
        let reason = format!("it prepares one number a step, up to 2^28 steps, not {horizon}");
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(horizon as usize)
}

/// Horizon as an index, once it is known that the root of the workload can be made.
pub(crate) fn root_size(mechanism: &Mechanism, request: &Request<'_>) -> Result<usize> {
    if !series::is_within_reach(request.workload, request.horizon) {
        let reason =
            format!("the root of {} over {} steps takes too long", request.workload, request.horizon);
        return Err(Error::too_costly(mechanism, reason));
    }
    array_size(mechanism, request.horizon)
}

/// What a factorization is made for.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) horizon: u64,
    pub(crate) workload: Workload,
    pub(crate) participation: Participation,
    pub(crate) objective: Objective,
    pub(crate) progress: &'a dyn Progress,
}

impl Request<'_> {
    /// Trees and the group algebra know the prefix sum only.
    fn prefix_sum_only(&self, mechanism: &Mechanism) -> Result<()> {
        if self.workload == Workload::PrefixSum {
            return Ok(());
        }
        let reason = format!(
            "it factors the prefix sum only, not {}; square-root factors any workload",
            self.workload
        );
        Err(Error::unsupported(mechanism, reason))
    }
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Fresh noise on every input: R = I.
    InputPerturbation,
    /// Fresh noise on every output: L = I.
    OutputPerturbation,
    /// The binary tree with Gaussian nodes.
    Binary,
    /// The binary tree, each node re-estimated from its own subtree.
    HonakerStreaming,
    /// The binary tree, every node re-estimated from all of them.
    HonakerFull,
    /// The binary tree with items on balanced leaves only.
    SmoothBinary,
    /// The root of a circulant matrix of twice the size.
    GroupAlgebra,
    /// The square root of A: the paper's mechanism.
    SquareRoot,
    /// The square root with its columns normalised.
    NormalizedSquareRoot,
    /// The square root with graded rows and normalised columns, streamed: the default.
    GradedSquareRoot {
        /// The number of decays J, for whoever must hold fewer numbers a lane; enough for 0.02 %
        /// where absent.
        decays: Option<u64>,
    },
    /// The best pair of a few decays, fitted to the plan.
    Blt {
        /// The most decays in R; chosen by the plan when absent.
        buffers: Option<u64>,
    },
    /// The first coefficients of the square root in R.
    BandedSquareRoot {
        /// The number of coefficients kept; chosen by the plan when absent.
        band: Option<u64>,
    },
    /// The first coefficients of the inverse square root in R⁻¹.
    BandedInverseSquareRoot {
        /// The number of coefficients kept; chosen by the plan when absent.
        band: Option<u64>,
    },
    /// The factorization of least mean squared error.
    Optimal,
    /// A balanced tree with Laplace nodes, for pure ε.
    LaplaceTree,
}

impl Mechanism {
    /// Every mechanism, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::InputPerturbation,
        Self::OutputPerturbation,
        Self::Binary,
        Self::HonakerStreaming,
        Self::HonakerFull,
        Self::SmoothBinary,
        Self::GroupAlgebra,
        Self::SquareRoot,
        Self::NormalizedSquareRoot,
        Self::GradedSquareRoot { decays: None },
        Self::Blt { buffers: None },
        Self::BandedSquareRoot { band: None },
        Self::BandedInverseSquareRoot { band: None },
        Self::Optimal,
        Self::LaplaceTree,
    ];

    /// The name without parameters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::InputPerturbation => "input-perturbation",
            Self::OutputPerturbation => "output-perturbation",
            Self::Binary => "binary",
            Self::HonakerStreaming => "honaker-streaming",
            Self::HonakerFull => "honaker-full",
            Self::SmoothBinary => "smooth-binary",
            Self::GroupAlgebra => "group-algebra",
            Self::SquareRoot => "square-root",
            Self::NormalizedSquareRoot => "normalized-square-root",
            Self::GradedSquareRoot { .. } => "graded-square-root",
            Self::Blt { .. } => "blt",
            Self::BandedSquareRoot { .. } => "banded-square-root",
            Self::BandedInverseSquareRoot { .. } => "banded-inverse-square-root",
            Self::Optimal => "optimal",
            Self::LaplaceTree => "laplace-tree",
        }
    }

    /// The number after the colon, where one was given or chosen.
    pub(crate) fn parameter(&self) -> Option<u64> {
        match *self {
            Self::BandedSquareRoot { band } | Self::BandedInverseSquareRoot { band } => band,
            Self::GradedSquareRoot { decays } => decays,
            Self::Blt { buffers } => buffers,
            _ => None,
        }
    }

    /// The same mechanism with this number after the colon, if it takes one.
    fn with_parameter(self, number: u64) -> Option<Self> {
        let number = Some(number);
        Some(match self {
            Self::BandedSquareRoot { .. } => Self::BandedSquareRoot { band: number },
            Self::BandedInverseSquareRoot { .. } => Self::BandedInverseSquareRoot { band: number },
            Self::GradedSquareRoot { .. } => Self::GradedSquareRoot { decays: number },
            Self::Blt { .. } => Self::Blt { buffers: number },
            _ => return None,
        })
    }

    /// The noise that the mechanism's privacy is proved for.
    #[must_use]
    pub fn noise(&self) -> NoiseKind {
        match self {
            Self::LaplaceTree => NoiseKind::Laplace,
            _ => NoiseKind::Gaussian,
        }
    }

    /// Whether its noise can be made of whole numbers, at least for some workloads.
    pub(crate) fn has_exact_path(&self) -> bool {
        match self {
            Self::InputPerturbation
            | Self::OutputPerturbation
            | Self::Binary
            | Self::SmoothBinary
            | Self::SquareRoot
            | Self::NormalizedSquareRoot
            | Self::GradedSquareRoot { .. }
            | Self::Blt { .. }
            | Self::LaplaceTree => true,
            Self::HonakerStreaming
            | Self::HonakerFull
            | Self::GroupAlgebra
            | Self::BandedSquareRoot { .. }
            | Self::BandedInverseSquareRoot { .. }
            | Self::Optimal => false,
        }
    }

    /// Operations to prepare the factorization, in units of which some 10⁹ take a second: so that a
    /// plan can leave out what would keep its caller waiting.
    pub(crate) fn preparation(&self, horizon: u64, workload: Workload) -> f64 {
        let n = horizon as f64;
        match self {
            Self::Optimal => 20.0 * n * n * n,
            Self::NormalizedSquareRoot if workload == Workload::PrefixSum => 4e3 * n.min(65536.0),
            Self::NormalizedSquareRoot => 0.2 * n * n,
            Self::BandedSquareRoot { band } | Self::BandedInverseSquareRoot { band } => {
                // All narrower powers of two are tried when no band is named.
                let tried = band.unwrap_or(2 * toeplitz::LARGEST_CHOSEN_BAND).min(2 * horizon);
                4.0 * n * tried as f64
            }
            Self::GradedSquareRoot { .. } => 1e3 * n.min(65536.0),
            Self::HonakerFull => 2.0 * n * n.log2().max(1.0),
            Self::SquareRoot => 1e7,
            Self::Blt { .. } => 1e8,
            Self::GroupAlgebra => 10.0 * n,
            _ => 1.0,
        }
    }

    /// Bytes that the factorization and its correlator hold at the least, known before anything is allocated.
    pub(crate) fn least_cost(&self, horizon: u64, workload: Workload) -> Cost {
        let arrays = |shared: u64, own: u64| Cost {
            shared_bytes: horizon.saturating_mul(8 * shared),
            bytes_per_coordinate: horizon.saturating_mul(8 * own),
            operations_per_step: 0.0,
        };
        match self {
            Self::NormalizedSquareRoot if workload != Workload::PrefixSum => arrays(3, 1),
            Self::GroupAlgebra => arrays(0, 1),
            Self::BandedSquareRoot { .. } | Self::BandedInverseSquareRoot { .. } => arrays(3, 0),
            Self::Optimal => arrays(2 * horizon.min(LARGEST_DENSE), 1),
            _ => arrays(0, 0),
        }
    }

    /// Makes the factorization.
    pub(crate) fn factorize(self, request: Request<'_>) -> Result<Arc<dyn Factorization>> {
        Ok(match self {
            Self::InputPerturbation => Arc::new(input_perturbation::InputPerturbation::new(&request)),
            Self::OutputPerturbation => Arc::new(output_perturbation::OutputPerturbation::new(&request)),
            Self::Binary => Arc::new(binary::Binary::new(&request)?),
            Self::HonakerStreaming => Arc::new(honaker_streaming::HonakerStreaming::new(&request)?),
            Self::HonakerFull => Arc::new(honaker_full::HonakerFull::new(&request)?),
            Self::SmoothBinary => Arc::new(smooth_binary::SmoothBinary::new(&request)?),
            Self::GroupAlgebra => Arc::new(group_algebra::GroupAlgebra::new(&request)?),
            Self::SquareRoot => square_root::factorize(&request)?,
            Self::NormalizedSquareRoot if request.workload == Workload::PrefixSum => {
                Arc::new(graded_square_root::GradedSquareRoot::flat(&request)?)
            }
            Self::NormalizedSquareRoot => {
                Arc::new(normalized_square_root::NormalizedSquareRoot::new(&request)?)
            }
            Self::GradedSquareRoot { decays } => {
                Arc::new(graded_square_root::GradedSquareRoot::new(&request, decays)?)
            }
            Self::Blt { buffers } => Arc::new(blt::factorize(&request, buffers)?),
            Self::BandedSquareRoot { band } => {
                Arc::new(banded_square_root::BandedSquareRoot::new(&request, band)?)
            }
            Self::BandedInverseSquareRoot { band } => {
                Arc::new(banded_inverse_square_root::BandedInverseSquareRoot::new(&request, band)?)
            }
            Self::Optimal => Arc::new(optimal::Optimal::new(&request)?),
            Self::LaplaceTree => Arc::new(laplace_tree::LaplaceTree::new(&request)?),
        })
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
            Error::bad("mechanism", format!("{name}:N with a whole number N from 1"), format!("{text:?}"))
        })?;
        mechanism.with_parameter(number).ok_or_else(|| {
            Error::bad("mechanism", format!("{name} without a parameter"), format!("{text:?}"))
        })
    }
}
