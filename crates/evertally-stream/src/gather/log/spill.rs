//! Claims on disk.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::claim::Form;
use crate::error::{Error, Result};

/// A place for claims that exceed the limit on memory: a file that nobody else can open. What is
/// written to it is as private as the input.
pub trait Spill: Read + Write + Seek + Send + Sync {}

impl<File: Read + Write + Seek + Send + Sync> Spill for File {}

/// Opens the place.
pub(super) type Open = Box<dyn FnOnce() -> io::Result<Box<dyn Spill>> + Send + Sync>;

/// The parts of shelves are short, so many are written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// What was spilled, and where it is.
pub(super) struct Spilled {
    open: Option<Open>,
    file: Option<Box<dyn Spill>>,
    end: u64,
    /// What is not written yet.
    buffer: Vec<u8>,
    /// What was to be written is lost, so nothing may be decided.
    has_failed: bool,
    rounds: Vec<Round>,
}

/// The shelves that were spilled together, one after another.
struct Round {
    form: Form,
    /// The shelves with claims, in order, and the bytes of each.
    parts: Vec<(u32, u64)>,
    /// The next part to be read, and where it starts.
    next: usize,
    start: u64,
}

impl Spilled {
    pub(super) fn new(open: Open) -> Self {
        let rounds = Vec::new();
        Self { open: Some(open), file: None, end: 0, buffer: Vec::new(), has_failed: false, rounds }
    }

    /// Whether nothing was spilled.
    pub(super) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Begins with the parts of all shelves, whose claims have this form.
    pub(super) fn begin(&mut self, form: Form) {
        let start = self.end + self.buffer.len() as u64;
        self.rounds.push(Round { form, parts: Vec::new(), next: 0, start });
    }

    /// Writes the part of a shelf. Shelves come in order.
    pub(super) fn write(&mut self, shelf: usize, bytes: &[u8]) -> Result<()> {
        if let Some(round) = self.rounds.last_mut().filter(|_| !bytes.is_empty()) {
            round.parts.push((shelf as u32, bytes.len() as u64));
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is not written yet.
    pub(super) fn flush(&mut self) -> Result<()> {
        let written = self.append();
        self.has_failed |= written.is_err();
        self.end += self.buffer.len() as u64;
        self.buffer = Vec::new();
        written.map_err(|error| failed(&error))
    }

    fn append(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Some(open) = self.open.take() {
            self.file = Some(open()?);
        }
        let Some(file) = &mut self.file else { return Err(lost()) };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(&self.buffer)
    }

    /// Reads the next part of a shelf, and gives its form; `None` if there is no further one. Shelves
    /// are read in order, each once.
    pub(super) fn read(&mut self, shelf: usize, bytes: &mut Vec<u8>) -> Result<Option<Form>> {
        if self.has_failed {
            return Err(failed(&lost()));
        }
        let Some(file) = &mut self.file else { return Ok(None) };
        for round in &mut self.rounds {
            let Some((_, length)) = round.parts.get(round.next).filter(|(owner, _)| *owner as usize == shelf)
            else {
                continue;
            };
            bytes.resize(*length as usize, 0);
            let read = file.seek(SeekFrom::Start(round.start)).and_then(|_| file.read_exact(bytes));
            read.map_err(|error| failed(&error))?;
            round.next += 1;
            round.start += length;
            return Ok(Some(round.form));
        }
        Ok(None)
    }
}

fn lost() -> io::Error {
    io::Error::other("it failed before")
}

fn failed(error: &io::Error) -> Error {
    Error::Spill { reason: error.to_string() }
}
