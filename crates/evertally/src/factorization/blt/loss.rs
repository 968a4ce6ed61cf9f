//! The logarithm of the error as a function of poles and zeros, with its gradient.
//!
//! **Definition.** Poles s_j of the encoder and zeros σ_i lie interlaced on the positive axis, 0 =
//! σ₀ < s₀ < σ₁ < s₁ < … < σ_d. A place u means the decay λ/(1+u). The variables are logarithms of
//! gaps: u₀ = base + exp(x₀), and each place is 1 + [`MIN_GAP`] + exp(x) times the previous one. So
//! any real numbers give a valid pair with positive weights, and rounding never makes two places
//! equal. Up to a factor that r and 1/l share,
//!
//! > κ = 1,  ω_j = Π_i(σ_i−s_j)/Π_{k≠j}(s_k−s_j)/(1+s_j),  η_i = Π_j(s_j−σ_i)/Π_{k≠i}(σ_k−σ_i)/(1+σ_i),
//!
//! and the loss is ln Δ² + ln ‖L‖². Both are quadratic forms of these weights ([`QuadraticForm`]),
//! and the factor cancels.
//!
//! **Gradient.** Closed forms for the weights. For Γ and B a central difference in the logarithm of
//! the rate, with an error of about 10⁻¹⁰, which needs only the row of the decay that moves. A
//! gradient costs about as much as five values.

use crate::mixture::{DecayTerms, QuadraticForm};

/// The function that a fit minimises.
pub(super) struct Loss {
    /// The quadratic form of Δ².
    pub(super) encoder: QuadraticForm,
    /// The quadratic form of the error.
    pub(super) decoder: QuadraticForm,
    /// −ln λ.
    pub(super) fading: f64,
    /// The minimum distance of a place from the workload's own pole.
    pub(super) base: f64,
}

/// The minimum relative distance of two places. Rounding a decay moves a place by at most a relative
/// 10⁻⁷.
const MIN_GAP: f64 = 1e-4;

/// The relative step of a rate in central differences.
const STEP: f64 = 1e-5;

impl Loss {
    /// The loss for these logarithms of gaps, and its gradient.
    pub(super) fn value_and_gradient(&self, gaps: &[f64], gradient: &mut [f64]) -> f64 {
        let places = self.places(gaps);
        let poles: Vec<f64> = places.iter().copied().step_by(2).collect();
        let zeros: Vec<f64> = places.iter().copied().skip(1).step_by(2).collect();
        let all_zeros: Vec<f64> = std::iter::once(0.0).chain(zeros.iter().copied()).collect();
        let encoder = Side::new(&self.encoder, &poles, &zeros, 1.0, self.fading);
        let decoder = Side::new(&self.decoder, &all_zeros, &poles, 0.0, self.fading);
        for (m, slope) in gradient.iter_mut().enumerate() {
            let i = m / 2;
            *slope = if m % 2 == 0 {
                encoder.by_own[i] + decoder.by_other[i]
            } else {
                encoder.by_other[i] + decoder.by_own[i + 1]
            };
        }
        // A gap moves every place above it by the same factor.
        let mut above = 0.0;
        for (m, slope) in gradient.iter_mut().enumerate().rev() {
            above += places[m] * *slope;
            let gap = libm::exp(gaps[m]);
            *slope = above * gap / if m == 0 { places[0] } else { 1.0 + MIN_GAP + gap };
        }
        libm::log(encoder.norm) + libm::log(decoder.norm)
    }

    /// s₀, σ₁, s₁, …, σ_d.
    pub(super) fn places(&self, gaps: &[f64]) -> Vec<f64> {
        let mut place = 0.0;
        let next = |gap: &f64| {
            let gap = libm::exp(*gap);
            place = if place == 0.0 { self.base + gap } else { place * (1.0 + MIN_GAP + gap) };
            place
        };
        gaps.iter().map(next).collect()
    }

    /// The variables of these places, or of the nearest valid ones.
    pub(super) fn gaps(&self, places: &[f64]) -> Vec<f64> {
        let gap = |m: usize| match m {
            0 => (places[0] - self.base).max(0.1 * places[0]),
            // At the minimum gap the excess is zero, which has no logarithm.
            _ => (places[m] / places[m - 1] - 1.0 - MIN_GAP).max(1e-9),
        };
        (0..places.len()).map(|m| libm::log(gap(m))).collect()
    }
}

/// One of the two mixtures: the logarithm of its squared norm, and its derivatives.
struct Side {
    norm: f64,
    /// With respect to its own places.
    by_own: Vec<f64>,
    /// With respect to the places of the other mixture.
    by_other: Vec<f64>,
}

impl Side {
    fn new(form: &QuadraticForm, own: &[f64], other: &[f64], impulse: f64, fading: f64) -> Self {
        let weights: Vec<f64> = (0..own.len()).map(|j| weight(own, other, j)).collect();
        let rates: Vec<f64> = own.iter().map(|place| libm::log1p(*place) + fading).collect();
        let traces = |factor: f64| -> Vec<DecayTerms> {
            let terms = |rate: &f64| form.terms(-libm::expm1(-rate * factor), rate * factor);
            rates.iter().map(terms).collect()
        };
        let (here, below, above) = (traces(1.0), traces(1.0 - STEP), traces(1.0 + STEP));
        let mut side = Self {
            norm: impulse * impulse * form.impulses(),
            by_own: vec![0.0; own.len()],
            by_other: vec![0.0; other.len()],
        };
        let with_all = |terms: &DecayTerms| {
            let pairs = weights.iter().zip(&here).map(|(weight, other)| weight * form.pair(terms, other));
            impulse * form.alone(terms) + pairs.sum::<f64>()
        };
        for (j, place) in own.iter().enumerate() {
            let sum = with_all(&here[j]);
            side.norm += weights[j] * (sum + impulse * form.alone(&here[j]));
            // With respect to ln w_j.
            let slope = 2.0 * weights[j] * sum;
            let mut by_place = 0.0;
            for (derivative, b) in side.by_other.iter_mut().zip(other) {
                let inverse = slope / (b - place);
                *derivative += inverse;
                by_place -= inverse;
            }
            for (k, a) in own.iter().enumerate() {
                if k != j {
                    let inverse = slope / (a - place);
                    side.by_own[k] -= inverse;
                    by_place += inverse;
                }
            }
            if rates[j] > 0.0 {
                let difference = (with_all(&above[j]) - with_all(&below[j])) / (2.0 * STEP * rates[j]);
                by_place += (2.0 * weights[j] * difference - slope) / (1.0 + place);
            }
            side.by_own[j] += by_place;
        }
        let norm = side.norm;
        side.by_own.iter_mut().chain(&mut side.by_other).for_each(|slope| *slope /= norm);
        side
    }
}

/// Π_i(b_i − a_j)/Π_{k≠j}(a_k − a_j)/(1 + a_j). Each difference is divided by one of similar size.
fn weight(own: &[f64], other: &[f64], j: usize) -> f64 {
    let place = own[j];
    let mut others = own.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, a)| a - place);
    let ratios = other.iter().map(|b| match others.next() {
        Some(difference) => (b - place) / difference,
        None => b - place,
    });
    ratios.product::<f64>() / (1.0 + place)
}
