//! Least squares over all of ℝᵈ, by singular values.

use faer::MatRef;

use super::problem::{Problem, ROUNDINGS};
use super::{Hindsight, search_radius};
use crate::data::{Dataset, Example};
use crate::loss::Loss;
use crate::set::{Set, norm};

/// Singular values below this fraction of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-13;

/// If every singular value is above this fraction of the largest, their directions are known to
/// 10⁻¹⁰ and the bound below holds over all of ℝᵈ.
const MIN_CERTIFIED_RATIO: f64 = 1e-6;

/// The solution of least norm, or `None` if the singular value decomposition fails.
///
/// With residuals r and g = Xᵀr, no θ improves on the total loss of this one by more than
/// gᵀ(XᵀX)⁺g/2, which comes from rounding alone. Directions with nearly zero singular values cannot
/// be distinguished from rounding. A better θ may lie far along them, so the bound then holds only
/// within a ball.
pub(super) fn solve(loss: &dyn Loss, data: &Dataset) -> Option<Hindsight> {
    let features = MatRef::from_row_major_slice(data.features(), data.len(), data.width());
    let svd = features.thin_svd().ok()?;
    let singular = svd.S().column_vector();
    let rank = (0..singular.nrows()).filter(|&i| singular[i] > RANK_TOLERANCE * singular[0]).count();
    // θ = V S⁻¹ Uᵀ y, then once more for the residual.
    let mut theta = vec![0.0; data.width()];
    let mut left = data.labels().to_vec();
    let mut excess = 0.0;
    for _ in 0..3 {
        excess = 0.0;
        for i in 0..rank {
            let along: f64 = (0..data.len()).map(|row| svd.U()[(row, i)] * left[row]).sum();
            excess += 0.5 * along * along;
            let weight = along / singular[i];
            theta.iter_mut().enumerate().for_each(|(j, value)| *value += weight * svd.V()[(j, i)]);
        }
        for (left, example) in left.iter_mut().zip(data.iter()) {
            *left = example.label - crate::loss::dot(&theta, example.features);
        }
    }
    if !theta.iter().all(|value| value.is_finite()) {
        return None;
    }
    let smallest = singular[singular.nrows() - 1];
    if smallest > MIN_CERTIFIED_RATIO * singular[0] {
        let problem = Problem::new(loss, data, Set::Everything);
        // Subtract the rounding error of the residuals, which are differences of larger numbers,
        // and of their squares.
        let reach = norm(&theta);
        let size = |(example, left): (Example<'_>, &f64)| {
            left.abs() * (example.label.abs() + reach * norm(example.features))
        };
        let sizes: f64 = data.iter().zip(&left).map(size).sum();
        let rounding = (ROUNDINGS + data.width() as f64) * f64::EPSILON * sizes;
        let bound = problem.total(loss, &theta) - excess - rounding;
        return Some(problem.report(theta, bound));
    }
    let radius = search_radius(data).max(2.0 * norm(&theta));
    let problem = Problem::new(loss, data, Set::Ball { radius });
    let bound = problem.least(&problem.line(loss, &theta));
    Some(problem.report(theta, bound))
}
