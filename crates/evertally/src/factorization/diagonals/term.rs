//! One exponential of e² and d², over many steps.

use crate::mixture::Mixture;

/// Steps that are handled together.
pub(in crate::factorization) const CHUNK: usize = 32;

/// Beyond this x, exp(−x) is below 2⁻⁶⁰ and negligible compared with terms of order one.
pub(in crate::factorization) const NEGLIGIBLE: f64 = 42.0;

/// coefficient·exp(−rate·k), k counted from one end of the horizon.
#[derive(Debug, Clone, Copy)]
pub(in crate::factorization) struct Term {
    pub(in crate::factorization) rate: f64,
    /// In e².
    pub(in crate::factorization) grade: f64,
    /// In d².
    pub(in crate::factorization) norm: f64,
    /// exp(−rate·k) for the steps that are handled together, in several vectors whose
    /// multiplications are independent.
    powers: [f64; CHUNK],
    /// The factor from one chunk of steps to the next.
    chunk: f64,
}

impl Term {
    pub(in crate::factorization) fn new(rate: f64, grade: f64, norm: f64) -> Self {
        let power = |k: usize| libm::exp(-rate * k as f64);
        Self { rate, grade, norm, powers: std::array::from_fn(power), chunk: power(CHUNK) }
    }

    /// Adds the term to consecutive squares, in full chunks. The first square is `from` steps away
    /// from the term's end.
    #[inline(always)]
    pub(in crate::factorization) fn add(&self, from: f64, grades: &mut [f64], norms: &mut [f64]) {
        let first = libm::exp(-self.rate * from);
        let mut powers = self.powers.map(|power| power * first);
        let (grades, norms) = (grades.as_chunks_mut::<CHUNK>().0, norms.as_chunks_mut::<CHUNK>().0);
        if self.grade == 0.0 {
            for norms in norms {
                for i in 0..CHUNK {
                    norms[i] += self.norm * powers[i];
                    powers[i] *= self.chunk;
                }
            }
            return;
        }
        for (grades, norms) in grades.iter_mut().zip(norms) {
            for i in 0..CHUNK {
                grades[i] += self.grade * powers[i];
                norms[i] += self.norm * powers[i];
                powers[i] *= self.chunk;
            }
        }
    }
}

/// f̂² as a mixture: rates λ_i + λ_j and weights ω_iω_j, counted twice off the diagonal.
pub(in crate::factorization) fn pairs(mixture: &Mixture) -> Vec<(f64, f64)> {
    let (rates, weights) = (mixture.rates(), mixture.weights());
    let mut pairs = Vec::new();
    for i in 0..rates.len() {
        for j in 0..=i {
            let count = if i == j { 1.0 } else { 2.0 };
            pairs.push((rates[i] + rates[j], count * weights[i] * weights[j]));
        }
    }
    pairs
}
