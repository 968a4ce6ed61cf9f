//! A file that grows while it is read, and may be cut or replaced.
//!
//! **Guarantee.** Every line that stays in the file until the next look is handed on once, in
//! order.
//! - A line is handed on when its end is there.
//! - **Replaced** (another file has the name, as after a rotation): the old file is read to its end,
//!   and until nothing was added to it for [`LOOKS`] looks. Then the new file is read.
//! - **Cut** (the file is shorter than what was read): what is in it now is read.
//! - In both cases, **what the file holds decides**, not how long it is when it is looked at: it may
//!   still be being written. Nothing is handed on while its bytes are those that were read, because a
//!   row that counts twice would break the promise of privacy.
//!   - All of them are there again: reading goes on after them.
//!   - Its start has other bytes: it is a new file, and is read from its start. If what was there when
//!     the change was noticed was read before, reading goes on where the other bytes start.
//!   - Its start is the same, and other bytes come later (a digest shows it): nobody can tell which of
//!     its rows were read. The run ends with an error.
//! - What is no regular file, as a pipe, has an end, and cannot be cut.
//!
//! Each of these is reported. What was written and removed between two looks cannot be read, and the
//! report says so. A file that was cut and has grown past its old length between two looks, with the
//! same inode, cannot be told from one that grew.
//!
//! **Cost.** A look every [`PAUSE`] at the end of the file, its first line and [`START_LENGTH`] bytes
//! more in memory, and a digest of what was read.

use super::whole_lines::WholeLines;
use crate::interrupt;
use crate::manners::{note, warn};
use blake3::Hasher;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use zeroize::Zeroizing;

const LOST: &str = "rows that were written and removed between two looks are lost";

const PAUSE: Duration = Duration::from_millis(200);

/// How many looks in a row must find nothing new in a file that was replaced or removed.
const LOOKS: u32 = 5;

/// How many bytes after the first line of a file are compared one by one. The first line may be a
/// header, which the files of a rotation share.
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
    /// Whether it can be cut and replaced.
    is_regular: bool,
    /// The first bytes that were read.
    start: Zeroizing<Vec<u8>>,
    /// The length of the first line, once its end is there.
    first_line: Option<usize>,
    position: u64,
    digest: Hasher,
    /// The place after the last end of a line that was read, and the digest up to it.
    whole: u64,
    digest_of_whole: Hasher,
    /// What is before this place was read when the file was another one.
    not_before: u64,
    /// What is known of a file that was cut or replaced.
    comparison: Option<Comparison>,
    /// Whether the bytes up to the next end of a line belong to a row that was read.
    skips_half_line: bool,
    /// How many looks in a row found nothing, while another file or none has the name.
    idle_looks: u32,
    has_ended: bool,
    buffer: Zeroizing<Vec<u8>>,
}

/// A file that was cut or has replaced another, as far as its bytes are those that were read.
struct Comparison {
    was_replaced: bool,
    /// Its length when the change was noticed.
    length: u64,
    position: u64,
    digest: Hasher,
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
            is_regular: file.metadata().is_ok_and(|metadata| metadata.is_file()),
            file,
            next,
            lines: WholeLines::default(),
            start: Zeroizing::new(Vec::with_capacity(START_LENGTH)),
            first_line: None,
            position: 0,
            digest: Hasher::new(),
            whole: 0,
            digest_of_whole: Hasher::new(),
            not_before: 0,
            comparison: None,
            skips_half_line: false,
            idle_looks: 0,
            has_ended: false,
            buffer: Zeroizing::new(vec![0; BYTES_AT_ONCE]),
        }
    }

    /// Takes bytes of the buffer that continue what was read.
    fn push(&mut self, mut from: usize, to: usize) -> io::Result<()> {
        self.idle_looks = 0;
        self.remember(from, to);
        // The place in the buffer of what may be handed on.
        let read_before = self.not_before.saturating_sub(self.position);
        self.position += (to - from) as u64;
        from += usize::try_from(read_before).unwrap_or(usize::MAX).min(to - from);
        if self.skips_half_line {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[from..to]) else { return Ok(()) };
            from += end + 1;
            self.skips_half_line = false;
        }
        self.lines.push(&self.buffer[from..to])
    }

    /// Remembers bytes that are read, to know them again.
    fn remember(&mut self, from: usize, to: usize) {
        let bytes = &self.buffer[from..to];
        let rest = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        self.digest.update(&bytes[..rest]);
        if rest > 0 {
            self.whole = self.position + rest as u64;
            self.digest_of_whole = self.digest.clone();
        }
        self.digest.update(&bytes[rest..]);
        if self.first_line.is_none() {
            self.first_line = memchr::memchr(b'\n', bytes).map(|end| self.start.len() + end + 1);
        }
        let room = self.first_line.map_or(usize::MAX, |line| line + START_LENGTH - self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// At the end of the file: finds out whether it is still the file to read.
    fn look(&mut self) -> io::Result<()> {
        if !self.is_regular {
            self.lines.end();
            self.has_ended = true;
            return Ok(());
        }
        let position = self.comparison.as_ref().map_or(self.position, |comparison| comparison.position);
        if self.file.metadata()?.len() < position {
            let file = self.file.try_clone()?;
            return self.compare_with(file, false);
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
                    return self.compare_with(file, true);
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

    /// Reads a file that was cut or has replaced another from its start, and hands nothing on before
    /// it is known which of its rows were read.
    fn compare_with(&mut self, mut file: File, was_replaced: bool) -> io::Result<()> {
        if self.position < self.not_before {
            return Err(cannot_tell());
        }
        file.seek(SeekFrom::Start(0))?;
        // A new file may be cut before it is known.
        let was_replaced = was_replaced || self.comparison.as_ref().is_some_and(|before| before.was_replaced);
        let length = file.metadata()?.len();
        self.comparison = Some(Comparison { was_replaced, length, position: 0, digest: Hasher::new() });
        self.file = file;
        self.idle_looks = 0;
        Ok(())
    }

    /// Compares the bytes of the buffer with those that were read.
    fn compare(&mut self, mut comparison: Comparison, count: usize) -> io::Result<()> {
        let bytes = &self.buffer[..count];
        // What has no end of a line was not handed on.
        let known = if self.whole == 0 { self.position } else { self.whole };
        let start = &self.start[..self.start.len().min(usize::try_from(known).unwrap_or(usize::MAX))];
        let position = usize::try_from(comparison.position).unwrap_or(usize::MAX);
        let expected = &start[position.min(start.len())..];
        if let Some(same) = bytes.iter().zip(expected).position(|(byte, wanted)| byte != wanted) {
            return self.differs(&comparison, position + same);
        }
        let left = usize::try_from(known - comparison.position).unwrap_or(usize::MAX);
        let compared = left.min(count);
        comparison.digest.update(&bytes[..compared]);
        comparison.position += compared as u64;
        self.idle_looks = 0;
        if compared < left {
            self.comparison = Some(comparison);
            return Ok(());
        }
        let what = comparison.what();
        let name = self.path.display();
        self.lines.forget_half_line();
        if self.whole == 0 {
            note(format_args!("{name} {what}: it is read from its start"));
            return self.end_before();
        }
        if comparison.digest.finalize() != self.digest_of_whole.finalize() {
            return Err(cannot_tell());
        }
        warn(format_args!(
            "{name} {what} and starts with rows that were read: reading goes on after them; {LOST}"
        ));
        self.position = self.whole;
        self.digest = comparison.digest;
        self.start.truncate(usize::try_from(self.whole).unwrap_or(usize::MAX));
        self.push(compared, count)
    }

    /// Goes on in a file whose byte at this place of its start is another than the one that was read.
    fn differs(&mut self, comparison: &Comparison, place: usize) -> io::Result<()> {
        let (name, what) = (self.path.display(), comparison.what());
        let line = memchr::memrchr(b'\n', &self.start[..place]).map_or(0, |end| end as u64 + 1);
        if line > 0 && comparison.length > 0 && comparison.length <= place as u64 {
            warn(format_args!(
                "{name} {what} and starts with rows that were read: reading goes on after them; {LOST}"
            ));
            self.lines.forget_half_line();
            // The rest of a line that was cut in two belongs to no row.
            self.skips_half_line = line < comparison.length;
            self.not_before = line.max(comparison.length);
            (self.position, self.whole, self.first_line) = (0, 0, None);
            (self.digest, self.digest_of_whole) = (Hasher::new(), Hasher::new());
            self.start.clear();
            self.file.seek(SeekFrom::Start(0))?;
            return Ok(());
        }
        if comparison.was_replaced {
            note(format_args!(
                "{name} {what}: the old file was read to its end, and the new one is read from its start"
            ));
            self.lines.end();
        } else {
            warn(format_args!("{name} {what}: it is read again from its start; {LOST}"));
            self.lines.forget_half_line();
        }
        self.end_before()
    }

    /// Ends what is read, and leaves the file to the next reader.
    fn end_before(&mut self) -> io::Result<()> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        self.has_ended = true;
        Ok(())
    }
}

impl Comparison {
    fn what(&self) -> &'static str {
        if self.was_replaced { "was replaced" } else { "was cut" }
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
                count => match self.comparison.take() {
                    Some(comparison) => self.compare(comparison, count)?,
                    None => self.push(0, count)?,
                },
            }
        }
    }
}

fn cannot_tell() -> io::Error {
    let message = "it was cut or replaced, and it starts like what was read and goes on otherwise: nobody can \
                   tell which of its rows were counted, and none is counted twice; what was released stays";
    io::Error::new(io::ErrorKind::InvalidData, message)
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
