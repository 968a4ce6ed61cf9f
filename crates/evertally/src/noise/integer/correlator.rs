//! From integer white noise to the integer noise that is released.

use std::sync::Arc;

use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::field::{AsDoubles, IntegerField};
use super::filter::Filter;
use super::steps::{StepNumbers, StepReader};
use crate::Result;
use crate::noise::{Correlator, WhiteField, misfit, restore_numbers};

/// Produces the integer noise of each step in order, for every lane. It never sees data.
pub(crate) trait IntegerCorrelator: Send {
    /// Writes the noise of step t, where t is the number of earlier calls. Must not be called more
    /// often than the horizon has steps.
    fn next(&mut self, out: &mut [i128]);

    /// The numbers that, together with the step, make up the state. Raw noise can be computed from
    /// them.
    fn save(&self) -> Vec<i128>;

    /// Continues after `step` calls of `next` from the numbers that `save` returned at that point.
    ///
    /// # Errors
    /// [`crate::Error::BadState`] if the numbers cannot be such a state.
    fn restore(&mut self, step: u64, saved: &[i128]) -> Result<()>;
}

/// Lanes that one thread handles at a time. With fewer lanes, one thread handles all.
const LANES_PER_THREAD: usize = 64;

/// Steps that a single lane draws at a time: one for each cipher block that is made side by side.
const BURST: u64 = 16;

/// Steps of a single lane with their draws, in reverse order.
#[derive(Default)]
struct Burst(Vec<(StepNumbers, i64)>);

impl Burst {
    /// The step and its draw. Draws are a function of the step, so a burst may be discarded at any
    /// time.
    fn next(&mut self, step: u64, steps: &mut StepReader, field: &IntegerField) -> (StepNumbers, i64) {
        if let Some(next) = self.0.pop() {
            return next;
        }
        let burst = step..steps.horizon().min(step + BURST);
        let numbers: Vec<StepNumbers> = burst.map(|step| steps.at(step)).collect();
        let scales: Vec<u64> = numbers.iter().map(|numbers| numbers.scale).collect();
        let mut draws = vec![0; scales.len()];
        field.column(0, step, &scales, &mut draws);
        self.0.extend(numbers.into_iter().zip(draws.iter().copied()).rev());
        draws.zeroize();
        self.0.pop().expect("a burst begins below the horizon")
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|(_, draw)| draw.zeroize());
    }
}

/// Runs the reversible filter over the lanes of a field.
pub(crate) struct FilterCorrelator {
    filter: Filter,
    steps: StepReader,
    field: IntegerField,
    step: u64,
    /// The numbers of each lane, lane by lane.
    lanes: Zeroizing<Vec<i128>>,
    /// Used for a single lane only.
    burst: Burst,
}

impl FilterCorrelator {
    pub(crate) fn new(filter: Filter, steps: StepReader, field: IntegerField) -> Self {
        let lanes = Zeroizing::new(vec![0; filter.rows() * field.width()]);
        Self { filter, steps, field, step: 0, lanes, burst: Burst::default() }
    }
}

impl IntegerCorrelator for FilterCorrelator {
    fn next(&mut self, out: &mut [i128]) {
        if let [noise] = out {
            let (numbers, z) = self.burst.next(self.step, &mut self.steps, &self.field);
            *noise = self.filter.step(&mut self.lanes, &numbers, |_| i128::from(z));
            self.step += 1;
            return;
        }
        let numbers = self.steps.at(self.step);
        let (filter, field, step, rows) = (&self.filter, &self.field, self.step, self.filter.rows());
        let work = |part: usize, out: &mut [i128], lanes: &mut [i128]| {
            let first = part * LANES_PER_THREAD;
            let mut draws = [0; LANES_PER_THREAD];
            let draws = &mut draws[..out.len()];
            field.draw(step, numbers.scale, first..first + out.len(), draws);
            for (i, (noise, z)) in out.iter_mut().zip(draws.iter()).enumerate() {
                let z = i128::from(*z);
                *noise = filter.step(&mut lanes[i * rows..(i + 1) * rows], &numbers, |_| z);
            }
            draws.zeroize();
        };
        if out.len() <= LANES_PER_THREAD {
            work(0, out, &mut self.lanes);
        } else if rows == 0 {
            let parts = out.par_chunks_mut(LANES_PER_THREAD).enumerate();
            parts.for_each(|(part, out)| work(part, out, &mut []));
        } else {
            let parts =
                out.par_chunks_mut(LANES_PER_THREAD).zip(self.lanes.par_chunks_mut(LANES_PER_THREAD * rows));
            parts.enumerate().for_each(|(part, (out, lanes))| work(part, out, lanes));
        }
        self.step += 1;
    }

    fn save(&self) -> Vec<i128> {
        self.lanes.to_vec()
    }

    fn restore(&mut self, step: u64, saved: &[i128]) -> Result<()> {
        restore_numbers(&mut self.lanes, saved)?;
        self.step = step;
        self.burst = Burst::default();
        Ok(())
    }
}

/// Sums of draws, which are exact in doubles: the correlator of a tree, on integers below 2^53.
pub(crate) struct SumCorrelator {
    sums: Box<dyn Correlator>,
    row: Zeroizing<Vec<f64>>,
}

impl SumCorrelator {
    /// `sums` creates the correlator of a field.
    pub(crate) fn new(
        field: IntegerField,
        scale: u64,
        sums: impl FnOnce(Arc<dyn WhiteField>) -> Box<dyn Correlator>,
    ) -> Self {
        let row = Zeroizing::new(vec![0.0; field.width()]);
        Self { sums: sums(Arc::new(AsDoubles { field, scale })), row }
    }
}

impl IntegerCorrelator for SumCorrelator {
    fn next(&mut self, out: &mut [i128]) {
        self.sums.next(&mut self.row);
        for (integer, value) in out.iter_mut().zip(self.row.iter()) {
            debug_assert!(value.fract() == 0.0 && value.abs() < libm::exp2(53.0));
            *integer = *value as i128;
        }
    }

    fn save(&self) -> Vec<i128> {
        Zeroizing::new(self.sums.save()).iter().map(|value| *value as i128).collect()
    }

    fn restore(&mut self, step: u64, saved: &[i128]) -> Result<()> {
        // The plan ensures that all draws of a sum, each at 256 of its standard deviations, stay
        // below 2^53. No number of a lane comes near its share of half of that, and numbers within
        // that share can be added up safely.
        let rows = (saved.len() / self.row.len()).max(1) as u128;
        if saved.iter().any(|value| value.unsigned_abs() > (1 << 52) / rows) {
            return Err(misfit());
        }
        let doubles = Zeroizing::new(saved.iter().map(|value| *value as f64).collect::<Vec<_>>());
        self.sums.restore(step, &doubles)
    }
}
