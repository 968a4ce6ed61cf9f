//! The memory and time of a counter.
//!
//! **Definition.** The bytes per coordinate or key are the mechanism's state, rows of noise made
//! ahead, the true total, a window's inputs and the tag of a key. The plan itself, with the names of
//! declared keys, is held once and not counted.
//!
//! **Guarantee.** A counter holds no more than stated. The tests measure it with 10⁵ keys.

use super::Plan;
use crate::factorization::{Cost, Factorization, IntegerDecoder, Mechanism};
use crate::key_record::Layout;
use crate::noise::integer::Filter;
use crate::noise::{LaneTag, StreamingCorrelator};
use crate::spec::Shape;
use crate::workload::Workload;
use crate::{Error, Result};

/// Many lanes are held in tiles. The header of a tile takes less than this per lane.
const TILE_HEADER: u64 = 1;

impl Plan {
    /// Memory and time of a counter of this plan per coordinate or key, for its noise and its true
    /// totals.
    ///
    /// ```
    /// use evertally::{Budget, Mechanism, Plan};
    /// let plan = Plan::prefix_sum(1 << 20)
    ///     .budget(Budget::new(1.0, 1e-6)?)
    ///     .mechanism(Mechanism::GradedSquareRoot { decays: Some(6) })
    ///     .open_keys()
    ///     .build()?;
    /// assert!(plan.cost().bytes_per_coordinate <= 160);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// For open keys it is the memory of a key between steps. While the open step has inputs, a key
    /// holds up to 16 more bytes.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let factorization = self.factorization();
        let state = if self.exact().is_some() {
            NoiseMemory::integer(factorization, self.shape())
        } else {
            NoiseMemory::doubles(factorization, self.shape())
        };
        counter_cost(factorization.cost(), state, self.shape(), self.workload(), self.horizon())
    }
}

/// The memory that the noise of one lane takes.
#[derive(Clone, Copy)]
pub(super) enum NoiseMemory {
    /// The cost that the mechanism states.
    Stated,
    /// This many bytes, including rows made ahead.
    Bytes(u64),
    /// This many words in the record of a key.
    Words(usize),
}

impl NoiseMemory {
    pub(super) fn doubles(factorization: &dyn Factorization, shape: &Shape) -> Self {
        match (factorization.recipe(), shape) {
            (Some(recipe), Shape::OpenKeys) => Self::Words(recipe.rows()),
            (Some(recipe), _) => {
                let bytes = StreamingCorrelator::<f64>::bytes_per_lane(
                    recipe.rows(),
                    shape.width(),
                    shape.is_keyed(),
                );
                Self::Bytes(bytes + TILE_HEADER)
            }
            (None, _) => Self::Stated,
        }
    }

    /// Integers of 16 bytes, and one for the step ahead.
    pub(super) fn integer(factorization: &dyn Factorization, shape: &Shape) -> Self {
        match (factorization.integer(), shape) {
            (Some(IntegerDecoder::Filter { recipe, .. }), Shape::OpenKeys) => {
                Self::Words(2 * Filter::new(&recipe).rows())
            }
            (Some(IntegerDecoder::Filter { recipe, .. }), _) => {
                Self::Bytes(16 * (Filter::new(&recipe).rows() as u64 + 1))
            }
            (Some(IntegerDecoder::Window { recipe, decays, width, .. }), _) => {
                let rings = width.saturating_mul(decays.len() as u64);
                Self::Bytes(
                    16_u64.saturating_mul(rings.saturating_add(Filter::new(&recipe).rows() as u64 + 1)) + 8,
                )
            }
            (Some(IntegerDecoder::Rows { rows, .. }), _) => Self::Bytes(8 * rows.horizon() + 24),
            // Also a row of doubles.
            (Some(IntegerDecoder::Sums { .. }), _) => {
                Self::Bytes(factorization.cost().bytes_per_coordinate + 24)
            }
            (None, _) => Self::Stated,
        }
    }
}

/// The cost of a counter, given the cost of its noise.
pub(super) fn counter_cost(
    noise: Cost,
    state: NoiseMemory,
    shape: &Shape,
    workload: Workload,
    horizon: u64,
) -> Cost {
    let state = match state {
        NoiseMemory::Words(words) => {
            return Cost { bytes_per_coordinate: Layout::new(workload, words).bytes_per_key(), ..noise };
        }
        NoiseMemory::Bytes(bytes) => bytes,
        NoiseMemory::Stated => noise.bytes_per_coordinate,
    };
    let totals = (1 + workload.kept(horizon)).saturating_mul(16);
    let tag = if shape.is_keyed() { size_of::<LaneTag>() as u64 } else { 0 };
    Cost { bytes_per_coordinate: state.saturating_add(totals).saturating_add(tag), ..noise }
}

/// Refuses a counter that would hold more bytes than the limit.
pub(super) fn check_limit(mechanism: Mechanism, cost: Cost, shape: &Shape, limit: u64) -> Result<()> {
    let bytes = cost.bytes(shape.width() as u64);
    if bytes > limit {
        let reason = format!("it holds {bytes} bytes, more than the limit of {limit}");
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(())
}
