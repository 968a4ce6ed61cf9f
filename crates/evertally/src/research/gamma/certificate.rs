//! What is bounded, and the weights that prove the bounds.

use super::newton;
use super::verify::MIN_DECAY;
use crate::matrix::Matrix;
use crate::workload::Workload;
use crate::{Error, Result};

/// A dense complex matrix, given by its real and imaginary parts.
///
/// ```
/// use evertally::Matrix;
/// use evertally::research::gamma::ComplexMatrix;
///
/// let i = ComplexMatrix::new(Matrix::zeros(1, 1), Matrix::from_fn(1, 1, |_, _| 1.0))?;
/// assert_eq!(i.rows(), 1);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ComplexMatrix {
    real: Matrix,
    imaginary: Matrix,
}

impl ComplexMatrix {
    /// The matrix real + i·imaginary.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the two parts differ in shape.
    pub fn new(real: Matrix, imaginary: Matrix) -> Result<Self> {
        let shape = |part: &Matrix| (part.rows(), part.columns());
        if shape(&real) != shape(&imaginary) {
            let (rows, columns) = shape(&imaginary);
            return Err(Error::bad(
                "imaginary part",
                "of the real part's shape",
                format!("{rows} × {columns}"),
            ));
        }
        Ok(Self { real, imaginary })
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.real.rows()
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.real.columns()
    }

    /// The real part.
    #[must_use]
    pub fn real(&self) -> &Matrix {
        &self.real
    }

    /// The imaginary part.
    #[must_use]
    pub fn imaginary(&self) -> &Matrix {
        &self.imaginary
    }
}

/// The matrix that is factorized.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A workload over a horizon. It need not be written out.
    Workload {
        /// The query of each step.
        workload: Workload,
        /// The number of steps.
        horizon: usize,
    },
    /// A real matrix.
    Real(Matrix),
    /// A complex matrix.
    Complex(ComplexMatrix),
}

impl Subject {
    /// A workload over `horizon` steps.
    #[must_use]
    pub fn workload(workload: Workload, horizon: usize) -> Self {
        Self::Workload { workload, horizon }
    }

    /// The number of rows, that is, of queries.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shape().0
    }

    /// The number of columns, that is, of inputs.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.shape().1
    }

    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Workload { horizon, .. } => (*horizon, *horizon),
            Self::Real(matrix) => (matrix.rows(), matrix.columns()),
            Self::Complex(matrix) => (matrix.rows(), matrix.columns()),
        }
    }

    /// Whether all entries that are written out have this property.
    fn entries_are(&self, property: impl Fn(f64) -> bool) -> bool {
        let hold = |matrix: &Matrix| (0..matrix.rows()).all(|i| matrix.row(i).iter().all(|x| property(*x)));
        match self {
            Self::Workload { .. } => true,
            Self::Real(matrix) => hold(matrix),
            Self::Complex(matrix) => hold(&matrix.real) && hold(&matrix.imaginary),
        }
    }

    /// λ, if the entries are λ^{i−j} on and below the diagonal, so that the tridiagonal method
    /// applies.
    pub(super) fn decay(&self) -> Option<f64> {
        let decay = match self {
            Self::Workload { workload: Workload::PrefixSum, .. } => Some(1.0),
            Self::Workload { workload: Workload::Decay { factor }, .. } => Some(*factor),
            // A window that never closes.
            Self::Workload { workload: Workload::SlidingWindow { width }, horizon }
                if *width >= *horizon as u64 =>
            {
                Some(1.0)
            }
            _ => None,
        };
        decay.filter(|decay| *decay >= MIN_DECAY)
    }

    /// Whether every entry is zero.
    pub(super) fn is_zero(&self) -> bool {
        !matches!(self, Self::Workload { .. }) && self.entries_are(|x| x == 0.0)
    }

    /// Refuses a matrix that is empty, not finite or too large.
    pub(super) fn validate(&self) -> Result<()> {
        let (rows, columns) = self.shape();
        if let Self::Workload { workload, .. } = self {
            workload.validate()?;
        }
        if rows == 0 || columns == 0 || !self.entries_are(f64::is_finite) {
            return Err(Error::bad("matrix", "finite and not empty", format!("{rows} × {columns}")));
        }
        if self.decay().is_some() && rows > MAX_STRUCTURED {
            return Err(Error::bad("horizon", format!("at most {MAX_STRUCTURED}"), rows));
        }
        if self.decay().is_none() && rows.min(columns) > MAX_SIDE {
            let got = format!("{rows} × {columns}");
            return Err(Error::bad("matrix", format!("at most {MAX_SIDE} on its shorter side"), got));
        }
        Ok(())
    }
}

/// The maximum length of the shorter side of a dense matrix. It takes some minutes.
const MAX_SIDE: usize = 4096;

/// The maximum horizon of a prefix sum or decay, 2²⁴. It takes some hours and some gigabytes.
const MAX_STRUCTURED: usize = 1 << 24;

impl From<Matrix> for Subject {
    fn from(matrix: Matrix) -> Self {
        Self::Real(matrix)
    }
}

impl From<ComplexMatrix> for Subject {
    fn from(matrix: ComplexMatrix) -> Self {
        Self::Complex(matrix)
    }
}

/// The weights that prove two bounds: on γ_F if only columns have weights, and on γ_2 if rows have
/// weights too.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// v for γ_F, the least ‖L‖_F ‖R‖₁→₂: mean error.
    GammaF {
        /// One weight per column.
        columns: Vec<f64>,
    },
    /// u and v for γ_2, the least product of the largest row norm of L and ‖R‖₁→₂: error at the
    /// worst step.
    Gamma2 {
        /// One weight per row.
        rows: Vec<f64>,
        /// One weight per column.
        columns: Vec<f64>,
    },
}

impl Weights {
    /// v.
    #[must_use]
    pub fn columns(&self) -> &[f64] {
        match self {
            Self::GammaF { columns } | Self::Gamma2 { columns, .. } => columns,
        }
    }

    /// u, if rows have weights.
    #[must_use]
    pub fn rows(&self) -> Option<&[f64]> {
        match self {
            Self::GammaF { .. } => None,
            Self::Gamma2 { rows, .. } => Some(rows),
        }
    }

    /// Refuses weights that are not one per column, and one per row for γ_2.
    pub(super) fn check_shape(&self, rows: usize, columns: usize) -> Result<()> {
        if self.columns().len() == columns && self.rows().is_none_or(|weights| weights.len() == rows) {
            return Ok(());
        }
        let expected = "one per column (and one per row for γ_2)";
        Err(Error::bad("weights", expected, "another number of weights"))
    }
}

/// Two bounds and everything that is needed to prove them again; see [`verify`](super::verify()).
///
/// The fields are public, so that a certificate can be read from a file. Nothing in them is trusted
/// before it is verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// The matrix.
    pub subject: Subject,
    /// The weights. They also determine which norm is bounded.
    pub weights: Weights,
    /// A lower bound on the norm.
    pub lower: f64,
    /// An upper bound on the norm. The factorization that the weights give attains it.
    pub upper: f64,
    /// The number of iterations that found the weights.
    pub iterations: usize,
}

impl Certificate {
    /// upper/lower − 1.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.upper / self.lower - 1.0
    }

    /// Why the bounds are further apart than this relative gap, or `None` if they are not. They are true
    /// at any gap.
    #[must_use]
    pub fn shortfall(&self, relative_gap: f64) -> Option<&'static str> {
        if self.upper == self.lower || self.gap() <= relative_gap {
            return None;
        }
        let weights = self.columns_and_rows_with_weights();
        Some(if self.subject.decay().is_some() {
            "the check of so long a horizon has to allow for more rounding"
        } else if weights > newton::MAX_WEIGHTS {
            "the iteration no longer improved, and Newton's method, which solves matrices whose best \
             weights are partly zero, would take too long for one of this size"
        } else {
            "singular values or weights differ by too many orders of magnitude, so rounding hides more digits"
        })
    }

    fn columns_and_rows_with_weights(&self) -> usize {
        let count = |weights: &[f64]| weights.iter().filter(|weight| **weight > 0.0).count();
        count(self.weights.columns()) + self.weights.rows().map_or(0, count)
    }

    /// The factorization A = L R that the weights give, written out. Its ‖L‖_F ‖R‖₁→₂ (or the
    /// product for the worst step) is the upper bound.
    ///
    /// A real matrix has real factors. Their inner dimension is the shorter side of A. R is not
    /// triangular in general. For any unitary Q, (L Qᴴ, Q R) is equally good.
    ///
    /// # Errors
    /// [`Error::TooCostly`] for a workload whose horizon is too long to be written out.
    /// [`Error::BadParameter`] for weights that do not fit.
    pub fn factors(&self) -> Result<Factors> {
        self.subject.validate()?;
        let (rows, columns) = (self.subject.rows(), self.subject.columns());
        if rows.min(columns) > MAX_SIDE {
            return Err(Error::too_costly("a dense factorization", format!("{rows} × {columns} entries")));
        }
        self.weights.check_shape(rows, columns)?;
        super::dense::factors(&self.subject, &self.weights)
    }

    /// Bounds on the least error factor of any factorization: mean error γ_F²/n, or error at the
    /// worst step γ_2².
    #[must_use]
    pub fn error_factor(&self) -> (f64, f64) {
        let steps = match self.weights {
            Weights::GammaF { .. } => self.subject.rows() as f64,
            Weights::Gamma2 { .. } => 1.0,
        };
        // At most three roundings, unless the square overflows or underflows. Then the nearest safe
        // float is used.
        let margin = 4.0 * f64::EPSILON;
        let lower = (self.lower * self.lower / steps * (1.0 - margin)).next_down().clamp(0.0, f64::MAX);
        let upper = self.upper * self.upper / steps * (1.0 + margin);
        (lower, if self.upper == 0.0 { 0.0 } else { upper.next_up() })
    }
}

/// A = L R: the decoder L and the encoder R.
#[derive(Debug, Clone, PartialEq)]
pub enum Factors {
    /// The factors of a real matrix.
    Real {
        /// L.
        decoder: Matrix,
        /// R.
        encoder: Matrix,
    },
    /// The factors of a complex matrix.
    Complex {
        /// L.
        decoder: ComplexMatrix,
        /// R.
        encoder: ComplexMatrix,
    },
}
