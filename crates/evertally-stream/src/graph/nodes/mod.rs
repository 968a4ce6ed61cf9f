//! Protection of a node with all of its edges.
//!
//! **Definition.** Let D be the declared bound on degrees. The *height* of a graph is the largest h such that
//! at least h nodes have at least D + h edges. An edge is *kept* if it is among the first D + ℓ edges of both
//! of its nodes, where edges that are not kept count too. Statistics are those of the kept edges. A
//! [`StopTest`] watches the height after every step, and stops the count before the first step of which the
//! noisy height reaches a noisy threshold.
//!
//! **Guarantee.** Without a node, the height is the same or lower by one at every step. So the step of the
//! stop is private. In every step that is counted, the graph without the node has a height below ℓ, except
//! with the probability [`StopTest::delta`]. There, the amounts change within
//! [`NodeProtection::largest_change`]. `docs/graphs.md` has the proofs, and the tests compare with all pairs
//! of neighbours of small graphs.

mod crowd;
mod stop;
#[cfg(test)]
mod tests;

pub(super) use crowd::Crowd;
pub use stop::StopTest;

use super::statistic::Statistic;
use crate::error::{Error, Result};
use evertally::Participation;

/// What protects a node with all of its edges: a bound on kept edges, and the test that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeProtection {
    max_degree: u32,
    kept: u32,
    test: StopTest,
}

impl NodeProtection {
    /// With a declared bound on degrees.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for a bound of zero, and one that is too large together with the
    /// test's limit.
    pub fn new(max_degree: u32, test: StopTest) -> Result<Self> {
        if max_degree == 0 {
            return Err(Error::bad("the bound on degrees", "at least 1", 0));
        }
        match max_degree.checked_add(test.limit()) {
            Some(kept) if u64::from(kept).pow(2) < 1 << 52 => Ok(Self { max_degree, kept, test }),
            _ => {
                let expected = "so small that what one node changes can be counted exactly";
                Err(Error::bad("the bound on degrees", expected, max_degree))
            }
        }
    }

    /// The declared bound on degrees, D.
    #[must_use]
    pub fn max_degree(&self) -> u32 {
        self.max_degree
    }

    /// How many edges of a node are kept: D + ℓ.
    #[must_use]
    pub fn kept(&self) -> u32 {
        self.kept
    }

    /// The test that stops the count.
    #[must_use]
    pub fn test(&self) -> &StopTest {
        &self.test
    }

    /// How many amounts of each number appear at most with a node, and how many disappear: p and q.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for statistics other than edges and degrees.
    pub fn moves(&self, statistic: Statistic) -> Result<(u64, u64)> {
        let (kept, pushed) = (u64::from(self.kept), u64::from(self.test.limit() - 1));
        match statistic {
            // The node's kept edges, and an edge that is pushed out at each other node of D + ℓ edges.
            Statistic::Edges => Ok((kept, pushed)),
            // For each number of edges, a node reaches it once: the node itself, the other ends of its kept
            // edges, and both ends of those that are pushed out.
            Statistic::Degrees => Ok((1 + kept + 2 * pushed, kept + 2 * pushed)),
            _ => Err(Error::bad("a statistic that protects nodes", "edges or degrees", statistic)),
        }
    }

    /// How one node, with all of its edges, can change the amounts of all counted steps.
    ///
    /// # Errors
    /// As [`NodeProtection::moves`], and for numbers beyond 2^53.
    pub fn largest_change(&self, statistic: Statistic) -> Result<Participation> {
        let (up, down) = self.moves(statistic)?;
        let each = up.checked_pow(2).and_then(|up| up.checked_add(down.checked_pow(2)?));
        let squares = each.and_then(|each| each.checked_mul(statistic.width(self.max_degree) as u64));
        match squares.filter(|squares| *squares <= 1 << 53) {
            Some(squares) => Ok(Participation::changes(squares)?),
            None => {
                let expected =
                    format!("so small that what one node changes in {statistic} can be counted exactly");
                Err(Error::bad("the bound on degrees", expected, self.max_degree))
            }
        }
    }
}
