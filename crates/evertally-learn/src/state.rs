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

use evertally::{Error, NoiseKey, Result, VectorCounter};
use zeroize::Zeroizing;

use crate::learner::{Learner, Vectors, copy_of};
use crate::plan::LearningPlan;

const MAGIC: &[u8; 5] = b"EVLN\x01";
const HASH: usize = 32;

impl Learner {
    /// The state as bytes. It holds true sums of gradients: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let counter = Zeroizing::new(self.counter.save());
        // Allocate once: a vector that grows leaves copies of its content in memory.
        let mut bytes = Vec::with_capacity(128 + 40 * self.plan.dimension() + counter.len());
        bytes.extend(MAGIC);
        bytes.extend(self.plan.fingerprint());
        bytes.extend(self.key.tag());
        bytes.extend(self.step.to_le_bytes());
        let Vectors { theta, average, velocity, finished, released } = &self.vectors;
        for vector in [theta, average, velocity, finished, released] {
            vector.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        bytes.extend((counter.len() as u64).to_le_bytes());
        bytes.extend(counter.iter());
        bytes.extend(blake3::hash(&bytes).as_bytes());
        bytes
    }

    /// Resumes from a saved state. On the same machine the results are the same, bit for bit. See
    /// [`Learner::save`], and resume with the gradients that would have followed.
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or truncated, or belongs to another plan or key.
    pub fn resume(plan: &LearningPlan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        let (content, hash) = state.split_last_chunk::<HASH>().ok_or(damaged())?;
        let mut reader = Reader(content);
        if reader.take::<5>()? != *MAGIC {
            return Err(refuse("it is not the state of a learner, or is of another version"));
        }
        if blake3::hash(content) != *hash {
            return Err(damaged());
        }
        let fingerprint = reader.take::<32>()?;
        let first = plan.with_first_noise_name();
        let plan = if fingerprint == first.fingerprint() { &first } else { plan };
        if fingerprint != plan.fingerprint() {
            return Err(refuse("it belongs to another plan"));
        }
        if reader.take::<8>()? != key.tag() {
            return Err(refuse("it belongs to another key"));
        }
        let step = u64::from_le_bytes(reader.take()?);
        if step > plan.steps() {
            return Err(refuse("it lies beyond the horizon"));
        }
        let mut vector = || reader.reals(plan.dimension());
        let vectors = Vectors {
            theta: vector()?,
            average: vector()?,
            velocity: vector()?,
            finished: vector()?,
            released: vector()?,
        };
        let length = u64::from_le_bytes(reader.take()?);
        if length != reader.0.len() as u64 {
            return Err(damaged());
        }
        // The learner leaves a finished segment when it takes the next step.
        let number = step.saturating_sub(1) / plan.segment_steps();
        let counter = VectorCounter::resume(&plan.segment(number), copy_of(&key), reader.0)?;
        if counter.steps_taken() != step - number * plan.segment_steps() {
            return Err(refuse("its sums belong to another step"));
        }
        Self::assemble(plan, key, step, counter, vectors)
    }
}

fn refuse(reason: &'static str) -> Error {
    Error::BadState { reason }
}

fn damaged() -> Error {
    refuse("it is damaged or cut short")
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads `count` finite numbers.
    fn reals(&mut self, count: usize) -> Result<Vec<f64>> {
        // The length is checked before anything is allocated for it.
        if self.0.len() / 8 < count {
            return Err(damaged());
        }
        let reals: Vec<f64> =
            (0..count).map(|_| self.take().map(f64::from_le_bytes)).collect::<Result<_>>()?;
        if reals.iter().all(|real| real.is_finite()) {
            Ok(reals)
        } else {
            Err(refuse("it holds numbers that are not finite"))
        }
    }
}
