//! From checked choices to a plan.
//!
//! A [`Planner`] is a spec whose choices fit together, with the budget computed and the horizon
//! known. It tries mechanisms. Each gives either a plan or the reason why it cannot serve.

use std::sync::Arc;

use super::accuracy::{Accuracy, AccuracyRequest, nuclear_lower_bound};
use super::cost::{NoiseMemory, check_limit, counter_cost};
use super::exact::{Exact, ExactRequest};
use super::grid::{self, Norms};
use super::name::keys_digest;
use super::{Inner, Plan, unbounded};
use crate::factorization::{Cost, Factorization, Mechanism, Request, in_turn};
use crate::noise::{KeyedNoise, Progress};
use crate::noise_name::Naming;
use crate::objective::Objective;
use crate::privacy::{Budget, NoiseKind, replace_factor, replace_factor_l1, round_up};
use crate::release::Rounding;
use crate::resolution::{Resolution, rounding_charge};
use crate::spec::{Arithmetic, Horizon, PlanSpec, Shape};
use crate::workload::{MAX_HORIZON, Workload};
use crate::{Error, Result};

/// Memory that a counter may hold by default: 2 GiB.
const DEFAULT_MEMORY_LIMIT: u64 = 2 << 30;

/// Standard deviations that no noise exceeds. A draw is at most 31 of its own standard deviations,
/// and a sum reaches this many only if a thousand draws are at that limit together.
const MAX_DEVIATIONS: f64 = 1024.0;

impl PlanSpec {
    /// Checks everything and makes the plan. This may take seconds.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a value outside its range, [`Error::Unsupported`] or
    /// [`Error::TooCostly`] if the named mechanism, or every mechanism, cannot serve.
    pub fn build(&self) -> Result<Plan> {
        self.build_with_progress(&())
    }

    /// Like [`PlanSpec::build`], and reports on the preparation of a mechanism that was named.
    ///
    /// # Errors
    /// As [`PlanSpec::build`].
    pub fn build_with_progress(&self, progress: &dyn Progress) -> Result<Plan> {
        Planner::new(self)?.choose(progress)
    }

    /// The number of steps that noise is calibrated to: the declared one, or the cap of a stream
    /// without a known end.
    pub(crate) fn steps(&self) -> u64 {
        match self.horizon {
            Horizon::Steps(steps) => steps,
            Horizon::Unbounded => unbounded::cap(self.workload, &self.shape),
        }
    }

    /// Refuses choices that no mechanism could serve.
    fn check(&self) -> Result<()> {
        let steps = self.steps();
        if steps == 0 || steps > MAX_HORIZON {
            return Err(Error::bad("horizon", "a number of steps from 1 to 2^60", steps));
        }
        self.workload.validate()?;
        self.check_report(steps)?;
        if self.objective == Objective::Anytime && self.horizon != Horizon::Unbounded {
            return Err(Error::bad("objective", "mean or worst, unless the end is unknown", "anytime"));
        }
        if let Some(grid) = self.grid {
            if !(grid.is_normal() && grid > 0.0) {
                return Err(Error::bad("grid", "a positive number", grid));
            }
            if !self.prefers_exact() {
                return Err(Error::bad("grid", "left out in floating point: releases are not rounded", grid));
            }
        }
        match &self.shape {
            Shape::Vector { dimension: 0 } => return Err(Error::bad("dimension", "at least 1", 0)),
            Shape::Vector { .. } if !self.contribution.is_vector() => {
                return Err(Error::bad("contribution", "a bound on the norm of a vector", self.contribution));
            }
            Shape::Keyed { keys } => check_keys(keys)?,
            Shape::OpenKeys => {
                if let Workload::SlidingWindow { .. } = self.workload {
                    let reason = "a window would keep every input of every key; declare the keys, or count running or decayed totals";
                    return Err(Error::unsupported("a counter of open keys", reason));
                }
            }
            Shape::Scalar | Shape::Vector { .. } => {}
        }
        if self.keys_per_step == 0 || (self.keys_per_step > 1 && !self.shape.is_keyed()) {
            let expected = "at least 1, and 1 without keys";
            return Err(Error::bad("keys_per_step", expected, self.keys_per_step));
        }
        if self.participation.is_in_turn() && (self.keys_per_step > 1 || self.contribution.keys() > 1) {
            let expected =
                "changes that are counted one by one: one key per step, and values that are not split";
            return Err(Error::bad("participation", expected, self.participation));
        }
        self.check_squares()?;
        if self.contribution.is_vector() && !matches!(self.shape, Shape::Vector { .. }) {
            return Err(Error::bad("contribution", "a range of numbers", self.contribution));
        }
        if self.contribution.keys() > 1 && !self.shape.is_keyed() {
            let expected = "a range of numbers that are not split, without keys to split them between";
            return Err(Error::bad("contribution", expected, self.contribution));
        }
        Ok(())
    }

    /// Refuses what changes of bounded squares do not have: their bound counts integers of one unit.
    fn check_squares(&self) -> Result<()> {
        if self.participation.squares().is_none() {
            return Ok(());
        }
        let (lo, hi) = (self.contribution.lo(), self.contribution.hi());
        if (lo, hi) != (-1.0, 1.0) || self.contribution.is_vector() || self.lanes_per_step() > 1 {
            let expected = "a value in [-1, 1] in one key, the unit of changes of bounded squares";
            return Err(Error::bad("contribution", expected, self.contribution));
        }
        if self.arithmetic == Some(Arithmetic::Float) {
            return Err(Error::bad("arithmetic", "exact for changes of bounded squares", "float"));
        }
        Ok(())
    }

    /// Refuses a report that the plan cannot have, and the lack of one that it must have.
    fn check_report(&self, steps: u64) -> Result<()> {
        match &self.report {
            None if self.objective == Objective::Report => {
                Err(Error::bad("objective", "mean or worst, unless the plan has a report", "report"))
            }
            None => Ok(()),
            Some(_) if self.workload != Workload::PrefixSum => Err(Error::bad(
                "report",
                "left out for windows and decays: sums over periods follow from running totals",
                self.workload,
            )),
            Some(_) if self.horizon == Horizon::Unbounded => {
                Err(Error::bad("report", "left out without a known end", "unbounded"))
            }
            Some(report) => report.check(steps),
        }
    }

    /// Whether to take the exact path if there is one.
    pub(super) fn prefers_exact(&self) -> bool {
        let has_numbers = !matches!(self.shape, Shape::Vector { .. });
        self.arithmetic.map_or(has_numbers, |arithmetic| arithmetic == Arithmetic::Exact)
    }

    /// Whether floating point is not acceptable.
    pub(super) fn insists_on_exact(&self) -> bool {
        let counts_integers = self.participation.squares().is_some();
        self.arithmetic == Some(Arithmetic::Exact) || self.grid.is_some() || counts_integers
    }
}

/// Choices that were checked against each other. Cheap to clone.
#[derive(Clone)]
pub(super) struct Planner<'a> {
    pub(super) spec: &'a PlanSpec,
    pub(super) budget: Budget,
    pub(super) horizon: u64,
    pub(super) shape: Arc<Shape>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(spec: &'a PlanSpec) -> Result<Self> {
        spec.check()?;
        let budget = spec.budget.budget()?;
        Ok(Self { spec, budget, horizon: spec.steps(), shape: Arc::new(spec.shape.clone()) })
    }

    pub(super) fn is_unbounded(&self) -> bool {
        self.spec.horizon == Horizon::Unbounded
    }

    /// The number of steps of the horizon in which one person may take part.
    pub(super) fn participations(&self) -> u64 {
        self.spec.participation.bounded(self.horizon)
    }

    pub(super) fn request<'b>(&'b self, progress: &'b dyn Progress) -> Request<'b> {
        Request {
            horizon: self.horizon,
            workload: self.spec.workload,
            participation: in_turn::fitted_to(self.spec.participation),
            objective: self.spec.objective,
            report: self.spec.report.as_ref(),
            progress,
        }
    }

    pub(super) fn plan_for(&self, mechanism: Mechanism, progress: &dyn Progress) -> Result<Plan> {
        self.check_noise(mechanism)?;
        self.check_memory(
            mechanism,
            mechanism.min_cost(self.horizon, self.spec.workload),
            NoiseMemory::Stated,
        )?;
        self.assemble(mechanism.factorize(self.request(progress))?)
    }

    /// The exact path, or `None` for floating point.
    fn exact(&self, factorization: &dyn Factorization, sensitivity: f64) -> Result<Option<Exact>> {
        if !self.spec.prefers_exact() {
            return Ok(None);
        }
        let exact =
            Exact::new(&ExactRequest { factorization, spec: self.spec, budget: self.budget, sensitivity });
        match exact {
            Err(Error::Unsupported { .. }) if !self.spec.insists_on_exact() => Ok(None),
            other => other.map(Some),
        }
    }

    fn check_noise(&self, mechanism: Mechanism) -> Result<()> {
        match (mechanism.noise(), self.budget.noise()) {
            (NoiseKind::Gaussian, NoiseKind::Laplace) => Err(Error::unsupported(
                mechanism,
                "its Gaussian noise cannot give pure ε (δ = 0); laplace-tree can",
            )),
            (NoiseKind::Laplace, _) if self.spec.participation.squares().is_some() => {
                Err(Error::unsupported(
                    mechanism,
                    "the squares of changes bound their Euclidean norm, and Laplace noise needs a bound on the sum of magnitudes",
                ))
            }
            (NoiseKind::Laplace, NoiseKind::Gaussian) => {
                Err(Error::unsupported(mechanism, "it is calibrated to pure ε only: ask for δ = 0"))
            }
            // Laplace noise is calibrated to the sum of magnitudes. A bound on the Euclidean norm
            // does not bound it well.
            (NoiseKind::Laplace, _) if self.spec.contribution.is_vector() => Err(Error::unsupported(
                mechanism,
                "vectors are bounded in Euclidean norm, and Laplace noise needs a bound on the sum of magnitudes",
            )),
            _ => Ok(()),
        }
    }

    fn check_memory(&self, mechanism: Mechanism, noise: Cost, state: NoiseMemory) -> Result<()> {
        let cost = counter_cost(noise, state, &self.shape, self.spec.workload, self.horizon);
        check_limit(mechanism, cost, &self.shape, self.memory_limit())
    }

    fn memory_limit(&self) -> u64 {
        self.spec.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT)
    }

    /// Refuses a shape that the mechanism has no noise for.
    fn check_shape(&self, factorization: &dyn Factorization, is_streamed: bool) -> Result<()> {
        let mechanism = factorization.mechanism();
        if *self.shape == Shape::OpenKeys && !is_streamed {
            let reason = "open keys need a mechanism that streams: graded-square-root for running totals, markov for decayed ones";
            return Err(Error::unsupported(mechanism, reason));
        }
        let draws = factorization.draws();
        let has_noise = if self.shape.is_keyed() {
            draws <= KeyedNoise::DRAWS
        } else {
            draws.checked_mul(self.shape.width() as u64).is_some()
        };
        if has_noise {
            return Ok(());
        }
        let reason = if self.shape.is_keyed() {
            "there are 2^43 draws for a key, and it needs more"
        } else {
            "there are fewer noise indices than steps and coordinates"
        };
        Err(Error::too_costly(mechanism, reason))
    }

    /// The number of lanes whose roundings of one unit have the norm of what rounding can move. In
    /// magnitudes, which Laplace noise covers, the units of several keys add up.
    fn rounded_lanes(&self, noise: NoiseKind) -> usize {
        let lanes = self.spec.lanes_per_step();
        let moved = self.shape.moved(lanes);
        let adds_up = noise == NoiseKind::Laplace && lanes > 1;
        if adds_up { moved.saturating_mul(moved) } else { moved }
    }

    /// The factor that replacement puts on Δ.
    fn replacement(&self, noise: NoiseKind, gram_is_nonnegative: bool) -> f64 {
        let spec = self.spec;
        match noise {
            NoiseKind::Laplace => replace_factor_l1(spec.neighbours),
            NoiseKind::Gaussian => {
                // Changes in turn have both signs, whatever the range says.
                let have_one_sign = gram_is_nonnegative && !spec.participation.is_in_turn();
                replace_factor(spec.neighbours, spec.contribution, have_one_sign)
            }
        }
    }

    pub(super) fn assemble(&self, factorization: Arc<dyn Factorization>) -> Result<Plan> {
        let spec = self.spec;
        let mechanism = factorization.mechanism();
        let before = factorization.before_version_2().map(|before| self.assemble(before)).transpose()?;
        self.check_shape(&*factorization, factorization.recipe().is_some())?;
        let sensitivity = in_turn::sensitivity(&*factorization, spec.participation);
        let replacement = self.replacement(mechanism.noise(), factorization.gram_is_nonnegative());
        let magnitude = spec.contribution.magnitude();
        let charge = rounding_charge(spec.workload, self.horizon, self.rounded_lanes(mechanism.noise()));
        // Four roundings of half an ulp each.
        let moved = round_up(sensitivity * charge * replacement, 4.0 * f64::EPSILON);
        let exact = self.exact(&*factorization, moved)?;
        let state = if exact.is_some() {
            NoiseMemory::integer(&*factorization, &self.shape)
        } else {
            NoiseMemory::doubles(&*factorization, &self.shape)
        };
        self.check_memory(mechanism, factorization.cost(), state)?;
        let scale = match &exact {
            Some(exact) => exact.unit.value(1) * exact.scale,
            None => round_up(self.budget.noise_multiplier() * moved * magnitude, 4.0 * f64::EPSILON),
        };
        let norms = Norms::new(&*factorization, spec.report.as_ref());
        // There is no noise for coefficients or contributions that overflow.
        let largest_noise = MAX_DEVIATIONS * scale * norms.max.sqrt();
        let unit = exact.as_ref().map_or(Resolution::new(spec.workload, magnitude), |exact| exact.unit);
        let is_countable = [largest_noise, magnitude].into_iter().all(|x| unit.count(x).is_some());
        if !(scale.is_normal() && is_countable && norms.mean.is_finite()) {
            let reason = "the noise that it needs is outside the range of floating-point numbers";
            return Err(Error::unsupported(mechanism, reason));
        }
        let is_single = self.participations() == 1;
        let default_grid = || grid::by_default(magnitude, scale * norms.least(&*factorization).sqrt());
        let exact = exact.map(|exact| exact.on_grid(spec.grid.unwrap_or_else(default_grid)));
        let least_replacement = self.replacement(mechanism.noise(), true);
        let request = AccuracyRequest {
            report: spec.report.as_ref(),
            horizon: self.horizon,
            sensitivity,
            scale,
            unit_rmse: self.budget.noise_multiplier() * magnitude * least_replacement,
            rounding: exact.as_ref().map_or(Rounding::NONE, |exact| Rounding::to_grid(exact.grid)),
            lower_bound: (is_single && mechanism.noise() == NoiseKind::Gaussian)
                .then(|| nuclear_lower_bound(spec.workload, self.horizon))
                .flatten(),
        };
        let accuracy = Accuracy::new(&norms, &request);
        Ok(Plan {
            inner: Arc::new(Inner {
                factorization,
                workload: spec.workload,
                budget: self.budget,
                neighbours: spec.neighbours,
                participation: spec.participation,
                objective: spec.objective,
                report: spec.report.clone(),
                contribution: spec.contribution,
                keys_per_step: spec.keys_per_step,
                shape: Arc::clone(&self.shape),
                whole: None,
                stream: spec.stream.clone(),
                definition: spec.definition.as_slice().into(),
                declared_keys: match &*self.shape {
                    Shape::Keyed { keys } => Some(keys_digest(keys)),
                    _ => None,
                },
                naming: Naming::default(),
                memory_limit: self.memory_limit(),
                is_unbounded: self.is_unbounded(),
                sensitivity,
                scale,
                exact,
                has_default_grid: exact.is_some() && spec.grid.is_none(),
                accuracy,
                before_version_2: before.map(|plan| plan.inner),
            }),
        })
    }
}

/// Refuses a set of keys that is empty or contains a key twice.
pub(super) fn check_keys(keys: &[String]) -> Result<()> {
    if keys.is_empty() {
        return Err(Error::bad("keys", "at least one", "none"));
    }
    let mut seen = std::collections::HashSet::new();
    match keys.iter().position(|key| !seen.insert(key.as_str())) {
        // Names may be confidential, so the message gives the position.
        Some(place) => Err(Error::bad("keys", "distinct", format!("number {place} of the keys again"))),
        None => Ok(()),
    }
}
