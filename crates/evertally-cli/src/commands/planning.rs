//! The choices of a plan that is made without data, as `plan` and `audit` take them.

use super::shared::{NumberArgs, PrivacyArgs, WorkloadArgs, participation};
use crate::error::{CliError, Result};
use crate::mechanism::{Horizon, Request};
use clap::Args;
use evertally::post::PostProcess;

/// Every group has a name and a state in memory, so their number is limited.
const MAX_GROUPS: usize = 100_000;

#[derive(Debug, Args)]
pub(crate) struct PlanningArgs {
    /// The number of steps, or unbounded for a stream with no known end
    #[arg(long, alias = "steps", value_name = "N|unbounded")]
    pub(super) horizon: Horizon,
    /// Keep this many totals, one for each group, instead of one
    #[arg(long, alias = "keys", value_name = "K", conflicts_with = "dim")]
    pub(super) group_count: Option<usize>,
    /// Count vectors with this many coordinates and Euclidean norm at most 1 instead of numbers
    #[arg(long, value_name = "D")]
    pub(super) dim: Option<usize>,
    #[command(flatten)]
    privacy: PrivacyArgs,
    #[command(flatten)]
    participation: ParticipationArgs,
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
    #[arg(long, value_name = "K")]
    max_steps: Option<u64>,
    /// The fewest steps from one contribution of a person to the next [default: 1]
    #[arg(long, value_name = "B")]
    min_gap: Option<u64>,
}

impl ParticipationArgs {
    pub(super) fn bound(&self) -> Result<Option<(u64, u64)>> {
        participation(self.max_steps, self.min_gap)
    }
}

impl PlanningArgs {
    pub(super) fn request(&self) -> Result<Request> {
        Ok(Request {
            horizon: self.horizon,
            workload: self.workload.workload(),
            objective: self.workload.objective,
            privacy: self.privacy.privacy(self.participation.bound()?),
            mechanism: self.workload.mechanism.clone(),
            contribution: None,
            keys: self.group_names()?,
            dimension: match self.dim {
                Some(0) => return Err(CliError::bad("--dim: expected at least 1, got 0")),
                dim => dim,
            },
            memory_limit: self.workload.memory_limit,
            numbers: self.numbers.numbers(),
            post_processing: PostProcess::default(),
            definition: Vec::new(),
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
