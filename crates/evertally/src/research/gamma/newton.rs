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
//! **Cost.** O(N⁴) per step for N weights, so N is limited. It takes about thirty to sixty steps.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::linear::{Entry, failed};
use crate::Result;

/// Problems with more weights are left to the fixed point.
pub(super) const MAX_WEIGHTS: usize = 200;

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

/// e, and its derivative with respect to the logarithms of the weights.
struct Linearised {
    e: Vec<f64>,
    derivative: Mat<f64>,
}

fn linearise<T: Entry>(spectrum: &Spectrum<T>, norm: Norm) -> Linearised {
    let (q, values) = (&spectrum.vectors, &spectrum.values);
    let (n, p) = (q.nrows(), q.ncols());
    let mut d: Vec<f64> =
        (0..n).map(|i| (0..p).map(|k| values[k].abs() * q[(i, k)].square()).sum()).collect();
    let couplings = Mat::from_fn(p, p, |k, l| norm.coupling(values[k], values[l]));
    let mut derivative = Mat::<f64>::zeros(n, n);
    for i in 0..n {
        // t_k = q_ik q̄_jk, one column per j, in its real and imaginary parts.
        let product = |j: usize, k: usize| {
            let ((a, b), (c, d)) = (q[(i, k)].parts(), q[(j, k)].parts());
            (a * c + b * d, b * c - a * d)
        };
        for real in [true, false] {
            let t = Mat::from_fn(p, n, |k, j| if real { product(j, k).0 } else { product(j, k).1 });
            let image = &couplings * &t;
            for j in 0..n {
                let sum: f64 = t.col(j).iter().zip(image.col(j).iter()).map(|(x, y)| x * y).sum();
                derivative[(i, j)] += 0.5 * sum;
            }
            if T::IS_REAL {
                break;
            }
        }
    }
    match norm {
        Norm::Mean => Linearised { e: d, derivative },
        Norm::Worst => {
            let root = 0.5 * norm.objective(values);
            let sum = root * root;
            let derivative =
                Mat::from_fn(n, n, |i, j| derivative[(i, j)] / root - 0.25 * d[i] * d[j] / (sum * root));
            d.iter_mut().for_each(|d| *d /= root);
            Linearised { e: d, derivative }
        }
    }
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
    let mut at = linearise(&spectrum(&w)?, norm);
    // The scale that solves w = e(w) on average, since e grows with the square root of the scale.
    let scale = (at.e.iter().sum::<f64>() / w.iter().sum::<f64>()).powi(2);
    w.iter_mut().for_each(|w| *w *= scale);
    let start = spectrum(&w)?;
    let mut objective = norm.objective(&start.values);
    at = linearise(&start, norm);
    let total: f64 = at.e.iter().sum();
    let mut tau = total / count as f64;
    let last = gap * tau;
    for _ in 0..MAX_STEPS {
        let value = |w: &[f64], objective: f64| {
            w.iter().map(|w| 0.5 * w - 0.5 * tau * w.ln()).sum::<f64>() - objective
        };
        let matrix = Mat::from_fn(count, count, |i, j| {
            let own = if i == j { at.e[i] + tau } else { 0.0 };
            own - 0.5 * (at.derivative[(i, j)] + at.derivative[(j, i)])
        });
        let wanted = Mat::from_fn(count, 1, |i, _| at.e[i] + tau - w[i]);
        let step = match matrix.llt(Side::Lower) {
            Ok(cholesky) => cholesky.solve(&wanted),
            Err(_) => matrix.partial_piv_lu().solve(&wanted),
        };
        let slope: f64 = (0..count).map(|i| step[(i, 0)] * wanted[(i, 0)]).sum();
        let steepest = (0..count).map(|i| -step[(i, 0)]).fold(0.0, f64::max);
        if slope.is_nan() {
            return Err(failed());
        }
        let before = value(&w, objective);
        let mut length = (0.9 / steepest).min(1.0);
        loop {
            let tried: Vec<f64> =
                w.iter().enumerate().map(|(i, w)| w * (1.0 + length * step[(i, 0)])).collect();
            let there = spectrum(&tried)?;
            let enough = before - 0.1 * length * slope + 1e-13 * before.abs();
            if value(&tried, norm.objective(&there.values)) <= enough || length < 1e-6 {
                objective = norm.objective(&there.values);
                (w, at) = (tried, linearise(&there, norm));
                break;
            }
            length *= 0.5;
        }
        let off = (0..count).map(|i| ((at.e[i] + tau - w[i]) / w[i]).abs()).fold(0.0, f64::max);
        if off < 0.05 {
            if tau <= last && off < 0.1 * gap {
                break;
            }
            tau = (0.2 * tau).max(last);
        }
    }
    Ok(w)
}
