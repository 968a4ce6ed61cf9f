//! Diagonals of resolvents of a bidiagonal product, without subtractions.
//!
//! **Definition.** For the workload a_k = λ^k, row weights u and column weights v, B = diag(√u) A
//! diag(√v) has (BᵀB)⁻¹ = diag(v)^{-1/2} T diag(v)^{-1/2}, T = (I − λZ) diag(1/u) (I − λZᵀ), where
//! Z is the shift by one. So ((BᵀB)⁻¹ + s)⁻¹ has the diagonal v_i/h_i, where 1/h_i is that of (T +
//! s·diag(v))⁻¹. Elimination from both ends gives
//!
//! > f_1 = 0,  e_i = s v_i + f_i,  f_{i+1} = λ² e_i/(1 + u_i e_i);
//! > k_n = 1/u_n,  c_i = s v_i + k_i,  k_{i−1} = c_i/(λ² + u_{i−1} c_i);  h_i = e_i + k_i.
//!
//! (f and k are what remains of the pivots p_i = 1/u_i + e_i and b_i = λ²/u_{i−1} + c_i after
//! removing their cancelling parts.)
//!
//! **Guarantee.** Every operation is an addition, product or quotient of positive numbers, and
//! every result increases with f and with k. So a small factor in each step, `nudge` below or above
//! one, keeps a bound on one side through all of them. See [`super::structured`] for the count of
//! roundings.
//!
//! **Cost.** Four divisions per step and node. [`LANES`] nodes run side by side, which hides the
//! latency of the divisions. Only every [`BLOCK`]-th state is stored, and the others are
//! recomputed: memory n·J/BLOCK.

use rayon::prelude::*;

/// Nodes that run side by side.
pub(crate) const LANES: usize = 8;

/// Sums over nodes that may be computed at the same time.
const STRANDS: usize = 8;

/// Steps between two stored states.
const BLOCK: usize = 128;

type Lanes = [f64; LANES];

/// u, v and λ of B = diag(√u) A diag(√v), all positive.
#[derive(Clone, Copy)]
pub(crate) struct Scaled<'a> {
    pub(crate) rows: &'a [f64],
    pub(crate) columns: &'a [f64],
    pub(crate) decay: f64,
}

/// A factor applied to every carried value, to stay on one side of the true value.
#[derive(Clone, Copy)]
pub(crate) enum Rounding {
    /// Values below the true ones.
    Down,
    /// No direction, for the solver.
    Nearest,
    /// Values above the true ones.
    Up,
}

impl Rounding {
    fn nudge(self) -> f64 {
        match self {
            Self::Down => 1.0 - 4.0 * f64::EPSILON,
            Self::Nearest => 1.0,
            Self::Up => 1.0 + 4.0 * f64::EPSILON,
        }
    }
}

/// One step of the forward recurrence: from f_i to e_i and f_{i+1}.
#[inline(always)]
fn forward(shifts: &Lanes, u: f64, v: f64, carry: f64, f: &mut Lanes) -> Lanes {
    let mut e = [0.0; LANES];
    for l in 0..LANES {
        e[l] = shifts[l] * v + f[l];
        f[l] = carry * (e[l] / (1.0 + u * e[l]));
    }
    e
}

/// Adds Σ_l weights_l/h_i to `out[i]`, for every i.
fn add_resolvents(scaled: Scaled<'_>, rounding: Rounding, shifts: &Lanes, weights: &Lanes, out: &mut [f64]) {
    let (rows, columns) = (scaled.rows, scaled.columns);
    let n = rows.len();
    let nudge = rounding.nudge();
    let square = scaled.decay * scaled.decay;
    let carry = square * nudge;
    let mut f = [0.0; LANES];
    let mut kept = Vec::with_capacity(n.div_ceil(BLOCK));
    for (rows, columns) in rows.chunks(BLOCK).zip(columns.chunks(BLOCK)) {
        kept.push(f);
        for (&u, &v) in rows.iter().zip(columns) {
            forward(shifts, u, v, carry, &mut f);
        }
    }
    let mut k = [nudge / rows[n - 1]; LANES];
    let mut block = [[0.0; LANES]; BLOCK];
    for (b, kept) in kept.iter().enumerate().rev() {
        let (start, end) = (b * BLOCK, ((b + 1) * BLOCK).min(n));
        f = *kept;
        for (e, i) in block.iter_mut().zip(start..end) {
            *e = forward(shifts, rows[i], columns[i], carry, &mut f);
        }
        for i in (start..end).rev() {
            let e = &block[i - start];
            let v = columns[i];
            // There is no row before the first step. Any positive value works.
            let u = rows[i.saturating_sub(1)];
            let mut sum = 0.0;
            for l in 0..LANES {
                sum += weights[l] / (e[l] + k[l]);
            }
            out[i] += sum;
            for l in 0..LANES {
                let c = shifts[l] * v + k[l];
                k[l] = nudge * (c / (square + u * c));
            }
        }
    }
}

/// Σ_j weights_j/h_i(shifts_j) for every i, over any number of nodes.
///
/// The nodes are split among strands, and the sums of the strands are added, in an order that does
/// not depend on the number of threads. So the result does not depend on it either.
pub(crate) fn resolvents(
    scaled: Scaled<'_>,
    rounding: Rounding,
    shifts: &[f64],
    weights: &[f64],
) -> Vec<f64> {
    let n = scaled.rows.len();
    let groups = shifts.len().div_ceil(LANES);
    // A lane without a node has weight zero.
    let lanes = |from: &[f64], group: usize, rest: f64| -> Lanes {
        std::array::from_fn(|l| from.get(group * LANES + l).copied().unwrap_or(rest))
    };
    let strand = |first: usize| {
        let mut sum = vec![0.0; n];
        for group in (first..groups).step_by(STRANDS) {
            let (shifts, weights) = (lanes(shifts, group, 1.0), lanes(weights, group, 0.0));
            add_resolvents(scaled, rounding, &shifts, &weights, &mut sum);
        }
        sum
    };
    let sums: Vec<Vec<f64>> = (0..groups.min(STRANDS)).into_par_iter().map(strand).collect();
    let mut sums = sums.into_iter();
    let mut total = sums.next().unwrap_or_else(|| vec![0.0; n]);
    for sum in sums {
        total.iter_mut().zip(&sum).for_each(|(total, x)| *total += x);
    }
    total
}

/// Σ_{i ≥ j} u_i λ^{2(i−j)} for every j: the diagonal of T⁻¹ = Aᵀ diag(u) A.
pub(crate) fn column_energies(scaled: Scaled<'_>, rounding: Rounding) -> Vec<f64> {
    let carry = scaled.decay * scaled.decay * rounding.nudge();
    let mut energies = scaled.rows.to_vec();
    for j in (0..energies.len().saturating_sub(1)).rev() {
        energies[j] += carry * energies[j + 1];
    }
    energies
}

/// An upper bound on the eigenvalues of (BᵀB)⁻¹, by Gershgorin: the largest row sum of
/// diag(1/v)·|T|.
pub(crate) fn largest_eigenvalue(scaled: Scaled<'_>) -> f64 {
    let mut before = 0.0;
    let n = scaled.rows.len();
    let mut largest: f64 = 0.0;
    for (i, (u, v)) in scaled.rows.iter().zip(scaled.columns).enumerate() {
        // Row i holds −λ/u_{i−1}, 1/u_i + λ²/u_{i−1} and, before the last, −λ/u_i.
        let own = if i + 1 < n { (1.0 + scaled.decay) / u } else { 1.0 / u };
        largest = largest.max((own + scaled.decay * (1.0 + scaled.decay) * before) / v);
        before = 1.0 / u;
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::linalg::solvers::DenseSolveCore;

    /// T + s·diag(v) inverted as a dense matrix.
    fn oracle(scaled: Scaled<'_>, shift: f64) -> Vec<f64> {
        let n = scaled.rows.len();
        let difference = faer::Mat::from_fn(n, n, |i, j| match i.wrapping_sub(j) {
            0 => 1.0,
            1 => -scaled.decay,
            _ => 0.0,
        });
        let middle = faer::Mat::from_fn(n, n, |i, j| if i == j { 1.0 / scaled.rows[i] } else { 0.0 });
        let mut sum = &difference * middle * difference.transpose();
        (0..n).for_each(|i| sum[(i, i)] += shift * scaled.columns[i]);
        let inverse = sum.partial_piv_lu().inverse();
        (0..n).map(|i| inverse[(i, i)]).collect()
    }

    #[test]
    fn resolvents_match_a_dense_inverse() {
        for n in (1..40).chain([127, 128, 129, 300]) {
            for decay in [1.0, 0.9, 0.3] {
                let rows: Vec<f64> = (0..n).map(|i| 0.5 + ((i * 7) % 5) as f64).collect();
                let columns: Vec<f64> = (0..n).map(|i| 0.25 + ((i * 3) % 4) as f64).collect();
                let scaled = Scaled { rows: &rows, columns: &columns, decay };
                let shifts = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 1e3];
                let mut expected = vec![0.0; n];
                for (l, shift) in shifts.iter().enumerate() {
                    let inverse = oracle(scaled, *shift);
                    expected.iter_mut().zip(&inverse).for_each(|(sum, x)| *sum += (l + 1) as f64 * x);
                }
                let weights = std::array::from_fn(|l| (l + 1) as f64);
                let mut above = vec![f64::INFINITY; n];
                for rounding in [Rounding::Down, Rounding::Nearest, Rounding::Up] {
                    let mut got = vec![0.0; n];
                    add_resolvents(scaled, rounding, &shifts, &weights, &mut got);
                    for i in 0..n {
                        assert!((got[i] / expected[i] - 1.0).abs() < 1e-10, "{n} {decay} {i}");
                        // A smaller h has a larger inverse. The sum itself is not rounded in a
                        // direction.
                        assert!(got[i] <= above[i] * (1.0 + 1e-15), "{n} {decay} {i}");
                    }
                    above = got;
                }
            }
        }
    }

    #[test]
    fn energies_and_the_largest_eigenvalue() {
        let (rows, columns) = ([1.0, 2.0, 4.0], [0.5, 0.25, 0.25]);
        let scaled = Scaled { rows: &rows, columns: &columns, decay: 0.5 };
        assert_eq!(column_energies(scaled, Rounding::Nearest), [1.75, 3.0, 4.0]);
        let n = rows.len();
        let a = faer::Mat::from_fn(n, n, |i, j| {
            if j > i { 0.0 } else { (rows[i] * columns[j]).sqrt() * 0.5_f64.powi((i - j) as i32) }
        });
        let smallest = a.singular_values().unwrap()[n - 1];
        let bound = largest_eigenvalue(scaled);
        assert!(bound * smallest.powi(2) >= 1.0 && bound * smallest.powi(2) < 3.0, "{bound}");
    }
}
