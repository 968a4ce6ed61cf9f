//! The amounts of every step.

use super::edge_list::OrderedEdges;
use super::projection::Projection;
use super::statistic::Statistic;
use crate::amount::Amount;
use crate::error::{Error, Result};

/// What the name of a key and its counter take, about.
const BYTES_OF_A_KEY: u128 = 256;

/// What each step adds to each statistic. No `Debug`: it is private.
pub struct GraphTotals {
    width: usize,
    amounts: Vec<u64>,
}

impl GraphTotals {
    /// Counts edges in their order. `progress` is told the part that is done.
    ///
    /// # Errors
    /// As [`Statistic::largest_change`], and [`Error::TooCostly`] for a table beyond the limit.
    pub fn new(
        edges: &OrderedEdges,
        statistics: &[Statistic],
        max_degree: u32,
        memory_limit: u64,
        mut progress: impl FnMut(f64),
    ) -> Result<Self> {
        const EDGES_BETWEEN_UPDATES: usize = 1 << 16;
        let mut projection = Projection::new(statistics, max_degree, edges.nodes())?;
        let width = statistics.iter().map(|statistic| statistic.width(max_degree)).sum();
        Self::check(edges.steps(), statistics, max_degree, memory_limit)?;
        let mut amounts = vec![0; edges.steps() as usize * width];
        let all = edges.iter().len();
        for (done, (step, ends)) in edges.iter().enumerate() {
            projection.insert(ends, &mut amounts[step as usize * width..][..width]);
            if done.is_multiple_of(EDGES_BETWEEN_UPDATES) {
                progress(done as f64 / all as f64);
            }
        }
        Ok(Self { width, amounts })
    }

    /// Refuses a table of all steps that does not fit, before anything is read.
    ///
    /// # Errors
    /// [`Error::TooCostly`].
    pub fn check(steps: u64, statistics: &[Statistic], max_degree: u32, limit: u64) -> Result<()> {
        let keys = statistics.iter().map(|statistic| statistic.width(max_degree)).sum();
        let each = u128::from(steps) * size_of::<u64>() as u128 + BYTES_OF_A_KEY;
        let needed = each * keys as u128;
        if needed > u128::from(limit) { Err(Error::TooCostly { steps, keys, needed, limit }) } else { Ok(()) }
    }

    /// The amounts of each step, those of one statistic after those of another.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Vec<Amount>> + '_ {
        self.amounts
            .chunks(self.width)
            .map(|step| step.iter().map(|count| Amount::of_count(*count)).collect())
    }
}
