//! `--distinct`: how many different persons there have been, or are present.
//!
//! **Definition.** Without further options a person counts as one, in the step of their first event. With
//! `--group-by`, they count once in each of their first Q groups (`--groups-per-person`), in the step of
//! their first event of that group. With `--window` or `--operation`, the persons who are *present* count:
//! [`Presence`] says when somebody is. Who comes adds one, and who goes takes one away.
//!
//! **Guarantee.** Without further options a person changes one step of each group by one, so the
//! sensitivity is that of one step, times √Q (with δ = 0, times Q). Without groups, and with Q = 1, this is
//! `--person COLUMN --max-steps 1`: the same count, the same noise and the same name.
//! [`Share::once_per_key`] has the rest. Where persons come and go, a person makes at most `--max-flips`
//! changes, up and down in turn ([`evertally_stream::Present`]), for which the plan has a sensitivity of its
//! own ([`Participation::in_turn`]).

use super::options::CountArgs;
use crate::commands::shared::in_turn;
use crate::error::{CliError, Result};
use clap::Args;
use evertally::{Contribution, Participation, PlanSpec, Workload};
use evertally_stream::{KeySet, Presence, Share, Stays};

#[derive(Debug, Args)]
#[command(next_help_heading = "What counts")]
pub(crate) struct DistinctArgs {
    /// Count how many different persons there have been. The column has the person of each event
    ///
    /// Each person counts once, in the step of their first event. With --group-by, a person counts once
    /// in each of their first --groups-per-person groups. The total of all groups is then no number of
    /// persons. Whole persons are protected, at the noise of one event. With --window W, the persons
    /// with an event in the last W steps count, and with --operation those who are present.
    #[arg(long = "distinct", value_name = "COLUMN", group = "persons", requires = "time")]
    pub(super) column: Option<String>,
    /// With --distinct: the column that says whether a person is inserted or deleted, as insert or
    /// delete. Counts the persons who are present
    #[arg(long, value_name = "COLUMN", requires = "column")]
    pub(super) operation: Option<String>,
    /// With --distinct and --window or --operation: how often one person may come or go
    ///
    /// It is an even number, because who comes can leave. Whoever has used it up leaves as usual, and
    /// does not count again. The changes of a person in all groups count together. More flips need more
    /// noise: most mechanisms need as much as the square root of their number.
    #[arg(long, value_name = "F", requires = "column")]
    pub(super) max_flips: Option<u64>,
}

/// How persons come and go, if they do.
pub(super) fn stays(args: &CountArgs) -> Result<Option<Stays<'_>>> {
    let DistinctArgs { operation, max_flips, .. } = &args.distinct;
    let presence = match (args.workload.workload(), operation) {
        (Workload::SlidingWindow { .. }, Some(_)) => {
            return Err(CliError::bad(
                "--operation cannot be used with --window: a person leaves by a deletion, or at the end of the window",
            ));
        }
        (Workload::SlidingWindow { width: 0 }, None) => {
            return Err(CliError::bad("--window must be at least 1, got 0"));
        }
        (Workload::SlidingWindow { width }, None) => Presence::Window { steps: width },
        (_, Some(_)) => Presence::Operations,
        (_, None) if max_flips.is_some() => {
            return Err(CliError::bad(
                "--max-flips needs --window W or --operation COLUMN: without them nobody leaves",
            ));
        }
        (_, None) => return Ok(None),
    };
    let max_flips = max_flips.ok_or_else(|| {
        CliError::bad("--distinct with --window or --operation needs --max-flips F: how often one person may come or go")
    })?;
    let max_stays = in_turn(max_flips)?.max_steps() / 2;
    Ok(Some(Stays { presence, max_stays, operation: operation.as_deref() }))
}

/// Refuses what a number of persons does not have.
pub(super) fn check(args: &CountArgs) -> Result<()> {
    const ONCE: &str = "each person counts as one, once";
    const FIRST: &str = "a person counts in the step of their first event";
    const GROUPS: &str = "--max-flips counts the changes of all groups together";
    const WHOLE: &str = "who is present is decided when the whole file has been read";
    let is_decay = matches!(args.workload.workload(), Workload::Decay { .. });
    let stays = stays(args)?.is_some();
    let refused = [
        (args.value.is_some(), "--value", ONCE),
        (args.mean.is_some(), "--mean", ONCE),
        (args.max_steps.is_some(), "--max-steps", FIRST),
        (args.min_gap.is_some(), "--min-gap", FIRST),
        (args.per_person_sum.is_some(), "--per-person-sum", ONCE),
        (args.per_person_events.is_some(), "--per-person-events", ONCE),
        (args.id.is_some(), "--id", "a copy of an event changes nothing"),
        (is_decay, "--decay", "its sum would be that of new persons"),
        (stays && args.groups_per_person.is_some(), "--groups-per-person", GROUPS),
        (stays && args.follow, "--follow", WHOLE),
        (stays && args.state.is_some(), "--state", WHOLE),
        (stays && args.report.is_given(), "--report", "the sum of a period would be a difference"),
        (stays && args.monotone, "--monotone", "the number of those who are present can fall"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, reason)) => {
            let with = match (stays, args.distinct.operation.is_some()) {
                (false, _) => "--distinct",
                (true, false) => "--distinct and --window",
                (true, true) => "--distinct and --operation",
            };
            Err(CliError::bad(format!("{option} cannot be used with {with}: {reason}")))
        }
        None => Ok(()),
    }
}

/// What a person may add. Nobody can count in more groups than there are.
pub(super) fn share(args: &CountArgs, keys: Option<&KeySet>) -> Result<Share> {
    let groups = args.groups_per_person.unwrap_or(1);
    if groups == 0 {
        return Err(CliError::bad("--groups-per-person must be at least 1, got 0"));
    }
    let declared = keys.map_or(1, |keys| keys.names().len() as u64);
    Ok(Share::once_per_key(groups.min(declared))?)
}

/// The choices of a plan for persons who come and go: their number is a running total of changes.
pub(super) fn shape(spec: &mut PlanSpec, stays: &Stays<'_>) -> Result<()> {
    spec.workload = Workload::PrefixSum;
    spec.participation = Participation::in_turn(2 * stays.max_stays)?;
    spec.contribution = Contribution::range(-1.0, 1.0)?;
    Ok(())
}

/// What one person changes, for the header.
pub(super) fn participation_in_words(share: &Share, stays: Option<&Stays<'_>>) -> String {
    if let Some(stays) = stays {
        let flips = 2 * stays.max_stays;
        return format!(
            "one person makes at most {flips} changes in all groups together, by one up and down in turn, enforced"
        );
    }
    match share.max_keys() {
        1 => "one person counts once, in the step of their first event, enforced".to_owned(),
        groups => format!(
            "one person counts once in each of at most {groups} groups, in the step of their first event there, enforced"
        ),
    }
}

/// Which persons count, for the header.
pub(super) fn counted_in_words(column: &str, stays: Option<&Stays<'_>>) -> String {
    match stays {
        None => format!("different values of {column}, so far"),
        Some(Stays { presence: Presence::Window { steps }, .. }) => {
            format!("different values of {column} with an event in the last {steps} steps")
        }
        Some(Stays { operation, .. }) => format!(
            "different values of {column}, from an insertion to a deletion in {}",
            operation.unwrap_or_default()
        ),
    }
}
