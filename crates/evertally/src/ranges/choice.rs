//! The choice of a strategy.
//!
//! **Guarantee.** The choice depends on public parameters only: the number of bins, and whether noise is
//! Laplace. Of all strategies that are tried, it has the least mean squared error of all cumulative counts,
//! computed exactly.
//!
//! Tried are branchings up to [`MAX_BRANCHING`], every number of levels, and two weights of single bins:
//! that of all other levels, and one and a half times as much. A prefix ends in a single bin, and the levels
//! above are full of siblings that help each other, so single bins deserve more. Weights of every level
//! would gain about one percent more.

use super::Ranges;
use crate::Result;

/// Wider ranges were never better.
const MAX_BRANCHING: usize = 8;

/// The weights of single bins and of all other levels.
const WEIGHTS: [(u64, u64); 2] = [(1, 1), (3, 2)];

impl Ranges {
    /// The strategy with the least mean squared error of all cumulative counts.
    ///
    /// # Errors
    /// As [`Ranges::plain`].
    pub fn best(bins: usize, is_pure: bool) -> Result<Self> {
        Self::best_of(bins, 2..=MAX_BRANCHING, is_pure)
    }

    /// The same among the trees of one branching, which may have one level.
    ///
    /// # Errors
    /// As [`Ranges::tree`].
    pub fn best_tree(bins: usize, branching: usize, is_pure: bool) -> Result<Self> {
        Self::best_of(bins, branching..=branching, is_pure)
    }

    fn best_of(bins: usize, branchings: impl Iterator<Item = usize>, is_pure: bool) -> Result<Self> {
        let mut best = Self::plain(bins)?;
        let mut least = best.squared_error(is_pure);
        for branching in branchings {
            let only_bins = Self::tree(bins, branching, &[1])?;
            for levels in 2..=Self::most_levels(only_bins.bins(), branching) {
                for (of_bins, others) in WEIGHTS {
                    let mut weights = vec![others; levels];
                    weights[0] = of_bins;
                    let tree = Self::tree(bins, branching, &weights)?;
                    let error = tree.squared_error(is_pure);
                    if error < least {
                        (best, least) = (tree, error);
                    }
                }
            }
        }
        Ok(best)
    }
}
