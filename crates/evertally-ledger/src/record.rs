//! The records of the journal, and the chain of hashes that its frames form.
//!
//! A *frame* is one commit: a sequence number, the time, and records. Its bytes are postcard, whose
//! form is fixed by a published specification. The head after a frame is BLAKE3 of the head before
//! it and the bytes of the frame; it is kept with the frame, so that a frame that was changed,
//! lost, added or moved is noticed, and every head names the whole past.
//!
//! The events that counted are kept apart (*arrivals*), for as long as their ids are known; the
//! frame is not. The frame has their hash.
//!
//! New kinds of records go to the end of the enumeration, and fields are never changed: a ledger of
//! an earlier version is read by every later one.

use crate::error::{Error, Result};
use crate::intake::Id;
use evertally_stream::Amount;
use serde::{Deserialize, Serialize};

/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: &str = "evertally ledger 1";

/// The hash of all frames so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Head(pub(crate) [u8; 32]);

impl Head {
    /// The head after a frame.
    pub(crate) fn after(self, frame: &[u8]) -> Self {
        Self(*blake3::Hasher::new_derive_key(FORMAT).update(&self.0).update(frame).finalize().as_bytes())
    }
}

/// One commit.
#[derive(Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) sequence: u64,
    pub(crate) time: i64,
    /// The seal of what came in with this commit, where something did.
    pub(crate) arrivals: Option<[u8; 32]>,
    pub(crate) records: Vec<Record>,
}

/// What was spent, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) mu_squared: f64,
    pub(crate) pure_epsilon: f64,
    pub(crate) variation: f64,
}

/// One thing that happened. True totals are among them, so there is no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Record {
    /// The ledger was made.
    Opened { ledger: [u8; 16], identity: u64, key_tag: [u8; 8] },
    /// A population was given a budget.
    Granted(Grant),
    /// A counter was made, and its cost entry_record.
    Created { counter: u32, epoch: EpochName, spec: String, cost: Cost },
    /// The input of a step was frozen: its total in every lane, of which none stand for zeros. Where keys
    /// are found, three integers for each key with an event: its number, its amount, its new persons.
    Frozen { counter: u32, step: u64, totals: Vec<i128>, hash: [u8; 32] },
    /// What was released of a frozen step.
    Released { counter: u32, step: u64, frozen: [u8; 32], values: Vec<f64> },
    /// A counter was stopped for good.
    Retired { counter: u32 },
    /// Its releases were removed too.
    Deleted { counter: u32 },
    /// A token was made.
    TokenAdded(TokenRow),
    /// A token was revoked.
    TokenRemoved { id: String },
    /// A new epoch started.
    Epoch(NewEpoch),
    /// Keys whose first events counted with this frame, in the order of their numbers. For a counter
    /// that finds keys.
    Named { counter: u32, names: Vec<String> },
    /// The numbers of the keys that appear with the release of a step, which follows.
    Appeared { counter: u32, step: u64, keys: Vec<u32> },
}

impl Record {
    /// Whether the fence must know of it before anybody else does.
    pub(crate) fn moves_the_fence(&self) -> bool {
        matches!(self, Self::Released { .. } | Self::Epoch(_))
    }

    /// Whether rows are written at once after it: what is private shall not stay in the journal,
    /// and what took long shall not be done again.
    pub(crate) fn asks_for_rows(&self) -> bool {
        matches!(self, Self::Retired { .. } | Self::Deleted { .. } | Self::Epoch(_))
    }
}

/// A new epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewEpoch {
    pub(crate) epoch: EpochName,
    /// The storage that it started on.
    pub(crate) identity: u64,
    /// Counters that resume with fresh noise, and what they pay.
    pub(crate) restarted: Vec<(u32, Cost)>,
    /// Counters that ran and do not resume.
    pub(crate) halted: Vec<u32>,
    /// Populations that were granted in a lost part of the ledger.
    pub(crate) granted: Vec<Grant>,
    /// What was entered in a lost part of the ledger.
    pub(crate) lost: Vec<EntryRecord>,
}

/// The name of an epoch. Its nonce is drawn when it starts, because two copies of one ledger would
/// number theirs alike; that of the first one is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct EpochName {
    pub(crate) number: u32,
    pub(crate) nonce: [u8; 16],
}

/// The first epoch.
impl Default for EpochName {
    fn default() -> Self {
        Self { number: 1, nonce: [0; 16] }
    }
}

/// An entry in the account of a population: a counter in an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EntryRecord {
    pub(crate) population: String,
    pub(crate) counter: u32,
    pub(crate) epoch: EpochName,
    pub(crate) cost: Cost,
}

/// A population's total.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) population: String,
    pub(crate) unit: String,
    pub(crate) neighbours: String,
    pub(crate) epsilon: Option<f64>,
    pub(crate) delta: Option<f64>,
    /// Where the total is stated by it.
    pub(crate) rho: Option<f64>,
    pub(crate) pure_part: f64,
}

/// A token as it is kept. No `Debug`: of the secret there is only a hash, but that is private too.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TokenRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: u8,
    pub(crate) hash: [u8; 32],
    pub(crate) created: i64,
    pub(crate) expires: Option<i64>,
}

/// The events of one counter that counted with one commit.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) counter: u32,
    pub(crate) items: Vec<Item>,
}

/// An event that counted.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) step: u64,
    pub(crate) lane: u32,
    /// In steps of the grid of amounts.
    pub(crate) amount: i128,
    pub(crate) id: [u8; 12],
    /// Zero for nobody.
    pub(crate) person: u128,
}

impl Item {
    pub(crate) fn id(&self) -> Id {
        Id(self.id)
    }

    pub(crate) fn amount(&self) -> Amount {
        Amount::from_grid_steps(self.amount)
    }
}

/// The hash of a step's input, which its release names.
pub(crate) fn frozen_hash(counter: u32, epoch: u32, step: u64, totals: &[i128]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("evertally ledger 1 frozen input");
    hasher.update(&counter.to_le_bytes()).update(&epoch.to_le_bytes()).update(&step.to_le_bytes());
    totals.iter().for_each(|total| {
        hasher.update(&total.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}

/// A value as bytes.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|error| Error::system("a record cannot be written", &error))
}

/// A value from its bytes, all of them.
pub(crate) fn decode<'a, T: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> Result<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(Error::damaged(format!("{what} cannot be read"))),
    }
}

/// Bytes with a hash of them and of their place, for rows that stand outside the journal.
pub(crate) fn seal(place: &str, mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = seal_of(place, &bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// The bytes of a row that was sealed for this place.
pub(crate) fn unseal<'a>(place: &str, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let (content, hash) =
        bytes.split_last_chunk::<32>().ok_or_else(|| Error::damaged(format!("{place} is cut short")))?;
    if seal_of(place, content) != *hash {
        return Err(Error::damaged(format!("{place} does not hash to what it says")));
    }
    Ok(content)
}

/// The hash at the end of a sealed row.
pub(crate) fn seal_in(row: &[u8]) -> Option<[u8; 32]> {
    row.last_chunk().copied()
}

fn seal_of(place: &str, content: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_derive_key("evertally ledger 1 row")
        .update(&(place.len() as u64).to_le_bytes())
        .update(place.as_bytes())
        .update(content)
        .finalize()
}
