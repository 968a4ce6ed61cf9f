//! The bytes of an input: a file or standard input, unpacked if they are compressed.
//!
//! **Definition.** gzip and zstd are recognised by the first bytes, whatever the name of the file.
//! Several members or frames, one after another, are one text. **Guarantee.** Compressed data that are
//! cut short or damaged are an error, never an end: nobody's last events are left out in silence.
//! **Cost.** Unpacking is streamed. The memory of zstd is at most 128 MiB, its usual limit.

use crate::error::{CliError, Result, name_of};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of an input, with its name for errors and a count for the progress bar.
pub(crate) struct Source {
    name: String,
    bytes: Bytes,
    /// How many bytes of the file were read. A compressed file is measured as it lies on disk.
    read: Arc<AtomicU64>,
    length: Option<u64>,
}

/// Bytes whose compression is recognised when the first of them are read.
enum Bytes {
    /// Nothing is read yet.
    New {
        raw: Raw,
        grows: bool,
    },
    Known(Box<dyn Read + Send>),
    /// Recognising has failed.
    Failed,
}

/// The bytes as they are stored, and their count.
struct Raw {
    bytes: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

/// Raw bytes behind those that were looked at.
type Whole = Chain<Cursor<Vec<u8>>, Raw>;

impl Source {
    /// Opens a file or standard input.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        if path.as_os_str() == "-" {
            return Ok(Self::new(name, Box::new(io::stdin()), None, false));
        }
        let file = open_file(path)?;
        let length = file.metadata().ok().map(|metadata| metadata.len());
        Ok(Self::new(name, Box::new(file), length, false))
    }

    /// An input that is followed.
    pub(crate) fn growing(path: &Path, bytes: Box<dyn Read + Send>) -> Self {
        Self::new(name_of(path), bytes, None, true)
    }

    /// The same for bytes in memory.
    pub(crate) fn held(name: &str, bytes: Vec<u8>) -> Self {
        let length = Some(bytes.len() as u64);
        Self::new(name.to_owned(), Box::new(Cursor::new(bytes)), length, false)
    }

    fn new(name: String, bytes: Box<dyn Read + Send>, length: Option<u64>, grows: bool) -> Self {
        let read = Arc::<AtomicU64>::default();
        let raw = Raw { bytes, read: Arc::clone(&read) };
        Self { name, bytes: Bytes::New { raw, grows }, read, length }
    }

    /// The name of the input as the user knows it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The share of the file that has been read, if it is known.
    pub(crate) fn fraction_read(&self) -> Option<f64> {
        let length = self.length.filter(|&length| length > 0)?;
        Some((self.read.load(Ordering::Relaxed) as f64 / length as f64).min(1.0))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.bytes {
                Bytes::Known(bytes) => return bytes.read(buffer),
                Bytes::Failed => return Err(bad("it was not recognised")),
                Bytes::New { .. } => {
                    if let Bytes::New { raw, grows } = std::mem::replace(&mut self.bytes, Bytes::Failed) {
                        self.bytes = Bytes::Known(recognised(raw, grows)?);
                    }
                }
            }
        }
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// How bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Storage {
    Plain,
    Gzip,
    Zstd,
    Utf16,
    Arrow,
}

/// The storage that these first bytes stand for; `None` if more of them are needed.
fn storage(first: &[u8]) -> Option<Storage> {
    // A frame of zstd that holds no data starts with 0x50 to 0x5f.
    const STARTS: [(&[u8], Storage); 6] = [
        (&[0x1f, 0x8b], Storage::Gzip),
        (&[0x28, 0xb5, 0x2f, 0xfd], Storage::Zstd),
        (&[0xff, 0xfe], Storage::Utf16),
        (&[0xfe, 0xff], Storage::Utf16),
        // A file, and a stream. A column of CSV may be named like the former.
        (b"ARROW1\0", Storage::Arrow),
        (&[0xff; 4], Storage::Arrow),
    ];
    let skippable = |first: &[u8]| {
        let expected = [0x50, 0x2a, 0x4d, 0x18];
        first
            .iter()
            .zip(expected)
            .enumerate()
            .all(|(at, (&byte, wanted))| if at == 0 { byte & 0xf0 == wanted } else { byte == wanted })
    };
    let known = STARTS.iter().find(|(start, _)| first.starts_with(start)).map(|(_, storage)| *storage);
    match known {
        Some(storage) => Some(storage),
        None if first.len() >= 4 && skippable(first) => Some(Storage::Zstd),
        None if STARTS.iter().any(|(start, _)| start.starts_with(first)) => None,
        None if first.len() < 4 && skippable(first) => None,
        None => Some(Storage::Plain),
    }
}

/// Whether these first bytes may be those of text.
pub(super) fn may_be_text(first: &[u8]) -> bool {
    matches!(storage(first), None | Some(Storage::Plain))
}

/// Reads as many bytes as it takes to recognise the storage, and unpacks the rest.
fn recognised(mut raw: Raw, grows: bool) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::new();
    let storage = loop {
        if let Some(storage) = storage(&first) {
            break storage;
        }
        let mut bytes = [0; 1 << 12];
        match raw.read(&mut bytes) {
            Ok(0) => break Storage::Plain,
            Ok(count) => first.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    if grows {
        refuse_to_follow(storage)?;
    }
    let whole: Whole = Cursor::new(first).chain(raw);
    Ok(match storage {
        Storage::Plain => Box::new(whole),
        Storage::Gzip => Box::new(Unpacked { format: "gzip", bytes: MultiGzDecoder::new(whole) }),
        Storage::Zstd => unpacked_zstd(whole)?,
        Storage::Utf16 => return Err(bad("it is text in UTF-16; expected UTF-8")),
        Storage::Arrow => return Err(bad("it is not text but Arrow; give --input-format arrow")),
    })
}

#[cfg(feature = "columnar")]
fn unpacked_zstd(whole: Whole) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Unpacked { format: "zstd", bytes: zstd::stream::read::Decoder::new(whole)? }))
}

#[cfg(not(feature = "columnar"))]
fn unpacked_zstd(_: Whole) -> io::Result<Box<dyn Read + Send>> {
    Err(bad(crate::error::NO_COLUMNAR))
}

/// Such data hold no lines, so nobody can tell how much of them is complete.
fn refuse_to_follow(storage: Storage) -> io::Result<()> {
    match storage {
        Storage::Gzip | Storage::Zstd => Err(bad("it is compressed, and compressed data cannot be followed")),
        Storage::Arrow => Err(bad("it is not text but Arrow, which cannot be followed")),
        Storage::Plain | Storage::Utf16 => Ok(()),
    }
}

/// Unpacked bytes, with errors in words of ours.
struct Unpacked<R> {
    format: &'static str,
    bytes: R,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer).map_err(|error| {
            let is_from_the_system = error.raw_os_error().is_some() || error.kind() == ErrorKind::Interrupted;
            if is_from_the_system {
                error
            } else if error.to_string().contains("too much memory") {
                bad("its zstd data need more than 128 MiB to unpack; pack it again without --long")
            } else {
                bad(&format!("its {} data are cut short or damaged", self.format))
            }
        })
    }
}

fn bad(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

pub(crate) fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|error| CliError::reading(path, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(CliError::bad(format!("{} is a directory: expected a file", name_of(path))));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(text, 1).unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Source::held("memory", bytes).read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn the_first_bytes_decide() {
        let text = b"time,n\n1,2\n".repeat(1000);
        let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7][..], &zstd(&text)].concat();
        for bytes in [text.clone(), gzip(&text), zstd(&text), skippable] {
            assert_eq!(read(bytes).unwrap(), text);
        }
        // Two members are one text, as `cat a.gz b.gz` makes them.
        for packed in [gzip(&text), zstd(&text)] {
            assert_eq!(read(packed.repeat(2)).unwrap(), text.repeat(2));
        }
        // Short inputs, and starts of the marks.
        for bytes in
            [&b""[..], b"\x1f", b"(", b"(\xb5/", b"P*M", b"n", b"ARROW1", b"ARROW1,n\n1,2", b"\xff\xff"]
        {
            assert_eq!(read(bytes.to_vec()).unwrap(), bytes);
        }
        assert!(read(b"\xff\xfet\0".to_vec()).is_err_and(|error| error.to_string().contains("UTF-16")));
        for bytes in [&b"ARROW1\0\0"[..], &[0xff; 4]] {
            assert!(read(bytes.to_vec()).is_err_and(|error| error.to_string().contains("Arrow")));
        }
    }

    /// Half a file was counted once, as if nothing had happened after it.
    #[test]
    fn data_that_are_cut_short_or_damaged_never_end_well() {
        let text = b"2026-01-05T00:10:00Z,north\n".repeat(50);
        for packed in [gzip(&text), zstd::stream::encode_all(&*text, 1).unwrap()] {
            for length in 4..packed.len() {
                let error = read(packed[..length].to_vec()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{length} bytes: {error}");
                assert!(error.to_string().contains("cut short or damaged"), "{error}");
            }
        }
        // A gzip member ends with a checksum of its text.
        let mut bent = gzip(&text);
        let at = bent.len() - 6;
        bent[at] ^= 1;
        assert!(read(bent).is_err());
    }
}
