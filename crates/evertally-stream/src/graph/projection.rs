//! One edge at a time to amounts.
//!
//! **Definition.** The *rank* of an edge at one of its nodes is one more than the number of earlier edges
//! there. With the bound D,
//!
//! - the number of edges grows by one;
//! - the number of nodes with at least k edges grows by one at each node where the rank is k ≤ D;
//! - the number of stars of k edges grows by C(r − 1, k − 1) at each node where the rank is r ≤ D;
//! - an edge is *kept* if its rank is at most D at both nodes. The number of triangles grows by the number of
//!   nodes to which both nodes have kept edges, if the edge is kept.
//!
//! **Guarantee.** What an edge adds depends on earlier edges only. Edges that are not kept have ranks too: a
//! kept edge stays kept, whatever comes later.
//!
//! **Cost.** 4 bytes for each node. With triangles, 24 more for each node, and 8 to 16 for each kept edge; an
//! edge takes up to 2D steps.

use super::statistic::{Statistic, binomial};
use crate::error::Result;

/// The graph so far, as far as later amounts depend on it. No `Debug`: it is private.
pub struct Projection {
    max_degree: u32,
    /// The number of edges of each node, up to the bound.
    degrees: Vec<u32>,
    /// The kept neighbours of each node, sorted, if triangles are counted.
    kept: Vec<Vec<u32>>,
    counts: Vec<Count>,
}

/// A statistic, and where its amounts are in a step.
struct Count {
    statistic: Statistic,
    at: usize,
    /// For stars: what an edge of each rank adds.
    added: Vec<u64>,
}

impl Projection {
    /// The graph of so many nodes without an edge.
    ///
    /// # Errors
    /// As [`Statistic::largest_change`].
    pub fn new(statistics: &[Statistic], max_degree: u32, nodes: usize) -> Result<Self> {
        let (mut counts, mut at) = (Vec::new(), 0);
        for &statistic in statistics {
            statistic.largest_change(max_degree)?;
            let added = match statistic {
                Statistic::Stars { edges } => {
                    // None is larger than that of rank D, which is in bounds.
                    let of_rank = |rank| binomial(rank, u64::from(edges) - 1).unwrap_or_default();
                    (0..u64::from(max_degree)).map(of_rank).collect()
                }
                _ => Vec::new(),
            };
            counts.push(Count { statistic, at, added });
            at += statistic.width(max_degree);
        }
        let has_triangles = statistics.contains(&Statistic::Triangles);
        let kept = if has_triangles { vec![Vec::new(); nodes] } else { Vec::new() };
        Ok(Self { max_degree, degrees: vec![0; nodes], kept, counts })
    }

    /// Adds what the next edge counts to the amounts of its step. The edge is new, and has two different
    /// ends.
    pub fn insert(&mut self, ends: [u32; 2], amounts: &mut [u64]) {
        // One more than the bound stands for any larger rank.
        let ranks = ends.map(|end| self.degrees[end as usize] + 1);
        for (end, rank) in ends.into_iter().zip(ranks) {
            self.degrees[end as usize] = rank.min(self.max_degree);
        }
        let ranks = ranks.map(|rank| Some(rank as usize - 1).filter(|_| rank <= self.max_degree));
        for count in &self.counts {
            let at = &mut amounts[count.at..];
            match count.statistic {
                Statistic::Edges => at[0] += 1,
                Statistic::Degrees => ranks.into_iter().flatten().for_each(|before| at[before] += 1),
                Statistic::Stars { .. } => {
                    at[0] += ranks.into_iter().flatten().map(|before| count.added[before]).sum::<u64>();
                }
                Statistic::Triangles => {
                    if let [Some(_), Some(_)] = ranks {
                        at[0] += keep(&mut self.kept, ends);
                    }
                }
            }
        }
    }
}

/// Keeps an edge, and returns how many triangles it closes.
fn keep(kept: &mut [Vec<u32>], [one, other]: [u32; 2]) -> u64 {
    let closed = common(&kept[one as usize], &kept[other as usize]);
    for (end, neighbour) in [(one, other), (other, one)] {
        let neighbours = &mut kept[end as usize];
        let place = neighbours.partition_point(|before| *before < neighbour);
        neighbours.insert(place, neighbour);
    }
    closed
}

/// How many numbers two sorted lists have in common.
fn common(one: &[u32], other: &[u32]) -> u64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        count += u64::from(a == b);
        (i, j) = (i + usize::from(a <= b), j + usize::from(b <= a));
    }
    count
}
