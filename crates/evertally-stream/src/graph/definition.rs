//! What is counted of a graph, as a part of the noise's name.
//!
//! **Guarantee.** Two definitions under which the same rows could count differently have different
//! encodings, as for [`Definition`]. `docs/noise-name.md` has the table.

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
}

impl GraphDefinition<'_> {
    /// The encoding for the plan of one of the statistics. One plan watches over the input of all: its
    /// encoding holds the names of the noise of the others.
    #[must_use]
    pub fn encode(&self, statistic: Statistic, watched: &[Vec<u8>]) -> Vec<u8> {
        let mut fields = Fields::new(MAGIC, VERSION);
        fields.put(1, Value::new().bytes(&self.rows.encode()));
        let mut ends = self.ends;
        ends.sort_unstable();
        fields.put(2, Value::new().text(ends[0]).text(ends[1]));
        fields.put(3, Value::new().integer(u64::from(self.max_degree)));
        fields.put(4, code(Value::new(), statistic));
        let parts = self.parts.iter();
        fields.put(5, parts.fold(Value::new(), |value, (part, share)| code(value, *part).real(*share)));
        if !watched.is_empty() {
            fields.put(6, watched.iter().fold(Value::new(), |value, name| value.bytes(name)));
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
    use crate::definition::Columns;
    use std::collections::HashSet;

    #[test]
    fn different_definitions_have_different_encodings() {
        let rows = Definition {
            columns: Columns { time: Some("t"), ..Columns::default() },
            ..Definition::default()
        };
        let (edges, stars) = (Statistic::Edges, Statistic::Stars { edges: 2 });
        let base =
            GraphDefinition { rows, ends: ["a", "b"], max_degree: 5, parts: &[(Statistic::Edges, 1.0)] };
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
        ];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        let turned = GraphDefinition { ends: ["b", "a"], ..base };
        assert_eq!(turned.encode(edges, &[]), base.encode(edges, &[]));
    }
}
