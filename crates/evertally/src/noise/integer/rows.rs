//! The reversible filter of a decoder that is written out.
//!
//! **Definition.** L̃ = L diag(1/L\[j,j\]) has ones on its diagonal. At step t, with z the draws so far,
//!
//! > p = round(Σ_{j<t} L̃\[t,j\] z_j),  u = z_t + p,
//!
//! with every product rounded down to parts of 2⁻⁴⁰. u is the noise of the step, and z_t has the
//! standard deviation ⌈s·L\[t,t\]⌉. p depends on earlier draws only, so z_t = u − p: draws and noise
//! determine each other, step by step, in integers, as in [`super::filter`].
//!
//! **Guarantee.** |u − L̃z| ≤ [`Rows::rounding`] at every step, for the entries of L̃ as doubles.
//!
//! **Cost.** 16 bytes per step and lane, n²/2 numbers in common, and t products at step t. The draws
//! are a function of the key, so they are made again when a counter is resumed.

use std::sync::Arc;

use zeroize::{Zeroize, Zeroizing};

use super::correlator::IntegerCorrelator;
use super::factor::Factor;
use super::field::IntegerField;
use super::filter::{FRACTION, rounded};
use super::steps::integer_scale;
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::misfit;

/// L̃, and the diagonal of L.
#[derive(Clone)]
#[doc(hidden)]
pub struct Rows {
    /// The entries of each row before its one.
    rows: Arc<[Vec<Factor>]>,
    diagonal: Arc<[f64]>,
    /// The largest Σ_j |L̃\[t,j\]|.
    largest_sum: f64,
}

impl Rows {
    /// A lower-triangular decoder with a positive diagonal.
    pub(crate) fn new(decoder: &Matrix) -> Self {
        let n = decoder.rows();
        let diagonal: Arc<[f64]> = (0..n).map(|t| decoder.row(t)[t]).collect();
        let row = |t: usize| decoder.row(t)[..t].iter().zip(&*diagonal);
        let sums = (0..n).map(|t| 1.0 + row(t).map(|(entry, own)| (entry / own).abs()).sum::<f64>());
        let largest_sum = sums.fold(0.0, f64::max);
        let rows = (0..n).map(|t| row(t).map(|(entry, own)| Factor::new(entry / own)).collect()).collect();
        Self { rows, diagonal, largest_sum }
    }

    /// Whether every p fits its 128 bits: draws are below 2^57, and have [`FRACTION`] fractional bits.
    pub(crate) fn are_within_reach(&self) -> bool {
        // One bit is left for the roundings of the sum.
        libm::scalbn(self.largest_sum, 57 + FRACTION as i32) < libm::exp2(125.0)
    }

    pub(crate) fn horizon(&self) -> u64 {
        self.diagonal.len() as u64
    }

    /// The largest L\[t,t\].
    pub(crate) fn largest(&self) -> f64 {
        self.diagonal.iter().copied().fold(0.0, f64::max)
    }

    /// The bound on |u − L̃z|, in integer units: one part per product, and the last rounding.
    pub(crate) fn rounding(&self) -> f64 {
        0.5 + 1.01 * self.diagonal.len() as f64 * libm::exp2(-f64::from(FRACTION))
    }

    /// The standard deviation of the draw of a step.
    pub(super) fn scale(&self, step: u64, scale: f64) -> u64 {
        integer_scale(scale * self.diagonal[step as usize])
    }

    /// p, from the draws of all earlier steps.
    pub(super) fn expected(&self, draws: impl Iterator<Item = i64>) -> i128 {
        let draws: Zeroizing<Vec<i64>> = Zeroizing::new(draws.collect());
        let entries = &self.rows[draws.len()];
        let past = entries.iter().zip(draws.iter()).map(|(entry, z)| entry.times(i128::from(*z) << FRACTION));
        rounded(past.sum())
    }
}

/// Runs a decoder that is written out over the lanes of a field.
pub(crate) struct RowsCorrelator {
    rows: Rows,
    scale: f64,
    field: IntegerField,
    /// The draws so far, step by step.
    drawn: Zeroizing<Vec<i64>>,
}

impl RowsCorrelator {
    pub(crate) fn new(rows: Rows, scale: f64, field: IntegerField) -> Self {
        // Reserved once: growing would leave copies behind that are not wiped.
        let drawn = Zeroizing::new(Vec::with_capacity(rows.horizon() as usize * field.width()));
        Self { rows, scale, field, drawn }
    }

    /// The number of steps drawn.
    fn step(&self) -> usize {
        self.drawn.len() / self.field.width()
    }

    fn draw(&mut self) {
        let (step, width) = (self.step() as u64, self.field.width());
        let mut draws = vec![0; width];
        self.field.draw(step, self.rows.scale(step, self.scale), 0..width, &mut draws);
        self.drawn.extend_from_slice(&draws);
        draws.zeroize();
    }
}

impl IntegerCorrelator for RowsCorrelator {
    fn next(&mut self, out: &mut [i128]) {
        let (earlier, width) = (self.drawn.len(), self.field.width());
        self.draw();
        for (lane, noise) in out.iter_mut().enumerate() {
            let past = self.drawn[..earlier].iter().skip(lane).step_by(width);
            *noise = i128::from(self.drawn[earlier + lane]) + self.rows.expected(past.copied());
        }
    }

    /// Nothing: the draws can be made again.
    fn save(&self) -> Vec<i128> {
        Vec::new()
    }

    fn restore(&mut self, step: u64, saved: &[i128]) -> Result<()> {
        if !saved.is_empty() || step > self.rows.horizon() {
            return Err(misfit());
        }
        self.drawn.zeroize();
        (0..step).for_each(|_| self.draw());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of entries that add up to 2^28 leaves room for draws below 2^57, and one of 2^29 does not.
    #[test]
    fn sums_of_draws_fit_their_bits() {
        for (bits, fits) in [(0, true), (27, true), (28, false), (35, false)] {
            let entry = libm::exp2(f64::from(bits)) / 2.0;
            let decoder =
                Matrix::from_fn(3, 3, |i, j| if i == j { 1.0 } else { -entry * f64::from(u8::from(i > j)) });
            assert_eq!(Rows::new(&decoder).are_within_reach(), fits, "{bits}");
        }
    }
}
