//! The square root of a sliding window, streamed: √((1−X)/(1−x)) with X = x^w.
//!
//! **Definition.** Two pairs of mixtures, f·s = 1/(1−x) in x and φ·ς = 1/(1−X) in X, each factor
//! close to its root:
//!
//! > l(x) = s(x)·(1−X)·φ(X),  r(x) = f(x)·(1−X)·ς(X),  l·r = (1−X)/(1−x).
//!
//! **Guarantee.** L R = A exactly, for any approximation by the pairs. Δ and errors are those of l and
//! r, in closed form ([`crate::mixture::WindowProduct`]). s has a pole at one and so has ς, but (1−X) takes
//! off both: all norms converge, and the mechanism runs for ever at a finite sensitivity. Where a
//! person takes part several times the triangle inequality is used. Δ is enlarged by [`ROUNDING`],
//! far above what rounding does to it.
//!
//! **Cost.** y = s(x)g takes one number per decay; (1−X)φ(X)y = Σ_j w_j (y − p_j X/(1−(1−p_j)X)·y)
//! takes, a decay of φ, the last w values of one sum. p_j and 1 − p_j are both doubles, so that
//! every term vanishes at X = 1 exactly: were φ₀ − Σ_j w_j left over there, by a rounding, R would
//! grow with the number of windows. So a lane holds some ten numbers and some J′w more, where its
//! true total holds w inputs as well. O(J + J′) operations per step.
//!
//! **Source.** The root of a window is MATHS' generating function; splitting it over two time
//! scales is this library's.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::streamed::indistinct;
use super::{
    Cost, Dense, Factorization, IntegerDecoder, Mechanism, Request, dense_size, digest_of, run_by_engine,
};
use crate::Result;
use crate::elliptic;
use crate::matrix::Matrix;
use crate::mixture::{Node, Pair, WindowProduct};
use crate::noise::{Correlator, Progress, WhiteField, WindowDecay, misfit};
use crate::privacy::{CompensatedSum, Participation, round_up};

/// The largest relative effect of rounding on Δ.
const ROUNDING: f64 = 5e-12;

/// Windows after which φ need not follow its root: its error has long settled.
const MAX_WINDOWS: f64 = (1 << 20) as f64;

/// See the module.
pub(crate) struct WindowRoot {
    horizon: u64,
    width: u64,
    /// f and s.
    fine: Pair,
    /// Of φ.
    window_decays: Arc<[WindowDecay]>,
    encoder: WindowProduct,
    decoder: WindowProduct,
    /// Σ ς_m over the windows of the horizon.
    outer_sum: f64,
}

impl WindowRoot {
    /// For a window shorter than the horizon; a longer one is a prefix sum.
    pub(crate) fn new(request: &Request<'_>, width: u64) -> Result<Self> {
        let horizon = request.horizon;
        let refusal = || indistinct(&Mechanism::SquareRoot);
        let fine = fine_pair((16.0 * width as f64).min(horizon as f64)).ok_or_else(refusal)?;
        let windows = (horizon as f64 / width as f64).min(MAX_WINDOWS);
        let poles = coarse_poles(windows);
        let coarse = coarse_pair(&poles, windows).ok_or_else(refusal)?;
        let outer = coarse.encoder();
        let window_decay = |(pole, weight): (&Node, &f64)| WindowDecay {
            weight: *weight,
            loss: pole.loss,
            decay: pole.decay,
        };
        let window_decays = poles.iter().zip(outer.weights()).map(window_decay).collect();
        Ok(Self {
            horizon,
            width,
            outer_sum: coarse.decoder().sum(horizon.div_ceil(width)),
            encoder: WindowProduct::new(fine.encoder().clone(), coarse.decoder().clone(), width, horizon),
            decoder: WindowProduct::new(fine.decoder().clone(), outer.clone(), width, horizon),
            fine,
            window_decays,
        })
    }
}

/// f and s, close to the root over this many steps.
fn fine_pair(steps: f64) -> Option<Pair> {
    let terms = 4 + (0.6 * libm::log2(steps)).ceil() as usize;
    Pair::square_root(1.0, 1.0 / (0.2 * steps + 1.0), 1.0, terms)
}

/// Losses between which the roots in X are approached, and how many decays it takes.
fn coarse_nodes(windows: f64) -> (f64, f64, usize) {
    (1.0 / (0.2 * windows + 1.0), 1.0, 4 + (0.4 * libm::log2(windows)).ceil() as usize)
}

/// The poles of φ, which are run: p and 1 − p are both doubles, so that what is accounted is what is run.
fn coarse_poles(windows: f64) -> Vec<Node> {
    let (low, high, terms) = coarse_nodes(windows);
    let shifts = elliptic::inverse_square_root(low, high, terms).into_iter().map(|fraction| fraction.shift);
    // 1 − p is exact: p is at least a half, or the complement of a double that is.
    shifts.map(|shift| Node::from_decay(1.0 - Node::from_shift(shift, 1.0).as_double().loss)).collect()
}

/// φ and ς.
fn coarse_pair(poles: &[Node], windows: f64) -> Option<Pair> {
    let (low, high, terms) = coarse_nodes(windows);
    let between = elliptic::inverse_square_root_zeros(low, high, terms);
    let zeros = between.into_iter().map(|shift| Node::from_shift(shift, 1.0));
    Pair::new(poles, std::iter::once(Node::from_loss(0.0)).chain(zeros).collect())
}

impl Factorization for WindowRoot {
    fn mechanism(&self) -> Mechanism {
        Mechanism::SquareRoot
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// The first column is the longest.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let steps = participation.bounded(self.horizon) as f64;
        round_up(steps * self.encoder.energy(self.horizon).sqrt(), ROUNDING)
    }

    /// r falls below zero behind the window.
    fn row_norm_squared(&self, step: u64) -> f64 {
        self.decoder.energy(step + 1)
    }

    /// Added up: sums between steps of a window are not asked for.
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let coefficients = self.decoder.coefficients(later as usize + 1);
        let lag = (later - earlier) as usize;
        let mut sum = CompensatedSum::default();
        for (k, later) in coefficients.iter().enumerate() {
            let difference = later - k.checked_sub(lag).map_or(0.0, |k| coefficients[k]);
            sum.add(difference * difference);
        }
        sum.value()
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.decoder.mean_energy(self.horizon)
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.decoder.energy(self.horizon)
    }

    fn cost(&self) -> Cost {
        let (fine, window_decays) = (self.fine.recipe().rows() as u64, self.window_decays.len() as u64);
        Cost {
            shared_bytes: self.encoder.bytes() + self.decoder.bytes(),
            bytes_per_coordinate: 8 * (fine + window_decays.saturating_mul(self.width)),
            operations_per_step: 4.0 * (fine + window_decays) as f64 + 8.0,
        }
    }

    fn draws(&self) -> u64 {
        self.horizon
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        Ok(Dense {
            decoder: Matrix::lower_toeplitz(&self.decoder.coefficients(n)),
            encoder: Matrix::lower_toeplitz(&self.encoder.coefficients(n)),
        })
    }

    /// The numbers that are run: a later version may find better ones.
    fn digest(&self) -> Option<[u8; 32]> {
        let recipe = self.fine.recipe();
        let fine = recipe.decays.iter().flat_map(|decay| [decay.decay, decay.weight]);
        let slow = recipe.slow.iter().flat_map(|decay| [decay.loss, decay.weight]);
        let window_decays = self.window_decays.iter().flat_map(|decay| [decay.weight, decay.decay]);
        Some(digest_of(fine.chain(slow).chain(window_decays).chain([recipe.impulse])))
    }

    /// L⁻¹ has the series (1−x)f(x)·ς(X). f does not increase from one, so that the coefficients of
    /// the first add up to at most two.
    fn integer(&self) -> Option<IntegerDecoder> {
        Some(IntegerDecoder::Window {
            recipe: self.fine.recipe(),
            decays: Arc::clone(&self.window_decays),
            width: self.width,
            amplification: 2.0 * self.outer_sum * (self.horizon as f64).sqrt(),
        })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let lanes = field.width();
        let ring = self.width as usize * lanes;
        Box::new(WindowStream {
            fine: run_by_engine(&self.fine.recipe(), self.horizon, field),
            rings: vec![Zeroizing::new(vec![0.0; ring]); self.window_decays.len()],
            window_decays: Arc::clone(&self.window_decays),
            lanes,
            position: 0,
        })
    }
}

/// y = s(x)g by the engine, then the decays in X.
struct WindowStream {
    fine: Box<dyn Correlator>,
    window_decays: Arc<[WindowDecay]>,
    /// Σ_i (1−p_j)^i y_{t−iw} for the last w steps, a ring for each j.
    rings: Vec<Zeroizing<Vec<f64>>>,
    lanes: usize,
    /// The position of the step in the rings.
    position: usize,
}

impl Correlator for WindowStream {
    fn next(&mut self, out: &mut [f64]) {
        self.fine.next(out);
        for (lane, z) in out.iter_mut().enumerate() {
            let y = *z;
            *z = 0.0;
            for (ring, decay) in self.rings.iter_mut().zip(self.window_decays.iter()) {
                let sum = &mut ring[self.position + lane];
                *z += decay.weight * (y - decay.loss * *sum);
                *sum = y + decay.decay * *sum;
            }
        }
        self.position += self.lanes;
        if self.rings.first().is_none_or(|ring| self.position == ring.len()) {
            self.position = 0;
        }
    }

    fn save(&self) -> Vec<f64> {
        let mut saved: Vec<f64> = self.rings.iter().flat_map(|ring| ring.iter().copied()).collect();
        saved.extend(self.fine.save());
        saved
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        let len: usize = self.rings.iter().map(|ring| ring.len()).sum();
        let (rings, fine) = saved.split_at_checked(len).ok_or_else(misfit)?;
        self.fine.restore(step, fine)?;
        for (value, saved) in self.rings.iter_mut().flat_map(|ring| ring.iter_mut()).zip(rings) {
            *value = *saved;
        }
        let width = self.rings.first().map_or(1, |ring| ring.len() / self.lanes.max(1));
        self.position = (step % width as u64) as usize * self.lanes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::series;
    use super::*;
    use crate::objective::Objective;
    use crate::workload::Workload;

    fn root(width: u64, horizon: u64) -> WindowRoot {
        let request = Request {
            horizon,
            workload: Workload::SlidingWindow { width },
            participation: Participation::single(),
            objective: Objective::Mean,
            report: None,
            progress: &(),
        };
        WindowRoot::new(&request, width).unwrap()
    }

    /// The error factor ‖L‖_F²Δ²/n beside that of the exact root, whose coefficients are added up.
    #[test]
    fn the_error_is_that_of_the_exact_root() {
        for (width, horizon) in [(1, 40), (2, 50), (3, 1000), (10, 11), (10, 4000), (100, 150), (300, 5000)] {
            let streamed = root(width, horizon);
            let exact = series::root(Workload::SlidingWindow { width }, horizon as usize);
            let (mut energy, mut rows) = (0.0, 0.0);
            for s in exact {
                energy += s * s;
                rows += energy;
            }
            let factor =
                streamed.sensitivity(Participation::single()).powi(2) * streamed.mean_row_norm_squared();
            let ratio = factor / (energy * rows / horizon as f64);
            assert!((ratio - 1.0).abs() < 2e-3, "w = {width}, n = {horizon}: {ratio}");
        }
    }

    /// Rounding leaves nothing at X = 1, and the poles are accounted as they are run.
    #[test]
    fn losses_and_decays_are_exact_complements() {
        for windows in [1.0, 1.5, 7.0, 100.0, MAX_WINDOWS] {
            for pole in coarse_poles(windows) {
                assert!(1.0 - pole.loss == pole.decay && 1.0 - pole.decay == pole.loss, "{pole:?}");
            }
        }
    }

    /// Δ²_∞ = (1/π)∫₀^π |sin(wθ/2)/sin(θ/2)| dθ, by the midpoint rule between the zeros of the integrand.
    #[test]
    fn an_endless_window_has_the_known_sensitivity() {
        for width in [1_u64, 2, 7, 50, 1000] {
            let (pieces, pi) = (200 * width, std::f64::consts::PI);
            let at = |i: u64| {
                let half = (i as f64 + 0.5) * pi / (2 * pieces) as f64;
                ((width as f64 * half).sin() / half.sin()).abs()
            };
            let known = (0..pieces).map(at).sum::<f64>() / pieces as f64;
            let got = root(width, 1 << 60).sensitivity(Participation::single()).powi(2);
            assert!((got / known - 1.0).abs() < 2e-3, "w = {width}: {got} {known}");
        }
    }
}
