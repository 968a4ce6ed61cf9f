//! A total loss over a set: its values, slopes and curvature, and lines below it.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::{Hindsight, best_for_linear};
use crate::data::Dataset;
use crate::loss::Loss;
use crate::regret::Sum;
use crate::set::{Set, norm};

/// Rows that are multiplied at once.
const BLOCK: usize = 512;

/// The roundings that a line has seen before it is mixed with others, twice as many as there are.
pub(super) const ROUNDINGS: f64 = 16.0;

/// What is minimised, and where.
pub(super) struct Problem<'a> {
    pub(super) loss: &'a dyn Loss,
    pub(super) data: &'a Dataset,
    pub(super) set: Set,
    /// The norm of every row.
    norms: Vec<f64>,
}

/// c + ⟨g, θ⟩, below the total loss everywhere but for its rounding.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) offset: f64,
    pub(super) slope: Vec<f64>,
    /// The magnitudes of all that was added up, at the points of the set where they are largest.
    pub(super) size: f64,
    /// So many roundings of a number of that size can have gone into a value of the line.
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

    /// Σ ℓ, of this loss or one in its place.
    pub(super) fn total(&self, loss: &dyn Loss, theta: &[f64]) -> f64 {
        let mut total = Sum::default();
        self.data.iter().for_each(|example| total.add(loss.value(theta, example)));
        total.value()
    }

    /// The line below the total loss with the slopes that `model` has at θ; its own, or those of
    /// its smoothed form.
    pub(super) fn line(&self, model: &dyn Loss, theta: &[f64]) -> Line {
        let (width, scores) = (self.data.width(), self.loss.scores());
        let (mut at, mut slopes) = (vec![0.0; scores], vec![0.0; scores]);
        let (mut offset, mut slope) = (Sum::default(), vec![Sum::default(); theta.len()]);
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
        let slope = slope.iter().map(Sum::value).collect();
        Line { offset: offset.value(), slope, size, roundings: ROUNDINGS }
    }

    /// (1/n) Σ of the second derivatives in θ, its lower half filled.
    pub(super) fn curvature(&self, model: &dyn Loss, theta: &[f64]) -> Mat<f64> {
        let (width, k) = (self.data.width(), model.scores());
        let mut total = Mat::zeros(theta.len(), theta.len());
        let mut scores = vec![0.0; k];
        let mut own = vec![0.0; BLOCK * k * k];
        let mut scaled = vec![0.0; BLOCK * width];
        for (features, labels) in
            self.data.features().chunks(BLOCK * width).zip(self.data.labels().chunks(BLOCK))
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

    /// The least value of a line over the set, less what rounding may have added to it: a bound for
    /// every point of the set.
    pub(super) fn least(&self, line: &Line) -> f64 {
        let rounding = line.roundings * f64::EPSILON * line.size;
        best_for_linear(&line.slope, self.set)
            .map_or(f64::NEG_INFINITY, |(_, value)| line.offset + value - rounding)
    }

    /// What is known of θ.
    pub(super) fn report(&self, theta: Vec<f64>, lower_bound: f64) -> Hindsight {
        let total_loss = self.total(self.loss, &theta);
        Hindsight { theta, total_loss, lower_bound: lower_bound.min(total_loss), within: self.set }
    }
}
