//! The proof for any real or complex matrix, from the weights alone.
//!
//! **Lower bound.** B = U diag(s) Vᴴ may be computed by any means. For any U, V with ‖UᴴU − I‖_F ≤
//! δ_U, ‖VᴴV − I‖_F ≤ δ_V, Z = UVᴴ has ‖Z‖ ≤ √((1+δ_U)(1+δ_V)), so ‖B‖_* ≥ Re tr(UᴴBV)/‖Z‖. All
//! three quantities are products of known matrices.
//!
//! **Upper bound.** For γ_F, L = U diag(√s) and R = diag(1/√s)UᴴA. For γ_2, L = diag(1/√u) U
//! diag(√s) and R = diag(1/√s)Uᴴ diag(√u) A. For the rounded factors A = L R + E, γ(A) ≤ γ(L R) +
//! γ(E), and γ(E) ≤ ‖E‖_F for both norms. Tiny s are raised to a floor, since dividing by them
//! would only carry noise into R.
//!
//! **Complex matrices** are checked as real ones. X + iY as [[X, −Y], [Y, X]] is a ring
//! homomorphism that doubles nuclear norms and squared Frobenius norms and keeps the norms of rows
//! and columns.
//!
//! **Rounding.** Let u = 2⁻⁵³. A sum of k products, in any order and with or without fused
//! operations, is off by at most γ_k Σ|a||b| with γ_k = (k+2)u/(1−(k+2)u). So a product of matrices
//! is off by γ_k ‖X‖_F ‖Y‖_F in Frobenius norm. Underflow adds less than [`TINY`], since the matrix
//! is scaled to entries of magnitude at most two, and the weights likewise. The lower bound loses
//! about a relative m²u in this way: 5·10⁻¹⁰ at m = 2048.

use faer::Mat;

use super::super::certificate::{Subject, Weights};
use super::super::linear::{Dense, Entry, Thin, scale};
use super::{Proof, UNIT};
use crate::{Error, Result};

/// This is more than underflow can add to any quantity here. It is also more than the rounding of
/// λ^k in a decay so steep (λ < 10⁻³⁰) that its matrix is handled here.
const TINY: f64 = 1e-40;

/// In the factors for γ_F, singular values are raised to this fraction of their mean. It adds as
/// much to ‖L‖_F².
const MEAN_FLOOR: f64 = 1e-13;

/// The same for γ_2, where rows of small weight increase what it adds.
const WORST_FLOOR: f64 = 1e-18;

pub(super) fn prove(subject: &Subject, weights: &Weights) -> Result<Proof> {
    match Dense::of(subject) {
        Dense::Real(a) => prove_entries(a, weights, 1.0),
        Dense::Complex(a) => prove_entries(a, weights, 2.0),
    }
}

/// `copies` is how often the singular values of the matrix occur in its real form: once, or twice
/// if it is complex.
fn prove_entries<T: Entry>(mut a: Mat<T>, weights: &Weights, copies: f64) -> Result<Proof> {
    let largest = (0..a.ncols()).flat_map(|j| a.col(j).iter().copied().collect::<Vec<T>>());
    let largest = largest.map(|x| x.parts().0.abs().max(x.parts().1.abs())).fold(0.0, f64::max);
    if largest == 0.0 {
        return Ok(Proof { lower: 0.0, upper: 0.0 });
    }
    let unit = power_of_two_near(largest);
    // In two halves, because 1/unit may overflow if unit is tiny.
    let half = power_of_two_near(1.0 / unit.sqrt());
    a = scale(&a, None, &vec![half; a.ncols()]);
    a = scale(&a, None, &vec![1.0 / (unit * half); a.ncols()]);
    let columns = normalised(weights.columns())?;
    let rows = weights.rows().map(normalised).transpose()?;
    let roots = |weights: &[f64]| weights.iter().map(|w| w.sqrt()).collect::<Vec<f64>>();
    let (row_roots, column_roots) = (rows.as_deref().map(roots), roots(&columns));
    let b = scale(&a, row_roots.as_deref(), &column_roots);
    let svd = Thin::of(&b)?;
    let nuclear = nuclear_norm_below(&embed(&b), &embed(&svd.left), &embed(&svd.right)) / copies;
    let mass = sum_above(&columns) * rows.as_deref().map_or(1.0, sum_above);
    let lower = (nuclear / mass.sqrt() * (1.0 - 8.0 * UNIT)).max(0.0);
    let whole = embed(&a);
    let upper = match &row_roots {
        None => {
            let (left, right) = mean_factors(&a, &svd);
            let (left, right) = (embed(&left), embed(&right));
            let residual = residual_above(&whole, &left, &right);
            (frobenius_above(&left) * column_norms_above(&right) + residual) / copies.sqrt()
        }
        Some(row_roots) => {
            let (left, right) = worst_factors(&a, &svd, row_roots);
            let (left, right) = (embed(&left), embed(&right));
            let residual = residual_above(&whole, &left, &right);
            column_norms_above(&left.transpose().to_owned()) * column_norms_above(&right) + residual
        }
    };
    Ok(scaled_back(lower, upper * (1.0 + 8.0 * UNIT), unit))
}

/// Both bounds times a power of two. This is exact unless the product is subnormal, and then it is
/// moved outwards by one float.
fn scaled_back(lower: f64, upper: f64, unit: f64) -> Proof {
    let is_exact = |x: f64| x.abs() >= f64::MIN_POSITIVE;
    let (lower, upper) = (lower * unit, upper * unit);
    Proof {
        lower: if is_exact(lower) { lower } else { lower.next_down().max(0.0) },
        upper: if is_exact(upper) { upper } else { upper.next_up() },
    }
}

/// L = U diag(√s), R = diag(1/√s) UᴴA.
pub(in crate::research::gamma) fn mean_factors<T: Entry>(a: &Mat<T>, svd: &Thin<T>) -> (Mat<T>, Mat<T>) {
    let (roots, inverse) = raised(&svd.values, MEAN_FLOOR);
    let left = scale(&svd.left, None, &roots);
    let right = scale(&svd.left, None, &inverse).adjoint() * a;
    (left, right)
}

/// L = diag(1/√u) U diag(√s), R = diag(1/√s) Uᴴ diag(√u) A. A row of weight zero gives a row of
/// zeros.
///
/// This equals diag(√s)Vᴴ diag(1/√v) up to rounding, which 1/√v would amplify for columns of small
/// weight.
pub(in crate::research::gamma) fn worst_factors<T: Entry>(
    a: &Mat<T>,
    svd: &Thin<T>,
    row_roots: &[f64],
) -> (Mat<T>, Mat<T>) {
    let (roots, inverse) = raised(&svd.values, WORST_FLOOR);
    let unweighted: Vec<f64> =
        row_roots.iter().map(|root| if *root > 0.0 { 1.0 / root } else { 0.0 }).collect();
    let left = scale(&svd.left, Some(&unweighted), &roots);
    let right = scale(&svd.left, Some(row_roots), &inverse).adjoint() * a;
    (left, right)
}

/// √s and 1/√s, with s raised to a fraction of its mean if it is smaller.
fn raised(values: &[f64], fraction: f64) -> (Vec<f64>, Vec<f64>) {
    let floor = fraction * values.iter().sum::<f64>() / values.len() as f64;
    let roots: Vec<f64> = values.iter().map(|s| s.max(floor).sqrt()).collect();
    let inverse = roots.iter().map(|root| 1.0 / root).collect();
    (roots, inverse)
}

/// A lower bound on the nuclear norm of the matrix whose entries `b` holds up to four roundings:
/// two square roots and two products.
fn nuclear_norm_below(b: &Mat<f64>, left: &Mat<f64>, right: &Mat<f64>) -> f64 {
    let norm = ((1.0 + orthogonality_above(left)) * (1.0 + orthogonality_above(right))).sqrt();
    let image = b * right;
    let (mut trace, mut largest_terms) = (0.0, 0);
    for k in 0..left.ncols() {
        trace += left.col(k).iter().zip(image.col(k).iter()).map(|(u, c)| u * c).sum::<f64>();
        largest_terms = left.nrows() + k;
    }
    let (of_left, of_b) = (frobenius_above(left), frobenius_above(b));
    let of_product = of_left * of_b * frobenius_above(right);
    // In order: the product, the trace of a product whose norm is at most ‖B‖‖V‖ and an error, and
    // the entries of B, since
    // |tr(Zᵀ(B − B̂))| ≤ ‖Z‖_F ‖B − B̂‖_F ≤ ‖U‖_F ‖V‖_F · 4u ‖B‖_F, up to u² terms that the k+2 of
    // γ_k covers.
    let lost = (accumulated(b.ncols()) + 1.01 * accumulated(largest_terms + 1) + 4.0 * UNIT) * of_product;
    (trace - lost - TINY) / norm * (1.0 - 8.0 * UNIT)
}

/// An upper bound on ‖XᵀX − I‖_F.
fn orthogonality_above(x: &Mat<f64>) -> f64 {
    let mut gram = x.transpose() * x;
    (0..gram.nrows()).for_each(|k| gram[(k, k)] -= 1.0);
    let norm = frobenius_above(x);
    frobenius_above(&gram) * (1.0 + 4.0 * UNIT) + accumulated(x.nrows()) * norm * norm + TINY
}

/// An upper bound on ‖A − LR‖_F.
fn residual_above(a: &Mat<f64>, left: &Mat<f64>, right: &Mat<f64>) -> f64 {
    let residual = a - left * right;
    let product = accumulated(left.ncols()) * frobenius_above(left) * frobenius_above(right);
    frobenius_above(&residual) * (1.0 + 4.0 * UNIT) + product + TINY
}

/// γ_k = (k+2)u/(1 − (k+2)u), rounded up.
fn accumulated(terms: usize) -> f64 {
    let error = (terms + 2) as f64 * UNIT;
    error / (1.0 - error) * (1.0 + 8.0 * UNIT)
}

/// An upper bound on ‖X‖_F, computed column by column so that no sum is long.
fn frobenius_above(x: &Mat<f64>) -> f64 {
    let squares: f64 = (0..x.ncols()).map(|j| x.col(j).iter().map(|x| x * x).sum::<f64>()).sum();
    (squares * (1.0 + accumulated(x.nrows() + x.ncols()))).sqrt() * (1.0 + 4.0 * UNIT) + TINY
}

/// An upper bound on the largest column norm.
fn column_norms_above(x: &Mat<f64>) -> f64 {
    let squares = (0..x.ncols()).map(|j| x.col(j).iter().map(|x| x * x).sum::<f64>());
    let largest = squares.fold(0.0, f64::max);
    (largest * (1.0 + accumulated(x.nrows()))).sqrt() * (1.0 + 4.0 * UNIT) + TINY
}

fn sum_above(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() * (1.0 + accumulated(values.len()))
}

/// X + iY as [[X, −Y], [Y, X]]. A real matrix stays as it is.
fn embed<T: Entry>(x: &Mat<T>) -> Mat<f64> {
    let (rows, columns) = (x.nrows(), x.ncols());
    if T::IS_REAL {
        return Mat::from_fn(rows, columns, |i, j| x[(i, j)].parts().0);
    }
    Mat::from_fn(2 * rows, 2 * columns, |i, j| {
        let (real, imaginary) = x[(i % rows, j % columns)].parts();
        match (i < rows, j < columns) {
            (true, true) | (false, false) => real,
            (true, false) => -imaginary,
            (false, true) => imaginary,
        }
    })
}

/// Weights times a power of two that brings the largest near one. The bounds do not depend on the
/// scale.
fn normalised(weights: &[f64]) -> Result<Vec<f64>> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if !(weights.iter().all(|w| *w >= 0.0 && w.is_finite()) && (1e-300..1e300).contains(&largest)) {
        return Err(Error::bad("weights", "finite, not negative and not all zero", "other weights"));
    }
    let unit = power_of_two_near(largest);
    Ok(weights.iter().map(|w| w / unit).collect())
}

/// 2^k with x/2^k between one and two for a normal x, and the smallest normal number for smaller x.
fn power_of_two_near(x: f64) -> f64 {
    f64::from_bits((x.to_bits() & (0x7ff << 52)).max(1 << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two() {
        for x in [1.0, 1.99, 0.3, 1e-200, 1e300, 5e-324] {
            let ratio = x / power_of_two_near(x);
            assert!((1.0..2.0).contains(&ratio) || x < 1e-300, "{x}: {ratio}");
        }
    }

    #[test]
    fn a_bad_decomposition_proves_little_but_nothing_false() {
        // B = diag(2, 1) has nuclear norm 3.
        let b = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 - i as f64 } else { 0.0 });
        let identity = Mat::<f64>::identity(2, 2);
        let exact = nuclear_norm_below(&b, &identity, &identity);
        assert!(exact < 3.0 && exact > 3.0 - 1e-13, "{exact}");
        for stretch in [0.5, 2.0, 10.0] {
            let skewed = Mat::from_fn(2, 2, |i, j| if i == j { stretch } else { 0.1 });
            assert!(nuclear_norm_below(&b, &skewed, &identity) < 3.0);
        }
    }
}
