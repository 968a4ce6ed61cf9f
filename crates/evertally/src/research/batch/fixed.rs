//! The encoder R in integer units.
//!
//! **Why not floats.** Sums of floats round, and the rounding depends on the data: two histograms
//! that differ by one person can have encodings that are further apart than R allows. Here the
//! entries of R are integer multiples of a power of two, cells are rounded once to integer
//! multiples of 2⁻²⁴, and R x and its noise are added as integers. Only the noisy sum becomes a
//! float again, and everything after it is post-processing.
//!
//! **What it costs.** R is off by a relative 2⁻⁵³ of its largest entry, which is about the error of
//! its computation. The sensitivity is that of the integer units. Cells that differ by v differ by
//! at most v plus one unit after rounding, which [`ROUNDING_CHARGE`] covers.

use zeroize::Zeroizing;

use crate::matrix::Matrix;
use crate::privacy::{CompensatedSum, MARGIN, Neighbours, round_up};
use crate::{Error, Result};

/// The minimum number of units in the largest entry of R, as a power of two.
const ENTRY_BITS: i32 = 52;

/// Units per person, as a power of two.
const CELL_BITS: i32 = 24;

/// The maximum sum of the cells' magnitudes. With entries below 2⁵³ units, every encoded sum stays
/// below 2¹²⁵.
pub(super) const MAX_TOTAL: f64 = (1_u64 << 48) as f64;

/// The maximum noise in units, so that adding it cannot overflow.
const MAX_UNITS: f64 = (1_u128 << 125) as f64;

/// The factor by which rounding cells can increase the effect of one person. It is twice what is
/// needed, to cover the rounding of the product.
pub(super) const ROUNDING_CHARGE: f64 = 1.0 + 2.0 / (1_u32 << CELL_BITS) as f64;

/// The maximum number of entries in the table of column distances for which the exact sensitivity
/// to replacement is computed.
const MAX_DISTANCES: usize = 1 << 24;

pub(super) struct Encoder {
    rows: usize,
    columns: usize,
    /// Row by row, in units of 2^exponent.
    entries: Vec<i64>,
    exponent: i32,
}

impl Encoder {
    /// R rounded to units, or `None` if it is zero, not finite or out of range.
    pub(super) fn new(encoder: &Matrix) -> Option<Self> {
        let (rows, columns) = (encoder.rows(), encoder.columns());
        let all = || (0..rows).flat_map(|i| encoder.row(i));
        if !all().all(|x| x.is_finite()) {
            return None;
        }
        let largest = all().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        // Far from both ends of the range, so that the scaling below loses nothing.
        if !(1e-200..1e200).contains(&largest) {
            return None;
        }
        let exponent = libm::ilogb(largest) - ENTRY_BITS;
        let entries = all().map(|x| libm::scalbn(*x, -exponent).round() as i64).collect();
        Some(Self { rows, columns, entries, exponent })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn row(&self, i: usize) -> &[i64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// Feeds everything on which R x depends, except x, to the hasher.
    pub(super) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&self.exponent.to_le_bytes());
        hasher.update(&(self.columns as u64).to_le_bytes());
        for entry in &self.entries {
            hasher.update(&entry.to_le_bytes());
        }
    }

    /// How far one person can move R x, rounded up.
    pub(super) fn sensitivity(&self, neighbours: Neighbours) -> f64 {
        let mut squares = vec![CompensatedSum::default(); self.columns];
        for i in 0..self.rows {
            for (square, &entry) in squares.iter_mut().zip(self.row(i)) {
                square.add(entry as f64 * entry as f64);
            }
        }
        let squares: Vec<f64> = squares.into_iter().map(CompensatedSum::value).collect();
        let largest = squares.iter().copied().fold(0.0, f64::max);
        let moved = match neighbours {
            Neighbours::AddRemove => largest,
            Neighbours::Replace => self.replaced(&squares, largest),
        };
        round_up(libm::scalbn(moved.sqrt(), self.exponent), MARGIN)
    }

    /// The largest ‖v r_i − v' r_j‖² over columns r and 0 ≤ v, v' ≤ 1, in units, or a bound on it.
    ///
    /// The function is convex in (v, v'), so its maximum is at a corner: a column's own norm, or
    /// the distance of two columns. If no inner product is negative, that is at most √2 Δ, and it
    /// is always at most 2 Δ.
    fn replaced(&self, squares: &[f64], largest: f64) -> f64 {
        if self.columns.saturating_mul(self.columns) > MAX_DISTANCES {
            let nonnegative = self.entries.iter().all(|entry| *entry >= 0);
            return if nonnegative { 2.0 * largest } else { 4.0 * largest };
        }
        let r = faer::Mat::from_fn(self.rows, self.columns, |i, j| self.row(i)[j] as f64);
        let gram = r.transpose() * &r;
        let mut farthest = largest;
        for j in 0..self.columns {
            for i in 0..j {
                farthest = farthest.max(squares[i] + squares[j] - 2.0 * gram[(i, j)]);
            }
        }
        // An inner product of p terms is off by at most p·2⁻⁵³ times both norms, for any order of
        // additions.
        let lost = 4.0 * (self.rows + 4) as f64 * f64::EPSILON * largest;
        (farthest + lost).min(4.0 * largest)
    }

    /// Whether noise of this deviation fits in units. No draw is beyond ten deviations.
    pub(super) fn can_count(&self, deviation: f64) -> bool {
        libm::scalbn(10.0 * deviation, CELL_BITS - self.exponent) < MAX_UNITS
    }

    /// Row i of R x in units, exactly.
    fn sum(&self, i: usize, cells: &[i128]) -> i128 {
        self.row(i).iter().zip(cells).map(|(&entry, &x)| i128::from(entry) * x).sum()
    }

    /// R x + noise. Error messages never contain a cell.
    pub(super) fn encode(&self, data: &[f64], noise: &[f64]) -> Result<Vec<f64>> {
        let cells = Zeroizing::new(cells(data)?);
        let exponent = self.exponent - CELL_BITS;
        let encoded = noise.iter().enumerate().map(|(i, noise)| {
            let noise = libm::scalbn(*noise, -exponent).round() as i128;
            libm::scalbn((self.sum(i, &cells) + noise) as f64, exponent)
        });
        Ok(encoded.collect())
    }
}

/// Cells in integer units, up to 2⁷², which is more than 64 bits hold.
fn cells(data: &[f64]) -> Result<Vec<i128>> {
    if let Some(at) = data.iter().position(|x| !x.is_finite()) {
        return Err(Error::bad("data", "finite in every cell", format!("another value in cell {}", at + 1)));
    }
    if data.iter().map(|x| x.abs()).sum::<f64>() > MAX_TOTAL {
        return Err(Error::bad("data", "at most 2^48 in total", "more"));
    }
    Ok(data.iter().map(|x| libm::scalbn(*x, CELL_BITS).round() as i128).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Matrix {
        Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
    }

    #[test]
    fn encoding_is_exact() {
        let encoder = Encoder::new(&matrix(&[&[1.0, -0.75, 1e-9], &[0.3, 0.1, 0.7]])).unwrap();
        // Sums of floats of this size would lose the effect of one person. Here it is one column,
        // to the last unit.
        let before = cells(&[1.4e14, 1.0e14, 3.0]).unwrap();
        let after = cells(&[1.4e14, 1.0e14, 4.0]).unwrap();
        for i in 0..2 {
            let moved = encoder.sum(i, &after) - encoder.sum(i, &before);
            assert_eq!(moved, i128::from(encoder.row(i)[2]) << CELL_BITS);
        }
        let noise = [0.0, 0.0];
        let small = encoder.encode(&[1.0, 2.0, 3.0], &noise).unwrap();
        assert!((small[0] - (1.0 - 1.5 + 3e-9)).abs() < 1e-15 && (small[1] - 2.6).abs() < 1e-15);
    }

    #[test]
    fn sensitivities_are_those_of_columns_and_their_distances() {
        let of = |rows: &[&[f64]], neighbours| Encoder::new(&matrix(rows)).unwrap().sensitivity(neighbours);
        let near = |x: f64, y: f64| x >= y && x < y * (1.0 + 1e-11);
        assert!(near(of(&[&[3.0, 0.0], &[4.0, 1.0]], Neighbours::AddRemove), 5.0));
        // Opposite columns are twice as far apart, orthogonal ones √2. For equal ones, adding or
        // removing a unit still counts.
        assert!(near(of(&[&[1.0, -1.0]], Neighbours::Replace), 2.0));
        assert!(near(of(&[&[1.0, 0.0], &[0.0, 1.0]], Neighbours::Replace), 2.0_f64.sqrt()));
        assert!(near(of(&[&[1.0, 1.0]], Neighbours::Replace), 1.0));
    }

    #[test]
    fn what_cannot_be_counted_is_refused_without_being_shown() {
        let encoder = Encoder::new(&matrix(&[&[1.0, 1.0]])).unwrap();
        for bad in [f64::NAN, f64::INFINITY, 1e15] {
            let error = encoder.encode(&[0.0, bad], &[0.0]).unwrap_err().to_string();
            assert!(!error.contains("NaN") && !error.contains("inf") && !error.contains("1000"), "{error}");
        }
        assert!(Encoder::new(&matrix(&[&[0.0]])).is_none());
        assert!(Encoder::new(&matrix(&[&[f64::NAN]])).is_none());
    }
}
