//! The guard of one run under one name. It compares the run's input with the record, and records
//! new input before it is released.

use evertally::NoiseName;

use crate::digest::{Digest, InputChain};
use crate::error::{Error, Result};
use crate::record::{ALL_STEPS, Head};
use crate::store::{Locked, Store};
use crate::uses::Uses;

/// The number of entries compared at a time.
const ENTRIES_PER_READ: u64 = 1 << 16;

/// Checks and records the input of one run.
///
/// ```
/// use evertally::{Budget, NoiseKey, Plan};
/// use evertally_keys::{Error, Uses};
/// let plan = Plan::prefix_sum(2).budget(Budget::new(1.0, 1e-6)?).build()?;
/// let uses = Uses::in_this_process(&NoiseKey::from_os()?);
/// let take = |inputs: [f64; 2]| {
///     let mut guard = uses.guard(&plan.noise_name())?;
///     guard.admit(|chain| inputs.map(|x| chain.step([x])).to_vec(), |_| Ok::<_, Error>("released"))
/// };
/// assert_eq!(take([3.0, 1.0])?, "released");
/// assert_eq!(take([3.0, 1.0])?, "released");
/// assert!(matches!(take([3.0, 2.0]), Err(Error::OtherInput { at: Some(1), .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Guard {
    key: String,
    /// The chain of digests up to step `admitted`.
    chain: InputChain,
    /// The number of steps that this guard admitted, or that were taken before its state was saved.
    admitted: u64,
    head: Head,
    store: Store,
}

impl Guard {
    pub(crate) fn new(uses: &Uses, name: &NoiseName, state: Option<(u64, &[u8])>) -> Result<Self> {
        let (admitted, state) = state.unwrap_or((0, &[]));
        let digest = uses.name_digest(name);
        let head = Head { key_tag: uses.key_tag(), name: digest, first_step: admitted, steps_per_entry: 1 };
        let (key, chain, store) = (uses.key_name(), uses.chain(&digest), uses.store(&digest));
        let mut guard = Self { key, chain, admitted, head, store };
        // Without a recorded digest, only the state identifies the earlier steps.
        guard.chain = match guard.digest_before()? {
            Some(before) => guard.chain.after(admitted, before),
            None if admitted > 0 => guard.chain.after_state(admitted, state),
            None => guard.chain,
        };
        Ok(guard)
    }

    /// The recorded digest of the step before the next one.
    fn digest_before(&self) -> Result<Option<Digest>> {
        let Some(mut record) = self.store.lock()? else { return Ok(None) };
        let Some(entry) = self.offset(&record)?.and_then(|offset| offset.checked_sub(1)) else {
            return Ok(None);
        };
        Ok(record.read(entry, 1)?.first().copied())
    }

    /// The number of steps admitted.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.admitted
    }

    /// The digest of all steps admitted. A state that is saved with it can be told from one of another
    /// input.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.chain.digest()
    }

    /// Whether the record already has entries under this name.
    ///
    /// # Errors
    /// [`Error::File`] and [`Error::Damaged`].
    pub fn is_known(&self) -> Result<bool> {
        Ok(self.store.lock()?.is_some_and(|record| record.entries() > 0))
    }

    /// Admits the next steps: digests them, compares them with the record, does the work, and
    /// records the new steps. The work receives whether the name had no record before. Its result
    /// may be released once this returns. The record stays locked meanwhile.
    ///
    /// If the steps or the work are refused, nothing is recorded, and other steps may be admitted
    /// instead.
    ///
    /// # Errors
    /// [`Error::OtherInput`] if a recorded step differs, the errors of the work, and
    /// [`Error::File`]. After a failed write, the work is done and its result must not be released.
    pub fn admit<T, E: From<Error>>(
        &mut self,
        digests: impl FnOnce(&mut InputChain) -> Vec<Digest>,
        work: impl FnOnce(bool) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut chain = self.chain.clone();
        let digests = digests(&mut chain);
        let done = self.compare_and_record(&digests, self.head, work)?;
        self.admitted += digests.len() as u64;
        self.chain = chain;
        Ok(done)
    }

    /// Like [`Guard::admit`], for all steps of a run whose releases are written together. They
    /// share one entry. The work receives whether the name had no record before, and the digest of
    /// all steps.
    ///
    /// # Errors
    /// As [`Guard::admit`].
    pub fn admit_run<T, E: From<Error>>(
        &mut self,
        digests: impl FnOnce(&mut InputChain),
        work: impl FnOnce(bool, Digest) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut chain = self.chain.clone();
        digests(&mut chain);
        let digest = chain.run_digest();
        let head = Head { steps_per_entry: ALL_STEPS, ..self.head };
        self.compare_and_record(&[digest], head, |is_new| work(is_new, digest))
    }

    fn compare_and_record<T, E: From<Error>>(
        &self,
        digests: &[Digest],
        head: Head,
        work: impl FnOnce(bool) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (mut record, is_new) = self.store.lock_or_create(head)?;
        let compared = self.compare(&mut record, digests, head).map_err(E::from);
        match compared.and_then(|known| Ok((known, work(is_new)?))) {
            Ok((known, done)) => {
                record.append(head, &digests[known..])?;
                Ok(done)
            }
            Err(refusal) => {
                // A refusal leaves no trace.
                if is_new {
                    record.remove();
                }
                Err(refusal)
            }
        }
    }

    /// How many of the digests are recorded. An error if a recorded digest differs.
    fn compare(&self, record: &mut Locked<'_>, digests: &[Digest], head: Head) -> Result<usize> {
        let other = |at| Error::OtherInput { key: self.key.clone(), at };
        let Some(offset) = self.offset(record)? else { return Ok(0) };
        if record.head().is_some_and(|there| there.steps_per_entry != head.steps_per_entry) {
            return Err(other(None));
        }
        let mut known = 0;
        while known < digests.len() {
            let max = ENTRIES_PER_READ.min((digests.len() - known) as u64);
            let recorded = record.read(offset + known as u64, max)?;
            if recorded.is_empty() {
                break;
            }
            if let Some(place) = recorded.iter().zip(&digests[known..]).position(|(was, is)| was != is) {
                let at = (head.steps_per_entry == 1).then_some(self.admitted + (known + place) as u64);
                return Err(other(at));
            }
            known += recorded.len();
        }
        Ok(known)
    }

    /// How many entries of the record precede the next step, or `None` if nothing is recorded.
    fn offset(&self, record: &Locked<'_>) -> Result<Option<u64>> {
        let Some(head) = record.head() else { return Ok(None) };
        if (head.key_tag, head.name) != (self.head.key_tag, self.head.name) {
            return Err(self.store.damaged("it belongs to another key or another name"));
        }
        let Some(offset) = self.admitted.checked_sub(head.first_step) else {
            return Err(Error::StartsLater { key: self.key.clone(), first: head.first_step });
        };
        if offset > record.entries() {
            let recorded = head.first_step + record.entries();
            return Err(Error::EndsEarlier { key: self.key.clone(), recorded, step: self.admitted });
        }
        Ok(Some(offset))
    }
}
