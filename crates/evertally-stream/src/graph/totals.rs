//! The amounts of every step.

use super::edge_list::OrderedEdges;
use super::nodes::{Crowd, NodeProtection};
use super::projection::Projection;
use super::statistic::Statistic;
use crate::amount::Amount;
use crate::error::{Error, Result};
use evertally::NoiseKey;

/// What the name of a key and its counter take, about.
const BYTES_OF_A_KEY: u128 = 256;

/// What each step adds to each statistic. No `Debug`: it is private.
pub struct GraphTotals {
    width: usize,
    amounts: Vec<u64>,
    /// The height after each step, if nodes are protected.
    heights: Vec<u64>,
}

impl GraphTotals {
    /// Counts edges in their order: those that are kept, if nodes are protected. `progress` is told the part
    /// that is done.
    ///
    /// # Errors
    /// As [`Statistic::largest_change`], and [`Error::TooCostly`] for a table beyond the limit.
    pub fn new(
        edges: &OrderedEdges,
        statistics: &[Statistic],
        max_degree: u32,
        nodes: Option<&NodeProtection>,
        memory_limit: u64,
        mut progress: impl FnMut(f64),
    ) -> Result<Self> {
        const EDGES_BETWEEN_UPDATES: usize = 1 << 16;
        let mut projection = Projection::new(statistics, max_degree, edges.nodes())?;
        let width = statistics.iter().map(|statistic| statistic.width(max_degree)).sum();
        Self::check(edges.steps(), statistics, max_degree, memory_limit)?;
        let mut amounts = vec![0; edges.steps() as usize * width];
        let mut crowd = nodes.map(|nodes| Crowd::new(nodes, edges.nodes()));
        let mut heights = Vec::new();
        let all = edges.iter().len();
        for (done, (step, ends)) in edges.iter().enumerate() {
            let mut is_kept = true;
            if let Some(crowd) = &mut crowd {
                // Steps without an edge have the height before them.
                heights.resize(step as usize, crowd.height());
                is_kept = crowd.insert(ends);
            }
            if is_kept {
                projection.insert(ends, &mut amounts[step as usize * width..][..width]);
            }
            if done.is_multiple_of(EDGES_BETWEEN_UPDATES) {
                progress(done as f64 / all as f64);
            }
        }
        if let Some(crowd) = &crowd {
            heights.resize(edges.steps() as usize, crowd.height());
        }
        Ok(Self { width, amounts, heights })
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

    /// The first step that is not counted, if nodes are protected. The label names the test's noise.
    #[must_use]
    pub fn first_stop(&self, nodes: &NodeProtection, key: &NoiseKey, label: &[u8]) -> Option<u64> {
        nodes.test().first_stop(&self.heights, key, label)
    }

    /// The amounts of each step, those of one statistic after those of another. From the stop on they are
    /// zero.
    pub fn steps(&self, stop: Option<u64>) -> impl ExactSizeIterator<Item = Vec<Amount>> + '_ {
        let end = stop.map_or(usize::MAX, |stop| stop as usize);
        let amount = move |step: usize, count: &u64| Amount::of_count(if step < end { *count } else { 0 });
        let steps = self.amounts.chunks(self.width).enumerate();
        steps.map(move |(step, counts)| counts.iter().map(|count| amount(step, count)).collect())
    }

    /// Everything of each step on which releases depend, stopped or not: the amounts, and the height.
    pub fn watched(&self) -> impl ExactSizeIterator<Item = Vec<Amount>> + '_ {
        self.steps(None).enumerate().map(|(step, mut amounts)| {
            amounts.extend(self.heights.get(step).map(|height| Amount::of_count(*height)));
            amounts
        })
    }
}
