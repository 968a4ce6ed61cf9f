//! Parallel runs, and the releases kept of each.

use std::sync::{Mutex, PoisonError};

use evertally::{Progress, Result};
use rayon::prelude::*;

use crate::keys::{Keys, Purpose};
use crate::stream::Stream;
use crate::subject::Subject;
use crate::whitening::Whitening;

/// The maximum number of lanes kept of a run, which suffices to test their independence.
const MAX_KEPT_LANES: usize = 4;

/// The number of lanes kept of a subject with `lanes` lanes.
pub(crate) fn kept_lanes(lanes: usize) -> usize {
    lanes.min(MAX_KEPT_LANES)
}

/// The number of finished runs, and the total.
pub(crate) struct Tally<'a> {
    sink: &'a dyn Progress,
    done: Mutex<usize>,
    total: usize,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(sink: &'a dyn Progress, total: usize) -> Self {
        Self { sink, done: Mutex::new(0), total }
    }

    /// Counts one more finished run. The lock is held while reporting, to keep reports in order.
    fn finish_one(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        if done.is_multiple_of((self.total / 100).max(1)) {
            // The end is reported after the last attack.
            self.sink.report(0.99 * *done as f64 / self.total as f64);
        }
    }
}

/// The watched releases of the kept lanes of one run, lane by lane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WatchedReleases {
    lanes: Vec<Vec<f64>>,
}

impl WatchedReleases {
    /// Selects the watched values from a whole run, or from answers.
    pub(crate) fn of(whitening: &Whitening, whole: &[f64], lanes: usize) -> Self {
        let lane = |lane: usize| whitening.steps().iter().map(|&step| whole[step * lanes + lane]).collect();
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

    /// The difference of two runs, or of a run and its answers.
    pub(crate) fn less(&self, other: &Self) -> Self {
        let less = |(ours, theirs): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            ours.iter().zip(theirs).map(|(a, b)| a - b).collect()
        };
        Self { lanes: self.lanes.iter().zip(&other.lanes).map(less).collect() }
    }
}

/// Runs of one stream under separate keys, in the order of the keys.
pub(crate) struct Sample {
    pub(crate) runs: Vec<WatchedReleases>,
    /// The releases of the runs without noise.
    pub(crate) answers: WatchedReleases,
}

impl Sample {
    pub(crate) fn draw(
        subject: &dyn Subject,
        whitening: &Whitening,
        stream: &Stream,
        (keys, purpose): (Keys, Purpose),
        runs: usize,
        tally: &Tally<'_>,
    ) -> Result<Self> {
        let run = |index: usize| {
            let released = subject.run(stream, keys.key(purpose, index as u64)?)?;
            tally.finish_one();
            Ok(WatchedReleases::of(whitening, &released, stream.lanes()))
        };
        let runs = (0..runs).into_par_iter().map(run).collect::<Result<_>>()?;
        let answers = stream.answers(subject.plan().workload());
        Ok(Self { runs, answers: WatchedReleases::of(whitening, &answers, stream.lanes()) })
    }
}
