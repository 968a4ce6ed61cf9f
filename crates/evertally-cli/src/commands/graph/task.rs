//! The options, parsed and checked, with nothing left to decide.

use super::options::GraphArgs;
use super::protection::{self, Protect};
use crate::budget_file::BudgetReceipt;
use crate::commands::count::{Filter, Range, buckets_of, defined, describe_buckets, show_time, time_reader};
use crate::error::{CliError, Result, shown};
use crate::mechanism::{Prepared, Reading};
use crate::output::Header;
use crate::progress::with_progress;
use evertally::{Horizon, Participation, Plan, PlanSpec, Shape, Spend, Workload};
use evertally_stream::time::TimeReader;
use evertally_stream::{
    Buckets, Columns, Definition, GraphDefinition, GraphTotals, NodeProtection, Statistic,
};

/// The default limit on edges and totals in memory, in bytes.
const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

pub(super) struct Task<'a> {
    pub(super) args: &'a GraphArgs,
    pub(super) source: String,
    pub(super) buckets: Buckets,
    pub(super) times: TimeReader,
    pub(super) filter: Option<Filter>,
    /// The columns of the two ends.
    pub(super) ends: [&'a str; 2],
    /// The statistics, in order, each with its share of the budget.
    pub(super) parts: Vec<(Statistic, f64)>,
    /// The bound on degrees. One, if nothing depends on it.
    pub(super) max_degree: u32,
    /// The names of the rows of a step, for each statistic.
    pub(super) rows: Vec<Vec<String>>,
    /// What protects nodes, if they are protected with all of their edges.
    pub(super) nodes: Option<NodeProtection>,
    /// The choices of every plan. Its budget is that of the numbers.
    spec: PlanSpec,
}

impl<'a> Task<'a> {
    pub(super) fn from_args(args: &'a GraphArgs, source: String) -> Result<Self> {
        let times = time_reader(args.timezone.as_deref(), args.time_format.as_deref())?;
        if args.horizon == Some(0) {
            return Err(CliError::bad("--horizon: expected at least 1, got 0"));
        }
        let range = Range {
            every: &args.every,
            from: &args.from,
            horizon: args.horizon.map(Horizon::Steps),
            to: args.to.as_deref(),
            until: None,
            may_be_endless: false,
            week_starts: args.week_starts,
        };
        let buckets = buckets_of(&range, &times)?;
        let statistics = statistics(&args.count)?;
        let max_degree = max_degree(args, &statistics)?;
        let spec = args.workload.plan_spec(buckets.steps().into(), args.privacy.budget_spec())?;
        if spec.workload != Workload::PrefixSum {
            return Err(CliError::bad(
                "--window and --decay are for counts: a graph has no edge twice, so all of its edges count",
            ));
        }
        args.privacy.budget()?;
        if spec.budget.delta == Some(0.0) {
            return Err(CliError::bad(
                "evertally graph needs --delta above 0: what one edge changes is bounded for Gaussian noise",
            ));
        }
        let nodes = protection::of_nodes(args, buckets.steps(), max_degree, &statistics, spec.budget)?;
        let budget = nodes.as_ref().map_or(spec.budget, |(_, rest)| *rest);
        let nodes = nodes.map(|(nodes, _)| nodes);
        for statistic in &statistics {
            largest_change(*statistic, max_degree, nodes.as_ref())
                .map_err(|error| refusal(*statistic, &error))?;
        }
        let limit = spec.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT);
        GraphTotals::check(buckets.steps(), &statistics, max_degree, limit)?;
        let shares = shares(args.share.as_deref(), &statistics)?;
        let rows = statistics.iter().map(|statistic| rows(*statistic, max_degree)).collect();
        Ok(Self {
            args,
            source,
            buckets,
            times,
            filter: args.inputs.filter()?,
            ends: ends(&args.nodes)?,
            parts: statistics.into_iter().zip(shares).collect(),
            max_degree,
            rows,
            nodes,
            spec: PlanSpec { neighbours: args.privacy.neighbours, budget, ..spec },
        })
    }

    /// The columns to read: the time, the two ends, and those of the filter.
    pub(super) fn columns(&self) -> Vec<String> {
        let [one, other] = self.ends;
        let filtered = self.filter.iter().flat_map(Filter::columns).map(String::as_str);
        [self.args.time.as_str(), one, other].into_iter().chain(filtered).map(str::to_owned).collect()
    }

    pub(super) fn memory_limit(&self) -> u64 {
        self.spec.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT)
    }

    /// One plan for each statistic, which keep the budget together. The name of the first one's noise holds
    /// those of the others, so that a record under it watches over the input of all.
    pub(super) fn plans(&self) -> Result<Vec<Plan>> {
        let definition = self.definition();
        let spec = |(statistic, share): &(Statistic, f64)| {
            let keys = (0..statistic.width(self.max_degree)).map(|key| key.to_string()).collect();
            let spec = PlanSpec {
                participation: largest_change(*statistic, self.max_degree, self.nodes.as_ref())?,
                // With nodes, all amounts may change both ways.
                contribution: self.nodes.map_or(*statistic, |_| Statistic::Degrees).contribution(),
                shape: if *statistic == Statistic::Degrees { Shape::Keyed { keys } } else { Shape::Scalar },
                stream: statistic.to_string(),
                definition: definition.encode(*statistic, &[]),
                ..self.spec.clone()
            };
            Ok((spec, *share))
        };
        let specs = self.parts.iter().map(spec).collect::<Result<Vec<_>>>()?;
        let mut plans = with_progress("planning", |_| Plan::together(self.spec.budget, &specs))?;
        let others = names(&plans[1..]);
        plans[0] = plans[0].with_definition(definition.encode(self.parts[0].0, &others));
        Ok(plans)
    }

    fn definition(&self) -> GraphDefinition<'_> {
        GraphDefinition {
            rows: Definition {
                columns: Columns { time: Some(&self.args.time), ..Columns::default() },
                filter: self.filter.as_ref().map(Filter::canonical),
                ..defined(Some(&self.buckets), &self.times)
            },
            ends: self.ends,
            max_degree: self.max_degree,
            parts: &self.parts,
            nodes: self.nodes.as_ref(),
        }
    }

    /// The label of the noise of the test that stops the count.
    pub(super) fn label_of_test(&self, plans: &[Plan]) -> Vec<u8> {
        self.definition().label_of_test(&names(plans))
    }

    /// What the run spends: the numbers, and the test if there is one.
    pub(super) fn spend(&self, plans: &[Plan]) -> Result<Spend> {
        let test = self.nodes.map(|nodes| nodes.test().spend()).transpose()?;
        Ok(Spend::composed(plans.iter().map(Plan::spend).chain(test)))
    }

    /// What a reader needs to judge the numbers.
    pub(super) fn header(
        &self,
        prepared: &[Prepared],
        stop: Option<u64>,
        receipt: Option<BudgetReceipt>,
    ) -> Header {
        let mut header = Header::new();
        let plans = || prepared.iter().map(|prepared| &prepared.plan);
        let (epsilon, delta) = self.budget();
        header.record(
            "budget",
            format!("(ε = {epsilon}, δ = {delta:e})-DP for all statistics of all steps together"),
        );
        header.record("neighbours", self.spec.neighbours.to_string());
        if self.nodes.is_none() {
            header.record("rho", Spend::composed(plans().map(Plan::spend)).rho());
        }
        header.record("epsilon", epsilon);
        header.record("delta", delta);
        header.record("calibration", self.spec.budget.calibration.unwrap_or_default().to_string());
        header.record("unit", self.unit_in_words());
        header.record("edges", "a pair of nodes counts once, in the step of its first row, enforced");
        header.record("order", "by time, then by the names of the nodes");
        if let Some(nodes) = &self.nodes {
            let steps = (&self.buckets, &self.times);
            protection::describe(&mut header, nodes, stop, steps, (epsilon, delta));
        } else if self.parts.iter().any(|(statistic, _)| statistic.has_bound()) {
            header.record(
                "max_degree",
                format!("{}, enforced: the first edges of a node count", self.max_degree),
            );
        }
        if let Some(filter) = &self.filter {
            header.record("where", filter.canonical());
        }
        if self.args.inputs.skip_bad_rows {
            header.record("bad_rows", "left out");
        }
        header.record("horizon", self.buckets.steps());
        describe_buckets(&mut header, &self.buckets, &self.times);
        let each = |fact: &dyn Fn(usize, &Plan) -> String| {
            let facts = plans()
                .enumerate()
                .map(|(place, plan)| format!("{} {}", self.parts[place].0, fact(place, plan)));
            facts.collect::<Vec<_>>()
        };
        header.record("share", each(&|place, _| self.parts[place].1.to_string()));
        header.record("change", each(&|place, plan| self.change_in_words(self.parts[place].0, plan)));
        header.record("mechanism", each(&|_, plan| plan.mechanism().to_string()));
        header.record("noise_multiplier", each(&|_, plan| plan.noise_multiplier().to_string()));
        header.record("sensitivity", each(&|_, plan| plan.sensitivity().to_string()));
        let error = |place: usize| prepared[place].rmse().unwrap_or_default();
        header.record("rmse", each(&|place, _| error(place).to_string()));
        header.record(
            "arithmetic",
            plans().map(|plan| plan.arithmetic().to_string()).next().unwrap_or_default(),
        );
        header.record("interval", "95 %");
        if let Some(receipt) = receipt {
            receipt.describe(&mut header);
        }
        header
    }

    fn unit_in_words(&self) -> &'static str {
        match self.args.protect {
            Protect::Edge => "one edge with all of its rows",
            Protect::Node => "one node with all of its edges",
        }
    }

    /// What one protected unit can change.
    fn change_in_words(&self, statistic: Statistic, plan: &Plan) -> String {
        if let Some(nodes) = &self.nodes {
            return protection::change_in_words(nodes, statistic, plan.participation().squares());
        }
        match (statistic, plan.participation().squares()) {
            (Statistic::Degrees, Some(squares)) => {
                format!(
                    "by up to 2 up and 2 down in each of {} counts (squares of {squares})",
                    self.max_degree
                )
            }
            (Statistic::Stars { .. }, Some(squares)) => {
                let each = (squares / 2).isqrt();
                format!("by up to {each} up and {each} down (squares of {squares})")
            }
            (Statistic::Triangles, Some(squares)) => {
                let closed = self.max_degree - 1;
                format!("by up to {closed} up and {} down (squares of {squares})", 2 * closed)
            }
            _ => "by 1 in one step".to_owned(),
        }
    }

    /// ε and δ, which the options always give.
    pub(super) fn budget(&self) -> (f64, f64) {
        let whole = self.args.privacy.budget_spec();
        (whole.epsilon.unwrap_or_default(), whole.delta.unwrap_or_default())
    }
}

/// What one protected unit can change in the amounts of all steps.
fn largest_change(
    statistic: Statistic,
    max_degree: u32,
    nodes: Option<&NodeProtection>,
) -> evertally_stream::Result<Participation> {
    match nodes {
        Some(nodes) => nodes.largest_change(statistic),
        None => statistic.largest_change(max_degree),
    }
}

/// The names of the noise of plans.
fn names(plans: &[Plan]) -> Vec<Vec<u8>> {
    plans.iter().map(|plan| plan.noise_name().as_bytes().to_vec()).collect()
}

/// When a step starts.
pub(super) fn show_step(buckets: &Buckets, times: &TimeReader, step: u64) -> String {
    show_time(times, buckets.start_of(step))
}

/// How the numbers of a statistic are read. Each number of nodes with a degree or more includes those
/// after it.
pub(super) fn reading(statistic: Statistic, max_degree: u32) -> Reading {
    if statistic == Statistic::Degrees { Reading::Nested { rows: max_degree } } else { Reading::Totals }
}

/// The names of a statistic's rows.
fn rows(statistic: Statistic, max_degree: u32) -> Vec<String> {
    if statistic != Statistic::Degrees {
        return vec![statistic.to_string()];
    }
    let exact = (1..max_degree).map(|degree| format!("degree {degree}"));
    exact.chain([format!("degree {max_degree} or more")]).collect()
}

/// The statistics in their own order, which is also that of the rows.
fn statistics(text: &str) -> Result<Vec<Statistic>> {
    let parse = |name: &str| {
        name.trim().parse::<Statistic>().map_err(|_| {
            CliError::bad(format!(
                "--count: expected edges, degrees, stars:K such as stars:2, or triangles, separated by commas, got {}",
                shown(name.trim())
            ))
        })
    };
    let mut statistics = text.split(',').map(parse).collect::<Result<Vec<_>>>()?;
    statistics.sort_unstable();
    match statistics.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => {
            Err(CliError::bad(format!("--count: expected each statistic once, got {} twice", twice[0])))
        }
        None => Ok(statistics),
    }
}

fn max_degree(args: &GraphArgs, statistics: &[Statistic]) -> Result<u32> {
    match (args.max_degree, statistics.iter().find(|statistic| statistic.has_bound())) {
        (Some(0), _) => Err(CliError::bad("--max-degree: expected at least 1, got 0")),
        (Some(bound), Some(_)) => Ok(bound),
        (Some(bound), None) if args.protect == Protect::Node => Ok(bound),
        (None, _) if args.protect == Protect::Node => Err(CliError::bad(
            "--protect node needs --max-degree D: otherwise one node could change the numbers without bound",
        )),
        (Some(_), None) => {
            Err(CliError::bad("--max-degree has no effect on the number of edges: leave it out"))
        }
        (None, Some(statistic)) => Err(CliError::bad(format!(
            "--count {statistic} needs --max-degree D: otherwise one edge could change it without bound"
        ))),
        (None, None) => Ok(1),
    }
}

/// The error for a bound that a statistic cannot have, with the names of the options.
fn refusal(statistic: Statistic, error: &evertally_stream::Error) -> CliError {
    CliError::bad(format!("--count {statistic} with this --max-degree: {error}"))
}

fn ends(text: &str) -> Result<[&str; 2]> {
    let columns: Vec<&str> = text.split(',').map(str::trim).collect();
    match columns[..] {
        [one, other] if one == other => {
            Err(CliError::bad(format!("--nodes: expected two different columns, got {} twice", shown(one))))
        }
        [one, other] if !one.is_empty() && !other.is_empty() => Ok([one, other]),
        _ => {
            Err(CliError::bad(format!("--nodes: expected two columns such as from,to, got {}", shown(text))))
        }
    }
}

/// The share of each statistic.
fn shares(text: Option<&str>, statistics: &[Statistic]) -> Result<Vec<f64>> {
    let Some(text) = text else { return Ok(vec![1.0; statistics.len()]) };
    let mut shares = vec![None; statistics.len()];
    for part in text.split(',') {
        let refuse = || {
            let part = shown(part.trim());
            CliError::bad(format!(
                "--share: expected a statistic of --count and a number above zero, such as edges=1, got {part}"
            ))
        };
        let (name, share) = part.split_once('=').ok_or_else(refuse)?;
        let statistic = name.trim().parse::<Statistic>().map_err(|_| refuse())?;
        let share = share
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|share| (1e-6..=1e6).contains(share))
            .ok_or_else(refuse)?;
        let place = statistics.iter().position(|other| *other == statistic).ok_or_else(refuse)?;
        if shares[place].replace(share).is_some() {
            return Err(CliError::bad(format!(
                "--share: expected each statistic once, got {statistic} twice"
            )));
        }
    }
    let named = statistics.iter().zip(shares);
    let each = named.map(|(statistic, share)| {
        share.ok_or_else(|| {
            CliError::bad(format!("--share: expected a part for each statistic, got none for {statistic}"))
        })
    });
    each.collect()
}
