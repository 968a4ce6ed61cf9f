//! Streams without a known end.
//!
//! **Running totals** of events take `endless-square-root`, whose sensitivity is finite over an
//! infinite horizon and whose error at every step is at most 1.62 times the least possible for a
//! stream that is known to end there. Its numbers are made for [`PREFIX_SUM_CAP`] steps, which no
//! stream reaches: one step per millisecond takes 34 years. Persons in several steps, and pure ε, take
//! mechanisms that are calibrated to the cap. The square root then adds the least noise at the steps
//! that a stream reaches. [`Plan::milestones`] states what not knowing the end costs.
//!
//! **Windows and decays** forget, so their sensitivity has a finite limit, and noise is calibrated
//! to it. They run up to 2^60 steps, where the indices of noise end; with keys, up to
//! [`KEYED_CAP`]; windows on the exact path, up to [`EXACT_WINDOW_CAP`].

use super::Plan;
use super::accuracy::deviation;
use crate::factorization::Mechanism;
use crate::noise::KeyedNoise;
use crate::privacy::{NoiseKind, replace_factor};
use crate::research::gamma::{Subject, gamma_f};
use crate::spec::{Arithmetic, PlanSpec, Shape};
use crate::workload::{MAX_HORIZON, Workload};
use crate::{Error, Result};

/// The declared number of steps of a running total without a known end.
const PREFIX_SUM_CAP: u64 = 1 << 40;

/// The same with keys: a key has 2^43 draws, and no mechanism takes more than two per step.
const KEYED_CAP: u64 = KeyedNoise::DRAWS / 2;

/// The same for a window on the exact path, where roundings add up with the windows: at one step
/// per second, 68 years. If noise is large or the window short, the cap is halved, but not below a
/// year of one step per second; below that the window runs in floating point.
pub(super) const EXACT_WINDOW_CAP: u64 = 1 << 31;
pub(super) const MIN_WINDOW_CAP: u64 = 1 << 25;

/// Operations to prepare the plan for a known horizon: that of 2^20 steps takes half a second.
const MAX_PREPARATION: f64 = 6e8;

/// The last milestone, as a power of two.
const LAST_POWER: u32 = 40;

/// The longest horizon whose optimum a milestone states. A certificate for it takes some hundredths of
/// a second.
const MAX_CERTIFIED: u64 = 1 << 12;

/// The relative gap of these certificates, in γ_F.
const CERTIFIED_GAP: f64 = 1e-6;

/// The declared number of steps of a stream without a known end.
pub(super) fn cap(workload: Workload, shape: &Shape) -> u64 {
    let cap = match workload {
        Workload::PrefixSum => PREFIX_SUM_CAP,
        Workload::SlidingWindow { .. } | Workload::Decay { .. } => MAX_HORIZON,
    };
    if shape.is_keyed() { cap.min(KEYED_CAP) } else { cap }
}

/// The error at a step, and the error of a plan whose horizon ends at that step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Milestone {
    /// The number of steps taken, t.
    pub step: u64,
    /// The standard error of the release at step t.
    pub standard_error: f64,
    /// The root mean squared error of the default plan for a horizon of t steps: within 0.2 % of
    /// the least possible for running totals. `None` if no plan can be made for that horizon.
    pub known_horizon: Option<f64>,
    /// A lower bound on the root mean squared error of every plan for a horizon of t steps, within
    /// 10⁻⁶ of the least possible: for running totals of at most 4,096 steps, one per person.
    pub optimum: Option<f64>,
    /// The root of the mean squared error of steps 1 to t, if the mechanism needs no horizon.
    pub rmse_so_far: Option<f64>,
}

impl Milestone {
    /// The ratio of the squared error to that of a known horizon.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.known_horizon.map(|known| (self.standard_error / known).powi(2))
    }

    /// The ratio of the squared error to the least possible for a known horizon. Where that is not
    /// computed, it is [`Milestone::ratio`].
    #[must_use]
    pub fn ratio_to_optimum(&self) -> Option<f64> {
        self.least().map(|least| (self.standard_error / least).powi(2))
    }

    /// The same for the mean squared error of all steps so far.
    #[must_use]
    pub fn ratio_so_far(&self) -> Option<f64> {
        Some((self.rmse_so_far? / self.least()?).powi(2))
    }

    fn least(&self) -> Option<f64> {
        self.optimum.or(self.known_horizon)
    }
}

impl Plan {
    /// Whether the horizon is a cap that stands for a stream without a known end.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        self.inner.is_unbounded
    }

    /// The error after 1, 2, 4, … 2^40 steps within the horizon, and the error of plans with those
    /// horizons. This takes some seconds.
    ///
    /// # Errors
    /// Only errors that building this plan could give.
    pub fn milestones(&self) -> Result<Vec<Milestone>> {
        let powers = (0..=LAST_POWER).map(|power| 1 << power);
        powers.filter(|step| *step <= self.horizon()).map(|step| self.milestone(step)).collect()
    }

    /// The error after this many steps, and the error of a plan with that horizon.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for zero steps, and [`Error::HorizonSpent`] beyond the horizon.
    pub fn milestone(&self, step: u64) -> Result<Milestone> {
        let last = step.checked_sub(1).ok_or_else(|| Error::bad("step", "at least 1", step))?;
        let standard_error = self.standard_error(last)?;
        let mean_so_far = self.factorization().mean_of_first(step);
        Ok(Milestone {
            step,
            standard_error,
            known_horizon: self.known_horizon(step),
            optimum: self.optimum(step),
            rmse_so_far: mean_so_far.map(|mean| self.error_of(mean, self.rounding())),
        })
    }

    /// The least error of a plan for this horizon, rounded to the same grid.
    fn optimum(&self, horizon: u64) -> Option<f64> {
        let is_single = self.participation().bounded(self.horizon()) == 1;
        let is_gaussian = self.budget().noise() == NoiseKind::Gaussian;
        let applies = self.workload() == Workload::PrefixSum && is_single && is_gaussian;
        if !applies || horizon > MAX_CERTIFIED {
            return None;
        }
        let subject = Subject::workload(Workload::PrefixSum, horizon as usize);
        let certificate = gamma_f(subject, CERTIFIED_GAP, &()).ok()?;
        let have_one_sign = self.factorization().gram_is_nonnegative();
        let replacement = replace_factor(self.neighbours(), self.contribution(), have_one_sign);
        let scale = self.budget().noise_multiplier() * replacement * self.contribution().magnitude();
        Some(deviation(scale, certificate.error_factor().0, self.rounding()))
    }

    /// The error of the plan that would have been made for this horizon, by a mechanism that is
    /// quick to prepare.
    fn known_horizon(&self, horizon: u64) -> Option<f64> {
        let is_single = self.participation().bounded(horizon) == 1;
        let markov = Mechanism::Markov { chains: None };
        let is_quick = markov.preparation(horizon, self.workload()) <= MAX_PREPARATION;
        let mechanism = (self.budget().noise() == NoiseKind::Gaussian).then(|| match self.workload() {
            Workload::PrefixSum | Workload::Decay { .. } if is_single && is_quick => markov,
            Workload::PrefixSum if is_single => Mechanism::GradedSquareRoot { decays: None },
            _ => Mechanism::SquareRoot,
        });
        let spec = PlanSpec {
            workload: self.workload(),
            neighbours: self.neighbours(),
            participation: self.participation(),
            contribution: self.contribution(),
            keys_per_step: self.keys_per_step(),
            shape: self.shape().clone(),
            mechanism,
            arithmetic: (self.arithmetic() == Arithmetic::Float).then_some(Arithmetic::Float),
            ..PlanSpec::new(horizon, self.budget())
        };
        spec.build().ok().map(|plan| plan.accuracy().rmse)
    }
}
