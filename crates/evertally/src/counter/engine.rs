//! What all counters share: true totals, correlated noise, the step, and their saved form.

use super::state;
use super::totals::{MOST_UNITS, Totals, Unit};
use crate::noise::{Correlator, NoiseKey, Progress};
use crate::plan::Plan;
use crate::release::Release;
use crate::{Error, Result};

pub(super) struct Engine {
    plan: Plan,
    key_tag: [u8; 8],
    step: u64,
    unit: Unit,
    totals: Totals,
    correlator: Box<dyn Correlator>,
    noise: Vec<f64>,
    /// Released values, step by step, where the caller asked to keep them.
    history: Option<Vec<f64>>,
}

impl Engine {
    pub(super) fn new(plan: &Plan, key: &NoiseKey, progress: &dyn Progress) -> Self {
        let width = plan.lanes().width();
        let field = plan.white_field(key, "");
        let unit = Unit::new(plan.workload(), plan.contribution().magnitude());
        Self {
            plan: plan.clone(),
            key_tag: key.tag(),
            step: 0,
            unit,
            totals: Totals::new(plan.workload(), unit, width),
            correlator: plan.factorization().correlator(field, progress),
            noise: vec![0.0; width],
            history: None,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn steps_taken(&self) -> u64 {
        self.step
    }

    pub(super) fn remember(&mut self) -> Result<()> {
        if self.step > 0 && self.history.is_none() {
            return Err(Error::bad("remember_releases", "asked for before the first step", self.step));
        }
        self.history.get_or_insert_default();
        Ok(())
    }

    /// Takes the inputs of the next step and replaces them by its private answers. Returns the step.
    pub(super) fn step(&mut self, values: &mut [f64]) -> Result<u64> {
        let horizon = self.plan.horizon();
        if self.step == horizon {
            return Err(Error::HorizonSpent { horizon });
        }
        if values.len() != self.noise.len() {
            let expected = format!("{} numbers a step", self.noise.len());
            return Err(Error::bad("inputs", expected, values.len()));
        }
        let totals = self.totals.step(self.step, values)?;
        self.correlator.next(&mut self.noise);
        let scale = self.plan.noise_scale();
        for ((value, total), noise) in values.iter_mut().zip(totals).zip(&self.noise) {
            // Added as integers; the plan has seen to it that noise is never too large to be counted in units.
            let noise = self.unit.count(scale * noise).unwrap_or(MOST_UNITS);
            *value = self.unit.value(total + noise);
        }
        if let Some(history) = &mut self.history {
            history.extend_from_slice(values);
        }
        self.step += 1;
        Ok(self.step - 1)
    }

    /// A released value of an earlier step with its error.
    pub(super) fn released(&self, lane: usize, step: u64) -> Result<Release> {
        let history = self.history.as_ref().ok_or_else(|| {
            Error::bad("interval", "asked of a counter that remembers its releases", "one that does not")
        })?;
        if step >= self.step {
            return Err(Error::bad("interval", format!("below the {} steps taken", self.step), step));
        }
        let value = history[step as usize * self.noise.len() + lane];
        self.release(step, value)
    }

    pub(super) fn release(&self, step: u64, value: f64) -> Result<Release> {
        Ok(Release {
            step,
            value,
            standard_error: self.plan.standard_error(step)?,
            tail: self.plan.tail(step),
        })
    }

    /// The total over steps `first..=last` of one lane, from what was released.
    pub(super) fn interval(&self, lane: usize, first: u64, last: u64) -> Result<Release> {
        if first > last {
            return Err(Error::bad(
                "interval",
                "a first step not after its last",
                format!("{first} to {last}"),
            ));
        }
        let earlier = first.checked_sub(1).map(|step| self.released(lane, step)).transpose()?;
        self.plan.interval(earlier.as_ref(), &self.released(lane, last)?)
    }

    pub(super) fn save(&self) -> Vec<u8> {
        let saved = state::Saved {
            fingerprint: self.plan.fingerprint(),
            key_tag: self.key_tag,
            step: self.step,
            totals: self.totals.save(),
            noise: self.correlator.save(),
            history: self.history.clone(),
        };
        saved.to_bytes()
    }

    pub(super) fn resume(plan: &Plan, key: &NoiseKey, bytes: &[u8], progress: &dyn Progress) -> Result<Self> {
        let saved = state::Saved::from_bytes(bytes)?;
        let refuse = |reason| Err(Error::BadState { reason });
        if saved.fingerprint != plan.fingerprint() {
            return refuse("it belongs to another plan");
        }
        if saved.key_tag != key.tag() {
            return refuse("it belongs to another key");
        }
        if saved.step > plan.horizon() {
            return refuse("it lies beyond the horizon");
        }
        let mut engine = Self::new(plan, key, progress);
        if engine.totals.restore(saved.step, &saved.totals).is_none() {
            return refuse("its totals do not fit the plan");
        }
        let remembered = saved.step.checked_mul(plan.lanes().width() as u64);
        if saved.history.as_ref().is_some_and(|history| Some(history.len() as u64) != remembered) {
            return refuse("its remembered releases do not fit its step");
        }
        engine.correlator.restore(saved.step, &saved.noise)?;
        engine.step = saved.step;
        engine.history = saved.history;
        Ok(engine)
    }
}
