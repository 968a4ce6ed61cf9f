//! Dense linear algebra over the real or complex numbers, through faer. A real matrix stays real.

use faer::traits::ComplexField;
use faer::{Mat, MatRef, c64};

use super::certificate::{ComplexMatrix, Subject};
use crate::matrix::Matrix;
use crate::{Error, Result};

/// A real or complex entry.
pub(super) trait Entry: ComplexField<Real = f64> + Copy {
    fn times(self, factor: f64) -> Self;
    fn parts(self) -> (f64, f64);

    fn square(self) -> f64 {
        let (real, imaginary) = self.parts();
        real * real + imaginary * imaginary
    }
}

impl Entry for f64 {
    fn times(self, factor: f64) -> Self {
        self * factor
    }

    fn parts(self) -> (f64, f64) {
        (self, 0.0)
    }
}

impl Entry for c64 {
    fn times(self, factor: f64) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }

    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
}

/// A matrix over either field.
pub(super) enum Dense {
    Real(Mat<f64>),
    Complex(Mat<c64>),
}

impl Dense {
    pub(super) fn of(subject: &Subject) -> Self {
        match subject {
            Subject::Workload { workload, horizon } => Self::Real(workload.matrix(*horizon).to_faer()),
            Subject::Real(matrix) => Self::Real(matrix.to_faer()),
            Subject::Complex(matrix) => {
                let (real, imaginary) = (matrix.real(), matrix.imaginary());
                Self::Complex(Mat::from_fn(real.rows(), real.columns(), |i, j| {
                    c64::new(real[(i, j)], imaginary[(i, j)])
                }))
            }
        }
    }
}

pub(super) fn complex_matrix(matrix: MatRef<'_, c64>) -> Result<ComplexMatrix> {
    let part =
        |of: fn(c64) -> f64| Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| of(matrix[(i, j)]));
    ComplexMatrix::new(part(|x| x.re), part(|x| x.im))
}

/// diag(rows) A diag(columns), or A diag(columns) without row weights.
pub(super) fn scale<T: Entry>(a: &Mat<T>, rows: Option<&[f64]>, columns: &[f64]) -> Mat<T> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| {
        let across = a[(i, j)].times(columns[j]);
        rows.map_or(across, |rows| across.times(rows[i]))
    })
}

/// B = U diag(s) Vᴴ. The number of columns of U and V is the length of the shorter side of B.
pub(super) struct Thin<T> {
    pub(super) left: Mat<T>,
    pub(super) values: Vec<f64>,
    pub(super) right: Mat<T>,
}

impl<T: Entry> Thin<T> {
    pub(super) fn of(b: &Mat<T>) -> Result<Self> {
        let svd = b.thin_svd().map_err(|_| failed())?;
        let diagonal = svd.S().column_vector();
        let values: Vec<f64> = (0..diagonal.nrows()).map(|k| diagonal[k].parts().0).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(failed());
        }
        Ok(Self { left: svd.U().to_owned(), values, right: svd.V().to_owned() })
    }
}

/// The error for a failed decomposition, which only overflow causes.
pub(super) fn failed() -> Error {
    Error::bad("matrix", "a matrix with entries of moderate size", "one that cannot be decomposed")
}
