//! Correlated noise for those who add it themselves: rows of σΔ·L g, one call a step.
//!
//! A counter adds this noise to totals; private learning adds it to sums of gradients that it keeps elsewhere, in the precision of the
//! model. Raw noise is as sensitive as the data: whoever holds it can take it off the release.

use crate::counter::state::{Head, Saved};
use crate::noise::{Correlator, Machine, NoiseKey, Progress, Real};
use crate::plan::Plan;
use crate::{Error, Result};

/// The noise of a plan, row by row, in single or double precision.
///
/// Row t is σΔ·(L g)\[t\] for every coordinate, so that adding it to the true answers of step t makes the release of the plan.
/// It is not the noise that a counter of the same plan and key adds; that one is never handed out.
///
/// ```
/// use evertally::{Budget, Contribution, NoiseKey, NoiseStream, Plan};
/// let plan = Plan::prefix_sum(1000)
///     .budget(Budget::new(1.0, 1e-6)?)
///     .dimension(4)
///     .contribution(Contribution::norm(1.0)?)
///     .build()?;
/// let mut noise = NoiseStream::<f32>::new(&plan, NoiseKey::from_os()?)?;
/// let mut sum = [0.0_f32; 4];
/// for _ in 0..10 {
///     let gradient = [0.5, 0.5, -0.5, 0.5]; // of norm one at most
///     let private: Vec<f32> = noise.next()?.iter().zip(&mut sum).zip(gradient).map(|((z, sum), g)| {
///         *sum += g;
///         *sum + z
///     }).collect();
///     assert_eq!(private.len(), 4);
/// }
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct NoiseStream<F: Real = f64> {
    plan: Plan,
    key: NoiseKey,
    step: u64,
    source: Source<F>,
}

enum Source<F: Real> {
    /// The streaming engine, in the precision asked for.
    Machine(Box<Machine<F>>),
    /// Mechanisms with a correlator of their own, which speaks doubles.
    Other { correlator: Box<dyn Correlator>, doubles: Vec<f64>, row: Vec<F> },
}

impl<F: Real> NoiseStream<F> {
    /// The noise before its first step.
    ///
    /// The key must be fresh: two streams of equal plans and precision under one key are the same noise.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a plan with open keys, whose lanes are not known, and where two declared keys would share their noise.
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_progress(plan, key, &())
    }

    /// Like [`NoiseStream::new`], and reports on noise that is prepared in advance.
    ///
    /// # Errors
    /// As [`NoiseStream::new`].
    pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
        let source = Source::new(plan, &key, progress)?;
        Ok(Self { plan: plan.clone(), key, step: 0, source })
    }

    /// The plan whose noise this is.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of rows handed out.
    #[must_use]
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// The row of the next step, one number a coordinate.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its rows")]
    pub fn next(&mut self) -> Result<&[F]> {
        self.check(1)?;
        self.step += 1;
        Ok(self.source.next(self.plan.noise_scale()))
    }

    /// The rows of as many steps as `out` has room for, one after the other: quicker than row by row for a single coordinate.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] if fewer steps are left, and [`Error::BadParameter`] unless `out` holds whole rows; neither takes a step.
    pub fn fill(&mut self, out: &mut [F]) -> Result<()> {
        let width = self.plan.lanes().width();
        if !out.len().is_multiple_of(width) {
            return Err(Error::bad("out", format!("whole rows of {width} numbers"), out.len()));
        }
        let steps = (out.len() / width) as u64;
        self.check(steps)?;
        self.step += steps;
        match &mut self.source {
            Source::Machine(machine) => machine.fill(out),
            source => {
                for row in out.chunks_mut(width) {
                    row.copy_from_slice(source.next(self.plan.noise_scale()));
                }
            }
        }
        Ok(())
    }

    /// Goes to before any step, from the key alone: the noise of the steps before it is made again, in O(step).
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] for a step beyond the horizon.
    pub fn seek(&mut self, step: u64) -> Result<()> {
        if step > self.plan.horizon() {
            return Err(Error::HorizonSpent { horizon: self.plan.horizon() });
        }
        match &mut self.source {
            Source::Machine(machine) => machine.seek(step),
            source => {
                if step < self.step {
                    *source = Source::new(&self.plan, &self.key, &())?;
                    self.step = 0;
                }
                for _ in self.step..step {
                    source.next(1.0);
                }
            }
        }
        self.step = step;
        Ok(())
    }

    /// The state as bytes: what [`NoiseStream::resume`] goes on from without making earlier steps again. Raw noise can be computed from
    /// them.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let noise = match &self.source {
            Source::Machine(machine) => machine.save_state(),
            Source::Other { correlator, .. } => correlator.save(),
        };
        let saved = Saved {
            head: Head {
                fingerprint: fingerprint::<F>(&self.plan),
                key_tag: self.key.tag(),
                step: self.step,
            },
            totals: Vec::new(),
            noise,
            history: None,
        };
        saved.to_bytes()
    }

    /// Continues from a saved state, bit for bit.
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or belongs to another plan, precision or key.
    pub fn resume(plan: &Plan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        let saved = Saved::from_bytes(state)?;
        let refuse = |reason| Err(Error::BadState { reason });
        if saved.head.fingerprint != fingerprint::<F>(plan) {
            return refuse("it belongs to another plan or precision");
        }
        if saved.head.key_tag != key.tag() {
            return refuse("it belongs to another key");
        }
        if saved.head.step > plan.horizon() {
            return refuse("it lies beyond the horizon");
        }
        let mut stream = Self::new(plan, key)?;
        match &mut stream.source {
            Source::Machine(machine) => machine.restore_state(saved.head.step, &saved.noise)?,
            Source::Other { correlator, .. } => correlator.restore(saved.head.step, &saved.noise)?,
        }
        stream.step = saved.head.step;
        Ok(stream)
    }

    fn check(&self, steps: u64) -> Result<()> {
        let horizon = self.plan.horizon();
        if steps > horizon - self.step { Err(Error::HorizonSpent { horizon }) } else { Ok(()) }
    }
}

impl<F: Real> Source<F> {
    fn new(plan: &Plan, key: &NoiseKey, progress: &dyn Progress) -> Result<Self> {
        let field = plan.white_field(key, purpose::<F>())?;
        if let Some(recipe) = plan.factorization().recipe() {
            let machine = Machine::new(&recipe, plan.horizon(), field, plan.noise_scale());
            return Ok(Self::Machine(Box::new(machine)));
        }
        let width = field.width();
        Ok(Self::Other {
            correlator: plan.factorization().correlator(field, progress),
            doubles: vec![0.0; width],
            row: vec![F::ZERO; width],
        })
    }

    fn next(&mut self, scale: f64) -> &[F] {
        match self {
            Self::Machine(machine) => machine.next_row(),
            Self::Other { correlator, doubles, row } => {
                correlator.next(doubles);
                for (value, double) in row.iter_mut().zip(doubles) {
                    *value = F::from_f64(scale * *double);
                }
                row
            }
        }
    }
}

/// Singles are rounded doubles, so that the two precisions must not come from the same white noise.
fn purpose<F: Real>() -> &'static str {
    if size_of::<F>() == 4 { "noise f32|" } else { "noise f64|" }
}

fn fingerprint<F: Real>(plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("evertally noise stream fingerprint 1");
    hasher.update(&plan.fingerprint()).update(purpose::<F>().as_bytes());
    *hasher.finalize().as_bytes()
}

impl<F: Real> std::fmt::Debug for NoiseStream<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoiseStream")
            .field("plan", &self.plan)
            .field("steps_taken", &self.step)
            .finish_non_exhaustive()
    }
}
