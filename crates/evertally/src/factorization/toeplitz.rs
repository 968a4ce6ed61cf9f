//! What the factorizations with Toeplitz factors share: L = T(l), R = T(r), both lower triangular.

use super::{Dense, Mechanism, Request, dense_size, series};
use crate::matrix::Matrix;
use crate::privacy::{CompensatedSum, Participation, toeplitz_sensitivity};
use crate::workload::Workload;
use crate::{Error, Result};

/// The first columns of the two factors, and the norms of the rows of L.
pub(crate) struct Toeplitz {
    decoder: Vec<f64>,
    /// `None` where R = L.
    encoder: Option<Vec<f64>>,
    /// Σ_{k ≤ t} l_k².
    row_norms: Vec<f64>,
}

impl Toeplitz {
    pub(crate) fn new(decoder: Vec<f64>, encoder: Option<Vec<f64>>) -> Self {
        let mut sum = CompensatedSum::default();
        let row_norms = decoder
            .iter()
            .map(|l| {
                sum.add(l * l);
                sum.value()
            })
            .collect();
        Self { decoder, encoder, row_norms }
    }

    pub(crate) fn decoder(&self) -> &[f64] {
        &self.decoder
    }

    pub(crate) fn encoder(&self) -> &[f64] {
        self.encoder.as_ref().unwrap_or(&self.decoder)
    }

    pub(crate) fn sensitivity(&self, participation: Participation) -> f64 {
        toeplitz_sensitivity(self.encoder(), participation)
    }

    /// True where it is plain to see: RᵀR ≥ 0 because R ≥ 0.
    pub(crate) fn gram_is_nonnegative(&self) -> bool {
        self.encoder().iter().all(|r| *r >= 0.0)
    }

    pub(crate) fn row_norm_squared(&self, step: u64) -> f64 {
        self.row_norms[step as usize]
    }

    /// Row t has l_{t−j} in column j, so the difference has l_{i+lag} − l_i where both reach, and the first
    /// `lag` coefficients where only the later row does.
    pub(crate) fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let lag = (later - earlier) as usize;
        let both = earlier as usize + 1;
        let mut sum = CompensatedSum::default();
        for (near, far) in self.decoder[..both].iter().zip(&self.decoder[lag..]) {
            sum.add((far - near) * (far - near));
        }
        sum.value() + self.row_norms[lag - 1]
    }

    pub(crate) fn mean_row_norm_squared(&self) -> f64 {
        let mut sum = CompensatedSum::default();
        self.row_norms.iter().for_each(|norm| sum.add(*norm));
        sum.value() / self.row_norms.len() as f64
    }

    pub(crate) fn max_row_norm_squared(&self) -> f64 {
        *self.row_norms.last().expect("a horizon has at least one step")
    }

    /// The bytes of the coefficients and norms held.
    pub(crate) fn bytes(&self) -> u64 {
        8 * (self.decoder.len() + self.row_norms.len() + self.encoder.as_ref().map_or(0, Vec::len)) as u64
    }

    pub(crate) fn dense(&self, mechanism: &Mechanism) -> Result<Dense> {
        dense_size(mechanism, self.decoder.len() as u64)?;
        Ok(Dense {
            decoder: Matrix::lower_toeplitz(&self.decoder),
            encoder: Matrix::lower_toeplitz(self.encoder()),
        })
    }
}

/// Answers the questions of a [`super::Factorization`] from its field `toeplitz`.
macro_rules! answer_from_toeplitz {
    () => {
        fn horizon(&self) -> u64 {
            self.toeplitz.decoder().len() as u64
        }

        fn sensitivity(&self, participation: Participation) -> f64 {
            self.toeplitz.sensitivity(participation)
        }

        fn gram_is_nonnegative(&self) -> bool {
            self.toeplitz.gram_is_nonnegative()
        }

        fn row_norm_squared(&self, step: u64) -> f64 {
            self.toeplitz.row_norm_squared(step)
        }

        fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
            self.toeplitz.difference_norm_squared(earlier, later)
        }

        fn mean_row_norm_squared(&self) -> f64 {
            self.toeplitz.mean_row_norm_squared()
        }

        fn max_row_norm_squared(&self) -> f64 {
            self.toeplitz.max_row_norm_squared()
        }

        fn dense(&self) -> Result<Dense> {
            self.toeplitz.dense(&self.mechanism())
        }
    };
}
pub(crate) use answer_from_toeplitz;

/// The widest band that is tried when none is named.
pub(crate) const LARGEST_CHOSEN_BAND: u64 = 1024;

/// Multiply-adds that one banded factorization may take to prepare.
const LARGEST_WORK: f64 = 6.9e10;

/// Multiply-adds that trying several bands may take together.
const CHOICE_WORK: f64 = 5e8;

/// The band asked for, cut to the horizon, or else the power of two (or the gap between participations) that
/// gives the least mean error.
pub(crate) fn choose_band(
    mechanism: &Mechanism,
    request: &Request<'_>,
    band: Option<u64>,
    make: impl Fn(usize) -> Toeplitz,
) -> Result<(usize, Toeplitz)> {
    let n = super::root_size(mechanism, request)?;
    if band == Some(0) {
        return Err(Error::bad("band", "a whole number from 1", 0));
    }
    let widest = band.unwrap_or(LARGEST_CHOSEN_BAND).min(request.horizon);
    if widest as f64 * request.horizon as f64 > LARGEST_WORK {
        let reason = format!("preparing {n} steps with a band of {widest} takes too many operations");
        return Err(Error::too_costly(mechanism, reason));
    }
    if let Some(band) = band {
        let band = band.min(request.horizon) as usize;
        return Ok((band, make(band)));
    }
    let mut candidates: Vec<u64> = (0..=LARGEST_CHOSEN_BAND.ilog2()).map(|i| 1 << i).collect();
    let gap = request.participation.min_gap();
    if request.participation.bounded(request.horizon) > 1 && gap <= LARGEST_CHOSEN_BAND {
        candidates.push(gap);
    }
    if request.horizon <= LARGEST_CHOSEN_BAND {
        candidates.push(request.horizon);
    }
    candidates.retain(|p| *p <= request.horizon);
    // Wide bands are the accurate ones at long horizons; where trying all would take long, the
    // narrow ones go untried.
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    let mut work = 0.0;
    candidates.retain(|p| {
        let is_first = work == 0.0;
        work += *p as f64 * request.horizon as f64;
        is_first || work <= CHOICE_WORK
    });
    let error = |toeplitz: &Toeplitz| {
        toeplitz.sensitivity(request.participation).powi(2) * toeplitz.mean_row_norm_squared()
    };
    candidates
        .into_iter()
        .map(|p| (p as usize, make(p as usize)))
        .min_by(|(_, a), (_, b)| error(a).total_cmp(&error(b)))
        .ok_or_else(|| Error::too_costly(mechanism, "no band fits"))
}

/// L and R of a banded R: r = first p coefficients of the root, l = a/r.
pub(crate) fn banded_encoder(workload: Workload, n: usize, band: usize) -> Toeplitz {
    let mut encoder = series::root(workload, band);
    let decoder = series::divide(&workload.coefficients(n), &encoder, n);
    encoder.resize(n, 0.0);
    Toeplitz::new(decoder, Some(encoder))
}

/// L and R of a banded R⁻¹: c = first p coefficients of the inverse root, r = 1/c, l = a·c.
pub(crate) fn banded_inverse(workload: Workload, n: usize, band: usize) -> Toeplitz {
    let inverse = series::inverse_root(workload, band);
    let encoder = series::divide(&[1.0], &inverse, n);
    let decoder = series::multiply(&workload.coefficients(n), &inverse, n);
    Toeplitz::new(decoder, Some(encoder))
}
