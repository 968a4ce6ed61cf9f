//! Many runs at once, and what is kept of each.

use std::sync::{Mutex, PoisonError};

use evertally::{Progress, Result};
use rayon::prelude::*;

use crate::keys::{Keys, Purpose};
use crate::lens::Lens;
use crate::stream::Stream;
use crate::subject::Subject;

/// The most lanes that are kept of a run: enough to see whether they are independent.
const MOST_KEPT: usize = 4;

/// Lanes that are kept of a subject with so many.
pub(crate) fn kept_lanes(lanes: usize) -> usize {
    lanes.min(MOST_KEPT)
}

/// The runs that are done, of those that there will be.
pub(crate) struct Tally<'a> {
    sink: &'a dyn Progress,
    done: Mutex<usize>,
    total: usize,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(sink: &'a dyn Progress, total: usize) -> Self {
        Self { sink, done: Mutex::new(0), total }
    }

    /// One more run is done. The lock is held while reporting, which is what keeps reports in order.
    fn finish_one(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        if done.is_multiple_of((self.total / 100).max(1)) {
            // The end is reported when the last attack has been made.
            self.sink.report(0.99 * *done as f64 / self.total as f64);
        }
    }
}

/// The watched releases of one run, of the lanes that are kept, lane by lane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watched {
    lanes: Vec<Vec<f64>>,
}

impl Watched {
    /// Reads from a whole run, or from answers, what is watched.
    pub(crate) fn of(lens: &Lens, whole: &[f64], lanes: usize) -> Self {
        let lane = |lane: usize| lens.steps().iter().map(|&step| whole[step * lanes + lane]).collect();
        Self { lanes: (0..kept_lanes(lanes)).map(lane).collect() }
    }

    pub(crate) fn lane(&self, lane: usize) -> &[f64] {
        &self.lanes[lane]
    }

    pub(crate) fn lanes(&self) -> &[Vec<f64>] {
        &self.lanes
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        self.lanes.iter().flatten().copied()
    }

    /// What lies between two runs, or between a run and its answers.
    pub(crate) fn less(&self, other: &Self) -> Self {
        let less = |(ours, theirs): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            ours.iter().zip(theirs).map(|(a, b)| a - b).collect()
        };
        Self { lanes: self.lanes.iter().zip(&other.lanes).map(less).collect() }
    }
}

/// Runs of one stream under keys of their own, in the order of the keys whatever the threads.
pub(crate) struct Sample {
    pub(crate) runs: Vec<Watched>,
    /// What the runs would have released without noise.
    pub(crate) answers: Watched,
}

impl Sample {
    pub(crate) fn draw(
        subject: &dyn Subject,
        lens: &Lens,
        stream: &Stream,
        (keys, purpose): (Keys, Purpose),
        runs: usize,
        tally: &Tally<'_>,
    ) -> Result<Self> {
        let run = |index: usize| {
            let released = subject.run(stream, keys.key(purpose, index as u64)?)?;
            tally.finish_one();
            Ok(Watched::of(lens, &released, stream.lanes()))
        };
        let runs = (0..runs).into_par_iter().map(run).collect::<Result<_>>()?;
        let answers = stream.answers(subject.plan().workload());
        Ok(Self { runs, answers: Watched::of(lens, &answers, stream.lanes()) })
    }
}
