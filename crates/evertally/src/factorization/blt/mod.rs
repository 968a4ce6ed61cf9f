//! The buffered linear Toeplitz mechanism: the best pair of d decays, found at plan time.
//!
//! **Definition.** R = T(r) with r_k = κ·\[k = 0\] + Σ_{j≤d} ω_j θ_j^k and L = T(l) with l(x) =
//! 1/((1−λx) r(x)), a [`Pair`] whose d poles and d zeros are free. They are fitted to the plan: to
//! its horizon, its workload, its objective (the mean over all steps, or the worst), and to the
//! participation, whose sensitivity is part of what is minimised.
//!
//! **Guarantee.** L R = A exactly, as for every pair, and Δ and errors are closed forms of the pair
//! that is run. The fit decides how small the error is; the stated error is always the true one. Event
//! level, mean error: at 2^12 steps four buffers are 0.08 % above the best Toeplitz factorization
//! of all, of which more buffers would mend half; at 2^20 six are 0.12 % above what many reach. A
//! number of buffers is the most that are run: those that would cancel are left out. The fit takes
//! the same steps on every machine.
//!
//! **Cost.** d + 1 numbers per coordinate, O(d) operations per step. Preparation takes some 60
//! milliseconds at 2^20 steps and 200 at 2^40; with several participations up to twice as long.
//!
//! **Source.** McMahan, Xu and Zhang, *A Hassle-free Algorithm for Strong Differential Privacy in
//! Federated Learning* (2024), and Dvijotham, McMahan, Pillutla, Steinke and Thakurta, *Efficient
//! and Near-Optimal Noise Generation for Streaming Differential Privacy* (2024). Fitting poles and
//! zeros by the logarithms of their gaps, in closed forms over the horizon, is this library's.

mod descent;
mod loss;

use std::sync::Arc;

use loss::Loss;

use super::streamed::{Streamed, indistinct};
use super::{Kind, Mechanism, Request};
use crate::mixture::{Node, Pair, QuadraticForm, as_run, workload_node};
use crate::objective::Objective;
use crate::workload::Workload;
use crate::{Error, Result, elliptic};

pub(super) static KIND: Kind = Kind {
    name: "blt",
    code: 10,
    has_exact_path: true,
    preparation: |_, _, _| 1e8,
    factorize: |request, buffers| Ok(Arc::new(factorize(request, buffers)?)),
    ..Kind::DEFAULT
};

/// The largest number of buffers that a caller may name.
const MAX_BUFFERS: u64 = 32;

/// The largest number of buffers that the plan chooses by default.
const MAX_CHOSEN_BUFFERS: u64 = 24;

/// A further buffer must reduce the error by at least this fraction.
const MIN_GAIN: f64 = 1e-4;

/// A change of the logarithm of the error that is ignored.
const FREE: f64 = 1e-8;

/// Below this factor nothing of a decay is left after one step, and doubles cannot separate several
/// such decays.
const MIN_FACTOR: f64 = 1e-200;

/// Makes the factorization, with the named number of buffers or as many as help.
fn factorize(request: &Request<'_>, buffers: Option<u64>) -> Result<Streamed> {
    let mechanism = Mechanism::Blt { buffers };
    let factor = match request.workload {
        Workload::PrefixSum => 1.0,
        Workload::Decay { factor } if factor >= MIN_FACTOR => factor,
        other => {
            let reason = format!("it factors running and decayed totals, not {other}");
            return Err(Error::unsupported(mechanism, reason));
        }
    };
    if let Some(named) = buffers.filter(|named| !(1..=MAX_BUFFERS).contains(named)) {
        return Err(Error::bad("buffers", format!("an integer from 1 to {MAX_BUFFERS}"), named));
    }
    let fit = Fit::new(request, factor);
    let (limit, gain) = buffers.map_or((MAX_CHOSEN_BUFFERS, MIN_GAIN), |named| (named, FREE));
    let (gaps, _) = fit.fewest(limit as usize, gain);
    let pair = fit.pair(&gaps).ok_or_else(|| indistinct(&mechanism))?;
    let buffers = buffers.unwrap_or(gaps.len() as u64 / 2);
    Ok(Streamed::new(Mechanism::Blt { buffers: Some(buffers) }, request, pair))
}

/// What is fitted to.
struct Fit {
    loss: Loss,
    factor: f64,
    /// The steps that matter: the horizon, or fewer if nothing of a decay is left earlier.
    steps: f64,
}

impl Fit {
    fn new(request: &Request<'_>, factor: f64) -> Self {
        let horizon = request.horizon;
        let fading = -libm::log(factor);
        let decoder = match request.objective {
            Objective::Worst => QuadraticForm::Row(horizon as f64),
            _ => QuadraticForm::Mean(horizon as f64),
        };
        let encoder = QuadraticForm::participation(horizon, request.participation);
        // Where the workload decays, places much closer to its pole than the pole is to one cannot
        // be told from it.
        let loss = Loss { encoder, decoder, fading: fading.max(0.0), base: 0.01 * (1.0 - factor) };
        let steps = if factor < 1.0 { (horizon as f64).min(1.0 + 10.0 / fading) } else { horizon as f64 };
        Self { loss, factor, steps }
    }

    /// At most `limit` buffers, and no more than help: without the last of them the error would
    /// rise by more than the part `gain`. Returns their variables, and the logarithm of the error.
    ///
    /// The fit begins with more buffers than can help at the horizon and takes them away one by
    /// one. Those that it does not need end up as a pole and a zero side by side, which cancel; a
    /// fit that begins with few may miss what many find. Because all limits go the same way, those
    /// that were chosen are found again when they are named.
    fn fewest(&self, limit: usize, gain: f64) -> (Vec<f64>, f64) {
        let octaves = libm::log2(self.steps);
        let enough = (3.0 + 0.55 * octaves).min(6.0 + 0.4 * octaves) as usize;
        let mut best = self.fitted_root(enough);
        while best.0.len() > 2 {
            let fewer = self.reduced(&best);
            let is_allowed = best.0.len() <= 2 * limit;
            if is_allowed && fewer.1 > best.1 + gain {
                break;
            }
            best = fewer;
        }
        best
    }

    /// A fit that begins with the poles and zeros of the square root.
    fn fitted_root(&self, buffers: usize) -> (Vec<f64>, f64) {
        self.fitted(&self.loss.gaps(&self.start(buffers)))
    }

    fn fitted(&self, start: &[f64]) -> (Vec<f64>, f64) {
        descent::minimise(start, |gaps, gradient| self.loss.value_and_gradient(gaps, gradient))
    }

    /// One buffer less: without the neighbouring pole and zero that are missed least.
    fn reduced(&self, (gaps, value): &(Vec<f64>, f64)) -> (Vec<f64>, f64) {
        let places = self.loss.places(gaps);
        let mut scratch = vec![0.0; gaps.len() - 2];
        let without = |m: usize| {
            let kept =
                places.iter().enumerate().filter(|(k, _)| *k != m && *k != m + 1).map(|(_, place)| *place);
            let fewer = self.loss.gaps(&kept.collect::<Vec<_>>());
            let value = self.loss.value_and_gradient(&fewer, &mut scratch);
            (fewer, value)
        };
        let least = |a: (Vec<f64>, f64), b: (Vec<f64>, f64)| if b.1 < a.1 { b } else { a };
        let fewer = (0..places.len() - 1).map(without).fold((Vec::new(), f64::INFINITY), least);
        if fewer.1 <= value + FREE {
            return fewer;
        }
        least(self.fitted(&fewer.0), self.fitted_root(gaps.len() / 2 - 1))
    }

    /// The poles and zeros of the square root, less its fastest pole: s₀, σ₁, s₁, …, σ_d.
    fn start(&self, buffers: usize) -> Vec<f64> {
        let (low, high) = (5.0 / self.steps, 1.0);
        let poles = elliptic::inverse_square_root(low, high, buffers + 1);
        let zeros = elliptic::inverse_square_root_zeros(low, high, buffers + 1);
        poles.iter().zip(zeros).flat_map(|(pole, zero)| [pole.shift, zero]).collect()
    }

    fn pair(&self, gaps: &[f64]) -> Option<Pair> {
        let nodes: Vec<Node> =
            self.loss.places(gaps).into_iter().map(|place| Node::from_shift(place, self.factor)).collect();
        let poles: Vec<Node> = nodes.iter().copied().step_by(2).collect();
        let zeros = nodes.iter().skip(1).step_by(2).map(|zero| as_run(*zero));
        Pair::new(&poles, std::iter::once(workload_node(self.factor)).chain(zeros).collect())
    }
}

#[cfg(test)]
mod tests;
