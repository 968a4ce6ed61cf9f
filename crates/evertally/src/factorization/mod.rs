//! Factorizations A = L R of a workload, one file each.
//!
//! A factorization answers four questions: how far one person can move R x (the sensitivity Δ), how
//! large each row of L is (the error of each step), what it costs to run, and how white noise becomes
//! rows of L g. At small horizons the dense L and R are written from the definition. Tests compare the
//! fast answers with them.
//!
//! To add a mechanism, write one file that implements [`Factorization`] and declares a `Kind`, and
//! add one entry to the table in `mechanism.rs`.
//!
//! | state | mechanisms |
//! |---|---|
//! | constant, run by the streaming engine | `markov`, `graded-square-root`, `endless-square-root`, `square-root`, `blt`, `normalized-square-root` of running totals |
//! | constant | `input-perturbation`, `output-perturbation`, `banded-square-root`, `banded-inverse-square-root` |
//! | as long as the window | `square-root` of a sliding window |
//! | O(log n), trees | `binary`, `honaker-streaming`, `honaker-full`, `smooth-binary`, `laplace-tree` |
//! | O(n), prepared for the whole horizon | `group-algebra`, `normalized-square-root` of windows and decays |
//! | O(n²), dense | `optimal` |

mod banded;
mod binary;
mod blt;
mod code_stack;
mod diagonals;
mod endless_square_root;
#[doc(hidden)]
pub mod graded_square_root;
mod group_algebra;
mod honaker_full;
mod honaker_streaming;
pub(crate) mod in_turn;
mod input_perturbation;
mod integer;
mod laplace_tree;
#[doc(hidden)]
pub mod markov;
mod mechanism;
mod normalized_square_root;
pub(crate) mod optimal;
mod output_perturbation;
mod series;
mod smooth_binary;
mod square_root;
mod squares;
mod streamed;
mod tree;
mod window_root;

use std::sync::Arc;

use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, Recipe, StreamingCorrelator, WhiteField};
use crate::objective::Objective;
use crate::privacy::{CompensatedSum, Participation};
use crate::release::Tail;
use crate::report::Report;
use crate::workload::Workload;
use crate::{Error, Result};
pub use integer::IntegerDecoder;
use mechanism::Kind;
pub use mechanism::Mechanism;

/// A factorization A = L R of the workload at one horizon.
///
/// Norms of L are those of the matrix that the correlator applies; Δ is rounded up.
pub trait Factorization: Send + Sync {
    /// Which mechanism this is, with its parameters filled in.
    fn mechanism(&self) -> Mechanism;

    /// The number of steps n.
    fn horizon(&self) -> u64;

    /// Δ: the largest ‖Σ ±R\[;i\]‖ over the steps i in which one person may take part, rounded up.
    /// The norm is Euclidean for Gaussian noise and the sum of magnitudes for Laplace noise.
    fn sensitivity(&self, participation: Participation) -> f64;

    /// Whether every entry of RᵀR is known to be non-negative. Contributions of one sign then never
    /// lengthen a difference. Not knowing it costs noise, and no privacy.
    fn gram_is_nonnegative(&self) -> bool {
        false
    }

    /// Whether RᵀR is known to fall: ⟨R\[;i\], R\[;j\]⟩ ≥ ⟨R\[;i\], R\[;j+1\]⟩ ≥ 0 for all i < j. Then
    /// changes that go up and down in turn add up as if they were orthogonal
    /// ([`Participation::in_turn`]). Not knowing it costs noise, and no privacy.
    fn gram_falls(&self) -> bool {
        false
    }

    /// ‖L\[t;\]‖² for step t, counted from zero.
    fn row_norm_squared(&self, step: u64) -> f64;

    /// ‖L\[t;\] − L\[s;\]‖² for `earlier` s < `later` t.
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64;

    /// ‖L‖_F² / n. The default adds up all rows.
    fn mean_row_norm_squared(&self) -> f64 {
        let mut sum = CompensatedSum::default();
        (0..self.horizon()).for_each(|step| sum.add(self.row_norm_squared(step)));
        sum.value() / self.horizon() as f64
    }

    /// max_t ‖L\[t;\]‖². The default compares all rows.
    fn max_row_norm_squared(&self) -> f64 {
        (0..self.horizon()).map(|step| self.row_norm_squared(step)).fold(0.0, f64::max)
    }

    /// The mean of ‖L\[t;\]‖² over the first steps, if a longer horizon would not change these rows.
    fn mean_of_first(&self, _steps: u64) -> Option<f64> {
        None
    }

    /// What it costs to run.
    fn cost(&self) -> Cost;

    /// An upper bound on the draws that the correlator makes for each coordinate.
    fn draws(&self) -> u64 {
        2 * self.horizon()
    }

    /// L and R written from the definition.
    ///
    /// # Errors
    /// [`Error::TooCostly`] above [`MAX_DENSE`] steps.
    fn dense(&self) -> Result<Dense>;

    /// Turns a field of white noise into rows of L g. Long preparation is reported to `progress`.
    fn correlator(&self, field: Arc<dyn WhiteField>, progress: &dyn Progress) -> Box<dyn Correlator>;

    /// The coefficients of L, if the streaming engine can run it. Any number of lanes, in either
    /// precision, then costs a few numbers per lane.
    fn recipe(&self) -> Option<Recipe> {
        None
    }

    /// How integer noise is made, if the mechanism supports it.
    #[doc(hidden)]
    fn integer(&self) -> Option<IntegerDecoder> {
        None
    }

    /// A hash of the numbers in L that the plan's choices do not fix. Another machine might compute
    /// them differently in the last place, or a later version might fit them again. Noise under
    /// other numbers is other noise.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }

    /// The factorization as version 0.1 had it, if its Δ or its factors were different. States that
    /// started under 0.1 keep it, because their noise must not be scaled in two ways.
    #[doc(hidden)]
    fn before_version_2(&self) -> Option<Arc<dyn Factorization>> {
        None
    }

    /// The shape of the noise at a step, or of its difference to an earlier one.
    fn tail(&self, _earlier: Option<u64>, _later: u64) -> Tail {
        Tail::Gaussian
    }
}

/// The digest of numbers, bit for bit.
fn digest_of(numbers: impl Iterator<Item = f64>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for number in numbers {
        hasher.update(&number.to_bits().to_le_bytes());
    }
    *hasher.finalize().as_bytes()
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
    /// L, one row per step.
    pub decoder: Matrix,
    /// R, one column per step.
    pub encoder: Matrix,
}

/// What a mechanism costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Bytes held once, for any number of coordinates.
    pub shared_bytes: u64,
    /// Bytes held for each coordinate or key.
    pub bytes_per_coordinate: u64,
    /// Floating-point operations and draws per step and coordinate. This is the average over the
    /// horizon and includes preparation.
    pub operations_per_step: f64,
}

impl Cost {
    /// Arrays of doubles over the horizon: this many in common and this many per coordinate.
    fn arrays(horizon: u64, shared: u64, per_coordinate: u64) -> Self {
        Self {
            shared_bytes: horizon.saturating_mul(8 * shared),
            bytes_per_coordinate: horizon.saturating_mul(8 * per_coordinate),
            operations_per_step: 0.0,
        }
    }

    /// Bytes for this many coordinates.
    #[must_use]
    pub fn bytes(&self, coordinates: u64) -> u64 {
        self.shared_bytes.saturating_add(self.bytes_per_coordinate.saturating_mul(coordinates))
    }
}

/// The largest horizon for which dense matrices are made.
pub const MAX_DENSE: u64 = 2048;

/// The largest horizon for which arrays of one number per step are made.
pub(crate) const MAX_ARRAY: u64 = 1 << 28;

/// Horizon as an index, once it is known to be small enough for dense matrices.
pub(crate) fn dense_size(mechanism: &Mechanism, horizon: u64) -> Result<usize> {
    if horizon > MAX_DENSE {
        let reason = format!("dense matrices are made up to {MAX_DENSE} steps, not {horizon}");
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(horizon as usize)
}

/// Horizon as an index, once it is known that arrays of that length can be held.
pub(crate) fn array_size(mechanism: &Mechanism, horizon: u64) -> Result<usize> {
    if horizon > MAX_ARRAY {
        let reason = format!("it prepares one number per step, up to 2^28 steps, not {horizon}");
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
    /// What [`Objective::Report`] is about.
    pub(crate) report: Option<&'a Report>,
    pub(crate) progress: &'a dyn Progress,
}

impl Request<'_> {
    /// Refuses other workloads: trees and the group algebra factor only the prefix sum.
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
