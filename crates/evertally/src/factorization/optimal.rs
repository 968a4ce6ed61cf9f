//! The factorization of least mean squared error, dense, by the fixed point of [`crate::research::gamma`].
//!
//! **Definition.** The fixed point gives X = RᵀR with equal diagonal. R is chosen lower triangular.
//! L = A R⁻¹ is then lower triangular too, and the noise can be made step by step. For
//! [`Objective::Report`], X is that of the weighted sums W of the report: A and W are functions of the
//! same noisy steps, and only X is chosen for W. Its error ‖W R⁻¹‖_F²Δ² is γ_F(W)², up to [`GAP`]. A W
//! that does not determine every step has a singular X; steps then get a small weight
//! ([`Report::shaping`](crate::Report)).
//!
//! **Privacy.** L is computed in doubles, so L R is A only up to a residual E, and L⁻¹A = R + L⁻¹E. For
//! reports, which have integer noise, Δ includes a bound on the second term. From L = (A − E)R⁻¹ follows
//! L⁻¹ = R A⁻¹(I − E A⁻¹)⁻¹. With ‖A⁻¹‖ ≤ 2 and columns of E no longer than e, ‖E A⁻¹‖ ≤ 2√n·e = x, so
//! ‖L⁻¹‖ ≤ ‖R A⁻¹‖/(1 − x). An x above [`MAX_RESIDUAL`] is refused.
//!
//! Δ includes the bound r = ‖L⁻¹‖e on the second term twice. Columns of R that have no negative inner
//! product are √2 times their length apart at most, those of L⁻¹A 2r more, and √2·(Δ + 2r) covers both.
//!
//! **Cost.** O(n³) to prepare, O(n²) memory, O(n) per step.

use std::sync::Arc;

use faer::linalg::solvers::DenseSolveCore;

use zeroize::Zeroizing;

use super::{
    Cost, Dense, Factorization, IntegerDecoder, Kind, MAX_DENSE, Mechanism, Request, dense_size, digest_of,
};
use crate::matrix::Matrix;
use crate::noise::integer::Rows as IntegerRows;
use crate::noise::{Correlator, Progress, WhiteField, expect_no_numbers};
use crate::objective::Objective;
use crate::privacy::{CompensatedSum, MARGIN, Participation, columns_sensitivity, round_up};
use crate::research::gamma::{Certificate, Factors, Subject, gamma_f};
use crate::{Error, Result};

/// The gap to which the optimum is found: relative, in γ_F.
const GAP: f64 = 1e-9;

/// The largest x for which L counts as a factor of the workload. At 2,048 steps, the bound on the
/// rounding of the product alone is some 10⁻⁸.
const MAX_RESIDUAL: f64 = 1e-6;

pub(super) static KIND: Kind = Kind {
    name: "optimal",
    code: 13,
    has_exact_path: true,
    preparation: |horizon, _, _| 20.0 * (horizon as f64).powi(3),
    min_cost: |horizon, _| Cost::arrays(horizon, 2 * horizon.min(MAX_DENSE), 1),
    factorize: |request, _| Ok(Arc::new(Optimal::new(request)?)),
    ..Kind::DEFAULT
};

pub(crate) struct Optimal {
    decoder: Arc<Matrix>,
    encoder: Matrix,
    /// ‖L\[t;\]‖² of every step.
    row_norms: Vec<f64>,
    column_norms: Vec<f64>,
    gram_is_nonnegative: bool,
    certificate: Certificate,
    /// If it is made for a report: what the integer noise needs.
    integer: Option<IntegerDecoder>,
    /// Twice a bound on ‖(L⁻¹A − R)\[;j\]‖, or zero if Δ does not include it.
    residual: f64,
}

impl Optimal {
    pub(crate) fn new(request: &Request<'_>) -> Result<Self> {
        let n = dense_size(&Mechanism::Optimal, request.horizon)?;
        let workload = request.workload.matrix(n);
        let report = request.report.filter(|_| request.objective == Objective::Report);
        let subject = match report {
            Some(report) => Subject::Real(report.shaping().matrix(n)),
            None => Subject::workload(request.workload, n),
        };
        let certificate = gamma_f(subject, GAP, request.progress)?;
        let Factors::Real { encoder, .. } = certificate.factors()? else {
            return Err(Error::unsupported(Mechanism::Optimal, "it is for real workloads"));
        };
        let encoder = encoder.to_faer();
        let gram = Matrix::from_faer((encoder.transpose() * &encoder).as_ref());
        // X = U Uᵀ with U upper triangular comes from the Cholesky factor of X with rows and
        // columns reversed; then R = Uᵀ is lower triangular and RᵀR = X.
        let reversed = faer::Mat::from_fn(n, n, |i, j| gram[(n - 1 - i, n - 1 - j)]);
        let cholesky = reversed
            .llt(faer::Side::Lower)
            .map_err(|_| Error::too_costly(Mechanism::Optimal, "the optimum is too ill-conditioned here"))?;
        let lower = cholesky.L();
        let encoder = Matrix::from_fn(n, n, |i, j| if j <= i { lower[(n - 1 - j, n - 1 - i)] } else { 0.0 });
        let inverse = encoder.to_faer().partial_piv_lu().inverse();
        let product = workload.to_faer() * inverse;
        let decoder = Matrix::from_fn(n, n, |i, j| if j <= i { product[(i, j)] } else { 0.0 });
        let row_norms = (0..n).map(|t| decoder.row_norm_squared(t)).collect();
        let transposed = encoder.transpose();
        let column_norms = (0..n).map(|j| transposed.row_norm_squared(j).sqrt()).collect();
        // Entries below rounding count as zero: they change a norm by less than the margin.
        let gram_is_nonnegative = (0..n).all(|i| gram.row(i).iter().all(|x| *x >= -1e-14));
        let (mut integer, mut residual) = (None, 0.0);
        if report.is_some() {
            let largest = largest_residual(&decoder, &encoder, &workload);
            let inverse = inverse_bound(&encoder, largest).ok_or_else(|| {
                Error::too_costly(Mechanism::Optimal, "the optimum is too ill-conditioned here")
            })?;
            integer = Some(IntegerDecoder::Rows {
                rows: IntegerRows::new(&decoder),
                amplification: round_up(inverse * (n as f64).sqrt(), 1e-9),
            });
            residual = 2.0 * round_up(inverse * largest, 1e-9);
        }
        Ok(Self {
            decoder: Arc::new(decoder),
            encoder,
            row_norms,
            column_norms,
            gram_is_nonnegative,
            certificate,
            integer,
            residual,
        })
    }

    /// The bounds on γ_F that the fixed point proved, of what the noise is shaped for.
    pub(crate) fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}

impl Factorization for Optimal {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Optimal
    }

    fn horizon(&self) -> u64 {
        self.row_norms.len() as u64
    }

    /// The largest column norm of R. Several participations: by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        round_up(
            columns_sensitivity(
                self.column_norms.iter().map(|norm| norm + self.residual),
                participation,
                self.column_norms.len(),
            ),
            MARGIN,
        )
    }

    fn gram_is_nonnegative(&self) -> bool {
        self.gram_is_nonnegative
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.row_norms[step as usize]
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let rows = self.decoder.row(earlier as usize).iter().zip(self.decoder.row(later as usize));
        rows.map(|(a, b)| (b - a) * (b - a)).sum()
    }

    fn cost(&self) -> Cost {
        let n = self.horizon();
        Cost { shared_bytes: 16 * n * n + 16 * n, bytes_per_coordinate: 8 * n, operations_per_step: n as f64 }
    }

    fn dense(&self) -> Result<Dense> {
        Ok(Dense { decoder: (*self.decoder).clone(), encoder: self.encoder.clone() })
    }

    /// The decoder comes from an iteration that stops at a tolerance, so its last digits depend on
    /// the machine.
    fn digest(&self) -> Option<[u8; 32]> {
        Some(digest_of((0..self.decoder.rows()).flat_map(|t| self.decoder.row(t)).copied()))
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        self.integer.clone()
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        Box::new(Rows { decoder: Arc::clone(&self.decoder), field, drawn: Vec::new() })
    }
}

/// A bound on ‖L⁻¹‖, where A is the prefix sum and the columns of A − L R are no longer than `residual`.
/// `None` if they are too long.
fn inverse_bound(encoder: &Matrix, residual: f64) -> Option<f64> {
    let x = 2.0 * (encoder.rows() as f64).sqrt() * residual;
    // Not a number is refused too.
    (x <= MAX_RESIDUAL).then(|| round_up(prefix_inverse_norm(encoder) / (1.0 - x), 1e-9))
}

/// ‖R A⁻¹‖_F, where A is the prefix sum.
fn prefix_inverse_norm(encoder: &Matrix) -> f64 {
    let n = encoder.rows();
    let mut sum = CompensatedSum::default();
    for i in 0..n {
        let row = encoder.row(i);
        for j in 0..n {
            let next = row.get(j + 1).copied().unwrap_or_default();
            sum.add((row[j] - next).powi(2));
        }
    }
    sum.value().sqrt()
}

/// A bound on the norm of every column of A − L R, including the roundings of this product and that
/// of L when its columns are divided by the diagonal.
fn largest_residual(decoder: &Matrix, encoder: &Matrix, workload: &Matrix) -> f64 {
    let n = decoder.rows();
    let magnitudes = |matrix: &Matrix| Matrix::from_fn(n, n, |i, j| matrix[(i, j)].abs()).to_faer();
    let product = decoder.to_faer() * encoder.to_faer();
    let sizes = magnitudes(decoder) * magnitudes(encoder);
    let unit = (n + 8) as f64 * f64::EPSILON;
    let entry = |i: usize, j: usize| (workload[(i, j)] - product[(i, j)]).abs() + unit * sizes[(i, j)];
    let column = |j: usize| (0..n).map(|i| entry(i, j).powi(2)).sum::<f64>().sqrt();
    // What is not a number stays, unlike in a maximum.
    let longer = |longest: f64, norm: f64| if norm > longest || norm.is_nan() { norm } else { longest };
    (0..n).map(column).fold(0.0, longer)
}

/// Row by row. The draws so far are kept, and are not part of the state: they can be made again.
struct Rows {
    decoder: Arc<Matrix>,
    field: Arc<dyn WhiteField>,
    drawn: Vec<Zeroizing<Vec<f64>>>,
}

impl Rows {
    fn draw(&mut self) {
        let mut fresh = Zeroizing::new(vec![0.0; self.field.width()]);
        self.field.draw(self.drawn.len() as u64, &mut fresh);
        self.drawn.push(fresh);
    }
}

impl Correlator for Rows {
    fn next(&mut self, out: &mut [f64]) {
        let step = self.drawn.len();
        self.draw();
        out.fill(0.0);
        for (weight, drawn) in self.decoder.row(step).iter().zip(&self.drawn) {
            for (sum, g) in out.iter_mut().zip(drawn.iter()) {
                *sum += weight * g;
            }
        }
    }

    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        expect_no_numbers(saved)?;
        self.drawn.clear();
        (0..step).for_each(|_| self.draw());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound holds for the inverse of the L that runs, and an L that is not A R⁻¹ has none.
    #[test]
    fn the_inverse_is_bounded_from_the_residual() {
        let report = "1=1;7=2;total=1".parse().unwrap();
        let request = Request {
            horizon: 20,
            workload: crate::Workload::PrefixSum,
            participation: Participation::default(),
            objective: Objective::Report,
            report: Some(&report),
            progress: &(),
        };
        let optimal = Optimal::new(&request).unwrap();
        let workload = request.workload.matrix(20);
        for (off, is_bounded) in [(0.0, true), (1e-8, true), (1e-6, false), (0.1, false), (f64::NAN, false)] {
            let decoder = Matrix::from_fn(20, 20, |i, j| {
                optimal.decoder[(i, j)] + if (i, j) == (11, 3) { off } else { 0.0 }
            });
            let residual = largest_residual(&decoder, &optimal.encoder, &workload);
            let bound = inverse_bound(&optimal.encoder, residual);
            assert_eq!(bound.is_some(), is_bounded, "{off}: {residual}");
            let inverse = decoder.to_faer().partial_piv_lu().inverse();
            assert!(bound.is_none_or(|bound| bound >= inverse.norm_l2() * (1.0 - 1e-12)), "{off}");
        }
    }
}
