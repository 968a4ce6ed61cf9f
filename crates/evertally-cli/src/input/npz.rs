//! NumPy's `.npz` files: a zip archive with a file for each array.
//!
//! Entries are stored or deflated, as `numpy.savez` and `numpy.savez_compressed` write them. The
//! directory at the end of the archive gives places and sizes, and every entry must have its stated
//! checksum.
//!
//! What numpy refuses is refused here too, so that a file means the same to both: an entry whose own
//! name is not that of the directory, an encrypted one, and a name that ends at a zero byte or whose
//! letters depend on a code page.

use crate::error::{CliError, Result};
use flate2::read::DeflateDecoder;
use std::io::Read;
use std::path::Path;

/// The most bytes that one entry may unpack to.
const MAX_ENTRY_BYTES: usize = 1 << 32;

/// The entries of an archive by name.
pub(crate) struct Archive {
    pub(crate) name: String,
    entries: Vec<(String, Vec<u8>)>,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| CliError::reading(path, &error))?;
        Self::parse(crate::error::name_of(path), &bytes)
    }

    /// The archive in the contents of a file. The name is for errors.
    pub(crate) fn parse(name: String, bytes: &[u8]) -> Result<Self> {
        let entries = entries(bytes);
        let entries = entries.ok_or_else(|| {
            CliError::bad(format!("{name} is not a usable .npz file: it is damaged, cut or something else"))
        })?;
        Ok(Self { name, entries })
    }

    /// The contents of an entry.
    pub(crate) fn entry(&self, name: &str) -> Option<&[u8]> {
        self.entries.iter().find(|(entry, _)| entry == name).map(|(_, contents)| contents.as_slice())
    }
}

/// Flags of an entry.
const ENCRYPTED: usize = 1;
const UTF_8: usize = 1 << 11;

/// The name in front of the contents of an entry.
fn local_name(bytes: &[u8], place: usize) -> Option<&[u8]> {
    let (flags, length) = (number(bytes, place + 6, 2)?, number(bytes, place.checked_add(26)?, 2)?);
    let name = bytes.get(place + 30..place + 30 + length)?;
    (flags & ENCRYPTED == 0).then_some(name)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// All entries, or `None` if anything is wrong.
fn entries(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    const END: &[u8] = b"PK\x05\x06";
    // The end record may be followed by a comment of up to 65,535 bytes.
    let from = bytes.len().saturating_sub(22 + 0xffff);
    let end = from + bytes[from..].windows(4).rposition(|window| window == END)?;
    if end + 22 + number(bytes, end + 20, 2)? != bytes.len() {
        return None;
    }
    let count = number(bytes, end + 10, 2)?;
    let mut at = number(bytes, end + 16, 4)?;
    let mut entries: Vec<(String, Vec<u8>)> = Vec::with_capacity(count);
    for _ in 0..count {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let [method, name_length, extra, comment] =
            [10, 28, 30, 32].map(|offset| number(bytes, at + offset, 2));
        let [checksum, packed, unpacked, place] =
            [16, 20, 24, 42].map(|offset| number(bytes, at + offset, 4));
        let name = bytes.get(at + 46..at + 46 + name_length?)?;
        let flags = number(bytes, at + 8, 2)?;
        let is_plain = name.is_ascii() || flags & UTF_8 != 0;
        if flags & ENCRYPTED != 0 || !is_plain || name.contains(&0) || local_name(bytes, place?)? != name {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?.to_owned();
        let contents = unpack(bytes, place?, method?, packed?, unpacked?)?;
        // Different readers could see different entries of the same name.
        let is_new = entries.iter().all(|(other, _)| *other != name);
        if !is_new || crc32fast::hash(&contents) as usize != checksum? {
            return None;
        }
        entries.push((name, contents));
        at += 46 + name_length? + extra? + comment?;
    }
    Some(entries)
}

fn unpack(bytes: &[u8], place: usize, method: usize, packed: usize, unpacked: usize) -> Option<Vec<u8>> {
    if bytes.get(place..place.checked_add(4)?)? != b"PK\x03\x04" || unpacked >= MAX_ENTRY_BYTES {
        return None;
    }
    let start = place + 30 + number(bytes, place + 26, 2)? + number(bytes, place + 28, 2)?;
    let data = bytes.get(start..start.checked_add(packed)?)?;
    let contents = match method {
        0 => data.to_vec(),
        8 => {
            let mut contents = Vec::new();
            DeflateDecoder::new(data).take(unpacked as u64 + 1).read_to_end(&mut contents).ok()?;
            contents
        }
        _ => return None,
    };
    (contents.len() == unpacked).then_some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.savez_compressed(f, a=numpy.zeros(4))`-like: an entry that is deflated.
    #[test]
    fn deflated_entries_are_read() {
        use flate2::{Compression, write::DeflateEncoder};
        use std::io::Write;
        let contents = [7_u8; 500];
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&contents).unwrap();
        let packed = encoder.finish().unwrap();
        let sizes = |fixed: &mut Vec<u8>| {
            fixed.extend(crc32fast::hash(&contents).to_le_bytes());
            fixed.extend((packed.len() as u32).to_le_bytes());
            fixed.extend((contents.len() as u32).to_le_bytes());
            fixed.extend([1, 0, 0, 0]);
        };
        let mut bytes = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0".to_vec();
        sizes(&mut bytes);
        bytes.extend(b"a");
        bytes.extend(&packed);
        let directory = bytes.len() as u32;
        bytes.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0");
        sizes(&mut bytes);
        bytes.extend([0; 14]);
        bytes.extend(b"a");
        bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        bytes.extend(47_u32.to_le_bytes());
        bytes.extend(directory.to_le_bytes());
        bytes.extend([0, 0]);
        assert_eq!(entries(&bytes).unwrap(), [("a".to_owned(), contents.to_vec())]);
        for length in 0..bytes.len() {
            assert!(entries(&bytes[..length]).is_none(), "cut at {length}");
        }
    }

    #[test]
    fn what_was_written_is_read_and_a_changed_byte_is_seen() {
        let written = [("a.npy".to_owned(), vec![1, 2, 3]), ("b.json".to_owned(), Vec::new())];
        let bytes = crate::output::npz(&written).unwrap();
        assert_eq!(entries(&bytes).unwrap(), written);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            // A few bytes of an archive mean nothing; none of them may change what is read.
            assert!(
                entries(&changed)
                    .is_none_or(|read| read.iter().map(|e| &e.1).eq(written.iter().map(|e| &e.1))),
                "{at}"
            );
        }
    }
}
