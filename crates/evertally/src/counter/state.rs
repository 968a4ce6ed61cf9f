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

use zeroize::{Zeroize, Zeroizing};

use crate::noise::NoiseKey;
use crate::plan::Plan;
use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"EVTL";
const VERSION: u8 = 1;

/// The maximum number of bytes of a saved form besides its numbers.
pub(crate) const FRAME: usize = 128;

/// What every saved form starts with.
pub(crate) struct Head {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) key_tag: [u8; 8],
    pub(crate) step: u64,
}

impl Head {
    pub(crate) fn put(&self, magic: &[u8; 4], bytes: &mut Vec<u8>) {
        bytes.extend(magic);
        bytes.push(VERSION);
        bytes.extend(self.fingerprint);
        bytes.extend(self.key_tag);
        bytes.extend(self.step.to_le_bytes());
    }

    /// The plan under which the state resumes: this one, with the noise name of the state. Refuses a
    /// state of another plan or key.
    pub(crate) fn plan(&self, plan: &Plan, key: &NoiseKey) -> Result<Plan> {
        let refuse = |reason| Err(Error::BadState { reason });
        let named = |plan: &Plan| plan.fingerprint() == self.fingerprint;
        let Some(plan) = as_named(plan, named) else { return refuse("it belongs to another plan") };
        if self.key_tag != key.tag() {
            return refuse("it belongs to another key");
        }
        if self.step > plan.horizon() {
            return refuse("it lies beyond the horizon");
        }
        Ok(plan)
    }
}

/// The plan with the noise name that the state was saved under: today's, or that of version 0.1.
/// Version 0.1 had no definitions, so a plan with a definition cannot have made such a state.
pub(crate) fn as_named(plan: &Plan, is_it: impl Fn(&Plan) -> bool) -> Option<Plan> {
    if is_it(plan) {
        return Some(plan.clone());
    }
    let first = Some(plan).filter(|plan| plan.definition().is_empty()).map(Plan::with_first_noise_name);
    first.filter(is_it)
}

/// Closes a saved form with its hash.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// Checks the hash of a saved form, and reads its head.
pub(crate) fn unseal<'a>(magic: &[u8; 4], bytes: &'a [u8]) -> Result<(Head, Reader<'a>)> {
    let (content, hash) = bytes.split_last_chunk::<32>().ok_or(cut_short())?;
    let mut reader = Reader(content);
    if reader.take::<4>()? != *magic {
        return Err(Error::BadState { reason: "it is not the state of such a counter" });
    }
    if reader.take::<1>()? != [VERSION] {
        return Err(Error::BadState { reason: "it has a format that this version does not read" });
    }
    if blake3::hash(content) != *hash {
        return Err(cut_short());
    }
    let (fingerprint, key_tag) = (reader.take()?, reader.take()?);
    let step = u64::from_le_bytes(reader.take()?);
    Ok((Head { fingerprint, key_tag, step }, reader))
}

/// The parts of a state. True totals are among them, so there is no `Debug`.
pub(crate) struct Saved {
    pub(crate) head: Head,
    pub(crate) totals: Vec<i128>,
    pub(crate) noise: Vec<u64>,
    pub(crate) history: Option<Vec<f64>>,
}

impl Saved {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Allocated at once, because a vector that grows leaves copies of its content behind.
        let history = self.history.as_ref().map_or(0, Vec::len);
        let mut bytes = Vec::with_capacity(FRAME + 16 * self.totals.len() + 8 * (self.noise.len() + history));
        self.head.put(MAGIC, &mut bytes);
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
        let (head, mut reader) = unseal(MAGIC, bytes)?;
        let saved = Self {
            head,
            totals: reader.many(i128::from_le_bytes)?,
            noise: reader.many(u64::from_le_bytes)?,
            history: match reader.take::<1>()? {
                [0] => None,
                [1] => Some(reader.numbers()?),
                _ => return Err(cut_short()),
            },
        };
        reader.end()?;
        Ok(saved)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        self.totals.zeroize();
        self.noise.zeroize();
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

/// The error for numbers that no state contains.
pub(crate) fn not_finite() -> Error {
    Error::BadState { reason: "it holds numbers that are not finite" }
}

pub(crate) fn cut_short() -> Error {
    Error::BadState { reason: "it is damaged or cut short" }
}

fn put_words(bytes: &mut Vec<u8>, words: impl ExactSizeIterator<Item = u64>) {
    bytes.extend((words.len() as u64).to_le_bytes());
    words.for_each(|word| bytes.extend(word.to_le_bytes()));
}

/// Reads a saved form from its start.
pub(crate) struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// The number of remaining bytes.
    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    /// Refuses trailing bytes.
    pub(crate) fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(cut_short()) }
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut_short)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// A number of values, and the values, of N bytes each.
    fn many<const N: usize, T>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let count = u64::from_le_bytes(self.take()?);
        // The length is checked before anything is allocated for it.
        if count > (self.0.len() / N) as u64 {
            return Err(cut_short());
        }
        let (taken, rest) = self.0.split_at(count as usize * N);
        self.0 = rest;
        Ok(taken.as_chunks::<N>().0.iter().map(|bytes| value(*bytes)).collect())
    }

    /// Reals, all of them finite.
    fn numbers(&mut self) -> Result<Vec<f64>> {
        let numbers = self.many(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))?;
        if numbers.iter().all(|number: &f64| number.is_finite()) { Ok(numbers) } else { Err(not_finite()) }
    }
}
