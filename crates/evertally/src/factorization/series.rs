//! Coefficients of the square root of a workload's generating function, and of its inverse.
//!
//! With a(x) = Σ a_k x^k the generating function of the workload, s = a^{1/2} and c = a^{-1/2}:
//!
//! | workload | a(x) | s(x) | c(x) |
//! |---|---|---|---|
//! | prefix sum | 1/(1−x) | (1−x)^{-1/2} | (1−x)^{1/2} |
//! | decay λ | 1/(1−λx) | (1−λx)^{-1/2} | (1−λx)^{1/2} |
//! | window w | (1−x^w)/(1−x) | (1−x^w)^{1/2}(1−x)^{-1/2} | (1−x^w)^{-1/2}(1−x)^{1/2} |

use crate::noise::{inverse_square_root_coefficients, square_root_coefficients};
use crate::privacy::CompensatedSum;
use crate::workload::Workload;

/// The first `n` coefficients of a^{1/2}.
pub(crate) fn root(workload: Workload, n: usize) -> Vec<f64> {
    let prefix = square_root_coefficients(n);
    match workload {
        Workload::PrefixSum => prefix,
        Workload::Decay { factor } => damp(prefix, factor),
        Workload::SlidingWindow { width } => {
            times_in_powers(&prefix, &inverse_square_root_coefficients(powers(n, width)), width)
        }
    }
}

/// The first `n` coefficients of a^{-1/2}.
pub(crate) fn inverse_root(workload: Workload, n: usize) -> Vec<f64> {
    let prefix = inverse_square_root_coefficients(n);
    match workload {
        Workload::PrefixSum => prefix,
        Workload::Decay { factor } => damp(prefix, factor),
        Workload::SlidingWindow { width } => {
            times_in_powers(&prefix, &square_root_coefficients(powers(n, width)), width)
        }
    }
}

/// The first `n` coefficients of numerator/denominator, where `denominator` has few coefficients: O(n·p).
pub(crate) fn divide(numerator: &[f64], denominator: &[f64], n: usize) -> Vec<f64> {
    // Reversed, so that its products with the newest quotients run forwards through memory.
    let reversed: Vec<f64> = denominator[1..].iter().rev().copied().collect();
    let mut quotient: Vec<f64> = Vec::with_capacity(n);
    for t in 0..n {
        let reach = reversed.len().min(t);
        let known = dot(&reversed[reversed.len() - reach..], &quotient[t - reach..]);
        quotient.push((numerator.get(t).copied().unwrap_or(0.0) - known) / denominator[0]);
    }
    quotient
}

/// The first `n` coefficients of the product with a short series: O(n·p).
pub(crate) fn multiply(long: &[f64], short: &[f64], n: usize) -> Vec<f64> {
    let reversed: Vec<f64> = short.iter().rev().copied().collect();
    (0..n)
        .map(|t| {
            let reach = short.len().min(t + 1);
            dot(&reversed[short.len() - reach..], &long[t + 1 - reach..=t])
        })
        .collect()
}

/// Σ a_i b_i in eight interleaved sums, which vector units add at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

fn damp(mut coefficients: Vec<f64>, factor: f64) -> Vec<f64> {
    for (k, c) in coefficients.iter_mut().enumerate() {
        *c *= factor.powf(k as f64);
    }
    coefficients
}

/// How many powers of x^width fall below x^n.
fn powers(n: usize, width: u64) -> usize {
    n.div_ceil(usize::try_from(width).unwrap_or(usize::MAX).max(1)).max(1)
}

/// Multiplications up to which the root of a window is added up. A transform would be faster, but
/// leaves an absolute error in every coefficient that the margin of a sensitivity does not cover.
const MAX_WORK: f64 = 2e10;

/// Whether the roots of a workload can be made at this horizon.
pub(crate) fn is_within_reach(workload: Workload, horizon: u64) -> bool {
    match workload {
        Workload::SlidingWindow { width } => {
            horizon as f64 * (horizon as f64 / width as f64).ceil() <= MAX_WORK
        }
        _ => true,
    }
}

/// The product of a series in x with a series in x^width.
fn times_in_powers(series: &[f64], in_powers: &[f64], width: u64) -> Vec<f64> {
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    let mut product = vec![0.0; series.len()];
    for (i, c) in in_powers.iter().enumerate() {
        for (p, s) in product[i * width..].iter_mut().zip(series) {
            *p += c * s;
        }
    }
    product
}

/// Σ_{k ≤ t} l_k² for t = 0, 1, ….
pub(super) fn partial_energies(coefficients: &[f64]) -> impl Iterator<Item = f64> {
    let mut sum = CompensatedSum::default();
    coefficients.iter().map(move |l| {
        sum.add(l * l);
        sum.value()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::causal_convolution_direct;

    #[test]
    fn roots_square_to_the_workload_and_invert_each_other() {
        for n in [1, 2, 3, 7, 40] {
            for workload in [
                Workload::PrefixSum,
                Workload::Decay { factor: 0.9 },
                Workload::SlidingWindow { width: 1 },
                Workload::SlidingWindow { width: 5 },
                Workload::SlidingWindow { width: 100 },
            ] {
                let s = root(workload, n);
                let c = inverse_root(workload, n);
                let square = causal_convolution_direct(&s, &s);
                let one = causal_convolution_direct(&s, &c);
                for k in 0..n {
                    assert!((square[k] - workload.coefficient(k as u64)).abs() < 1e-13, "{workload} {n} {k}");
                    assert!((one[k] - f64::from(u8::from(k == 0))).abs() < 1e-13, "{workload} {n} {k}");
                }
                let quotient = divide(&workload.coefficients(n), &s, n);
                for k in 0..n {
                    assert!((quotient[k] - s[k]).abs() < 1e-12, "{workload} {n} {k}");
                }
            }
        }
    }
}
