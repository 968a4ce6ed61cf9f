//! `evertally plan --report`: the errors of all sums that are read from one stream, beside the least
//! weighted error that any mechanism can have.

use super::{grid_in_words, is_chosen, of_exact, privacy_in_words, reason, shape_in_words};
use crate::commands::report::{ReportArgs, Reporting};
use crate::commands::shared::{aligned, bytes_in_words};
use crate::error::{CliError, Result, shown};
use crate::manners::{self, CHOSEN, with_head};
use crate::mechanism::{self, state_bytes};
use crate::output::{self, Existing, JsonObject, write_whole_file};
use crate::plot::{Line, PlotFormat, TradeOffChart, cross, render};
use crate::progress::with_progress;
use clap::Args;
use evertally::{Comparison, Horizon, Mechanism, Objective, Optimum, Plan, PlanSpec, Report};
use evertally_stream::time::TimeReader;
use evertally_stream::{Buckets, Calendar, StepLength, Zone};
use std::path::Path;

#[derive(Debug, Args)]
#[command(next_help_heading = "What is released")]
pub(crate) struct PlanReportArgs {
    #[command(flatten)]
    report: ReportArgs,
    /// With --report: the length of a step, for periods such as 7d
    #[arg(long, value_name = "LENGTH", requires = "report")]
    every: Option<String>,
    /// With --report: the start of the first step, for periods such as 1mo
    #[arg(long, value_name = "TIME", requires = "every")]
    from: Option<String>,
    /// With --report: list which errors of the first and the last kind can be had together. The weight
    /// of the first goes from a thousandth to a thousand times its own. --plot then draws the curve
    #[arg(long, requires = "report")]
    curve: bool,
}

impl PlanReportArgs {
    /// Lets the plan keep the error of the report small, if one was asked for.
    pub(super) fn shape(
        &self,
        spec: &mut PlanSpec,
        objective: Option<Objective>,
    ) -> Result<Option<Reporting>> {
        let buckets = self.buckets(spec.horizon)?;
        let show = |time| Zone::utc().format(time).unwrap_or_default();
        let no_times = |kind: &str| format!("--report {kind} needs --every LENGTH: how long is a step?");
        let resolved = self.report.resolve(buckets.as_ref(), None, show, no_times)?;
        let Some(reporting) = resolved else { return Ok(None) };
        let is_of_calendar =
            |name: &str| matches!(StepLength::parse(name, false), Ok(StepLength::Calendar(_)));
        if let Some(kind) =
            reporting.kinds.iter().find(|kind| self.from.is_none() && is_of_calendar(&kind.name))
        {
            return Err(CliError::bad(format!("--report {} needs --from TIME: which months?", kind.name)));
        }
        if spec.horizon == Horizon::Unbounded {
            return Err(CliError::bad("--report needs --horizon N: an unbounded stream has no mean error"));
        }
        reporting.shape(spec, objective, false)?;
        if self.curve && spec.objective != Objective::Report {
            return Err(CliError::bad(format!(
                "--curve cannot be used with --objective {}: it follows the weights, which then shape nothing",
                spec.objective
            )));
        }
        Ok(Some(reporting))
    }

    /// The steps as buckets of time, if their length is given.
    fn buckets(&self, horizon: Horizon) -> Result<Option<Buckets>> {
        let (Some(every), Horizon::Steps(steps)) = (&self.every, horizon) else { return Ok(None) };
        let length =
            StepLength::parse(every, false).map_err(|error| CliError::bad(format!("--every: {error}")))?;
        let times = TimeReader::new(None, None)?;
        let from = self.from.as_deref().unwrap_or("1970-01-01");
        let start = times.parse(from).ok_or_else(|| {
            CliError::bad(format!("--from: expected {}, got {}", times.expected(), shown(from)))
        })?;
        let refuse = |error| CliError::bad(format!("--from: {error}"));
        Ok(Some(match length {
            StepLength::Fixed(length) => Buckets::new(start, length, steps)?,
            StepLength::Calendar(length) => {
                let calendar = Calendar::new(&Zone::utc(), length, start, Some(steps)).map_err(refuse)?;
                Buckets::of_calendar(calendar, steps)?
            }
        }))
    }
}

/// The picture to draw, if one was asked for.
type Plot<'a> = Option<(&'a Path, PlotFormat)>;

pub(super) fn run(
    spec: &PlanSpec,
    reporting: &Reporting,
    args: &PlanReportArgs,
    as_json: bool,
    plot: Plot<'_>,
    existing: Existing,
) -> Result<()> {
    manners::advise(spec.budget.budget()?, None);
    if plot.is_some() && !args.curve {
        return Err(CliError::bad("--plot with --report draws the curve of two errors: add --curve"));
    }
    let (comparison, chosen) = mechanism::compare(spec)?;
    let points = if args.curve { curve(spec, reporting)? } else { Vec::new() };
    let text = if as_json {
        json(reporting, &comparison, &points)?
    } else {
        let mut text = table(spec, reporting, &comparison, chosen.as_ref());
        if args.curve {
            text.push_str(&curve_table(reporting, &points));
        }
        text
    };
    output::print(&text)?;
    if let Some((path, format)) = plot {
        let chart = chart(spec, reporting, &comparison, &points);
        write_whole_file(path, existing, &render(&chart, format)?)?;
    }
    Ok(())
}

/// The error of each kind, in the order of the option.
fn errors(plan: &Plan, reporting: &Reporting) -> Vec<f64> {
    let accuracy = plan.accuracy();
    let mut periods = accuracy.report.iter().flat_map(|report| &report.periods);
    let error = |is_total: bool| if is_total { Some(accuracy.rmse) } else { periods.next().copied() };
    let mut error = error;
    reporting.kinds.iter().map(|kind| error(kind.division.is_none()).unwrap_or_default()).collect()
}

fn weighted(plan: &Plan) -> f64 {
    plan.accuracy().report.as_ref().map_or(f64::INFINITY, |report| report.error)
}

/// The most accurate mechanism first, then the skipped ones with reasons.
fn table(spec: &PlanSpec, reporting: &Reporting, comparison: &Comparison, chosen: Option<&Plan>) -> String {
    let mut plans: Vec<&Plan> =
        comparison.entries.iter().filter_map(|(_, plan)| plan.as_ref().ok()).collect();
    let aimed_at = |plan: &Plan| plan.accuracy().aimed_at(spec.objective);
    plans.sort_by(|a, b| aimed_at(a).total_cmp(&aimed_at(b)));
    let mut head: Vec<String> = ["", "mechanism", "numbers"].map(str::to_owned).to_vec();
    head.extend(reporting.kinds.iter().map(|kind| kind.name.clone()));
    head.extend(["weighted mse / optimum", "memory"].map(str::to_owned));
    let mut rows = vec![head];
    for plan in plans {
        let mut row = vec![
            if is_chosen(plan, chosen) { "→" } else { "" }.to_owned(),
            plan.mechanism().to_string(),
            plan.arithmetic().to_string(),
        ];
        row.extend(errors(plan, reporting).iter().map(|error| format!("{error:.2}")));
        row.push(match comparison.ratio(plan, Objective::Report) {
            Some(ratio) => format!("{ratio:.4}"),
            None => "unknown".to_owned(),
        });
        row.push(bytes_in_words(state_bytes(plan)));
        rows.push(row);
    }
    let between = |it: Optimum| format!("between {:.7} and {:.7}", it.lower, it.upper);
    let optimum = comparison.optimal_report.map_or_else(|| no_optimum(spec, comparison), between);
    let mut text = format!(
        "{} steps{} at {}: noise multiplier σ = {:.6}\nroot mean squared error of each kind, by mechanism, for weights {}\nbest possible weighted error factor: {optimum}\n\n",
        spec.horizon,
        shape_in_words(spec),
        privacy_in_words(spec),
        comparison.budget.noise_multiplier(),
        reporting.weights(),
    );
    text.push_str(&with_head(&aligned(&rows, 0..2), |line| line.starts_with('→').then_some(CHOSEN)));
    let skipped: Vec<_> = comparison
        .entries
        .iter()
        .filter_map(|(mechanism, plan)| {
            Some([String::new(), mechanism.to_string(), reason(plan.as_ref().err()?)])
        })
        .collect();
    if !skipped.is_empty() {
        text.push_str("\nskipped:\n");
        text.push_str(&aligned(&skipped, 0..3));
    }
    let sampled = |plan: &Plan| plan.accuracy().report.as_ref().is_some_and(|report| report.is_sampled);
    if comparison.entries.iter().any(|(_, plan)| plan.as_ref().is_ok_and(sampled)) {
        text.push_str(
            "\nerrors of kinds with more than 2,048 periods are about: they are estimated from 512\n",
        );
    }
    if let Some(plan) = chosen {
        let aim = match spec.objective {
            Objective::Report => "weighted error",
            Objective::Worst => "error of the worst step",
            _ => "mean squared error of the totals",
        };
        text.push_str(&format!(
            "\nEvertally would take {}: the least {aim} of those {}that fit the memory and are ready within some seconds\n{}",
            plan.mechanism(),
            of_exact(plan),
            grid_in_words(plan),
        ));
    }
    text
}

/// Why the least weighted error is unknown.
fn no_optimum(spec: &PlanSpec, comparison: &Comparison) -> String {
    let refused = comparison.entries.iter().find_map(|(mechanism, plan)| {
        (*mechanism == Mechanism::Optimal).then_some(plan.as_ref().err()).flatten()
    });
    match refused {
        _ if spec.objective != Objective::Report => {
            format!("not computed, because the objective is {}", spec.objective)
        }
        Some(error) => format!("unknown ({})", reason(error)),
        None => "not certified for this horizon, budget and number of steps per person".to_owned(),
    }
}

/// One point of the curve: the factor on the first weight, and the error of each kind.
struct CurvePoint {
    factor: f64,
    errors: Vec<f64>,
    mechanism: Mechanism,
}

/// Plans with other weights of the first kind, each with the mechanism that would be chosen.
fn curve(spec: &PlanSpec, reporting: &Reporting) -> Result<Vec<CurvePoint>> {
    const HALF_DECADES: i32 = 6;
    let points = -HALF_DECADES..=HALF_DECADES;
    with_progress("drawing the curve", |progress| {
        points
            .map(|half_decades| {
                progress.report(f64::from(half_decades + HALF_DECADES) / f64::from(2 * HALF_DECADES + 1));
                let factor = 10_f64.powf(0.5 * f64::from(half_decades));
                let plan = PlanSpec { report: Some(reweighted(spec, reporting, factor)?), ..spec.clone() }
                    .build()?;
                let mechanism = plan.mechanism();
                Ok(CurvePoint { factor, errors: errors(&plan, reporting), mechanism })
            })
            .collect()
    })
}

/// The report with this factor on the weight of the first kind.
fn reweighted(spec: &PlanSpec, reporting: &Reporting, factor: f64) -> Result<Report> {
    let (mut periods, mut total) =
        spec.report.as_ref().map_or((Vec::new(), 0.0), |report| (report.periods().to_vec(), report.total()));
    let starts_with_total = reporting.kinds.first().is_some_and(|kind| kind.division.is_none());
    match periods.first_mut().filter(|_| !starts_with_total) {
        Some((_, weight)) => *weight *= factor,
        None => total *= factor,
    }
    Ok(Report::new(periods, total)?)
}

fn curve_table(reporting: &Reporting, points: &[CurvePoint]) -> String {
    let mut head = vec![format!("weight of {}", first(reporting))];
    head.extend(reporting.kinds.iter().map(|kind| kind.name.clone()));
    let mut rows = vec![head];
    let own = reporting.kinds.first().map_or(1.0, |kind| kind.weight);
    for point in points {
        let mut row = vec![format!("{:.4}", own * point.factor)];
        row.extend(point.errors.iter().map(|error| format!("{error:.2}")));
        rows.push(row);
    }
    format!(
        "\nwhat can be had together from {}, with other weights of {}:\n{}",
        mechanisms(points),
        first(reporting),
        aligned(&rows, 0..0)
    )
}

/// The mechanisms of the curve. The optimum alone has the least weighted error of all.
fn mechanisms(points: &[CurvePoint]) -> String {
    let mut names: Vec<String> = points.iter().map(|point| point.mechanism.to_string()).collect();
    names.dedup();
    names.join(", ")
}

/// What the curve shows.
fn curve_label(points: &[CurvePoint]) -> String {
    match points.iter().all(|point| point.mechanism == Mechanism::Optimal) {
        true => "least weighted error".to_owned(),
        false => format!("{}, other weights", mechanisms(points)),
    }
}

fn first(reporting: &Reporting) -> &str {
    reporting.kinds.first().map_or("", |kind| kind.name.as_str())
}

fn last(reporting: &Reporting) -> &str {
    reporting.kinds.last().map_or("", |kind| kind.name.as_str())
}

/// The comparison as JSON. Other programs rely on exactly these fields.
fn json(reporting: &Reporting, comparison: &Comparison, points: &[CurvePoint]) -> Result<String> {
    let mechanism = |(mechanism, plan): &(Mechanism, evertally::Result<Plan>)| {
        let named = JsonObject::default().with("name", mechanism.to_string());
        match plan {
            Ok(plan) => named
                .with("arithmetic", plan.arithmetic().to_string())
                .with("errors", errors(plan, reporting))
                .with("weighted_error", weighted(plan))
                .with("grid", plan.grid())
                .with("ratio", comparison.ratio(plan, Objective::Report))
                .with("state_bytes", state_bytes(plan)),
            Err(error) => named.with("skipped", reason(error)),
        }
    };
    let bounds = |it: Optimum| JsonObject::default().with("lower", it.lower).with("upper", it.upper);
    let point = |point: &CurvePoint| {
        JsonObject::default()
            .with("factor", point.factor)
            .with("errors", point.errors.clone())
            .with("mechanism", point.mechanism.to_string())
    };
    let kinds: Vec<&str> = reporting.kinds.iter().map(|kind| kind.name.as_str()).collect();
    let weights: Vec<f64> = reporting.kinds.iter().map(|kind| kind.weight).collect();
    JsonObject::default()
        .with("report", kinds)
        .with("weights", weights)
        .with("noise_multiplier", comparison.budget.noise_multiplier())
        .with("optimal", comparison.optimal_report.map(bounds))
        .with("mechanisms", comparison.entries.iter().map(mechanism).collect::<Vec<_>>())
        .with("curve", points.iter().map(point).collect::<Vec<_>>())
        .line()
}

/// The curve, and the best known mechanisms that were not made for the report.
fn chart(
    spec: &PlanSpec,
    reporting: &Reporting,
    comparison: &Comparison,
    points: &[CurvePoint],
) -> TradeOffChart {
    let place = |errors: &[f64]| Some((*errors.first()?, *errors.last()?));
    let curve = points.iter().filter_map(|point| place(&point.errors)).collect();
    let mut lines = vec![Line::plain(&curve_label(points), curve)];
    for (mechanism, plan) in &comparison.entries {
        let is_shown = ["input-perturbation", "binary", "square-root", "graded-square-root"];
        let Some(plan) = plan.as_ref().ok().filter(|_| is_shown.contains(&mechanism.name())) else {
            continue;
        };
        lines.extend(place(&errors(plan, reporting)).map(|at| cross(mechanism.name(), at)));
    }
    let (first, last) = (first(reporting), last(reporting));
    TradeOffChart {
        title: format!("Errors of {first} and {last} that can be had together"),
        subtitle: format!("{} steps at {}", spec.horizon, privacy_in_words(spec)),
        across: format!("error of {first}"),
        up: format!("error of {last}"),
        lines,
    }
}
