//! Newton's method along the central path, for small dense matrices whose optimal weights are
//! partly zero.
//!
//! **Definition.** γ_F = max tr|B| over weights is a concave problem. With a logarithmic barrier of
//! size τ its optimality condition is w = e(w) + τ. Here e = d for γ_F, and e = d/√S, w = (u, v)
//! for γ_2 (which removes the freedom of scale). At such a point every e_i/w_i is below one, and
//! the bounds are within about mτ/(2S) of each other. τ is lowered until that is small enough.
//!
//! **Derivative.** Let Q, μ be the eigenbasis of H = diag(√w) 𝒜 diag(√w), with 𝒜 = AᴴA for γ_F and
//! [[0, A], [Aᴴ, 0]] for γ_2. The diagonal d of g(H), g = √ or |·|, changes with log w as J_ij = ½
//! Σ_kl c_kl Re(q_ik q̄_jk q̄_il q_jl), c_kl = (μ_k + μ_l)(g(μ_k) − g(μ_l))/(μ_k − μ_l). A step
//! solves (diag(e + τ) − J)y = e + τ − w, which is symmetric and positive definite, and multiplies
//! w by the factor 1 + y.
//!
//! **Cost.** Conjugate gradients need only products J·y, which are two products of matrices of side N
//! for N weights. A step takes some dozens of them, and the path about thirty to sixty steps.

use faer::Mat;

use super::linear::{Entry, failed, scale};
use crate::Result;

/// Problems with more weights are left to the fixed point, because they would take many minutes.
pub(super) const MAX_WEIGHTS: usize = 800;

/// After this many steps at the end of the path without getting nearer to it, the nearest weights are
/// returned.
const PATIENCE: usize = 8;

/// The relative residual at which a step is precise enough: Newton's method corrects the rest.
const STEP_TOLERANCE: f64 = 1e-4;

/// The most products with J in one step.
const MAX_GRADIENTS: usize = 400;

/// After this many Newton steps, the current weights are returned.
const MAX_STEPS: usize = 200;

/// Eigenvectors and eigenvalues of H, by columns.
pub(super) struct Spectrum<T> {
    pub(super) vectors: Mat<T>,
    /// Positive for γ_F, where they are the roots s of the eigenvalues of H. Of either sign for
    /// γ_2.
    pub(super) values: Vec<f64>,
}

/// Which of the two norms is sought.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Norm {
    Mean,
    Worst,
}

impl Norm {
    /// c_kl; the values of `Mean` are s = √μ.
    fn coupling(self, a: f64, b: f64) -> f64 {
        let size = a.abs() + b.abs();
        match self {
            _ if size == 0.0 => 0.0,
            Self::Mean => (a * a + b * b) / size,
            Self::Worst if a * b >= 0.0 => size,
            Self::Worst => (a + b) * (a + b) / size,
        }
    }
}

impl Norm {
    /// The objective of the barrier problem, without its barrier: S for γ_F, 2√S for γ_2.
    fn objective(self, values: &[f64]) -> f64 {
        let sum: f64 = values.iter().map(|value| value.abs()).sum();
        match self {
            Self::Mean => sum,
            // Each singular value occurs twice in H.
            Self::Worst => 2.0 * (0.5 * sum).sqrt(),
        }
    }
}

/// e, and what its derivative with respect to the logarithms of the weights consists of.
struct Linearised<T> {
    e: Vec<f64>,
    vectors: Mat<T>,
    couplings: Mat<f64>,
    norm: Norm,
    /// √S, for γ_2.
    root: f64,
}

impl<T: Entry> Linearised<T> {
    fn at(spectrum: Spectrum<T>, norm: Norm) -> Self {
        let Spectrum { vectors, values } = spectrum;
        let p = vectors.ncols();
        let mut e = vec![0.0; vectors.nrows()];
        for (k, value) in values.iter().enumerate() {
            let column = vectors.col(k);
            e.iter_mut().zip(column.iter()).for_each(|(e, q)| *e += value.abs() * q.square());
        }
        let couplings = Mat::from_fn(p, p, |k, l| norm.coupling(values[k], values[l]));
        let root = match norm {
            Norm::Mean => 1.0,
            Norm::Worst => 0.5 * norm.objective(&values),
        };
        e.iter_mut().for_each(|e| *e /= root);
        Self { e, vectors, couplings, norm, root }
    }

    /// J y = ½ diag(Q (C ∘ QᴴYQ) Qᴴ) with Y = diag(y); for γ_2 with the derivative of 1/√S.
    fn derivative(&self, y: &[f64]) -> Vec<f64> {
        let q = &self.vectors;
        let inside = q.adjoint() * scale(q, Some(y), &vec![1.0; q.ncols()]);
        let coupled = Mat::from_fn(q.ncols(), q.ncols(), |k, l| inside[(k, l)].times(self.couplings[(k, l)]));
        let outside = q * coupled;
        let mut sums = vec![0.0; q.nrows()];
        for l in 0..q.ncols() {
            for ((sum, x), q) in sums.iter_mut().zip(outside.col(l).iter()).zip(q.col(l).iter()) {
                let ((a, b), (c, d)) = (x.parts(), q.parts());
                *sum += a * c + b * d;
            }
        }
        sums.iter_mut().for_each(|sum| *sum *= 0.5 / self.root);
        if self.norm == Norm::Worst {
            let moved = 0.25 * dot(&self.e, y) / self.root;
            sums.iter_mut().zip(&self.e).for_each(|(sum, e)| *sum -= moved * e);
        }
        sums
    }

    /// Solves (diag(e + τ) − J)y = e + τ − w by conjugate gradients, to a relative `tolerance`.
    ///
    /// J is at most diag(e), so diag(e + τ) is a good preconditioner.
    fn newton_step(&self, wanted: &[f64], tau: f64, tolerance: f64) -> Vec<f64> {
        let diagonal: Vec<f64> = self.e.iter().map(|e| e + tau).collect();
        let mut step = vec![0.0; wanted.len()];
        let mut residual = wanted.to_vec();
        let scaled = |r: &[f64]| r.iter().zip(&diagonal).map(|(r, d)| r / d).collect::<Vec<f64>>();
        let mut direction = scaled(&residual);
        let mut energy = dot(&residual, &direction);
        let enough = tolerance * tolerance * energy;
        for _ in 0..MAX_GRADIENTS {
            let mut image = self.derivative(&direction);
            image.iter_mut().zip(&diagonal).zip(&direction).for_each(|((x, d), p)| *x = d * p - *x);
            let curvature = dot(&direction, &image);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let length = energy / curvature;
            step.iter_mut().zip(&direction).for_each(|(x, p)| *x += length * p);
            residual.iter_mut().zip(&image).for_each(|(r, x)| *r -= length * x);
            let preconditioned = scaled(&residual);
            let next = dot(&residual, &preconditioned);
            if next <= enough {
                break;
            }
            let turn = next / energy;
            energy = next;
            direction.iter_mut().zip(&preconditioned).for_each(|(p, z)| *p = z + turn * *p);
        }
        step
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Follows the central path from equal weights until the barrier costs less than `gap`. Returns the
/// weights.
pub(super) fn follow<T: Entry>(
    norm: Norm,
    count: usize,
    gap: f64,
    spectrum: &dyn Fn(&[f64]) -> Result<Spectrum<T>>,
) -> Result<Vec<f64>> {
    let mut w = vec![1.0 / count as f64; count];
    let mut at = Linearised::at(spectrum(&w)?, norm);
    // The scale that solves w = e(w) on average, since e grows with the square root of the scale.
    let scale = (at.e.iter().sum::<f64>() / w.iter().sum::<f64>()).powi(2);
    w.iter_mut().for_each(|w| *w *= scale);
    let start = spectrum(&w)?;
    let mut objective = norm.objective(&start.values);
    at = Linearised::at(start, norm);
    let total: f64 = at.e.iter().sum();
    let mut tau = total / count as f64;
    let last = gap * tau;
    // At the end of the path, rounding makes the steps wander.
    let (mut nearest, mut nearest_off, mut since_nearest) = (w.clone(), f64::INFINITY, 0);
    for _ in 0..MAX_STEPS {
        let value = |w: &[f64], objective: f64| {
            w.iter().map(|w| 0.5 * w - 0.5 * tau * w.ln()).sum::<f64>() - objective
        };
        let wanted: Vec<f64> = at.e.iter().zip(&w).map(|(e, w)| e + tau - w).collect();
        let step = at.newton_step(&wanted, tau, STEP_TOLERANCE);
        let slope = dot(&step, &wanted);
        let steepest = step.iter().map(|y| -y).fold(0.0, f64::max);
        if slope.is_nan() {
            return Err(failed());
        }
        let before = value(&w, objective);
        let mut length = (0.9 / steepest).min(1.0);
        loop {
            let tried: Vec<f64> = w.iter().zip(&step).map(|(w, y)| w * (1.0 + length * y)).collect();
            let there = spectrum(&tried)?;
            let enough = before - 0.1 * length * slope + 1e-13 * before.abs();
            if value(&tried, norm.objective(&there.values)) <= enough || length < 1e-6 {
                objective = norm.objective(&there.values);
                (w, at) = (tried, Linearised::at(there, norm));
                break;
            }
            length *= 0.5;
        }
        let off = (0..count).map(|i| ((at.e[i] + tau - w[i]) / w[i]).abs()).fold(0.0, f64::max);
        if tau <= last {
            since_nearest += 1;
            if off < nearest_off {
                (nearest, nearest_off, since_nearest) = (w.clone(), off, 0);
            }
            if nearest_off < 0.1 * gap || since_nearest >= PATIENCE {
                return Ok(nearest);
            }
        } else if off < 0.05 {
            tau = (0.2 * tau).max(last);
        }
    }
    Ok(if nearest_off.is_finite() { nearest } else { w })
}
