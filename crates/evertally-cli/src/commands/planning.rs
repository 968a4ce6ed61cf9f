//! The choices of a plan that is made without data, as `plan` and `audit` take them.

use super::shared::{NumberArgs, PrivacyArgs, WorkloadArgs, in_turn, participation, plan_spec};
use crate::error::{CliError, Result};
use clap::Args;
use evertally::{Contribution, Horizon, Objective, Participation, PlanSpec, Shape};

/// Every group has a name and a state in memory, so their number is limited.
const MAX_GROUPS: usize = 100_000;

#[derive(Debug, Args)]
pub(crate) struct PlanningArgs {
    /// The number of steps, or unbounded for a stream with no known end
    ///
    /// The error grows slowly with the number of steps. An unbounded stream costs a little more error
    /// than one whose length was declared.
    #[arg(long, alias = "steps", value_name = "N|unbounded")]
    pub(super) horizon: Horizon,
    /// Keep this many totals, one for each group, instead of one
    #[arg(long, alias = "keys", value_name = "K", conflicts_with = "dim")]
    pub(super) group_count: Option<usize>,
    /// Count vectors with this many coordinates and Euclidean norm at most 1 instead of numbers
    ///
    /// This is for gradients in training: each person contributes a vector of length at most 1.
    #[arg(long, value_name = "D")]
    pub(super) dim: Option<usize>,
    #[command(flatten)]
    privacy: PrivacyArgs,
    #[command(flatten)]
    participation: ParticipationArgs,
    /// The most changes by one person who comes and goes, as in count --distinct with --window: up by
    /// one and down by one in turn
    #[arg(
        long,
        value_name = "F",
        conflicts_with_all = ["max_steps", "min_gap", "dim"],
        help_heading = "Privacy"
    )]
    max_flips: Option<u64>,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    numbers: NumberArgs,
}

/// What one person may contribute to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct ParticipationArgs {
    /// The most steps that one person may contribute to
    ///
    /// With it, the budget protects a person with all of their steps instead of a single event.
    #[arg(long, value_name = "K")]
    max_steps: Option<u64>,
    /// The fewest steps from one contribution of a person to the next [default: 1]
    ///
    /// A larger gap needs less noise, because contributions that are far apart share little of it.
    #[arg(long, value_name = "B")]
    min_gap: Option<u64>,
}

impl ParticipationArgs {
    pub(super) fn bound(&self) -> Result<Option<Participation>> {
        participation(self.max_steps, self.min_gap)
    }
}

impl PlanningArgs {
    /// The objective, if one was asked for.
    pub(super) fn objective(&self) -> Option<Objective> {
        self.workload.objective()
    }

    /// The choices that these options make.
    pub(super) fn spec(&self) -> Result<PlanSpec> {
        let participation = match self.max_flips {
            Some(flips) => Some(in_turn(flips)?),
            None => self.participation.bound()?,
        };
        let spec = plan_spec(self.horizon, &self.privacy, &self.workload, &self.numbers, participation)?;
        let spec = match self.max_flips {
            Some(_) => PlanSpec { contribution: Contribution::range(-1.0, 1.0)?, ..spec },
            None => spec,
        };
        Ok(match (self.dim, self.group_count) {
            (Some(0), _) => return Err(CliError::bad("--dim: expected at least 1, got 0")),
            (Some(dimension), _) => {
                let contribution = Contribution::norm(1.0)?;
                PlanSpec { shape: Shape::Vector { dimension }, contribution, ..spec }
            }
            (None, Some(_)) => PlanSpec { shape: Shape::Keyed { keys: self.group_names()? }, ..spec },
            (None, None) => spec,
        })
    }

    /// Made-up names for the groups.
    pub(super) fn group_names(&self) -> Result<Vec<String>> {
        match self.group_count {
            None => Ok(Vec::new()),
            Some(count) if (1..=MAX_GROUPS).contains(&count) => {
                Ok((0..count).map(|group| group.to_string()).collect())
            }
            Some(count) => Err(CliError::bad(format!(
                "--group-count: expected from 1 to {MAX_GROUPS}, got {count}; evertally plan --dim shows the memory of more"
            ))),
        }
    }
}
