//! Events on their way in: checked, clamped and hashed, before the ledger sees them.
//!
//! **Guarantee.** What leaves here holds no name: the id of an event and its person are 96 and 128
//! bits of a hash keyed with a secret of this ledger, so that the files tell nobody who has them,
//! but not the secret, whose event it was. Two ids are mistaken for one another with probability
//! below 10⁻¹¹ for a billion of them.
//!
//! This is the part of the work that can be done by any thread.

use crate::error::{Error, Result};
use crate::spec::CounterPlan;
use evertally::NoiseKey;
use evertally_stream::{Amount, given_name};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The longest id and the longest name of a person, in bytes.
const LONGEST_NAME: usize = 256;

/// One raw event. No `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub struct Event<'a> {
    /// Made by the client: a second event with the id of one that counted is a copy of it.
    pub id: &'a str,
    /// When it happened, in microseconds since 1970; at its arrival where absent.
    pub time: Option<i64>,
    /// What it belongs to, where keys are declared.
    pub key: Option<&'a str>,
    /// Whose it is, where persons are bounded.
    pub person: Option<&'a str>,
    /// Its value, where values are summed.
    pub value: Option<f64>,
}

/// An event that is ready for the ledger. No `Debug`: everything in it is private.
#[derive(Clone, Copy)]
pub struct Arrival {
    /// The counter that it was made ready for.
    pub(crate) counter: u32,
    pub(crate) time: Option<i64>,
    pub(crate) lane: u32,
    pub(crate) amount: Amount,
    pub(crate) id: Id,
    /// Zero for nobody.
    pub(crate) person: u128,
}

/// The id of an event, hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) [u8; 12]);

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // It is a keyed hash already: any of its bits serve.
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        state.write_u64(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    }
}

/// What became of the events of one request. All of it is durable when the ledger has committed.
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
    /// Their persons have taken part in as many steps as they may, or too near. (And what no total
    /// can hold: beyond eight billion events in a step.)
    pub over_bound: u64,
    /// The counter has no step left, or was retired.
    pub ended: u64,
    /// They name no person, and the counter bounds persons: they could be anybody's.
    pub unnamed: u64,
}

impl Receipt {
    /// How many events there were.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.counted + self.duplicate + self.late + self.early + self.over_bound + self.ended + self.unnamed
    }
}

/// The secret under which names are hashed: by SipHash, a keyed function made for short texts, on
/// which BLAKE3 is slower.
pub(crate) struct Names(Zeroizing<[u8; 16]>);

impl Names {
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

/// How the events of one counter are made ready. Cloning it is cheap.
#[derive(Clone)]
pub struct Intake {
    counter: u32,
    planned: Arc<CounterPlan>,
    names: Arc<Names>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl Intake {
    pub(crate) fn new(counter: u32, planned: Arc<CounterPlan>, names: Arc<Names>) -> Self {
        Self { counter, planned, names }
    }

    /// Checks an event and makes it ready. One that names no person ([`given_name`]) is made ready
    /// too, where persons are bounded, and the ledger leaves it out: to refuse it would let one
    /// person's event keep out those of others in the same request.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for an event that this counter cannot take, whenever it comes.
    pub fn prepare(&self, event: &Event<'_>) -> Result<Arrival> {
        check_length("id", event.id)?;
        let planned = &*self.planned;
        if event.time.is_some() && planned.buckets().is_none() {
            return Err(Error::bad("time", "left out: this counter is advanced by hand", "a time"));
        }
        if event.key.is_some() && planned.keys().is_none() {
            return Err(Error::bad("key", "left out: this counter has no keys", "a key"));
        }
        let amount = match (planned.clamp(), event.value) {
            (Some(clamp), value) => cut(clamp.apply(value.unwrap_or(1.0))?, planned.grid_steps()),
            (None, None) => Amount::ONE,
            (None, Some(_)) => {
                return Err(Error::bad("value", "left out: this counter counts events", "a value"));
            }
        };
        // Ids are told apart within a person, so that nobody's id can suppress another person's event.
        let (owner, person) = match (planned.limits(), given_name(event.person)) {
            (None, _) | (Some(_), None) => ("", 0),
            (Some(_), Some(person)) => {
                check_length("person", person)?;
                (person, u128::from_le_bytes(self.names.hash(self.counter, [person, ""])).max(1))
            }
        };
        let [id @ .., _, _, _, _] = self.names.hash(self.counter, [owner, event.id]);
        let lane = planned.keys().map_or(0, |keys| keys.position(event.key.unwrap_or_default()));
        Ok(Arrival { counter: self.counter, time: event.time, lane: lane as u32, amount, id: Id(id), person })
    }
}

/// An amount cut towards zero to a coarser grid: it is never larger than it was.
fn cut(amount: Amount, grid_steps: i128) -> Amount {
    Amount::from_grid_steps(amount.grid_steps() / grid_steps * grid_steps).unwrap_or(amount)
}

fn check_length(what: &'static str, text: &str) -> Result<()> {
    if (1..=LONGEST_NAME).contains(&text.len()) {
        return Ok(());
    }
    Err(Error::bad(what, format!("1 to {LONGEST_NAME} bytes"), format!("{} bytes", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_all_of_them_and_the_secret() {
        let names = Names(Zeroizing::new([7; 16]));
        let hashes = [
            names.hash(3, ["", "id"]),
            names.hash(4, ["", "id"]),
            names.hash(3, ["i", "d"]),
            names.hash(3, ["id", ""]),
            names.hash(3, ["", "ie"]),
            Names(Zeroizing::new([8; 16])).hash(3, ["", "id"]),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..at].contains(hash), "{at}");
        }
        assert_eq!(hashes[0], names.hash(3, ["", "id"]));
    }
}
