//! `evertally research bounds`: what is proven about every mechanism at a horizon and a budget.

use super::shared::delta_in_words;
use crate::error::Result;
use crate::output::{self, JsonObject};
use crate::progress::with_progress;
use clap::Args;
use evertally::Workload;
use evertally::research::bounds::{self, Bound, Group, Interval, ParityBounds};
use evertally::research::gamma::{Subject, gamma_f, least_mean_error};

const EXAMPLES: &str = "\
Examples:
  What is the least error that a million private totals can have?
    evertally research bounds --horizon 1048576 --epsilon 0.5 --delta 1e-6

  The same for all parities of three out of twenty signs:
    evertally research bounds --horizon 1024 --epsilon 0.5 --delta 1e-6 \\
      --parity 20,3

How to read it: every figure is a mean squared error, with one event
counting as one. Lower bounds are rounded down, upper bounds up. σ is the
exact noise multiplier of the budget, C is the paper's closed form, and
c(ε,δ) is the constant proved in the library's documentation. A bound
whose conditions are not met gives the reason instead of a figure.
evertally research paper compares each claim of the paper with exact
figures.";

/// The longest horizon at which γ_F is certified to [`CERTIFIED_GAP`]: a few seconds of work. Longer
/// ones are certified to some 10⁻³.
const MAX_SHARP_HORIZON: u64 = 1 << 18;

/// The relative gap of that certificate.
const CERTIFIED_GAP: f64 = 1e-8;

/// Show every proven bound on the error of private running totals
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct BoundsArgs {
    /// The number of steps, up to 2^60
    #[arg(long, value_name = "N")]
    horizon: u64,
    /// The privacy budget ε
    #[arg(long, value_name = "E", help_heading = "Privacy")]
    epsilon: f64,
    /// The probability δ with which the guarantee may fail
    #[arg(long, value_name = "D", help_heading = "Privacy")]
    delta: f64,
    /// Add the bounds for all parities of W out of D signs
    #[arg(long, value_name = "D,W", value_parser = parse_parity)]
    parity: Option<(u32, u32)>,
    /// Print the bounds as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &BoundsArgs) -> Result<()> {
    // Bad parameters are refused before any work is done.
    bounds::bounds(args.horizon, args.epsilon, args.delta, None)?;
    let parity = args
        .parity
        .map(|(d, w)| bounds::parity_bounds(d, w, args.epsilon, args.delta).map(|bounds| (d, w, bounds)))
        .transpose()?;
    let certified = certified_mean(args.horizon)?;
    let table = bounds::bounds(args.horizon, args.epsilon, args.delta, Some(certified))?;
    let text = if args.json {
        json(args, certified, &table, parity.as_ref())?
    } else {
        people(args, certified, &table, parity.as_ref())
    };
    output::print(&text)
}

/// Proven bounds on γ_F²/n, in a few seconds.
pub(super) fn certified_mean(horizon: u64) -> Result<Interval> {
    let found = with_progress("certifying the optimum", |progress| {
        if horizon > MAX_SHARP_HORIZON {
            return least_mean_error(horizon, progress);
        }
        let subject = Subject::workload(Workload::PrefixSum, horizon as usize);
        let (lower, upper) = gamma_f(subject, CERTIFIED_GAP, progress)?.error_factor();
        Ok(Interval { lower, upper })
    });
    Ok(found?)
}

fn parse_parity(text: &str) -> std::result::Result<(u32, u32), String> {
    let parsed =
        text.split_once(',').and_then(|(d, w)| Some((d.trim().parse().ok()?, w.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected two integers such as 20,3".to_owned())
}

const GROUPS: [(Group, &str, &str); 5] = [
    (Group::AnyMechanism, "any-mechanism", "at least, for any mechanism (over all integer streams)"),
    (Group::Oblivious, "oblivious", "at least, for noise oblivious of the input"),
    (Group::MatrixMechanism, "matrix-mechanism", "at least, for matrix mechanisms with Gaussian noise"),
    (Group::Attained, "attained", "attained: a mechanism has at most"),
    (Group::TreeRatio, "tree-ratio", "the binary tree is worse by a factor of"),
];

fn label(group: Group) -> (&'static str, &'static str) {
    GROUPS.iter().find(|(known, ..)| *known == group).map_or(("", ""), |(_, name, words)| (name, words))
}

fn json(
    args: &BoundsArgs,
    certified: Interval,
    table: &[Bound],
    parity: Option<&(u32, u32, ParityBounds)>,
) -> Result<String> {
    let bound = |group: &str, name: &str, formula: &str, from_paper: bool, value: &evertally::Result<f64>| {
        JsonObject::default()
            .with("group", group)
            .with("name", name)
            .with("formula", formula)
            .with("from_paper", from_paper)
            .with("value", value.as_ref().ok())
            .with("reason", value.as_ref().err().map(ToString::to_string))
    };
    let bounds =
        table.iter().map(|it| bound(label(it.group).0, it.name, it.formula, it.from_paper, &it.value));
    let parity = parity.map(|(dimension, weight, bounds)| {
        let rows = parity_rows(bounds)
            .map(|(name, formula, value)| bound("parity", name, formula, name.starts_with("paper"), value));
        JsonObject::default()
            .with("dimension", dimension)
            .with("weight", weight)
            .with("gamma_f", bounds.gamma.middle())
            .with("bounds", rows)
    });
    let ends = |it: Interval| JsonObject::default().with("lower", it.lower).with("upper", it.upper);
    JsonObject::default()
        .with("horizon", args.horizon)
        .with("epsilon", args.epsilon)
        .with("delta", args.delta)
        .with("gamma_f_squared_over_n", ends(certified))
        .with("bounds", bounds.collect::<Vec<_>>())
        .with("parity", parity)
        .line()
}

type ParityRow<'a> = (&'static str, &'static str, &'a evertally::Result<f64>);

fn parity_rows(bounds: &ParityBounds) -> [ParityRow<'_>; 3] {
    [
        ("paper", "C(d,w) / (e^2ε − 1)²", &bounds.paper),
        ("any-mechanism", "c(ε,δ) C(d,w)", &bounds.any_mechanism),
        ("matrix-mechanism", "σ² C(d,w), attained", &bounds.matrix_mechanism),
    ]
}

fn people(
    args: &BoundsArgs,
    certified: Interval,
    table: &[Bound],
    parity: Option<&(u32, u32, ParityBounds)>,
) -> String {
    let mut text = format!(
        "Mean squared error of {} private totals at ε = {}, δ = {}\n",
        args.horizon,
        args.epsilon,
        delta_in_words(args.delta)
    );
    text.push_str(&format!(
        "γ_F²/n is certified between {:.9} and {:.9}\n",
        certified.lower, certified.upper
    ));
    let width = table.iter().map(|bound| bound.formula.chars().count()).max().unwrap_or_default();
    let mut last = None;
    for bound in table {
        if last != Some(bound.group) {
            text.push_str(&format!("\n{}\n", label(bound.group).1));
            last = Some(bound.group);
        }
        text.push_str(&line(bound.formula, width, bound.from_paper, &bound.value));
    }
    if let Some((d, w, bounds)) = parity {
        text.push_str(&format!(
            "\nat least, for all {} parities of {w} out of {d} signs\n",
            count(bounds.gamma.middle())
        ));
        for (name, formula, value) in parity_rows(bounds) {
            text.push_str(&line(formula, width, name.starts_with("paper"), value));
        }
    }
    text
}

fn line(formula: &str, width: usize, from_paper: bool, value: &evertally::Result<f64>) -> String {
    let source = if from_paper { "paper" } else { "" };
    let figure = match value {
        Ok(value) => shown(*value),
        Err(error) => format!("does not apply: {error}"),
    };
    format!("  {source:<5}  {formula:<width$}  {figure}\n")
}

/// A count, in full as long as it is exact.
fn count(value: f64) -> String {
    if value < 1e15 { format!("{value:.0}") } else { format!("{value:.5e}") }
}

/// Six digits, without an exponent where people would not write one.
fn shown(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e7).contains(&value.abs()) {
        return format!("{value:.5e}");
    }
    let whole_digits = value.abs().max(1.0).log10().floor() as usize + 1;
    format!("{value:.*}", 7_usize.saturating_sub(whole_digits))
}
