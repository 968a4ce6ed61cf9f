//! What is counted of a graph, as a part of the noise's name.
//!
//! **Guarantee.** Two definitions under which the same rows could count differently have different
//! encodings, as for [`Definition`]. `docs/noise-name.md` has the table.

use super::nodes::NodeProtection;
use super::statistic::Statistic;
use crate::definition::Definition;
use evertally::internals::noise_name::{Fields, Value};

const MAGIC: [u8; 4] = *b"EVGR";
const VERSION: u8 = 1;

/// Everything outside the plans that decides what is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphDefinition<'a> {
    /// The column of times, the steps and the filter.
    pub rows: Definition<'a>,
    /// The columns of the two ends. Their order does not matter.
    pub ends: [&'a str; 2],
    /// The bound on degrees.
    pub max_degree: u32,
    /// The statistics, in order, each with its part of the budget.
    pub parts: &'a [(Statistic, f64)],
    /// What protects nodes, if they are protected with all of their edges.
    pub nodes: Option<&'a NodeProtection>,
}

impl GraphDefinition<'_> {
    /// The encoding for the plan of one of the statistics. One plan watches over the input of all: its
    /// encoding holds the names of the noise of the others.
    #[must_use]
    pub fn encode(&self, statistic: Statistic, watched: &[Vec<u8>]) -> Vec<u8> {
        self.encode_as(code(Value::new(), statistic), watched)
    }

    /// The label of the noise of the [`StopTest`](super::StopTest), from the names of the noise of all
    /// statistics. So whatever watches over the input of the first one watches over the test's.
    #[must_use]
    pub fn label_of_test(&self, names: &[Vec<u8>]) -> Vec<u8> {
        self.encode_as(Value::new().code(4), names)
    }

    fn encode_as(&self, subject: Value, watched: &[Vec<u8>]) -> Vec<u8> {
        let mut fields = Fields::new(MAGIC, VERSION);
        fields.put(1, Value::new().bytes(&self.rows.encode()));
        let mut ends = self.ends;
        ends.sort_unstable();
        fields.put(2, Value::new().text(ends[0]).text(ends[1]));
        fields.put(3, Value::new().integer(u64::from(self.max_degree)));
        fields.put(4, subject);
        let parts = self.parts.iter();
        fields.put(5, parts.fold(Value::new(), |value, (part, share)| code(value, *part).real(*share)));
        if !watched.is_empty() {
            fields.put(6, watched.iter().fold(Value::new(), |value, name| value.bytes(name)));
        }
        if let Some(nodes) = self.nodes {
            let test = nodes.test();
            let nodes = [test.may_exceed(), test.threshold(), test.limit()];
            let value = nodes.iter().fold(Value::new(), |value, nodes| value.integer(u64::from(*nodes)));
            fields.put(7, value.integer(test.scale()));
        }
        fields.into_bytes()
    }
}

fn code(value: Value, statistic: Statistic) -> Value {
    match statistic {
        Statistic::Edges => value.code(0),
        Statistic::Degrees => value.code(1),
        Statistic::Stars { edges } => value.code(2).integer(u64::from(edges)),
        Statistic::Triangles => value.code(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopTest;
    use crate::definition::Columns;
    use std::collections::HashSet;

    #[test]
    fn different_definitions_have_different_encodings() {
        let rows = Definition {
            columns: Columns { time: Some("t"), ..Columns::default() },
            ..Definition::default()
        };
        let (edges, stars) = (Statistic::Edges, Statistic::Stars { edges: 2 });
        let parts = &[(Statistic::Edges, 1.0)];
        let base = GraphDefinition { rows, ends: ["a", "b"], max_degree: 5, parts, nodes: None };
        let tests = [(9, 0, 0.5, 1e-6), (9, 1, 0.5, 1e-6), (9, 0, 0.6, 1e-6), (9, 0, 0.5, 1e-7)];
        let nodes = tests.map(|(steps, may_exceed, epsilon, delta)| {
            let test = StopTest::new(steps, may_exceed, epsilon, delta).unwrap();
            NodeProtection::new(5, test).unwrap()
        });
        let all = [
            base.encode(edges, &[]),
            base.encode(stars, &[]),
            base.encode(Statistic::Stars { edges: 3 }, &[]),
            base.encode(Statistic::Triangles, &[]),
            base.encode(Statistic::Degrees, &[]),
            base.encode(edges, &[vec![1]]),
            base.encode(edges, &[vec![1], vec![2]]),
            base.encode(edges, &[vec![1, 2]]),
            GraphDefinition { ends: ["a", "c"], ..base }.encode(edges, &[]),
            GraphDefinition { ends: ["", "ab"], ..base }.encode(edges, &[]),
            GraphDefinition { max_degree: 6, ..base }.encode(edges, &[]),
            GraphDefinition { parts: &[(Statistic::Edges, 0.5)], ..base }.encode(edges, &[]),
            GraphDefinition { parts: &[(Statistic::Triangles, 1.0)], ..base }.encode(edges, &[]),
            GraphDefinition { rows: Definition { filter: Some("x = 1"), ..rows }, ..base }.encode(edges, &[]),
            GraphDefinition { rows: Definition::default(), ..base }.encode(edges, &[]),
            base.label_of_test(&[]),
            base.label_of_test(&[vec![1]]),
            GraphDefinition { nodes: Some(&nodes[0]), ..base }.encode(edges, &[]),
            GraphDefinition { nodes: Some(&nodes[1]), ..base }.encode(edges, &[]),
            GraphDefinition { nodes: Some(&nodes[2]), ..base }.encode(edges, &[]),
            GraphDefinition { nodes: Some(&nodes[3]), ..base }.encode(edges, &[]),
            GraphDefinition { nodes: Some(&nodes[0]), ..base }.label_of_test(&[]),
        ];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        let turned = GraphDefinition { ends: ["b", "a"], ..base };
        assert_eq!(turned.encode(edges, &[]), base.encode(edges, &[]));
    }
}
