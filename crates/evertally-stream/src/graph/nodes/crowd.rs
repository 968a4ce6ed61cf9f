//! The degrees of all nodes: which edges are kept, and the height.
//!
//! **Guarantee.** Whether an edge is kept depends on earlier edges only. The height never falls.
//!
//! **Cost.** 4 bytes for each node, and 4 for each degree above the bound that some node has.

use super::NodeProtection;

/// The graph so far, as far as protection of nodes depends on it. No `Debug`: it is private.
pub(in super::super) struct Crowd {
    max_degree: u32,
    kept: u32,
    /// The number of edges of each node, kept or not.
    degrees: Vec<u32>,
    /// At place j, how many nodes have more than D + j edges.
    above: Vec<u32>,
    height: usize,
}

impl Crowd {
    /// The graph of so many nodes without an edge.
    pub(in super::super) fn new(protection: &NodeProtection, nodes: usize) -> Self {
        let (max_degree, kept) = (protection.max_degree, protection.kept);
        Self { max_degree, kept, degrees: vec![0; nodes], above: Vec::new(), height: 0 }
    }

    /// Takes the next edge, and says whether it is kept.
    pub(in super::super) fn insert(&mut self, ends: [u32; 2]) -> bool {
        let ranks = ends.map(|end| {
            let degree = &mut self.degrees[end as usize];
            *degree += 1;
            *degree
        });
        for rank in ranks.into_iter().filter(|rank| *rank > self.max_degree) {
            let place = (rank - self.max_degree) as usize - 1;
            // Degrees grow by one, so the place is at most the end.
            if place == self.above.len() {
                self.above.push(0);
            }
            self.above[place] += 1;
        }
        while self.above.get(self.height).is_some_and(|nodes| *nodes as usize > self.height) {
            self.height += 1;
        }
        ranks.into_iter().all(|rank| rank <= self.kept)
    }

    /// The largest h such that at least h nodes have at least D + h edges.
    pub(in super::super) fn height(&self) -> u64 {
        self.height as u64
    }
}
