//! The fixed point for any real or complex matrix, of any shape and rank.
//!
//! For γ_F, B = A diag(√v) = U diag(s) Vᴴ and d = diag(V diag(s) Vᴴ). For γ_2, B = diag(√u) A
//! diag(√v), d_v is the same and d_u = diag(U diag(s) Uᴴ). Rows and columns of zeros are left out
//! and have weight zero.
//!
//! **Cost.** One Hermitian eigendecomposition of the shorter side per iteration for γ_F. For γ_2,
//! and if the square roots of small eigenvalues would be mostly rounding, one singular value
//! decomposition instead.

use std::f64::consts::FRAC_1_SQRT_2;

use faer::{Mat, Side};

use super::Quantity;
use super::certificate::{Certificate, Factors, Subject, Weights};
use super::fixed_point::{Point, Problem, certify};
use super::linear::{Dense, Entry, Thin, complex_matrix, failed, scale};
use super::newton::{self, Norm, Spectrum};
use super::verify::{mean_factors, state, worst_factors};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::Progress;

/// γ_F or γ_2 of any matrix that is not zero.
pub(super) fn certified(
    quantity: Quantity,
    subject: Subject,
    gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    match (Dense::of(&subject), quantity) {
        (Dense::Real(a), Quantity::GammaF) => solve(subject, &a, Mean::new, gap, progress),
        (Dense::Real(a), Quantity::Gamma2) => solve(subject, &a, Worst::new, gap, progress),
        (Dense::Complex(a), Quantity::GammaF) => solve(subject, &a, Mean::new, gap, progress),
        (Dense::Complex(a), Quantity::Gamma2) => solve(subject, &a, Worst::new, gap, progress),
    }
}

fn solve<T: Entry, P: Central>(
    subject: Subject,
    a: &Mat<T>,
    problem: impl Fn(Mat<T>, Support) -> P,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    let support = Support::of(a);
    // Squares of entries must neither overflow nor vanish.
    let inverse = 1.0 / support.largest;
    let dense = Mat::from_fn(support.rows.len(), support.columns.len(), |i, j| {
        a[(support.rows[i], support.columns[j])].times(inverse)
    });
    let problem = problem(dense, support);
    let start = vec![0.0; problem.count()];
    let found = certify(&problem, subject, start, relative_gap, progress)?;
    if found.gap() <= relative_gap || problem.count() > newton::MAX_WEIGHTS {
        return Ok(found);
    }
    // Weights at or near zero make the fixed point slow. Rounding may spoil the smallest barriers, and
    // then a larger one gets nearer.
    let mut best = found;
    for barrier in [0.1, 10.0, 1000.0] {
        let Ok(weights) = problem.central((barrier * relative_gap).min(0.1)) else {
            continue;
        };
        let weights = problem.weights(&weights.iter().map(|w| w.ln()).collect::<Vec<f64>>());
        if let Ok(proof) = state(&best.subject, &weights)
            && proof.upper / proof.lower < best.upper / best.lower
        {
            best = Certificate { weights, lower: proof.lower, upper: proof.upper, ..best };
        }
        if best.gap() <= (relative_gap).max(2.0 * barrier * relative_gap) {
            break;
        }
    }
    Ok(best)
}

/// A problem that Newton's method can finish.
trait Central: Problem {
    /// Weights on the central path, at the point where the barrier costs about `gap`.
    fn central(&self, gap: f64) -> Result<Vec<f64>>;
}

impl<T: Entry> Central for Mean<T> {
    fn central(&self, gap: f64) -> Result<Vec<f64>> {
        newton::follow(Norm::Mean, self.count(), gap, &|w| {
            let roots: Vec<f64> = w.iter().map(|w| w.sqrt()).collect();
            let svd = scale(&self.a, None, &roots).svd().map_err(|_| failed())?;
            let diagonal = svd.S().column_vector();
            let value = |k: usize| if k < diagonal.nrows() { diagonal[k].parts().0 } else { 0.0 };
            Ok(Spectrum { vectors: svd.V().to_owned(), values: (0..w.len()).map(value).collect() })
        })
    }
}

impl<T: Entry> Central for Worst<T> {
    /// The eigenvectors of [[0, B], [Bᴴ, 0]] are (u_k, ±v_k)/√2, and the null vectors of either
    /// side.
    fn central(&self, gap: f64) -> Result<Vec<f64>> {
        let (n, m) = (self.a.nrows(), self.a.ncols());
        newton::follow(Norm::Worst, n + m, gap, &|w| {
            let roots: Vec<f64> = w.iter().map(|w| w.sqrt()).collect();
            let svd = scale(&self.a, Some(&roots[..n]), &roots[n..]).svd().map_err(|_| failed())?;
            let diagonal = svd.S().column_vector();
            let (left, right, shorter) = (svd.U(), svd.V(), n.min(m));
            // Columns: (u_k, v_k), then (u_k, −v_k), then the null vectors of the longer side.
            let vectors = Mat::from_fn(n + m, n + m, |i, k| {
                let (pair, part) = (k % shorter, k / shorter);
                match (k < 2 * shorter, i < n) {
                    (true, true) => left[(i, pair)].times(FRAC_1_SQRT_2),
                    (true, false) => {
                        right[(i - n, pair)].times(if part == 0 { FRAC_1_SQRT_2 } else { -FRAC_1_SQRT_2 })
                    }
                    (false, true) if n > m => left[(i, k - shorter)],
                    (false, false) if m > n => right[(i - n, k - shorter)],
                    _ => left[(0, 0)].times(0.0),
                }
            });
            let value = |k: usize| {
                if k >= 2 * shorter {
                    return 0.0;
                }
                diagonal[k % shorter].parts().0 * if k < shorter { 1.0 } else { -1.0 }
            };
            Ok(Spectrum { vectors, values: (0..n + m).map(value).collect() })
        })
    }
}

/// The rows and columns that are not all zero.
struct Support {
    rows: Vec<usize>,
    columns: Vec<usize>,
    shape: (usize, usize),
    largest: f64,
}

impl Support {
    fn of<T: Entry>(a: &Mat<T>) -> Self {
        let (n, m) = (a.nrows(), a.ncols());
        let size = |i: usize, j: usize| {
            let (real, imaginary) = a[(i, j)].parts();
            real.abs().max(imaginary.abs())
        };
        let largest =
            (0..m).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| size(i, j)).fold(0.0, f64::max);
        // Entries below the rounding of the largest entry do not make a row or column part of the
        // problem. The checker accounts for them.
        let counts = |i: usize, j: usize| size(i, j) > 1e-150 * largest;
        Self {
            rows: (0..n).filter(|i| (0..m).any(|j| counts(*i, j))).collect(),
            columns: (0..m).filter(|j| (0..n).any(|i| counts(i, *j))).collect(),
            shape: (n, m),
            largest,
        }
    }
}

/// Weights of the kept rows or columns, extended to all of them. The largest weight becomes one.
fn spread(kept: &[usize], count: usize, logs: &[f64]) -> Vec<f64> {
    let heaviest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights = vec![0.0; count];
    kept.iter().zip(logs).for_each(|(i, log)| weights[*i] = (log - heaviest).exp());
    weights
}

struct Mean<T> {
    a: Mat<T>,
    /// AᴴA, if A has at least as many rows as columns.
    gram: Option<Mat<T>>,
    support: Support,
}

impl<T: Entry> Mean<T> {
    fn new(a: Mat<T>, support: Support) -> Self {
        let gram = (a.nrows() >= a.ncols()).then(|| a.adjoint() * &a);
        Self { a, gram, support }
    }

    /// d/v by an eigendecomposition, or nothing if rounding spoils it.
    fn by_eigenvalues(&self, roots: &[f64], tolerance: f64) -> Result<Option<Vec<f64>>> {
        let (n, m) = (self.a.nrows(), self.a.ncols());
        let product = match &self.gram {
            Some(gram) => scale(gram, Some(roots), roots),
            None => {
                let b = scale(&self.a, None, roots);
                &b * b.adjoint()
            }
        };
        let eigen = product.self_adjoint_eigen(Side::Lower).map_err(|_| failed())?;
        let vectors = eigen.U();
        let diagonal = eigen.S().column_vector();
        let values: Vec<f64> = (0..n.min(m)).map(|k| diagonal[k].parts().0.max(0.0).sqrt()).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        // An eigenvalue is off by about one ulp of the largest, and its root by that divided by
        // twice the root.
        let spoiled: f64 = values.iter().map(|s| largest * largest / s).sum::<f64>() * f64::EPSILON;
        if spoiled.is_nan() || spoiled > tolerance * values.iter().sum::<f64>() {
            return Ok(None);
        }
        let ratios = if self.gram.is_some() {
            diagonal_of(vectors, &values, roots)
        } else {
            // d_j/v_j = Σ_k |u_kᴴ a_j|²/s_k.
            let across = vectors.adjoint() * &self.a;
            let entry = |j: usize| (0..n).map(|k| across[(k, j)].square() / values[k]).sum();
            (0..m).map(entry).collect()
        };
        Ok(Some(ratios))
    }
}

/// diag(V diag(s) Vᴴ)_i / r_i².
fn diagonal_of<T: Entry>(vectors: faer::MatRef<'_, T>, values: &[f64], roots: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; vectors.nrows()];
    for (k, value) in values.iter().enumerate() {
        sums.iter_mut().zip(vectors.col(k).iter()).for_each(|(sum, x)| *sum += value * x.square());
    }
    sums.iter().zip(roots).map(|(sum, root)| sum / (root * root)).collect()
}

fn roots_of(logs: &[f64]) -> Vec<f64> {
    logs.iter().map(|log| (0.5 * log).exp()).collect()
}

impl<T: Entry> Problem for Mean<T> {
    fn count(&self) -> usize {
        self.a.ncols()
    }

    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point> {
        let roots = roots_of(logs);
        let mut ratios = match self.by_eigenvalues(&roots, tolerance)? {
            Some(ratios) => ratios,
            None => {
                let svd = Thin::of(&scale(&self.a, None, &roots))?;
                diagonal_of(svd.right.as_ref(), &svd.values, &roots)
            }
        };
        let sum: f64 = ratios.iter().zip(&roots).map(|(ratio, root)| ratio * root * root).sum();
        let mass: f64 = roots.iter().map(|root| root * root).sum();
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        ratios.iter_mut().for_each(|ratio| *ratio *= mass / sum);
        Ok(Point { lower: sum / mass.sqrt(), upper: (sum * largest).sqrt(), ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        true
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        Weights::GammaF { columns: spread(&self.support.columns, self.support.shape.1, logs) }
    }
}

struct Worst<T> {
    a: Mat<T>,
    support: Support,
}

impl<T: Entry> Worst<T> {
    fn new(a: Mat<T>, support: Support) -> Self {
        Self { a, support }
    }
}

impl<T: Entry> Problem for Worst<T> {
    fn count(&self) -> usize {
        self.a.nrows() + self.a.ncols()
    }

    /// The row weights come first.
    fn evaluate(&self, logs: &[f64], _: f64) -> Result<Point> {
        let (rows, columns) = logs.split_at(self.a.nrows());
        let (rows, columns) = (roots_of(rows), roots_of(columns));
        let svd = Thin::of(&scale(&self.a, Some(&rows), &columns))?;
        let mut ratios = diagonal_of(svd.left.as_ref(), &svd.values, &rows);
        let largest = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
        let mass = |roots: &[f64]| roots.iter().map(|root| root * root).sum::<f64>();
        let of_columns = diagonal_of(svd.right.as_ref(), &svd.values, &columns);
        let upper = (largest(&ratios) * largest(&of_columns)).sqrt();
        let sum: f64 = svd.values.iter().sum();
        let (row_mean, column_mean) = (sum / mass(&rows), sum / mass(&columns));
        ratios.iter_mut().for_each(|ratio| *ratio /= row_mean);
        ratios.extend(of_columns.iter().map(|ratio| ratio / column_mean));
        Ok(Point { lower: (row_mean * column_mean).sqrt(), upper, ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        true
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        let (rows, columns) = logs.split_at(self.a.nrows());
        Weights::Gamma2 {
            rows: spread(&self.support.rows, self.support.shape.0, rows),
            columns: spread(&self.support.columns, self.support.shape.1, columns),
        }
    }
}

/// The factorization that the weights give, written out.
pub(super) fn factors(subject: &Subject, weights: &Weights) -> Result<Factors> {
    match Dense::of(subject) {
        Dense::Real(a) => {
            let (left, right) = factor(&a, weights)?;
            let (decoder, encoder) = (Matrix::from_faer(left.as_ref()), Matrix::from_faer(right.as_ref()));
            Ok(Factors::Real { decoder, encoder })
        }
        Dense::Complex(a) => {
            let (left, right) = factor(&a, weights)?;
            let (decoder, encoder) = (complex_matrix(left.as_ref())?, complex_matrix(right.as_ref())?);
            Ok(Factors::Complex { decoder, encoder })
        }
    }
}

fn factor<T: Entry>(a: &Mat<T>, weights: &Weights) -> Result<(Mat<T>, Mat<T>)> {
    let roots = |weights: &[f64]| weights.iter().map(|w| w.sqrt()).collect::<Vec<f64>>();
    let (rows, columns) = (weights.rows().map(roots), roots(weights.columns()));
    let svd = Thin::of(&scale(a, rows.as_deref(), &columns))?;
    let (left, right) = match rows {
        None => mean_factors(a, &svd),
        Some(rows) => worst_factors(a, &svd, &rows),
    };
    if is_product(a, &left, &right) {
        return Ok((left, right));
    }
    // Entries at the ends of the range of floats may not allow it.
    Ok((decoder(a, &right).unwrap_or(left), right))
}

/// The relative rounding at which factors count as exact.
const EXACT: f64 = 1e-12;

/// Whether L R is A up to rounding, relative to the row of L and the column of R of each entry.
fn is_product<T: Entry>(a: &Mat<T>, left: &Mat<T>, right: &Mat<T>) -> bool {
    let product = left * right;
    let (rows, columns) = (column_norms(&left.adjoint().to_owned()), column_norms(right));
    let is_near = |i: usize, j: usize| {
        let ((a, b), (c, d)) = (product[(i, j)].parts(), a[(i, j)].parts());
        (a - c).hypot(b - d) <= EXACT * rows[i] * columns[j]
    };
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| is_near(i, j)))
}

/// The shortest L with L R = A, by the pseudo-inverse of R with columns of equal length.
///
/// L from the singular vectors loses rows of A that are small or have small weights, because the
/// vectors are orthogonal only up to rounding.
fn decoder<T: Entry>(a: &Mat<T>, right: &Mat<T>) -> Result<Mat<T>> {
    let inverse = |norm: &f64| if *norm > 0.0 { 1.0 / norm } else { 0.0 };
    let scales: Vec<f64> = column_norms(right).iter().map(inverse).collect();
    let svd = Thin::of(&scale(right, None, &scales))?;
    let largest = svd.values.iter().copied().fold(0.0, f64::max);
    let inverses: Vec<f64> =
        svd.values.iter().map(|s| if *s > 1e-13 * largest { 1.0 / s } else { 0.0 }).collect();
    let along = scale(a, None, &scales) * &svd.right;
    Ok(scale(&along, None, &inverses) * svd.left.adjoint())
}

/// Without squares of entries themselves, which may overflow.
fn column_norms<T: Entry>(x: &Mat<T>) -> Vec<f64> {
    let norm = |j: usize| {
        let size = |x: &T| x.parts().0.abs().max(x.parts().1.abs());
        let largest = x.col(j).iter().map(size).fold(0.0, f64::max);
        let inverse = 1.0 / largest;
        if !inverse.is_finite() {
            return 0.0;
        }
        largest * x.col(j).iter().map(|x| x.times(inverse).square()).sum::<f64>().sqrt()
    };
    (0..x.ncols()).map(norm).collect()
}
