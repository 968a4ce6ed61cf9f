//! The square root of a window: L = R = T(s) with s(x) = a(x)^{1/2}, made for the whole horizon at once.
//!
//! **Definition.** s as in [`series`]. Its coefficients rise again at every multiple of the window, so that Δ for a person in several steps is
//! a bound there.
//!
//! **Cost.** The noise is made by a fast Fourier transform: O(n log n) time, O(n) memory.

use std::sync::Arc;

use super::toeplitz::{Toeplitz, answer_from_toeplitz};
use super::{Cost, Dense, Factorization, Mechanism, Request, root_size, series};
use crate::Result;
use crate::noise::{CausalConvolver, Correlator, Prepared, Progress, WhiteField};
use crate::privacy::Participation;

pub(crate) struct PreparedRoot {
    toeplitz: Toeplitz,
}

impl PreparedRoot {
    pub(crate) fn new(request: &Request<'_>) -> Result<Self> {
        let n = root_size(&Mechanism::SquareRoot, request)?;
        Ok(Self { toeplitz: Toeplitz::new(series::root(request.workload, n), None) })
    }
}

/// Operations of one transform of length n, a step, twice and with the draw: 2·(2.5·log₂ 2n) + a few.
pub(crate) fn transform_operations(horizon: u64) -> f64 {
    5.0 * ((2 * horizon) as f64).log2() + 10.0
}

impl Factorization for PreparedRoot {
    fn mechanism(&self) -> Mechanism {
        Mechanism::SquareRoot
    }

    answer_from_toeplitz!();

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: self.toeplitz.bytes(),
            bytes_per_coordinate: 8 * self.horizon(),
            operations_per_step: transform_operations(self.horizon()),
        }
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, progress: &dyn Progress) -> Box<dyn Correlator> {
        let convolver = CausalConvolver::new(self.toeplitz.decoder());
        Box::new(Prepared::new(&field, self.horizon(), progress, |coordinate, noise, part| {
            field.column(coordinate, 0, noise);
            convolver.apply_with_progress(noise, part);
        }))
    }
}
