//! Releases of integer totals and integer noise.

use crate::noise::integer::{IntegerCorrelator, are_within_reach};
use crate::plan::Exact;
use crate::resolution::Resolution;
use zeroize::{Zeroize, Zeroizing};

/// Makes a release from a total and its noise. Both are integers, and their sum is rounded to the
/// public grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntegerRelease {
    /// The number of bits by which totals are finer than noise. Totals are rounded to the units of
    /// the noise first.
    finer: u32,
    unit: Resolution,
    grid: f64,
    /// Bits from units to the grid, if that is a power of two.
    to_grid: Option<u32>,
}

impl IntegerRelease {
    /// For totals in these units.
    pub(super) fn new(exact: &Exact, totals: Resolution) -> Self {
        let to_grid = exact.unit.bits_to(exact.grid).filter(|bits| (1..100).contains(bits));
        Self { finer: totals.bits_below(exact.unit), unit: exact.unit, grid: exact.grid, to_grid }
    }

    /// A total in the units of the noise.
    pub(super) fn in_noise_units(&self, total: i128) -> i128 {
        nearest(total, self.finer)
    }

    /// The release.
    pub(super) fn of(&self, total: i128, noise: i128) -> f64 {
        let sum = self.in_noise_units(total) + noise;
        match self.to_grid {
            Some(bits) => nearest(sum, bits) as f64 * self.grid,
            // Adding zero turns −0 into 0.
            None => (self.unit.value(sum) / self.grid).round() * self.grid + 0.0,
        }
    }
}

/// The integer nearest to value/2^bits.
fn nearest(value: i128, bits: u32) -> i128 {
    if bits == 0 { value } else { (value + (1 << (bits - 1))) >> bits }
}

/// Integer noise, one row ahead of the data: it is drawn before the inputs of its step are known.
pub(super) struct IntegerRows {
    correlator: Box<dyn IntegerCorrelator>,
    pub(super) ahead: Zeroizing<Vec<i128>>,
    pub(super) release: IntegerRelease,
}

impl IntegerRows {
    /// Draws the first row.
    pub(super) fn new(
        mut correlator: Box<dyn IntegerCorrelator>,
        width: usize,
        release: IntegerRelease,
    ) -> Self {
        let mut ahead = Zeroizing::new(vec![0; width]);
        correlator.next(&mut ahead);
        Self { correlator, ahead, release }
    }

    /// Draws the next row, if there is one.
    pub(super) fn draw(&mut self, is_last: bool) {
        if is_last {
            self.ahead.iter_mut().for_each(Zeroize::zeroize);
        } else {
            self.correlator.next(&mut self.ahead);
        }
    }

    /// The state as words: the correlator's, then the row ahead.
    pub(super) fn save(&self) -> Vec<u64> {
        let state = Zeroizing::new(self.correlator.save());
        let mut words = Vec::with_capacity(2 * (state.len() + self.ahead.len()));
        words.extend(
            state.iter().chain(self.ahead.iter()).flat_map(|number| [*number as u64, (number >> 64) as u64]),
        );
        words
    }

    /// Continues after `step` steps. `None` if the words do not fit.
    pub(super) fn restore(&mut self, step: u64, horizon: u64, words: &[u64]) -> Option<()> {
        let (pairs, []) = words.as_chunks::<2>() else { return None };
        let number = |[low, high]: &[u64; 2]| (u128::from(*high) << 64 | u128::from(*low)) as i128;
        let numbers: Zeroizing<Vec<i128>> = Zeroizing::new(pairs.iter().map(number).collect());
        let state = numbers.len().checked_sub(self.ahead.len())?;
        if !are_within_reach(&numbers) {
            return None;
        }
        self.correlator.restore((step + 1).min(horizon), &numbers[..state]).ok()?;
        self.ahead.copy_from_slice(&numbers[state..]);
        Some(())
    }
}
