//! How far one person can move the encoded stream R x.
//!
//! **Definition.** A person contributes in steps i₁ < … < i_m, at most k of them and at least b
//! apart, a value of norm at most 1 in each. The sensitivity is
//!
//! > Δ_k = max ‖Σ_l v_l ⊗ r_{i_l}‖ over admissible steps and values ‖v_l‖ ≤ 1,
//!
//! where r_i are the columns of R. For numbers the maximum of this convex function is at signs v_l
//! = ±1. For vectors it may be larger than at signs, so no function here searches over signs. Each
//! bound below holds for vectors.
//!
//! **Guarantee.** Every result is at least Δ_k, rounding included ([`MARGIN`]). For a Toeplitz R
//! with non-negative, non-increasing coefficients it equals Δ_k up to that margin. Coefficients
//! that are NaN or infinite give an infinite sensitivity, for which no mechanism can be built.
//!
//! **Source.** The Toeplitz formula is that of Kalinin and Lampert, "Banded Square Root Matrix
//! Factorization for Differentially Private Model Training" (2024); its proof is repeated at
//! [`toeplitz_sensitivity`].

use super::Participation;

/// Relative margin, 2⁻⁴⁰ ≈ 9.1·10⁻¹³, by which every sensitivity is enlarged.
///
/// It covers coefficients that are each off by a relative 2⁻⁴² (thousands of units in the last
/// place; recurrences and transforms leave a few). It also covers the summation, which with
/// [`CompensatedSum`] is off by a few units, or a relative 2⁻⁴⁴ at 2³⁰ terms. The cost is a
/// relative 10⁻¹² in the standard error.
pub(crate) const MARGIN: f64 = 1.0 / (1u64 << 40) as f64;

/// The maximum work, in table entries, of an exact search for the best pattern of steps.
const MAX_SEARCH: u64 = 1 << 24;

/// `x` enlarged by the relative margin, then to the next float, for x ≥ 0. This is an upper bound
/// on any true value that `x` approximates to within the margin.
pub(crate) fn round_up(x: f64, relative: f64) -> f64 {
    (x * (1.0 + relative)).next_up()
}

/// A running sum with Neumaier's compensation. The error is at most 2⁻⁵³·|s| + n²·2⁻¹⁰⁶·Σ|x| for n
/// terms of sum s (Ogita, Rump and Oishi, "Accurate Sum and Dot Product", 2005). For terms of one
/// sign, that is one unit in the last place up to n = 2²⁶, and a relative 2⁻⁴⁶ up to n = 2³⁰.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        // The smaller of the two operands has lost its low digits.
        self.lost +=
            if self.sum.abs() >= term.abs() { (self.sum - sum) + term } else { (term - sum) + self.sum };
        self.sum = sum;
    }

    /// The sum so far. An overflowed sum stays infinite instead of turning into NaN.
    #[must_use]
    pub fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// An upper bound on Δ_k for the lower-triangular Toeplitz matrix with the given first column,
/// whose length is the horizon n. It is exact, up to the margin, if the coefficients are
/// non-negative and non-increasing.
///
/// *Proof.* Let m_t = max_{s ≥ t} |c_s|, the smallest non-increasing sequence above |c|, and r_i
/// its column i. Entry t of Σ v_l ⊗ (column i_l of R) has norm at most Σ_l |c_{t−i_l}| ≤ Σ_l
/// r_{i_l}\[t\], so Δ_k² ≤ max Σ_{l,l'} ⟨r_{i_l}, r_{i_l'}⟩. For i ≤ j, ⟨r_i, r_j⟩ = Σ_{s < n−j}
/// m_s m_{s+j−i} ≥ 0 decreases as j grows and as j − i grows. Admissible steps have i_l ≥ (l−1)b
/// and i_l' − i_l ≥ (l'−l)b. So every inner product, and the number of them, is largest for the
/// steps 0, b, 2b, …, (k'−1)b, with k' = min(k, ⌈n/b⌉). If c = m ≥ 0, the bound is attained by
/// equal values there. Otherwise the triangle inequality, Σ_l ‖column i_l‖, which is again largest
/// for those steps, may be smaller. The smaller of the two is returned.
///
/// Cost: O(n) time and O(n) memory for any k and b.
///
/// ```
/// use evertally::privacy::{Participation, toeplitz_sensitivity};
/// let coefficients = [1.0, 0.5, 0.375];
/// let once = toeplitz_sensitivity(&coefficients, Participation::single());
/// assert!((once - 1.390_625_f64.sqrt()).abs() < 1e-11);
/// // Steps 0 and 2: the columns add up to (1, 0.5, 1.375).
/// let twice = toeplitz_sensitivity(&coefficients, Participation::at_most(2, 2)?);
/// assert!((twice - 3.140_625_f64.sqrt()).abs() < 1e-11);
/// # Ok::<(), evertally::Error>(())
/// ```
#[must_use]
pub fn toeplitz_sensitivity(coefficients: &[f64], participation: Participation) -> f64 {
    let n = coefficients.len();
    let Some(scale) = magnitude(coefficients) else { return f64::INFINITY };
    if scale == 0.0 {
        return 0.0;
    }
    // Dividing by the largest magnitude keeps the squares from vanishing or overflowing.
    let mut envelope: Vec<f64> = coefficients.iter().map(|c| c.abs() / scale).collect();
    let triangle = triangle_of_shifts(&envelope, participation);
    for t in (0..n.saturating_sub(1)).rev() {
        envelope[t] = envelope[t].max(envelope[t + 1]);
    }
    let stacked = norm_of_stacked_shifts(&envelope, participation);
    round_up(stacked.min(triangle) * scale, MARGIN)
}

/// An upper bound on Δ_k for any matrix of n columns with the given norms, by the triangle
/// inequality: the largest sum of column norms over admissible steps. For a single participation it
/// is the largest column norm, which is exact.
///
/// If it takes at most 2²⁴ entries (n·k'), dynamic programming finds the best pattern. Otherwise
/// the bound is the sum of the k' largest maxima over blocks of b consecutive columns, since an
/// admissible pattern has at most one step in each block. Columns that the iterator does not yield
/// count as zero.
///
/// ```
/// use evertally::privacy::{Participation, columns_sensitivity};
/// let norms = [3.0, 4.0, 3.0, 1.0];
/// let single = columns_sensitivity(norms.into_iter(), Participation::single(), 4);
/// assert!((single - 4.0).abs() < 1e-11);
/// // Two steps, at least two apart: 3 + 3 is better than 4 + 1.
/// let twice = columns_sensitivity(norms.into_iter(), Participation::at_most(2, 2)?, 4);
/// assert!((twice - 6.0).abs() < 1e-11);
/// # Ok::<(), evertally::Error>(())
/// ```
#[must_use]
pub fn columns_sensitivity(
    column_norms: impl Iterator<Item = f64>,
    participation: Participation,
    n: usize,
) -> f64 {
    let norms: Vec<f64> = column_norms.map(f64::abs).collect();
    let Some(largest) = magnitude(&norms) else { return f64::INFINITY };
    let columns = norms.len().max(n) as u64;
    let steps = participation.bounded(columns);
    if steps == 0 {
        return 0.0;
    }
    if steps == 1 {
        return if largest == 0.0 { 0.0 } else { round_up(largest, MARGIN) };
    }
    let gap = usize::try_from(participation.min_gap()).unwrap_or(usize::MAX);
    let best = if columns.saturating_mul(steps) <= MAX_SEARCH {
        best_pattern(&norms, steps, gap)
    } else {
        largest_blocks(&norms, steps, gap)
    };
    // Plain sums of at most `steps` positive terms are off by half a unit per term.
    if best == 0.0 { 0.0 } else { round_up(best, MARGIN + steps as f64 * f64::EPSILON) }
}

/// The largest absolute value, or nothing if one is NaN or infinite.
fn magnitude(values: &[f64]) -> Option<f64> {
    values.iter().try_fold(0.0_f64, |largest, v| v.is_finite().then(|| largest.max(v.abs())))
}

/// Σ_{j < k'} ‖c\[..n − jb\]‖, the column norms at steps 0, b, 2b, ….
fn triangle_of_shifts(coefficients: &[f64], participation: Participation) -> f64 {
    let n = coefficients.len() as u64;
    let (steps, gap) = (participation.bounded(n), participation.min_gap());
    let mut squares = CompensatedSum::default();
    let mut total = CompensatedSum::default();
    for (t, c) in (1..=n).zip(coefficients) {
        squares.add(c * c);
        // A prefix of length t is the column at step n − t.
        if (n - t).is_multiple_of(gap) && (n - t) / gap < steps {
            total.add(squares.value().sqrt());
        }
    }
    total.value()
}

/// ‖Σ_{j < k'} shift_{jb}(m)‖ for m ≥ 0, truncated to the length of m.
///
/// Entry t is the sum of m_t, m_{t−b}, …, at most k' terms: a sliding window along the residue
/// class of t modulo b. Subtracting what leaves the window would cancel. Instead, each class is
/// split into blocks of k' terms, and a window is the end of one block plus the start of the next.
/// All additions are of non-negative terms.
fn norm_of_stacked_shifts(m: &[f64], participation: Participation) -> f64 {
    let n = m.len();
    // Both fit: steps ≤ n, and a gap beyond n is equivalent to a gap of n.
    let steps = participation.bounded(n as u64) as usize;
    let gap = participation.min_gap().min(n as u64) as usize;
    let mut squares = CompensatedSum::default();
    // endings[p] is the sum of the previous block from position p on.
    let mut endings = vec![0.0; steps + 1];
    for class in 0..gap {
        endings.fill(0.0);
        let mut beginning = CompensatedSum::default();
        for (i, t) in (class..n).step_by(gap).enumerate() {
            let position = i % steps;
            if position == 0 && i > 0 {
                let mut ending = CompensatedSum::default();
                for p in (0..steps).rev() {
                    ending.add(m[t - (steps - p) * gap]);
                    endings[p] = ending.value();
                }
                beginning = CompensatedSum::default();
            }
            beginning.add(m[t]);
            let window = beginning.value() + endings[position + 1];
            squares.add(window * window);
        }
    }
    squares.value().sqrt()
}

/// The largest sum of at most `steps` norms that are at least `gap` apart: best[i] is the best over
/// the first i columns.
fn best_pattern(norms: &[f64], steps: u64, gap: usize) -> f64 {
    let mut best = vec![0.0_f64; norms.len() + 1];
    for _ in 0..steps {
        let fewer = best.clone();
        for (i, norm) in norms.iter().enumerate() {
            // If column i is taken, the others end at i − gap.
            let with = norm + fewer[(i + 1).saturating_sub(gap)];
            best[i + 1] = best[i].max(with);
        }
    }
    best[norms.len()]
}

/// The sum of the `steps` largest maxima over blocks of `gap` columns.
fn largest_blocks(norms: &[f64], steps: u64, gap: usize) -> f64 {
    let mut maxima: Vec<f64> =
        norms.chunks(gap).map(|block| block.iter().copied().fold(0.0, f64::max)).collect();
    maxima.sort_unstable_by(|x, y| y.total_cmp(x));
    let mut sum = CompensatedSum::default();
    for maximum in maxima.iter().take(usize::try_from(steps).unwrap_or(usize::MAX)) {
        sum.add(*maximum);
    }
    sum.value()
}

#[cfg(test)]
mod tests;
