//! What a counter holds and does.
//!
//! **Definition.** Bytes a coordinate or key: the mechanism's state, rows of noise made ahead, the
//! true total and a window's inputs, the tag of a key. The plan itself, with the names of declared
//! keys, is held once and not counted.
//!
//! **Guarantee.** A counter of 10⁵ keys is measured in the tests: it holds no more than is stated.

use super::Plan;
use crate::factorization::{Cost, Factorization, IntegerDecoder, Mechanism};
use crate::key_record::Layout;
use crate::noise::integer::Filter;
use crate::noise::{LaneTag, StreamingCorrelator};
use crate::spec::Shape;
use crate::workload::Workload;
use crate::{Error, Result};

/// Many lanes are held in tiles, whose headers take a fraction of this a lane.
const TILE_HEADER: u64 = 1;

impl Plan {
    /// Memory and time of a counter made from this plan, a coordinate or key: its noise and its true totals.
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
    /// For open keys it is what a key holds between steps. While the open step has inputs, up to 16
    /// bytes a key are held beside.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let factorization = self.factorization();
        let state = if self.exact().is_some() {
            State::integer(factorization, self.shape())
        } else {
            State::doubles(factorization, self.shape())
        };
        held(factorization.cost(), state, self.shape(), self.workload(), self.horizon())
    }
}

/// Bytes of noise that a lane holds.
#[derive(Clone, Copy)]
pub(super) enum State {
    /// By its mechanism's own account.
    Own,
    /// These, rows made ahead included.
    Lane(u64),
    /// As many words in the record of a key.
    Record(usize),
}

impl State {
    pub(super) fn doubles(factorization: &dyn Factorization, shape: &Shape) -> Self {
        match (factorization.recipe(), shape) {
            (Some(recipe), Shape::OpenKeys) => Self::Record(recipe.rows()),
            (Some(recipe), _) => {
                let bytes = StreamingCorrelator::<f64>::bytes_per_lane(
                    recipe.rows(),
                    shape.width(),
                    shape.is_keyed(),
                );
                Self::Lane(bytes + TILE_HEADER)
            }
            (None, _) => Self::Own,
        }
    }

    /// Integers of 16 bytes, and one for the step ahead.
    pub(super) fn integer(factorization: &dyn Factorization, shape: &Shape) -> Self {
        match (factorization.integer(), shape) {
            (Some(IntegerDecoder::Filter { recipe, .. }), Shape::OpenKeys) => {
                Self::Record(2 * Filter::new(&recipe).rows())
            }
            (Some(IntegerDecoder::Filter { recipe, .. }), _) => {
                Self::Lane(16 * (Filter::new(&recipe).rows() as u64 + 1))
            }
            (Some(IntegerDecoder::Window { recipe, decays, width, .. }), _) => {
                let rings = width.saturating_mul(decays.len() as u64);
                Self::Lane(
                    16_u64.saturating_mul(rings.saturating_add(Filter::new(&recipe).rows() as u64 + 1)) + 8,
                )
            }
            // A row of doubles beside.
            (Some(IntegerDecoder::Sums { .. }), _) => {
                Self::Lane(factorization.cost().bytes_per_coordinate + 24)
            }
            (None, _) => Self::Own,
        }
    }
}

/// The cost of a counter whose noise costs so much by itself.
pub(super) fn held(noise: Cost, state: State, shape: &Shape, workload: Workload, horizon: u64) -> Cost {
    let state = match state {
        State::Record(words) => {
            return Cost { bytes_per_coordinate: Layout::new(workload, words).bytes_per_key(), ..noise };
        }
        State::Lane(bytes) => bytes,
        State::Own => noise.bytes_per_coordinate,
    };
    let totals = (1 + workload.kept(horizon)).saturating_mul(16);
    let tag = if shape.is_keyed() { size_of::<LaneTag>() as u64 } else { 0 };
    Cost { bytes_per_coordinate: state.saturating_add(totals).saturating_add(tag), ..noise }
}

/// Refuses a counter that would hold more bytes than it may.
pub(super) fn check_limit(mechanism: Mechanism, cost: Cost, shape: &Shape, limit: u64) -> Result<()> {
    let bytes = cost.bytes(shape.width() as u64);
    if bytes > limit {
        let reason = format!("it holds {bytes} bytes, more than the limit of {limit}");
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(())
}
