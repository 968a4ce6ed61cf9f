//! The rows that the last run read, known again without being kept.
//!
//! **Definition.** If rows are steps, nothing in a row says which step it is. A state remembers how many
//! rows the last run read, and a fingerprint of their values: BLAKE3, keyed with a secret that is derived
//! from the noise key and the name of the noise. A run that starts with the rows of the last one is
//! refused, whether its file is the same or has grown. With `--after N` the rows have numbers: the first is
//! the step after N others. Then those of released steps are left out, and nothing is compared.
//!
//! **Guarantee.** A command that is repeated counts no row twice. Without the key, the fingerprint says
//! nothing about a row. Whether a run is refused depends on its rows, which `--after` avoids.

use crate::error::{CliError, Result};
use evertally::NoiseKey;
use zeroize::Zeroizing;

/// What the secret of fingerprints is derived for, before the name of the noise.
const PURPOSE: &[u8] = b"evertally rows of a run 1";

/// What is remembered of the rows of a run. No rows are none to compare with.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LastRows {
    pub(super) count: u64,
    pub(super) fingerprint: [u8; 32],
}

/// The rows of a run while they are read.
pub(super) struct RowsOfRun {
    hasher: blake3::Hasher,
    count: u64,
    last: LastRows,
    is_repeated: bool,
    /// The number of rows to leave out.
    released: u64,
}

impl RowsOfRun {
    /// Before the first row of a run. `steps` were released, and the first row is the step after `after`
    /// others, if that is known.
    pub(super) fn new(
        key: &NoiseKey,
        label: &[u8],
        last: LastRows,
        steps: u64,
        after: Option<u64>,
    ) -> Result<Self> {
        let released = match after {
            Some(after) if after > steps => {
                return Err(CliError::bad(format!(
                    "--after: expected at most the {steps} steps that are released, got {after}: the rows between are missing"
                )));
            }
            Some(after) => steps - after,
            None => 0,
        };
        let secret: Zeroizing<[u8; 32]> = key.subkey(&[PURPOSE, label].concat());
        let hasher = blake3::Hasher::new_keyed(&secret);
        let last = if after.is_some() { LastRows::default() } else { last };
        Ok(Self { hasher, count: 0, last, is_repeated: false, released })
    }

    /// Takes the value of the next row. `false` if its step was released.
    pub(super) fn is_new(&mut self, value: f64) -> bool {
        // Both zeros are the same row.
        self.hasher.update(&(value + 0.0).to_le_bytes());
        self.count += 1;
        if self.count == self.last.count {
            self.is_repeated = self.hasher.finalize() == self.last.fingerprint;
        }
        self.count > self.released
    }

    /// Whether the run starts with all rows of the last one.
    pub(super) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// How many rows the last run read.
    pub(super) fn repeated(&self) -> u64 {
        self.last.count
    }

    /// What the next run compares with.
    pub(super) fn remembered(&self) -> LastRows {
        if self.count == 0 {
            return LastRows::default();
        }
        LastRows { count: self.count, fingerprint: *self.hasher.finalize().as_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> NoiseKey {
        NoiseKey::from_bytes([7; 32])
    }

    fn read(rows: &[f64], last: LastRows, label: &[u8]) -> RowsOfRun {
        read_with(&key(), rows, last, label)
    }

    fn read_with(key: &NoiseKey, rows: &[f64], last: LastRows, label: &[u8]) -> RowsOfRun {
        let mut run = RowsOfRun::new(key, label, last, 9, None).unwrap_or_else(|_| panic!("refused"));
        rows.iter().for_each(|row| assert!(run.is_new(*row)));
        run
    }

    #[test]
    fn rows_are_known_again_alone_or_with_others_behind_them() {
        let last = read(&[4.0, 0.0, 5.0], LastRows::default(), b"a").remembered();
        for (rows, is_repeated) in [
            (&[4.0, 0.0, 5.0][..], true),
            (&[4.0, -0.0, 5.0, 6.0], true),
            (&[4.0, 0.0], false),
            (&[4.0, 0.0, 5.5], false),
            (&[0.0, 4.0, 5.0], false),
            (&[1.0, 4.0, 0.0, 5.0], false),
        ] {
            assert_eq!(read(rows, last, b"a").is_repeated(), is_repeated, "{rows:?}");
        }
        assert!(!read(&[4.0, 0.0, 5.0], last, b"b").is_repeated(), "the name of the noise is part of it");
        let other = NoiseKey::from_bytes([8; 32]);
        assert!(!read_with(&other, &[4.0, 0.0, 5.0], last, b"a").is_repeated(), "and the key is");
        assert!(!read(&[4.0], LastRows::default(), b"a").is_repeated(), "no rows are not repeated");
    }

    #[test]
    fn numbered_rows_are_left_out_if_their_steps_were_released() {
        let last = read(&[4.0, 5.0], LastRows::default(), b"a").remembered();
        let numbered = |after| RowsOfRun::new(&key(), b"a", last, 2, Some(after));
        let mut run = numbered(0).unwrap_or_else(|_| panic!("refused"));
        assert_eq!([4.0, 5.0, 6.0].map(|row| run.is_new(row)), [false, false, true]);
        assert!(!run.is_repeated());
        let mut run = numbered(2).unwrap_or_else(|_| panic!("refused"));
        assert_eq!([4.0, 5.0].map(|row| run.is_new(row)), [true, true]);
        assert!(!run.is_repeated());
        assert!(numbered(3).is_err());
    }
}
