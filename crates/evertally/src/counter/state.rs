//! The saved form of a counter.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTL`; `EVTK` for open keys, whose form is in [`super::sparse`] |
//! | 1 | format version, 1 |
//! | 32 | fingerprint of the plan |
//! | 8 | tag of the key |
//! | 8 | steps taken |
//! | 8 + 16·k | number of totals, totals in units |
//! | 8 + 8·k | number of words of the noise, words: one per real, two per integer (low first) |
//! | 1 (+ 8 + 8·k) | whether releases are remembered, and if so their number and values |
//! | 32 | BLAKE3 hash of all preceding bytes |
//!
//! All numbers are little-endian; reals are stored bit for bit. Buffers for reading and writing are
//! wiped after use. Callers must wipe the bytes that they receive.

use zeroize::Zeroizing;

use crate::noise::NoiseKey;
use crate::plan::Plan;
use crate::saved_form::{self, Reader, cut_short, not_finite, seal};
use crate::{Error, Result};

const MAGIC: [u8; 4] = *b"EVTL";

/// What every saved form starts with.
pub(crate) struct Head {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) key_tag: [u8; 8],
    pub(crate) step: u64,
}

impl Head {
    /// Starts a form of this kind with this head.
    pub(crate) fn start(&self, magic: [u8; 4], bytes_of_numbers: usize) -> Vec<u8> {
        let mut bytes = saved_form::start(magic, bytes_of_numbers);
        bytes.extend(self.fingerprint);
        bytes.extend(self.key_tag);
        bytes.extend(self.step.to_le_bytes());
        bytes
    }

    /// Checks a form of this kind, and reads its head.
    pub(crate) fn unseal(magic: [u8; 4], bytes: &[u8]) -> Result<(Self, Reader<'_>)> {
        let mut reader = saved_form::unseal(magic, "it is not the state of such a counter", bytes)?;
        let head = Self { fingerprint: reader.take()?, key_tag: reader.take()?, step: reader.word()? };
        Ok((head, reader))
    }

    /// The plan under which the state resumes: this one, with the noise name of the state. Refuses a
    /// state of another plan or key.
    pub(crate) fn plan(&self, plan: &Plan, key: &NoiseKey) -> Result<Plan> {
        self.plan_by(plan, key, Plan::fingerprint, "it belongs to another plan")
    }

    /// The same for states with fingerprints of their own.
    pub(crate) fn plan_by(
        &self,
        plan: &Plan,
        key: &NoiseKey,
        fingerprint: impl Fn(&Plan) -> [u8; 32],
        other: &'static str,
    ) -> Result<Plan> {
        let refuse = |reason| Err(Error::BadState { reason });
        let named = |plan: &Plan| fingerprint(plan) == self.fingerprint;
        let Some(plan) = as_named(plan, named) else { return refuse(other) };
        if self.key_tag != key.tag() {
            return refuse("it belongs to another key");
        }
        if self.step > plan.horizon() {
            return refuse("it lies beyond the horizon");
        }
        Ok(plan)
    }
}

/// The plan that the state was saved under: this one, or one with what version 0.1 chose otherwise, the
/// name of the noise and the grid if none is named. Version 0.1 had no definitions, so a plan with a
/// definition cannot have made such a state.
fn as_named(plan: &Plan, is_it: impl Fn(&Plan) -> bool) -> Option<Plan> {
    let first_name =
        |plan: &Plan| plan.definition().is_empty().then(|| plan.with_first_noise_name()).filter(&is_it);
    let of_either_name = |plan: &Plan| Some(plan.clone()).filter(&is_it).or_else(|| first_name(plan));
    of_either_name(plan).or_else(|| {
        plan.has_default_grid().then(|| of_either_name(&plan.with_first_default_grid())).flatten()
    })
}

/// The parts of a state. True totals are among them, so there is no `Debug`.
pub(crate) struct Saved {
    pub(crate) head: Head,
    pub(crate) totals: Zeroizing<Vec<i128>>,
    pub(crate) noise: Zeroizing<Vec<u64>>,
    pub(crate) history: Option<Vec<f64>>,
}

impl Saved {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let history = self.history.as_ref().map_or(0, Vec::len);
        let mut bytes = self.head.start(MAGIC, 16 * self.totals.len() + 8 * (self.noise.len() + history));
        bytes.extend((self.totals.len() as u64).to_le_bytes());
        self.totals.iter().for_each(|total| bytes.extend(total.to_le_bytes()));
        put_words(&mut bytes, self.noise.iter().copied());
        bytes.push(u8::from(self.history.is_some()));
        if let Some(history) = &self.history {
            put_words(&mut bytes, history.iter().map(|value| value.to_bits()));
        }
        seal(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (head, mut reader) = Head::unseal(MAGIC, bytes)?;
        let saved = Self {
            head,
            totals: reader.list(i128::from_le_bytes)?.into(),
            noise: reader.list(u64::from_le_bytes)?.into(),
            history: match reader.take()? {
                [0] => None,
                [1] => {
                    let count = reader.word()?;
                    Some(reader.reals(count)?)
                }
                _ => return Err(cut_short()),
            },
        };
        reader.end()?;
        Ok(saved)
    }
}

/// Decodes reals. All reals in a state are finite: one that is not would invalidate every later
/// release of its lane.
pub(crate) fn reals(words: &[u64]) -> Result<Zeroizing<Vec<f64>>> {
    let reals: Zeroizing<Vec<f64>> = Zeroizing::new(words.iter().map(|bits| f64::from_bits(*bits)).collect());
    if reals.iter().all(|real| real.is_finite()) { Ok(reals) } else { Err(not_finite()) }
}

/// Encodes reals as words.
pub(crate) fn words(reals: Vec<f64>) -> Vec<u64> {
    Zeroizing::new(reals).iter().map(|real| real.to_bits()).collect()
}

fn put_words(bytes: &mut Vec<u8>, words: impl ExactSizeIterator<Item = u64>) {
    bytes.extend((words.len() as u64).to_le_bytes());
    words.for_each(|word| bytes.extend(word.to_le_bytes()));
}
