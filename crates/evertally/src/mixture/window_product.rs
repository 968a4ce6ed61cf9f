//! A mixture in x times a mixture in x^w, for the roots of a sliding window.
//!
//! **Definition.** With X = x^w, the product is c(x)·(1−X)·b(X) for mixtures c and b. The factor
//! (1−X)b(X) has the coefficients β₀ = b₀ and β_m = −κ_b·\[m = 1\] − Σ_j w_j p_j(1−p_j)^{m−1}. So
//! the product has, at k = mw + i with 0 ≤ i < w,
//!
//! > Σ_a η_a M_a(m) θ_a^i + κβ_m·\[i = 0\],  M_a(m) = θ_a^w M_a(m−1) + β_m,
//!
//! and M_a is b itself if θ_a = 1. Within a window the norm is the sum over pairs of decays of
//! [`super::quadratic_form`]. From window to window M_a and (1−p_j)^m follow a linear recursion,
//! and sums over windows are computed by doubling.
//!
//! **Guarantee.** Norms are right to a relative 10⁻¹³ or so. The terms of M cancel, but only after
//! the first window, which contributes most.
//!
//! **Cost.** With D decays in all, O(D²) for a row and O(D³ log n) for a norm at any horizon.

use super::{Mixture, QuadraticForm, power};
use crate::matrix::Matrix;

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct WindowProduct {
    inner: Mixture,
    outer: Mixture,
    width: u64,
    /// Σ_{i<w} (θ_aθ_b)^i.
    gram: Matrix,
    /// θ_a^w.
    kept: Vec<f64>,
    /// The first windows, one by one.
    windows: Vec<Window>,
    /// The squared norm of all windows before each of them.
    before: Vec<f64>,
}

/// Windows whose norms are stored one by one.
const KEPT: u64 = 1024;

/// M_a(m) for every a, and β_m.
#[derive(Debug, Clone)]
struct Window {
    number: u64,
    sums: Vec<f64>,
    beta: f64,
}

impl WindowProduct {
    /// c = `inner` in x and b = `outer` in x^w, with w the `width`, for horizons up to `horizon`.
    pub(crate) fn new(inner: Mixture, outer: Mixture, width: u64, horizon: u64) -> Self {
        let kept = inner.rates.iter().map(|rate| power(*rate, width as f64)).collect();
        let gram = gram(&inner, width);
        let mut product = Self { inner, outer, width, gram, kept, windows: Vec::new(), before: vec![0.0] };
        let mut window = product.first();
        let mut sum = 0.0;
        for _ in 0..(horizon / width).min(KEPT) {
            sum += product.norm_squared(&window);
            product.before.push(sum);
            product.windows.push(window.clone());
            product.advance(&mut window);
        }
        product.windows.push(window);
        product
    }

    /// The bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        let (inner, windows) = (self.inner.len() as u64, self.windows.len() as u64);
        8 * (inner * inner + windows * (inner + 6))
    }

    /// The coefficients of the product, for k < n.
    pub(crate) fn coefficients(&self, n: usize) -> Vec<f64> {
        let mut window = self.first();
        let mut coefficients = Vec::with_capacity(n);
        while coefficients.len() < n {
            for i in 0..self.width.min((n - coefficients.len()) as u64) {
                let terms = self.inner.rates.iter().zip(&self.inner.weights).zip(&window.sums);
                let sum: f64 = terms.map(|((rate, weight), m)| weight * m * power(*rate, i as f64)).sum();
                coefficients.push(sum + if i == 0 { self.inner.impulse * window.beta } else { 0.0 });
            }
            self.advance(&mut window);
        }
        coefficients
    }

    /// The sum of squares of the first n coefficients. Beyond the stored windows, n is rounded up
    /// to full windows plus one.
    pub(crate) fn energy(&self, n: u64) -> f64 {
        let (windows, rest) = (n / self.width, n % self.width);
        match self.windows.get(windows as usize) {
            Some(window) => self.before[windows as usize] + self.part(window, rest),
            None => self.through(windows + 1),
        }
    }

    /// The mean of `energy(t + 1)` over t < n, or slightly more if there are more windows than are
    /// stored.
    pub(crate) fn mean_energy(&self, n: u64) -> f64 {
        let all = self.energy(n);
        let windows = (n / self.width).min(self.before.len() as u64 - 1);
        // By how much the rows are below the last one.
        let mut short = 0.0;
        for (window, before) in self.windows.iter().zip(&self.before).take(windows as usize) {
            short += self.width as f64 * (all - before) - self.ramp(window, self.width);
        }
        let (last, rest) = (windows as usize, n - windows * self.width);
        if rest < self.width {
            short += rest as f64 * (all - self.before[last]) - self.ramp(&self.windows[last], rest);
        }
        all - short / n as f64
    }

    fn first(&self) -> Window {
        let start = self.outer.coefficient(0);
        Window { number: 0, sums: vec![start; self.inner.len()], beta: start }
    }

    fn advance(&self, window: &mut Window) {
        window.number += 1;
        let m = window.number;
        let outer = &self.outer;
        let terms = outer.rates.iter().zip(&outer.losses).zip(&outer.weights);
        let sum: f64 = terms.map(|((rate, loss), weight)| weight * loss * power(*rate, (m - 1) as f64)).sum();
        window.beta = -sum - if m == 1 { outer.impulse } else { 0.0 };
        let own = outer.coefficient(m);
        for ((sum, kept), loss) in window.sums.iter_mut().zip(&self.kept).zip(&self.inner.losses) {
            // If nothing decays, M is b, which the recursion would reach only with cancellation.
            *sum = if *loss == 0.0 { own } else { kept * *sum + window.beta };
        }
    }

    /// The sum over pairs of the weights of a window, plus the contribution of the impulse.
    fn over_pairs(&self, window: &Window, sum: impl Fn(usize, usize) -> f64, impulse: f64) -> f64 {
        let weights: Vec<f64> = self.inner.weights.iter().zip(&window.sums).map(|(w, m)| w * m).collect();
        let mut total = 0.0;
        for (a, weight) in weights.iter().enumerate() {
            let others: f64 = weights.iter().enumerate().map(|(b, other)| other * sum(a, b)).sum();
            total += weight * others;
        }
        let spike = self.inner.impulse * window.beta;
        total + impulse * spike * (2.0 * weights.iter().sum::<f64>() + spike)
    }

    /// The squared norm of a window.
    fn norm_squared(&self, window: &Window) -> f64 {
        self.over_pairs(window, |a, b| self.gram[(a, b)], 1.0)
    }

    /// The squared norm of its first coefficients.
    fn part(&self, window: &Window, len: u64) -> f64 {
        if len == 0 {
            return 0.0;
        }
        let gram = gram(&self.inner, len);
        self.over_pairs(window, |a, b| gram[(a, b)], 1.0)
    }

    /// Σ_{i<len} (len − i)·(coefficient i)²: the norms of the first `len` rows added up.
    fn ramp(&self, window: &Window, len: u64) -> f64 {
        if len == 0 {
            return 0.0;
        }
        let n = len as f64;
        let form = QuadraticForm::Mean(n);
        let terms = self.inner.terms(&form);
        self.over_pairs(window, |a, b| n * form.pair(&terms[a], &terms[b]), n)
    }

    /// The squared norm of the first `windows` windows, by doubling.
    fn through(&self, windows: u64) -> f64 {
        let mut window = self.first();
        let mut total = 0.0;
        for _ in 0..2.min(windows) {
            total += self.norm_squared(&window);
            self.advance(&mut window);
        }
        let Some(count) = windows.checked_sub(2) else { return total };
        // From the third window on: M_a, then (1−p_j)^{m−1}, and how they follow from those of the
        // window before.
        let (inner, outer) = (self.inner.len(), self.outer.len());
        let mut numbers = window.sums.clone();
        numbers.extend(self.outer.rates.iter().map(|rate| power(*rate, 1.0)));
        let dimension = inner + outer;
        let factor = |j: usize| power(self.outer.rates[j], 1.0);
        let beta = |j: usize| -self.outer.weights[j] * self.outer.losses[j];
        let mut step = Matrix::zeros(dimension, dimension);
        // The weights of a window, from its numbers.
        let mut weights = Matrix::zeros(inner, dimension);
        for a in 0..inner {
            let does_not_decay = self.inner.losses[a] == 0.0;
            for j in 0..outer {
                step[(a, inner + j)] = beta(j) * factor(j);
                if does_not_decay {
                    weights[(a, inner + j)] = self.inner.weights[a] * self.outer.weights[j] * factor(j);
                }
            }
            step[(a, a)] = self.kept[a];
            if does_not_decay {
                // Its number is not used.
                (0..outer).for_each(|j| step[(a, inner + j)] = 0.0);
            } else {
                weights[(a, a)] = self.inner.weights[a];
            }
        }
        for j in 0..outer {
            step[(inner + j, inner + j)] = factor(j);
        }
        let spike: Vec<f64> = (0..dimension)
            .map(|i| if i < inner { 0.0 } else { self.inner.impulse * beta(i - inner) })
            .collect();
        let sum: Vec<f64> = (0..dimension).map(|i| (0..inner).map(|a| weights[(a, i)]).sum()).collect();
        let mut norm = weights.transpose().times(&self.gram.times(&weights));
        for i in 0..dimension {
            for j in 0..dimension {
                norm[(i, j)] += spike[i] * sum[j] + sum[i] * spike[j] + spike[i] * spike[j];
            }
        }
        total + doubled(step, norm, numbers, count)
    }
}

/// Σ_{k<count} (F^k z)ᵀ Q (F^k z).
fn doubled(mut step: Matrix, mut norm: Matrix, mut numbers: Vec<f64>, mut count: u64) -> f64 {
    let mut total = 0.0;
    while count > 0 {
        if count & 1 == 1 {
            let image = apply(&norm, &numbers);
            total += numbers.iter().zip(&image).map(|(a, b)| a * b).sum::<f64>();
            numbers = apply(&step, &numbers);
        }
        let later = step.transpose().times(&norm.times(&step));
        for i in 0..later.rows() {
            for j in 0..later.columns() {
                norm[(i, j)] += later[(i, j)];
            }
        }
        step = step.times(&step);
        count >>= 1;
    }
    total
}

/// Σ_{i<len} (θ_aθ_b)^i.
fn gram(mixture: &Mixture, len: u64) -> Matrix {
    let form = QuadraticForm::Row(len as f64);
    let terms = mixture.terms(&form);
    Matrix::from_fn(mixture.len(), mixture.len(), |a, b| form.pair(&terms[a], &terms[b]))
}

fn apply(a: &Matrix, x: &[f64]) -> Vec<f64> {
    (0..a.rows()).map(|i| a.row(i).iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Node;
    use super::*;
    use crate::privacy::CompensatedSum;

    fn products(width: u64, horizon: u64) -> Vec<WindowProduct> {
        let mixture = |losses: &[f64], impulse: f64| {
            let nodes: Vec<Node> = losses.iter().map(|loss| Node::from_loss(*loss)).collect();
            let weights = losses.iter().map(|loss| 0.3 + 0.1 * loss).collect();
            Mixture::new(&nodes, weights, impulse)
        };
        vec![
            WindowProduct::new(mixture(&[0.0, 0.03, 0.4], 0.2), mixture(&[0.01, 0.3], 0.0), width, horizon),
            WindowProduct::new(mixture(&[0.02, 0.7], 0.0), mixture(&[0.0, 0.05, 0.5], 0.15), width, horizon),
        ]
    }

    /// The definition: the product of the two series.
    fn direct(product: &WindowProduct, n: usize) -> Vec<f64> {
        let inner = product.inner.coefficients(n);
        let width = product.width as usize;
        let outer = product.outer.coefficients(n / width + 2);
        let teeth = |m: usize| outer[m] - if m > 0 { outer[m - 1] } else { 0.0 };
        (0..n).map(|k| (0..=k / width).map(|m| teeth(m) * inner[k - m * width]).sum()).collect()
    }

    #[test]
    fn the_product_and_its_norms_are_those_added_up() {
        for width in [1_u64, 2, 5, 40] {
            for product in products(width, 200) {
                let expected = direct(&product, 200);
                let (mut energy, mut rows) = (CompensatedSum::default(), CompensatedSum::default());
                for (k, (got, want)) in product.coefficients(200).iter().zip(&expected).enumerate() {
                    assert!((got - want).abs() < 1e-14, "w = {width}, k = {k}: {got} {want}");
                    energy.add(want * want);
                    rows.add(energy.value());
                    let n = k as u64 + 1;
                    assert!((product.energy(n) / energy.value() - 1.0).abs() < 1e-13, "w = {width}, n = {n}");
                    let mean = rows.value() / n as f64;
                    assert!((product.mean_energy(n) / mean - 1.0).abs() < 1e-13, "w = {width}, n = {n}");
                }
                for windows in 1..=200 / width {
                    let (doubled, one_by_one) = (product.through(windows), product.before[windows as usize]);
                    assert!((doubled / one_by_one - 1.0).abs() < 1e-13, "w = {width}, {windows} windows");
                }
            }
        }
    }

    #[test]
    fn an_endless_window_is_bounded() {
        for product in products(7, 1 << 60) {
            let (long, longer) = (product.energy(1 << 30), product.energy(1 << 60));
            assert!(long <= longer * (1.0 + 1e-12) && longer < product.energy(70_000) * (1.0 + 1e-9));
            let mean = product.mean_energy(1 << 60);
            assert!((mean / longer - 1.0).abs() < 1e-9, "{mean} {longer}");
        }
    }
}
