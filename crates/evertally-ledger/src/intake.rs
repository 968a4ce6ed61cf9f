//! Events on their way in: checked, clamped and hashed, before the ledger sees them.
//!
//! **Guarantee.** What leaves here holds no name of a person: the id of an event and its person are 96
//! and 128 bits of a hash keyed with a secret of this ledger. Without the secret, the files do not
//! reveal whose event it was. Two ids are mistaken for one another with probability below 10⁻¹¹ for a
//! billion of them. Keys that are found keep their names, because they are shown later.
//!
//! Any thread can do this part of the work.

use crate::error::{Error, Result};
use crate::spec::CounterPlan;
use evertally::NoiseKey;
use evertally_stream::{Amount, Outcome, given_name};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The longest id, and the longest name that a person can have.
const MAX_NAME_BYTES: usize = 256;

/// One raw event. No `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub struct Event<'a> {
    /// Made by the client: a second event with the id of one that counted is a copy of it.
    pub id: &'a str,
    /// When it happened, in microseconds since 1970. Defaults to its arrival.
    pub time: Option<i64>,
    /// What it belongs to, if keys are declared or found.
    pub key: Option<&'a str>,
    /// Whose it is, if persons are bounded.
    pub person: Option<&'a str>,
    /// Its value, if values are summed.
    pub value: Option<f64>,
}

/// An event that is prepared for the ledger. No `Debug`: everything in it is private.
#[derive(Clone)]
pub struct PreparedEvent {
    /// The counter that it was prepared for.
    pub(crate) counter: u32,
    pub(crate) time: Option<i64>,
    pub(crate) lane: u32,
    /// Its key, where keys are found.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) amount: Amount,
    pub(crate) id: Id,
    /// Zero for nobody.
    pub(crate) person: u128,
}

impl PreparedEvent {
    /// Its person, if it names one.
    pub(crate) fn person(&self) -> Option<u128> {
        (self.person != 0).then_some(self.person)
    }

    /// Where it stands among the events of a request that arrives now: by time, then by content.
    #[must_use]
    pub fn order(&self, now: i64) -> EventOrder<'_> {
        EventOrder(self.time.unwrap_or(now), self.id, self.key.as_deref(), self.lane, self.amount)
    }
}

/// The order in which the events of one request are decided ([`evertally_stream::admission`]). No
/// `Debug`: everything in it is private.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventOrder<'a>(i64, Id, Option<&'a str>, u32, Amount);

/// The id of an event, hashed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) [u8; 12]);

impl Id {
    /// Where different persons are counted, the id of an event is its key: the place of the key
    /// among all by name.
    fn of_key(rank: u32) -> Self {
        let mut id = [0; 12];
        id[..4].copy_from_slice(&rank.to_be_bytes());
        Self(id)
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // It is a keyed hash already: any of its bits serve.
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        state.write_u64(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    }
}

/// What became of the events of one request. It is durable when the ledger has committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    /// They count.
    pub counted: u64,
    /// Events with their ids have counted before.
    pub duplicate: u64,
    /// Their steps are closed.
    pub late: u64,
    /// Their steps have not begun.
    pub early: u64,
    /// Their persons have counted in as many steps as allowed, or in one too near.
    pub over_bound: u64,
    /// The counter has no step left, or was retired.
    pub ended: u64,
    /// They name no person, and the counter bounds persons: they could be anybody's. An overlong
    /// name is none. Where keys are found, also those that name no key.
    pub unnamed: u64,
}

impl Receipt {
    /// Counts one more event with this outcome.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Counted { .. } => &mut self.counted,
            Outcome::Duplicate => &mut self.duplicate,
            Outcome::Late => &mut self.late,
            Outcome::Early => &mut self.early,
            Outcome::OverBound => &mut self.over_bound,
            Outcome::Ended => &mut self.ended,
            Outcome::Unnamed => &mut self.unnamed,
        } += 1;
    }

    /// How many events there were.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.counted + self.duplicate + self.late + self.early + self.over_bound + self.ended + self.unnamed
    }
}

/// The secret under which names are hashed: by SipHash, a keyed function made for short texts, on
/// which BLAKE3 is slower.
pub(crate) struct NameHasher(Zeroizing<[u8; 16]>);

impl NameHasher {
    pub(crate) fn new(key: &NoiseKey) -> Self {
        let wide = Zeroizing::new(blake3::derive_key(
            "evertally ledger 2026 names of events and persons",
            key.expose_bytes(),
        ));
        let mut secret = Zeroizing::new([0; 16]);
        secret.copy_from_slice(&wide[..16]);
        Self(secret)
    }

    fn hash(&self, counter: u32, parts: [&str; 2]) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u32(counter);
        // With its length, so that no name can imitate what follows it.
        hasher.write_u64(parts[0].len() as u64);
        hasher.write(parts[0].as_bytes());
        hasher.write(parts[1].as_bytes());
        hasher.finish128().as_bytes()
    }
}

/// Prepares the events of one counter. Cloning it is cheap.
#[derive(Clone)]
pub struct Intake {
    counter: u32,
    counter_plan: Arc<CounterPlan>,
    names: Arc<NameHasher>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl Intake {
    pub(crate) fn new(counter: u32, counter_plan: Arc<CounterPlan>, names: Arc<NameHasher>) -> Self {
        Self { counter, counter_plan, names }
    }

    /// Checks an event and prepares it. If persons are bounded, an event that names none
    /// ([`given_name`]), or one with more than 256 bytes, is prepared too, and the ledger leaves it
    /// out: a refusal would let one person's event keep out those of others in the same request. The
    /// same holds for the key of an event, where keys are found.
    ///
    /// The time, the value and the encoding of an event are the client's to get right, and so is its
    /// id, which is no property of a person. The client makes it so that a retry counts once, so a
    /// client that sends a blank or overlong one is at fault, and its request is refused like one
    /// that is not JSON. Without an id, a retry would count an event twice.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for an event that this counter can never take.
    pub fn prepare(&self, event: &Event<'_>) -> Result<PreparedEvent> {
        let counter_plan = &*self.counter_plan;
        // A counter of version 0.1 knows persons and ids by hashes of what came. It stays with them:
        // otherwise a person whose name has spaces around it would be somebody new, with a new bound.
        let hashed = |text| match given_name(Some(text)) {
            Some(_) if counter_plan.spec().noise_name == 1 => Some(text),
            name => name,
        };
        let id = hashed(event.id).unwrap_or_default();
        if id.is_empty() || event.id.len() > MAX_NAME_BYTES {
            let expected = format!("1 to {MAX_NAME_BYTES} bytes that are not all whitespace");
            return Err(Error::bad("id", expected, format!("{} bytes", event.id.len())));
        }
        if event.time.is_some() && counter_plan.buckets().is_none() {
            return Err(Error::bad("time", "left out: this counter is advanced by hand", "a time"));
        }
        let finds_keys = counter_plan.discovery().is_some();
        if event.key.is_some() && counter_plan.keys().is_none() && !finds_keys {
            return Err(Error::bad("key", "left out: this counter has no keys", "a key"));
        }
        let amount = match (counter_plan.clamp(), event.value) {
            (Some(clamp), value) => cut(clamp.apply(value.unwrap_or(1.0))?, counter_plan.grid_steps()),
            (None, None) => Amount::ONE,
            (None, Some(_)) => {
                return Err(Error::bad("value", "left out: this counter counts events", "a value"));
            }
        };
        // Ids are compared within a person, so that no id can suppress another person's event.
        let short = |text: &&str| text.len() <= MAX_NAME_BYTES;
        let key = given_name(event.key).filter(|key| finds_keys && short(key));
        let is_whole = key.is_some() || !finds_keys;
        let person = event.person.filter(short).and_then(hashed).filter(|_| is_whole);
        let (owner, person) = match (counter_plan.limits(), person) {
            (None, _) | (Some(_), None) => ("", 0),
            (Some(_), Some(person)) => {
                (person, u128::from_le_bytes(self.names.hash(self.counter, [person, ""])).max(1))
            }
        };
        let lane = counter_plan.keys().map_or(0, |keys| keys.position(event.key.unwrap_or_default()));
        let id = match counter_plan.rank(lane) {
            Some(rank) => Id::of_key(rank),
            None => {
                let [id @ .., _, _, _, _] = self.names.hash(self.counter, [owner, id]);
                Id(id)
            }
        };
        Ok(PreparedEvent {
            counter: self.counter,
            time: event.time,
            lane: lane as u32,
            key: key.map(Arc::from),
            amount,
            id,
            person,
        })
    }
}

/// An amount cut towards zero to a coarser grid: it is never larger than it was.
fn cut(amount: Amount, grid_steps: i128) -> Amount {
    Amount::from_grid_steps(amount.grid_steps() / grid_steps * grid_steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_all_of_them_and_the_secret() {
        let names = NameHasher(Zeroizing::new([7; 16]));
        let hashes = [
            names.hash(3, ["", "id"]),
            names.hash(4, ["", "id"]),
            names.hash(3, ["i", "d"]),
            names.hash(3, ["id", ""]),
            names.hash(3, ["", "ie"]),
            NameHasher(Zeroizing::new([8; 16])).hash(3, ["", "id"]),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..at].contains(hash), "{at}");
        }
        assert_eq!(hashes[0], names.hash(3, ["", "id"]));
    }
}
