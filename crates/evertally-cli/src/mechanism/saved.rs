//! A running count as bytes, for a later run.
//!
//! **Definition.** The counter, the largest estimate of each key under `--monotone`, and for each kind of
//! period the releases before the open one. **Guarantee.** A count that goes on from these bytes releases
//! what it would have released without the interruption, bit for bit. The bytes hold true totals.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTC` |
//! | 1 | format version, 1 |
//! | 8 + … | length of the counter's form, and the form (`counter/state` in `evertally`) |
//! | 8 + … | number of keys, and for each 0, or 1 and the largest estimate |
//! | 8 + … | number of divisions, and for each 0, or 1, the step of the releases and one for each key |
//! | 32 | BLAKE3 hash of all before |
//!
//! Numbers have 8 bytes, little-endian.

use super::readout::Readout;
use super::{AnyCounter, Periods, Prepared, Running};
use crate::error::Result;
use evertally::internals::saved_form::{self, Reader, cut_short};
use evertally::post::PostProcess;
use evertally::{Counter, Division, KeyedCounter, NoiseKey, Shape};
use zeroize::Zeroizing;

const MAGIC: [u8; 4] = *b"EVTC";

impl Running {
    /// The count as bytes. They contain true totals.
    pub(crate) fn save(&self) -> Zeroizing<Vec<u8>> {
        let counter = Zeroizing::new(match &self.counter {
            AnyCounter::Single(counter) => counter.save(),
            AnyCounter::Keyed(counter) => counter.save(),
        });
        let post = &self.readout.post;
        let numbers = 3 + 2 * post.len() + self.periods.before().count() * (3 + post.len());
        let mut bytes = saved_form::start(MAGIC, counter.len() + 8 * numbers);
        put(&mut bytes, counter.len() as u64);
        bytes.extend(counter.iter());
        put(&mut bytes, post.len() as u64);
        for largest in post.iter().map(PostProcess::largest) {
            put(&mut bytes, u64::from(largest.is_some()));
            largest.into_iter().for_each(|largest| put(&mut bytes, largest.to_bits()));
        }
        put(&mut bytes, self.periods.before().count() as u64);
        for before in self.periods.before() {
            put(&mut bytes, u64::from(before.is_some()));
            let Some((step, values)) = before else { continue };
            put(&mut bytes, step);
            values.into_iter().for_each(|value| put(&mut bytes, value.to_bits()));
        }
        Zeroizing::new(saved_form::seal(bytes))
    }
}

impl Prepared {
    /// Goes on with a count that was saved under this plan and key.
    pub(crate) fn go_on(self, key: NoiseKey, divisions: Vec<Division>, saved: &[u8]) -> Result<Running> {
        let plan = &self.plan;
        let mut reader = saved_form::unseal(MAGIC, "it is not a saved count", saved)?;
        let length = reader.word()?;
        let state = reader.bytes(length)?;
        let counter = match plan.shape() {
            Shape::Keyed { .. } => KeyedCounter::resume(plan, key, state).map(AnyCounter::Keyed),
            _ => Counter::resume(plan, key, state).map(AnyCounter::Single),
        }?;
        let width = plan.shape().width();
        expect(&mut reader, width)?;
        let mut post = Vec::with_capacity(width);
        for _ in 0..width {
            let largest = if flag(&mut reader)? { reader.reals(1)?.first().copied() } else { None };
            post.push(self.post_processing.clone().after(largest));
        }
        expect(&mut reader, divisions.len())?;
        let mut before = Vec::with_capacity(divisions.len());
        for _ in 0..divisions.len() {
            let is_there = flag(&mut reader)?;
            before.push(if is_there { Some((reader.word()?, reader.reals(width as u64)?)) } else { None });
        }
        reader.end()?;
        let readout = Readout { intervals: self.intervals, post, mean: self.mean, is_nested: self.is_nested };
        let mut periods = Periods::new(divisions, &readout);
        periods.go_on(plan, before)?;
        Ok(Running { counter, periods, readout })
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

/// Reads a number that must be this one.
fn expect(reader: &mut Reader<'_>, number: usize) -> evertally::Result<()> {
    if reader.word()? == number as u64 { Ok(()) } else { Err(cut_short()) }
}

fn flag(reader: &mut Reader<'_>) -> evertally::Result<bool> {
    match reader.word()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(cut_short()),
    }
}
