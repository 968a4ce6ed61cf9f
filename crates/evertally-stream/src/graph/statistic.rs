//! The statistics of a graph, and how far one edge can move them.

use crate::error::{Error, Result};
use evertally::{Contribution, Participation};
use std::fmt;
use std::str::FromStr;

/// A number, or a list of numbers, that is counted at every step.
///
/// ```
/// use evertally_stream::Statistic;
/// let stars: Statistic = "stars:2".parse()?;
/// assert_eq!(stars.to_string(), "stars:2");
/// // An edge has two ends. At each, counts of 2-stars go up by at most 9, and later down by at most 9.
/// assert_eq!(stars.largest_change(10)?.squares(), Some(2 * 18 * 18));
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The number of edges.
    Edges,
    /// For every k up to the bound D on degrees, the number of nodes with at least k edges.
    Degrees,
    /// The number of stars of k edges at a common node, of which each node has those of its first D edges.
    Stars {
        /// The edges of a star.
        edges: u32,
    },
    /// The number of triangles of edges that are among the first D edges of both of their nodes.
    Triangles,
}

impl Statistic {
    /// How many numbers it consists of.
    #[must_use]
    pub fn width(self, max_degree: u32) -> usize {
        if self == Self::Degrees { max_degree as usize } else { 1 }
    }

    /// Whether the bound on degrees changes what is counted.
    #[must_use]
    pub fn has_bound(self) -> bool {
        self != Self::Edges
    }

    /// How one edge, with all of its copies, can change the amounts of all steps. `docs/graphs.md` has the
    /// proofs.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for a bound of zero, a star with more edges than the bound, and for
    /// numbers beyond 2^53.
    pub fn largest_change(self, max_degree: u32) -> Result<Participation> {
        if max_degree == 0 {
            return Err(Error::bad("the bound on degrees", "at least 1", 0));
        }
        let degree = u64::from(max_degree);
        let squares = match self {
            Self::Edges => return Ok(Participation::single()),
            // Each of D counts goes up and down by one at each of two ends: 2² + 2².
            Self::Degrees => Some(8 * degree),
            Self::Stars { edges } => {
                if edges == 0 || edges > max_degree {
                    let expected = format!("from 1 to {max_degree}, the bound on degrees");
                    return Err(Error::bad("the edges of a star", expected, edges));
                }
                let at_an_end = stars_with_one_edge(degree, u64::from(edges));
                at_an_end.and_then(|stars| stars.checked_pow(2)?.checked_mul(8))
            }
            // The edge closes at most D − 1 triangles, and pushes out two edges that close as many each.
            Self::Triangles => (degree - 1).checked_pow(2).and_then(|square| square.checked_mul(5)),
        };
        match squares.filter(|squares| *squares <= 1 << 53) {
            // With a bound of one there is no triangle, and any noise will do.
            Some(squares) => Ok(Participation::changes(squares.max(1))?),
            None => {
                let expected =
                    format!("so small that what one edge changes in {self} can be counted exactly");
                Err(Error::bad("the bound on degrees", expected, max_degree))
            }
        }
    }

    /// What [`Statistic::largest_change`] is measured in.
    #[must_use]
    pub fn contribution(self) -> Contribution {
        let signed = Contribution::range(-1.0, 1.0).unwrap_or_default();
        if self == Self::Edges { Contribution::unit() } else { signed }
    }
}

/// C(D − 1, k − 1): the stars of k edges that contain one of D given edges. `None` beyond 64 bits.
fn stars_with_one_edge(max_degree: u64, edges: u64) -> Option<u64> {
    binomial(max_degree - 1, edges - 1)
}

/// The binomial coefficient C(n, k), if it fits.
pub(super) fn binomial(n: u64, k: u64) -> Option<u64> {
    if k > n {
        return Some(0);
    }
    let mut result = 1_u128;
    for i in 0..u128::from(k.min(n - k)) {
        // The product of i + 1 consecutive numbers is divisible by (i + 1)!.
        result = result.checked_mul(u128::from(n) - i)? / (i + 1);
        if result > u128::from(u64::MAX) {
            return None;
        }
    }
    u64::try_from(result).ok()
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edges => f.pad("edges"),
            Self::Degrees => f.pad("degrees"),
            Self::Stars { edges } => f.pad(&format!("stars:{edges}")),
            Self::Triangles => f.pad("triangles"),
        }
    }
}

impl FromStr for Statistic {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let stars = text.strip_prefix("stars:").and_then(|edges| edges.parse().ok());
        match (text, stars) {
            ("edges", _) => Ok(Self::Edges),
            ("degrees", _) => Ok(Self::Degrees),
            ("triangles", _) => Ok(Self::Triangles),
            (_, Some(edges)) => Ok(Self::Stars { edges }),
            _ => {
                let expected = "edges, degrees, stars:K with a number of edges K, or triangles";
                Err(Error::bad("a statistic", expected, format!("{text:?}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["edges", "degrees", "stars:2", "stars:17", "triangles"] {
            assert_eq!(name.parse::<Statistic>().unwrap().to_string(), name);
        }
        for bad in ["", "edge", "stars", "stars:", "stars:-1", "stars:x", "stars:2.5", "Triangles"] {
            assert!(bad.parse::<Statistic>().is_err(), "{bad}");
        }
    }

    #[test]
    fn binomials_are_those_of_pascal() {
        let mut row = vec![1_u64];
        for n in 0..60 {
            for (k, expected) in row.iter().enumerate() {
                assert_eq!(binomial(n, k as u64), Some(*expected));
            }
            assert_eq!(binomial(n, n + 1), Some(0));
            row = (0..=row.len())
                .map(|k| row.get(k).unwrap_or(&0) + k.checked_sub(1).map_or(0, |k| row[k]))
                .collect();
        }
        assert_eq!(binomial(u64::MAX, 1), Some(u64::MAX));
        assert_eq!(binomial(100, 50), None);
    }

    #[test]
    fn bounds_that_cannot_be_kept_are_refused() {
        let of = |name: &str, bound| name.parse::<Statistic>().unwrap().largest_change(bound);
        assert!(of("edges", 0).is_err() && of("triangles", 0).is_err());
        assert!(of("stars:4", 3).is_err() && of("stars:0", 3).is_err() && of("stars:3", 3).is_ok());
        assert!(of("stars:9", 10_000).is_err() && of("triangles", u32::MAX).is_err());
        assert_eq!(of("triangles", 1).unwrap().squares(), Some(1));
        assert_eq!(of("triangles", 11).unwrap().squares(), Some(500));
        assert_eq!(of("degrees", 10).unwrap().squares(), Some(80));
        assert_eq!(of("edges", 10).unwrap(), Participation::single());
    }
}
