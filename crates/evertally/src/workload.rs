//! The workload matrix A: what is published at each step.
//!
//! Every workload is lower triangular and Toeplitz: the release at step t is Σ_{j ≤ t} a_{t−j} x_j. A
//! factorization needs no other information about it. Other matrices of queries, on data that does
//! not change, are answered by [`crate::research::batch`].

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use zeroize::Zeroize;

use crate::matrix::Matrix;
use crate::{Error, Result};

/// The longest horizon that any plan accepts.
pub const MAX_HORIZON: u64 = 1 << 60;

/// The linear query answered at every step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Workload {
    /// The running total since the first step: a_k = 1.
    #[default]
    PrefixSum,
    /// The total of the last `width` steps: a_k = 1 for k < width.
    SlidingWindow {
        /// The number of steps in the window, the current one included.
        width: u64,
    },
    /// The exponentially decayed total: a_k = factor^k.
    Decay {
        /// The factor by which one step multiplies the past, strictly between 0 and 1.
        factor: f64,
    },
}

impl Workload {
    /// Refuses a width of zero and a factor outside (0, 1).
    pub(crate) fn validate(self) -> Result<Self> {
        match self {
            Self::SlidingWindow { width } if width == 0 || width > MAX_HORIZON => {
                Err(Error::bad("window", "a number of steps from 1 to 2^60", width))
            }
            Self::Decay { factor } if !(factor > 0.0 && factor < 1.0) => {
                Err(Error::bad("decay", "strictly between 0 and 1", factor))
            }
            valid => Ok(valid),
        }
    }

    /// The coefficient a_k.
    #[must_use]
    pub fn coefficient(self, k: u64) -> f64 {
        match self {
            Self::PrefixSum => 1.0,
            Self::SlidingWindow { width } => f64::from(u8::from(k < width)),
            Self::Decay { factor } => factor.powf(k as f64),
        }
    }

    /// The first `n` coefficients a_0, …, a_{n−1}.
    #[must_use]
    pub fn coefficients(self, n: usize) -> Vec<f64> {
        (0..n as u64).map(|k| self.coefficient(k)).collect()
    }

    /// Σ_{k < steps} a_k²: the squared norm of row `steps − 1` of A, and of its first column at that horizon.
    #[must_use]
    pub fn energy(self, steps: u64) -> f64 {
        match self {
            Self::PrefixSum => steps as f64,
            Self::SlidingWindow { width } => steps.min(width) as f64,
            Self::Decay { factor } => {
                // (1 − λ^{2s}) / (1 − λ²) without cancellation when λ is close to one.
                let log_square = 2.0 * factor.ln();
                (log_square * steps as f64).exp_m1() / log_square.exp_m1()
            }
        }
    }

    /// The number of past inputs that step-by-step multiplication by A keeps, in addition to one sum.
    pub(crate) fn kept(self, horizon: u64) -> u64 {
        match self {
            Self::SlidingWindow { width } => width.min(horizon),
            _ => 0,
        }
    }

    /// The n × n matrix A.
    #[must_use]
    pub fn matrix(self, n: usize) -> Matrix {
        Matrix::lower_toeplitz(&self.coefficients(n))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrefixSum => f.write_str("prefix-sum"),
            Self::SlidingWindow { width } => write!(f, "window:{width}"),
            Self::Decay { factor } => write!(f, "decay:{factor}"),
        }
    }
}

impl FromStr for Workload {
    type Err = Error;

    /// Reads what `Display` writes.
    ///
    /// ```
    /// use evertally::Workload;
    /// for name in ["prefix-sum", "window:60", "decay:0.99"] {
    ///     assert_eq!(name.parse::<Workload>()?.to_string(), name);
    /// }
    /// assert!("window:0".parse::<Workload>().is_err());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let refuse =
            || Error::bad("workload", "prefix-sum, window:STEPS or decay:FACTOR", format!("{text:?}"));
        let workload = match text.split_once(':') {
            None if text == "prefix-sum" => Self::PrefixSum,
            Some(("window", width)) => Self::SlidingWindow { width: width.parse().map_err(|_| refuse())? },
            Some(("decay", factor)) => Self::Decay { factor: factor.parse().map_err(|_| refuse())? },
            _ => return Err(refuse()),
        };
        workload.validate()
    }
}

/// Multiplication by A one step at a time, for several lanes at once.
///
/// Correlators carry noise through it; the true totals of counters have exact arithmetic of their
/// own. It holds raw noise, so there is no `Debug`.
#[derive(Clone)]
pub(crate) struct Filter {
    workload: Workload,
    sums: Vec<f64>,
    /// The inputs still inside the window, step by step; empty for the other workloads.
    recent: VecDeque<f64>,
    /// Steps since the window's sums were last added up from nothing.
    since_sum: u64,
}

impl Filter {
    pub(crate) fn new(workload: Workload, lanes: usize) -> Self {
        Self { workload, sums: vec![0.0; lanes], recent: VecDeque::new(), since_sum: 0 }
    }

    fn window_is_full(&self) -> bool {
        matches!(self.workload, Workload::SlidingWindow { width }
            if (self.recent.len() / self.sums.len().max(1)) as u64 == width)
    }

    /// What lane `lane` would answer if its next input were `x`.
    fn peek(&self, lane: usize, x: f64) -> f64 {
        match self.workload {
            Workload::PrefixSum => self.sums[lane] + x,
            Workload::Decay { factor } => factor * self.sums[lane] + x,
            Workload::SlidingWindow { .. } => {
                let leaving = if self.window_is_full() { self.recent[lane] } else { 0.0 };
                self.sums[lane] - leaving + x
            }
        }
    }

    /// Takes the inputs of a step and replaces them by its row of A x.
    pub(crate) fn apply(&mut self, values: &mut [f64]) {
        for (lane, &x) in values.iter().enumerate() {
            self.sums[lane] = self.peek(lane, x);
        }
        if let Workload::SlidingWindow { width } = self.workload {
            if self.window_is_full() {
                self.recent.drain(..self.sums.len());
            }
            self.recent.extend(values.iter());
            self.since_sum += 1;
            if self.since_sum >= width {
                self.sum_window_afresh();
            }
        }
        values.copy_from_slice(&self.sums);
    }

    /// Subtracting fractions leaves rounding errors behind. Once per window, the sum starts from zero.
    fn sum_window_afresh(&mut self) {
        let lanes = self.sums.len();
        self.sums.fill(0.0);
        for (i, x) in self.recent.iter().enumerate() {
            self.sums[i % lanes] += x;
        }
        self.since_sum = 0;
    }

    pub(crate) fn save(&self, out: &mut Vec<f64>) {
        out.extend(&self.sums);
        if let Workload::SlidingWindow { .. } = self.workload {
            out.push(self.since_sum as f64);
            out.push(self.recent.len() as f64);
            out.extend(&self.recent);
        }
    }

    /// Reads what `save` wrote after this many steps; `None` if the numbers do not fit.
    pub(crate) fn restore(&mut self, step: u64, saved: &[f64]) -> Option<()> {
        let (sums, rest) = saved.split_at_checked(self.sums.len())?;
        if let Workload::SlidingWindow { width } = self.workload {
            // Both numbers follow from the step. They are saved so that a state can be read alone.
            let since_sum = step % width;
            let length = step.min(width) * self.sums.len() as u64;
            let ([first, second], recent) = rest.split_first_chunk()?;
            if [*first, *second] != [since_sum as f64, length as f64] || recent.len() as u64 != length {
                return None;
            }
            self.since_sum = since_sum;
            self.recent = recent.iter().copied().collect();
        } else if !rest.is_empty() {
            return None;
        }
        self.sums.copy_from_slice(sums);
        Some(())
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        self.sums.zeroize();
        self.recent.iter_mut().for_each(Zeroize::zeroize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_the_sum_of_squares() {
        for workload in [
            Workload::PrefixSum,
            Workload::SlidingWindow { width: 3 },
            Workload::Decay { factor: 0.9 },
            Workload::Decay { factor: 1.0 - 1e-9 },
        ] {
            for steps in 1..40 {
                let direct: f64 = workload.coefficients(steps).iter().map(|a| a * a).sum();
                let closed = workload.energy(steps as u64);
                assert!((closed / direct - 1.0).abs() < 1e-12, "{workload} {steps}: {closed} {direct}");
            }
        }
    }

    #[test]
    fn the_filter_follows_the_matrix() {
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 4 }, Workload::Decay { factor: 0.75 }]
        {
            let n = 20;
            let a = workload.matrix(n);
            let x: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64).collect();
            let mut filter = Filter::new(workload, 2);
            for t in 0..n {
                let expected: f64 = a.row(t).iter().zip(&x).map(|(a, x)| a * x).sum();
                let mut values = [x[t], -2.0 * x[t]];
                filter.apply(&mut values);
                assert!((values[0] - expected).abs() < 1e-12, "{workload} at {t}");
                assert!((values[1] + 2.0 * expected).abs() < 1e-12, "{workload} at {t}");
            }
        }
    }

    /// A large input leaves rounding behind when it is subtracted again; one window later it is gone.
    #[test]
    fn rounding_does_not_outlive_the_window() {
        let mut filter = Filter::new(Workload::SlidingWindow { width: 3 }, 1);
        let mut value = [0.0];
        for t in 0..12 {
            value = [if t == 1 { 1e15 } else { 0.1 }];
            filter.apply(&mut value);
        }
        assert!((value[0] - 0.3).abs() < 1e-15, "{}", value[0]);
    }
}
