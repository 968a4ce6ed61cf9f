//! `evertally plan`: every mechanism side by side, before any data is read.

mod unbounded;

use super::planning::PlanningArgs;
use super::shared::{aligned, bytes_in_words, delta_in_words};
use crate::error::Result;
use crate::mechanism::{self, Comparison, Entry, Report};
use crate::output::{Destination, json_line, write_whole_file};
use crate::plot::{PlotFormat, Profile, ProfileChart, render};
use clap::Args;
use evertally::{Horizon, Objective, PlanSpec, Shape};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  What error will eight weeks of hourly totals have?
    evertally plan --horizon 1344 --epsilon 1 --delta 1e-6

  The same for persons who contribute on up to four days, as a picture:
    evertally plan --horizon 1344 --epsilon 1 --delta 1e-6 \\
      --max-steps 4 --min-gap 24 --plot errors.svg

  A stream with no known end: what does not knowing the end cost?
    evertally plan --horizon unbounded --epsilon 1 --delta 1e-6

How to read it: rmse is the typical error of a released total over all
steps; worst step is the largest standard error of one step. The ratios
compare squared errors with the least that any mechanism of this kind can
have. Operations per step are averages that include preparation. One event
counts as one. Memory is for one total unless --group-count or --dim asks
for more. Exact numbers are integers throughout, with releases on a public
grid. They are the default for every mechanism that supports them.";

/// Compare all mechanisms for a horizon and a budget before any data is read
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    planning: PlanningArgs,
    /// Print the comparison as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Draw the standard error of every step into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    let spec = args.planning.spec()?;
    let (text, chart) = if spec.horizon == Horizon::Unbounded {
        let endless = mechanism::plan_unbounded(&spec, plot.is_some())?;
        let as_text = if args.json { unbounded::json } else { unbounded::table };
        (as_text(&spec, &endless)?, unbounded::chart(&spec, &endless))
    } else {
        let comparison = mechanism::compare(&spec, plot.is_some())?;
        let text = if args.json { json(&spec, &comparison)? } else { table(&spec, &comparison) };
        (text, chart(&spec, &comparison))
    };
    Destination::open(None)?.write_whole(text.as_bytes())?;
    if let Some((path, format)) = plot {
        write_whole_file(path, &render(&chart, format)?)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct PlanJson<'a> {
    horizon: Horizon,
    epsilon: f64,
    delta: f64,
    noise_multiplier: f64,
    optimal: Option<OptimalJson>,
    mechanisms: Vec<MechanismJson<'a>>,
}

#[derive(Serialize)]
struct OptimalJson {
    lower: f64,
    upper: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum MechanismJson<'a> {
    Report {
        name: &'a str,
        arithmetic: String,
        sensitivity: f64,
        mean_error: f64,
        max_error: f64,
        rmse: f64,
        state_bytes: u64,
    },
    Skipped {
        name: &'a str,
        skipped: &'a str,
    },
}

/// The comparison as JSON. Other programs rely on exactly these fields.
fn json(spec: &PlanSpec, comparison: &Comparison) -> Result<String> {
    let mechanisms = comparison.entries.iter().map(|entry| match entry {
        Entry::Report(report) => MechanismJson::Report {
            name: &report.name,
            arithmetic: report.arithmetic.to_string(),
            sensitivity: report.sensitivity,
            mean_error: report.mean_error,
            max_error: report.max_error,
            rmse: report.rmse,
            state_bytes: report.state_bytes,
        },
        Entry::Skipped { name, reason } => MechanismJson::Skipped { name, skipped: reason },
    });
    let (epsilon, delta) = budget_of(spec);
    let whole = PlanJson {
        horizon: spec.horizon,
        epsilon,
        delta,
        noise_multiplier: comparison.noise_multiplier,
        optimal: comparison.optimal.map(|(lower, upper)| OptimalJson { lower, upper }),
        mechanisms: mechanisms.collect(),
    };
    json_line(&whole)
}

/// The comparison as a table: the most accurate mechanism first, then the skipped ones with reasons.
fn table(spec: &PlanSpec, comparison: &Comparison) -> String {
    let mut reports: Vec<&Report> = Vec::new();
    let mut skipped = Vec::new();
    for entry in &comparison.entries {
        match entry {
            Entry::Report(report) => reports.push(report),
            Entry::Skipped { name, reason } => skipped.push((name, reason)),
        }
    }
    let error = |report: &Report| match spec.objective {
        Objective::Worst => report.worst_rmse,
        _ => report.rmse,
    };
    reports.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let head = [
        "",
        "mechanism",
        "numbers",
        "rmse",
        "mse / optimum",
        "worst step",
        "mse / optimum",
        "memory",
        "operations per step",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for report in &reports {
        let chosen = is_chosen(comparison, report);
        rows.push([
            if chosen { "→" } else { "" }.to_owned(),
            report.in_full.clone(),
            report.arithmetic.to_string(),
            format!("{:.4}", report.rmse),
            above_optimum(comparison, report),
            format!("{:.4}", report.worst_rmse),
            comparison.optimal_worst.map_or_else(
                || "unknown".to_owned(),
                |(lower, _)| format!("{:.4}", report.max_error / lower),
            ),
            bytes_in_words(report.state_bytes),
            format!("{:.0}", report.operations_per_step),
        ]);
    }
    let mut text = summary(spec, comparison);
    text.push_str(&aligned(&rows, 2));
    if !skipped.is_empty() {
        text.push_str("\nskipped:\n");
        let rows: Vec<_> = skipped
            .iter()
            .map(|(name, reason)| ["".to_owned(), (*name).clone(), (*reason).clone()])
            .collect();
        text.push_str(&aligned(&rows, 3));
    }
    if let Some((name, reason)) = &comparison.chosen {
        text.push_str(&format!("\nEvertally would take {name}: {reason}\n"));
    }
    text
}

fn summary(spec: &PlanSpec, comparison: &Comparison) -> String {
    let optimum = match comparison.optimal {
        Some((lower, upper)) => {
            format!("best possible mean error factor: between {lower:.7} and {upper:.7}\n")
        }
        None => "best possible mean error factor: not certified at this horizon\n".to_owned(),
    };
    let worst = match comparison.optimal_worst {
        Some((lower, upper)) => {
            format!("best possible worst-step error factor: between {lower:.7} and {upper:.7}\n")
        }
        None => String::new(),
    };
    format!(
        "{} steps{} at {}: noise multiplier σ = {:.6}\n{optimum}{worst}\n",
        spec.horizon,
        shape_in_words(spec),
        privacy_in_words(spec),
        comparison.noise_multiplier
    )
}

/// What a step consists of, if it is more than a number.
fn shape_in_words(spec: &PlanSpec) -> String {
    match &spec.shape {
        Shape::Vector { dimension } => format!(" of {dimension} coordinates"),
        Shape::Keyed { keys } => format!(" of {} keys", keys.len()),
        _ => String::new(),
    }
}

fn privacy_in_words(spec: &PlanSpec) -> String {
    let (epsilon, delta) = budget_of(spec);
    let calibration = spec.budget.calibration.unwrap_or_default();
    format!("ε = {epsilon}, δ = {} ({calibration}, {})", delta_in_words(delta), spec.neighbours)
}

/// ε and δ, which the options of a plan always give.
fn budget_of(spec: &PlanSpec) -> (f64, f64) {
    (spec.budget.epsilon.unwrap_or_default(), spec.budget.delta.unwrap_or_default())
}

fn is_chosen(comparison: &Comparison, report: &Report) -> bool {
    comparison.chosen.as_ref().is_some_and(|(name, _)| *name == report.in_full)
}

/// The mean squared error relative to the least possible: exact if that is known, otherwise a bound.
fn above_optimum(comparison: &Comparison, report: &Report) -> String {
    match (comparison.optimal, report.most_above_optimum) {
        (Some((lower, _)), _) => format!("{:.4}", report.mean_error / lower),
        (None, Some(most)) => format!("≤ {most:.4}"),
        (None, None) => "unknown".to_owned(),
    }
}

fn chart(spec: &PlanSpec, comparison: &Comparison) -> ProfileChart {
    let profiles = comparison.entries.iter().filter_map(|entry| match entry {
        Entry::Report(report) => Some(Profile {
            name: report.in_full.clone(),
            errors: report.profile.clone(),
            chosen: is_chosen(comparison, report),
        }),
        Entry::Skipped { .. } => None,
    });
    let (epsilon, delta) = budget_of(spec);
    let delta = delta_in_words(delta);
    ProfileChart {
        title: "Standard error of each released total".to_owned(),
        subtitle: format!("{} steps · ε = {epsilon}, δ = {delta} · {}", spec.horizon, spec.neighbours),
        profiles: profiles.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Arithmetic, Budget};

    fn example() -> (PlanSpec, Comparison) {
        let spec = PlanSpec::new(4, Budget::new(1.0, 1e-6).unwrap());
        let report = Report {
            name: "square-root".to_owned(),
            in_full: "square-root".to_owned(),
            arithmetic: Arithmetic::Exact,
            sensitivity: 1.25,
            mean_error: 1.5,
            max_error: 2.0,
            rmse: 5.0,
            worst_rmse: 6.0,
            most_above_optimum: None,
            state_bytes: 2048,
            operations_per_step: 123.4,
            profile: vec![(0, 4.0), (3, 6.0)],
        };
        let skipped = Entry::Skipped { name: "optimal".to_owned(), reason: "too large".to_owned() };
        let comparison = Comparison {
            noise_multiplier: 4.25,
            optimal: Some((1.25, 1.25)),
            optimal_worst: Some((1.5, 1.5)),
            entries: vec![Entry::Report(report), skipped],
            chosen: Some(("square-root".to_owned(), "the most accurate".to_owned())),
        };
        (spec, comparison)
    }

    #[test]
    fn json_has_exactly_the_promised_shape() {
        let (spec, mut comparison) = example();
        let expected = concat!(
            r#"{"horizon":4,"epsilon":1.0,"delta":1e-6,"noise_multiplier":4.25,"optimal":{"lower":1.25,"upper":1.25},"#,
            r#""mechanisms":[{"name":"square-root","arithmetic":"exact","sensitivity":1.25,"mean_error":1.5,"max_error":2.0,"rmse":5.0,"#,
            r#""state_bytes":2048},{"name":"optimal","skipped":"too large"}]}"#,
            "\n"
        );
        assert_eq!(json(&spec, &comparison).unwrap(), expected);
        comparison.optimal = None;
        assert!(json(&spec, &comparison).unwrap().contains(r#""optimal":null"#));
    }

    #[test]
    fn the_table_names_the_choice_and_what_was_skipped() {
        let (spec, comparison) = example();
        let text = table(&spec, &comparison);
        for part in
            ["→  square-root", "1.2000", "2.0 KiB", "optimal  too large", "would take square-root: the most"]
        {
            assert!(text.contains(part), "{part:?} is missing from\n{text}");
        }
    }
}
