//! ‖L\[t;\]‖² of every step, for mechanisms that hold them in an array.

use crate::privacy::CompensatedSum;

pub(super) struct RowNorms(Vec<f64>);

impl RowNorms {
    pub(super) fn new(squares: Vec<f64>) -> Self {
        Self(squares)
    }

    /// Of a lower-triangular Toeplitz L: Σ_{k ≤ t} l_k².
    pub(super) fn of_toeplitz(first_column: &[f64]) -> Self {
        Self(partial_energies(first_column).collect())
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn at(&self, step: u64) -> f64 {
        self.0[step as usize]
    }

    pub(super) fn mean(&self) -> f64 {
        let mut sum = CompensatedSum::default();
        self.0.iter().for_each(|norm| sum.add(*norm));
        sum.value() / self.0.len() as f64
    }

    pub(super) fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

/// Σ_{k ≤ t} l_k² for t = 0, 1, ….
pub(super) fn partial_energies(coefficients: &[f64]) -> impl Iterator<Item = f64> {
    let mut sum = CompensatedSum::default();
    coefficients.iter().map(move |l| {
        sum.add(l * l);
        sum.value()
    })
}
