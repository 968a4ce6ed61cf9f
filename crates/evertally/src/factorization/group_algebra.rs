//! The group algebra factorization (Henzinger and Upadhyay, 2024): the root of a circulant of twice the size.
//!
//! M is the 2n × 2n circulant whose first column has n ones and n zeros; its upper left quarter is
//! A. With S its square root (real, because the spectrum of M is conjugate-symmetric), L is the
//! first n rows of S and R its first n columns. Every row and column norm² is (1/2n) Σ |λ_j| = ½ +
//! (1/2n) Σ csc((2j−1)π/2n), so all steps have the same error. Its noise is stationary: 2n draws
//! and one cyclic convolution for the whole horizon.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::normalized_square_root::transform_operations;
use super::{Cost, Dense, Factorization, Kind, Mechanism, Request, array_size, dense_size};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, CyclicConvolver, Prepared, Progress, WhiteField};
use crate::privacy::{CompensatedSum, MARGIN, Participation, columns_sensitivity, round_up};

pub(super) static KIND: Kind = Kind {
    name: "group-algebra",
    code: 6,
    preparation: |horizon, _, _| 10.0 * horizon as f64,
    min_cost: |horizon, _| Cost::arrays(horizon, 0, 1),
    factorize: |request, _| Ok(Arc::new(GroupAlgebra::new(request)?)),
    ..Kind::DEFAULT
};

struct GroupAlgebra {
    horizon: u64,
    norm_squared: f64,
}

impl GroupAlgebra {
    fn new(request: &Request<'_>) -> Result<Self> {
        let mechanism = Mechanism::GroupAlgebra;
        request.prefix_sum_only(&mechanism)?;
        array_size(&mechanism, 2 * request.horizon)?;
        let horizon = request.horizon;
        let mut sum = CompensatedSum::default();
        // Odd frequencies come in pairs j, 2n − j of equal modulus.
        (0..horizon).for_each(|j| sum.add(modulus(horizon, 2 * j + 1)));
        Ok(Self { horizon, norm_squared: 0.5 + sum.value() / (2 * horizon) as f64 })
    }

    /// The eigenvalue of S at frequency j ≤ n: the principal root of that of M, which is n at zero,
    /// 0 at other even frequencies and 2/(1 − e^{−πij/n}) = csc(πj/2n)·e^{−i(π/2 − πj/2n)} at odd
    /// ones.
    fn root(&self, j: u64) -> Complex<f64> {
        let n = self.horizon;
        if j == 0 {
            return Complex::new((n as f64).sqrt(), 0.0);
        }
        if j.is_multiple_of(2) {
            return Complex::new(0.0, 0.0);
        }
        if j == n {
            return Complex::new(modulus(n, j).sqrt(), 0.0);
        }
        let angle = PI * (n - j) as f64 / (4 * n) as f64;
        Complex::from_polar(modulus(n, j).sqrt(), -angle)
    }

    fn convolver(&self) -> CyclicConvolver {
        let spectrum = (0..=self.horizon).map(|j| self.root(j)).collect();
        CyclicConvolver::from_spectrum(2 * self.horizon as usize, spectrum)
            .expect("n + 1 values, real at both ends: the spectrum of a real kernel of length 2n")
    }
}

/// |λ_j| at an odd frequency.
fn modulus(horizon: u64, j: u64) -> f64 {
    1.0 / (PI * j as f64 / (2 * horizon) as f64).sin()
}

impl Factorization for GroupAlgebra {
    fn mechanism(&self) -> Mechanism {
        Mechanism::GroupAlgebra
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// All columns have one norm; several participations by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let norms = std::iter::repeat_n(self.norm_squared.sqrt(), self.horizon as usize);
        round_up(columns_sensitivity(norms, participation, self.horizon as usize), MARGIN)
    }

    fn row_norm_squared(&self, _: u64) -> f64 {
        self.norm_squared
    }

    /// The noise is stationary with spectral density |λ_j|, so the difference has 2·(ρ(0) − ρ(lag)).
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let n = self.horizon;
        let lag = later - earlier;
        let mut sum = CompensatedSum::default();
        for j in (1..2 * n).step_by(2) {
            let turn = (u128::from(j) * u128::from(lag) % u128::from(2 * n)) as f64 / (2 * n) as f64;
            let sine = (PI * turn).sin();
            // 1 − cos θ = 2 sin²(θ/2).
            sum.add(2.0 * modulus(n, j) * sine * sine);
        }
        2.0 * sum.value() / (2 * n) as f64
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.norm_squared
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.norm_squared
    }

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: 0,
            bytes_per_coordinate: 8 * self.horizon,
            operations_per_step: 2.0 * transform_operations(self.horizon),
        }
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let mut first_column = vec![0.0; 2 * n];
        first_column[0] = 1.0;
        self.convolver().apply(&mut first_column);
        let entry = |i: usize, j: usize| first_column[(i + 2 * n - j) % (2 * n)];
        Ok(Dense { decoder: Matrix::from_fn(n, 2 * n, entry), encoder: Matrix::from_fn(2 * n, n, entry) })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, progress: &dyn Progress) -> Box<dyn Correlator> {
        let convolver = self.convolver();
        Box::new(Prepared::new(&field, self.horizon, progress, |coordinate, noise, part| {
            noise.resize(2 * self.horizon as usize, 0.0);
            field.column(coordinate, 0, noise);
            convolver.apply(noise);
            noise.truncate(self.horizon as usize);
            noise.shrink_to_fit();
            part.report(1.0);
        }))
    }
}
