//! What is remembered of persons and ids: during one run, or across all runs of a saved state.
//!
//! **Definition.** A [`Memory`] holds in which steps each person has counted, and which ids have
//! counted, under the [rule](crate::admission) of admission. Persons are [`Participants`]. An id is
//! 128 bits: the first half of BLAKE3, keyed with a secret, of its person (where persons are bounded)
//! and itself. Both secrets are derived from the noise key and a label that the caller gives, such as
//! the name of the noise, so two states have nothing in common that anyone could compare.
//!
//! **Guarantee.** Events that are divided among runs, each of which goes on from the memory that the one
//! before saved, are decided as in one run, as long as no run has events of the steps that an earlier
//! one closed. Two persons with one tag are bounded together, and two ids with one hash are one id: for
//! a billion of them that has a probability below 2⁻⁵⁸ for a person and 2⁻⁶⁸ for any two ids. A saved
//! memory names nobody. With the key one can find out whether a name is in it: guard it like the data.
//!
//! **Cost.** A saved memory has 16 bytes per id that counted, and 13 or more per person.
//!
//! # The form of a memory
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTM` |
//! | 1 | format version, 1 |
//! | 8 | tag of the key |
//! | 8 | 1 if ids are compared, else 0 |
//! | 8 + 16·n | number of ids, and each of them in ascending order; absent if ids are not compared |
//! | rest | the form of [`Participants`]; absent if persons are not bounded |
//! | 32 | BLAKE3 hash of all before |

use std::collections::HashSet;

use evertally::internals::saved_form::{self, cut_short};
use evertally::{NoiseKey, Participation};
use zeroize::Zeroizing;

use crate::admission::{Admission, IdStore, PersonStore};
use crate::contribution::{ContributionBound, KnownIds};
use crate::error::Result;
use crate::participants::Participants;
use crate::rules::Rules;

const MAGIC: [u8; 4] = *b"EVTM";

/// What secrets are derived for, before the label of the caller.
const PURPOSE: &[u8] = b"evertally memory of a count 1";

/// The persons and ids that have counted, in a form that can be saved and names nobody.
///
/// ```
/// use evertally::{NoiseKey, Participation};
/// use evertally_stream::{Buckets, Event, Gather, Memory, Rules};
/// let limits = Some(Participation::at_most(1, 1)?);
/// let (rules, key) = (Rules { limits, ..Rules::default() }, NoiseKey::from_os()?);
/// let days = Buckets::new(0, "1d".parse()?, 2)?;
/// let visit = |day: i64| Event { time: day * 86_400_000_000, person: Some("ann"), ..Event::default() };
/// let memory = Memory::new(&rules, &key, b"visits")?;
/// let mut first = Gather::of_steps(days.clone(), rules.clone(), memory, 0..1, 1 << 20)?;
/// first.push(&visit(0))?;
/// let (_, memory) = first.finish_and_remember()?;
/// let memory = Memory::resume(&rules, &key, b"visits", &memory.unwrap().save())?;
/// let mut second = Gather::of_steps(days, rules, memory, 1..2, 1 << 20)?;
/// second.push(&visit(1))?;
/// let total = second.finish()?.next().unwrap().totals[0].to_f64();
/// assert_eq!(total, 0.0, "ann has counted");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Memory {
    key_tag: [u8; 8],
    ids: Option<HashedIds>,
    persons: Option<Participants>,
}

impl Memory {
    /// A memory under these rules before the first event.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for limits of zero, which no rules have.
    pub fn new(rules: &Rules, key: &NoiseKey, label: &[u8]) -> Result<Self> {
        let key = secret(key, label);
        let persons = |limits: Participation| Participants::new(limits.max_steps(), limits.min_gap(), &key);
        Ok(Self {
            key_tag: key.tag(),
            ids: rules.has_ids.then(|| HashedIds::new(&key)),
            persons: rules.limits.map(persons).transpose()?,
        })
    }

    /// The memory as bytes, for [`Memory::resume`]: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let persons = self.persons.as_ref().map(Participants::save).unwrap_or_default();
        let ids = self.ids.as_ref().map(HashedIds::in_order);
        let numbers = persons.len() + 16 * ids.as_ref().map_or(0, Vec::len);
        let mut bytes = saved_form::start(MAGIC, numbers);
        bytes.extend(self.key_tag);
        bytes.extend(u64::from(ids.is_some()).to_le_bytes());
        if let Some(ids) = ids {
            bytes.extend((ids.len() as u64).to_le_bytes());
            ids.iter().for_each(|id| bytes.extend(id));
        }
        bytes.extend(persons);
        saved_form::seal(bytes)
    }

    /// Continues from a saved memory.
    ///
    /// # Errors
    /// [`evertally::Error::BadState`] if it is damaged, or belongs to other rules, another key or
    /// another label.
    pub fn resume(rules: &Rules, key: &NoiseKey, label: &[u8], saved: &[u8]) -> Result<Self> {
        let mut memory = Self::new(rules, key, label)?;
        let refuse = |reason| Err(evertally::Error::BadState { reason }.into());
        let mut reader = saved_form::unseal(MAGIC, "it is not a memory of persons and ids", saved)?;
        if reader.take::<8>()? != memory.key_tag {
            return refuse("it belongs to another key");
        }
        let has_ids = reader.word()?;
        if has_ids != u64::from(memory.ids.is_some()) {
            return refuse("it belongs to other rules about ids");
        }
        if let Some(ids) = &mut memory.ids {
            let count = reader.word()?;
            // Looked at before anything is allocated for it.
            if count > (reader.left() / 16) as u64 {
                return Err(cut_short().into());
            }
            ids.known.reserve(count as usize);
            let mut before = None;
            for _ in 0..count {
                let id = reader.take::<16>()?;
                if before.replace(id).is_some_and(|before| before >= id) {
                    return Err(cut_short().into());
                }
                ids.known.insert(id);
            }
        }
        match rules.limits {
            Some(limits) => {
                let key = secret(key, label);
                let saved = reader.rest();
                memory.persons =
                    Some(Participants::resume(limits.max_steps(), limits.min_gap(), &key, saved)?);
            }
            None => reader.end()?,
        }
        Ok(memory)
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let ids =
            self.ids.as_ref().map_or(0, |ids| ids.known.capacity() * (size_of::<[u8; 16]>() + 1) * 8 / 7);
        ids as u64 + self.persons.as_ref().map_or(0, Participants::bytes)
    }

    /// Admission that goes on from this memory.
    pub(crate) fn into_admission(self) -> Admission<Ids, Persons> {
        Admission {
            ids: self.ids.map(Ids::Hashed),
            persons: self.persons.map(|persons| Persons::Tagged(Box::new(persons))),
        }
    }

    /// What admission remembers, if it began with a memory that can be saved.
    pub(crate) fn of(admission: Admission<Ids, Persons>, key_tag: [u8; 8]) -> Option<Self> {
        let ids = match admission.ids {
            Some(Ids::Hashed(ids)) => Some(ids),
            None => None,
            Some(Ids::Here(_)) => return None,
        };
        let persons = match admission.persons {
            Some(Persons::Tagged(persons)) => Some(*persons),
            None => None,
            Some(Persons::Here(_)) => return None,
        };
        Some(Self { key_tag, ids, persons })
    }

    /// Both stores, for a caller who decides with them as they are. `None` if it has not both.
    pub(crate) fn stores(&mut self) -> Option<(&mut Participants, &mut HashedIds)> {
        self.persons.as_mut().zip(self.ids.as_mut())
    }

    pub(crate) fn key_tag(&self) -> [u8; 8] {
        self.key_tag
    }
}

/// No tag and no id is shown, and not how many there are.
impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// The key that persons and ids are hashed under. It is independent of all noise.
fn secret(key: &NoiseKey, label: &[u8]) -> NoiseKey {
    let purpose = [PURPOSE, label].concat();
    NoiseKey::from_bytes(*key.subkey(&purpose))
}

/// The persons of a run: for this run alone, or to be saved.
#[derive(Clone)]
pub(crate) enum Persons {
    Here(ContributionBound),
    Tagged(Box<Participants>),
}

impl Persons {
    /// A store that knows what this one knows of one person, and nobody else.
    pub(crate) fn only(&self, person: &str) -> Self {
        match self {
            Self::Here(persons) => Self::Here(persons.only(person)),
            Self::Tagged(persons) => Self::Tagged(Box::new(persons.only(person))),
        }
    }
}

impl PersonStore for Persons {
    type Person<'a> = &'a str;

    fn admit(&mut self, person: &str, step: u64) -> bool {
        match self {
            Self::Here(persons) => persons.admit(person, step),
            Self::Tagged(persons) => persons.admit(person, step),
        }
    }
}

/// The ids of a run: for this run alone, or to be saved.
#[derive(Clone)]
pub(crate) enum Ids {
    Here(KnownIds),
    Hashed(HashedIds),
}

impl IdStore for Ids {
    type Id<'a> = (Option<&'a str>, &'a str);

    fn contains(&self, id: Self::Id<'_>) -> bool {
        match self {
            Self::Here(ids) => ids.contains(id),
            Self::Hashed(ids) => ids.contains(id),
        }
    }

    fn insert(&mut self, id: Self::Id<'_>, step: u64) {
        match self {
            Self::Here(ids) => ids.insert(id, step),
            Self::Hashed(ids) => ids.insert(id, step),
        }
    }
}

/// The ids that counted, as keyed hashes.
#[derive(Clone)]
pub(crate) struct HashedIds {
    secret: Zeroizing<[u8; 32]>,
    known: HashSet<[u8; 16]>,
}

impl HashedIds {
    fn new(key: &NoiseKey) -> Self {
        Self { secret: key.subkey(b"ids"), known: HashSet::new() }
    }

    fn hash(&self, (person, id): (Option<&str>, &str)) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        // The length keeps the two texts apart. No text has that of an absent person.
        let length = person.map_or(u64::MAX, |person| person.len() as u64);
        hasher.update(&length.to_le_bytes());
        hasher.update(person.unwrap_or_default().as_bytes()).update(id.as_bytes());
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    }

    fn in_order(&self) -> Vec<[u8; 16]> {
        let mut ids: Vec<[u8; 16]> = self.known.iter().copied().collect();
        ids.sort_unstable();
        ids
    }
}

impl IdStore for HashedIds {
    type Id<'a> = (Option<&'a str>, &'a str);

    fn contains(&self, id: Self::Id<'_>) -> bool {
        self.known.contains(&self.hash(id))
    }

    fn insert(&mut self, id: Self::Id<'_>, _step: u64) {
        self.known.insert(self.hash(id));
    }
}

#[cfg(test)]
mod tests;
