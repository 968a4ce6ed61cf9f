//! `--histogram`: a total for each declared bin of a column.
//!
//! **Definition.** The edges e₁ < … < e_k make k + 1 bins: below e₁, from e_i to below e_{i+1}, and from
//! e_k on. A bin is a group, so everything that holds for groups holds for bins. An event without a value is
//! in `other`. A cell that is neither empty nor a finite number is an error.
//!
//! With `--quantiles` or `--cumulative`, [`super::quantiles`] says what is released instead of totals of
//! bins.
//!
//! **Guarantee.** An event is in one bin, and a person whose first event of a step counts is in one bin of
//! the step: bins add no noise to each other. Edges are compared as doubles and are part of the noise's
//! name, with every bit.

use super::edges;
use super::groups::{Groups, key_set};
use super::options::CountArgs;
use crate::error::Result;
use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "What counts")]
pub(crate) struct HistogramArgs {
    /// Keep a total for each of the --bins of this column of numbers, instead of groups
    ///
    /// An event is in one bin. With --person, the first event of a person in a step counts, and so one
    /// bin does. Events without a value are in the group `other`.
    #[arg(
        id = "column_of_bins",
        long = "histogram",
        value_name = "COLUMN",
        requires_all = ["edges", "time"],
        conflicts_with = "group_by"
    )]
    pub(super) column: Option<String>,
    /// The edges of the bins, in ascending order and separated by commas, such as 0,10,20,50, or LO..HI:N
    /// for N equal bins from LO to HI, or LO..HI:Nlog for N bins whose ends grow by one factor
    ///
    /// A bin reaches from its lower edge to below its upper one. What is below the first edge and from
    /// the last one on has a bin of its own. Choose edges from what you know in general, not from the
    /// data.
    #[arg(
        id = "edges",
        long = "bins",
        value_name = "E,E,…|LO..HI:N",
        requires = "column_of_bins",
        allow_hyphen_values = true
    )]
    pub(super) edges: Option<String>,
    /// Release quantiles of the column, such as 0.25,0.5,0.9, instead of the totals of its bins
    ///
    /// A quantile is interpolated within its bin. Its interval is made of whole bins, and an empty end has
    /// no bound. With few events it is wide. More bins cost little: an event then counts in its bin and in
    /// ranges of bins, and all counts together give the least error (--ranges).
    #[arg(id = "parts", long = "quantiles", value_name = "Q,Q,…", requires = "column_of_bins")]
    pub(super) quantiles: Option<String>,
    /// Release how many events are below each edge, and how many there are, instead of the totals of bins
    #[arg(long, requires = "column_of_bins")]
    pub(super) cumulative: bool,
    /// With --quantiles or --cumulative: what is counted beside the bins. auto chooses what has the least
    /// error, none counts bins alone, and a number B counts ranges of B, B², … bins as well [default: auto]
    ///
    /// The choice is part of the noise. It depends on the number of bins only.
    #[arg(long, value_name = "auto|none|B")]
    pub(super) ranges: Option<String>,
}

/// The declared bins.
pub(super) struct Bins {
    pub(super) edges: Vec<f64>,
}

impl Bins {
    pub(super) fn declared(args: &CountArgs) -> Result<Option<Self>> {
        let (Some(_), Some(text)) = (&args.histogram.column, &args.histogram.edges) else { return Ok(None) };
        let edges = edges::parse(text)?;
        Ok(Some(Self { edges }))
    }

    /// The bins as groups, in ascending order.
    pub(super) fn groups(&self) -> Result<Groups> {
        let first = self.edges.first().map(|edge| format!("below {edge}"));
        let inner = self.edges.windows(2).map(|ends| format!("{} to {}", ends[0], ends[1]));
        let last = self.edges.last().map(|edge| format!("{edge} and above"));
        let names: Vec<String> = first.into_iter().chain(inner).chain(last).collect();
        Ok(Groups { keys: key_set(names.iter().map(String::as_str))?, rates: None })
    }

    /// The place of the bin of a value among the groups.
    pub(super) fn place(&self, value: f64) -> usize {
        self.edges.partition_point(|edge| *edge <= value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_its_lower_edge_and_not_its_upper_one() {
        let bins = Bins { edges: vec![-1.5, 0.0, 10.0] };
        let groups = bins.groups().unwrap();
        assert_eq!(groups.keys.names(), ["below -1.5", "-1.5 to 0", "0 to 10", "10 and above", "other"]);
        for (value, place) in
            [(-9.0, 0), (-1.5, 1), (-1e-300, 1), (-0.0, 2), (0.0, 2), (9.999, 2), (10.0, 3), (1e300, 3)]
        {
            assert_eq!(bins.place(value), place, "{value}");
        }
    }
}
