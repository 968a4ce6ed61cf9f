//! The saved form of a counter of open keys.
//!
//! After the head that all counters share (`EVTK`, version, fingerprint, the noise key's tag, steps
//! closed):
//!
//! | bytes | content |
//! |---|---|
//! | 8 | number of keys |
//! | 11 + 8 + 16 per key | tag, steps of noise made, total in units |
//! | 8 per key | if totals decay: the number of steps that the total includes |
//! | 8·rows per key | the words of its lane, if any step of noise was made |
//! | 8 | number of inputs of the open step |
//! | 4 + 16 per input | number of the key, units |
//! | 32 | BLAKE3 hash of all preceding bytes |
//!
//! Keys are in the order of their first use. All numbers are little-endian.

use zeroize::Zeroizing;

use super::store::MAX_KEYS;
use super::{Noise, SparseCounter};
use crate::counter::state::{Head, reals};
use crate::counter::totals::carried;
use crate::key_record::Layout;
use crate::noise::integer::IntegerLane;
use crate::noise::{LaneTag, NoiseKey};
use crate::plan::Plan;
use crate::saved_form::{Reader, cut_short, seal};
use crate::{Error, Result};

const MAGIC: [u8; 4] = *b"EVTK";

/// The minimum number of bytes of a key: one without noise.
const MIN_KEY_BYTES: usize = 11 + 8 + 16;

impl SparseCounter {
    /// The state as bytes. It contains true totals: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let layout = self.store.layout();
        let inputs = self.store.inputs().count();
        let keys = self.store.len() * (MIN_KEY_BYTES + 8 + 8 * layout.rows());
        let head = Head { fingerprint: self.plan.fingerprint(), key_tag: self.key_tag, step: self.closed };
        let mut bytes = head.start(MAGIC, keys + 20 * inputs);
        bytes.extend((self.store.len() as u64).to_le_bytes());
        for key in 0..self.store.len() as u32 {
            let record = self.store.get(key);
            let (total, step) = record.kept();
            bytes.extend(record.tag().to_bytes());
            bytes.extend(record.made().to_le_bytes());
            bytes.extend(total.to_le_bytes());
            if layout.decays() {
                bytes.extend(step.to_le_bytes());
            }
            if record.made() > 0 {
                record.lane().iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            }
        }
        bytes.extend((inputs as u64).to_le_bytes());
        for (key, units) in self.store.inputs() {
            bytes.extend(key.to_le_bytes());
            bytes.extend(units.to_le_bytes());
        }
        seal(bytes)
    }

    /// Resumes from a saved state. The releases are those of a counter that was never interrupted,
    /// bit for bit.
    ///
    /// Resume a state only once: two runs from one state release different totals under
    /// the same noise.
    ///
    /// ```
    /// use evertally::{Budget, NoiseKey, Plan, SparseCounter};
    /// let plan = Plan::prefix_sum(365).budget(Budget::new(1.0, 1e-6)?).open_keys().build()?;
    /// let key = NoiseKey::from_os()?;
    /// let kept = *key.expose_bytes(); // somewhere safe
    /// let mut counter = SparseCounter::new(&plan, key)?;
    /// counter.add("/about", 1.0)?;
    /// let state = counter.save();
    /// let mut counter = SparseCounter::resume(&plan, NoiseKey::from_bytes(kept), &state)?;
    /// assert_eq!(counter.close_step()?, 0);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or belongs to another plan or key.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a caller who uses a key twice must see that they copied it"
    )]
    pub fn resume(plan: &Plan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        Self::resume_with_key(plan, &key, state)
    }

    /// The same for a counter whose caller limits the memory.
    pub(crate) fn resume_without_limit(plan: &Plan, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        Ok(Self { max_keys: MAX_KEYS, ..Self::resume_with_key(plan, key, state)? })
    }

    fn resume_with_key(plan: &Plan, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        Self::check(plan)?;
        let (head, mut reader) = Head::unseal(MAGIC, state)?;
        let mut counter = Self::with_key(&head.plan(plan, key)?, key)?;
        counter.closed = head.step;
        counter.read_keys(&mut reader)?;
        counter.read_inputs(&mut reader)?;
        reader.end()?;
        Ok(counter)
    }

    fn read_keys(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let layout = self.store.layout();
        let keys = reader.word()?;
        if keys > (reader.left() / MIN_KEY_BYTES) as u64 {
            return Err(cut_short());
        }
        if keys > MAX_KEYS as u64 {
            return Err(misfit());
        }
        let mut words = Zeroizing::new(vec![0; layout.rows()]);
        for _ in 0..keys {
            let tag = LaneTag::from_bytes(reader.take()?);
            if self.store.find(tag).is_some() {
                return Err(misfit());
            }
            let key = self.store.insert(tag);
            self.read_key(key, layout, reader, &mut words)?;
        }
        Ok(())
    }

    fn read_key(
        &mut self,
        key: u32,
        layout: Layout,
        reader: &mut Reader<'_>,
        words: &mut [u64],
    ) -> Result<()> {
        let made = reader.word()?;
        let total = i128::from_le_bytes(reader.take()?);
        let step = if layout.decays() { reader.word()? } else { 0 };
        if made > self.closed || step > self.closed || !self.unit.holds(total) {
            return Err(misfit());
        }
        let mut record = self.store.get_mut(key);
        record.set_total(total, step);
        if made > 0 {
            for word in words.iter_mut() {
                *word = reader.word()?;
            }
            record.set_lane(made, words.iter().copied());
            self.noise.check_lane(words)?;
        }
        Ok(())
    }

    fn read_inputs(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let inputs = reader.word()?;
        if inputs > 0 && self.closed == self.plan.horizon() {
            return Err(misfit());
        }
        for _ in 0..inputs {
            let key = u32::from_le_bytes(reader.take()?);
            let units = i128::from_le_bytes(reader.take()?);
            if key as usize >= self.store.len() || !self.unit.holds(units) || self.store.input(key) != 0 {
                return Err(misfit());
            }
            let total = self.store.get(key).total(self.closed);
            if !self.unit.holds(carried(self.plan.workload(), total) + units) {
                return Err(misfit());
            }
            self.store.set_input(key, units);
        }
        Ok(())
    }
}

impl Noise {
    /// Refuses words that no lane can hold.
    fn check_lane(&self, words: &[u64]) -> Result<()> {
        match self {
            Self::Doubles(_) => reals(words).map(|_| ()),
            Self::Integers(..) if IntegerLane::is_within_reach(words) => Ok(()),
            Self::Integers(..) => Err(misfit()),
        }
    }
}

fn misfit() -> Error {
    Error::BadState { reason: "its keys do not fit the plan" }
}
