//! `evertally plan`: every mechanism side by side, before any data is read.

mod report;
mod unbounded;

use super::planning::PlanningArgs;
use super::shared::{aligned, bytes_in_words, delta_in_words};
use crate::error::Result;
use crate::manners::{self, CHOSEN, with_head};
use crate::mechanism::{self, state_bytes};
use crate::output::{self, ForceArgs, JsonObject, write_whole_file};
use crate::plot::{Line, PlotFormat, ProfileChart, grouped, render};
use clap::Args;
use evertally::privacy::NoiseKind;
use evertally::{
    Arithmetic, Comparison, Horizon, Mechanism, Objective, Optimum, Plan, PlanSpec, Shape, Workload,
};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  What error will eight weeks of hourly totals have?
    evertally plan --horizon 1344 --epsilon 1 --delta 1e-6

  The same for persons who contribute on up to four days, as a picture:
    evertally plan --horizon 1344 --epsilon 1 --delta 1e-6 \\
      --max-steps 4 --min-gap 24 --plot errors.svg

  Days, weeks, months and the running total of a year: which errors
  can be had together?
    evertally plan --horizon 365 --epsilon 1 --delta 1e-6 \\
      --every 1d --from 2026-01-01 --report steps,7d,1mo,total --curve

  A stream with no known end: what does not knowing the end cost?
    evertally plan --horizon unbounded --epsilon 1 --delta 1e-6

How to read it: rmse is the typical error of a released total over all
steps; worst step is the largest standard error of one step. The ratios
compare squared errors, with the rounding to the grid, with the least that
any mechanism of this kind can have. Operations per step are averages that include preparation. One event
counts as one. Memory is for one total unless --group-count or --dim asks
for more. Exact numbers are integers throughout, with releases on a public
grid. They are the default for every mechanism that supports them.";

/// Compare all mechanisms for a horizon and a budget before any data is read
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    report: report::PlanReportArgs,
    /// Print the comparison as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Draw the standard error of every step into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArgs,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    output::check_outputs(&[], &[args.plot.as_deref()], args.force.existing())?;
    let mut spec = args.planning.spec()?;
    if let Some(reporting) = args.report.shape(&mut spec, args.planning.objective())? {
        return report::run(&spec, &reporting, &args.report, args.json, plot, args.force.existing());
    }
    manners::advise(spec.budget.budget()?, None);
    let (text, chart) = if spec.horizon == Horizon::Unbounded {
        let endless = mechanism::plan_unbounded(&spec, plot.is_some())?;
        let as_text = if args.json { unbounded::json } else { unbounded::table };
        (as_text(&spec, &endless)?, Some(unbounded::chart(&spec, &endless)))
    } else {
        let (comparison, chosen) = mechanism::compare(&spec)?;
        let chosen = chosen.as_ref();
        let text = if args.json { json(&spec, &comparison)? } else { table(&spec, &comparison, chosen) };
        (text, plot.map(|_| chart(&spec, &comparison, chosen)).transpose()?)
    };
    output::print(&text)?;
    if let (Some((path, format)), Some(chart)) = (plot, chart) {
        write_whole_file(path, args.force.existing(), &render(&chart, format)?)?;
    }
    Ok(())
}

/// The comparison as JSON. Other programs rely on exactly these fields.
fn json(spec: &PlanSpec, comparison: &Comparison) -> Result<String> {
    let mechanism = |(mechanism, plan): &(Mechanism, evertally::Result<Plan>)| {
        let named = JsonObject::default().with("name", mechanism.to_string());
        match plan {
            Ok(plan) => named
                .with("arithmetic", plan.arithmetic().to_string())
                .with("sensitivity", plan.sensitivity())
                .with("mean_error", plan.accuracy().mean_error)
                .with("max_error", plan.accuracy().max_error)
                .with("rmse", plan.accuracy().rmse)
                .with("worst_rmse", plan.accuracy().worst_rmse)
                .with("grid", plan.grid())
                .with("ratio", comparison.ratio(plan, Objective::Mean))
                .with("worst_ratio", comparison.ratio(plan, Objective::Worst))
                .with("state_bytes", state_bytes(plan)),
            Err(error) => named.with("skipped", reason(error)),
        }
    };
    let bounds = |it: Optimum| JsonObject::default().with("lower", it.lower).with("upper", it.upper);
    let (epsilon, delta) = budget_of(spec);
    JsonObject::default()
        .with("horizon", spec.horizon)
        .with("epsilon", epsilon)
        .with("delta", delta)
        .with("noise_multiplier", comparison.budget.noise_multiplier())
        .with("optimal", comparison.optimal.map(bounds))
        .with("optimal_worst", comparison.optimal_worst.map(bounds))
        .with("mechanisms", comparison.entries.iter().map(mechanism).collect::<Vec<_>>())
        .line()
}

/// The comparison as a table: the most accurate mechanism first, then the skipped ones with reasons.
fn table(spec: &PlanSpec, comparison: &Comparison, chosen: Option<&Plan>) -> String {
    let mut plans: Vec<&Plan> =
        comparison.entries.iter().filter_map(|(_, plan)| plan.as_ref().ok()).collect();
    let error = |plan: &Plan| plan.accuracy().aimed_at(spec.objective);
    plans.sort_by(|a, b| error(a).total_cmp(&error(b)));
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
    for plan in plans {
        let accuracy = plan.accuracy();
        let worst = comparison.ratio(plan, Objective::Worst).map(|ratio| format!("{ratio:.4}"));
        rows.push([
            if is_chosen(plan, chosen) { "→" } else { "" }.to_owned(),
            plan.mechanism().to_string(),
            plan.arithmetic().to_string(),
            format!("{:.4}", accuracy.rmse),
            above_optimum(comparison, plan),
            format!("{:.4}", accuracy.worst_rmse),
            worst.unwrap_or_else(|| "unknown".to_owned()),
            bytes_in_words(state_bytes(plan)),
            format!("{:.0}", plan.cost().operations_per_step),
        ]);
    }
    let mut text = summary(spec, comparison);
    text.push_str(&with_head(&aligned(&rows, 0..2), |line| line.starts_with('→').then_some(CHOSEN)));
    let skipped = comparison.entries.iter().filter_map(|(mechanism, plan)| {
        Some([String::new(), mechanism.to_string(), reason(plan.as_ref().err()?)])
    });
    let skipped: Vec<_> = skipped.collect();
    if !skipped.is_empty() {
        text.push_str("\nskipped:\n");
        text.push_str(&aligned(&skipped, 0..3));
    }
    if let Some(plan) = chosen {
        let error = match plan.objective() {
            Objective::Worst => "error at the worst step",
            _ => "mean squared error",
        };
        text.push_str(&format!(
            "\nEvertally would take {}: the least {error} of those {}that fit the memory and are ready within about a second\n{}",
            plan.mechanism(),
            of_exact(plan),
            grid_in_words(plan),
        ));
    }
    text
}

/// Exact numbers are preferred to smaller errors in floating point.
fn of_exact(chosen: &Plan) -> &'static str {
    if chosen.arithmetic() == Arithmetic::Exact { "with exact numbers " } else { "" }
}

/// Which numbers a plan releases.
fn grid_in_words(plan: &Plan) -> String {
    match plan.grid() {
        None => String::new(),
        Some(1.0) => "Its releases are whole numbers\n".to_owned(),
        Some(grid) if grid < 1.0 => {
            format!("Its releases are multiples of {grid}; --whole releases whole numbers\n")
        }
        Some(grid) => format!("Its releases are multiples of {grid}\n"),
    }
}

/// Why a mechanism cannot be used, without repeating its name.
fn reason(error: &evertally::Error) -> String {
    match error {
        evertally::Error::Unsupported { reason, .. } | evertally::Error::TooCostly { reason, .. } => {
            reason.clone()
        }
        other => other.to_string(),
    }
}

fn summary(spec: &PlanSpec, comparison: &Comparison) -> String {
    let between = |it: Optimum| format!("between {:.7} and {:.7}\n", it.lower, it.upper);
    let limit = |longest| not_certified(spec, comparison, longest);
    let optimum = comparison.optimal.map_or_else(|| limit(Comparison::MAX_CERTIFIED), between);
    let worst = comparison.optimal_worst.map_or_else(|| limit(Comparison::MAX_CERTIFIED_WORST), between);
    format!(
        "{} steps{} at {}: noise multiplier σ = {:.6}\nbest possible mean error factor: {optimum}best possible worst-step error factor: {worst}\n",
        spec.horizon,
        shape_in_words(spec),
        privacy_in_words(spec),
        comparison.budget.noise_multiplier(),
    )
}

/// Why an optimum is not known, which can be certified up to this horizon.
fn not_certified(spec: &PlanSpec, comparison: &Comparison, longest: u64) -> String {
    let is_structured = matches!(spec.workload, Workload::PrefixSum | Workload::Decay { .. });
    let reason = if comparison.budget.noise() == NoiseKind::Laplace {
        "it is known for Gaussian noise only".to_owned()
    } else if spec.participation.bounded(spec.horizon.steps().unwrap_or(u64::MAX)) > 1 {
        "it is known for one step per person only".to_owned()
    } else if is_structured {
        format!("it can be certified for up to {} steps", grouped(longest as f64, 0))
    } else {
        format!("for {} it can be certified for short horizons only", spec.workload)
    };
    format!("unknown: {reason}\n")
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

fn is_chosen(plan: &Plan, chosen: Option<&Plan>) -> bool {
    chosen.is_some_and(|chosen| chosen.mechanism() == plan.mechanism())
}

/// The mean squared error relative to the least possible: exact if that is known, otherwise a bound.
fn above_optimum(comparison: &Comparison, plan: &Plan) -> String {
    match (comparison.ratio(plan, Objective::Mean), plan.accuracy().ratio_to_lower_bound()) {
        (Some(ratio), _) => format!("{ratio:.4}"),
        (None, Some(most)) => format!("≤ {most:.4}"),
        (None, None) => "unknown".to_owned(),
    }
}

fn chart(spec: &PlanSpec, comparison: &Comparison, chosen: Option<&Plan>) -> Result<ProfileChart> {
    let profiles = comparison.entries.iter().filter_map(|(_, plan)| plan.as_ref().ok()).map(|plan| {
        let errors = mechanism::profile(plan)?;
        Ok(Line::profile(plan.mechanism().to_string(), &errors, is_chosen(plan, chosen)))
    });
    let (epsilon, delta) = budget_of(spec);
    let delta = delta_in_words(delta);
    Ok(ProfileChart {
        title: "Standard error of each released total".to_owned(),
        subtitle: format!("{} steps · ε = {epsilon}, δ = {delta} · {}", spec.horizon, spec.neighbours),
        profiles: profiles.collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::Budget;

    /// Two mechanisms, of which one cannot serve.
    fn example() -> (PlanSpec, Comparison) {
        let spec = PlanSpec::new(4, Budget::new(1.0, 1e-6).unwrap());
        let mut comparison = spec.compare(&()).unwrap();
        let (mechanism, reason) = ("optimal".to_owned(), "too large".to_owned());
        comparison.entries.retain(|(mechanism, _)| *mechanism == Mechanism::SquareRoot);
        comparison.entries.push((Mechanism::Optimal, Err(evertally::Error::TooCostly { mechanism, reason })));
        (spec, comparison)
    }

    #[test]
    fn json_has_exactly_the_promised_shape() {
        let (spec, mut comparison) = example();
        let (plan, optimal) = (comparison.entries[0].1.as_ref().unwrap(), comparison.optimal.unwrap());
        let worst = comparison.optimal_worst.unwrap();
        let ratio = |objective| comparison.ratio(plan, objective).unwrap();
        let accuracy = plan.accuracy();
        let expected = format!(
            concat!(
                r#"{{"horizon":4,"epsilon":1.0,"delta":1e-6,"noise_multiplier":{:?},"optimal":{{"lower":{:?},"upper":{:?}}},"#,
                r#""optimal_worst":{{"lower":{:?},"upper":{:?}}},"#,
                r#""mechanisms":[{{"name":"square-root","arithmetic":"exact","sensitivity":{:?},"mean_error":{:?},"max_error":{:?},"rmse":{:?},"#,
                r#""worst_rmse":{:?},"grid":{:?},"ratio":{:?},"worst_ratio":{:?},"state_bytes":{}}},{{"name":"optimal","skipped":"too large"}}]}}"#,
                "
"
            ),
            plan.noise_multiplier(),
            optimal.lower,
            optimal.upper,
            worst.lower,
            worst.upper,
            plan.sensitivity(),
            accuracy.mean_error,
            accuracy.max_error,
            accuracy.rmse,
            accuracy.worst_rmse,
            plan.grid().unwrap(),
            ratio(Objective::Mean),
            ratio(Objective::Worst),
            state_bytes(plan),
        );
        assert_eq!(json(&spec, &comparison).unwrap(), expected);
        comparison.optimal = None;
        assert!(json(&spec, &comparison).unwrap().contains(r#""optimal":null"#));
    }

    #[test]
    fn the_table_names_the_choice_and_what_was_skipped() {
        let (spec, comparison) = example();
        let plan = comparison.entries[0].1.as_ref().unwrap();
        let text = table(&spec, &comparison, Some(plan));
        let ratio = format!("{:.4}", comparison.ratio(plan, Objective::Mean).unwrap());
        let memory = bytes_in_words(state_bytes(plan));
        for part in
            ["→  square-root", &ratio, &memory, "optimal  too large", "would take square-root: the least"]
        {
            assert!(
                text.contains(part),
                "{part:?} is missing from
{text}"
            );
        }
    }
}
