//! `--quantiles` and `--cumulative`: what is read from the bins of a histogram.
//!
//! **Definition.** An event counts in its bin and, with `--ranges`, in one range of bins of every level
//! ([`evertally::ranges`]). The rows of a step are the quantiles, then the numbers below each edge, of all
//! events in bins, and of those without a value.
//!
//! **Guarantee.** What one person may change in a step is that of one bin, times the norm of the weights of
//! the levels. The ranges are part of the noise's name. Which quantiles are read is not: they are
//! post-processing, and two runs with one key and other quantiles are one run.

use super::histogram::Bins;
use super::options::CountArgs;
use crate::error::{CliError, Result, shown};
use crate::mechanism::Cumulated;
use crate::output::Header;
use evertally::ranges::{Distribution, Ranges};
use evertally_stream::Clamp;
use std::ops::RangeInclusive;

/// More quantiles than a table should have at every step.
const MAX_QUANTILES: usize = 1000;

/// The most quantiles times bins, whose errors are held in memory.
const MAX_ERRORS: usize = 10_000_000;

/// How many ranges may make the next.
const BRANCHINGS: RangeInclusive<usize> = 2..=1000;

/// What is released of the bins, if it is not their totals.
pub(super) fn declared(
    args: &CountArgs,
    bins: Option<&Bins>,
    values: Option<Clamp>,
    is_pure: bool,
    comes_and_goes: bool,
) -> Result<Option<Cumulated>> {
    let given = &args.histogram;
    if given.quantiles.is_none() && !given.cumulative {
        return Ok(None);
    }
    let Some(bins) = bins else { return Ok(None) };
    check(args, values)?;
    let parts = given.quantiles.as_deref().map(parse).transpose()?.unwrap_or_default();
    if parts.len().saturating_mul(bins.edges.len()) > MAX_ERRORS {
        let most = MAX_ERRORS / bins.edges.len();
        return Err(CliError::bad(format!("--quantiles: expected at most {most} with this many --bins")));
    }
    let ranges = ranges(given.ranges.as_deref(), bins.edges.len() + 1, is_pure, comes_and_goes)?;
    let distribution = Distribution::new(ranges, bins.edges.clone(), parts)
        .map_err(|error| CliError::bad(format!("--quantiles: {error}")))?;
    Ok(Some(Cumulated::new(distribution, given.cumulative, is_pure)))
}

/// What is counted beside the bins, and what is read from it.
pub(super) fn describe(cumulated: &Cumulated, header: &mut Header) {
    let distribution = cumulated.distribution();
    let ranges = distribution.ranges();
    header.record("ranges", in_words(ranges));
    if cumulated.has_counts() {
        header.record("cumulative", "below each edge, of all events with a value, and of the others");
    }
    let parts: Vec<String> = distribution.parts().iter().map(f64::to_string).collect();
    if !parts.is_empty() {
        let interval = "from edge to edge, and an empty end has no bound";
        header.record(
            "quantiles",
            format!("{}, interpolated within a bin; intervals {interval}", parts.join(",")),
        );
    }
}

/// The strategy, such as `19 totals: ranges of 1, 2, 4, 8 bins, in which an event counts 3, 2, 2, 2 times`.
fn in_words(ranges: &Ranges) -> String {
    if ranges.is_plain() {
        return format!("none: {} bins count alone", ranges.bins());
    }
    let list = |numbers: Vec<String>| numbers.join(", ");
    let width = |level| ranges.branching().pow(level).min(ranges.bins());
    let widths = (0..ranges.levels() as u32).map(|level| width(level).to_string());
    let times = ranges.weights().iter().map(u64::to_string);
    let (widths, times) = (list(widths.collect()), list(times.collect()));
    let lanes = ranges.lanes();
    format!("{lanes} totals: ranges of {widths} bins, in which an event counts {times} times")
}

/// Refuses what quantiles and cumulative counts do not have.
fn check(args: &CountArgs, values: Option<Clamp>) -> Result<()> {
    const NOT_EACH: &str = "what is released are sums of many totals, and quantiles";
    let can_fall = args.value.is_some() && values.is_none_or(|clamp| clamp.lo() < 0.0);
    let refused = [
        (args.mean.is_some(), "--mean", "a mean has totals of its own"),
        (args.round, "--round", NOT_EACH),
        (args.non_negative, "--non-negative", NOT_EACH),
        (
            args.monotone,
            "--monotone",
            "counts below an edge are sums by least squares, and quantiles move both ways",
        ),
        (args.covariance.path()?.is_some(), "--covariance", "its errors are those of totals"),
        (can_fall, "--value", "with values below zero, counts below an edge do not grow with it"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, reason)) => {
            let with = if args.histogram.quantiles.is_some() { "--quantiles" } else { "--cumulative" };
            Err(CliError::bad(format!("{option} cannot be used with {with}: {reason}")))
        }
        None => Ok(()),
    }
}

fn parse(text: &str) -> Result<Vec<f64>> {
    let refused =
        |expected: &str| CliError::bad(format!("--quantiles: expected {expected}, got {}", shown(text)));
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let parts = numbers.ok_or_else(|| refused("numbers between 0 and 1 such as 0.25,0.5,0.9"))?;
    if !parts.iter().all(|part| *part > 0.0 && *part < 1.0) {
        return Err(refused("numbers between 0 and 1, without 0 and 1"));
    }
    if !parts.is_sorted_by(|part, next| part < next) {
        return Err(refused("numbers in ascending order, each once"));
    }
    if parts.len() > MAX_QUANTILES {
        return Err(refused(&format!("at most {MAX_QUANTILES} numbers")));
    }
    Ok(parts)
}

fn ranges(text: Option<&str>, bins: usize, is_pure: bool, comes_and_goes: bool) -> Result<Ranges> {
    let branching = match text {
        None | Some("auto") => None,
        Some("none") => return Ok(Ranges::plain(bins)?),
        Some(number) => {
            let branching = number.parse().ok().filter(|number| BRANCHINGS.contains(number));
            let expected = "auto, none, or how many ranges make the next, from 2 to 1000";
            Some(branching.ok_or_else(|| {
                CliError::bad(format!("--ranges: expected {expected}, got {}", shown(number)))
            })?)
        }
    };
    match branching {
        // The bound on changes up and down is for one total at a time.
        None if comes_and_goes => Ok(Ranges::plain(bins)?),
        Some(_) if comes_and_goes => Err(CliError::bad(
            "--ranges cannot be used where persons come and go: each change is of one total, so bins count alone",
        )),
        None => Ok(Ranges::best(bins, is_pure)?),
        Some(branching) => Ok(Ranges::best_tree(bins, branching, is_pure)?),
    }
}
