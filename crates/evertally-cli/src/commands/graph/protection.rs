//! What is protected: an edge, or a node with all of its edges.

use super::options::GraphArgs;
use super::task::show_step;
use crate::error::{CliError, Result};
use crate::output::Header;
use clap::ValueEnum;
use evertally::{BudgetSpec, Neighbours};
use evertally_stream::time::TimeReader;
use evertally_stream::{Buckets, NodeProtection, Statistic, StopTest};

/// The part of ε and of δ for the test that stops the count. The rest is for the numbers.
const PART_OF_TEST: f64 = 0.5;

/// The smallest ε for which noise is computed.
const LEAST_EPSILON: f64 = 1e-6;

/// What two inputs that must look alike differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protect {
    /// One edge, with all of its rows
    Edge,
    /// One node, with all of its edges. For edges and degrees only
    Node,
}

impl Protect {
    /// The unit, as budget files call it.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Node => "node",
        }
    }
}

/// The protection of nodes and the budget that is left for the numbers, if nodes are protected.
pub(super) fn of_nodes(
    args: &GraphArgs,
    steps: u64,
    max_degree: u32,
    statistics: &[Statistic],
    budget: BudgetSpec,
) -> Result<Option<(NodeProtection, BudgetSpec)>> {
    if args.protect == Protect::Edge {
        return match args.max_over {
            Some(_) => Err(CliError::bad("--max-over is for --protect node: leave it out")),
            None => Ok(None),
        };
    }
    let is_allowed = |statistic: &&Statistic| matches!(statistic, Statistic::Edges | Statistic::Degrees);
    if let Some(other) = statistics.iter().find(|statistic| !is_allowed(statistic)) {
        return Err(CliError::bad(format!(
            "--protect node is for --count edges and degrees: what one node changes in {other} has no bound here"
        )));
    }
    if args.privacy.neighbours == Neighbours::Replace {
        return Err(CliError::bad(
            "--protect node is for --neighbours add-remove: a node that is replaced could change degrees both ways",
        ));
    }
    let (epsilon, delta) = (budget.epsilon.unwrap_or_default(), budget.delta.unwrap_or_default());
    if PART_OF_TEST * epsilon < LEAST_EPSILON {
        return Err(CliError::bad(format!(
            "--protect node needs --epsilon of at least {:e}, because it is split between the counts and their test",
            LEAST_EPSILON / PART_OF_TEST
        )));
    }
    let test = StopTest::new(steps, args.max_over.unwrap_or(0), PART_OF_TEST * epsilon, PART_OF_TEST * delta)
        .map_err(|error| {
            CliError::bad(format!("--protect node with this --epsilon and --max-over: {error}"))
        })?;
    let nodes = NodeProtection::new(max_degree, test).map_err(|error| {
        CliError::bad(format!("--protect node with this --max-degree and --epsilon: {error}"))
    })?;
    // Halves are exact, and the test takes no more than its own.
    let rest = BudgetSpec {
        epsilon: Some((1.0 - PART_OF_TEST) * epsilon),
        delta: Some((1.0 - PART_OF_TEST) * delta),
        ..budget
    };
    Ok(Some((nodes, rest)))
}

/// What one node can change.
pub(super) fn change_in_words(nodes: &NodeProtection, statistic: Statistic, squares: Option<u64>) -> String {
    let (up, down) = nodes.moves(statistic).unwrap_or_default();
    let counts = match statistic {
        Statistic::Degrees => format!(" in each of {} counts", nodes.max_degree()),
        _ => String::new(),
    };
    format!("by up to {up} up and {down} down{counts} (squares of {})", squares.unwrap_or_default())
}

/// What a reader needs to know of the bound and the test, and where it stopped the count.
pub(super) fn describe(
    header: &mut Header,
    nodes: &NodeProtection,
    stop: Option<u64>,
    (buckets, times): (&Buckets, &TimeReader),
    (epsilon, delta): (f64, f64),
) {
    let (test, max_degree) = (nodes.test(), nodes.max_degree());
    header.record(
        "max_degree",
        format!(
            "{max_degree}, declared; edges among the first {} of both nodes count, enforced",
            nodes.kept()
        ),
    );
    header.record(
        "split",
        format!(
            "test ε = {} and δ = {:e}, counts ε = {} and δ = {:e}",
            test.epsilon(),
            test.delta(),
            (1.0 - PART_OF_TEST) * epsilon,
            (1.0 - PART_OF_TEST) * delta
        ),
    );
    let (may_exceed, threshold, limit) = (test.may_exceed(), test.threshold(), test.limit());
    header.record(
        "test",
        format!(
            "stops the count before a step after which about {threshold} nodes have {} edges or more, and before {limit} have {}; with a probability of at most 1 % if no more than {may_exceed} have more than {}",
            u64::from(max_degree) + u64::from(threshold),
            nodes.kept(),
            u64::from(max_degree) + u64::from(may_exceed)
        ),
    );
    header.record("stopped", stopped_in_words(stop, buckets, times));
}

fn stopped_in_words(stop: Option<u64>, buckets: &Buckets, times: &TimeReader) -> String {
    match stop {
        None => "never, all steps are counted".to_owned(),
        Some(step) => {
            format!(
                "step {step} ({}) and all later ones are not counted, and their totals are frozen",
                show_step(buckets, times, step)
            )
        }
    }
}

/// What to say when a count has stopped.
pub(super) fn warning(stop: u64, buckets: &Buckets, times: &TimeReader) -> String {
    format!(
        "too many nodes seem to have more edges than --max-degree: {}; a larger --max-degree or --max-over lets the count go on, with more noise",
        stopped_in_words(Some(stop), buckets, times)
    )
}
