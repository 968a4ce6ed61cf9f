//! The optimum, streamed: noise that is a sum of Markov chains.
//!
//! **Definition.** At the optimum of γ_F (or γ_2) the noise has the covariance L Lᵀ = U^{-1/2}(U^{1/2}
//! A V Aᵀ U^{1/2})^{1/2}U^{-1/2}, with the weights V = diag(v) of the columns and U = diag(u) of the
//! rows; u = 1 for the mean error. With K = A⁻ᵀV⁻¹A⁻¹, which is tridiagonal, and the nodes s_j and
//! weights w_j of the inverse square root, it is close to Σ_j w_j (K + s_j U)⁻¹. Each term is the
//! covariance of a Markov chain. So the noise is the sum of J independent chains, and one draw per
//! step makes the sum (`chain`): a matrix L₀ with J numbers per lane. R₀ = L₀⁻¹A has the column
//! norms d (`gram`), and
//!
//! > L = A diag(d) A⁻¹ L₀,   R = L₀⁻¹A diag(1/d).
//!
//! v comes from a spline with a few knots (`weights`), and the nodes from an interval that is
//! tuned to the number of chains. A is the prefix sum or a decayed sum.
//!
//! **Privacy.** L R = A for any L₀ with a positive diagonal and any d > 0, so no approximation
//! enters. Every column of R has a norm of at most one, for the single-precision numbers that run,
//! with a proven bound on the rounding of d (`gram`). Δ = 1, enlarged by the margin that every
//! sensitivity has for the arithmetic of L. Several participations use the triangle inequality: Δ =
//! k'. R ≥ 0.
//!
//! **Error.** With J = 2 + ½ log₂ n chains the mean error is within 10⁻⁵ of the certified optimum up to
//! 2^20 steps; `cargo xtask optimum` measures it. The worst step takes one chain more.
//!
//! **Cost.** J + 1 numbers and 5J + 5 operations per lane and step. The numbers of a step are shared
//! by all lanes, and take O(J²) operations. Preparation takes O(n J²). Decayed totals forget, so
//! their preparation does not grow with the horizon (`timeline`). What is held grows with √n.
//!
//! **Source.** This library's.

mod chain;
mod gram;
mod profile;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod weights;

use std::sync::Arc;

use chain::Chains;
use profile::Profile;
use run::{Block, Run};
use timeline::Timeline;
pub use weights::{KNOTS, MAX_DAMPING, MAX_WORST_DAMPING, Shape, basis, place};
use weights::{Weights, aim, reach};

use super::{
    Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, Request, dense_size, digest_of,
    run_by_engine,
};
use crate::elliptic::inverse_square_root;
use crate::matrix::Matrix;
use crate::noise::{ChainSource, Correlator, MAX_CHAINS, Progress, Recipe, WhiteField};
use crate::objective::Objective;
use crate::privacy::{MARGIN, Participation, round_up};
use crate::workload::Workload;
use crate::{Error, Result};

pub(super) static KIND: Kind = Kind {
    name: "markov",
    code: 15,
    has_exact_path: true,
    preparation: |horizon, workload, _| {
        factor_of(workload, horizon)
            .map_or(f64::INFINITY, |factor| 500.0 * Timeline::new(horizon, factor).steps as f64)
    },
    factorize: |request, chains| Ok(Arc::new(Markov::new(request, chains)?)),
    ..Kind::DEFAULT
};

/// After this many memories 1/(1−λ), a row of L₀⁻¹ is below the roundings that are charged.
const FORGOTTEN: f64 = 60.0;

/// The longest timeline whose numbers are held while it is prepared, 132 bytes per step. Longer ones
/// are made again for each of three passes.
const MAX_KEPT_STEPS: u64 = 1 << 20;

/// The longest timeline: it takes some ten seconds.
const MAX_STEPS: u64 = 1 << 25;

/// λ, or `None` for a workload that is no geometric sum. A window that holds every step is one.
fn factor_of(workload: Workload, horizon: u64) -> Option<f64> {
    match workload {
        Workload::PrefixSum => Some(1.0),
        Workload::Decay { factor } => Some(factor),
        Workload::SlidingWindow { width } => (width >= horizon).then_some(1.0),
    }
}

/// How many chains the error asks for: not yet an integer.
fn depth(reach: f64, objective: Objective) -> f64 {
    let more = if objective == Objective::Worst { 1.0 } else { 0.0 };
    2.0 + more + 0.5 * libm::log2(reach)
}

/// The default number of chains.
fn chains_for(horizon: u64, factor: f64, objective: Objective) -> usize {
    (depth(reach(horizon, factor), objective).ceil() as usize).clamp(3, MAX_CHAINS)
}

/// What is fitted, and what follows from it.
struct Parts {
    run: Arc<Run>,
    profile: Profile,
}

impl Parts {
    fn new(horizon: u64, factor: f64, objective: Objective, shape: &Shape, chains: usize) -> Self {
        let timeline = Timeline::new(horizon, factor);
        let reach = reach(horizon, factor);
        let weights = Weights::new(timeline.steps, reach, shape, objective);
        let lowest = (1.0 - factor).powi(2) + (std::f64::consts::FRAC_PI_2 / reach).powi(2);
        // Fewer chains do better on a shorter interval, more on a longer one.
        let tuned = depth(reach, objective);
        let high = shape.high + (0.25 * (chains as f64 - tuned)).min(1.0);
        let fractions = inverse_square_root(lowest * libm::exp(shape.low), libm::exp(high), chains);
        let keep = timeline.steps <= MAX_KEPT_STEPS;
        let (chains, numbers) = Chains::new(timeline, weights, factor, &fractions, keep);
        let (run, blocks) = Run::new(chains, numbers);
        let profile = Profile::new(&run, &blocks);
        Self { run: Arc::new(run), profile }
    }
}

pub(crate) struct Markov {
    horizon: u64,
    workload: Workload,
    shape: Shape,
    parts: Parts,
    mechanism: Mechanism,
}

impl Markov {
    fn new(request: &Request<'_>, chains: Option<u64>) -> Result<Self> {
        let mechanism = Mechanism::Markov { chains };
        let Some(factor) = factor_of(request.workload, request.horizon) else {
            let reason = "it makes running and decayed totals; square-root makes windows";
            return Err(Error::unsupported(mechanism, reason));
        };
        if let Some(chains) = chains
            && !(2..=MAX_CHAINS as u64).contains(&chains)
        {
            return Err(Error::bad("chains", format!("from 2 to {MAX_CHAINS}"), chains));
        }
        let steps = Timeline::new(request.horizon, factor).steps;
        if steps > MAX_STEPS {
            let reason = format!("it prepares every step, up to 2^25 steps, not {steps}");
            return Err(Error::too_costly(mechanism, reason));
        }
        let objective = aim(request.objective, request.horizon, factor);
        let shape = Shape::for_horizon(request.horizon, factor, objective);
        let chains =
            chains.map_or_else(|| chains_for(request.horizon, factor, objective), |chains| chains as usize);
        let parts = Parts::new(request.horizon, factor, objective, &shape, chains);
        let bounds = parts.run.bounds();
        // Not a number anywhere ends here. Norms that differ by less than a factor of two have exact
        // differences.
        let are_regular = bounds.least_norm > 0.0 && bounds.largest_rise < 2.0;
        if !(parts.profile.mean.is_finite() && are_regular) {
            return Err(Error::too_costly(mechanism, "its numbers overflow at this decay"));
        }
        Ok(Self { horizon: request.horizon, workload: request.workload, shape, parts, mechanism })
    }

    fn recipe(&self) -> Recipe {
        Recipe { chains: Some(Arc::clone(&self.parts.run) as _), ..Recipe::default() }
    }
}

/// The errors of a shape that a fit needs: the mean and the maximum.
#[doc(hidden)]
#[must_use]
pub fn trial(horizon: u64, factor: f64, objective: Objective, shape: &Shape) -> (f64, f64) {
    let chains = chains_for(horizon, factor, objective);
    let parts = Parts::new(horizon, factor, objective, shape, chains);
    (parts.profile.mean, parts.profile.max)
}

impl Factorization for Markov {
    fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Every column has a norm of at most one. Several participations: by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        round_up(participation.bounded(self.horizon) as f64, MARGIN)
    }

    /// R ≥ 0; see `gram`.
    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.parts.profile.row(&self.parts.run, step)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        self.parts.profile.difference(&self.parts.run, earlier, later)
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.parts.profile.mean
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.parts.profile.max
    }

    fn cost(&self) -> Cost {
        let (run, chains) = (&self.parts.run, self.parts.run.chains.count as u64);
        // A reader holds the numbers of one block.
        let block = run.timeline().block * (8 * MAX_CHAINS as u64 + 4);
        Cost {
            shared_bytes: run.bytes() + self.parts.profile.bytes() + block,
            bytes_per_coordinate: 8 * (chains + 1),
            operations_per_step: 5.0 * chains as f64 + 5.0 + 12.0 * (chains * chains) as f64,
        }
    }

    fn draws(&self) -> u64 {
        self.horizon
    }

    /// From the definition: L₀ by products of what is kept, R₀ by forward substitution.
    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism, self.horizon)?;
        let (mut block, mut losses, mut drives, mut norms) =
            (Block::default(), Vec::new(), Vec::new(), Vec::new());
        while losses.len() < n {
            let (number, _) = self.parts.run.timeline().place(losses.len() as u64);
            self.parts.run.read(number, &mut block);
            losses.extend(block.numbers.losses.iter().map(|row| row.map(f64::from)));
            drives.extend(block.numbers.drives.iter().map(|row| row.map(f64::from)));
            norms.extend(block.norms.iter().copied().map(f64::from));
        }
        let mut root = Matrix::zeros(n, n);
        for s in 0..n {
            let mut state = drives[s];
            root[(s, s)] = state.iter().sum();
            for t in s + 1..n {
                state.iter_mut().zip(&losses[t]).for_each(|(x, loss)| *x -= loss * *x);
                root[(t, s)] = state.iter().sum();
            }
        }
        let workload = self.workload.matrix(n);
        let factor = 1.0 - self.parts.run.chains.loss;
        let mut decoder = Matrix::zeros(n, n);
        let mut encoder = Matrix::zeros(n, n);
        for j in 0..n {
            for t in j..n {
                let before = if t > j { factor * decoder[(t - 1, j)] } else { 0.0 };
                let past = if t > j { factor * root[(t - 1, j)] } else { 0.0 };
                decoder[(t, j)] = before + norms[t] * (root[(t, j)] - past);
                let known: f64 = (j..t).map(|s| root[(t, s)] * encoder[(s, j)]).sum();
                encoder[(t, j)] = (workload[(t, j)] - known) / root[(t, t)];
            }
            for t in j..n {
                encoder[(t, j)] /= norms[j];
            }
        }
        Ok(Dense { decoder, encoder })
    }

    /// The shape comes from a fitted table and J from a rule. A later version may change both.
    fn digest(&self) -> Option<[u8; 32]> {
        let chains = self.parts.run.chains.count as f64;
        Some(digest_of(self.shape.numbers().chain([chains])))
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(self.recipe())
    }

    /// L⁻¹ = L₀⁻¹A diag(1/d) A⁻¹, and by parts L⁻¹ε = L₀⁻¹(ε/d) + Σ_s λ(1/d_s − 1/d_{s+1})ε_s·column s + 1
    /// of L₀⁻¹A, which is d_{s+1} long. A row of L₀⁻¹ forgets like the workload: its entry j steps
    /// back is at most 2λ^j/β (`gram` maps the simplex into itself, and differences on it do not
    /// grow), so beyond w steps nothing is left, and ‖L₀⁻¹(ε/d)‖ ≤ √w‖L₀⁻¹‖_F max|ε/d|.
    fn integer(&self) -> Option<IntegerDecoder> {
        let (run, bounds) = (&self.parts.run, self.parts.run.bounds());
        let window = (self.horizon as f64).min(FORGOTTEN / run.chains.loss);
        let amplification = (run.inverse_norm * window.sqrt() + bounds.norm_variation) / bounds.least_norm;
        Some(IntegerDecoder::Filter { recipe: self.recipe(), amplification: round_up(amplification, 1e-9) })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        run_by_engine(&self.recipe(), self.horizon, field)
    }
}
