//! The audit of open keys: a [`SparseCounter`] whose keys are released at different steps.
//!
//! **Specifics.** A key's noise is drawn when the key is released, for all steps since its last
//! release at once. Noise that is drawn late must equal the noise that an earlier draw would have
//! given, with the same correlation to earlier releases. Keys with an even index are therefore
//! released at every step. Keys with an odd index sleep: one counter releases them at even steps,
//! and another counter, with the same noise key and inputs, at odd steps. Together they release
//! every step, and each counter draws two steps of noise at a time. Only an audit may use a key
//! twice.
//!
//! **Not audited.** Timing. Adding to a key takes time, so the duration of a step reveals how many
//! keys have events. Close and release steps of open keys by a clock, or out of an observer's
//! sight.
//!
//! **Cost.** One release per key and step, as for a `SparseCounter`, and the amounts of odd keys
//! twice.

use evertally::internals::noise::copy_of;
use evertally::{Error, NoiseKey, Plan, Result, Shape, SparseCounter};

use crate::stream::Stream;
use crate::subject::{Session, Subject, checked_grid, replayed_distance, rounded};

/// The counters of a plan for open keys, watched at some keys.
///
/// ```
/// use evertally::{Budget, Plan};
/// use evertally_audit::{OpenKeysSubject, Subject};
/// let plan = Plan::prefix_sum(16).budget(Budget::new(1.0, 1e-6)?).open_keys().build()?;
/// let subject = OpenKeysSubject::new(plan, ["north", "south"])?;
/// assert_eq!(subject.lanes(), 2);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenKeysSubject {
    plan: Plan,
    names: Vec<String>,
    grid: f64,
}

impl OpenKeysSubject {
    /// Audits the counters of a plan, watched at these keys.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the plan is for open keys and there is at least one key to
    /// watch.
    pub fn new(plan: Plan, names: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        if *plan.shape() != Shape::OpenKeys {
            return Err(Error::bad("plan", "for open keys", "another"));
        }
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.is_empty() {
            return Err(Error::bad("names", "at least one key to watch", "none"));
        }
        Ok(Self { grid: plan.grid().unwrap_or(0.0), plan, names })
    }

    /// As [`CounterSubject::rounded_to`](crate::CounterSubject::rounded_to).
    ///
    /// # Errors
    /// As there.
    pub fn rounded_to(self, grid: f64) -> Result<Self> {
        Ok(Self { grid: self.grid.max(checked_grid(grid)?), ..self })
    }
}

impl Subject for OpenKeysSubject {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn lanes(&self) -> usize {
        self.names.len()
    }

    fn grid(&self) -> f64 {
        self.grid
    }

    fn untimed(&self) -> Option<&'static str> {
        Some("adding to an open key takes time, as documented")
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        let counters = [SparseCounter::new(&self.plan, copy_of(&key))?, SparseCounter::new(&self.plan, key)?];
        Ok(Box::new(OpenKeysSession { subject: self, counters, step: 0 }))
    }

    fn noise_distance(&self, stream: &Stream, neighbour: &Stream, key: NoiseKey) -> Result<Option<f64>> {
        replayed_distance(self, &self.names, stream, neighbour, &key)
    }
}

struct OpenKeysSession<'a> {
    subject: &'a OpenKeysSubject,
    counters: [SparseCounter; 2],
    step: usize,
}

impl Session for OpenKeysSession<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        let names = &self.subject.names;
        for (which, counter) in self.counters.iter_mut().enumerate() {
            // The first counter has all keys, the second only those that sleep.
            let known = |lane: &usize| which == 0 || lane % 2 == 1;
            for lane in (0..names.len()).filter(known) {
                counter.add(&names[lane], inputs[lane])?;
            }
            counter.close_step()?;
            let is_released = |lane: &usize| match lane % 2 {
                0 => which == 0,
                _ => which == self.step % 2,
            };
            let lanes: Vec<usize> = (0..names.len()).filter(is_released).collect();
            let released: Vec<&str> = lanes.iter().map(|&lane| names[lane].as_str()).collect();
            let mut values = vec![0.0; lanes.len()];
            counter.release_into(&released, &mut values)?;
            for (lane, value) in lanes.into_iter().zip(values) {
                out[lane] = rounded(value, self.subject.grid);
            }
        }
        self.step += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::Budget;

    /// A sleeping key must have the same releases as one that never sleeps, bit for bit.
    #[test]
    fn sleeping_keys_release_what_waking_ones_do() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let plan = Plan::prefix_sum(9).budget(budget).open_keys().build().unwrap();
        let names = ["north", "south", "west", "east"];
        let stream = Stream::busy(9, 4);
        let mut waking = SparseCounter::new(&plan, NoiseKey::insecure_from_seed(4)).unwrap();
        let mut expected = vec![0.0; 9 * 4];
        for (step, out) in expected.chunks_mut(4).enumerate() {
            for (name, x) in names.iter().zip(stream.row(step)) {
                waking.add(name, *x).unwrap();
            }
            waking.close_step().unwrap();
            waking.release_into(&names, out).unwrap();
        }
        let subject = OpenKeysSubject::new(plan, names).unwrap();
        assert_eq!(subject.run(&stream, NoiseKey::insecure_from_seed(4)).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_audited_is_refused() {
        let builder = || Plan::prefix_sum(9).budget(Budget::new(1.0, 1e-6).unwrap());
        assert!(OpenKeysSubject::new(builder().build().unwrap(), ["north"]).is_err());
        let open = builder().open_keys().build().unwrap();
        assert!(OpenKeysSubject::new(open.clone(), Vec::<String>::new()).is_err());
        assert!(OpenKeysSubject::new(open, ["north"]).unwrap().rounded_to(3.0).is_err());
    }
}
