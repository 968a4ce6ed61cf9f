//! Streams without a known end.
//!
//! **Running totals** have no finite sensitivity over an infinite horizon at a useful error: the
//! known factorizations that manage it have Δ² of 16 and more. So the plan declares a cap of
//! [`PREFIX_SUM_CAP`] steps, which no stream reaches: one step per millisecond takes 34 years.
//! Noise is calibrated to it. The state of the streamed mechanism does not grow with the cap, so
//! the only cost is accuracy; [`Plan::milestones`] states how much. By default the plan takes the
//! square root. It adds the least noise at the steps that a stream reaches. Mechanisms that are
//! better on average over the cap gain only near its end.
//!
//! **Windows and decays** forget, so their sensitivity has a finite limit, and noise is calibrated
//! to it. They run up to 2^60 steps, where the indices of noise end; with keys, up to
//! [`KEYED_CAP`]; windows on the exact path, up to [`EXACT_WINDOW_CAP`].

use super::Plan;
use crate::factorization::Mechanism;
use crate::noise::KeyedNoise;
use crate::privacy::NoiseKind;
use crate::spec::{PlanSpec, Shape};
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

/// The steps of the milestones, as powers of two.
const POWERS: [u32; 8] = [0, 5, 10, 15, 20, 25, 30, 35];

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
}

impl Milestone {
    /// The ratio of the squared error to that of a known horizon.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.known_horizon.map(|known| (self.standard_error / known).powi(2))
    }
}

impl Plan {
    /// Whether the horizon is a cap that stands for a stream without a known end.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        self.inner.is_unbounded
    }

    /// The error after 1, 2^5, 2^10, … 2^40 steps within the horizon, and the error of plans with
    /// those horizons.
    ///
    /// # Errors
    /// Only errors that building this plan could give.
    pub fn milestones(&self) -> Result<Vec<Milestone>> {
        let powers = POWERS.iter().map(|power| 1 << power).chain([PREFIX_SUM_CAP]);
        powers.filter(|step| *step <= self.horizon()).map(|step| self.milestone(step)).collect()
    }

    /// The error after this many steps, and the error of a plan with that horizon.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for zero steps, and [`Error::HorizonSpent`] beyond the horizon.
    pub fn milestone(&self, step: u64) -> Result<Milestone> {
        let last = step.checked_sub(1).ok_or_else(|| Error::bad("step", "at least 1", step))?;
        let standard_error = self.standard_error(last)?;
        Ok(Milestone { step, standard_error, known_horizon: self.known_horizon(step) })
    }

    /// The error of the plan that would have been made for this horizon, by a mechanism that is
    /// quick to prepare.
    fn known_horizon(&self, horizon: u64) -> Option<f64> {
        let mechanism = (self.budget().noise() == NoiseKind::Gaussian).then(|| match self.workload() {
            Workload::PrefixSum if self.participation().bounded(horizon) == 1 => {
                Mechanism::GradedSquareRoot { decays: None }
            }
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
            ..PlanSpec::new(horizon, self.budget())
        };
        spec.build().ok().map(|plan| plan.accuracy().rmse)
    }
}
