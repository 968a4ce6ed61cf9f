//! What is bounded, and the weights that prove the bounds.

use super::verify::SMALLEST_DECAY;
use crate::matrix::Matrix;
use crate::workload::Workload;
use crate::{Error, Result};

/// A dense complex matrix: its real and its imaginary part.
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

/// The matrix whose factorizations are in question.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A workload over a horizon; it need not be written out.
    Workload {
        /// What is answered at each step.
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

    /// The number of rows: of queries.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Workload { horizon, .. } => *horizon,
            Self::Real(matrix) => matrix.rows(),
            Self::Complex(matrix) => matrix.rows(),
        }
    }

    /// The number of columns: of inputs.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self {
            Self::Workload { horizon, .. } => *horizon,
            Self::Real(matrix) => matrix.columns(),
            Self::Complex(matrix) => matrix.columns(),
        }
    }

    /// λ, where the entries are λ^{i−j} on and below the diagonal and the tridiagonal method applies.
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
        decay.filter(|decay| *decay >= SMALLEST_DECAY)
    }

    /// Whether every entry is zero.
    pub(super) fn is_zero(&self) -> bool {
        let zero = |matrix: &Matrix| (0..matrix.rows()).all(|i| matrix.row(i).iter().all(|x| *x == 0.0));
        match self {
            Self::Workload { .. } => false,
            Self::Real(matrix) => zero(matrix),
            Self::Complex(matrix) => zero(&matrix.real) && zero(&matrix.imaginary),
        }
    }

    /// Refuses what is empty, not finite or too large to be solved.
    pub(super) fn validate(&self) -> Result<()> {
        let (rows, columns) = (self.rows(), self.columns());
        let finite =
            |matrix: &Matrix| (0..matrix.rows()).all(|i| matrix.row(i).iter().all(|x| x.is_finite()));
        let finite = match self {
            Self::Workload { workload, .. } => workload.validate().map(|_| true)?,
            Self::Real(matrix) => finite(matrix),
            Self::Complex(matrix) => finite(&matrix.real) && finite(&matrix.imaginary),
        };
        if rows == 0 || columns == 0 || !finite {
            return Err(Error::bad("matrix", "finite and not empty", format!("{rows} × {columns}")));
        }
        if self.decay().is_some() && rows > LONGEST_STRUCTURED {
            return Err(Error::bad("horizon", format!("at most {LONGEST_STRUCTURED}"), rows));
        }
        if self.decay().is_none() && rows.min(columns) > LARGEST_SIDE {
            let got = format!("{rows} × {columns}");
            return Err(Error::bad("matrix", format!("at most {LARGEST_SIDE} on its shorter side"), got));
        }
        Ok(())
    }
}

/// The longest shorter side of a dense matrix that is accepted: some minutes of work.
const LARGEST_SIDE: usize = 4096;

/// The longest horizon of a prefix sum or decay that is accepted, 2²⁴: some hours, and some gigabytes.
const LONGEST_STRUCTURED: usize = 1 << 24;

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

/// The weights that prove two bounds: on γ_F when only columns have weights, on γ_2 when rows have them too.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// v for γ_F, the least ‖L‖_F ‖R‖₁→₂: mean error.
    GammaF {
        /// One weight a column.
        columns: Vec<f64>,
    },
    /// u and v for γ_2, the least product of the largest row norm of L and ‖R‖₁→₂: error at the worst step.
    Gamma2 {
        /// One weight a row.
        rows: Vec<f64>,
        /// One weight a column.
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

    /// u, where rows have weights.
    #[must_use]
    pub fn rows(&self) -> Option<&[f64]> {
        match self {
            Self::GammaF { .. } => None,
            Self::Gamma2 { rows, .. } => Some(rows),
        }
    }
}

/// Two bounds and everything needed to prove them again: see [`verify`](super::verify()).
///
/// The fields are open, so that a certificate can be read from a file; nothing in them is believed
/// before it is verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// The matrix.
    pub subject: Subject,
    /// The weights; which norm is bounded follows from them.
    pub weights: Weights,
    /// The norm is at least this.
    pub lower: f64,
    /// The norm is at most this; the factorization that the weights give attains it.
    pub upper: f64,
    /// Iterations it took to find the weights.
    pub iterations: usize,
}

impl Certificate {
    /// upper/lower − 1.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.upper / self.lower - 1.0
    }

    /// The factorization A = L R that the weights give, written out: ‖L‖_F ‖R‖₁→₂ (or the worst
    /// step's product) is the upper bound.
    ///
    /// A real matrix has real factors; their inner dimension is the shorter side of A. R is not
    /// triangular in general; for any unitary Q, (L Qᴴ, Q R) is as good.
    ///
    /// # Errors
    /// [`Error::TooCostly`] for a workload whose horizon is too long to be written out;
    /// [`Error::BadParameter`] for weights that do not fit.
    pub fn factors(&self) -> Result<Factors> {
        self.subject.validate()?;
        let (rows, columns) = (self.subject.rows(), self.subject.columns());
        if rows.min(columns) > LARGEST_SIDE {
            return Err(Error::too_costly("a dense factorization", format!("{rows} × {columns} entries")));
        }
        let fits = self.weights.columns().len() == columns
            && self.weights.rows().is_none_or(|weights| weights.len() == rows);
        if !fits {
            return Err(Error::bad("weights", "one for each column, and row", "another number"));
        }
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
        // Three roundings at most, unless the square overflows or underflows: then the nearest
        // float that is safe.
        let margin = 4.0 * f64::EPSILON;
        let lower = (self.lower * self.lower / steps * (1.0 - margin)).next_down().clamp(0.0, f64::MAX);
        let upper = self.upper * self.upper / steps * (1.0 + margin);
        (lower, if self.upper == 0.0 { 0.0 } else { upper.next_up() })
    }
}

/// A = L R: the decoder L and the encoder R.
#[derive(Debug, Clone, PartialEq)]
pub enum Factors {
    /// Of a real matrix.
    Real {
        /// L.
        decoder: Matrix,
        /// R.
        encoder: Matrix,
    },
    /// Of a complex matrix.
    Complex {
        /// L.
        decoder: ComplexMatrix,
        /// R.
        encoder: ComplexMatrix,
    },
}
