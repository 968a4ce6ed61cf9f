//! An unfinished training run, as bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 5 | `EVLR` and the version of the format, 1 |
//! | 1 | what follows: 0 for the tag of the key, 1 for the key |
//! | 8 or 32 | the tag of the key, or the key |
//! | 8 + k | length of the description, and that: JSON |
//! | 8 + k | length of the learner's saved form, and that |
//! | 32 | BLAKE3 hash of everything before it |
//!
//! Numbers are little-endian. The description holds the settings, the hash of the data, the unique
//! name of the run in budget files, and what was measured so far. The learner's part holds true sums
//! of gradients. A checkpoint is therefore as secret as the data, and has no `Debug`.

use evertally::NoiseKey;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

const MAGIC: &[u8; 5] = b"EVLR\x01";
const HASH: usize = 32;

/// What a checkpoint keeps of the key.
pub(crate) enum KeptKey {
    /// The key itself, which is stored nowhere else.
    Whole(NoiseKey),
    /// Its tag: the key has a file of its own.
    Tag([u8; 8]),
}

/// What is known about a run besides its learner.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// The options that determine the model, and their values.
    pub(crate) settings: Vec<(String, String)>,
    /// The hash of the rows, in hexadecimal digits.
    pub(crate) data: String,
    /// The unique name of the run in budget files.
    pub(crate) run: String,
    /// The performance of the model so far.
    pub(crate) curve: Vec<Measured>,
    /// The version of the name of the noise. Version 0.1 wrote none.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub(crate) noise_name: u8,
}

fn first() -> u8 {
    1
}

fn is_first(version: &u8) -> bool {
    *version == first()
}

/// The performance on the held-out rows after some steps. All numbers are finite.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    pub(crate) steps: u64,
    /// At the latest parameters.
    pub(crate) last: Score,
    /// At their average.
    pub(crate) average: Score,
}

/// The performance of some parameters.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Score {
    /// The mean loss.
    pub(crate) loss: f64,
    /// The share of rows whose class is predicted correctly, if there are classes.
    pub(crate) accuracy: Option<f64>,
}

/// An unfinished run.
pub(crate) struct Checkpoint {
    pub(crate) key: KeptKey,
    pub(crate) description: Description,
    /// The saved learner.
    pub(crate) learner: Zeroizing<Vec<u8>>,
}

impl Checkpoint {
    /// The bytes of a checkpoint. `None` if the description cannot be written.
    pub(crate) fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let description = serde_json::to_vec(&self.description).ok()?;
        // The capacity is reserved first: a vector that grows leaves copies of its content behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(128 + description.len() + self.learner.len()));
        bytes.extend(MAGIC);
        match &self.key {
            KeptKey::Tag(tag) => {
                bytes.push(0);
                bytes.extend(tag);
            }
            KeptKey::Whole(key) => {
                bytes.push(1);
                bytes.extend(key.expose_bytes());
            }
        }
        for part in [description.as_slice(), &self.learner] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        Some(bytes)
    }

    /// Reads a checkpoint and checks all of it, or gives the reason why it is none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        const DAMAGED: &str = "it is damaged or cut short";
        let Some((content, hash)) = bytes.split_last_chunk::<HASH>() else { return Err(DAMAGED) };
        let Some(rest) = content.strip_prefix(MAGIC) else {
            return Err("it is not the state of a training run, or of another version");
        };
        if blake3::hash(content) != *hash {
            return Err(DAMAGED);
        }
        let (kind, rest) = rest.split_first().ok_or(DAMAGED)?;
        let (key, rest) = match kind {
            0 => {
                let (tag, rest) = rest.split_first_chunk::<8>().ok_or(DAMAGED)?;
                (KeptKey::Tag(*tag), rest)
            }
            1 => {
                let (key, rest) = rest.split_first_chunk::<32>().ok_or(DAMAGED)?;
                (KeptKey::Whole(NoiseKey::from_bytes(*key)), rest)
            }
            _ => return Err(DAMAGED),
        };
        let (description, rest) = part(rest).ok_or(DAMAGED)?;
        let (learner, rest) = part(rest).ok_or(DAMAGED)?;
        if !rest.is_empty() {
            return Err(DAMAGED);
        }
        let description = serde_json::from_slice(description).map_err(|_| DAMAGED)?;
        Ok(Self { key, description, learner: Zeroizing::new(learner.to_vec()) })
    }
}

/// A part with its length in front, and the rest.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checkpoint(key: KeptKey) -> Checkpoint {
        let score = Score { loss: 0.1 + 0.2, accuracy: Some(0.75) };
        let description = Description {
            settings: vec![("--epochs".to_owned(), "3".to_owned())],
            data: "00".repeat(32),
            run: "0123456789abcdef".to_owned(),
            noise_name: 2,
            curve: vec![Measured { steps: 7, last: score, average: Score { accuracy: None, ..score } }],
        };
        Checkpoint { key, description, learner: Zeroizing::new(vec![1, 2, 3]) }
    }

    fn sealed(content: &[u8]) -> Vec<u8> {
        [content, blake3::hash(content).as_bytes()].concat()
    }

    #[test]
    fn what_is_written_is_read_bit_for_bit() {
        for key in [KeptKey::Tag([9; 8]), KeptKey::Whole(NoiseKey::from_bytes([7; 32]))] {
            let written = checkpoint(key);
            let bytes = written.to_bytes().unwrap();
            let read = Checkpoint::from_bytes(&bytes).unwrap_or_else(|reason| panic!("{reason}"));
            assert!(read.description == written.description && read.learner == written.learner);
            assert_eq!(read.to_bytes(), Some(bytes));
        }
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = checkpoint(KeptKey::Whole(NoiseKey::from_bytes([7; 32]))).to_bytes().unwrap();
        for end in 0..bytes.len() {
            assert!(Checkpoint::from_bytes(&bytes[..end]).is_err(), "{end} bytes were taken");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            assert!(Checkpoint::from_bytes(&changed).is_err(), "byte {at}");
        }
        assert!(Checkpoint::from_bytes(&[&bytes[..], b"\0"].concat()).is_err());
    }

    proptest! {
        /// Any bytes, even with a correct hash, are refused or read. What is read is written again as
        /// it was.
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
            prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
            prop_assert!(Checkpoint::from_bytes(&sealed(&[MAGIC, &bytes[..]].concat())).is_err());
            let whole = checkpoint(KeptKey::Tag([9; 8])).to_bytes().unwrap();
            let mut content = whole[..whole.len() - HASH].to_vec();
            let at = at % content.len();
            let end = (at + bytes.len()).min(content.len());
            content[at..end].copy_from_slice(&bytes[..end - at]);
            if let Ok(read) = Checkpoint::from_bytes(&sealed(&content)) {
                let again = Checkpoint::from_bytes(&read.to_bytes().unwrap());
                prop_assert!(again.is_ok_and(|again| again.learner == read.learner));
            }
        }
    }
}
