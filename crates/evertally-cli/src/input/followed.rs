//! Rows of a file that is followed, through the files that take its place.

use super::source::open_file;
use super::tail::{NextFile, Tail, take_next};
use super::{InputFormat, Row, RowReader, Source, text_reader};
use crate::error::Result;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Reads a file as it grows, and then the file that takes its place. Each file has a header of its
/// own, if its format has one, and its lines are counted from 1.
pub(super) struct Followed {
    path: PathBuf,
    format: InputFormat,
    delimiter: u8,
    columns: Vec<String>,
    current: Box<dyn RowReader>,
    next: NextFile,
}

impl Followed {
    pub(super) fn open(path: &Path, format: InputFormat, delimiter: u8, columns: &[String]) -> Result<Self> {
        let mut next = NextFile::default();
        let mut opened = reader(path, open_file(path)?, &next, format, delimiter, columns);
        // The file may be cut or replaced before its header is there.
        while let (Err(_), Some(file)) = (&opened, take_next(&next)) {
            next = NextFile::default();
            opened = reader(path, file, &next, format, delimiter, columns);
        }
        let (path, columns) = (path.to_owned(), columns.to_vec());
        Ok(Self { path, format, delimiter, columns, current: opened?, next })
    }
}

fn reader(
    path: &Path,
    file: File,
    next: &NextFile,
    format: InputFormat,
    delimiter: u8,
    columns: &[String],
) -> Result<Box<dyn RowReader>> {
    let tail = Tail::new(path, file, NextFile::clone(next));
    text_reader(Source::growing(path, Box::new(tail)), format, delimiter, columns)
}

impl RowReader for Followed {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            if self.current.read(row)? {
                return Ok(true);
            }
            let Some(file) = take_next(&self.next) else { return Ok(false) };
            self.current = reader(&self.path, file, &self.next, self.format, self.delimiter, &self.columns)?;
        }
    }

    fn fraction_read(&self) -> Option<f64> {
        None
    }

    fn holds_names(&self, column: usize) -> bool {
        self.current.holds_names(column)
    }
}
