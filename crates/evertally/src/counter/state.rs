//! The saved form of a counter.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTL` |
//! | 1 | format version, 1 |
//! | 32 | fingerprint of the plan |
//! | 8 | tag of the key |
//! | 8 | steps taken |
//! | 8 + 16·k | number of totals, totals in units |
//! | 8 + 8·k | number of correlator numbers, those numbers |
//! | 1 (+ 8 + 8·k) | whether releases are remembered, and if so their number and values |
//! | 32 | BLAKE3 hash of all before |
//!
//! All numbers are little-endian; reals are stored bit for bit.

use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"EVTL";
const VERSION: u8 = 1;

/// The parts of a state. True totals are among them, so there is no `Debug`.
pub(crate) struct Saved {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) key_tag: [u8; 8],
    pub(crate) step: u64,
    pub(crate) totals: Vec<i128>,
    pub(crate) noise: Vec<f64>,
    pub(crate) history: Option<Vec<f64>>,
}

impl Saved {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.push(VERSION);
        bytes.extend(self.fingerprint);
        bytes.extend(self.key_tag);
        bytes.extend(self.step.to_le_bytes());
        bytes.extend((self.totals.len() as u64).to_le_bytes());
        self.totals.iter().for_each(|total| bytes.extend(total.to_le_bytes()));
        put_numbers(&mut bytes, &self.noise);
        bytes.push(u8::from(self.history.is_some()));
        if let Some(history) = &self.history {
            put_numbers(&mut bytes, history);
        }
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (content, hash) = bytes.split_last_chunk::<32>().ok_or(cut_short())?;
        let mut reader = Reader(content);
        if reader.take::<4>()? != *MAGIC {
            return Err(Error::BadState { reason: "it is not a counter's state" });
        }
        if reader.take::<1>()? != [VERSION] {
            return Err(Error::BadState { reason: "it has a format that this version does not read" });
        }
        if blake3::hash(content) != *hash {
            return Err(Error::BadState { reason: "it is damaged or cut short" });
        }
        let saved = Self {
            fingerprint: reader.take()?,
            key_tag: reader.take()?,
            step: u64::from_le_bytes(reader.take()?),
            totals: reader.many(i128::from_le_bytes)?,
            noise: reader.numbers()?,
            history: match reader.take::<1>()? {
                [0] => None,
                _ => Some(reader.numbers()?),
            },
        };
        if reader.0.is_empty() { Ok(saved) } else { Err(cut_short()) }
    }
}

fn cut_short() -> Error {
    Error::BadState { reason: "it is damaged or cut short" }
}

fn put_numbers(bytes: &mut Vec<u8>, numbers: &[f64]) {
    bytes.extend((numbers.len() as u64).to_le_bytes());
    for number in numbers {
        bytes.extend(number.to_bits().to_le_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
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
        (0..count).map(|_| Ok(value(self.take()?))).collect()
    }

    fn numbers(&mut self) -> Result<Vec<f64>> {
        self.many(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))
    }
}
