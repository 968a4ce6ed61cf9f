//! Streams whose end nobody knows.
//!
//! **Running totals** have no finite sensitivity over an infinite horizon at a useful error: the
//! known factorizations that manage it have Δ² of 16 and more. So a cap of [`PREFIX_SUM_CAP`] steps
//! is declared, which no stream reaches: a step a millisecond takes 34 years. Noise is calibrated
//! to it, and as the state of the streamed mechanism does not grow with the cap, accuracy is all it
//! costs; [`Plan::milestones`] says how much. The square root is taken unless another mechanism is
//! named: it adds least noise at every step that will be seen, while those that do better on
//! average over the cap save at its end.
//!
//! **Windows and decays** forget, so that their sensitivity has a finite limit. They run for ever
//! at that limit: up to 2^60 steps, beyond which there are no more numbers for noise; with keys, up
//! to [`KEYED_CAP`]; windows on the exact path, up to [`EXACT_WINDOW_CAP`].

use std::sync::Arc;

use super::Plan;
use crate::factorization::Mechanism;
use crate::noise::KeyedNoise;
use crate::privacy::NoiseKind;
use crate::workload::{MAX_HORIZON, Workload};
use crate::{Error, Result, plan::PlanBuilder};

/// The declared number of steps of a running total without an end.
const PREFIX_SUM_CAP: u64 = 1 << 40;

/// The same where lanes are told by their names: a key has 2^43 draws, and no mechanism takes more
/// than two a step.
pub(super) const KEYED_CAP: u64 = KeyedNoise::DRAWS / 2;

/// The same of a window on the exact path, where roundings add up with the windows: at a step a
/// second, 68 years. Where noise is large or the window short it comes down, but not below a year
/// of steps a second; then the window runs in floating point.
pub(super) const EXACT_WINDOW_CAP: u64 = 1 << 31;
pub(super) const LEAST_WINDOW_CAP: u64 = 1 << 25;

/// The steps of the milestones, as powers of two.
const POWERS: [u32; 8] = [0, 5, 10, 15, 20, 25, 30, 35];

/// The declared number of steps of a workload without an end.
pub(super) fn cap(workload: Workload) -> u64 {
    match workload {
        Workload::PrefixSum => PREFIX_SUM_CAP,
        Workload::SlidingWindow { .. } | Workload::Decay { .. } => MAX_HORIZON,
    }
}

/// The error at a step, beside what a plan that knew it to be the last would have had.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Milestone {
    /// The number of steps taken, t.
    pub step: u64,
    /// The standard error of the release at step t.
    pub standard_error: f64,
    /// The root mean squared error of the default plan for a horizon of t steps: within 0.2 % of
    /// the least possible for running totals. Absent where no plan can be made for that horizon.
    pub known_horizon: Option<f64>,
}

impl Milestone {
    /// How many times the squared error is that of a known horizon.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.known_horizon.map(|known| (self.standard_error / known).powi(2))
    }
}

impl Plan {
    /// Whether the horizon is a cap that stands for a stream without an end.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        self.inner.is_unbounded
    }

    /// The error after 1, 2^5, 2^10, … 2^40 steps, as far as the horizon goes, beside that of a
    /// plan that had known the horizon.
    ///
    /// # Errors
    /// None that building this plan would not have had.
    pub fn milestones(&self) -> Result<Vec<Milestone>> {
        let powers = POWERS.iter().map(|power| 1 << power).chain([PREFIX_SUM_CAP]);
        powers.filter(|step| *step <= self.horizon()).map(|step| self.milestone(step)).collect()
    }

    /// The error after this many steps, beside that of a plan that had known the horizon.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for no steps at all, and [`Error::HorizonSpent`] beyond the horizon.
    pub fn milestone(&self, step: u64) -> Result<Milestone> {
        let last = step.checked_sub(1).ok_or_else(|| Error::bad("step", "at least 1", step))?;
        let standard_error = self.standard_error(last)?;
        Ok(Milestone { step, standard_error, known_horizon: self.known_horizon(step) })
    }

    /// The error of the plan that would have been made for this horizon. Only mechanisms that are
    /// quick to prepare are asked.
    fn known_horizon(&self, horizon: u64) -> Option<f64> {
        let mut builder = PlanBuilder::new(self.workload(), horizon)
            .budget(self.budget())
            .neighbours(self.neighbours())
            .participation(self.participation())
            .contribution(self.contribution())
            .lanes(Arc::clone(&self.inner.lanes));
        if self.budget().noise() == NoiseKind::Gaussian {
            let is_single = self.participation().bounded(horizon) == 1;
            builder = builder.mechanism(match self.workload() {
                Workload::PrefixSum if is_single => Mechanism::GradedSquareRoot { decays: None },
                _ => Mechanism::SquareRoot,
            });
        }
        builder.build().ok().map(|plan| plan.accuracy().rmse)
    }
}
