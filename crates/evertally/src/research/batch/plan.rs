//! The mechanism for a matrix of queries that is written out.
//!
//! **Privacy.** Let x and x' be neighbours: one cell differs by at most one (add or remove), or a
//! unit of one cell is replaced by a unit of another. Then ‖R(x − x')‖ ≤ Δ, computed from R in
//! integer units and rounded up. Releasing R x + σΔ g meets the budget by the definition of σ, and
//! the answers L (R x + σΔ g) are computed from that alone.
//!
//! **Least error.** Any factorization has ‖L‖_F Δ ≥ γ_F(A). A person who may be replaced may also
//! be replaced by one of weight zero, so Δ is never below the largest column norm. So σ²γ_F²/n is a
//! lower bound under both relations.
//!
//! **Cost.** The plan costs some dozens of eigendecompositions of the shorter side. An answer takes
//! one product with R and one with L.

use zeroize::Zeroize;

use super::fixed::{Encoder, ROUNDING_CHARGE};
use super::{Answer, NoiseScale, check_gaussian, white_noise};
use crate::matrix::Matrix;
use crate::noise::{NoiseKey, Progress, WhiteNoise};
use crate::noise_name::{Fields, NoiseName, Value};
use crate::privacy::{Budget, Neighbours};
use crate::research::gamma::{Certificate, Factors, Subject, Weights, gamma_f, verify};
use crate::{Error, Result};

/// The distance of the factorization from the optimum. A relative error of one millionth is
/// invisible.
const RELATIVE_GAP: f64 = 1e-6;

/// A certified factorization of a matrix of queries, and the noise for a budget.
///
/// ```
/// use evertally::research::batch::BatchPlan;
/// use evertally::{Budget, Matrix, Neighbours, NoiseKey};
///
/// let prefix_sums = Matrix::from_fn(8, 8, |t, j| f64::from(u8::from(j <= t)));
/// let plan = BatchPlan::new(prefix_sums, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
/// let answers = plan.answer(&[5.0, 1.0, 0.0, 2.0, 7.0, 0.0, 0.0, 1.0], NoiseKey::from_os()?)?;
/// assert_eq!(answers.len(), 8);
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct BatchPlan {
    certificate: Certificate,
    decoder: Matrix,
    encoder: Encoder,
    pub(super) noise: NoiseScale,
    digest: [u8; 32],
}

impl BatchPlan {
    /// Finds the best factorization of a matrix of queries, which has one query per row.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a matrix that is empty, zero, not finite or too large, and
    /// [`Error::Unsupported`] for a budget of pure ε.
    pub fn new(queries: Matrix, budget: Budget, neighbours: Neighbours) -> Result<Self> {
        Self::with_progress(queries, budget, neighbours, &())
    }

    /// Like [`new`](Self::new), with progress reports.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_progress(
        queries: Matrix,
        budget: Budget,
        neighbours: Neighbours,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_gaussian(budget)?;
        Self::assemble(gamma_f(queries, RELATIVE_GAP, progress)?, budget, neighbours)
    }

    /// Uses the factorization of an existing certificate for γ_F. Its bounds are verified first.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a certificate that does not prove its bounds, or that is about
    /// γ_2 or about a complex matrix. Otherwise as for [`new`](Self::new).
    ///
    /// ```
    /// use evertally::research::batch::BatchPlan;
    /// use evertally::research::gamma::{Subject, gamma_f};
    /// use evertally::{Budget, Neighbours, Workload};
    ///
    /// let certificate = gamma_f(Subject::workload(Workload::PrefixSum, 16), 1e-9, &())?;
    /// let plan = BatchPlan::from_certificate(certificate, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
    /// assert_eq!(plan.queries(), 16);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn from_certificate(
        certificate: Certificate,
        budget: Budget,
        neighbours: Neighbours,
    ) -> Result<Self> {
        check_gaussian(budget)?;
        if matches!(certificate.weights, Weights::Gamma2 { .. }) {
            return Err(Error::bad("certificate", "about the mean error", "one about the worst error"));
        }
        verify(&certificate)?;
        Self::assemble(certificate, budget, neighbours)
    }

    fn assemble(certificate: Certificate, budget: Budget, neighbours: Neighbours) -> Result<Self> {
        if certificate.upper == 0.0 {
            return Err(Error::bad("queries", "a matrix with an entry other than zero", "zeros"));
        }
        if matches!(certificate.subject, Subject::Complex(_)) {
            return Err(Error::bad("queries", "a real matrix", "a complex one"));
        }
        let Factors::Real { decoder, encoder } = certificate.factors()? else {
            return Err(Error::bad("queries", "a real matrix", "a complex one"));
        };
        let out_of_range =
            || Error::bad("queries", "well inside the range of floating-point numbers", "others");
        let encoder = Encoder::new(&encoder).ok_or_else(out_of_range)?;
        let sensitivity = encoder.sensitivity(neighbours);
        let noise = NoiseScale::new(budget, neighbours, sensitivity, ROUNDING_CHARGE);
        if !(noise.scale.is_normal() && encoder.can_count(noise.scale)) {
            return Err(out_of_range());
        }
        let digest = digest_of(&decoder, &encoder);
        Ok(Self { certificate, decoder, encoder, noise, digest })
    }

    /// The number of queries n.
    #[must_use]
    pub fn queries(&self) -> usize {
        self.decoder.rows()
    }

    /// The number of cells m.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.certificate.subject.columns()
    }

    /// The certificate of the factorization.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The standard deviation of each white draw before L is applied.
    #[must_use]
    pub fn noise_scale(&self) -> f64 {
        self.noise.scale
    }

    /// L: the noise in the answers has covariance `noise_scale`² L Lᵀ.
    #[must_use]
    pub fn decoder(&self) -> &Matrix {
        &self.decoder
    }

    /// The standard deviation of the noise in the answer to a query.
    ///
    /// # Panics
    /// If there is no such query.
    #[must_use]
    pub fn standard_error(&self, query: usize) -> f64 {
        self.noise.scale * self.decoder.row_norm_squared(query).sqrt()
    }

    /// The mean over the queries of the squared standard error.
    #[must_use]
    pub fn mean_squared_error(&self) -> f64 {
        let n = self.queries();
        (0..n).map(|query| self.standard_error(query).powi(2)).sum::<f64>() / n as f64
    }

    /// A lower bound on the mean squared error of any factorization at this budget: σ²γ_F²/n, from
    /// the certificate.
    #[must_use]
    pub fn least_mean_squared_error(&self) -> f64 {
        self.noise.budget.noise_multiplier().powi(2) * self.certificate.error_factor().0
    }

    /// Private answers to all queries about a histogram. The histogram has one number per cell, and
    /// one person is one unit of one cell.
    ///
    /// A key must be used for one histogram only. Noise depends on the data as well as on the key,
    /// so using a key twice by mistake does not reveal the difference. It does reveal whether two
    /// histograms are equal.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for data of another length, data that are not finite, or a total
    /// above 2⁴⁸.
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn answer(&self, data: &[f64], key: NoiseKey) -> Result<Vec<Answer>> {
        if data.len() != self.cells() {
            let expected = format!("one number for each of the {} cells", self.cells());
            return Err(Error::bad("data", expected, format!("{} numbers", data.len())));
        }
        let mut noise = vec![0.0; self.encoder.rows()];
        self.white(data, &key).fill_parallel(0, &mut noise);
        noise.iter_mut().for_each(|draw| *draw *= self.noise.scale);
        let encoded = self.encoder.encode(data, &noise);
        noise.zeroize();
        let encoded = encoded?;
        let answer = |query: usize| {
            let row = self.decoder.row(query);
            let value = row.iter().zip(&encoded).map(|(l, w)| l * w).sum();
            Answer { query, value, standard_error: self.standard_error(query) }
        };
        Ok((0..self.queries()).map(answer).collect())
    }

    /// The name of this plan's noise. Other queries, budgets and neighbours have other names.
    #[must_use]
    pub fn noise_name(&self) -> NoiseName {
        let mut fields = Fields::new(*b"EVNB", 2);
        fields.put(3, self.noise.budget.name_value());
        fields.put(4, self.noise.neighbours.name_value());
        fields.put(8, Value::new().raw(&self.digest));
        NoiseName::new(fields.into_bytes())
    }

    /// The white noise for these data under a key.
    fn white(&self, data: &[f64], key: &NoiseKey) -> WhiteNoise {
        let mut hasher = blake3::Hasher::new_derive_key("evertally batch data 1");
        for x in data {
            hasher.update(&x.to_bits().to_le_bytes());
        }
        white_noise(&self.noise_name(), &hasher, key)
    }
}

/// Identifies a plan among all plans, so that other queries get noise from another stream.
///
/// Both factors matter. [1 1] and [1 −1] have the same L. If they had the same noise, the
/// difference of their answers would be exact.
fn digest_of(decoder: &Matrix, encoder: &Encoder) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("evertally batch factors 1");
    hasher.update(&(decoder.rows() as u64).to_le_bytes());
    hasher.update(&(decoder.columns() as u64).to_le_bytes());
    for x in (0..decoder.rows()).flat_map(|i| decoder.row(i)) {
        hasher.update(&x.to_bits().to_le_bytes());
    }
    encoder.hash_into(&mut hasher);
    *hasher.finalize().as_bytes()
}

impl std::fmt::Debug for BatchPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchPlan")
            .field("queries", &self.queries())
            .field("cells", &self.cells())
            .field("budget", &self.noise.budget)
            .field("neighbours", &self.noise.neighbours)
            .field("noise_scale", &self.noise.scale)
            .finish_non_exhaustive()
    }
}
