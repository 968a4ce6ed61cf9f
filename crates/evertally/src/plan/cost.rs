//! What a counter holds and does.
//!
//! **Definition.** Bytes a coordinate or key: the mechanism's state, rows of noise made ahead, the true total and a window's inputs, the
//! tag of a key. The plan itself, with the names of declared keys, is held once and not counted.
//!
//! **Guarantee.** A counter of 10⁵ keys is measured in the tests: it holds no more than is stated.

use super::{Lanes, Plan};
use crate::counter::sparse_bytes_per_key;
use crate::factorization::Cost;
use crate::noise::{LaneTag, Machine};
use crate::workload::Workload;

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
    /// assert!(plan.cost().bytes_per_coordinate <= 100);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// For open keys it is what a key holds between steps. While the open step has inputs, up to 16 bytes a key are held beside.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let streamed = self.inner.factorization.recipe().map(|recipe| recipe.rows());
        held(self.inner.factorization.cost(), streamed, self.lanes(), self.workload(), self.horizon())
    }
}

/// The cost of a counter whose noise costs so much by itself; `streamed` numbers a lane where the streaming engine makes it.
pub(super) fn held(
    noise: Cost,
    streamed: Option<usize>,
    lanes: &Lanes,
    workload: Workload,
    horizon: u64,
) -> Cost {
    if let (Lanes::OpenKeys, Some(rows)) = (lanes, streamed) {
        return Cost { bytes_per_coordinate: sparse_bytes_per_key(rows, workload), ..noise };
    }
    let state = match streamed {
        Some(rows) => Machine::<f64>::bytes_per_lane(rows, lanes.width(), lanes.are_named()) + TILE_HEADER,
        None => noise.bytes_per_coordinate,
    };
    let totals = (1 + workload.kept(horizon)).saturating_mul(16);
    let tag = if lanes.are_named() { size_of::<LaneTag>() as u64 } else { 0 };
    Cost { bytes_per_coordinate: state.saturating_add(totals).saturating_add(tag), ..noise }
}
