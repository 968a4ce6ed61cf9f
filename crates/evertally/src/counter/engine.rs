//! The common part of all counters: true totals, correlated noise, the step and the saved form.

use super::integer::{IntegerRelease, IntegerRows};
use super::state;
use super::totals::Totals;
use crate::noise::{Correlator, NoiseKey, Progress};
use crate::noise_name::Purpose;
use crate::plan::Plan;
use crate::release::{Release, Spread};
use crate::resolution::{Doubles, Input, OnGrid, Resolution};
use crate::{Error, Result};
use zeroize::Zeroizing;

pub(super) struct Engine {
    plan: Plan,
    key_tag: [u8; 8],
    step: u64,
    width: usize,
    totals: Totals,
    noise: Noise,
    /// Released values, step by step, if the caller asked to keep them.
    history: Option<Vec<f64>>,
}

/// Where the noise of a step comes from.
enum Noise {
    /// Doubles, scaled and added to the total as units.
    Doubles { correlator: Box<dyn Correlator>, unit: Resolution },
    /// Integers.
    Integers(IntegerRows),
}

impl Engine {
    pub(super) fn new(plan: &Plan, key: &NoiseKey, progress: &dyn Progress) -> Result<Self> {
        let width = plan.shape().width();
        let unit = plan.total_unit();
        let noise = if let Some(exact) = plan.exact() {
            let release = IntegerRelease::new(exact, unit);
            Noise::Integers(IntegerRows::new(plan.integer_noise(exact, key, progress)?, width, release))
        } else {
            let field = plan.white_field(key, Purpose::Float)?;
            Noise::Doubles { correlator: plan.factorization().correlator(field, progress), unit }
        };
        Ok(Self {
            plan: plan.clone(),
            key_tag: key.tag(),
            step: 0,
            width,
            totals: Totals::new(plan.workload(), unit, width),
            noise,
            history: None,
        })
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

    /// Takes the inputs of the next step and writes its private answers. A refusal changes nothing,
    /// so the caller may correct the input and try the same step again.
    pub(super) fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<Spread> {
        self.step_of(inputs, Doubles, out)
    }

    /// The same for inputs that are integers, in multiples of 2^grid_exponent.
    pub(super) fn step_amounts(
        &mut self,
        amounts: &[i128],
        grid_exponent: i32,
        out: &mut [f64],
    ) -> Result<Spread> {
        self.step_of(amounts, OnGrid(grid_exponent), out)
    }

    fn step_of<T: Copy + Sync>(
        &mut self,
        inputs: &[T],
        input: impl Input<T>,
        out: &mut [f64],
    ) -> Result<Spread> {
        let horizon = self.plan.horizon();
        if self.step == horizon {
            return Err(Error::HorizonSpent { horizon });
        }
        let expected = || format!("{} numbers a step", self.width);
        if inputs.len() != self.width {
            return Err(Error::bad("inputs", expected(), inputs.len()));
        }
        if out.len() != self.width {
            return Err(Error::bad("out", expected(), out.len()));
        }
        self.totals.check(self.step, inputs, input)?;
        let spread = self.plan.spread(self.step)?;
        match &mut self.noise {
            Noise::Doubles { correlator, unit } => {
                correlator.next(out);
                let (unit, scale) = (*unit, self.plan.noise_scale());
                self.totals.step(self.step, inputs, input, out, |_, total, noise| {
                    unit.release(total, scale * noise)
                });
            }
            Noise::Integers(rows) => {
                let (ahead, release) = (&rows.ahead, rows.release);
                self.totals
                    .step(self.step, inputs, input, out, |lane, total, _| release.of(total, ahead[lane]));
                rows.draw(self.step + 1 == horizon);
            }
        }
        if let Some(history) = &mut self.history {
            history.extend_from_slice(out);
        }
        self.step += 1;
        Ok(spread)
    }

    /// A released value of an earlier step with its error.
    pub(super) fn released(&self, lane: usize, step: u64) -> Result<Release> {
        let history = self.history.as_ref().ok_or_else(|| {
            Error::bad("interval", "asked of a counter that remembers its releases", "one that does not")
        })?;
        if step >= self.step {
            return Err(Error::bad("interval", format!("below the {} steps taken", self.step), step));
        }
        let value = history[step as usize * self.width + lane];
        Ok(self.plan.spread(step)?.around(value))
    }

    /// The total over steps `first..=last` of one lane, from its releases.
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

    /// The same totals after the same number of steps, with noise from another stream or key.
    pub(super) fn with_fresh_noise(&self, plan: &Plan, key: &NoiseKey) -> Result<Self> {
        let alike = self.plan.with_stream("");
        if plan.with_stream("").fingerprint() != alike.fingerprint() {
            return Err(Error::bad("plan", "the counter's own, but for the name of its stream", "another"));
        }
        let is_fresh = plan.fingerprint() != self.plan.fingerprint() || key.tag() != self.key_tag;
        if !is_fresh {
            return Err(Error::bad("noise", "of another stream or key", "what the counter runs on already"));
        }
        if self.history.is_some() {
            let got = "one that does: sums across the change would have another error";
            return Err(Error::bad("counter", "one that does not remember its releases", got));
        }
        let mut fresh = Self::new(plan, key, &())?;
        // Earlier releases keep the old noise. The new noise is advanced to the current step.
        fresh.pass_over(self.step);
        let totals = Zeroizing::new(self.totals.save(self.step));
        if fresh.totals.restore(self.step, &totals).is_none() {
            return Err(Error::BadState { reason: "its totals do not fit the plan" });
        }
        Ok(fresh)
    }

    /// Draws the noise of the first `steps` steps and discards it.
    fn pass_over(&mut self, steps: u64) {
        let mut dropped = Zeroizing::new(vec![0.0; self.width]);
        for step in 0..steps {
            match &mut self.noise {
                Noise::Doubles { correlator, .. } => correlator.next(&mut dropped),
                Noise::Integers(rows) => rows.draw(step + 1 == self.plan.horizon()),
            }
        }
        self.step = steps;
    }

    pub(super) fn save(&self) -> Vec<u8> {
        let saved = state::Saved {
            head: state::Head {
                fingerprint: self.plan.fingerprint(),
                key_tag: self.key_tag,
                step: self.step,
            },
            totals: self.totals.save(self.step).into(),
            noise: match &self.noise {
                Noise::Doubles { correlator, .. } => state::words(correlator.save()),
                Noise::Integers(rows) => rows.save(),
            }
            .into(),
            history: self.history.clone(),
        };
        saved.to_bytes()
    }

    pub(super) fn resume(plan: &Plan, key: &NoiseKey, bytes: &[u8]) -> Result<Self> {
        let mut saved = state::Saved::from_bytes(bytes)?;
        let plan = &saved.head.plan(plan, key)?;
        let step = saved.head.step;
        let refuse = |reason| Err(Error::BadState { reason });
        let mut engine = Self::new(plan, key, &())?;
        if engine.totals.restore(step, &saved.totals).is_none() {
            return refuse("its totals do not fit the plan");
        }
        let remembered = step.checked_mul(engine.width as u64);
        if saved.history.as_ref().is_some_and(|history| Some(history.len() as u64) != remembered) {
            return refuse("its remembered releases do not fit its step");
        }
        match &mut engine.noise {
            Noise::Doubles { correlator, .. } => {
                correlator.restore(step, &state::reals(&saved.noise)?)?;
            }
            Noise::Integers(rows) => {
                if rows.restore(step, plan.horizon(), &saved.noise).is_none() {
                    return refuse("its noise does not fit the plan");
                }
            }
        }
        engine.step = step;
        engine.history = saved.history.take();
        Ok(engine)
    }
}
