//! The saved form of a counter that finds keys.
//!
//! After the head that all counters share (`EVTD`, version, fingerprint of the plan of the persons, which
//! identifies the discovery, the noise key's tag, steps closed):
//!
//! | bytes | content |
//! |---|---|
//! | 8 | number of candidates |
//! | 11 + 8 + 16 per candidate | tag, persons, total in units |
//! | 8 | number of keys at or above the floor that have not appeared |
//! | 4 + 8 + n per key | number of its candidate, length of its name, name |
//! | 8 | number of keys that have appeared |
//! | 4 + 8 + 8 + n per key | number of its candidate, step at which it appeared, length of its name, name |
//! | 8 + n, twice | length and saved form of the noise of persons, and of the totals |
//! | 32 | BLAKE3 hash of all preceding bytes |
//!
//! Candidates are in the order of their first input, and keys in the order in which they reached the floor or
//! appeared. All numbers are little-endian.
//!
//! **Guarantee.** A resumed counter releases what the one that was saved would have released, bit for bit. A
//! form that contradicts itself is refused: every name has the tag of its candidate, and the keys with
//! names are the candidates at or above the floor.
//!
//! **What it reveals.** Everything: true counts, and names that have not appeared. Its size tells how many
//! candidates there are. It is not padded, because whoever may see the form may see the data.

use std::collections::HashSet;

use zeroize::Zeroizing;

use super::Discovery;
use super::counter::{Awake, DiscoveringCounter, Shown, may_name};
use crate::counter::{Candidate, Candidates, Head, SparseCounter};
use crate::noise::{LaneTag, NoiseKey};
use crate::saved_form::{Reader, cut_short, seal};
use crate::{Error, Result};

const MAGIC: [u8; 4] = *b"EVTD";

/// The bytes of a candidate.
const CANDIDATE_BYTES: usize = 11 + 8 + 16;

impl DiscoveringCounter {
    /// The state as bytes, with the open step. It contains true counts and the names of keys that have not
    /// appeared, and its size tells how many candidates there are: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let parts = [self.persons.save(), self.totals.save()].map(Zeroizing::new);
        let head = Head {
            fingerprint: self.discovery.persons().fingerprint(),
            key_tag: self.persons.key_tag(),
            step: self.closed,
        };
        let awake = self.awake.iter().map(|key| 12 + key.name.len()).sum::<usize>();
        let shown = self.shown.iter().map(|key| 20 + key.name.len()).sum::<usize>();
        let parts_bytes = parts.iter().map(|part| 8 + part.len()).sum::<usize>();
        let numbers = CANDIDATE_BYTES * self.candidates.len() + awake + shown + parts_bytes;
        let mut bytes = head.start(MAGIC, numbers);
        bytes.extend((self.candidates.len() as u64).to_le_bytes());
        for place in 0..self.candidates.len() as u32 {
            let candidate = self.candidates.get(place);
            bytes.extend(self.candidates.tag(place).to_bytes());
            bytes.extend(candidate.persons.to_le_bytes());
            bytes.extend(candidate.total.to_le_bytes());
        }
        bytes.extend((self.awake.len() as u64).to_le_bytes());
        for key in &self.awake {
            bytes.extend(key.place.to_le_bytes());
            put_bytes(&mut bytes, key.name.as_bytes());
        }
        bytes.extend((self.shown.len() as u64).to_le_bytes());
        for key in &self.shown {
            bytes.extend(key.place.to_le_bytes());
            bytes.extend(key.since.to_le_bytes());
            put_bytes(&mut bytes, key.name.as_bytes());
        }
        parts.iter().for_each(|part| put_bytes(&mut bytes, part));
        seal(bytes)
    }

    /// Resumes from a saved state. The releases are those of a counter that was never interrupted,
    /// bit for bit.
    ///
    /// Resume a state only once: two runs from one state release different totals under
    /// the same noise.
    ///
    /// ```
    /// use evertally::{Budget, DiscoveringCounter, NoiseKey, Plan};
    /// let discovery = Plan::discover(365).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// let key = NoiseKey::from_os()?;
    /// let kept = *key.expose_bytes(); // somewhere safe
    /// let mut counter = DiscoveringCounter::new(&discovery, key)?;
    /// counter.add("/", 1000.0, 1000)?;
    /// let state = counter.save();
    /// let mut counter = DiscoveringCounter::resume(&discovery, NoiseKey::from_bytes(kept), &state)?;
    /// assert_eq!(counter.close_step()?.len(), 1);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or belongs to another discovery or key.
    /// [`Error::TooCostly`] if the memory limit of the discovery has no room for it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a caller who uses a key twice must see that they copied it"
    )]
    pub fn resume(discovery: &Discovery, key: NoiseKey, state: &[u8]) -> Result<Self> {
        let (head, mut reader) = Head::unseal(MAGIC, state)?;
        head.plan(discovery.persons(), &key)?;
        let candidates = read_candidates(&mut reader)?;
        let awake = read_awake(&mut reader)?;
        let shown = read_shown(&mut reader)?;
        let part = |reader: &mut Reader<'_>, plan| {
            let length = reader.word()?;
            SparseCounter::resume_without_limit(plan, &key, reader.bytes(length)?)
        };
        let persons = part(&mut reader, discovery.persons())?;
        let totals = part(&mut reader, discovery.totals())?;
        reader.end()?;
        if persons.steps_closed() != head.step || totals.steps_closed() != head.step {
            return Err(misfit());
        }
        let mut counter = Self::of(discovery, persons, totals);
        (counter.candidates, counter.awake, counter.shown) = (candidates, awake, shown);
        counter.check_names()?;
        counter.take_up_totals()?;
        counter.held += counter.bytes_of_all();
        // As for a new counter, the limit is met by the first candidate.
        if counter.candidates.len() > 0 {
            counter.check_held(counter.candidates.len(), counter.held)?;
        }
        Ok(counter)
    }

    /// Refuses names that are not those of the candidates at or above the floor, each once.
    fn check_names(&self) -> Result<()> {
        let mut tagger = self.tagger.clone();
        let awake = self.awake.iter().map(|key| (key.place, &key.name));
        let shown = self.shown.iter().map(|key| (key.place, &key.name));
        let mut seen = HashSet::new();
        let floor = self.discovery.floor();
        for (place, name) in awake.chain(shown) {
            let fits = (place as usize) < self.candidates.len()
                && may_name(name)
                && self.candidates.tag(place) == tagger.tag(name.as_bytes())
                && self.candidates.get(place).persons >= floor
                && seen.insert(place);
            if !fits {
                return Err(misfit());
            }
        }
        let above = |place: &u32| self.candidates.get(*place).persons >= floor;
        if (0..self.candidates.len() as u32).filter(above).count() != seen.len() {
            return Err(misfit());
        }
        let order = |pair: &[Shown]| (pair[0].since, &pair[0].name) < (pair[1].since, &pair[1].name);
        if self.shown.windows(2).all(order) { Ok(()) } else { Err(misfit()) }
    }

    /// Takes what the counter of totals has of each key that has appeared. Refuses totals beyond the largest,
    /// and parts that hold what this counter never gives them.
    fn take_up_totals(&mut self) -> Result<()> {
        for key in &mut self.shown {
            key.counted = self.totals.true_total(&key.name).ok_or_else(misfit)?;
        }
        let candidates = (0..self.candidates.len() as u32).map(|place| self.candidates.get(place).total);
        let mut totals = candidates.chain(self.shown.iter().map(|key| key.counted));
        let is_noise_alone =
            self.awake.iter().all(|key| self.persons.true_total(&key.name).unwrap_or(0) == 0);
        let has_inputs = self.totals.open_inputs().chain(self.persons.open_inputs()).next().is_some();
        let has_appeared = self.shown.iter().all(|key| key.since < self.closed);
        let fits = totals.all(|total| self.fits(total)) && is_noise_alone && has_appeared && !has_inputs;
        if fits { Ok(()) } else { Err(misfit()) }
    }

    /// The bytes that the candidates hold and the names reserve.
    fn bytes_of_all(&self) -> u64 {
        let names = self.awake.iter().map(|key| &key.name).chain(self.shown.iter().map(|key| &key.name));
        let awake: u64 = names.map(|name| self.bytes_awake(name)).sum();
        Candidates::bytes_per_candidate() * self.candidates.len() as u64 + awake
    }
}

fn read_candidates(reader: &mut Reader<'_>) -> Result<Candidates> {
    let mut candidates = Candidates::new();
    for _ in 0..count(reader, CANDIDATE_BYTES)? {
        let tag = LaneTag::from_bytes(reader.take()?);
        if candidates.find(tag).is_some() {
            return Err(misfit());
        }
        let persons = reader.word()?;
        let total = i128::from_le_bytes(reader.take()?);
        let place = candidates.insert(tag);
        candidates.set(place, Candidate { persons, total });
    }
    Ok(candidates)
}

fn read_awake(reader: &mut Reader<'_>) -> Result<Vec<Awake>> {
    let keys = count(reader, 4 + 8)?;
    let key = |_| Ok(Awake { place: u32::from_le_bytes(reader.take()?), name: read_name(reader)? });
    (0..keys).map(key).collect()
}

fn read_shown(reader: &mut Reader<'_>) -> Result<Vec<Shown>> {
    let keys = count(reader, 4 + 8 + 8)?;
    let key = |_| {
        let (place, since) = (u32::from_le_bytes(reader.take()?), reader.word()?);
        Ok(Shown { name: read_name(reader)?, place, since, counted: 0 })
    };
    (0..keys).map(key).collect()
}

/// A number of entries, each of at least so many bytes.
fn count(reader: &mut Reader<'_>, least_bytes: usize) -> Result<u64> {
    let count = reader.word()?;
    if count > (reader.left() / least_bytes) as u64 {
        return Err(cut_short());
    }
    if count > Candidates::MAX as u64 { Err(misfit()) } else { Ok(count) }
}

fn read_name(reader: &mut Reader<'_>) -> Result<Box<str>> {
    let length = reader.word()?;
    std::str::from_utf8(reader.bytes(length)?).map(Into::into).map_err(|_| misfit())
}

fn put_bytes(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
}

fn misfit() -> Error {
    Error::BadState { reason: "its keys do not fit the discovery" }
}
