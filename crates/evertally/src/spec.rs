//! The choices of a plan, as plain data.
//!
//! **Definition.** A [`PlanSpec`] holds everything that a person decides about a plan, each choice
//! once. Every field is a public value with a text form: `Display` writes it, `FromStr` reads it
//! back, and JSON holds the same words. A spec does not check its fields against each other.
//!
//! **Guarantee.** [`PlanSpec::build`] checks all choices together and makes the
//! [`Plan`](crate::Plan). [`Plan::spec`](crate::Plan::spec) gives the spec back with everything
//! filled in, and building that spec gives the same plan: the same noise, the same fingerprint.
//! There are two exceptions. A part of a plan ([`Plan::part`](crate::Plan::part)) gives the spec of
//! the full plan. A plan whose noise has the name of version 0.1
//! ([`Plan::with_first_noise_name`](crate::Plan::with_first_noise_name)) gives a spec whose plan has
//! a name of today, and so independent noise: two releases of the same data.
//!
//! **Use.** The command line, the ledger, the HTTP service and the Python package parse the choices
//! of their users into a `PlanSpec` and make every plan from it.
//! [`PlanBuilder`](crate::PlanBuilder) is the same with chained setters.

mod arithmetic;
mod horizon;
mod shape;
mod words;

use serde::{Deserialize, Serialize};

pub use arithmetic::Arithmetic;
pub use horizon::Horizon;
pub use shape::Shape;

use crate::factorization::Mechanism;
use crate::objective::Objective;
use crate::privacy::{BudgetSpec, Contribution, Neighbours, Participation};
use crate::report::Report;
use crate::workload::Workload;

/// Everything that a person decides about a plan.
///
/// ```
/// use evertally::{Budget, PlanSpec, Workload};
///
/// let spec = PlanSpec {
///     workload: Workload::SlidingWindow { width: 7 },
///     grid: Some(0.5),
///     ..PlanSpec::new(365, Budget::new(1.0, 1e-6)?)
/// };
/// let plan = spec.build()?;
/// assert_eq!(plan.spec().build()?.fingerprint(), plan.fingerprint());
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// In JSON only `horizon` and `budget` are required, and unknown fields are refused:
///
/// ```
/// let text = r#"{
///     "horizon": 365,
///     "workload": "window:7",
///     "budget": "epsilon=1,delta=1e-6",
///     "participation": "at most 4 steps, at least 7 apart",
///     "contribution": "a value in [0, 100]",
///     "shape": ["north", "south"]
/// }"#;
/// let spec: evertally::PlanSpec = serde_json::from_str(text)?;
/// assert_eq!(serde_json::from_str::<evertally::PlanSpec>(&serde_json::to_string(&spec)?)?, spec);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// The number of steps, or `Unbounded` for a stream without a known end.
    pub horizon: Horizon,
    /// What is released at each step. By default, running totals.
    #[serde(default)]
    pub workload: Workload,
    /// The privacy budget of the whole stream, in the form in which it was stated.
    pub budget: BudgetSpec,
    /// The mechanism. By default, the most accurate one that fits the memory limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// Which change of the input is hidden. By default, that one contribution is present or absent.
    #[serde(default)]
    pub neighbours: Neighbours,
    /// In how many steps one person may take part. By default, one event in one step.
    #[serde(default)]
    pub participation: Participation,
    /// Which error to keep small. By default, the mean over all steps. It decides which mechanism
    /// is chosen, and the form of [`Mechanism::GradedSquareRoot`] and [`Mechanism::Blt`].
    #[serde(default)]
    pub objective: Objective,
    /// The sums that are read from the stream, for [`Objective::Report`]. By default, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// How large one contribution to a step may be. By default, between zero and one.
    #[serde(default)]
    pub contribution: Contribution,
    /// In how many keys one contribution to a step may count. By default, in one. If in several,
    /// `contribution` bounds the Euclidean norm of what it adds to them, or the sum of magnitudes for
    /// pure ε.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub keys_per_step: u64,
    /// What a step consists of. By default, one number.
    #[serde(default)]
    pub shape: Shape,
    /// The name of the stream that is counted. By default, empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stream: String,
    /// What is counted, encoded; in JSON, hexadecimal digits. By default, empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "words::hexadecimal")]
    pub definition: Vec<u8>,
    /// In which numbers releases are made. By default, numbers and keys take the exact path if the
    /// mechanism has one, and vectors do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<Arithmetic>,
    /// The public grid to which exact releases are rounded, in the units of the data. By default, the
    /// largest power of two, up to one and to the largest contribution, whose rounding adds at most
    /// 0.01 % to the squared error. One releases whole numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<f64>,
    /// The maximum memory of a counter in bytes. By default, two gibibytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
}

impl PlanSpec {
    /// Running totals of one number per step, with every other choice at its default.
    #[must_use]
    pub fn new(horizon: impl Into<Horizon>, budget: impl Into<BudgetSpec>) -> Self {
        Self {
            horizon: horizon.into(),
            workload: Workload::default(),
            budget: budget.into(),
            mechanism: None,
            neighbours: Neighbours::default(),
            participation: Participation::default(),
            objective: Objective::default(),
            report: None,
            contribution: Contribution::default(),
            keys_per_step: 1,
            shape: Shape::default(),
            stream: String::new(),
            definition: Vec::new(),
            arithmetic: None,
            grid: None,
            memory_limit: None,
        }
    }

    /// In how many lanes of a step one contribution may count.
    pub(crate) fn lanes_per_step(&self) -> u64 {
        self.keys_per_step.saturating_mul(self.contribution.keys() as u64)
    }
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(number: &u64) -> bool {
    *number == 1
}

#[cfg(test)]
mod tests;
