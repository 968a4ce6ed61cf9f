//! A state as bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `EVTR` |
//! | 1 | format version, 1 |
//! | 8 | number of facts about the options, then each as a name and a text |
//! | 8 | tag of the key |
//! | 8 | number of steps released |
//! | 16 | digest of their input, as in the record of the key |
//! | 8 + 32 | number of rows that the last run read, and their fingerprint ([`LastRows`]); zeros if steps are not rows |
//! | 8 + … | the count ([`crate::mechanism`]) |
//! | 8 + … | persons and ids ([`evertally_stream::Memory`]) |
//! | 8 (+ …) | 0, or 1 and the last output: its name, its temporary name, its format (0 CSV, 1 JSON lines, 2 Parquet), its length, its BLAKE3 hash, and 1 if it may replace another file |
//! | 32 | BLAKE3 hash of all before |
//!
//! Texts and forms have their length in front. Numbers have 8 bytes, little-endian. The count holds true
//! totals; persons and ids are keyed hashes.

use super::output::Written;
use super::rows::LastRows;
use crate::output::OutputFormat;
use evertally::Result;
use evertally::internals::saved_form::{self, Reader, cut_short};
use zeroize::Zeroizing;

const MAGIC: [u8; 4] = *b"EVTR";

const FORMATS: [OutputFormat; 3] = [OutputFormat::Csv, OutputFormat::Jsonl, OutputFormat::Parquet];

/// What one run leaves for the next. No `Debug`: it holds true totals.
pub(super) struct Saved {
    /// The options that all runs must have in common, with their names.
    pub(super) facts: Vec<(String, String)>,
    pub(super) key_tag: [u8; 8],
    pub(super) steps: u64,
    pub(super) digest: [u8; 16],
    pub(super) rows: LastRows,
    pub(super) running: Zeroizing<Vec<u8>>,
    pub(super) memory: Vec<u8>,
    /// What the last run wrote, unless that was no file.
    pub(super) output: Option<Written>,
}

impl Saved {
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let facts: usize = self.facts.iter().map(|(name, text)| 16 + name.len() + text.len()).sum();
        let paths = self.output.as_ref().map_or(0, |out| out.path.len() + out.temporary.len());
        let numbers = facts + self.running.len() + self.memory.len() + paths + 256;
        let mut bytes = saved_form::start(MAGIC, numbers);
        put(&mut bytes, self.facts.len() as u64);
        for (name, text) in &self.facts {
            put_bytes(&mut bytes, name.as_bytes());
            put_bytes(&mut bytes, text.as_bytes());
        }
        bytes.extend(self.key_tag);
        put(&mut bytes, self.steps);
        bytes.extend(self.digest);
        put(&mut bytes, self.rows.count);
        bytes.extend(self.rows.fingerprint);
        put_bytes(&mut bytes, &self.running);
        put_bytes(&mut bytes, &self.memory);
        put(&mut bytes, u64::from(self.output.is_some()));
        if let Some(output) = &self.output {
            put_bytes(&mut bytes, output.path.as_bytes());
            put_bytes(&mut bytes, output.temporary.as_bytes());
            let format = FORMATS.iter().position(|format| *format == output.format);
            put(&mut bytes, format.unwrap_or_default() as u64);
            put(&mut bytes, output.length);
            bytes.extend(output.digest);
            put(&mut bytes, u64::from(output.replaces));
        }
        Zeroizing::new(saved_form::seal(bytes))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = saved_form::unseal(MAGIC, "it is another kind of file", bytes)?;
        // Each fact has two lengths.
        let count = reader.word()?;
        if count > (reader.left() / 16) as u64 {
            return Err(cut_short());
        }
        let mut facts = Vec::with_capacity(count as usize);
        for _ in 0..count {
            facts.push((text(&mut reader)?, text(&mut reader)?));
        }
        let saved = Self {
            facts,
            key_tag: reader.take()?,
            steps: reader.word()?,
            digest: reader.take()?,
            rows: LastRows { count: reader.word()?, fingerprint: reader.take()? },
            running: Zeroizing::new(block(&mut reader)?.to_vec()),
            memory: block(&mut reader)?.to_vec(),
            output: if flag(&mut reader)? { Some(written(&mut reader)?) } else { None },
        };
        reader.end()?;
        Ok(saved)
    }
}

fn written(reader: &mut Reader<'_>) -> Result<Written> {
    let (path, temporary) = (text(reader)?, text(reader)?);
    let format = usize::try_from(reader.word()?).ok().and_then(|place| FORMATS.get(place));
    Ok(Written {
        path,
        temporary,
        format: *format.ok_or_else(cut_short)?,
        length: reader.word()?,
        digest: reader.take()?,
        replaces: flag(reader)?,
    })
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, block: &[u8]) {
    put(bytes, block.len() as u64);
    bytes.extend(block);
}

fn block<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let length = reader.word()?;
    reader.bytes(length)
}

fn text(reader: &mut Reader<'_>) -> Result<String> {
    String::from_utf8(block(reader)?.to_vec()).map_err(|_| cut_short())
}

fn flag(reader: &mut Reader<'_>) -> Result<bool> {
    match reader.word()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(cut_short()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Saved {
        Saved {
            facts: vec![("epsilon".to_owned(), "1".to_owned()), ("every".to_owned(), String::new())],
            key_tag: [1; 8],
            steps: 7,
            digest: [2; 16],
            rows: LastRows { count: 4, fingerprint: [6; 32] },
            running: Zeroizing::new(vec![3; 40]),
            memory: vec![4; 5],
            output: Some(Written {
                path: "/a/b.csv".to_owned(),
                temporary: "/a/c".to_owned(),
                format: OutputFormat::Jsonl,
                length: 9,
                digest: [5; 32],
                replaces: true,
            }),
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        for output in [saved().output, None] {
            let bytes = Saved { output, ..saved() }.to_bytes();
            let again = Saved::from_bytes(&bytes).ok().unwrap();
            assert!(again.to_bytes() == bytes && again.steps == 7);
        }
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let bytes = saved().to_bytes();
        for at in 0..bytes.len() {
            assert!(Saved::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1;
            assert!(Saved::from_bytes(&damaged).is_err(), "damaged at {at}");
        }
        assert!(Saved::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
    }

    /// Arbitrary content under a correct seal must not panic or allocate what is not there.
    #[test]
    fn a_sealed_state_of_nonsense_is_refused() {
        for number in [1, u64::MAX / 2, u64::MAX] {
            for words in 1..30 {
                let mut bytes = saved_form::start(MAGIC, 0);
                (0..words).for_each(|_| put(&mut bytes, number));
                assert!(Saved::from_bytes(&saved_form::seal(bytes)).is_err());
            }
        }
    }
}
