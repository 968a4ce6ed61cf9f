//! A file that grows while it is read, and may be cut or replaced.
//!
//! **Guarantee.** Every line that stays in the file until the next look is handed on once, in
//! order.
//! - A line is handed on when its end is there.
//! - **Replaced** (another file has the name, as after a rotation): the old file is read to its end,
//!   and until nothing was added to it for [`LOOKS`] looks. Then the new file is read from its start.
//! - **Cut** (the file is shorter than what was read): it is read from its start.
//! - **Rewritten**: if the file starts with bytes that were read before, its rows were read too.
//!   Reading goes on after them, because a row that counts twice would break the promise of
//!   privacy.
//!
//! Each of these is reported. What was written and removed between two looks cannot be read, and the
//! report says so. A file that was cut and has grown past its old length between two looks, with the
//! same inode, cannot be told from one that grew.
//!
//! **Cost.** A look every [`PAUSE`] at the end of the file, and its first [`START_LENGTH`] bytes in
//! memory.

use super::whole_lines::WholeLines;
use crate::interrupt;
use crate::manners::{note, warn};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use zeroize::Zeroizing;

const PAUSE: Duration = Duration::from_millis(200);

/// How many looks in a row must find nothing new in a file that was replaced or removed.
const LOOKS: u32 = 5;

/// How many bytes of the start of a file are compared.
const START_LENGTH: usize = 4096;

const BYTES_AT_ONCE: usize = 1 << 16;

/// The file to read after the end of this one. Its reader takes it from here.
pub(super) type NextFile = Arc<Mutex<Option<File>>>;

/// Takes the next file, if there is one.
pub(super) fn take_next(next: &NextFile) -> Option<File> {
    next.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Waits at the end of a file for more. Its end is reached when another file takes its place, or by
/// a signal.
pub(super) struct Tail {
    path: PathBuf,
    file: File,
    next: NextFile,
    lines: WholeLines,
    /// The first bytes that were read.
    start: Zeroizing<Vec<u8>>,
    position: u64,
    /// Whether the bytes up to the next end of a line belong to a row that was read.
    skips_half_line: bool,
    /// How many looks in a row found nothing, while another file or none has the name.
    idle_looks: u32,
    has_ended: bool,
    buffer: Zeroizing<Vec<u8>>,
}

/// What has the name of the file now.
enum There {
    This,
    Nothing,
    Another(File),
}

impl Tail {
    pub(super) fn new(path: &Path, file: File, next: NextFile) -> Self {
        Self {
            path: path.to_owned(),
            file,
            next,
            lines: WholeLines::default(),
            start: Zeroizing::new(Vec::with_capacity(START_LENGTH)),
            position: 0,
            skips_half_line: false,
            idle_looks: 0,
            has_ended: false,
            buffer: Zeroizing::new(vec![0; BYTES_AT_ONCE]),
        }
    }

    fn push(&mut self, count: usize) {
        let mut bytes = &self.buffer[..count];
        self.position += count as u64;
        self.idle_looks = 0;
        let room = START_LENGTH - self.start.len();
        self.start.extend_from_slice(&bytes[..count.min(room)]);
        if self.skips_half_line {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
            bytes = &bytes[end + 1..];
            self.skips_half_line = false;
        }
        self.lines.push(bytes);
    }

    /// At the end of the file: finds out whether it is still the file to read.
    fn look(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.position {
            let file = self.file.try_clone()?;
            return self.go_on_in(file, length, "was cut");
        }
        match self.there()? {
            There::This => self.idle_looks = 0,
            There::Nothing => {
                self.idle_looks += 1;
                if self.idle_looks == LOOKS {
                    warn(format_args!("{} is gone: waiting for a new file", self.path.display()));
                }
            }
            There::Another(file) => {
                self.idle_looks += 1;
                if self.idle_looks >= LOOKS {
                    return self.replaced_by(file);
                }
            }
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }

    fn there(&self) -> io::Result<There> {
        let there = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
            opened => opened?,
        };
        let is_this = is_same(&self.file.metadata()?, &there.metadata()?);
        Ok(if is_this { There::This } else { There::Another(there) })
    }

    fn replaced_by(&mut self, file: File) -> io::Result<()> {
        let length = file.metadata()?.len();
        // A new file that is shorter than what is compared cannot be a copy.
        if length >= self.start.len() as u64 && self.starts_alike(&file, length)? {
            return self.go_on_in(file, length, "was replaced");
        }
        note(format_args!(
            "{} was replaced: the old file was read to its end, and the new one is read from its start",
            self.path.display()
        ));
        self.lines.end();
        self.end_before(file)
    }

    /// Goes on in a file that has lost rows that were read, or may have: after its rows that were
    /// read, or from its start.
    fn go_on_in(&mut self, mut file: File, length: u64, what: &str) -> io::Result<()> {
        const LOST: &str = "rows that were written and removed between two looks are lost";
        let name = self.path.display();
        let whole = self.position - self.lines.half_line() as u64;
        self.lines.forget_half_line();
        if !self.starts_alike(&file, length)? {
            warn(format_args!("{name} {what}: it is read again from its start; {LOST}"));
            file.seek(SeekFrom::Start(0))?;
            return self.end_before(file);
        }
        warn(format_args!(
            "{name} {what} and starts with rows that were read: reading goes on after them; {LOST}"
        ));
        self.position = whole.min(length);
        // The rest of a line that was cut in two belongs to no row.
        self.skips_half_line = self.position < whole && !ends_a_line(&file, self.position)?;
        file.seek(SeekFrom::Start(self.position))?;
        self.file = file;
        self.idle_looks = 0;
        Ok(())
    }

    /// Whether a file of this length starts as the one that was read. An empty one does not.
    fn starts_alike(&self, mut file: &File, length: u64) -> io::Result<bool> {
        let count = self.start.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        let mut start = Zeroizing::new(vec![0; count]);
        file.seek(SeekFrom::Start(0))?;
        match file.read_exact(&mut start) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|()| count > 0 && start[..] == self.start[..count]),
        }
    }

    fn end_before(&mut self, mut file: File) -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        self.has_ended = true;
        Ok(())
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.lines.take(buffer);
            if count > 0 || self.has_ended || buffer.is_empty() || interrupt::is_stopping() {
                return Ok(count);
            }
            match self.file.read(&mut self.buffer)? {
                0 => self.look()?,
                count => self.push(count),
            }
        }
    }
}

/// Whether the byte before a position ends a line.
fn ends_a_line(mut file: &File, position: u64) -> io::Result<bool> {
    let Some(before) = position.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.seek(SeekFrom::Start(before))?;
    file.read_exact(&mut byte)?;
    Ok(byte == *b"\n")
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Files have no identity here. A shorter one is noticed by its length.
#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    other.len() >= one.len()
}
