//! Mixtures of geometric decays: coefficients that stream with a few numbers and whose norms have
//! closed forms.
//!
//! **Definition.** c_k = κ·\[k = 0\] + Σ_j w_j(1−p_j)^k with κ ≥ 0, weights w_j > 0 and losses 0 ≤
//! p_j ≤ 1. T(c) is the lower-triangular Toeplitz matrix with these coefficients. They are
//! non-negative and do not increase.
//!
//! **Guarantee.** Losses may be as small as 10⁻¹⁹, because everything is computed from p and from
//! the rate λ = −ln(1−p), and nothing from 1−p. All terms of all sums are positive, so nothing
//! cancels. A sum over pairs of decays is right up to the errors of its terms, about ten units in
//! the last place, and the error of adding J² of them. A power (1−p)^k is off by a relative λk
//! units, but if λk is large, the power is small.
//!
//! | file | content |
//! |---|---|
//! | `quadratic_form` | the sums over pairs of decays of which all norms consist |
//! | `sums` | norms of T(c), and its sensitivity for a person in several steps |
//! | `rows` | the norms of all rows, in order |
//! | `window_product` | products of a mixture in x and a mixture in x^w, for windows |
//! | `node` | a decay given by both its loss and its factor |
//! | `pair` | an encoder and a decoder whose product is exactly the workload |
//!
//! **Cost.** O(J²) per norm, at any horizon.

mod node;
mod pair;
mod quadratic_form;
mod rows;
mod sums;
mod window_product;

pub(crate) use node::Node;
pub(crate) use pair::{Pair, as_run, workload_node};
pub(crate) use quadratic_form::{DecayTerms, QuadraticForm};
pub(crate) use rows::Rows;
pub(crate) use window_product::WindowProduct;

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    losses: Vec<f64>,
    rates: Vec<f64>,
    weights: Vec<f64>,
    impulse: f64,
}

impl Mixture {
    pub(crate) fn new(nodes: &[Node], weights: Vec<f64>, impulse: f64) -> Self {
        debug_assert_eq!(nodes.len(), weights.len());
        debug_assert!(impulse >= 0.0 && weights.iter().all(|weight| *weight >= 0.0));
        Self {
            losses: nodes.iter().map(|node| node.loss).collect(),
            rates: nodes.iter().map(|node| node.rate()).collect(),
            weights,
            impulse,
        }
    }

    /// The number of decays J.
    pub(crate) fn len(&self) -> usize {
        self.losses.len()
    }

    /// λ_j = −ln(1 − p_j).
    pub(crate) fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// w_j.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// κ.
    pub(crate) fn impulse(&self) -> f64 {
        self.impulse
    }

    /// c_k.
    pub(crate) fn coefficient(&self, k: u64) -> f64 {
        let terms =
            self.rates.iter().zip(&self.weights).map(|(rate, weight)| weight * power(*rate, k as f64));
        terms.sum::<f64>() + if k == 0 { self.impulse } else { 0.0 }
    }

    /// c_k for k < n.
    pub(crate) fn coefficients(&self, n: usize) -> Vec<f64> {
        (0..n as u64).map(|k| self.coefficient(k)).collect()
    }
}

/// exp(−rate·k). The rate may be infinite.
fn power(rate: f64, k: f64) -> f64 {
    if k == 0.0 { 1.0 } else { libm::exp(-rate * k) }
}

/// 1 − exp(−rate·k). The rate may be infinite.
fn lost(rate: f64, k: f64) -> f64 {
    if k == 0.0 { 0.0 } else { -libm::expm1(-rate * k) }
}
