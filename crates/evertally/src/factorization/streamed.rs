//! Factorizations by a pair of mixtures: L = T(l) is streamed, R = T(r) is accounted.
//!
//! **Guarantee.** All norms have closed forms over pairs of decays ([`crate::mixture`]) at any
//! horizon. Δ is exact for a person in several steps, because r is non-negative and does not
//! increase.
//!
//! **Cost.** One number per decay of l and coordinate. Every norm takes O(J²) operations, and less if
//! rows are asked for in order.

use std::sync::Arc;

use super::integer::toeplitz_amplification;
use super::{
    Cost, Dense, Factorization, IntegerDecoder, Mechanism, Request, dense_size, digest_of, run_by_engine,
    series,
};
use crate::matrix::Matrix;
use crate::mixture::{Pair, Rows};
use crate::noise::{Correlator, Progress, Recipe, WhiteField};
use crate::privacy::Participation;
use crate::workload::Workload;
use crate::{Error, Result};

/// See the module.
pub(crate) struct Streamed {
    mechanism: Mechanism,
    horizon: u64,
    workload: Workload,
    pair: Pair,
    /// Of L.
    rows: Rows,
    recipe: Recipe,
}

/// The refusal of a workload whose decays are too close to its own pole for doubles to separate.
pub(crate) fn indistinct(mechanism: &Mechanism) -> Error {
    Error::unsupported(mechanism, "its decays cannot be told apart from that of the workload")
}

impl Streamed {
    /// A pair whose product is the workload's 1/(1−λx).
    pub(crate) fn new(mechanism: Mechanism, request: &Request<'_>, pair: Pair) -> Self {
        let recipe = pair.recipe();
        let rows = Rows::new(pair.decoder().clone(), request.horizon);
        Self { mechanism, horizon: request.horizon, workload: request.workload, pair, rows, recipe }
    }
}

impl Factorization for Streamed {
    fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        self.pair.encoder().sensitivity(self.horizon, participation)
    }

    /// R ≥ 0.
    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    /// The coefficients of a mixture are not negative and do not rise.
    fn gram_falls(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.rows.norm_squared(step)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        self.pair.decoder().difference(earlier, later)
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.pair.decoder().mean_energy(self.horizon)
    }

    /// Rows grow longer.
    fn max_row_norm_squared(&self) -> f64 {
        self.pair.decoder().energy(self.horizon)
    }

    fn cost(&self) -> Cost {
        let rows = self.recipe.rows() as u64;
        let decays = (self.pair.encoder().len() + self.pair.decoder().len()) as u64;
        Cost {
            shared_bytes: 16 * rows + 40 * decays + self.rows.bytes(),
            bytes_per_coordinate: 8 * rows,
            operations_per_step: 4.0 * rows as f64 + 8.0,
        }
    }

    fn draws(&self) -> u64 {
        self.horizon
    }

    /// From the definition: r added up, l by long division of the workload.
    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism, self.horizon)?;
        let encoder = self.pair.encoder().coefficients(n);
        let decoder = series::divide(&self.workload.coefficients(n), &encoder, n);
        Ok(Dense { decoder: Matrix::lower_toeplitz(&decoder), encoder: Matrix::lower_toeplitz(&encoder) })
    }

    /// The numbers that are run: a later version may find better ones.
    fn digest(&self) -> Option<[u8; 32]> {
        let ordinary = self.recipe.decays.iter().flat_map(|decay| [decay.decay, decay.weight]);
        let slow = self.recipe.slow.iter().flat_map(|decay| [decay.loss, decay.weight]);
        Some(digest_of(ordinary.chain(slow).chain([0.0, self.recipe.impulse])))
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(self.recipe.clone())
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        let factor = if let Workload::Decay { factor } = self.workload { factor } else { 1.0 };
        let amplification = toeplitz_amplification(self.pair.encoder(), factor, self.horizon);
        Some(IntegerDecoder::Filter { recipe: self.recipe.clone(), amplification })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        run_by_engine(&self.recipe, self.horizon, field)
    }
}
