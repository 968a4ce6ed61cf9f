//! A small dense matrix in row-major order, for readers and tests.
//!
//! Heavy linear algebra uses `faer`. This type only carries values across the public interface, so
//! callers do not depend on the version of a linear algebra crate.

use std::ops::{Index, IndexMut};

/// A dense real matrix in row-major order.
///
/// ```
/// use evertally::Matrix;
/// let prefix_sum = Matrix::from_fn(3, 3, |t, j| f64::from(u8::from(j <= t)));
/// assert_eq!(prefix_sum.row(1), [1.0, 1.0, 0.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// The matrix whose entry (i, j) is `entry(i, j)`.
    #[must_use]
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(rows, columns);
        for i in 0..rows {
            for j in 0..columns {
                matrix[(i, j)] = entry(i, j);
            }
        }
        matrix
    }

    /// The lower-triangular Toeplitz matrix with the given first column.
    #[must_use]
    pub fn lower_toeplitz(first_column: &[f64]) -> Self {
        let n = first_column.len();
        Self::from_fn(n, n, |i, j| if j <= i { first_column[i - j] } else { 0.0 })
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// The product `self · other`.
    ///
    /// # Panics
    /// If the inner dimensions differ. This is a mistake in the calling code.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows, "inner dimensions differ");
        let mut product = Self::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            for (k, &left) in self.row(i).iter().enumerate() {
                if left != 0.0 {
                    for (j, &right) in other.row(k).iter().enumerate() {
                        product[(i, j)] += left * right;
                    }
                }
            }
        }
        product
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self[(j, i)])
    }

    /// Σ of the squared entries of row `i`.
    #[must_use]
    pub fn row_norm_squared(&self, i: usize) -> f64 {
        self.row(i).iter().map(|x| x * x).sum()
    }

    /// The largest Euclidean norm of a column: ‖·‖₁→₂.
    #[must_use]
    pub fn largest_column_norm(&self) -> f64 {
        let mut squares = vec![0.0; self.columns];
        for i in 0..self.rows {
            for (square, x) in squares.iter_mut().zip(self.row(i)) {
                *square += x * x;
            }
        }
        squares.into_iter().fold(0.0, f64::max).sqrt()
    }

    pub(crate) fn to_faer(&self) -> faer::Mat<f64> {
        faer::Mat::from_fn(self.rows, self.columns, |i, j| self[(i, j)])
    }

    pub(crate) fn from_faer(matrix: faer::MatRef<'_, f64>) -> Self {
        Self::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.values[i * self.columns + j]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.values[i * self.columns + j]
    }
}
