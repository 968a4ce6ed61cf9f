//! A stream of inserted edges, and statistics of the graph that they make.
//!
//! **Definition.** An edge has a time and two names. The graph is undirected and simple: the order of the
//! two names says nothing, and an edge counts once, in the step of its first insertion. Edges are taken by
//! time, and those of one moment by the names of their ends. An edge from a node to itself is no edge. So
//! what counts is a function of the set of rows, whatever their order.
//!
//! [`EdgeList`] takes rows and puts the edges in order. [`GraphTotals`] feeds them to a [`Projection`], which
//! turns each into amounts of the [`Statistic`]s.
//!
//! **Guarantee.** With one edge more, at any time, the amounts of all steps change within
//! [`Statistic::largest_change`]. The projection decides on an edge from earlier edges alone, and never
//! again, so the bound holds for the stream of all steps and not only for the last one. `docs/graphs.md`
//! has the proofs, and the tests compare the bound with all pairs of neighbours of small graphs.
//!
//! With [`NodeProtection`], neighbours differ in one node with all of its edges. The module [`nodes`] has the
//! guarantee.
//!
//! **Source.** Fichtenberger, Henzinger and Ost, *Differentially private algorithms for graphs under
//! continual observation* (2021); Jain, Smith and Wagaman, *Time-aware projections* (2024); Blocki, Blum,
//! Datta and Sheffet, *Differentially private data analysis of social networks via restricted sensitivity*
//! (2013).

mod definition;
mod edge_list;
mod interner;
mod nodes;
mod projection;
mod statistic;
#[cfg(test)]
mod tests;
mod totals;

pub use definition::GraphDefinition;
pub use edge_list::{EdgeList, NoEdge, OrderedEdges};
pub use nodes::{NodeProtection, StopTest};
pub use projection::Projection;
pub use statistic::Statistic;
pub use totals::GraphTotals;
