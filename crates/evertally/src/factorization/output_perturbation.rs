//! Fresh noise on every output: L = I, R = A.
//!
//! ‖L\[t;\]‖ = 1 and Δ² = Σ_{k < n} a_k², which is n for the prefix sum. Continual counting
//! improves upon this baseline, but it is a fair choice for narrow windows and fast decay. No state,
//! one draw per step, any horizon.

use std::sync::Arc;

use super::{Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, dense_size};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, Recipe, WhiteField, expect_no_numbers};
use crate::privacy::{MARGIN, Participation, round_up, toeplitz_sensitivity};
use crate::workload::Workload;

pub(super) static KIND: Kind = Kind {
    name: "output-perturbation",
    code: 1,
    has_exact_path: true,
    factorize: |request, _| {
        Ok(Arc::new(OutputPerturbation { horizon: request.horizon, workload: request.workload }))
    },
    ..Kind::DEFAULT
};

struct OutputPerturbation {
    horizon: u64,
    workload: Workload,
}

/// Horizons up to which overlapping contributions to windows and decays are added up one by one.
const MAX_SUM: u64 = 1 << 24;

impl Factorization for OutputPerturbation {
    fn mechanism(&self) -> Mechanism {
        Mechanism::OutputPerturbation
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        let times = participation.bounded(self.horizon);
        let alone = self.workload.energy(self.horizon).sqrt();
        if times == 1 {
            return round_up(alone, MARGIN);
        }
        match self.workload {
            // After j of the k participations, b steps are moved by j each, and all that remain by
            // k: the first ones as early as possible and as close as allowed.
            Workload::PrefixSum => {
                let (k, b) = (times as f64, participation.min_gap() as f64);
                let climbing = b * (k - 1.0) * k * (2.0 * k - 1.0) / 6.0;
                let full = (self.horizon as f64 - (k - 1.0) * b) * k * k;
                round_up((climbing + full).sqrt(), MARGIN)
            }
            _ if self.horizon <= MAX_SUM => {
                toeplitz_sensitivity(&self.workload.coefficients(self.horizon as usize), participation)
            }
            _ => round_up(times as f64 * alone, MARGIN),
        }
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    /// The coefficients of every workload are not negative and do not rise.
    fn gram_falls(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, _: u64) -> f64 {
        1.0
    }

    fn difference_norm_squared(&self, _: u64, _: u64) -> f64 {
        2.0
    }

    fn mean_row_norm_squared(&self) -> f64 {
        1.0
    }

    fn max_row_norm_squared(&self) -> f64 {
        1.0
    }

    fn cost(&self) -> Cost {
        Cost { shared_bytes: 0, bytes_per_coordinate: 8, operations_per_step: 1.0 }
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let decoder = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        Ok(Dense { decoder, encoder: self.workload.matrix(n) })
    }

    /// L = I.
    fn integer(&self) -> Option<IntegerDecoder> {
        let recipe = Recipe { impulse: 1.0, ..Recipe::default() };
        Some(IntegerDecoder::Filter { recipe, amplification: (self.horizon as f64).sqrt() })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        Box::new(Fresh { field, step: 0 })
    }
}

struct Fresh {
    field: Arc<dyn WhiteField>,
    step: u64,
}

impl Correlator for Fresh {
    fn next(&mut self, out: &mut [f64]) {
        self.field.draw(self.step, out);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        expect_no_numbers(saved)?;
        self.step = step;
        Ok(())
    }
}
