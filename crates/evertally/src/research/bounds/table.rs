//! Every bound for one horizon and budget, side by side.

use super::constant::{Reach, oblivious_constant, proven_paper_constant};
use super::{
    Interval, binary_tree_mean_error, checked, nuclear_mean_error, paper_lower_mean, paper_optimum_ratio,
    paper_tree_ratio, paper_upper_mean, square_root_mean_error,
};
use crate::privacy::{gaussian_sigma, paper_sigma};
use crate::{Error, Result};

/// The subject of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// A lower bound on the mean squared error of every mechanism, over all integer inputs.
    AnyMechanism,
    /// A lower bound for every mechanism whose noise is oblivious of the input.
    Oblivious,
    /// A lower bound for every matrix mechanism with Gaussian noise.
    MatrixMechanism,
    /// An upper bound on the least mean squared error: some mechanism has at most this.
    Attained,
    /// The error of the binary tree divided by that of another mechanism.
    TreeRatio,
}

/// One bound: a figure, or the condition that is not met.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// A stable name for programs.
    pub name: &'static str,
    /// The subject of the bound.
    pub group: Group,
    /// The formula, in the letters of the notation.
    pub formula: &'static str,
    /// Whether it is a closed form of the paper.
    pub from_paper: bool,
    /// The figure, rounded to the safe side, or the reason why there is none.
    pub value: Result<f64>,
}

/// σ² as an interval: the multiplier is rounded up by a relative 2·10⁻¹³ at most.
fn variance(epsilon: f64, delta: f64) -> Result<Interval> {
    some_delta(delta)?;
    gaussian_sigma(epsilon, delta).map(|s| Interval { lower: s * (1.0 - 4e-13), upper: s }.squared())
}

/// No Gaussian is purely private.
fn some_delta(delta: f64) -> Result<()> {
    if delta == 0.0 { Err(Error::bad("delta", "above 0 for Gaussian noise", delta)) } else { Ok(()) }
}

fn paper_variance(epsilon: f64, delta: f64) -> Result<Interval> {
    some_delta(delta)?;
    paper_sigma(epsilon, delta).map(|c| Interval { lower: c * (1.0 - 1e-13), upper: c }.squared())
}

/// Every bound on the mean squared error of a private prefix sum of `horizon` steps at (ε, δ),
/// where one event counts as one.
///
/// `certified` are proven bounds on γ_F²/n, if the caller has them. They sharpen the bounds from
/// the nuclear norm.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰, 10⁻⁶ ≤ ε ≤ 1000, 0 ≤ δ < 1, and `certified` contradicts no
/// bound. A bound whose own conditions are not met carries the reason instead of its figure.
///
/// ```
/// use evertally::research::bounds::{Group, bounds};
/// let table = bounds(1 << 20, 0.5, 1e-6, None)?;
/// let named = |group, name| table.iter().find(|b| b.group == group && b.name == name);
/// let least = named(Group::MatrixMechanism, "nuclear-norm").unwrap().value.clone()?;
/// let attained = named(Group::Attained, "square-root").unwrap().value.clone()?;
/// assert!(least < attained && attained < 1.1 * least);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn bounds(horizon: u64, epsilon: f64, delta: f64, certified: Option<Interval>) -> Result<Vec<Bound>> {
    checked(horizon)?;
    oblivious_constant(epsilon, delta)?;
    let nuclear = nuclear_mean_error(horizon)?;
    let square_root = square_root_mean_error(horizon)?;
    if let Some(c) = certified
        && !(c.lower <= c.upper && c.upper >= nuclear.lower && c.lower <= square_root.upper)
    {
        let expected = format!("between {} and {}", nuclear.lower, square_root.upper);
        return Err(Error::bad("certified", expected, format!("{} to {}", c.lower, c.upper)));
    }
    let closed_lower = paper_lower_mean(horizon)?;
    let mut table = Vec::new();
    for (group, reach) in [(Group::AnyMechanism, Reach::Any), (Group::Oblivious, Reach::Oblivious)] {
        let ours = oblivious_constant(epsilon, delta);
        let theirs = proven_paper_constant(epsilon, delta, reach);
        table.extend(from_constants(group, &theirs, &ours, closed_lower, nuclear, certified));
    }
    let exact = variance(epsilon, delta);
    let closed = paper_variance(epsilon, delta);
    table.extend(matrix_mechanisms(&exact, &closed, closed_lower, nuclear, certified));
    table.extend(attained(horizon, &exact, &closed, square_root, certified)?);
    table.extend(tree_ratios(horizon, square_root, nuclear, certified)?);
    Ok(table)
}

fn bound(name: &'static str, group: Group, formula: &'static str, value: Result<f64>) -> Bound {
    Bound { name, group, formula, from_paper: name.starts_with("paper"), value }
}

fn below(constant: &Result<f64>, factor: Interval) -> Result<f64> {
    constant.clone().map(|c| (c * factor.lower).next_down().max(0.0))
}

fn not_certified() -> Error {
    Error::bad("certificate", "available for this horizon", "none")
}

fn from_constants(
    group: Group,
    theirs: &Result<f64>,
    ours: &Result<f64>,
    closed: Interval,
    nuclear: Interval,
    certified: Option<Interval>,
) -> [Bound; 4] {
    let (closed_formula, nuclear_formula) = match group {
        Group::AnyMechanism => {
            ("(2 + ln((2n+1)/5) + ln(2n+1)/2n)² / (π(e^4ε − 1))²", "(‖A‖_*/n)² / (e^4ε − 1)²")
        }
        _ => ("(2 + ln((2n+1)/5) + ln(2n+1)/2n)² / (π(e^2ε − 1))²", "(‖A‖_*/n)² / (e^2ε − 1)²"),
    };
    let best = certified.ok_or_else(not_certified).and_then(|c| below(ours, c));
    [
        bound("paper-closed-form", group, closed_formula, below(theirs, closed)),
        bound("paper-constant-nuclear-norm", group, nuclear_formula, below(theirs, nuclear)),
        bound("nuclear-norm", group, "c(ε,δ) (‖A‖_*/n)²", below(ours, nuclear)),
        bound("certified", group, "c(ε,δ) γ_F²/n", best),
    ]
}

fn matrix_mechanisms(
    exact: &Result<Interval>,
    closed: &Result<Interval>,
    closed_lower: Interval,
    nuclear: Interval,
    certified: Option<Interval>,
) -> [Bound; 4] {
    let group = Group::MatrixMechanism;
    let with = |variance: &Result<Interval>, factor: Interval| variance.clone().map(|v| (v * factor).lower);
    let best = certified.ok_or_else(not_certified).and_then(|c| with(exact, c));
    [
        // This binds only mechanisms that take their noise from C. With less noise, the error can
        // be lower.
        bound(
            "paper-closed-form",
            group,
            "C² (2 + ln((2n+1)/5) + ln(2n+1)/2n)²/π², if the noise is C's",
            with(closed, closed_lower),
        ),
        bound(
            "paper-exact-noise",
            group,
            "σ² (2 + ln((2n+1)/5) + ln(2n+1)/2n)²/π²",
            with(exact, closed_lower),
        ),
        bound("nuclear-norm", group, "σ² (‖A‖_*/n)²", with(exact, nuclear)),
        bound("certified", group, "σ² γ_F²/n", best),
    ]
}

fn attained(
    horizon: u64,
    exact: &Result<Interval>,
    closed: &Result<Interval>,
    square_root: Interval,
    certified: Option<Interval>,
) -> Result<Vec<Bound>> {
    let group = Group::Attained;
    let with = |variance: &Result<Interval>, factor: Interval| variance.clone().map(|v| (v * factor).upper);
    let upper = paper_upper_mean(horizon)?;
    // For n < 7 the closed form is not a bound: it would promise less error than the mechanism has.
    let closed_holds = if upper.upper >= square_root.lower {
        with(closed, upper)
    } else {
        Err(Error::bad("horizon", "at least 7, where the closed form is an upper bound", horizon))
    };
    let best = certified.ok_or_else(not_certified).and_then(|c| with(exact, c));
    let tree = binary_tree_mean_error(horizon)?;
    Ok(vec![
        bound("tree", group, "σ² (ones of L)(⌈log₂n⌉ + 1)/n", with(exact, tree)),
        bound("paper-closed-form", group, "C² (1 + ln(4n/5)/π)²", closed_holds),
        bound("paper-noise-square-root", group, "C² ‖L‖_F²‖R‖²/n, square root", with(closed, square_root)),
        bound("square-root", group, "σ² ‖L‖_F²‖R‖²/n, square root", with(exact, square_root)),
        bound("certified", group, "σ² γ_F²/n", best),
    ])
}

fn tree_ratios(
    horizon: u64,
    square_root: Interval,
    nuclear: Interval,
    certified: Option<Interval>,
) -> Result<[Bound; 4]> {
    let group = Group::TreeRatio;
    let tree = binary_tree_mean_error(horizon)?;
    // Rounded down if the ratio is claimed to be at least this, and up if it is claimed to be at
    // most this.
    Ok([
        bound(
            "paper-over-square-root",
            group,
            "log₂n (1 + log₂n) / 2(1 + ln(4n/5)/π)²",
            Ok(paper_tree_ratio(horizon)?.lower),
        ),
        bound("over-square-root", group, "tree / square root", Ok((tree / square_root).lower)),
        bound(
            "paper-over-optimum",
            group,
            "π² log₂n (1 + log₂n) / 2(2 + ln((2n+1)/5) + ln(2n+1)/2n)²",
            Ok(paper_optimum_ratio(horizon)?.upper),
        ),
        bound(
            "over-optimum",
            group,
            "at most tree / γ_F²/n",
            Ok((tree / certified.unwrap_or(nuclear)).upper),
        ),
    ])
}
