//! A store of persons that can be saved: for admission in Spark.
//!
//! **Definition.** [`Participants`] admits as [`ContributionBound`](crate::ContributionBound) does,
//! and holds a person as a tag: 88 bits that are derived from the name and a secret key
//! ([`evertally::internals::noise::LaneTag`]), under a label of its own, so that no noise is derived from the
//! same bits.
//!
//! **Guarantee.** The same answers as those of `ContributionBound`, however the events are split
//! into batches with states saved and resumed between them, as long as no two persons have the same
//! tag. Two who do are bounded together as one person: nobody counts in more steps than allowed,
//! but the events of one may displace those of the other. A person's privacy suffers from that only
//! if *their own* tag is also another's. For K persons that has a probability of at most K/2⁸⁸:
//! below 2⁻⁵⁸ for a billion, to be added to δ. A state names nobody. With the key one can find out
//! whether a name is in it and in which steps the person counted: guard it like the data.
//!
//! **Cost.** A state has 11 bytes per person, one for their number of steps, and one to three per
//! step for most. It is written and read in one pass.
//!
//! # The form of a state
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTP` |
//! | 1 | format version, 1 |
//! | 8 + 8 | most steps of a person, least gap between them |
//! | 8 | tag of the key |
//! | 8 | number of persons |
//! | 11 + … | each person in the order of their tags: the tag, the number of steps, the first step, and the distance of each further one from the one before |
//! | 32 | BLAKE3 hash of all before |
//!
//! The integers of a person are written in groups of seven bits, the low ones first, with the
//! eighth bit set in all groups but the last; no number is written longer than it needs. All others
//! are little-endian. Every set of persons has one form only. Older states may hold the tag of the
//! empty name, which events without a person once shared. It is read like any other, and no event
//! ever has it.

use std::collections::HashMap;

use evertally::internals::noise::{KeyedNoise, LaneTag, Tagger};
use evertally::internals::saved_form::{self, Reader, cut_short};
use evertally::{NoiseKey, Participation};

use crate::admission::PersonStore;
use crate::contribution::admit_step;
use crate::error::Result;

const MAGIC: [u8; 4] = *b"EVTP";

/// A record is no shorter: a tag, the number of steps, and one of them.
const MIN_RECORD: usize = 11 + 1 + 1;

/// What the tags of persons are derived under.
const LABEL: &[u8] = b"evertally participants 1";

/// Lets each person count in at most `k` steps, at least `b` apart, with a state that can be saved
/// and names nobody.
///
/// ```
/// use evertally::NoiseKey;
/// use evertally_stream::{Participants, PersonStore};
/// let key = NoiseKey::from_os()?;
/// let mut persons = Participants::new(2, 1, &key)?;
/// assert!(persons.admit("p1", 7) && !persons.admit("p1", 7));
/// let mut persons = Participants::resume(2, 1, &key, &persons.save())?;
/// assert!(persons.admit("p1", 3) && !persons.admit("p1", 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Participants {
    limits: Participation,
    key_tag: [u8; 8],
    tagger: Tagger,
    counted: HashMap<LaneTag, Vec<u64>>,
}

impl Participants {
    /// At most `max_steps` steps per person, any two of them at least `min_gap` apart (1: any two
    /// different steps).
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] if either is zero.
    pub fn new(max_steps: u64, min_gap: u64, key: &NoiseKey) -> Result<Self> {
        Ok(Self {
            limits: Participation::at_most(max_steps, min_gap)?,
            key_tag: key.tag(),
            tagger: KeyedNoise::gaussian(key.stream(LABEL)).tagger(),
            counted: HashMap::new(),
        })
    }

    /// A store that knows what this one knows of one person, and nobody else.
    pub(crate) fn only(&self, person: &str) -> Self {
        let mut tagger = self.tagger.clone();
        let tag = tagger.tag(person.as_bytes());
        let counted = self.counted.get(&tag).map(|steps| (tag, steps.clone())).into_iter().collect();
        Self { limits: self.limits, key_tag: self.key_tag, tagger, counted }
    }

    /// About how many bytes it takes: a table with an entry per person, and a list of steps for each.
    pub(crate) fn bytes(&self) -> u64 {
        let entry = size_of::<(LaneTag, Vec<u64>)>() + 1;
        let steps = self.counted.values().map(|steps| 8 * steps.capacity() + 16).sum::<usize>();
        (self.counted.capacity() * entry * 8 / 7 + steps) as u64
    }

    /// The state as bytes, for [`Participants::resume`]: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut records: Vec<([u8; 11], &[u64])> =
            self.counted.iter().map(|(tag, steps)| (tag.to_bytes(), steps.as_slice())).collect();
        records.sort_unstable_by_key(|(tag, _)| *tag);
        let mut bytes = saved_form::start(MAGIC, records.len() * (MIN_RECORD + 2));
        bytes.extend(self.limits.max_steps().to_le_bytes());
        bytes.extend(self.limits.min_gap().to_le_bytes());
        bytes.extend(self.key_tag);
        bytes.extend((records.len() as u64).to_le_bytes());
        for (tag, steps) in records {
            bytes.extend(tag);
            put(&mut bytes, steps.len() as u64);
            let mut before = 0;
            for &step in steps {
                put(&mut bytes, step - before);
                before = step;
            }
        }
        saved_form::seal(bytes)
    }

    /// Continues from a saved state.
    ///
    /// # Errors
    /// [`evertally::Error::BadState`] if the state is damaged or belongs to other limits or another
    /// key; [`evertally::Error::BadParameter`] as [`Participants::new`].
    pub fn resume(max_steps: u64, min_gap: u64, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        let mut persons = Self::new(max_steps, min_gap, key)?;
        let refuse = |reason| Err(evertally::Error::BadState { reason }.into());
        let mut reader = saved_form::unseal(MAGIC, "it is not the state of a bound on persons", state)?;
        if [reader.word()?, reader.word()?] != [max_steps, min_gap] {
            return refuse("it belongs to other limits on a person's steps");
        }
        if reader.take::<8>()? != persons.key_tag {
            return refuse("it belongs to another key");
        }
        let count = reader.word()?;
        // Looked at before anything is allocated for it.
        if count > (reader.left() / MIN_RECORD) as u64 {
            return Err(cut_short().into());
        }
        persons.counted.reserve(count as usize);
        let mut before = None;
        for _ in 0..count {
            let tag = reader.take::<11>()?;
            if before.replace(tag).is_some_and(|before| before >= tag) {
                return Err(cut_short().into());
            }
            persons.counted.insert(LaneTag::from_bytes(tag), steps(&mut reader, max_steps, min_gap)?);
        }
        reader.end()?;
        Ok(persons)
    }
}

impl PersonStore for Participants {
    type Person<'a> = &'a str;

    fn admit(&mut self, person: &str, step: u64) -> bool {
        let tag = self.tagger.tag(person.as_bytes());
        admit_step(self.limits, self.counted.entry(tag).or_default(), step)
    }
}

/// No name and no tag is shown, and not how many there are.
impl std::fmt::Debug for Participants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Participants").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Writes a number in groups of seven bits.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number in groups of seven bits, in its shortest form.
fn number(reader: &mut Reader<'_>) -> evertally::Result<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let [group] = reader.take()?;
        let bits = u64::from(group & 0x7f);
        // The tenth group has room for one bit.
        if bits << shift >> shift != bits || (group == 0 && shift > 0) {
            return Err(cut_short());
        }
        number |= bits << shift;
        if group & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(cut_short())
}

/// Reads the steps of a person: some, in order, and within the limits.
fn steps(reader: &mut Reader<'_>, max_steps: u64, min_gap: u64) -> evertally::Result<Vec<u64>> {
    let count = number(reader)?;
    if count == 0 || count > max_steps || count > reader.left() as u64 {
        return Err(cut_short());
    }
    let mut steps = vec![number(reader)?];
    steps.reserve_exact(count as usize - 1);
    for last in 0..count as usize - 1 {
        let gap = number(reader)?;
        let step = steps[last].checked_add(gap).filter(|_| gap >= min_gap);
        steps.push(step.ok_or_else(cut_short)?);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests;
