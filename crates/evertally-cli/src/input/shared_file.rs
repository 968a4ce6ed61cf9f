//! A file that several threads read at once.
//!
//! The library reads a file through clones that share one position, so two threads would move it under
//! each other. Here every read names its place.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct SharedFile {
    file: Arc<File>,
    length: u64,
}

/// Reads on from a place.
pub(crate) struct ReadFrom {
    file: Arc<File>,
    place: u64,
}

impl SharedFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Read for ReadFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = read_at(&self.file, buffer, self.place)?;
        self.place += count as u64;
        Ok(count)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, place)
}

/// This moves the position of the file, which nobody here uses.
#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, place)
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<ReadFrom>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(ReadFrom { file: Arc::clone(&self.file), place: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged file may ask for more than there is.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a place behind the end of the file".to_owned()));
        }
        let mut buffer = vec![0; length];
        let mut rest = ReadFrom { file: Arc::clone(&self.file), place: start };
        match rest.read_exact(&mut buffer) {
            Ok(()) => Ok(buffer.into()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(ParquetError::EOF("the file has become shorter".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }
}
