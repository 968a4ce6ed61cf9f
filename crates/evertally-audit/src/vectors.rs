//! The audit of vectors: a [`VectorCounter`] whose coordinates are lanes.
//!
//! **Specifics.** A contribution is a vector of bounded norm, in any direction at every step. Noise
//! is drawn in floats, so releases are audited after rounding to a grid.

use evertally::{Error, NoiseKey, Plan, Result, Shape, VectorCounter};

use crate::subject::{Session, Subject, checked_grid, rounded};

/// The counters of a plan for vectors.
///
/// ```
/// use evertally::{Budget, Contribution, Plan};
/// use evertally_audit::{Subject, VectorSubject};
/// let plan = Plan::prefix_sum(16).budget(Budget::new(1.0, 1e-6)?).dimension(4);
/// let plan = plan.contribution(Contribution::norm(1.0)?).build()?;
/// let subject = VectorSubject::new(plan)?.rounded_to(1.0)?;
/// assert_eq!(subject.lanes(), 4);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VectorSubject {
    plan: Plan,
    grid: f64,
}

impl VectorSubject {
    /// Audits the counters of a plan, and their unrounded releases.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the plan is for vectors.
    pub fn new(plan: Plan) -> Result<Self> {
        match plan.shape() {
            Shape::Vector { .. } => Ok(Self { grid: plan.grid().unwrap_or(0.0), plan }),
            _ => Err(Error::BadParameter {
                name: "plan",
                expected: "for vectors".to_owned(),
                got: "another".to_owned(),
            }),
        }
    }

    /// As [`CounterSubject::rounded_to`](crate::CounterSubject::rounded_to).
    ///
    /// # Errors
    /// As there.
    pub fn rounded_to(self, grid: f64) -> Result<Self> {
        Ok(Self { grid: self.grid.max(checked_grid(grid)?), ..self })
    }
}

impl Subject for VectorSubject {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn grid(&self) -> f64 {
        self.grid
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(VectorSession { counter: VectorCounter::new(&self.plan, key)?, grid: self.grid }))
    }
}

struct VectorSession {
    counter: VectorCounter,
    grid: f64,
}

impl Session for VectorSession {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        self.counter.step_into(inputs, out)?;
        out.iter_mut().for_each(|out| *out = rounded(*out, self.grid));
        Ok(())
    }
}
