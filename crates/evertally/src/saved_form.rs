//! The frame around every saved form.
//!
//! **Definition.** Four bytes name the kind, one byte the format version (1). The content follows,
//! and then the BLAKE3 hash of all preceding bytes. All numbers are little-endian.
//!
//! **Guarantee.** A form that is truncated, extended or damaged in any bit is refused. Nothing is
//! allocated for a stated length before that many bytes are known to be there.

use crate::{Error, Result};

const VERSION: u8 = 1;

/// The maximum number of bytes of a saved form besides its numbers.
const FRAME: usize = 128;

/// Starts a form of this kind, with room for its numbers. Allocated at once, because a vector that
/// grows leaves copies of its content behind.
#[must_use]
pub fn start(magic: [u8; 4], bytes_of_numbers: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAME + bytes_of_numbers);
    bytes.extend(magic);
    bytes.push(VERSION);
    bytes
}

/// Closes a saved form with its hash.
#[must_use]
pub fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// Checks kind, version and hash of a saved form, and reads its content.
///
/// # Errors
/// [`Error::BadState`] for a damaged form or one of another version, and with the reason
/// `other_kind` for one of another kind.
pub fn unseal<'a>(magic: [u8; 4], other_kind: &'static str, bytes: &'a [u8]) -> Result<Reader<'a>> {
    let (content, hash) = bytes.split_last_chunk::<32>().ok_or(cut_short())?;
    let mut reader = Reader(content);
    if reader.take()? != magic {
        return Err(Error::BadState { reason: other_kind });
    }
    if reader.take()? != [VERSION] {
        return Err(Error::BadState { reason: "it has a format that this version does not read" });
    }
    if blake3::hash(content) == *hash { Ok(reader) } else { Err(cut_short()) }
}

/// The error for a form that ends too early, or holds what no form contains.
#[must_use]
pub fn cut_short() -> Error {
    Error::BadState { reason: "it is damaged or cut short" }
}

/// Reads a saved form from its start.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The number of remaining bytes.
    #[must_use]
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// The remaining bytes.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Refuses trailing bytes.
    ///
    /// # Errors
    /// [`Error::BadState`] if there are any.
    pub fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(cut_short()) }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// [`Error::BadState`] if fewer are left.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut_short)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn bytes(&mut self, count: u64) -> Result<&'a [u8]> {
        if count > self.0.len() as u64 {
            return Err(cut_short());
        }
        let (taken, rest) = self.0.split_at(count as usize);
        self.0 = rest;
        Ok(taken)
    }

    /// The next integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn word(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number of values, and the values, of N bytes each.
    pub(crate) fn list<const N: usize, T>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let count = self.word()?;
        self.values(count, value)
    }

    /// The next `count` values, of N bytes each.
    fn values<const N: usize, T>(&mut self, count: u64, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        if count > (self.0.len() / N) as u64 {
            return Err(cut_short());
        }
        let (taken, rest) = self.0.split_at(count as usize * N);
        self.0 = rest;
        Ok(taken.as_chunks::<N>().0.iter().map(|bytes| value(*bytes)).collect())
    }

    /// Reals, all of them finite: one that is not would invalidate every later release.
    ///
    /// # Errors
    /// As [`Reader::take`], and for a real that is not finite.
    pub fn reals(&mut self, count: u64) -> Result<Vec<f64>> {
        let reals = self.values(count, f64::from_le_bytes)?;
        if reals.iter().all(|real| real.is_finite()) { Ok(reals) } else { Err(not_finite()) }
    }
}

/// The error for numbers that no state contains.
pub(crate) fn not_finite() -> Error {
    Error::BadState { reason: "it holds numbers that are not finite" }
}
