//! A total loss over a set: its values, slopes and curvature, and lines below it.

use evertally::internals::sums::CompensatedSum;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::{Hindsight, TOLERANCE, best_for_linear};
use crate::data::Dataset;
use crate::loss::Loss;
use crate::set::{Set, norm};

/// The number of rows multiplied at once.
const ROWS_PER_BLOCK: usize = 512;

/// Twice the number of roundings in a line before it is mixed with others.
pub(super) const ROUNDINGS: f64 = 16.0;

/// The loss to minimise, and the set.
pub(super) struct Problem<'a> {
    pub(super) loss: &'a dyn Loss,
    pub(super) data: &'a Dataset,
    pub(super) set: Set,
    /// The norm of every row.
    norms: Vec<f64>,
}

/// c + ⟨g, θ⟩, below the total loss everywhere, except for rounding.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) offset: f64,
    pub(super) slope: Vec<f64>,
    /// The sum of the magnitudes of all terms, at the points of the set where they are largest.
    pub(super) size: f64,
    /// The maximum number of roundings of a number of that size in a value of the line.
    pub(super) roundings: f64,
}

impl<'a> Problem<'a> {
    pub(super) fn new(loss: &'a dyn Loss, data: &'a Dataset, set: Set) -> Self {
        Self { loss, data, set, norms: data.iter().map(|example| norm(example.features)).collect() }
    }

    pub(super) fn parameters(&self) -> usize {
        self.loss.parameters(self.data.width())
    }

    pub(super) fn rows(&self) -> f64 {
        self.data.len() as f64
    }

    /// Σ ℓ, for this loss or a substitute.
    pub(super) fn total(&self, loss: &dyn Loss, theta: &[f64]) -> f64 {
        let mut total = CompensatedSum::default();
        self.data.iter().for_each(|example| total.add(loss.value(theta, example)));
        total.value()
    }

    /// The line below the total loss with the slopes of `model` at θ. `model` is the loss or its
    /// smoothed form.
    pub(super) fn line(&self, model: &dyn Loss, theta: &[f64]) -> Line {
        let (width, scores) = (self.data.width(), self.loss.scores());
        let (mut at, mut slopes) = (vec![0.0; scores], vec![0.0; scores]);
        let (mut offset, mut slope) =
            (CompensatedSum::default(), vec![CompensatedSum::default(); theta.len()]);
        let (mut size, radius) = (0.0, self.set.radius(theta.len()).unwrap_or(0.0));
        for (example, length) in self.data.iter().zip(&self.norms) {
            model.score(theta, example.features, &mut at);
            model.slopes(&at, example.label, &mut slopes);
            let own = self.loss.offset(&at, &slopes, example.label);
            offset.add(own);
            size += own.abs() + self.loss.at(&at, example.label).abs() + norm(&slopes) * length * radius;
            for (weights, &own) in slope.chunks_exact_mut(width).zip(&slopes) {
                weights.iter_mut().zip(example.features).for_each(|(sum, feature)| sum.add(own * feature));
            }
        }
        let slope = slope.iter().map(|sum| sum.value()).collect();
        Line { offset: offset.value(), slope, size, roundings: ROUNDINGS }
    }

    /// (1/n) Σ of the second derivatives in θ. Only the lower half is filled.
    pub(super) fn curvature(&self, model: &dyn Loss, theta: &[f64]) -> Mat<f64> {
        let (width, k) = (self.data.width(), model.scores());
        let mut total = Mat::zeros(theta.len(), theta.len());
        let mut scores = vec![0.0; k];
        let mut own = vec![0.0; ROWS_PER_BLOCK * k * k];
        let mut scaled = vec![0.0; ROWS_PER_BLOCK * width];
        for (features, labels) in
            self.data.features().chunks(ROWS_PER_BLOCK * width).zip(self.data.labels().chunks(ROWS_PER_BLOCK))
        {
            let rows = labels.len();
            for ((row, &label), own) in
                features.chunks_exact(width).zip(labels).zip(own.chunks_exact_mut(k * k))
            {
                model.score(theta, row, &mut scores);
                model.curvature(&scores, label, own);
            }
            let plain = MatRef::from_row_major_slice(features, rows, width);
            for (i, j) in (0..k).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                for (at, (row, into)) in
                    features.chunks_exact(width).zip(scaled.chunks_exact_mut(width)).enumerate()
                {
                    let factor = own[at * k * k + i * k + j] / self.rows();
                    into.iter_mut().zip(row).for_each(|(into, value)| *into = factor * value);
                }
                let scaled = MatRef::from_row_major_slice(&scaled[..rows * width], rows, width);
                let block = total.as_mut().submatrix_mut(i * width, j * width, width, width);
                matmul(block, Accum::Add, scaled.transpose(), plain, 1.0, Par::Seq);
            }
        }
        total
    }

    /// The least value of a line over the set, less an allowance for rounding. It is a lower bound
    /// for every point of the set.
    pub(super) fn least(&self, line: &Line) -> f64 {
        let rounding = line.roundings * f64::EPSILON * line.size;
        best_for_linear(&line.slope, self.set)
            .map_or(f64::NEG_INFINITY, |(_, value)| line.offset + value - rounding)
    }

    /// The result for θ.
    pub(super) fn report(&self, theta: Vec<f64>, lower_bound: f64) -> Hindsight {
        let total_loss = self.total(self.loss, &theta);
        Hindsight { theta, total_loss, lower_bound: lower_bound.min(total_loss), within: self.set }
    }
}

/// The best point and the largest lower bound of a search so far.
pub(super) struct Best<'a> {
    problem: &'a Problem<'a>,
    theta: Vec<f64>,
    total_loss: f64,
    lower_bound: f64,
}

impl<'a> Best<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, start: &[f64]) -> Self {
        Self { problem, theta: start.to_vec(), total_loss: f64::INFINITY, lower_bound: f64::NEG_INFINITY }
    }

    /// Takes the lower bound of a line, if it is larger.
    pub(super) fn raise_bound(&mut self, line: &Line) {
        self.lower_bound = self.lower_bound.max(self.problem.least(line));
    }

    /// Takes a point of the set, if it is better.
    pub(super) fn offer(&mut self, theta: &[f64]) {
        let total_loss = self.problem.total(self.problem.loss, theta);
        if total_loss < self.total_loss {
            self.total_loss = total_loss;
            theta.clone_into(&mut self.theta);
        }
    }

    /// Whether the gap is small enough to end the search.
    pub(super) fn is_certified(&self) -> bool {
        self.total_loss - self.lower_bound <= TOLERANCE * self.problem.rows()
    }

    pub(super) fn into_hindsight(self) -> Hindsight {
        self.problem.report(self.theta, self.lower_bound)
    }
}
