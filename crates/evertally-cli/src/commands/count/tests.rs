//! Whatever two people type: where two runs count anything differently, their noise is independent.
//!
//! Options are drawn at random, given to the real parser, planned, and run on real rows up to the closed steps. Two runs
//! whose noise has the same name must have counted the same, in steps of the same time and for the same keys.

use super::options::CountArgs;
use super::task::Task;
use super::{feed, live};
use crate::input;
use crate::mechanism::{Horizon, Prepared};
use clap::Parser;
use evertally_stream::{ClosedStep, Follow};
use proptest::prelude::*;
use std::cell::Cell;
use std::io::Write;

/// Rows on which options make a difference: two persons with several events, one without a name, copies, values beyond
/// clamps, keys that some runs declare and others do not, an event that is late, and ends of ranges.
const ROWS: &str = "t,u,n,m,k,p,i\n\
    2026-01-05T00:10:00Z,2026-01-05T01:10:00Z,1,2,a,x,1\n\
    2026-01-05T00:40:00Z,2026-01-05T00:40:00Z,-3,1,b,y,2\n\
    2026-01-05T00:40:00Z,2026-01-05T00:41:00Z,2,2,b,x,2\n\
    2026-01-05T01:10:00Z,2026-01-05T02:10:00Z,5,0,c,x,3\n\
    2026-01-05T02:20:00Z,2026-01-05T02:50:00Z,1,1,a,,4\n\
    2026-01-05T01:50:00Z,2026-01-05T01:50:00Z,1,3,a,z,5\n\
    2026-01-05T03:30:00Z,2026-01-05T03:10:00Z,2,1,b,y,1\n";

#[derive(Debug, Clone)]
struct Typed(Vec<String>);

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: CountArgs,
}

/// One of some ways to say something, or nothing.
fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    (0..choices.len()).prop_map(move |at| choices[at])
}

fn typed() -> impl Strategy<Value = Typed> {
    let events = (
        one_of(&["--time t", "--time u"]),
        one_of(&["--every 1h", "--every 2h", "--every 30m"]),
        one_of(&["--from 2026-01-05", "--from 2026-01-04T23:00:00Z"]),
        one_of(&[
            "--steps 8",
            "--steps 9",
            "--to 2026-01-05T08:00:00Z",
            "--steps unbounded --until 2026-01-05T08:00:00Z",
        ]),
        one_of(&[
            "",
            "",
            "--value n --clamp=0,1",
            "--value n --clamp=-1,3",
            "--value n --clamp=-3,1",
            "--value m --clamp=0,1",
        ]),
        one_of(&[
            "",
            "",
            "--key k --keys a",
            "--key k --keys a,b",
            "--key k --keys b,a",
            "--key k --keys a,b,c",
        ]),
        one_of(&[
            "",
            "",
            "--person p --max-steps 1",
            "--person p --max-steps 2",
            "--person p --max-steps 2 --min-gap 3",
        ]),
        one_of(&["", "", "--id i"]),
        one_of(&["", "", "--follow", "--follow --lag 1h", "--follow --lag 2h"]),
    );
    let events = events.prop_map(|(a, b, c, d, e, f, g, h, i)| vec![a, b, c, d, e, f, g, h, i]);
    let rows = (
        one_of(&["--value n", "--value m"]),
        one_of(&["", "--clamp=0,1", "--clamp=-1,3", "--clamp=-3,1"]),
        one_of(&["", "--steps 7", "--steps 8", "--steps unbounded"]),
        one_of(&["", "--max-steps 2"]),
    );
    let rows = rows.prop_map(|(a, b, c, d)| vec![a, b, c, d]);
    let noise = (
        one_of(&["--epsilon 1 --delta 1e-6", "--epsilon 2 --delta 1e-6", "--epsilon 1 --delta 1e-7"]),
        one_of(&["", "", "--neighbours replace"]),
        one_of(&["", "", "--calibration zcdp"]),
        one_of(&["", "", "--window 2", "--decay 0.5"]),
        one_of(&["", "", "--grid 0.5", "--arithmetic float"]),
        one_of(&["", "", "--objective worst", "--mechanism binary", "--mechanism square-root"]),
        // What is done to releases afterwards changes no noise.
        one_of(&["", "--round", "--non-negative"]),
    );
    let noise = noise.prop_map(|(a, b, c, d, e, f, g)| vec![a, b, c, d, e, f, g]);
    let counted = prop_oneof![3 => events, 1 => rows];
    (counted, noise).prop_map(|(counted, noise)| {
        let all = counted.into_iter().chain(noise).flat_map(str::split_whitespace);
        Typed(all.map(str::to_owned).collect())
    })
}

/// What a run counts: its steps with their times, for which keys.
#[derive(PartialEq)]
struct Counted {
    steps: Vec<ClosedStep>,
    starts: Vec<Option<i64>>,
    keys: Option<Vec<String>>,
}

/// The name of a run's noise, and what it counts; nothing where the options are refused, as many are.
fn run(file: &std::path::Path, typed: &Typed) -> Option<(evertally::NoiseName, Counted)> {
    let words = ["count".to_owned(), file.to_str()?.to_owned(), "--outside".to_owned(), "drop".to_owned()];
    let args = Line::try_parse_from(words.iter().chain(&typed.0)).ok()?.args;
    let task = Task::from_args(&args).ok()?;
    let mut reader = input::open(file, None, &task.columns(), false).ok()?;
    let (horizon, steps) = match task.buckets().copied() {
        Some(buckets) if task.lag.is_some() => {
            // All events are long past, and so is every step: nothing of them is left to count.
            let mut live = live::clocked(&task, buckets).ok()??;
            (task.horizon()?, live.advance_to(i64::MAX).collect())
        }
        Some(buckets) if args.follow => {
            let mut follow = Follow::new(buckets, task.admission().ok()?);
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
            let horizon = task.horizon().unwrap_or(Horizon::Steps(count));
            (horizon, closed.into_iter().chain(rest).collect::<Vec<_>>())
        }
    };
    let prepared = Prepared::new(&task.request(horizon)).ok()?;
    let start = |step: &ClosedStep| task.buckets().map(|buckets| buckets.start_of(step.step));
    let starts = steps.iter().map(start).collect();
    // The order in which keys are declared is the order of the output, and nothing else.
    let mut order: Vec<usize> = (0..task.keys.as_ref().map_or(1, |keys| keys.names().len())).collect();
    let keys = task.keys.as_ref().map(|keys| {
        order.sort_by_key(|at| &keys.names()[*at]);
        order.iter().map(|at| keys.names()[*at].clone()).collect()
    });
    let sorted =
        |step: ClosedStep| ClosedStep { totals: order.iter().map(|at| step.totals[*at]).collect(), ..step };
    let steps = steps.into_iter().map(sorted).collect();
    Some((prepared.noise_name(), Counted { steps, starts, keys }))
}

#[test]
fn runs_that_count_differently_share_no_noise() {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(ROWS.as_bytes()).unwrap();
    // The runner wants a function that changes nothing; cells may be counted in.
    let [same, different, refused] = [const { Cell::new(0) }; 3];
    let add = |count: &Cell<u32>| count.set(count.get() + 1);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    // Pairs that differ in one word or in few are those that matter: each set is taken beside some of its neighbours.
    let pair = (typed(), typed(), prop::collection::vec(any::<prop::sample::Index>(), 1..4));
    let result = runner.run(&pair, |(one, two, cuts)| {
        let Some((name, counted)) = run(file.path(), &one) else {
            add(&refused);
            return Ok(());
        };
        let mut others = vec![one.clone(), two.clone()];
        for cut in cuts {
            // The beginning of one set and the end of the other.
            let (a, b) = (cut.index(one.0.len() + 1), cut.index(two.0.len() + 1));
            others.push(Typed(one.0[..a].iter().chain(&two.0[b..]).cloned().collect()));
        }
        for other in others {
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
    assert!(same >= 48 && different >= 48, "{same} same, {different} different, {refused} refused");
}
