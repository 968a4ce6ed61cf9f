//! The proof for prefix sums and decayed prefix sums: O(nJ), from the weights alone.
//!
//! **What is proved.** With N = (BᵀB)⁻¹ (see [`super::sweep`]) and d = diag(N^{-1/2}), an interval
//! for every d_i/v_i and for S = Σd.
//!
//! **How.** Substituting s = e^y in x^{-1/2} = (1/π)∫₀^∞ s^{-1/2}/(x+s) ds and summing at y = k·ln
//! 2, for all integers k, gives r(x) = Σ_k w_k/(x + 2^k), w_k = (ln 2/π)·2^{k/2}. By Poisson's
//! summation formula, since sech is its own Fourier transform,
//!
//! > √x·r(x) = 1 + 2 Σ_{l≥1} sech(2π²l/ln 2) cos(2πl·log₂ x),
//!
//! so √x·r(x) is within [`QUADRATURE`] of 1 for *every* x > 0: 4e^{−28.4775} = 1.71542·10⁻¹². The
//! nodes are powers of two, so neither they nor their products with v are rounded.
//!
//! Nodes far from the spectrum [a, b] are summed in closed form. Below k₀, where 2^{k₀} ≤ 2⁻²⁸a,
//! w/(x+s) is between (1−2⁻²⁸)w/x and w/x, and diag(N⁻¹) is known. Above k₁, where 2^{k₁} ≥ 2²⁸b,
//! it is between (1−2⁻²⁸)w/s and w/s. The ends of the spectrum are proven: 1/a ≤ tr(BᵀB), and b by
//! Gershgorin.
//!
//! **Rounding.** Let u = 2⁻⁵³. From f_i to f_{i+1} there are seven roundings (λ², the carried
//! factor, two sums, two products, a quotient), and from k_i to k_{i−1} there are six. Sums of
//! positive numbers do not amplify relative errors, and the map from f (or k) to the next is
//! increasing. Since (1+u)⁷(1−8u) ≤ 1 ≤ (1−u)⁷(1+8u), a factor 1 ∓ 8u in each step keeps every f
//! and k on its side of the true value. The rest (h, the quotient, the sums over nodes) is a
//! bounded number of roundings, covered by one margin. Weights are refused unless all magnitudes
//! stay far from overflow and underflow.

use super::sweep::{Rounding, Scaled, column_energies, largest_eigenvalue, resolvents};
use super::{Proof, UNIT};
use crate::{Error, Result};

/// The maximum distance of √x·Σ_k w_k/(x + 2^k) from one, for any x > 0. It is above 4e^{−2π²/ln
/// 2}/(1 − e^{−2π²/ln 2}).
const QUADRATURE: f64 = 1.7155e-12;

/// The number of powers of two by which the nodes extend beyond the spectrum.
const REACH: i32 = 28;

/// The tails are at most 2⁻¹² of a ratio, and their lower ends lose at most 2⁻²⁸ of that.
pub(super) const REACH_LOSS: f64 = 1.0 / (1_u64 << (REACH + 12)) as f64;

/// Weights and decays outside of these magnitudes are refused, which keeps every intermediate value
/// a normal number.
const MIN_WEIGHT: f64 = 6.3e-61;
const MAX_WEIGHT: f64 = 1.6e60;
/// The smallest decay factor of the structured method, 2⁻¹⁰⁰. Below it, the workload is the
/// identity for all purposes.
pub(in crate::research::gamma) const MIN_DECAY: f64 = 7.9e-31;

/// Bounds on γ_F: S/√Σv ≤ γ_F ≤ √(S·max(d/v)).
pub(super) fn prove_gamma_f(decay: f64, weights: &[f64]) -> Result<Proof> {
    let ones = vec![1.0; weights.len()];
    let diagonal = Diagonal::enclose(Scaled { rows: &ones, columns: weights, decay })?;
    Ok(Proof {
        lower: down(diagonal.sum_lower / sum_above(weights).sqrt()),
        upper: up((diagonal.sum_upper * largest(&diagonal.ratios)).sqrt()),
    })
}

/// Bounds on γ_2: S/√(Σu Σv) ≤ γ_2 ≤ √(max(d_u/u)·max(d_v/v)).
pub(super) fn prove_gamma_2(decay: f64, rows: &[f64], columns: &[f64]) -> Result<Proof> {
    let (sum, of_rows, of_columns) = enclose_both(decay, rows, columns)?;
    Ok(Proof {
        lower: down(sum / (sum_above(rows).sqrt() * sum_above(columns).sqrt())),
        upper: up((largest(&of_columns) * largest(&of_rows)).sqrt()),
    })
}

/// Bounds on γ_2(diag(1/√o) A), where only bounds on each o_t are known: `rows` are u/o.
///
/// With r = u/o, diag(√u) diag(1/√o) A diag(√v) = diag(√r) A diag(√v) for every o. So S and d_r do
/// not depend on o, Σu = Σ r o is largest at the upper bounds, and d_u/u = d_r/(r o) at the lower
/// ones.
pub(in crate::research::gamma) fn prove_scaled_gamma_2(
    scales: &[(f64, f64)],
    rows: &[f64],
    columns: &[f64],
) -> Result<Proof> {
    let (sum, of_rows, of_columns) = enclose_both(1.0, rows, columns)?;
    let mass: Vec<f64> = rows.iter().zip(scales).map(|(r, (_, above))| r * above).collect();
    let scaled: Vec<f64> = of_rows.iter().zip(scales).map(|(ratio, (below, _))| ratio / below).collect();
    Ok(Proof {
        lower: down(sum / (sum_above(&mass).sqrt() * sum_above(columns).sqrt())),
        upper: up((largest(&of_columns) * largest(&scaled)).sqrt()),
    })
}

/// A lower bound on the nuclear norm, and upper bounds on every d_u/u and d_v/v.
fn enclose_both(decay: f64, rows: &[f64], columns: &[f64]) -> Result<(f64, Vec<f64>, Vec<f64>)> {
    let of_columns = Diagonal::enclose(Scaled { rows, columns, decay })?;
    // A in reverse order is its own transpose, so the rows are the columns of the problem in
    // reverse order.
    let reversed = |weights: &[f64]| weights.iter().rev().copied().collect::<Vec<f64>>();
    let (rows_back, columns_back) = (reversed(rows), reversed(columns));
    let of_rows = Diagonal::enclose(Scaled { rows: &columns_back, columns: &rows_back, decay })?;
    // Both sums are the nuclear norm.
    let sum = of_columns.sum_lower.max(of_rows.sum_lower);
    Ok((sum, reversed(&of_rows.ratios), of_columns.ratios))
}

fn largest(ratios: &[f64]) -> f64 {
    ratios.iter().copied().fold(0.0, f64::max)
}

/// What is needed of d = diag((BᵀB)^{1/2}).
struct Diagonal {
    sum_lower: f64,
    sum_upper: f64,
    /// Upper bounds on d_i/v_i.
    ratios: Vec<f64>,
}

impl Diagonal {
    fn enclose(scaled: Scaled<'_>) -> Result<Self> {
        let within = |x: &f64| (MIN_WEIGHT..=MAX_WEIGHT).contains(x);
        if !(scaled.rows.iter().all(within) && scaled.columns.iter().all(within)) {
            return Err(Error::bad("weights", "between 6.3e-61 and 1.6e60", "a weight outside that range"));
        }
        if !(MIN_DECAY..=1.0).contains(&scaled.decay) {
            return Err(Error::bad("decay", "between 7.9e-31 and 1", scaled.decay));
        }
        let energies = [Rounding::Down, Rounding::Up].map(|rounding| column_energies(scaled, rounding));
        let traces: Vec<f64> = energies[1].iter().zip(scaled.columns).map(|(energy, v)| energy * v).collect();
        let nodes = Nodes::around(1.0 / up(sum_above(&traces)), up(largest_eigenvalue(scaled)));
        // Each term passes through fewer roundings than this on its way into a ratio.
        let margin = (nodes.shifts.len() + 64) as f64 * UNIT;
        let with_tails = |carried: Rounding, energies: &[f64]| -> Vec<f64> {
            let mut ratios = resolvents(scaled, carried, &nodes.shifts, &nodes.weights);
            for ((ratio, energy), v) in ratios.iter_mut().zip(energies).zip(scaled.columns) {
                *ratio += nodes.tails(*energy, *v);
            }
            ratios
        };
        // A larger h gives a smaller d.
        let mut upper = with_tails(Rounding::Down, &energies[1]);
        upper.iter_mut().for_each(|ratio| *ratio = nodes.enclosed_above(*ratio, margin));
        let mut lower = with_tails(Rounding::Up, &energies[0]);
        lower.iter_mut().for_each(|ratio| *ratio = nodes.enclosed_below(*ratio, margin + REACH_LOSS));
        let weighted = |ratios: &[f64]| -> Vec<f64> {
            ratios.iter().zip(scaled.columns).map(|(ratio, v)| ratio * v).collect()
        };
        Ok(Self {
            sum_lower: sum_below(&weighted(&lower)),
            sum_upper: sum_above(&weighted(&upper)),
            ratios: upper,
        })
    }
}

/// The nodes 2^k near a spectrum, and the sums over all other nodes.
pub(super) struct Nodes {
    pub(super) shifts: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// Σ w_k below the nodes.
    below: f64,
    /// Σ w_k/2^k above the nodes.
    above: f64,
}

impl Nodes {
    /// What the nodes that are not near add to a ratio: `energy` is diag(T⁻¹).
    pub(super) fn tails(&self, energy: f64, weight: f64) -> f64 {
        self.below * energy + self.above / weight
    }

    /// A sum over all nodes as an upper bound on a ratio, with a relative margin for rounding.
    pub(super) fn enclosed_above(&self, sum: f64, margin: f64) -> f64 {
        sum * ((1.0 + margin) / (1.0 - QUADRATURE))
    }

    /// A sum over all nodes as a lower bound on a ratio.
    pub(super) fn enclosed_below(&self, sum: f64, margin: f64) -> f64 {
        sum * ((1.0 - margin) / (1.0 + QUADRATURE))
    }

    /// Creates the nodes for eigenvalues between `low` and `high`.
    pub(super) fn around(low: f64, high: f64) -> Self {
        let exponent = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        // 2^first ≤ 2⁻²⁸·low, and 2^last ≥ 2²⁸·high.
        let (first, last) = (exponent(low) - REACH, exponent(high) + 1 + REACH);
        let density = std::f64::consts::LN_2 / std::f64::consts::PI;
        // 2^{k/2}.
        let root = |k: i32| {
            let odd = if k.rem_euclid(2) == 1 { std::f64::consts::SQRT_2 } else { 1.0 };
            power_of_two(k.div_euclid(2)) * odd
        };
        // Σ_{k<0} 2^{k/2} = 1/(√2 − 1) = 1 + √2.
        let tail = density * (1.0 + std::f64::consts::SQRT_2);
        Self {
            shifts: (first..=last).map(power_of_two).collect(),
            weights: (first..=last).map(|k| density * root(k)).collect(),
            below: tail * root(first),
            above: tail * root(-last),
        }
    }
}

/// 2^k, exactly, for a normal result.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023).clamp(1, 2046) as u64) << 52)
}

/// Terms that are added up before their sum is added.
const CHUNK: usize = 1024;

fn sum_in_chunks(values: &[f64]) -> (f64, f64) {
    let sum = values.chunks(CHUNK).map(|chunk| chunk.iter().sum::<f64>()).sum::<f64>();
    // The maximum number of additions that a term passes through, plus a rounding or two in the
    // term itself.
    let additions = CHUNK.min(values.len()) + values.len().div_ceil(CHUNK) + 4;
    (sum, additions as f64 * UNIT)
}

/// An upper bound on the sum of non-negative numbers that may each be off by a rounding or two.
pub(super) fn sum_above(values: &[f64]) -> f64 {
    let (sum, error) = sum_in_chunks(values);
    sum * (1.0 + error)
}

pub(super) fn sum_below(values: &[f64]) -> f64 {
    let (sum, error) = sum_in_chunks(values);
    sum * (1.0 - error)
}

/// Covers the few roundings of a final formula.
pub(super) fn up(x: f64) -> f64 {
    x * (1.0 + 16.0 * UNIT)
}

pub(super) fn down(x: f64) -> f64 {
    x * (1.0 - 16.0 * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_sum_to_the_inverse_square_root() {
        for (low, high) in [(1.0, 1.0), (3e-5, 7e3), (1e-12, 1e12)] {
            let nodes = Nodes::around(low, high);
            let mut largest: f64 = 0.0;
            for i in 0..=3000 {
                let x = low * (high / low).powf(f64::from(i) / 3000.0);
                let sum: f64 = nodes.shifts.iter().zip(&nodes.weights).map(|(s, w)| w / (x + s)).sum();
                let sum = sum + nodes.below / x + nodes.above;
                largest = largest.max((sum * x.sqrt() - 1.0).abs());
            }
            assert!(largest < QUADRATURE + 5e-14, "{largest}");
            // The bound is sharp for wide spectra.
            assert!(low == high || largest > 0.9 * QUADRATURE, "{largest}");
        }
    }

    #[test]
    fn tails_are_as_small_as_the_proof_says() {
        // At the ends of the spectrum, where the tails matter most.
        for low in [1.0, 1.5, 1.999] {
            let nodes = Nodes::around(low, low);
            assert!(nodes.below / low * low.sqrt() < 1.0 / 8192.0);
            assert!(nodes.above * low.sqrt() < 1.0 / 8192.0);
        }
    }

    #[test]
    fn powers_are_exact() {
        for k in [-700, -3, 0, 1, 52, 700] {
            assert_eq!(power_of_two(k), 2.0_f64.powi(k));
        }
    }

    #[test]
    fn hopeless_weights_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
            assert!(prove_gamma_f(1.0, &[1.0, bad]).is_err(), "{bad}");
        }
        assert!(prove_gamma_f(1e-40, &[1.0, 1.0]).is_err());
    }
}
