//! The norms of all rows of T(c), for queries in order.
//!
//! **Definition.** ‖row t‖² = Σ_{k≤t} c_k². The first rows are added up. After them, each octave of
//! t has its own sum of [`TERMS`] Chebyshev polynomials, which is made on first use. This works
//! because the norm is a smooth function of a real t, with closed forms for pairs of decays.
//!
//! **Guarantee.** Within a relative 10⁻¹² of [`Mixture::energy`]. On an octave, the error for
//! logarithms and powers shrinks by a factor of 5.8 per term, and faster for whatever decays within
//! the octave.
//!
//! **Cost.** O(1) per row and O(J²) per octave.

use std::sync::OnceLock;

use super::{Mixture, QuadraticForm};
use crate::privacy::CompensatedSum;

/// Rows that are added up.
const FIRST: u64 = 64;

/// Polynomials per octave.
const TERMS: usize = 20;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Rows {
    mixture: Mixture,
    /// The norms of the first rows.
    norms: Vec<f64>,
    /// Octaves of t + 1, starting at 64.
    octaves: Vec<OnceLock<[f64; TERMS]>>,
}

impl Rows {
    pub(crate) fn new(mixture: Mixture, horizon: u64) -> Self {
        let mut sum = CompensatedSum::default();
        let add = |k: u64| {
            let coefficient = mixture.coefficient(k);
            sum.add(coefficient * coefficient);
            sum.value()
        };
        let norms = (0..horizon.min(FIRST)).map(add).collect();
        let octaves = (FIRST.ilog2()..=horizon.max(1).ilog2()).map(|_| OnceLock::new()).collect();
        Self { mixture, norms, octaves }
    }

    /// ‖row `step`‖².
    pub(crate) fn norm_squared(&self, step: u64) -> f64 {
        if let Some(norm) = self.norms.get(step as usize) {
            return *norm;
        }
        let octave = (step + 1).ilog2();
        let terms =
            self.octaves[(octave - FIRST.ilog2()) as usize].get_or_init(|| terms(&self.mixture, octave));
        // Clenshaw's recurrence, with x from −1 to 1 over the octave.
        let twice = 4.0 * ((step + 1) as f64 / octave_start(octave)) - 6.0;
        let (mut next, mut after) = (0.0, 0.0);
        for term in terms[1..].iter().rev() {
            (next, after) = (term + twice * next - after, next);
        }
        terms[0] + 0.5 * twice * next - after
    }

    /// The bytes held once every octave has been used.
    pub(crate) fn bytes(&self) -> u64 {
        let octaves = self.octaves.len() * (TERMS + 1);
        8 * (self.norms.len() + octaves + 3 * self.mixture.len()) as u64
    }
}

fn octave_start(octave: u32) -> f64 {
    (1_u64 << octave) as f64
}

/// The sum of polynomials that agrees with the norm at the zeros of the next polynomial.
fn terms(mixture: &Mixture, octave: u32) -> [f64; TERMS] {
    let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / TERMS as f64;
    let value = |i: usize| {
        let steps = octave_start(octave) * (1.5 + 0.5 * libm::cos(angle(i)));
        mixture.norm(&QuadraticForm::Row(steps))
    };
    let values: Vec<f64> = (0..TERMS).map(value).collect();
    std::array::from_fn(|m| {
        let sum: f64 = (0..TERMS).map(|i| values[i] * libm::cos(m as f64 * angle(i))).sum();
        sum * if m == 0 { 1.0 } else { 2.0 } / TERMS as f64
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Node, Pair};
    use super::*;

    #[test]
    fn rows_are_those_of_the_closed_form() {
        let root = Pair::square_root(1.0, 1e-12, 1.0, 80).unwrap();
        let few = Mixture::new(&[1e-3, 0.3].map(Node::from_loss), vec![0.5, 0.2], 0.1);
        let one = Mixture::new(&[Node::from_loss(0.0)], vec![1.0], 0.0);
        for mixture in [root.decoder().clone(), few, one] {
            for horizon in [1, 63, 64, 65, 1000, 1 << 40, 1 << 60] {
                let rows = Rows::new(mixture.clone(), horizon);
                let spread = (0..200).map(|i| libm::pow(horizon as f64, f64::from(i) / 200.0) as u64);
                for step in (0..300).chain(spread).chain([horizon - 1]).filter(|step| *step < horizon) {
                    let (row, expected) = (rows.norm_squared(step), mixture.energy(step + 1));
                    assert!((row / expected - 1.0).abs() < 1e-12, "{horizon} {step}: {row} {expected}");
                }
            }
        }
    }
}
