//! Certificates as `.npz` files, which numpy reads too.
//!
//! | entry | what it holds |
//! |---|---|
//! | `certificate.json` | the format's name, which norm, the workload's name and horizon or `"matrix"`, iterations |
//! | `bounds.npy` | the lower and the upper bound |
//! | `columns.npy`, `rows.npy` | the weights v, and u for γ_2 |
//! | `matrix.npy` | the matrix, unless a workload is named |
//! | `L.npy`, `R.npy` | the factorization, if it is small enough to be written out |
//!
//! Nothing in a file is trusted: bounds are proved again from the matrix and the weights, and L and R
//! are multiplied.

use super::gamma::named;
use crate::error::{CliError, Result};
use crate::input::matrix::{parse_list, parse_matrix};
use crate::input::npz::Archive;
use crate::output::{npy_complex, npy_list, npy_matrix, npz};
use evertally::Matrix;
use evertally::research::gamma::{Certificate, ComplexMatrix, Factors, Subject, Weights};
use serde::{Deserialize, Serialize};

const FORMAT: &str = "evertally certificate 1";

/// The longest horizon of a named workload for which L and R are written out. Weights are shorter.
const MAX_WRITTEN_HORIZON: usize = 1024;

/// How far an entry of L R may be from that of A, relative to the largest of its row and to the
/// largest of its column. Also how far ‖L‖ ‖R‖ may be above the upper bound, to allow for rounding.
const TOLERANCE: f64 = 1e-8;

/// How far an entry of L R may be from that of A besides, relative to the norms of its row of L and
/// its column of R: what the rounding of the factors costs. A row or column of zeros has no such room.
const ROUNDING: f64 = 1e-11;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    format: String,
    /// `gamma_f` or `gamma_2`.
    norm: String,
    /// A workload's name, or `matrix`.
    subject: String,
    horizon: Option<usize>,
    iterations: usize,
}

/// The file for a certificate.
pub(crate) fn bytes(certificate: &Certificate) -> Result<Vec<u8>> {
    let (subject, horizon) = match &certificate.subject {
        Subject::Workload { workload, horizon } => (workload.to_string(), Some(*horizon)),
        Subject::Real(_) | Subject::Complex(_) => ("matrix".to_owned(), None),
    };
    let norm = if certificate.weights.rows().is_some() { "gamma_2" } else { "gamma_f" }.to_owned();
    let about =
        About { format: FORMAT.to_owned(), norm, subject, horizon, iterations: certificate.iterations };
    let about = serde_json::to_vec(&about)
        .map_err(|error| CliError::Failure(format!("the certificate cannot be written: {error}")))?;
    let mut entries = vec![
        ("certificate.json", about),
        ("bounds.npy", npy_list(&[certificate.lower, certificate.upper])),
        ("columns.npy", npy_list(certificate.weights.columns())),
    ];
    entries.extend(certificate.weights.rows().map(|rows| ("rows.npy", npy_list(rows))));
    match &certificate.subject {
        Subject::Workload { .. } => {}
        Subject::Real(matrix) => entries.push(("matrix.npy", npy_matrix(matrix))),
        Subject::Complex(matrix) => entries.push(("matrix.npy", npy_complex(matrix))),
    }
    // A matrix of zeros has no weights to make factors from.
    if certificate.upper > 0.0 && horizon.is_none_or(|horizon| horizon <= MAX_WRITTEN_HORIZON) {
        match certificate.factors()? {
            Factors::Real { decoder, encoder } => {
                entries.extend([("L.npy", npy_matrix(&decoder)), ("R.npy", npy_matrix(&encoder))]);
            }
            Factors::Complex { decoder, encoder } => {
                entries.extend([("L.npy", npy_complex(&decoder)), ("R.npy", npy_complex(&encoder))]);
            }
        }
    }
    let entries: Vec<_> = entries.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    npz(&entries)
}

/// The certificate in an archive, not yet verified.
pub(crate) fn read(archive: &Archive) -> Result<Certificate> {
    let refuse = |reason: &str| CliError::bad(format!("{} is not a certificate: {reason}", archive.name));
    let entry = |name: &str| archive.entry(name).ok_or_else(|| refuse(&format!("it has no {name}")));
    let list = |name: &str| parse_list(&format!("{name} in {}", archive.name), entry(name)?);
    let about: About = serde_json::from_slice(entry("certificate.json")?)
        .map_err(|_| refuse("its certificate.json has another shape"))?;
    if about.format != FORMAT {
        return Err(refuse(&format!("its format is not {FORMAT:?}")));
    }
    let subject = if about.subject == "matrix" {
        parse_matrix(&format!("matrix.npy in {}", archive.name), entry("matrix.npy")?)?
    } else if archive.entry("matrix.npy").is_some() {
        return Err(refuse("it has both a workload's name and a matrix"));
    } else {
        named(&about.subject, about.horizon)?
    };
    let weights = match about.norm.as_str() {
        "gamma_f" => Weights::GammaF { columns: list("columns.npy")? },
        "gamma_2" => Weights::Gamma2 { rows: list("rows.npy")?, columns: list("columns.npy")? },
        _ => return Err(refuse("its norm is neither gamma_f nor gamma_2")),
    };
    let [lower, upper] = list("bounds.npy")?[..] else { return Err(refuse("it does not have two bounds")) };
    Ok(Certificate { subject, weights, lower, upper, iterations: about.iterations })
}

/// Refuses a certificate about another matrix than the one given.
pub(super) fn check_subject(archive: &Archive, certified: &Subject, given: &Subject) -> Result<()> {
    let is_same = match (certified, given) {
        (Subject::Workload { workload, horizon }, Subject::Real(matrix)) => {
            (matrix.rows(), matrix.columns()) == (*horizon, *horizon) && *matrix == workload.matrix(*horizon)
        }
        _ => certified == given,
    };
    if is_same {
        return Ok(());
    }
    Err(CliError::bad(format!("{} is refused: it is about another matrix than --matrix", archive.name)))
}

/// Refuses an archive whose L and R, if present, are not a factorization that attains the upper bound.
pub(crate) fn check_factors(archive: &Archive, certificate: &Certificate) -> Result<()> {
    let (decoder, encoder) = match (archive.entry("L.npy"), archive.entry("R.npy")) {
        (None, None) => return Ok(()),
        (Some(decoder), Some(encoder)) => (decoder, encoder),
        _ => return Err(CliError::bad(format!("{} is refused: it has one factor of two", archive.name))),
    };
    // A long workload would not fit into memory. This program writes no such file.
    if matches!(certificate.subject, Subject::Workload { horizon, .. } if horizon > MAX_WRITTEN_HORIZON) {
        return Err(CliError::bad(format!(
            "{} is refused: it has factors of more than {MAX_WRITTEN_HORIZON} steps",
            archive.name
        )));
    }
    let parse = |name: &str, bytes| parse_matrix(&format!("{name} in {}", archive.name), bytes).map(parts);
    let (decoder, encoder) = (parse("L.npy", decoder)?, parse("R.npy", encoder)?);
    let a = parts(certificate.subject.clone());
    let fits = decoder.0.rows() == a.0.rows()
        && decoder.0.columns() == encoder.0.rows()
        && encoder.0.columns() == a.0.columns();
    if fits && multiplies_to(&decoder, &encoder, &a) && attains(&decoder, &encoder, certificate) {
        return Ok(());
    }
    Err(CliError::bad(format!(
        "{} is refused: its L and R are not the certified factorization",
        archive.name
    )))
}

type Parts = (Matrix, Matrix);

/// The real and the imaginary part, written out.
fn parts(subject: Subject) -> Parts {
    let with_zeros = |matrix: Matrix| {
        let zeros = Matrix::zeros(matrix.rows(), matrix.columns());
        (matrix, zeros)
    };
    let of_complex = |matrix: ComplexMatrix| (matrix.real().clone(), matrix.imaginary().clone());
    match subject {
        Subject::Workload { workload, horizon } => with_zeros(workload.matrix(horizon)),
        Subject::Real(matrix) => with_zeros(matrix),
        Subject::Complex(matrix) => of_complex(matrix),
    }
}

/// Whether L R is A, row by row and column by column. A tolerance relative to the largest entry would
/// accept a row or column of other numbers if A is small there.
fn multiplies_to(decoder: &Parts, encoder: &Parts, a: &Parts) -> bool {
    let is_zero = |matrix: &Matrix| (0..matrix.rows()).all(|i| matrix.row(i).iter().all(|x| *x == 0.0));
    let is_real = [decoder, encoder].iter().all(|part| is_zero(&part.1));
    let product = |x: &Matrix, y: &Matrix| x.times(y);
    let real = product(&decoder.0, &encoder.0);
    let (real, imaginary) = if is_real {
        let zeros = Matrix::zeros(a.0.rows(), a.0.columns());
        (real, zeros)
    } else {
        let (both, left, right) = (
            product(&decoder.1, &encoder.1),
            product(&decoder.0, &encoder.1),
            product(&decoder.1, &encoder.0),
        );
        let combine = |x: &Matrix, y: &Matrix, sign: f64| {
            Matrix::from_fn(x.rows(), x.columns(), |i, j| x[(i, j)] + sign * y[(i, j)])
        };
        (combine(&real, &both, -1.0), combine(&left, &right, 1.0))
    };
    let (of_rows, of_columns) = (largest_of_rows(a), largest_of_rows(&transposed(a)));
    let decoder_norms = row_norms(decoder);
    let encoder_norms = row_norms(&transposed(encoder));
    (0..a.0.rows()).all(|i| {
        (0..a.0.columns()).all(|j| {
            let rounding = ROUNDING * decoder_norms[i] * encoder_norms[j];
            let allowed = TOLERANCE * of_rows[i].min(of_columns[j]) + rounding;
            let off = (real[(i, j)] - a.0[(i, j)]).hypot(imaginary[(i, j)] - a.1[(i, j)]);
            off <= allowed
        })
    })
}

fn transposed(matrix: &Parts) -> Parts {
    (matrix.0.transpose(), matrix.1.transpose())
}

fn row_norms(matrix: &Parts) -> Vec<f64> {
    let squared = |i: usize| matrix.0.row_norm_squared(i) + matrix.1.row_norm_squared(i);
    (0..matrix.0.rows()).map(|i| squared(i).sqrt()).collect()
}

fn largest_of_rows(matrix: &Parts) -> Vec<f64> {
    let largest = |i: usize| {
        let entries = matrix.0.row(i).iter().chain(matrix.1.row(i));
        entries.fold(0.0_f64, |largest, x| largest.max(x.abs()))
    };
    (0..matrix.0.rows()).map(largest).collect()
}

fn attains(decoder: &Parts, encoder: &Parts, certificate: &Certificate) -> bool {
    let rows = row_norms(decoder);
    let decoder_norm = match certificate.weights {
        Weights::GammaF { .. } => rows.iter().map(|norm| norm * norm).sum::<f64>().sqrt(),
        Weights::Gamma2 { .. } => rows.into_iter().fold(0.0, f64::max),
    };
    let encoder_norm = row_norms(&transposed(encoder)).into_iter().fold(0.0, f64::max);
    decoder_norm * encoder_norm <= certificate.upper * (1.0 + TOLERANCE)
}
