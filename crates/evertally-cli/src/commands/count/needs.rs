//! Options that mean nothing without another, or beside another.
//!
//! The parser has such rules too, but drops one if what an option needs excludes a third that is given:
//! `--max-flips` needs `--distinct`, and with `--person` it would be ignored. Nothing that was asked for
//! may be ignored, so what decides what is counted is checked here.

use super::options::CountArgs;
use crate::error::{CliError, Result};

/// Refuses options without what they need, and histograms with what only groups have.
pub(super) fn check(args: &CountArgs) -> Result<()> {
    let has_distinct = args.distinct.column.is_some();
    let has_groups = args.groups.is_some();
    let (histogram, quantiles) = (args.histogram.column.is_some(), args.histogram.quantiles.is_some());
    let needs = [
        (args.distinct.operation.is_some(), "--operation", has_distinct, "--distinct COLUMN"),
        (args.distinct.max_flips.is_some(), "--max-flips", has_distinct, "--distinct COLUMN"),
        (args.histogram.edges.is_some(), "--bins", histogram, "--histogram COLUMN"),
        (quantiles, "--quantiles", histogram, "--histogram COLUMN"),
        (args.histogram.cumulative, "--cumulative", histogram, "--histogram COLUMN"),
        (
            args.histogram.ranges.is_some(),
            "--ranges",
            quantiles || args.histogram.cumulative,
            "--quantiles or --cumulative",
        ),
        (args.discover_delta.is_some(), "--discover-delta", args.discover, "--discover"),
        (args.discover_share.is_some(), "--discover-share", args.discover, "--discover"),
        (args.discover_floor.is_some(), "--discover-floor", args.discover, "--discover"),
        (args.per.is_some(), "--per", has_groups, "--groups FILE"),
        (args.per_unit.is_some(), "--per-unit", args.per.is_some(), "--per COLUMN"),
    ];
    if let Some((_, option, _, needed)) =
        needs.into_iter().find(|(is_given, _, is_met, _)| *is_given && !is_met)
    {
        return Err(CliError::bad(format!("{option} cannot be used without {needed}")));
    }
    if !histogram {
        return Ok(());
    }
    let refused = [
        (args.group_by.is_some(), "--group-by"),
        (has_groups, "--groups"),
        (args.discover, "--discover"),
        (args.groups_per_person.is_some(), "--groups-per-person"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(CliError::bad(format!(
            "{option} cannot be used with --histogram: the groups are the bins, and a person is in one of them a step"
        ))),
        None => Ok(()),
    }
}
