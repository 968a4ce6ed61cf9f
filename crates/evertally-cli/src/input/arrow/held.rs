//! The bytes of a file, any part of which can be read.

use crate::error::{CliError, Result, name_of};
use crate::input::shared_file::SharedFile;
use crate::input::source::open_file;
use bytes::Bytes;
use parquet::file::reader::{ChunkReader, Length};
use std::io::Read;
use std::path::Path;

pub(super) struct Held {
    name: String,
    bytes: Whole,
}

enum Whole {
    File(SharedFile),
    Memory(Bytes),
}

impl Held {
    /// A file, or all of standard input.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let fail = |error| CliError::reading(path, &error);
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(fail)?;
            return Ok(Self::memory(&name, bytes));
        }
        let file = SharedFile::new(open_file(path)?).map_err(fail)?;
        Ok(Self { name, bytes: Whole::File(file) })
    }

    pub(super) fn memory(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), bytes: Whole::Memory(bytes.into()) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn length(&self) -> u64 {
        match &self.bytes {
            Whole::File(file) => file.len(),
            Whole::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// A part of the file. One that reaches behind its end was forged or cut off, and allocates nothing.
    pub(super) fn part(&self, start: u64, length: u64) -> Result<Bytes> {
        let end = start.checked_add(length).filter(|&end| end <= self.length());
        let (Some(end), Ok(count)) = (end, usize::try_from(length)) else { return Err(self.damaged()) };
        match &self.bytes {
            Whole::Memory(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Whole::File(file) => file.get_bytes(start, count).map_err(|error| match error {
                parquet::errors::ParquetError::External(source) => {
                    match source.downcast::<std::io::Error>() {
                        Ok(error) => CliError::reading(Path::new(&self.name), &error),
                        Err(_) => self.damaged(),
                    }
                }
                _ => self.damaged(),
            }),
        }
    }

    pub(super) fn damaged(&self) -> CliError {
        CliError::bad(format!("{} is not a complete Arrow file: it was cut short or damaged", self.name))
    }

    pub(super) fn refused(&self, why: &str) -> CliError {
        CliError::bad(format!("{} {why}", self.name))
    }
}
