//! Rows to distinct edges in order.
//!
//! **Cost.** 16 bytes for each row, and each name once. The order takes two sorts.

use super::interner::Interner;
use crate::buckets::Buckets;
use crate::error::{Error, Result};
use crate::names::given_name;

/// Why a row is no edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEdge {
    /// One of its ends has no name.
    Unnamed,
    /// Both ends are the same node.
    SelfLoop,
}

#[derive(Clone, Copy)]
struct Edge {
    time: i64,
    ends: [u32; 2],
}

/// Takes the rows of a finished input, in any order. No `Debug`: edges are private.
pub struct EdgeList {
    buckets: Buckets,
    names: Interner,
    edges: Vec<Edge>,
    limit: u64,
}

impl EdgeList {
    /// Before the first row.
    #[must_use]
    pub fn new(buckets: Buckets, memory_limit: u64) -> Self {
        Self { buckets, names: Interner::new(), edges: Vec::new(), limit: memory_limit }
    }

    /// Takes one row, and says why it is no edge if it is none.
    ///
    /// # Errors
    /// [`Error::OutsideRange`], which changes nothing, and [`Error::TooManyEdges`].
    pub fn push(&mut self, time: i64, one: Option<&str>, other: Option<&str>) -> Result<Option<NoEdge>> {
        let (Some(one), Some(other)) = (given_name(one), given_name(other)) else {
            return Ok(Some(NoEdge::Unnamed));
        };
        if one == other {
            return Ok(Some(NoEdge::SelfLoop));
        }
        self.buckets.step_of(time)?;
        let too_many = Error::TooManyEdges { limit: self.limit };
        let ends = [self.names.number(one), self.names.number(other)];
        let [Some(one), Some(other)] = ends else { return Err(too_many) };
        if self.edges.len() == self.edges.capacity() {
            // The list is copied when it grows.
            let grown = 3 * size_of::<Edge>() * self.edges.capacity() + self.names.bytes();
            if grown as u64 > self.limit || self.edges.try_reserve(self.edges.len().max(1 << 10)).is_err() {
                return Err(too_many);
            }
        }
        self.edges.push(Edge { time, ends: [one, other] });
        Ok(None)
    }

    /// The distinct edges, each at its first insertion, in the order in which they count.
    #[must_use]
    pub fn finish(self) -> OrderedEdges {
        let Self { buckets, names, mut edges, .. } = self;
        let ranks = names.ranks();
        drop(names);
        for edge in &mut edges {
            edge.ends = edge.ends.map(|end| ranks[end as usize]);
            edge.ends.sort_unstable();
        }
        edges.sort_unstable_by_key(|edge| (edge.ends, edge.time));
        edges.dedup_by_key(|edge| edge.ends);
        edges.sort_unstable_by_key(|edge| (edge.time, edge.ends));
        OrderedEdges { buckets, edges, nodes: ranks.len() }
    }
}

/// Distinct edges by time, and those of one moment by the names of their ends. No `Debug`.
pub struct OrderedEdges {
    buckets: Buckets,
    edges: Vec<Edge>,
    nodes: usize,
}

impl OrderedEdges {
    /// How many nodes the edges have. They are numbered from zero, in the order of their names.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The declared number of steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.buckets.steps()
    }

    /// The edges with their steps.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, [u32; 2])> + '_ {
        // Every time was in the range when it was pushed.
        self.edges.iter().map(|edge| (self.buckets.step_of(edge.time).unwrap_or_default(), edge.ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> EdgeList {
        EdgeList::new(Buckets::new(0, "1s".parse().unwrap(), 10).unwrap(), 1 << 30)
    }

    fn ordered(rows: &[(i64, &str, &str)]) -> Vec<(u64, [u32; 2])> {
        let mut list = list();
        for (seconds, one, other) in rows {
            assert_eq!(list.push(seconds * 1_000_000, Some(one), Some(other)).unwrap(), None);
        }
        list.finish().iter().collect()
    }

    #[test]
    fn an_edge_counts_once_at_its_first_insertion() {
        let rows = [(5, "b", "a"), (3, "a", "b"), (9, "a", "b"), (3, "c", "a")];
        assert_eq!(ordered(&rows), [(3, [0, 1]), (3, [0, 2])]);
    }

    /// Numbers of nodes follow names, so the order of the rows does not matter.
    #[test]
    fn the_order_of_rows_does_not_matter() {
        let mut rows = vec![(1, "z", "b"), (1, "b", "a"), (0, "y", "z"), (1, "a", "b"), (2, "y", "b")];
        let expected = ordered(&rows);
        for rotation in 0..rows.len() {
            rows.rotate_left(1);
            rows.swap(0, rotation);
            assert_eq!(ordered(&rows), expected);
        }
    }

    #[test]
    fn what_is_no_edge_is_named() {
        let mut list = list();
        assert_eq!(list.push(0, Some("a"), Some(" a ")).unwrap(), Some(NoEdge::SelfLoop));
        for (one, other) in [(None, Some("a")), (Some("a"), Some("  ")), (None, None)] {
            assert_eq!(list.push(0, one, other).unwrap(), Some(NoEdge::Unnamed));
        }
        assert!(matches!(list.push(-1, Some("a"), Some("b")), Err(Error::OutsideRange { .. })));
        assert_eq!(list.finish().iter().len(), 0);
    }

    #[test]
    fn edges_that_do_not_fit_are_refused() {
        let mut list = EdgeList::new(Buckets::new(0, "1s".parse().unwrap(), 10).unwrap(), 100_000);
        let refused = (0..10_000).find_map(|i| list.push(0, Some("a"), Some(&format!("{i}"))).err());
        assert_eq!(refused, Some(Error::TooManyEdges { limit: 100_000 }));
    }
}
