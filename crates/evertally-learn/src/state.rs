//! The saved form of a learner.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `EVLN` |
//! | 1 | format version, 1 |
//! | 32 | fingerprint of the plan |
//! | 8 | tag of the key |
//! | 8 | steps taken |
//! | 5·8·d | θ, average, velocity, finished segments, last release |
//! | 8 + k | length of the counter's saved form, then the form |
//! | 32 | BLAKE3 hash of all preceding bytes |
//!
//! All numbers are little-endian. The counter's part holds true sums: a state is as secret as the data.
//!
//! **Resume once.** A state that is resumed twice with different gradients releases both under the
//! same noise. The noise then cancels, and more than twice the budget is spent. With the same
//! gradients it gives the same parameters, bit for bit, and spends nothing. The caller must ensure
//! that the data are the same. `evertally learn` checks this with a hash.

use evertally::internals::noise::copy_of;
use evertally::internals::saved_form;
use evertally::{Error, NoiseKey, Result, VectorCounter};
use zeroize::Zeroizing;

use crate::learner::{Learner, Vectors};
use crate::plan::LearningPlan;

const MAGIC: [u8; 4] = *b"EVLN";

impl Learner {
    /// The state as bytes. It holds true sums of gradients: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let counter = Zeroizing::new(self.counter.save());
        let mut bytes = saved_form::start(MAGIC, 40 * self.plan.dimension() + counter.len());
        bytes.extend(self.plan.fingerprint());
        bytes.extend(self.key.tag());
        bytes.extend(self.step.to_le_bytes());
        let Vectors { theta, average, velocity, finished, released } = &self.vectors;
        for vector in [theta, average, velocity, finished, released] {
            vector.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        bytes.extend((counter.len() as u64).to_le_bytes());
        bytes.extend(counter.iter());
        saved_form::seal(bytes)
    }

    /// Resumes from a saved state. On the same machine the results are the same, bit for bit. See
    /// [`Learner::save`], and resume with the gradients that would have followed.
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or truncated, or belongs to another plan or key.
    pub fn resume(plan: &LearningPlan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        let mut reader = saved_form::unseal(MAGIC, "it is not the state of a learner", state)?;
        let fingerprint = reader.take::<32>()?;
        let first = plan.with_first_noise_name();
        let plan = if fingerprint == first.fingerprint() { &first } else { plan };
        if fingerprint != plan.fingerprint() {
            return Err(refuse("it belongs to another plan"));
        }
        if reader.take::<8>()? != key.tag() {
            return Err(refuse("it belongs to another key"));
        }
        let step = reader.word()?;
        if step > plan.steps() {
            return Err(refuse("it lies beyond the horizon"));
        }
        let mut vector = || reader.reals(plan.dimension() as u64);
        let vectors = Vectors {
            theta: vector()?,
            average: vector()?,
            velocity: vector()?,
            finished: vector()?,
            released: vector()?,
        };
        if reader.word()? != reader.left() as u64 {
            return Err(saved_form::cut_short());
        }
        // The learner leaves a finished segment when it takes the next step.
        let number = step.saturating_sub(1) / plan.segment_steps();
        let counter = VectorCounter::resume(&plan.segment(number), copy_of(&key), reader.rest())?;
        if counter.steps_taken() != step - number * plan.segment_steps() {
            return Err(refuse("its sums belong to another step"));
        }
        Self::assemble(plan, key, step, counter, vectors)
    }
}

fn refuse(reason: &'static str) -> Error {
    Error::BadState { reason }
}
