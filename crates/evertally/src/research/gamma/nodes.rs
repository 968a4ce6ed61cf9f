//! The number of elliptic nodes that a tolerance needs.

use std::f64::consts::PI;

use crate::elliptic::{complement, complete_integral, inverse_square_root};

/// Shifts s_j and weights w_j with Σ w_j/(x + s_j) = x^{-1/2} on a spectrum, to a relative
/// tolerance.
pub(super) struct Nodes {
    pub(super) shifts: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

impl Nodes {
    /// Nodes for the spectrum [low, high]. Their number is a multiple of `multiple`.
    pub(super) fn new(low: f64, high: f64, tolerance: f64, multiple: usize) -> Self {
        let complement = complement(low, high);
        let log_nome = -PI * complete_integral(1.0 - complement) / complete_integral(complement);
        let wanted = (4.0 / tolerance).ln() / (-2.0 * log_nome);
        let count = (wanted.ceil().max(1.0) as usize).next_multiple_of(multiple);
        let fractions = inverse_square_root(low, high, count);
        Self {
            shifts: fractions.iter().map(|fraction| fraction.shift).collect(),
            weights: fractions.iter().map(|fraction| fraction.weight).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_inverse_square_root_to_its_tolerance() {
        for (low, high) in [(1.0, 1.0), (0.3, 0.7), (1e-3, 1e4), (1e-6, 1e8)] {
            for tolerance in [1e-3, 1e-8, 1e-12] {
                let nodes = Nodes::new(low, high, tolerance, 1);
                let mut largest: f64 = 0.0;
                for i in 0..=2000 {
                    let x = low * (high / low).powf(f64::from(i) / 2000.0);
                    let sum: f64 = nodes.shifts.iter().zip(&nodes.weights).map(|(s, w)| w / (x + s)).sum();
                    largest = largest.max((sum * x.sqrt() - 1.0).abs());
                }
                assert!(largest <= tolerance * 1.001 + 1e-13, "{low} {high} {tolerance}: {largest}");
                // One node fewer would not suffice: the estimate of their number is sharp.
                let count = nodes.shifts.len();
                assert!(count == 1 || low == high || largest > tolerance.powi(2) / 100.0, "{count}");
            }
        }
    }
}
