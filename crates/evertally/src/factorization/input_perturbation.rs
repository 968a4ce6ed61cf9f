//! Fresh noise on every input: R = I, L = A. The simplest mechanism, and the best at very short horizons.
//!
//! Δ = 1 and ‖L\[t;\]‖² = Σ_{k ≤ t} a_k², which for the prefix sum grows like t. One number of
//! state (a window needs its last inputs), one draw per step, any horizon.

use std::sync::Arc;

use super::{Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, dense_size};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Decay, Progress, Recipe, WhiteField, misfit};
use crate::privacy::{MARGIN, Participation, round_up};
use crate::workload::{Filter, Workload};

pub(super) static KIND: Kind = Kind {
    name: "input-perturbation",
    code: 0,
    has_exact_path: true,
    factorize: |request, _| {
        Ok(Arc::new(InputPerturbation { horizon: request.horizon, workload: request.workload }))
    },
    ..Kind::DEFAULT
};

struct InputPerturbation {
    horizon: u64,
    workload: Workload,
}

impl Factorization for InputPerturbation {
    fn mechanism(&self) -> Mechanism {
        Mechanism::InputPerturbation
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// The columns of I are orthonormal, so k steps move R x by √k.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let times = participation.bounded(self.horizon);
        if times == 1 { 1.0 } else { round_up((times as f64).sqrt(), MARGIN) }
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn gram_falls(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.workload.energy(step + 1)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let lag = later - earlier;
        match self.workload {
            Workload::PrefixSum => lag as f64,
            // As many columns as have entered the window, and as many as have left it.
            Workload::SlidingWindow { width } => {
                let entered = lag.min(width);
                let start = |step: u64| (step + 1).saturating_sub(width);
                let left = start(later).min(earlier + 1) - start(earlier);
                (entered + left) as f64
            }
            Workload::Decay { factor } => {
                let shrink = 1.0 - factor.powf(lag as f64);
                shrink * shrink * self.workload.energy(earlier + 1) + self.workload.energy(lag)
            }
        }
    }

    fn mean_row_norm_squared(&self) -> f64 {
        let n = self.horizon as f64;
        match self.workload {
            Workload::PrefixSum => (n + 1.0) / 2.0,
            Workload::SlidingWindow { width } => {
                let filling = width.min(self.horizon) as f64;
                filling * (n - (filling - 1.0) / 2.0) / n
            }
            Workload::Decay { factor } => mean_decayed_energy(factor, n, self.workload.energy(self.horizon)),
        }
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.workload.energy(self.horizon)
    }

    fn cost(&self) -> Cost {
        let kept = self.workload.kept(self.horizon);
        Cost { shared_bytes: 0, bytes_per_coordinate: 8 * (1 + kept), operations_per_step: 2.0 }
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let encoder = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        Ok(Dense { decoder: self.workload.matrix(n), encoder })
    }

    /// L = A has the coefficients λ^k, and L⁻¹ = A⁻¹ a one and a −λ.
    fn integer(&self) -> Option<IntegerDecoder> {
        let decay = match self.workload {
            Workload::PrefixSum => 1.0,
            Workload::Decay { factor } => factor,
            Workload::SlidingWindow { .. } => return None,
        };
        let recipe = Recipe { decays: vec![Decay { decay, weight: 1.0 }], ..Recipe::default() };
        Some(IntegerDecoder::Filter { recipe, amplification: 2.0 * (self.horizon as f64).sqrt() })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let filter = Filter::new(self.workload, field.width());
        Box::new(Filtered { field, step: 0, filter })
    }
}

/// The mean of E(t) = (1 − q^t)/(1 − q) over t = 1 … n, with q = λ²: (n − q·E(n))/(n(1 − q)).
///
/// Where n(1 − q) is small that difference cancels; then the series of E in 1 − q, cut after
/// three terms at a relative error below 10⁻⁹, is the better one.
fn mean_decayed_energy(factor: f64, n: f64, energy: f64) -> f64 {
    let gap = (1.0 - factor) * (1.0 + factor);
    if n * gap > 1e-3 {
        return (n - (1.0 - gap) * energy) / (n * gap);
    }
    // The mean of t, of t(t − 1)/2 and of t(t − 1)(t − 2)/6.
    let (first, second, third) =
        ((n + 1.0) / 2.0, (n + 1.0) * (n - 1.0) / 6.0, (n + 1.0) * (n - 1.0) * (n - 2.0) / 24.0);
    first - gap * second + gap * gap * third
}

struct Filtered {
    field: Arc<dyn WhiteField>,
    step: u64,
    filter: Filter,
}

impl Correlator for Filtered {
    fn next(&mut self, out: &mut [f64]) {
        self.field.draw(self.step, out);
        self.filter.apply(out);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = Vec::new();
        self.filter.save(&mut saved);
        saved
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        self.filter.restore(step, saved).ok_or_else(misfit)?;
        self.step = step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_under_decay_matches_the_sum_on_both_branches() {
        for factor in [0.3, 0.99, 1.0 - 1e-5, 1.0 - 1e-6, 1.0 - 1e-9, 1.0 - 1e-15] {
            for n in [1_u64, 2, 3, 100, 5000] {
                let workload = Workload::Decay { factor };
                let direct = (1..=n).map(|t| workload.energy(t)).sum::<f64>() / n as f64;
                let closed = mean_decayed_energy(factor, n as f64, workload.energy(n));
                assert!((closed / direct - 1.0).abs() < 1e-9, "{factor} {n}: {closed} {direct}");
            }
        }
    }
}
