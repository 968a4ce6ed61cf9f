//! Claims on disk.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use super::shelf::SHELVES;
use crate::error::{Error, Result};

/// A place for claims that exceed the limit on memory: a file that nobody else can open. What is
/// written to it is as private as the input.
pub trait Spill: Read + Write + Seek + Send + Sync {}

impl<File: Read + Write + Seek + Send + Sync> Spill for File {}

/// Opens the place.
pub(super) type Open = Box<dyn FnOnce() -> io::Result<Box<dyn Spill>> + Send + Sync>;

/// What was spilled, and where it is.
pub(super) struct Spilled {
    open: Option<Open>,
    file: Option<Box<dyn Spill>>,
    end: u64,
    /// What was to be written is lost, so nothing may be decided.
    has_failed: bool,
    /// The parts of each shelf.
    parts: Vec<Vec<Range<u64>>>,
}

impl Spilled {
    pub(super) fn new(open: Open) -> Self {
        Self { open: Some(open), file: None, end: 0, has_failed: false, parts: vec![Vec::new(); SHELVES] }
    }

    /// Writes a part of a shelf.
    pub(super) fn write(&mut self, shelf: usize, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.append(bytes);
        self.has_failed |= written.is_err();
        written.map_err(|error| failed(&error))?;
        let start = self.end;
        self.end += bytes.len() as u64;
        self.parts[shelf].push(start..self.end);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            self.file = Some(open()?);
        }
        let Some(file) = &mut self.file else { return Err(lost()) };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)
    }

    /// Reads a shelf, part after part.
    pub(super) fn read(&mut self, shelf: usize, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.has_failed {
            return Err(failed(&lost()));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::new();
        for part in std::mem::take(&mut self.parts[shelf]) {
            bytes.resize((part.end - part.start) as usize, 0);
            let read = file.seek(SeekFrom::Start(part.start)).and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|error| failed(&error))?;
            each(&bytes)?;
        }
        Ok(())
    }
}

fn lost() -> io::Error {
    io::Error::other("it failed before")
}

fn failed(error: &io::Error) -> Error {
    Error::Spill { reason: error.to_string() }
}
