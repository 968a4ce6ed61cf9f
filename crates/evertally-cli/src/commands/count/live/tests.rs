//! A clock and an input that a script moves.

use super::*;
use crate::commands::count::options::CountArgs;
use crate::commands::count::task::Task;
use crate::input::{Cell, Row};
use clap::Parser;
use std::cell::Cell as Shared;

const SECOND: i64 = 1_000_000;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: CountArgs,
}

fn args(options: &str) -> CountArgs {
    let line =
        format!("count - --time t --every 1s --from 1970-01-01 --epsilon 1 --delta 1e-6 --follow {options}");
    Line::parse_from(line.split(' ')).args
}

/// What happens next: an event of this second comes after so many, or the input ends.
#[derive(Clone, Copy)]
enum Next {
    Event { after: i64, second: i64 },
    End { after: i64 },
}
use Next::{End, Event};

/// The releases as (second by the clock, step, total).
fn released(options: &str, script: &[Next]) -> Vec<(i64, u64, f64)> {
    let args = args(options);
    let task = Task::from_args(&args).unwrap();
    let clock = Shared::new(0);
    let mut script = script.iter().copied().peekable();
    let mut passed = 0;
    let mut releases = Vec::new();
    let mut wait = |longest: Duration| {
        let longest = i64::try_from(longest.as_micros()).unwrap().min(SECOND);
        let due = match script.peek() {
            Some(Event { after, .. } | End { after }) => after * SECOND - passed,
            None => i64::MAX,
        };
        if due > longest {
            passed += longest;
            clock.set(clock.get() + longest);
            return Ok(NextRow::Nothing);
        }
        passed = 0;
        clock.set(clock.get() + due);
        Ok(match script.next() {
            Some(Event { second, .. }) => {
                NextRow::Row(Row { line: 2, cells: vec![Cell::Time(second * SECOND)], file: None })
            }
            _ => NextRow::End,
        })
    };
    let live = clocked(&task, task.buckets().unwrap().clone()).unwrap().unwrap();
    let left_out = LeftOut::while_following(&task);
    close_by_clock(live, EventRow::new(&task, "line"), left_out, &mut wait, &|| clock.get(), &mut |closed| {
        releases.extend(closed.map(|closed| (clock.get() / SECOND, closed.step, closed.totals[0].to_f64())));
        Ok(())
    })
    .unwrap();
    releases
}

/// `--horizon unbounded` once ended with the bucket of the last event, which help and threat model
/// call private: an event eight hours in published nine lines, and without it there were three. Now
/// lines come by the clock.
#[test]
fn the_last_event_decides_neither_how_many_steps_there_are_nor_when() {
    let options = "--horizon unbounded --lag 2s";
    let first = Event { after: 1, second: 0 };
    let without = released(options, &[first, End { after: 8 }]);
    assert_eq!(
        without,
        [(3, 0, 1.0), (4, 1, 0.0), (5, 2, 0.0), (6, 3, 0.0), (7, 4, 0.0), (8, 5, 0.0), (9, 6, 0.0)]
    );
    let places =
        |releases: &[(i64, u64, f64)]| releases.iter().map(|&(at, step, _)| (at, step)).collect::<Vec<_>>();
    for second in 0..12 {
        let with = released(options, &[first, Event { after: 1, second }, End { after: 7 }]);
        assert_eq!(places(&with), places(&without), "an event of second {second}");
        // It counts if its bucket had begun by the clock and the lag.
        assert_eq!(with.iter().map(|release| release.2).sum::<f64>(), if second <= 4 { 2.0 } else { 1.0 });
    }
}

#[test]
fn what_ends_first_ends_it() {
    let ends =
        |options: &str, after| released(options, &[End { after }]).last().map(|&(at, step, _)| (at, step));
    let until = "--horizon unbounded --until 1970-01-01T00:00:05Z --lag 1s";
    assert_eq!(ends(until, 100), Some((6, 4)), "the clock has passed --until and the lag");
    assert_eq!(ends(until, 4), Some((4, 2)), "the input has ended before");
    assert_eq!(ends("--horizon 3 --lag 1s", 100), Some((4, 2)));
    assert_eq!(ends("--horizon 3 --lag 1s", 1), None);
}
