//! The watched steps of a run, and the whitening of their releases by the covariance that the plan
//! declares.
//!
//! **Definition.** Noise of scale s, correlated by L and rounded to a grid g, has covariance Σ = s²
//! L Lᵀ + g²/12 on the watched steps. With Σ = C Cᵀ, C lower triangular, the whitened residual
//! C⁻¹(y − A x) has uncorrelated entries of variance one if the declaration is true; A change d of
//! the input shifts it by C⁻¹A d. The best test between x and x + d is then the sum of the whitened
//! residual weighted by that shift: the matched filter.
//!
//! **Source of Σ.** The plan's dense L, computed from its definition, if it has one. At longer
//! horizons, the norms of rows of L and of their differences: ⟨L_s, L_t⟩ = (‖L_s‖² + ‖L_t‖² − ‖L_t
//! − L_s‖²)/2.
//!
//! **Cost.** Cubic in the watched steps once, and quadratic per run. Up to [`MAX_WATCHED_STEPS`]
//! steps, all are watched. Of more steps, that many are watched.

use evertally::internals::factorization::{Dense, MAX_DENSE};
use evertally::{Matrix, Plan, Result, Workload};

/// The maximum number of watched steps.
const MAX_WATCHED_STEPS: usize = 256;

/// L and R of a plan, unless its horizon is too long for dense matrices.
pub(crate) fn dense(plan: &Plan) -> Result<Option<Dense>> {
    (plan.horizon() <= MAX_DENSE).then(|| plan.dense()).transpose()
}

/// The watched steps and the triangular factor of their declared covariance.
#[derive(Debug, Clone)]
pub(crate) struct Whitening {
    workload: Workload,
    steps: Vec<usize>,
    factor: Matrix,
    least_innovation: f64,
}

impl Whitening {
    /// Watches the first `length` steps, or a selection of them.
    pub(crate) fn new(plan: &Plan, dense: Option<&Dense>, grid: f64, length: usize) -> Self {
        let steps = watched(length);
        let mut covariance = dense.map_or_else(
            || covariance_of_norms(plan, &steps),
            |dense| covariance_of_rows(plan, &dense.decoder, &steps),
        );
        let noise_alone = cholesky(&covariance);
        let innovations = (0..steps.len()).map(|i| noise_alone[(i, i)]);
        let least_innovation = innovations.fold(f64::INFINITY, f64::min);
        for i in 0..steps.len() {
            covariance[(i, i)] += grid * grid / 12.0;
        }
        Self { workload: plan.workload(), factor: cholesky(&covariance), least_innovation, steps }
    }

    /// The released quantity of each step.
    pub(crate) fn workload(&self) -> Workload {
        self.workload
    }

    /// The watched steps, in order.
    pub(crate) fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// The number of steps that a run takes: to the last watched one.
    pub(crate) fn length(&self) -> usize {
        self.steps.last().map_or(0, |last| last + 1)
    }

    /// The declared standard deviation of the noise at a watched step.
    pub(crate) fn deviation(&self, index: usize) -> f64 {
        self.factor.row_norm_squared(index).sqrt()
    }

    /// The smallest standard deviation of a step's noise given the noise of all earlier watched
    /// steps.
    pub(crate) fn least_innovation(&self) -> f64 {
        self.least_innovation
    }

    /// C⁻¹ v, in place.
    pub(crate) fn whiten(&self, values: &mut [f64]) {
        for i in 0..values.len() {
            let row = &self.factor.row(i)[..=i];
            let known: f64 = row[..i].iter().zip(&*values).map(|(entry, value)| entry * value).sum();
            values[i] = (values[i] - known) / row[i];
        }
    }

    /// C⁻ᵀ w: the weights on residuals that are equivalent to the weights w on whitened residuals.
    pub(crate) fn weights(&self, whitened: &[f64]) -> Vec<f64> {
        let mut weights = whitened.to_vec();
        for i in (0..weights.len()).rev() {
            weights[i] /= self.factor[(i, i)];
            let weight = weights[i];
            for (earlier, entry) in weights[..i].iter_mut().zip(self.factor.row(i)) {
                *earlier -= entry * weight;
            }
        }
        weights
    }

    /// A d on the watched steps, for amounts d at certain steps of one lane.
    pub(crate) fn image(&self, amounts: &[(usize, f64)]) -> Vec<f64> {
        let answer = |&step: &usize| {
            let earlier = amounts.iter().filter(|(at, _)| *at <= step);
            earlier.map(|&(at, amount)| amount * self.workload.coefficient((step - at) as u64)).sum()
        };
        self.steps.iter().map(answer).collect()
    }

    /// The matrix of inner products of C⁻¹A e_i, over the watched steps i: the information that the
    /// watched releases reveal.
    pub(crate) fn gram(&self) -> Matrix {
        let columns: Vec<Vec<f64>> = self
            .steps
            .iter()
            .map(|&step| {
                let mut column = self.image(&[(step, 1.0)]);
                self.whiten(&mut column);
                column
            })
            .collect();
        let product = |i: usize, j: usize| columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum();
        Matrix::from_fn(columns.len(), columns.len(), product)
    }

    /// The whitening for noise plus a signal of covariance B Bᵀ, with B given by its columns. For
    /// one canary, the others are noise.
    pub(crate) fn with_signal(&self, columns: &[Vec<f64>]) -> Self {
        let mut covariance = self.factor.times(&self.factor.transpose());
        for column in columns {
            for (i, a) in column.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                for (j, b) in column.iter().enumerate() {
                    covariance[(i, j)] += a * b;
                }
            }
        }
        Self { factor: cholesky(&covariance), ..self.clone() }
    }
}

/// All steps if they are few. Otherwise the first steps, some at increasing distances, and the last
/// steps.
fn watched(length: usize) -> Vec<usize> {
    if length <= MAX_WATCHED_STEPS {
        return (0..length).collect();
    }
    let (first, last) = (MAX_WATCHED_STEPS / 2, MAX_WATCHED_STEPS / 8);
    let between = MAX_WATCHED_STEPS - first - last;
    let growth = (length - last) as f64 / first as f64;
    let spread = (0..between).map(|i| (first as f64 * growth.powf(i as f64 / between as f64)) as usize);
    let mut steps: Vec<usize> = (0..first).chain(spread).chain(length - last..length).collect();
    steps.dedup();
    steps
}

/// The declared covariance of the watched steps, from L itself.
fn covariance_of_rows(plan: &Plan, decoder: &Matrix, steps: &[usize]) -> Matrix {
    let variance = plan.noise_scale().powi(2);
    let product =
        |s: usize, t: usize| decoder.row(s).iter().zip(decoder.row(t)).map(|(a, b)| a * b).sum::<f64>();
    symmetric(steps.len(), |i, j| variance * product(steps[i], steps[j]))
}

/// The same from norms of rows of L and of their differences.
fn covariance_of_norms(plan: &Plan, steps: &[usize]) -> Matrix {
    let (factorization, variance) = (plan.factorization(), plan.noise_scale().powi(2));
    let norms: Vec<f64> = steps.iter().map(|&step| factorization.row_norm_squared(step as u64)).collect();
    symmetric(steps.len(), |i, j| {
        let apart = if i == j {
            0.0
        } else {
            factorization.difference_norm_squared(steps[j] as u64, steps[i] as u64)
        };
        0.5 * variance * (norms[i] + norms[j] - apart)
    })
}

/// A symmetric matrix from its entries on and below the diagonal.
fn symmetric(n: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    let mut matrix = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let value = entry(i, j);
            (matrix[(i, j)], matrix[(j, i)]) = (value, value);
        }
    }
    matrix
}

/// The lower triangular factor, from the textbook.
fn cholesky(covariance: &Matrix) -> Matrix {
    let n = covariance.rows();
    let mut factor = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = factor.row(i)[..j].iter().zip(factor.row(j)).map(|(a, b)| a * b).sum();
            let rest = covariance[(i, j)] - known;
            factor[(i, j)] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / factor[(j, j)] };
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Budget, Mechanism};

    fn plan(mechanism: Mechanism, horizon: u64) -> Plan {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        Plan::prefix_sum(horizon).budget(budget).mechanism(mechanism).build().unwrap()
    }

    #[test]
    fn what_releases_give_away_is_what_was_encoded() {
        // If L is square and invertible, ‖C⁻¹A d‖ = ‖R d‖/s.
        let plan = plan(Mechanism::SquareRoot, 12);
        let dense = plan.dense().unwrap();
        let gram = Whitening::new(&plan, Some(&dense), 0.0, 12).gram();
        let encoder = dense.encoder;
        let expected = encoder.transpose().times(&encoder);
        for i in 0..12 {
            for j in 0..12 {
                let found = gram[(i, j)] * plan.noise_scale().powi(2);
                assert!((found - expected[(i, j)]).abs() < 1e-9, "{i} {j}");
            }
        }
    }

    #[test]
    fn both_ways_to_the_covariance_agree() {
        for mechanism in [Mechanism::HonakerStreaming, Mechanism::GradedSquareRoot { decays: None }] {
            let plan = plan(mechanism, 300);
            let steps = [0, 1, 2, 17, 64, 150, 299];
            let found = covariance_of_norms(&plan, &steps);
            let expected = covariance_of_rows(&plan, &plan.dense().unwrap().decoder, &steps);
            for i in 0..steps.len() {
                for j in 0..steps.len() {
                    assert!((found[(i, j)] / expected[(i, j)] - 1.0).abs() < 1e-6, "{mechanism} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn weights_do_to_residuals_what_the_filter_does_to_whitened_ones() {
        let whitening = Whitening::new(&plan(Mechanism::Binary, 9), None, 1.0, 9);
        let filter: Vec<f64> = (0..9).map(|i| f64::from(i) - 3.5).collect();
        let residual: Vec<f64> = (0..9).map(|i| f64::from(i * i % 5)).collect();
        let mut whitened = residual.clone();
        whitening.whiten(&mut whitened);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&filter, &whitened) - dot(&whitening.weights(&filter), &residual)).abs() < 1e-12);
    }

    #[test]
    fn rounding_adds_to_the_variance_and_not_to_what_is_left_of_the_noise() {
        let plan = plan(Mechanism::OutputPerturbation, 5);
        let (plain, rounded) = (Whitening::new(&plan, None, 0.0, 5), Whitening::new(&plan, None, 2.0, 5));
        assert_eq!(plain.least_innovation(), rounded.least_innovation());
        let added = rounded.deviation(3).powi(2) - plain.deviation(3).powi(2);
        assert!((added - 4.0 / 12.0).abs() < 1e-9, "{added}");
    }

    #[test]
    fn watched_steps_rise_to_the_last() {
        assert_eq!(watched(5), [0, 1, 2, 3, 4]);
        for length in [257, 300, 5000, 1 << 20] {
            let steps = watched(length);
            assert!(steps.len() <= MAX_WATCHED_STEPS && steps.is_sorted_by(|a, b| a < b), "{length}");
            assert_eq!((steps[0], steps[steps.len() - 1]), (0, length - 1));
        }
    }
}
