//! The closing summary of a count, for the person at the terminal.
//!
//! **Guarantee.** It says nothing that the released table and the command line do not say: the
//! declared steps and groups, the budget, the error of the noise, and the names of files. It knows
//! neither a true total nor the number of events.

use super::schedule::Steps;
use super::task::Task;
use crate::commands::shared::delta_in_words;
use crate::plot::grouped;
use evertally::Matrix;
use evertally_stream::StepLength;
use std::path::Path;

/// What was released, apart from the releases.
pub(super) struct Released {
    pub(super) steps: u64,
    /// The first of the steps, counted from zero.
    pub(super) first: u64,
    /// The root mean squared error over all steps, unless there is no last step.
    pub(super) rmse: Option<f64>,
    /// The standard error of the last step, if one was released.
    pub(super) last_error: Option<f64>,
    /// The covariance of the errors of all steps, if it was asked for.
    pub(super) covariance: Option<Matrix>,
}

/// One line about a finished run.
pub(super) fn summary(task: &Task<'_>, released: &Released) -> String {
    let what = if task.bins.is_some() { "bins" } else { "values" };
    let groups = match (task.group_names(), task.args.key_column()) {
        (Some(_), Some(column)) if task.cumulated.is_some() => {
            let rows = task.row_names().map_or(0, |rows| rows.len());
            let what = match (task.args.histogram.quantiles.is_some(), task.args.histogram.cumulative) {
                (true, true) => "quantiles and counts",
                (true, false) => "quantiles",
                (false, _) => "counts below edges",
            };
            format!(" × {} {what} of {column}", grouped(rows as f64, 0))
        }
        (Some(names), Some(column)) => format!(" × {} {what} of {column}", grouped(names.len() as f64, 0)),
        _ => String::new(),
    };
    let stream = if task.is_unbounded() { " of an unbounded stream" } else { "" };
    let (epsilon, delta) = task.budget();
    let budget = format!("ε = {epsilon} and δ = {} per {}", delta_in_words(delta), task.unit());
    let of = match &task.cumulated {
        _ if task.mean.is_some() => " of counts",
        Some(_) => " of the counts below an edge",
        None => "",
    };
    let error = match (released.rmse, released.last_error) {
        (Some(rmse), _) => format!(", typical error{of} ± {}", error_in_words(rmse)),
        (None, Some(last)) => format!(", error{of} ± {} at the last step", error_in_words(last)),
        (None, None) => String::new(),
    };
    let mut steps = steps_in_words(task, released.steps);
    if let (Some(_), Some(after_last)) = (&task.args.state, released.steps.checked_sub(1)) {
        let number = |step: u64| grouped(step as f64, 0);
        let (first, last) = (number(released.first), number(released.first + after_last));
        let all = task.spec.horizon.steps().map(|all| format!(" of {}", number(all))).unwrap_or_default();
        steps = format!("{steps} (steps {first} to {last}{all})");
    }
    let wrote =
        [task.args.output.as_deref(), task.args.plot.as_deref(), task.args.covariance.path().ok().flatten()];
    let wrote = list("; wrote", wrote);
    let recorded = list("; recorded in", [task.args.budget_file.path()]);
    let state = list("; state in", [task.args.state.as_deref()]);
    format!("{steps}{groups}{stream}, {budget}{error}{wrote}{recorded}{state}")
}

/// The number of steps with their unit, as in `1,344 hours`.
fn steps_in_words(task: &Task<'_>, steps: u64) -> String {
    match &task.steps {
        Steps::Rows(_) => format!("{} row{}", grouped(steps as f64, 0), if steps == 1 { "" } else { "s" }),
        Steps::Buckets(buckets) => buckets_in_words(buckets.every(), steps),
    }
}

/// The same for steps of time.
pub(crate) fn buckets_in_words(every: StepLength, steps: u64) -> String {
    let number = grouped(steps as f64, 0);
    let plural = if steps == 1 { "" } else { "s" };
    match every {
        StepLength::Calendar(every) if every.count() == 1 => format!("{number} {}{plural}", every.unit()),
        StepLength::Calendar(every) => {
            format!("{number} step{plural} of {} {}s", every.count(), every.unit())
        }
        StepLength::Fixed(every) => match every.to_string().as_str() {
            "1s" => format!("{number} second{plural}"),
            "1m" => format!("{number} minute{plural}"),
            "1h" => format!("{number} hour{plural}"),
            "1d" => format!("{number} day{plural}"),
            "1w" => format!("{number} week{plural}"),
            every => format!("{number} step{plural} of {every}"),
        },
    }
}

/// An error with about three digits.
pub(crate) fn error_in_words(error: f64) -> String {
    const DIGITS: f64 = 3.0;
    if error > 0.0 && error < 1e-3 {
        return format!("{error:.2e}");
    }
    let decimals = (DIGITS - 1.0 - error.max(1e-3).log10().floor()).max(0.0);
    grouped(error, decimals as usize)
}

/// The files among some outputs, after a word. Standard output is not a file.
pub(crate) fn list<const N: usize>(word: &str, paths: [Option<&Path>; N]) -> String {
    let files = paths.into_iter().flatten().filter(|path| path.as_os_str() != "-");
    let names: Vec<String> = files.map(|path| path.display().to_string()).collect();
    if names.is_empty() { String::new() } else { format!("{word} {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::count::CountArgs;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CountArgs,
    }

    fn summary_of(options: &str, released: &Released) -> String {
        let line = format!("count in.csv --epsilon 0.2 --delta 1e-6 {options}");
        let args = Line::parse_from(line.split_whitespace()).args;
        summary(&Task::from_args(&args).unwrap(), released)
    }

    #[test]
    fn it_says_what_was_declared_and_where_it_went() {
        let released =
            Released { steps: 1344, first: 0, rmse: Some(113.4), last_error: Some(120.0), covariance: None };
        let timed = "--time t --every 1h --from 2026-01-05 --horizon 1344";
        assert_eq!(
            summary_of(
                &format!("{timed} --group-by region --groups a,b,other --output o.csv --plot p.svg"),
                &released
            ),
            "1,344 hours × 3 values of region, ε = 0.2 and δ = 1e-6 per event, typical error ± 113; \
             wrote o.csv, p.svg"
        );
        assert_eq!(
            summary_of(&format!("{timed} --person p --max-steps 2 --output -"), &released),
            "1,344 hours, ε = 0.2 and δ = 1e-6 per person, typical error ± 113"
        );
        let one = Released { steps: 1, first: 0, rmse: Some(2.345), last_error: None, covariance: None };
        assert_eq!(
            summary_of("--time t --every 15m --from 2026-01-05 --horizon 1", &one),
            "1 step of 15m, ε = 0.2 and δ = 1e-6 per event, typical error ± 2.35"
        );
    }

    #[test]
    fn calendar_steps_are_in_words() {
        let words = |options: &str, steps| {
            let released = Released { steps, first: 0, rmse: None, last_error: None, covariance: None };
            let summary = summary_of(&format!("--time t {options}"), &released);
            summary.split(',').next().unwrap().to_owned()
        };
        let year = "--from 2026-01-01 --horizon 24";
        assert_eq!(
            words(&format!("--every 1mo {year} --group-by region --groups a,b,other"), 24),
            "24 months × 3 values of region"
        );
        assert_eq!(words(&format!("--every 1q {year}"), 1), "1 quarter");
        assert_eq!(words(&format!("--every 2y {year}"), 24), "24 steps of 2 years");
        assert_eq!(words(&format!("--every 1d {year} --timezone Asia/Kathmandu"), 24), "24 days");
    }

    #[test]
    fn an_unbounded_stream_has_the_error_of_its_last_step() {
        let rows = "--value n --horizon unbounded --budget-file b";
        let released =
            Released { steps: 12_000, first: 0, rmse: None, last_error: Some(0.1234), covariance: None };
        assert_eq!(
            summary_of(rows, &released),
            "12,000 rows of an unbounded stream, ε = 0.2 and δ = 1e-6 per event, \
             error ± 0.123 at the last step; recorded in b"
        );
        let nothing = Released { steps: 0, first: 0, rmse: None, last_error: None, covariance: None };
        assert!(summary_of(rows, &nothing).starts_with("0 rows of an unbounded stream, ε"));
    }

    #[test]
    fn errors_have_about_three_digits() {
        for (error, words) in [
            (123_456.7, "123,457"),
            (99.96, "100"),
            (12.34, "12.3"),
            (1.0, "1"),
            (0.05, "0.05"),
            (2e-5, "2.00e-5"),
        ] {
            assert_eq!(error_in_words(error), words);
        }
    }
}
