//! For any options: if two runs count anything differently, their noise is independent.
//!
//! Options are drawn at random, given to the real parser, planned, and run on real rows up to the
//! closed steps. Two runs whose noise has the same name must have counted the same, in steps of the
//! same time and for the same keys.

use super::options::CountArgs;
use super::task::Task;
use super::{feed, live};
use crate::input;
use crate::mechanism::Prepared;
use clap::Parser;
use evertally_stream::{ClosedStep, Follow};
use proptest::prelude::*;
use std::cell::Cell;
use std::io::Write;

/// Rows on which options make a difference: two persons with several events, one without a name,
/// copies, values beyond clamps, keys that some runs declare and others do not, an event that is
/// late, and ends of ranges.
const ROWS: &str = "t,u,n,m,k,p,i\n\
    2026-01-05T00:10:00Z,2026-01-05T01:10:00Z,1,2,a,x,1\n\
    2026-01-05T00:40:00Z,2026-01-05T00:40:00Z,-3,1,b,y,2\n\
    2026-01-05T00:40:00Z,2026-01-05T00:41:00Z,2,2,b,x,2\n\
    2026-01-05T01:10:00Z,2026-01-05T02:10:00Z,5,0,c,x,3\n\
    2026-01-05T02:20:00Z,2026-01-05T02:50:00Z,1,1,a,,4\n\
    2026-01-05T01:50:00Z,2026-01-05T01:50:00Z,1,3,a,z,5\n\
    2026-01-05T03:30:00Z,2026-01-05T03:10:00Z,2,1,b,y,1\n";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: CountArgs,
}

/// Alternatives, of which one is used.
type Choices = &'static [&'static str];

/// What is counted if rows are events.
const OF_EVENTS: [Choices; 11] = [
    &["--time t", "--time u"],
    &["--every 1h", "--every 2h", "--every 30m", "--every 1d"],
    &["--from 2026-01-05", "--from 2026-01-04T23:00:00Z"],
    &[
        "--horizon 8",
        "--horizon 9",
        "--to 2026-01-05T08:00:00Z",
        "--horizon unbounded --until 2026-01-05T08:00:00Z",
    ],
    &[
        "",
        "--value n --clamp=0,1",
        "--value n --clamp=-1,3",
        "--value n --clamp=-3,1",
        "--value m --clamp=0,1",
        "--mean n --clamp=0,1",
        "--mean n --clamp=-1,3",
        "--mean m --clamp=0,1",
    ],
    &[
        "",
        "--group-by k --groups a",
        "--group-by k --groups a,b",
        "--group-by k --groups b,a",
        "--group-by k --groups a,b,c",
    ],
    &[
        "",
        "--person p --max-steps 1",
        "--person p --max-steps 2",
        "--person p --max-steps 2 --min-gap 3",
        "--id i",
    ],
    &["", "--where n>0", "--where n>1", "--where k='a'", "--where not(n>0)"],
    &["", "--skip-bad-rows"],
    &["", "--follow", "--follow --lag 1h", "--follow --lag 2h"],
    &[
        "",
        "--timezone Asia/Kathmandu",
        "--timezone Asia/Tokyo",
        // The letter Z is taken literally here, so the times are local ones.
        "--time-format %Y-%m-%dT%H:%M:%SZ",
        "--timezone Asia/Tokyo --time-format %Y-%m-%dT%H:%M:%SZ",
    ],
];

/// What is counted if rows are steps.
const OF_ROWS: [Choices; 4] = [
    &["--value n", "--value m"],
    &["", "--clamp=0,1", "--clamp=-1,3", "--clamp=-3,1"],
    &["", "--horizon 7", "--horizon 8", "--horizon unbounded"],
    &["", "--max-steps 2"],
];

/// How noise is made, and what is done to releases afterwards, which changes no noise.
const OF_NOISE: [Choices; 6] = [
    &["--epsilon 1 --delta 1e-6", "--epsilon 2 --delta 1e-6", "--epsilon 1 --delta 1e-7"],
    &["", "--neighbours replace", "--calibration zcdp"],
    &["", "--window 2", "--decay 0.5"],
    &["", "--grid 0.5", "--whole", "--arithmetic float"],
    &["", "--objective worst", "--mechanism binary", "--mechanism square-root"],
    &["", "--round", "--non-negative"],
];

/// Options, one of each kind.
#[derive(Debug, Clone)]
struct Typed(Vec<(Choices, usize)>);

impl Typed {
    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|(choices, chosen)| choices[*chosen].split_whitespace())
    }

    /// All options that differ in one choice.
    fn neighbours(&self) -> impl Iterator<Item = Self> {
        let places =
            (0..self.0.len()).flat_map(|place| (0..self.0[place].0.len()).map(move |other| (place, other)));
        places.filter(|(place, other)| self.0[*place].1 != *other).map(|(place, other)| {
            let mut neighbour = self.clone();
            neighbour.0[place].1 = other;
            neighbour
        })
    }
}

fn typed() -> impl Strategy<Value = Typed> {
    let kinds = prop_oneof![Just(OF_EVENTS.to_vec()), Just(OF_ROWS.to_vec())];
    let chosen = prop::collection::vec(any::<prop::sample::Index>(), OF_EVENTS.len() + OF_NOISE.len());
    (kinds, chosen).prop_map(|(mut kinds, chosen)| {
        kinds.extend(OF_NOISE);
        Typed(
            kinds
                .into_iter()
                .zip(chosen)
                .map(|(choices, index)| (choices, index.index(choices.len())))
                .collect(),
        )
    })
}

/// What a run counts: its steps with their times, and its keys.
#[derive(PartialEq)]
struct Counted {
    steps: Vec<ClosedStep>,
    starts: Vec<Option<i64>>,
    keys: Option<Vec<String>>,
}

/// The name of a run's noise, and what it counts. `None` if the options are refused, as many are.
fn run(file: &std::path::Path, typed: &Typed) -> Option<(evertally::NoiseName, Counted)> {
    let words = ["count", file.to_str()?, "--outside", "drop"].into_iter().map(str::to_owned);
    let words = words.chain(typed.words().map(str::to_owned));
    let args = Line::try_parse_from(words).ok()?.args;
    let task = Task::from_args(&args).ok()?;
    let mut reader = input::open(file, args.inputs.layout(), &task.columns(), false).ok()?;
    let (horizon, steps) = match task.buckets().cloned() {
        Some(buckets) if task.lag.is_some() => {
            // All events are long past, and so is every step: nothing of them is left to count.
            let mut live = live::clocked(&task, buckets).ok()??;
            (task.horizon()?, live.advance_to(i64::MAX).collect())
        }
        Some(buckets) if args.follow => {
            let mut follow = Follow::new(buckets, task.rules());
            let mut steps = Vec::new();
            feed::each_event(&task, reader.as_mut(), |event| {
                if let Ok(pushed) = follow.push(event) {
                    steps.extend(pushed.closed);
                }
            })
            .ok()?;
            steps.extend(follow.finish());
            (task.horizon()?, steps)
        }
        Some(buckets) => {
            let gathered = feed::gather_events(&task, buckets, reader.as_mut()).ok()?;
            (task.horizon()?, gathered.collect())
        }
        None => {
            let (count, closed, rest) = feed::read_rows(&task, reader.as_mut()).ok()?;
            let horizon = task.horizon().unwrap_or(count.into());
            (horizon, closed.into_iter().chain(rest).collect::<Vec<_>>())
        }
    };
    let prepared =
        Prepared::new(&task.spec_for(horizon), task.post_processing.clone(), task.intervals()).ok()?;
    let start = |step: &ClosedStep| task.buckets().map(|buckets| buckets.start_of(step.step));
    let starts = steps.iter().map(start).collect();
    // The order in which keys are declared affects only the order of the output.
    let names = task.names_of_totals();
    let mut order: Vec<usize> = (0..names.as_ref().map_or(1, Vec::len)).collect();
    let keys = names.map(|names| {
        order.sort_by_key(|at| &names[*at]);
        order.iter().map(|at| names[*at].clone()).collect()
    });
    let sorted =
        |step: ClosedStep| ClosedStep { totals: order.iter().map(|at| step.totals[*at]).collect(), ..step };
    let steps = steps.into_iter().map(sorted).collect();
    Some((prepared.plan.noise_name(), Counted { steps, starts, keys }))
}

#[test]
fn runs_that_count_differently_share_no_noise() {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(ROWS.as_bytes()).unwrap();
    // The runner wants a function that changes nothing; cells may be counted in.
    let [same, different, refused] = [const { Cell::new(0) }; 3];
    let add = |count: &Cell<u32>| count.set(count.get() + 1);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    // Each set beside all of its neighbours: it is one choice that a name could have left out.
    let result = runner.run(&typed(), |one| {
        let Some((name, counted)) = run(file.path(), &one) else {
            add(&refused);
            return Ok(());
        };
        for other in one.neighbours() {
            let Some((other_name, other_counted)) = run(file.path(), &other) else { continue };
            if other_name == name {
                add(&same);
                prop_assert!(other_counted == counted, "{:?} and {:?} share noise", one.0, other.0);
            } else {
                add(&different);
            }
        }
        Ok(())
    });
    result.unwrap();
    // The test has looked at enough of both kinds to mean something.
    let [same, different, refused] = [same, different, refused].map(|count| count.get());
    assert!(same >= 24 && different >= 48, "{same} same, {different} different, {refused} refused");
}
